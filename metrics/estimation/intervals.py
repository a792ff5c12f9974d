"""Confidence intervals clustered by item: the item, not the verdict, is the unit of resampling."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any, Final

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import gammaincinv, stdtrit

from metrics.estimation.integer_codes import unique_codes
from metrics.estimation.rare_events import (
    Z95,
    finite_distance_to_farther_bound,
    upper_limit_of_unseen_share,
)
from studies.domain import Estimate

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Statistic = Callable[[Floats], Floats]
"""Function from k totals to a value (nan where undefined); on an array (…, k) of totals it returns
an array (…) of values."""
MIN_DESIGN_EFFECT: Final = 0.3
"""Lower bound of the design effect. The two orders of an item often cancel, so that its verdicts
carry *more* information than independent ones. With few items that gain is estimated poorly, so no
verdict counts as more than 1/.3 independent ones."""
FEW_ITEMS_BELOW: Final = 5
"""Below this number of items the interval of a share may miss its 95 % coverage (docs/coverage.md);
the page hatches such cells."""
FEW_ITEMS_NOTE: Final = "few items"
NO_SPREAD: Final = 1e-9
"""Standard errors below this value count as zero, because they come from rounding."""
NO_SPREAD_LOGITS: Final = 1e-6
"""The same for standard errors of fitted strengths and coefficients. They are roots of differences
of variances, so the rounding errors of a processor alone can make them larger than NO_SPREAD."""
WILSON_METHOD: Final = "Wilson, effective n by items"
CLUSTER_T_METHOD: Final = "mean, item-cluster t"
JACKKNIFE_METHOD: Final = "item jackknife t"
ONE_ITEM_NOTE: Final = "one item: no interval"
NO_COMMON_NOTE: Final = "no rows in common"
NO_SPREAD_NOTE: Final = "no interval: all items have the same value, and its scale is unknown"
ITEMS_AGREE_NOTE: Final = "all items agree exactly: no interval can be computed"
NO_FAILURE_NOTE: Final = "upper limit at least that of no failure, by the number of items"
FEW_EVENTS: Final = 3
FEW_DEVIATIONS: Final = 12
"""Number of rows that differ from the most frequent value, below which the interval of a mean is
widened: with so few, a t interval is often too narrow (docs/coverage.md)."""


def unknown_estimate(note: str, unit: str = "") -> Estimate:
    """Return an estimate without a value whose note gives the reason."""
    return Estimate(None, unit=unit, note=note)


def student_t_quantile(items: ArrayLike) -> Floats:
    """Two-sided 95 % quantile of Student's t with items − 1 degrees of freedom; inf for fewer than
    two items."""
    degrees = np.asarray(items, np.float64) - 1
    t = stdtrit(np.maximum(degrees, 1), 0.975)  # as stats.t.ppf, without its checks
    return np.where(degrees < 1, np.inf, t)


def safe_divide(total: ArrayLike, n: ArrayLike) -> Floats:
    """Compute total / n; nan where n is not positive."""
    total, n = np.asarray(total, np.float64), np.asarray(n, np.float64)
    if total.shape != n.shape:
        total, n = np.broadcast_arrays(total, n)
    quotient: Floats = np.divide(total, n, out=np.full(n.shape, np.nan), where=n > 1e-12)
    return quotient


def sum_by_item(values: Floats, items: Ints) -> tuple[Ints, Floats]:
    """Sum the rows of each item; returns the item codes that occur and their sums, [item,
    column]."""
    present, code = _unique_items(items)
    columns = values.T if values.ndim == 2 else values[None, :]
    sums = [np.bincount(code, column, minlength=len(present)) for column in columns]
    return present, np.stack(sums, axis=1) if sums else np.zeros((len(present), 0))


def _unique_items(items: NDArray[Any]) -> tuple[NDArray[Any], Ints]:
    """Return the distinct items, and the index among them of each row's item."""
    if np.issubdtype(items.dtype, np.integer):
        return unique_codes(items)
    return np.unique(items, return_inverse=True)


# -- proportions ---------------------------------------------------------------------------------


