"""Agreement and correlation coefficients of arrays of ratings."""

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy import stats

from metrics.estimation.intervals import Floats


@dataclass(frozen=True)
class CohenKappa:
    """Cohen's κ of two raters on n cases: `observed` agreement, agreement `expected` by chance, κ
    and its standard `error`; None where undefined, with the reason in `note`."""

    observed: float | None
    expected: float | None
    kappa: float | None
    error: float | None
    n: int
    note: str = ""


def cohen_kappa_from_table(table: ArrayLike) -> CohenKappa:
    """Compute Cohen's κ from a square contingency table [category of rater 1, of rater 2]."""
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


def _kappa_standard_error(shares: Floats, kappa: float, n: int) -> float:
    row, column = shares.sum(axis=1), shares.sum(axis=0)
    expected = float(row @ column)
    agree = np.diag(shares) * (1 - (row + column) * (1 - kappa)) ** 2
    cells = shares * (row[None, :] + column[:, None]) ** 2
    off = (cells.sum() - np.trace(cells)) * (1 - kappa) ** 2
    middle = (kappa - expected * (1 - kappa)) ** 2
    return math.sqrt(max(float(agree.sum() + off - middle), 0) / n) / (1 - expected)


def spearman_correlation(first: ArrayLike, second: ArrayLike) -> float | None:
    """Compute Spearman's rank correlation; None with fewer than two pairs of values, or if a
    variable is constant."""
    return _correlation_or_none(stats.spearmanr, first, second)


def pearson_correlation(first: ArrayLike, second: ArrayLike) -> float | None:
    """Compute Pearson's correlation; None with fewer than two pairs of values, or if a variable is
    constant."""
    return _correlation_or_none(stats.pearsonr, first, second)


def _correlation_or_none(
    correlate: Callable[[Floats, Floats], tuple[float, float]], first: ArrayLike, second: ArrayLike
) -> float | None:
    a, b = np.asarray(first, np.float64), np.asarray(second, np.float64)
    if len(a) < 2 or np.ptp(a) == 0 or np.ptp(b) == 0:
        return None
    return float(correlate(a, b)[0])
