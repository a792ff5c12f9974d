"""Second implementations of agreement coefficients, from arrays of ratings."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike


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


def _kappa_standard_error(shares: np.ndarray, kappa: float, n: int) -> float:
    row, column = shares.sum(axis=1), shares.sum(axis=0)
    expected = float(row @ column)
    agree = np.diag(shares) * (1 - (row + column) * (1 - kappa)) ** 2
    cells = shares * (row[None, :] + column[:, None]) ** 2
    off = (cells.sum() - np.trace(cells)) * (1 - kappa) ** 2
    middle = (kappa - expected * (1 - kappa)) ** 2
    return math.sqrt(max(float(agree.sum() + off - middle), 0) / n) / (1 - expected)


def cohen_kappa(first: ArrayLike, second: ArrayLike) -> CohenKappa:
    """Cohen's κ of two lists of ratings, by the table of their categories."""
    a, b = np.asarray(first), np.asarray(second)
    names = sorted({*a.tolist(), *b.tolist()})
    table = [[((a == x) & (b == y)).sum() for y in names] for x in names] or [[0]]
    return cohen_kappa_from_table(table)


def krippendorff_alpha(ratings: ArrayLike) -> float | None:
    """Krippendorff's nominal α of ratings (raters, units), nan where a rater skipped a unit; None
    if no unit has two ratings or all values are equal."""
    data = np.asarray(ratings, np.float64)
    data = data[:, np.isfinite(data).sum(axis=0) > 1]
    values = np.unique(data[np.isfinite(data)])
    if len(values) < 2:
        return None
    counts = np.stack([(data == value).sum(axis=0) for value in values]).astype(float)
    pairs = counts.sum(axis=0) - 1
    coincidence = (counts / pairs) @ counts.T - np.diag((counts / pairs).sum(axis=1))
    totals = coincidence.sum(axis=1)
    different = 1 - np.eye(len(values))
    expected = float((np.outer(totals, totals) * different).sum() / (totals.sum() - 1))
    return float(1 - (coincidence * different).sum() / expected)