def wilson_bounds(successes: ArrayLike, n: ArrayLike, z: ArrayLike = Z95) -> tuple[Floats, Floats]:
    """Lower and upper limit of the Wilson score interval of the share successes/n; `n` may be
    fractional (an effective n) and must be positive. `z` is the normal quantile."""
    n, z = np.asarray(n, np.float64), np.asarray(z, np.float64)
    p = np.asarray(successes, np.float64) / n
    centre = (p + z * z / (2 * n)) / (1 + z * z / n)
    half = z / (1 + z * z / n) * np.sqrt(np.maximum(p * (1 - p) / n + z * z / (4 * n * n), 0))
    low, high = np.clip(centre - half, 0, 1), np.clip(centre + half, 0, 1)
    return np.where(p <= 0, 0.0, low), np.where(p >= 1, 1.0, high)


def proportion(
    successes: ArrayLike, items: ArrayLike, unit: str = "share", note: str = ""
) -> Estimate:
    """Estimate the mean of 0/1 outcomes (a tie may be ½) with a Wilson interval at the effective n.
    `successes` has the outcome of each verdict, `items` its item.

    The effective n corrects for several verdicts per item (`share_and_effective_sample_size`); with
    one verdict per item the interval is the ordinary Wilson interval. For a share of 0 or 1 the
    sample size is the number of items, not of verdicts. With one item only there is no interval,
    without outcomes no value."""
    y = np.asarray(successes, np.float64)
    if len(y) == 0:
        return unknown_estimate(note or "no verdicts", unit)
    present, code = _unique_items(np.asarray(items))
    total = np.asarray(np.bincount(code, y), np.float64)
    n = np.bincount(code).astype(np.float64)
    return proportions(total, n, np.zeros(len(present), np.int64), 1, unit, note)[0]


def rare_proportion(
    successes: ArrayLike, items: ArrayLike, unit: str = "share", note: str = ""
) -> Estimate:
    """Estimate a share that may be near 0 or 1 in few verdicts, as `proportion` does with the same
    arguments, with its interval widened to `modified_wilson_bounds`."""
    y = np.asarray(successes, np.float64)
    found = proportion(y, items, unit, note)
    if found.value is None or found.low is None or found.high is None:
        return found
    _, sums = sum_by_item(np.stack([y, np.ones(len(y))], axis=1), np.asarray(items))
    group = np.zeros(len(sums), np.int64)
    size = float(share_and_effective_sample_size(sums[:, 0], sums[:, 1], group, 1)[3][0])
    low, high = modified_wilson_bounds(found.value, size)
    return replace(found, low=min(found.low, low), high=max(found.high, high))


def modified_wilson_bounds(share: float, n: float) -> tuple[float, float]:
    """Wilson limits with the correction of Brown, Cai and DasGupta (2001). With 1 to FEW_EVENTS
    successes, the lower limit is that of a Poisson count if this is lower; likewise for failures
    and the upper limit. Wilson's own limit excludes the true share of a rare event too often."""
    low, high = (float(limit) for limit in wilson_bounds(share * n, n))
    rare, rest = share * n, (1 - share) * n
    if 0 < rare <= FEW_EVENTS:
        low = min(low, float(gammaincinv(rare, 0.05)) / n)
    if 0 < rest <= FEW_EVENTS:
        high = max(high, 1 - float(gammaincinv(rest, 0.05)) / n)
    return low, high


