"""Second implementations of agreement coefficients, from arrays of ratings."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from metrics.agreement.agreement_coefficients import CohenKappa, cohen_kappa_from_table


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
