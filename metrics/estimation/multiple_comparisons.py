"""Adjustment of intervals and p-values for several comparisons: Bonferroni, max-t and Holm."""

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Final

import numpy as np
from numpy.typing import ArrayLike
from scipy import stats
from scipy.special import ndtr, stdtrit

from metrics.estimation.intervals import Floats
from metrics.estimation.rare_events import Z95
from studies.domain import Estimate


def simultaneous_interval(
    estimate: Estimate,
    tests: float,
    level: float = 0.95,
    bounds: tuple[float, float] = (-math.inf, math.inf),
) -> Estimate:
    """Widen a 95 % interval so that `tests` such intervals hold together with probability `level`
    (Bonferroni).

    `tests` need not be whole: n tests that may use a part s of the error rate count as n/s. Both
    arms of the interval are multiplied by the ratio of Student's t quantiles. A test of equivalence
    uses `level` 0.9. `bounds` are the smallest and largest possible values. An estimate without an
    interval is returned as it is.
    """
    if estimate.value is None or estimate.low is None or estimate.high is None:
        return estimate
    level = 1 - (1 - level) / tests
    degrees = max(estimate.items - 1, 1)
    ratio = float(stats.t.isf((1 - level) / 2, degrees) / stats.t.isf(0.025, degrees))
    low = estimate.value - ratio * (estimate.value - estimate.low)
    high = estimate.value + ratio * (estimate.high - estimate.value)
    return replace(estimate, low=max(low, bounds[0]), high=min(high, bounds[1]), level=level)


def max_t_quantile(deviations: Floats, rng: np.random.Generator, rounds: int = 1000) -> float:
    """Estimate the 95 % quantile, at least 1.96, of the largest |z| in a family of estimates on the
    same items.

    `deviations` is [item, estimate]: the change of each estimate if the item is left out. Each
    bootstrap round multiplies the items by random normal weights, the same for all estimates, so
    that their correlation is preserved. With few items (G) correlations are overestimated, so a
    share 1/G of independent variation is mixed in. Estimates that do not vary count as independent.
    """
    size = np.sqrt((deviations**2).sum(axis=0))
    varied = deviations[:, size > 1e-12] / size[size > 1e-12]
    items, members = varied.shape
    if len(size) < 2:
        return Z95
    own = 1 / max(items, 2)
    drawn = math.sqrt(1 - own) * _draw_multiplier_sums(varied, rng, rounds)
    drawn += math.sqrt(own) * rng.normal(size=(rounds, members))
    alone = rng.normal(size=(rounds, len(size) - members))
    largest = np.abs(np.concatenate([drawn, alone], axis=1)).max(axis=1)
    return max(float(np.quantile(largest, 0.95)), Z95)


MAX_DRAWN_ITEMS: Final = 2_000
"""Maximum number of items for which max-t draws one weight per item; for a million items the
weights would take eight gigabytes."""


def _draw_multiplier_sums(columns: Floats, rng: np.random.Generator, rounds: int) -> Floats:
    """Draw, in each round, a standard normal weight for every item and return the weighted sum of
    each column of `columns` [item, column], as [round, column].

    Above MAX_DRAWN_ITEMS the sums are drawn from their own normal distribution.
    """
    items = len(columns)
    if items <= MAX_DRAWN_ITEMS:
        return np.asarray(rng.normal(size=(rounds, items)) @ columns, np.float64)
    return draw_normal_vectors(columns.T @ columns, rng, rounds)


def draw_normal_vectors(covariance: Floats, rng: np.random.Generator, rounds: int) -> Floats:
    """Draw normal vectors with mean 0 and this covariance, which may be singular, as
    [round, component].

    The draws are multiplied by the symmetric root of the covariance, which is unique. Eigenvectors
    are not: their signs differ between processors, so the same seed would give other draws.
    """
    values, vectors = np.linalg.eigh(covariance)
    root = (vectors * np.sqrt(np.maximum(values, 0))) @ vectors.T
    return np.asarray(rng.normal(size=(rounds, len(covariance))) @ root, np.float64)


def t_quantile_from_normal(z: float, items: ArrayLike) -> Floats:
    """Convert a normal quantile `z` to the quantile of Student's t with items − 1 degrees of
    freedom at the same probability."""
    degrees = np.maximum(np.asarray(items, np.float64) - 1, 1)
    return np.asarray(-stdtrit(degrees, ndtr(-z)), np.float64)  # as stats.t.isf, without its checks


UNFILTERED_ERROR_SHARE: Final = 0.79
"""Part of the error rate of 5 % that tests for an effect of the order may use on a whole study. The
rest is for the filters of the page, because a reader may try several of them."""


def holm_adjust(
    values: Sequence[float | None], family: int = 0, error_share: float = 1.0
) -> list[float | None]:
    """Adjust p-values by Holm's method; None (not tested) stays None and is no test.

    `family` is the number of tests to adjust for, if it is larger than the number of values: a
    reader may see further tests, for example under other filters. `error_share` is the part of the
    5 % that these tests may use; the p-values are divided by it.
    """
    known = [place for place, p in enumerate(values) if p is not None]
    order = sorted(known, key=lambda place: values[place] or 0.0)
    adjusted: list[float | None] = [None] * len(values)
    floor = 0.0
    for step, place in enumerate(order):
        tests = max(family, len(order)) - step
        floor = max(floor, min(1.0, (values[place] or 0.0) * tests / error_share))
        adjusted[place] = floor
    return adjusted