def share_and_effective_sample_size(
    successes: Floats, counts: Floats, group: Ints, groups: int
) -> tuple[Floats, Floats, Floats, Floats]:
    """Return share p, number of verdicts n, number of items G and effective sample size of each
    group; p is nan where n is 0. `successes` and `counts` are sums for each (group, item).

    The effective sample size is n/deff·(1.96/t)², with corrections for few items:
    - deff, the design effect, is a/(1 + a/n), at least MIN_DESIGN_EFFECT; n/G if p is 0 or 1. a is
      the variance clustered by item divided by the variance of independent verdicts; in it, each
      item is compared with the share of the *other* items. The divisor 1 + a/n corrects p(1−p),
      which is too small by the variance of p.
    - t is Student's 97.5 % quantile. It has (n²/Σn_i² − 1)·m/(m−1) degrees of freedom, with n_i
      verdicts on item i and m = n/G; with equally many verdicts on all items, n²/Σn_i² is G. With m
      = 1, t is thus the normal quantile: the variance of a single 0/1 verdict follows from p. The
      factor m/(m−1) is left out for items with fractional totals (ties, means).
    """
    filled = counts > 0
    successes, counts, group = successes[filled], counts[filled], group[filled]

    def group_sums(values: Floats) -> Floats:
        return np.asarray(np.bincount(group, values, minlength=groups), np.float64)

    n, items = group_sums(counts), group_sums(np.ones_like(counts))
    p = safe_divide(group_sums(successes), n)
    others = np.maximum(1 - counts / n[group], 1e-12)
    spread = group_sums(((successes - p[group] * counts) / others) ** 2)
    ratio = safe_divide(spread * safe_divide(items - 1, items), np.nan_to_num(n * p * (1 - p)))
    deff = np.maximum(ratio / (1 + ratio / np.maximum(n, 1)), MIN_DESIGN_EFFECT)
    per_item = np.maximum(np.nan_to_num(safe_divide(n, items), nan=1.0), 1.0)
    deff = np.where(np.isnan(ratio), per_item, deff)
    fractional = np.where(np.abs(successes - np.rint(successes)) < 1e-9, 0.0, 1.0)
    whole = 1 - safe_divide(group_sums(fractional), items)
    even = np.nan_to_num(safe_divide(n * n, group_sums(counts**2)), nan=1.0)
    degrees = (even - 1) / np.maximum(1 - np.nan_to_num(whole) / per_item, 1e-6)
    t = stdtrit(np.clip(degrees, 1, 1e6), 0.975)
    return p, n, items, n / deff * (Z95 / t) ** 2


def proportions(
    successes: Floats, counts: Floats, group: Ints, groups: int, unit: str = "share", note: str = ""
) -> list[Estimate]:
    """Estimate the proportions of many groups at once, from sums for each (group, item), with
    Wilson intervals at the effective n (as `proportion` does for one group)."""
    p, n, items, effective = share_and_effective_sample_size(successes, counts, group, groups)
    low, high = wilson_bounds(np.nan_to_num(p) * effective, np.maximum(effective, 1e-12))
    columns = (p, low, high, n.astype(np.int64), items.astype(np.int64))
    rows = zip(*(one.tolist() for one in columns), strict=True)
    return [
        _share_estimate(share, start, end, calls, on, unit, note)
        for share, start, end, calls, on in rows
    ]


def proportions_of_failures(
    failures: Floats, counts: Floats, group: Ints, groups: int, unit: str = "share"
) -> list[Estimate]:
    """Estimate shares of failures as `proportions` does, with intervals that reach at least as far
    as that of no failure on the same items.

    Without a failure the sample size is the number of items, since the calls on an item may all
    fail together and such items may exist unseen. A few failures on other items do not exclude
    that, so one failure more must not make the upper limit lower."""
    seen = proportions(failures, counts, group, groups, unit, NO_FAILURE_NOTE)
    none = proportions(0 * counts, counts, group, groups, unit)
    highs = [max(a.high or 0.0, b.high or 0.0) or None for a, b in zip(seen, none, strict=True)]
    return [replace(one, high=high) for one, high in zip(seen, highs, strict=True)]


def _share_estimate(
    p: float, low: float, high: float, n: int, items: int, unit: str, note: str
) -> Estimate:
    """Estimate of the share `p` of n verdicts; without the interval if there is one item only,
    without a value if n is 0."""
    if n == 0:
        return unknown_estimate(note or "no verdicts", unit)
    if items < 2:
        note = join_notes(note, ONE_ITEM_NOTE)
        return Estimate(p, None, None, n, items, unit, 0.95, WILSON_METHOD, note)
    note = join_notes(note, FEW_ITEMS_NOTE if items < FEW_ITEMS_BELOW else "")
    return Estimate(p, min(low, p), max(high, p), n, items, unit, 0.95, WILSON_METHOD, note)


def pooled_judges_note(judges: int) -> str:
    """Return the note of an estimate from the verdicts of several judges together; empty for one
    judge."""
    return f"verdicts of {judges} judges pooled" if judges > 1 else ""


def join_notes(*notes: str) -> str:
    """Join several notes into one line, leaving out the empty ones."""
    return "; ".join(note for note in notes if note)


# -- means and differences -----------------------------------------------------------------------


