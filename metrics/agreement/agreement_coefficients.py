"""Agreement and correlation coefficients of arrays of ratings."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike
from scipy import stats

from metrics.estimation.intervals import Floats

MeasurementLevel = Literal["nominal", "ordinal", "interval"]


@dataclass(frozen=True)
class CohenKappa:
    """Observed and chance agreement, κ and its standard error; None where undefined."""

    observed: float | None
    expected: float | None
    kappa: float | None
    error: float | None
    n: int
    note: str = ""


def cohen_kappa(first: ArrayLike, second: ArrayLike) -> CohenKappa:
    """Compute Cohen's κ of two raters with the Fleiss–Cohen–Everitt standard error.

    If both raters use one category only, chance agreement is 1 and κ is undefined (None); the
    observed agreement is returned all the same.
    """
    a, b = np.asarray(first), np.asarray(second)
    if len(a) == 0:
        return CohenKappa(None, None, None, None, 0, "the two raters have no case in common")
    _, codes = np.unique(np.concatenate([a, b]), return_inverse=True)
    size = int(codes.max()) + 1
    p = np.bincount(codes[: len(a)] * size + codes[len(a) :], minlength=size * size)
    return cohen_kappa_from_table(p.reshape(size, size))


def cohen_kappa_from_table(table: ArrayLike) -> CohenKappa:
    """Compute Cohen's κ from a square contingency table: [category of rater 1, category of rater
    2]."""
    counts = np.asarray(table, np.float64)
    n = counts.sum()
    if n == 0:
        return CohenKappa(None, None, None, None, 0, "the two raters have no case in common")
    p = counts / n
    row, column = p.sum(axis=1), p.sum(axis=0)
    observed, expected = float(np.trace(p)), float(row @ column)
    if expected > 1 - 1e-12:
        return CohenKappa(
            observed,
            expected,
            None,
            None,
            int(n),
            "both raters use one category only, so κ is undefined",
        )
    kappa = (observed - expected) / (1 - expected)
    return CohenKappa(observed, expected, kappa, _kappa_standard_error(p, kappa, int(n)), int(n))


def _kappa_standard_error(p: Floats, kappa: float, n: int) -> float:
    row, column = p.sum(axis=1), p.sum(axis=0)
    expected = float(row @ column)
    agree = np.diag(p) * (1 - (row + column) * (1 - kappa)) ** 2
    cells = p * (row[None, :] + column[:, None]) ** 2
    off = (cells.sum() - np.trace(cells)) * (1 - kappa) ** 2
    middle = (kappa - expected * (1 - kappa)) ** 2
    return math.sqrt(max(float(agree.sum() + off - middle), 0) / n) / (1 - expected)


def fleiss_kappa(table: ArrayLike) -> float | None:
    """Compute Fleiss' κ from counts of shape (subjects, categories).

    None if the subjects do not all have the same number of raters, two or more.
    """
    counts = np.asarray(table, np.float64)
    raters = counts.sum(axis=1)
    if len(counts) == 0 or raters[0] < 2 or not (raters == raters[0]).all():
        return None
    m = raters[0]
    observed = float(((counts**2).sum(axis=1) - m).mean() / (m * (m - 1)))
    shares = counts.sum(axis=0) / counts.sum()
    expected = float((shares**2).sum())
    return None if expected > 1 - 1e-12 else float((observed - expected) / (1 - expected))


def krippendorff_alpha(ratings: ArrayLike, level: MeasurementLevel = "nominal") -> float | None:
    """Compute Krippendorff's α from ratings of shape (raters, units), nan where a rater skipped a
    unit.

    None if no unit has two ratings or all values are equal.
    """
    if level not in _DISTANCES:
        raise ValueError(f"No level named {level!r}. Known: {', '.join(_DISTANCES)}")
    data = np.asarray(ratings, np.float64)
    known = np.isfinite(data)
    data, known = data[:, known.sum(axis=0) > 1], known[:, known.sum(axis=0) > 1]
    values = np.unique(data[known])
    if len(values) < 2:
        return None
    counts = np.stack([((data == value) & known).sum(axis=0) for value in values]).astype(float)
    pairs = counts.sum(axis=0) - 1
    coincidence = (counts / pairs) @ counts.T - np.diag((counts / pairs).sum(axis=1))
    totals = coincidence.sum(axis=1)
    distance = _DISTANCES[level](values, totals)
    expected = float((np.outer(totals, totals) * distance).sum() / (totals.sum() - 1))
    return float(1 - (coincidence * distance).sum() / expected)


def _nominal_distance(values: Floats, totals: Floats) -> Floats:
    return 1 - np.eye(len(values))


def _ordinal_distance(values: Floats, totals: Floats) -> Floats:
    """Compute Krippendorff's ordinal distance between values: the squared number of ratings between
    two values, where ratings equal to either value count half."""
    middle = np.cumsum(totals) - totals / 2
    gap: Floats = np.subtract.outer(middle, middle) ** 2
    return gap


def _interval_distance(values: Floats, totals: Floats) -> Floats:
    gap: Floats = np.subtract.outer(values, values) ** 2
    return gap


_DISTANCES: dict[str, Callable[[Floats, Floats], Floats]] = {
    "nominal": _nominal_distance,
    "ordinal": _ordinal_distance,
    "interval": _interval_distance,
}


def kendall_tau(first: ArrayLike, second: ArrayLike) -> float | None:
    """Compute Kendall's τ-b; None if a variable is constant or has fewer than two values."""
    return _correlation(stats.kendalltau, first, second)


def spearman_correlation(first: ArrayLike, second: ArrayLike) -> float | None:
    """Compute Spearman's rank correlation; None if a variable is constant."""
    return _correlation(stats.spearmanr, first, second)


def pearson_correlation(first: ArrayLike, second: ArrayLike) -> float | None:
    """Compute Pearson's correlation; None if a variable is constant."""
    return _correlation(stats.pearsonr, first, second)


def _correlation(
    function: Callable[[Floats, Floats], tuple[float, float]], first: ArrayLike, second: ArrayLike
) -> float | None:
    a, b = np.asarray(first, np.float64), np.asarray(second, np.float64)
    if len(a) < 2 or np.ptp(a) == 0 or np.ptp(b) == 0:
        return None
    return float(function(a, b)[0])


def mean_absolute_error(judge: ArrayLike, people: ArrayLike) -> float | None:
    """Compute the mean absolute difference of a judge's and people's scores (each from −2 to 2)."""
    gap = np.abs(np.asarray(judge, np.float64) - np.asarray(people, np.float64))
    return float(gap.mean()) if len(gap) else None


def share_within_one(judge: ArrayLike, people: ArrayLike) -> float | None:
    """Compute the share of cases in which the judge's score differs from people's by at most 1.

    Creation-MMBench calls this share Consistency.
    """
    gap = np.abs(np.asarray(judge, np.float64) - np.asarray(people, np.float64))
    return float((gap <= 1 + 1e-9).mean()) if len(gap) else None
