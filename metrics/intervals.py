"""How sure a number is: intervals whose unit of resampling is the item, never the verdict."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Final

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import stats

from studies.records import Estimate

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Statistic = Callable[[Floats], Floats]
"""Totals of shape (…, k) in, values of shape (…) out; nan where it says nothing."""

Z95: Final = float(stats.norm.ppf(0.975))
"""What is written 1.96 everywhere; the published Wilson examples use the exact quantile."""

LEAST_DEFF = 1.0
"""Verdicts of an item that cancel (both orders, say) never count as more than independent ones:
STATISTICS.md 0. Where they do cancel, shares come out wider than 95 % needs; docs/coverage.md says
by how much, and what ¼ would give."""

WILSON: Final = "Wilson, effective n by items"
CLUSTER_T: Final = "mean, item-cluster t"
JACKKNIFE: Final = "item jackknife t"
ONE_ITEM: Final = "one item: no interval"


def unknown(note: str, unit: str = "") -> Estimate:
    """Nothing can be said, and why."""
    return Estimate(None, unit=unit, note=note)


def quantile(items: ArrayLike) -> Floats:
    """The two-sided 95 % quantile of Student's t for so many items; inf below two."""
    degrees = np.asarray(items, np.float64) - 1
    t = stats.t.ppf(0.975, np.maximum(degrees, 1))
    return np.where(degrees < 1, np.inf, t)


def divided(total: ArrayLike, n: ArrayLike) -> Floats:
    """total / n, nan where n is not positive."""
    total, n = np.broadcast_arrays(np.asarray(total, np.float64), np.asarray(n, np.float64))
    quotient: Floats = np.divide(total, n, out=np.full(n.shape, np.nan), where=n > 1e-12)
    return quotient


def item_sums(values: Floats, items: Ints) -> tuple[Ints, Floats]:
    """The rows of each item added up: (item codes present, sums of shape (G, k))."""
    present, code = np.unique(items, return_inverse=True)
    columns = values.T if values.ndim == 2 else values[None, :]
    sums = [np.bincount(code, column, minlength=len(present)) for column in columns]
    return present, np.stack(sums, axis=1) if sums else np.zeros((len(present), 0))


# -- proportions ---------------------------------------------------------------------------------


def wilson(successes: ArrayLike, n: ArrayLike, z: ArrayLike = Z95) -> tuple[Floats, Floats]:
    """Plain Wilson bounds; `n` may be fractional (an effective n) and must be positive."""
    n, z = np.asarray(n, np.float64), np.asarray(z, np.float64)
    p = np.asarray(successes, np.float64) / n
    centre = (p + z * z / (2 * n)) / (1 + z * z / n)
    half = z / (1 + z * z / n) * np.sqrt(np.maximum(p * (1 - p) / n + z * z / (4 * n * n), 0))
    low, high = np.clip(centre - half, 0, 1), np.clip(centre + half, 0, 1)
    return np.where(p <= 0, 0.0, low), np.where(p >= 1, 1.0, high)


def clopper_pearson(successes: int, n: int, level: float = 0.95) -> tuple[float, float]:
    """The exact binomial interval; for comparison with others, it knows nothing of items."""
    tail = (1 - level) / 2
    low = stats.beta.ppf(tail, successes, n - successes + 1) if successes else 0.0
    high = stats.beta.ppf(1 - tail, successes + 1, n - successes) if successes < n else 1.0
    return float(low), float(high)


def proportion(
    successes: ArrayLike, items: ArrayLike, unit: str = "share", note: str = ""
) -> Estimate:
    """Mean of 0/1 outcomes (ties may be ½), Wilson at the effective n of their items.

    n_eff = n/deff·(1.96/t)², deff = max(1, G/(G−1)·Σ_items(Σ(y−p))²/(n·p(1−p))); a share of 0 or 1
    has deff = n/G; one item has no interval (STATISTICS.md 0).
    """
    y, codes = np.asarray(successes, np.float64), np.asarray(items)
    if len(y) == 0:
        return unknown(note or "no verdicts", unit)
    _, sums = item_sums(np.stack([y, np.ones_like(y)], axis=1), codes)
    return proportions(sums[:, 0], sums[:, 1], np.zeros(len(sums), np.int64), 1, unit, note)[0]


def design_effects(
    successes: Floats, counts: Floats, group: Ints, groups: int
) -> tuple[Floats, Floats, Floats, Floats]:
    """(p, n, G, deff) of each group from its items' sums; p is nan where n is 0."""
    filled = counts > 0
    successes, counts, group = successes[filled], counts[filled], group[filled]
    n = np.asarray(np.bincount(group, counts, minlength=groups), np.float64)
    total = np.bincount(group, successes, minlength=groups)
    items = np.bincount(group, minlength=groups).astype(np.float64)
    p = divided(total, n)
    spread = np.bincount(group, (successes - p[group] * counts) ** 2, minlength=groups)
    variance = n * p * (1 - p)
    inflation = np.nan_to_num(divided(items, items - 1), nan=1.0)
    ratio = divided(spread, np.nan_to_num(variance))
    certain = np.nan_to_num(divided(n, items), nan=1.0)
    deff: Floats = np.where(np.isnan(ratio), certain, np.maximum(LEAST_DEFF, inflation * ratio))
    return p, n, items, deff


