"""Agreement and correlation coefficients of arrays of ratings."""

from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike
from scipy import stats

from metrics.estimation.intervals import Floats


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