def mean_estimate(
    values: ArrayLike,
    items: ArrayLike,
    unit: str = "score",
    bounds: tuple[float, float] = (-math.inf, math.inf),
    note: str = "",
    effect: float | None = None,
) -> Estimate:
    """Estimate the mean over rows with a t interval clustered by item, clipped to `bounds`; with
    one item only there is no interval, without rows no value. `items` is the item of each row.

    If all items have the same mean, the half-width is `equal_items_half_width` with `effect`
    (default: the distance to the farther bound; without bounds there is no interval). If fewer than
    FEW_DEVIATIONS rows (and less than half) differ from the most frequent value, the interval is
    widened.
    """
    y, codes = np.asarray(values, np.float64), np.asarray(items)
    if len(y) == 0:
        return unknown_estimate(note or "no values", unit)
    centre = float(y.mean())
    _, residuals = sum_by_item(y - centre, codes)
    groups = len(residuals)
    if groups < 2:
        note = join_notes(note, ONE_ITEM_NOTE)
        return Estimate(centre, None, None, len(y), 1, unit, 0.95, CLUSTER_T_METHOD, note)
    error = math.sqrt(groups / (groups - 1) * float((residuals**2).sum())) / len(y)
    below = above = float(student_t_quantile(groups)) * error
    if error < NO_SPREAD:
        if effect is None and not np.isfinite(bounds).all():
            note = join_notes(note, NO_SPREAD_NOTE)
            return Estimate(centre, None, None, len(y), groups, unit, 0.95, CLUSTER_T_METHOD, note)
        effect = finite_distance_to_farther_bound(centre, bounds) if effect is None else effect
        below = above = equal_items_half_width(groups, effect)
    else:
        rare = _limit_distances(y, codes)
        below, above = max(below, rare[0]), max(above, rare[1])
    low, high = max(centre - below, bounds[0]), min(centre + above, bounds[1])
    return Estimate(centre, low, high, len(y), groups, unit, 0.95, CLUSTER_T_METHOD, note)


def _limit_distances(values: Floats, items: NDArray[Any]) -> tuple[float, float]:
    """Return the distances of the mean to its lower and to its upper limit if fewer than
    FEW_DEVIATIONS rows (and less than half) differ from the most frequent value; else (0, 0).

    A sample with few such rows often shows too few of them, or too many. The share of larger values
    gets Wilson limits, and so does the share of smaller values. The distance of each share to its
    limit is multiplied by the mean distance of its values from the most frequent one (without such
    values: by that of the other share's values). The two products are combined as √(a² + b²).
    """
    found, counts = np.unique(values, return_counts=True)
    events = len(values) - int(counts.max())
    if not 0 < events < min(FEW_DEVIATIONS, len(values) / 2):
        return 0.0, 0.0
    deviation = values - found[counts.argmax()]
    typical = float(np.abs(deviation[np.abs(deviation) > NO_SPREAD]).mean())
    below = above = 0.0
    for sign in (1.0, -1.0):
        side = sign * deviation > NO_SPREAD
        share = proportion(side, items)
        if share.value is None or share.low is None or share.high is None:
            continue
        size = float(np.abs(deviation[side]).mean()) if side.any() else typical
        less, more = size * (share.value - share.low), size * (share.high - share.value)
        down, up = (less, more) if sign > 0 else (more, less)
        below, above = math.hypot(below, down), math.hypot(above, up)
    return below, above


def equal_items_half_width(items: int, effect: float) -> float:
    """Half-width of an interval if all items in the sample have the same value, which does not
    prove that all others have it too.

    `effect` is the change of the estimate if all items had another value. It is multiplied by the
    largest plausible share of such items: Wilson's upper limit for 0 of `items`.
    """
    return effect * upper_limit_of_unseen_share(items)


def widen_for_rare_events(
    estimate: Estimate, events: Floats, counts: Floats, fewer_than: int
) -> Estimate:
    """Widen the interval of an estimate 1 − c·(share of events), such as κ, by the Wilson interval
    of that share, if there are fewer than `fewer_than` events (but at least one).

    For κ and α the events are disagreements. With few events the t interval is often too narrow.
    `events` and `counts` are sums by item.
    """
    value, low, high = estimate.value, estimate.low, estimate.high
    if value is None or low is None or high is None or not 0 < events.sum() < fewer_than:
        return estimate
    rate = proportions(events, counts, np.zeros(len(events), np.int64), 1)[0]
    if not rate.value or rate.low is None or rate.high is None:
        return estimate
    scale = (1 - value) / rate.value
    return replace(
        estimate, low=min(low, 1 - scale * rate.high), high=max(high, 1 - scale * rate.low)
    )