def proportions(
    successes: Floats,
    counts: Floats,
    group: Ints,
    groups: int,
    unit: str = "share",
    note: str = "",
) -> list[Estimate]:
    """`proportion` of many groups at once, from sums per (group, item): one row each."""
    p, n, items, deff = design_effects(successes, counts, group, groups)
    effective = n / deff * (Z95 / quantile(items)) ** 2
    low, high = wilson(np.nan_to_num(p) * effective, np.maximum(effective, 1e-12))
    return [
        _share(float(p[g]), float(low[g]), float(high[g]), int(n[g]), int(items[g]), unit, note)
        for g in range(groups)
    ]


def _share(p: float, low: float, high: float, n: int, items: int, unit: str, note: str) -> Estimate:
    if n == 0:
        return unknown(note or "no verdicts", unit)
    if items < 2:
        return Estimate(p, None, None, n, items, unit, 0.95, WILSON, joined(note, ONE_ITEM))
    return Estimate(p, min(low, p), max(high, p), n, items, unit, 0.95, WILSON, note)


def joined(*notes: str) -> str:
    """Several reasons as one line, the empty ones left out."""
    return "; ".join(note for note in notes if note)


# -- means and differences -----------------------------------------------------------------------


def mean(
    values: ArrayLike,
    items: ArrayLike,
    unit: str = "score",
    bounds: tuple[float, float] = (-math.inf, math.inf),
    note: str = "",
) -> Estimate:
    """Mean over rows with the cluster-robust t interval of its items, clipped to `bounds`."""
    y, codes = np.asarray(values, np.float64), np.asarray(items)
    if len(y) == 0:
        return unknown(note or "no values", unit)
    centre = float(y.mean())
    _, residuals = item_sums(y - centre, codes)
    groups = len(residuals)
    if groups < 2:
        note = joined(note, ONE_ITEM)
        return Estimate(centre, None, None, len(y), 1, unit, 0.95, CLUSTER_T, note)
    error = math.sqrt(groups / (groups - 1) * float((residuals**2).sum())) / len(y)
    half = float(quantile(groups)) * error
    low, high = max(centre - half, bounds[0]), min(centre + half, bounds[1])
    return Estimate(centre, low, high, len(y), groups, unit, 0.95, CLUSTER_T, note)


def paired_difference(
    first: ArrayLike, second: ArrayLike, items: ArrayLike, unit: str = "share"
) -> Estimate:
    """Mean of first − second over matched rows, item-cluster t."""
    gap = np.asarray(first, np.float64) - np.asarray(second, np.float64)
    return mean(gap, items, unit, note="" if len(gap) else "nothing in common")


def jackknife(
    sums: Floats,
    statistic: Statistic,
    n: int,
    unit: str = "share",
    bounds: tuple[float, float] = (-math.inf, math.inf),
    note: str = "",
) -> Estimate:
    """A statistic of item totals with its delete-one-item t interval; `sums` is (G, k)."""
    groups = len(sums)
    total = sums.sum(axis=0) if groups else np.zeros(sums.shape[-1])
    value = float(statistic(total)) if groups else math.nan
    if not math.isfinite(value):
        return unknown(note or "no verdicts", unit)
    error = jackknife_error(sums, statistic)
    if not math.isfinite(error):
        reason = ONE_ITEM if groups < 2 else "one item decides: no interval"
        return Estimate(value, None, None, n, groups, unit, 0.95, JACKKNIFE, joined(note, reason))
    half = float(quantile(groups)) * error
    low, high = min(max(value - half, bounds[0]), value), max(min(value + half, bounds[1]), value)
    return Estimate(value, low, high, n, groups, unit, 0.95, JACKKNIFE, note)


def jackknife_error(sums: Floats, statistic: Statistic) -> float:
    """Standard error from leaving out one item at a time; nan where that cannot be said."""
    groups = len(sums)
    if groups < 2:
        return math.nan
    left = statistic(sums.sum(axis=0) - sums)
    if not np.isfinite(left).all():
        return math.nan
    return math.sqrt((groups - 1) / groups * float(((left - left.mean()) ** 2).sum()))


# -- resampling ----------------------------------------------------------------------------------


def item_weights(items: int, rounds: int, rng: np.random.Generator) -> Floats:
    """How often each item is drawn in each round of the bootstrap: (rounds, items)."""
    return rng.multinomial(items, np.full(items, 1 / items), size=rounds).astype(np.float64)


def bootstrap(
    sums: Floats, statistic: Statistic, rng: np.random.Generator, rounds: int = 1000
) -> Floats:
    """The statistic in each round of the item bootstrap; nan where a round says nothing."""
    return statistic(item_weights(len(sums), rounds, rng) @ sums)


def max_t(values: Floats, draws: Floats, level: float = 0.95) -> tuple[Floats, float]:
    """(SE of each value, critical value of their largest |t|) over common bootstrap rounds.

    `draws` is (rounds, family). Multiplying the SEs by the critical value gives intervals that hold
    for the whole family at once. Members that never vary do not enter the maximum.
    """
    kept = draws[np.isfinite(draws).all(axis=1)]
    if len(kept) < 2:
        return np.full(len(values), np.nan), math.nan
    errors = kept.std(axis=0, ddof=1)
    varied = errors > 1e-12
    if not varied.any():
        return errors, float(stats.norm.ppf((1 + level) / 2))
    largest = np.abs((kept - values)[:, varied] / errors[varied]).max(axis=1)
    return errors, float(np.quantile(largest, level))
