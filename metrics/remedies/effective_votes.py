"""Effective number of votes of a jury whose judges make the same errors.

A jury is several judges that decide together."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from metrics.estimation.intervals import Floats, jackknife_estimate, safe_divide
from metrics.remedies import decision_rules, order_grid
from studies.domain import Estimate


def effective_votes(grid: order_grid.OrderGrid, raters: Sequence[int]) -> Estimate:
    """Estimate the effective votes of n judges, n / (1 + (n − 1)·r), with r the mean correlation
    between the errors of two judges; at most n, because a negative r can be random variation. The
    interval is limited to 0 … n."""
    n = len(raters)
    got = _estimate_from_error_correlation(
        grid, raters, lambda r: votes_from_correlation(n, r), "votes", (0.0, n)
    )
    value, low, high = (
        None if one is None else min(one, float(n)) for one in (got.value, got.low, got.high)
    )
    return replace(got, value=value, low=low, high=high)


def votes_from_correlation(judges: int, correlation: Floats) -> Floats:
    """Number of independent votes that n judges are worth if their errors correlate by r:
    n / (1 + (n − 1)·r). It may exceed n (negative r), but not 2n."""
    return safe_divide(judges, np.maximum(1 + (judges - 1) * correlation, 0.5))


def _estimate_from_error_correlation(
    grid: order_grid.OrderGrid,
    raters: Sequence[int],
    convert: Callable[[Floats], Floats],
    unit: str,
    bounds: tuple[float, float],
) -> Estimate:
    """Estimate a function (`convert`) of the mean correlation between the errors of two
    raters, with a jackknife interval over items."""
    errors = [
        1 - decision_rules.decide_by_sum_of_orders(grid.verdicts[rater]).credit(grid.known_winner)
        for rater in raters
    ]
    left, right = np.triu_indices(len(raters), 1)
    products = [errors[i] * errors[j] for i, j in zip(left, right, strict=True)]
    squares = [one**2 for one in errors]
    sums = grid.sum_by_item([*errors, *squares, *products, np.ones(grid.size)])

    def statistic(totals: Floats) -> Floats:
        return np.asarray(convert(mean_error_correlation(totals, len(raters))))

    return jackknife_estimate(sums, statistic, grid.size, unit, bounds)


def mean_error_correlation(totals: Floats, judges: int) -> Floats:
    """Mean correlation between the errors of two judges, from totals [..., error of each judge,
    square of each, product of each two judges, number of comparisons]."""
    left, right = np.triu_indices(judges, 1)
    n = totals[..., -1:]
    mean = totals[..., :judges] / n
    deviation = np.sqrt(np.maximum(totals[..., judges : 2 * judges] / n - mean**2, 0))
    product = totals[..., 2 * judges : -1] / n - mean[..., left] * mean[..., right]
    return np.asarray(safe_divide(product, deviation[..., left] * deviation[..., right]).mean(-1))