def paired_difference(
    first: ArrayLike,
    second: ArrayLike,
    items: ArrayLike,
    unit: str = "share",
    bounds: tuple[float, float] = (-1.0, 1.0),
) -> Estimate:
    """Estimate the mean of first − second over matched rows; t interval clustered by item."""
    gap = np.asarray(first, np.float64) - np.asarray(second, np.float64)
    return mean_estimate(gap, items, unit, bounds, "" if len(gap) else NO_COMMON_NOTE)


def jackknife_estimate(
    sums: Floats,
    statistic: Statistic,
    n: int,
    unit: str = "share",
    bounds: tuple[float, float] = (-math.inf, math.inf),
    note: str = "",
    effect: float | None = None,
) -> Estimate:
    """Estimate a statistic of item totals (`sums`: [item, total]) with a delete-one-item t interval
    clipped to `bounds`; `n` is the number of verdicts behind the totals. There is no value if the
    statistic is undefined, and no interval for one item, or if the statistic is undefined without
    one of the items.

    If leaving out items changes nothing, the half-width is `equal_items_half_width` with `effect`
    (default: the distance to the farther bound; 0 if a bound is infinite).
    """
    groups = len(sums)
    total = sums.sum(axis=0) if groups else np.zeros(sums.shape[-1])
    value = float(statistic(total)) if groups else math.nan
    if not math.isfinite(value):
        return unknown_estimate(note or "no verdicts", unit)
    error = jackknife_error(sums, statistic)
    if not math.isfinite(error):
        reason = (
            ONE_ITEM_NOTE
            if groups < 2
            else "no interval: the value is undefined if one of the items is left out"
        )
        return Estimate(
            value, None, None, n, groups, unit, 0.95, JACKKNIFE_METHOD, join_notes(note, reason)
        )
    half = float(student_t_quantile(groups)) * error
    if error < NO_SPREAD:
        effect = finite_distance_to_farther_bound(value, bounds) if effect is None else effect
        half = equal_items_half_width(groups, effect)
    low, high = min(max(value - half, bounds[0]), value), max(min(value + half, bounds[1]), value)
    return Estimate(value, low, high, n, groups, unit, 0.95, JACKKNIFE_METHOD, note)


def jackknife_error(sums: Floats, statistic: Statistic) -> float:
    """Standard error of a statistic of item totals (`sums`: [item, total]) from leaving out one
    item at a time; nan with fewer than two items, or if a value is undefined."""
    groups = len(sums)
    if groups < 2:
        return math.nan
    deviations = leave_one_out_deviations(sums, statistic)
    return math.sqrt((groups - 1) / groups * float((deviations**2).sum()))


def leave_one_out_deviations(sums: Floats, statistic: Statistic) -> Floats:
    """Return, for each item, the statistic of the totals (`sums`: [item, total]) without this item,
    minus the mean of these values; all nan if one value is undefined."""
    left = statistic(sums.sum(axis=0) - sums)
    return left - left.mean() if np.isfinite(left).all() else np.full(len(sums), np.nan)


# -- resampling ----------------------------------------------------------------------------------


def draw_bootstrap_item_weights(items: int, rounds: int, rng: np.random.Generator) -> Floats:
    """Draw how often each item occurs in each bootstrap round: [round, item]."""
    return rng.multinomial(items, np.full(items, 1 / items), size=rounds).astype(np.float64)


# -- printing ------------------------------------------------------------------------------------


def decimals_that_show_sign_of_interval(estimate: Estimate, digits: int, scale: float) -> int:
    """Return the number of decimals for printing an interval, multiplied by `scale`, so that an
    interval that excludes 0 does not seem to touch it: `digits` if no end is rounded to 0, else up
    to three more."""
    ends = [scale * end for end in (estimate.low, estimate.high) if end is not None]
    if len(ends) < 2 or ends[0] * ends[1] <= 0:
        return digits
    enough = (more for more in range(digits, digits + 3) if all(round(end, more) for end in ends))
    return next(enough, digits + 3)
