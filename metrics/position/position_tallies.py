"""Counts of verdicts, order sets and repeats (tallies) from which position measures are estimated.

An order set is one comparison in all its orders; it is complete if a verdict was read in each, and
a flip if these verdicts differ. A cell is a part of the frame for which a measure is estimated,
such as one judge with one prompt. Noise-floor repeats are calls repeated only to measure how much a
judge varies.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import accumulate, pairwise

import numpy as np
import pandas as pd

from metrics.estimation import entropy, intervals, measures, row_selection
from studies.domain import Estimate
from studies.frames.frame import RIGHT_COLUMN, RIGHT_OPTIONS_COLUMN, TIE


def first_slot_tally(grouped: measures.GroupedFrame) -> measures.MeasureTally:
    """Count the picks of the first slot, out of the decisive verdicts on comparisons read in all
    their orders (in cells judged in one order only: out of all decisive verdicts of known
    order)."""
    rows = grouped.picks_for_position_measures
    pick = rows["pick"].to_numpy()
    return measures.build_tally(rows, pick == 0, pick >= 0)


def tie_tally(grouped: measures.GroupedFrame) -> measures.MeasureTally:
    """Count ties, out of the verdicts of complete order sets or of unknown order (in cells judged
    in one order only: out of all verdicts)."""
    rows = grouped.picks_for_order_free_measures
    return measures.build_tally(rows, rows["pick"] == TIE, 1)


def order_set_tally(column: str) -> Callable[[measures.GroupedFrame], measures.MeasureTally]:
    """Return a function that counts the comparisons read in all their orders for which `column` is
    true, out of all such comparisons; the columns are those of `order_set_flips`."""

    def tally(grouped: measures.GroupedFrame) -> measures.MeasureTally:
        return measures.build_tally(grouped.order_sets, grouped.order_sets[column], 1)

    return tally


def flip_tally(grouped: measures.GroupedFrame) -> measures.MeasureTally:
    """Count the order sets whose outcome (winner or tie) differs between orders, out of all order
    sets."""
    return measures.build_tally(grouped.order_sets, ~grouped.order_sets["consistent"], 1)


def pairs_read_in_both_orders(grouped: measures.GroupedFrame) -> pd.DataFrame:
    """Return one row for each pair read in both of its two orders. The column `lean` is 0 if the
    verdict did not flip, above 0 if it flipped toward the first slot, below 0 toward the second."""
    sets = grouped.order_sets
    return row_selection.select_rows(sets, (sets["options"] == 2) & (sets["orders"] == 2))


def primacy_tally(grouped: measures.GroupedFrame) -> measures.MeasureTally:
    """Count the pairs that flip toward the first slot, out of all pairs in two orders."""
    sets = pairs_read_in_both_orders(grouped)
    return measures.build_tally(sets, sets["lean"] > 0, 1)


def recency_tally(grouped: measures.GroupedFrame) -> measures.MeasureTally:
    """Count the pairs that flip toward the second slot, out of all pairs in two orders."""
    sets = pairs_read_in_both_orders(grouped)
    return measures.build_tally(sets, sets["lean"] < 0, 1)


def fairness_tally(grouped: measures.GroupedFrame) -> measures.MeasureTally:
    """Score each pair: +1 for a flip toward the second slot, −1 toward the first, 0 for no flip."""
    sets = pairs_read_in_both_orders(grouped)
    return measures.build_tally(sets, -np.sign(sets["lean"]), 1)


def picks_with_known_answer(
    grouped: measures.GroupedFrame,
) -> tuple[pd.DataFrame, row_selection.Mask]:
    """Return the verdicts on comparisons whose better answer is known, and a mask of the verdicts
    that name it."""
    rows = grouped.picks
    if RIGHT_COLUMN in rows:  # several options can be right
        rows = row_selection.select_rows(rows, rows[RIGHT_COLUMN] >= 0)
        return rows, (rows[RIGHT_COLUMN] == 1).to_numpy(bool)
    rows = row_selection.select_rows(rows, rows["known_answer"] >= 0)
    return rows, (rows["pick"] == rows["known_answer"]).to_numpy(bool)


def accuracy_tally(grouped: measures.GroupedFrame) -> measures.MeasureTally:
    """Count the picks of the truly better answer, out of verdicts on comparisons whose better
    answer is known; a tie is wrong."""
    rows, right = picks_with_known_answer(grouped)
    return measures.build_tally(rows, right, 1)


def accuracy_lead_tally(grouped: measures.GroupedFrame) -> measures.MeasureTally:
    """Score each verdict on a comparison whose better answer is known by how far it exceeds a
    random choice among the N options: right 1 − 1/N, wrong −1/N, a tie 0. If k options are right,
    k/N takes the place of 1/N, which is the second column."""
    rows, right = picks_with_known_answer(grouped)
    good = rows[RIGHT_OPTIONS_COLUMN].clip(lower=1) if RIGHT_OPTIONS_COLUMN in rows else 1
    by_chance = np.asarray(good / rows["options"], np.float64)
    lead = right - (rows["pick"] != TIE).to_numpy() * by_chance
    return measures.build_tally(rows, lead, by_chance, 1)


def _fully_rotated_sets(grouped: measures.GroupedFrame) -> pd.DataFrame:
    """Select complete order sets of N options in N orders; if N differs within a cell, only those
    with the smallest N."""
    sets = grouped.order_sets
    sets = row_selection.select_rows(sets, sets["options"] == sets["orders"])
    cell, options = sets["cell"].to_numpy(), sets["options"].to_numpy()
    smallest = np.full(grouped.count, np.iinfo(options.dtype).max)
    np.minimum.at(smallest, cell, options)
    return row_selection.select_rows(sets, options == smallest[cell])


def _tally_fully_rotated_sets(grouped: measures.GroupedFrame) -> measures.MeasureTally:
    """Return the counts of fully rotated sets, in the columns that `expected_consistency` needs."""
    sets = _fully_rotated_sets(grouped)
    slots = [sets[name] for name in sets.columns if str(name).startswith("slot_")]
    return measures.build_tally(sets, sets["consistent"], *slots, sets["tied"], sets["options"], 1)


def expected_consistency(totals: intervals.Floats) -> intervals.Floats:
    """Compute the consistency of a judge that picks slots and ties at random, as often as this
    judge does: tᴺ + N·f₁·…·f_N, for a pair t² + 2·f₁·f₂.

    N is the number of options, t the share of ties, f_s that of slot s. Columns of `totals`:
    consistent sets, picks of each slot, ties, sum of N, number of sets.
    """
    counts = totals[..., 1:-2]
    options = np.nan_to_num(
        np.round(intervals.safe_divide(totals[..., -2], totals[..., -1])), nan=2.0
    )
    shares = intervals.safe_divide(counts, counts.sum(axis=-1, keepdims=True))
    beyond = np.arange(shares.shape[-1] - 1) >= options[..., None]
    places = np.where(beyond, 1.0, shares[..., :-1])
    chance: intervals.Floats = shares[..., -1] ** options + options * places.prod(axis=-1)
    return chance


def expected_consistency_tally(grouped: measures.GroupedFrame) -> measures.MeasureTally:
    """Return the counts from which the consistency expected from own shares is computed
    (`expected_consistency`), of complete order sets of N options in N orders."""
    return replace(_tally_fully_rotated_sets(grouped), statistic=expected_consistency)


def _consistency_kappa(totals: intervals.Floats) -> intervals.Floats:
    """Compute κ, (consistency − c)/(1 − c), with the consistency c expected from own shares;
    `totals` as in `expected_consistency`."""
    expected = expected_consistency(totals)
    return intervals.safe_divide(
        intervals.safe_divide(totals[..., 0], totals[..., -1]) - expected, 1 - expected
    )


def consistency_kappa_range(totals: intervals.Floats) -> float:
    """Difference between the κ of a judge that is always consistent and that of a judge that never
    is: 1/(1 − c), with the consistency c expected from own shares; 0 if c is 1. `totals`
    as in `expected_consistency`."""
    return float(np.nan_to_num(intervals.safe_divide(1.0, 1 - expected_consistency(totals))))


FEW_FLIPS = 5
"""Number of flips below which the jackknife interval of κ is too narrow and is widened."""


def estimate_consistency_kappa(
    sums: intervals.Floats, statistic: intervals.Statistic, measure: measures.Measure
) -> Estimate:
    """Estimate κ, the chance-corrected consistency, with a jackknife interval over items. The
    interval is widened if few comparisons have different verdicts in different orders.

    `sums` has the item totals of `consistency_kappa_tally`, as [item, total]: the first total
    counts consistent comparisons, the last all. `statistic` computes κ from them."""
    got = measures.jackknife_estimate_of_measure(sums, statistic, measure)
    return intervals.widen_for_rare_events(got, sums[:, -1] - sums[:, 0], sums[:, -1], FEW_FLIPS)


def consistency_kappa_tally(grouped: measures.GroupedFrame) -> measures.MeasureTally:
    """Return the counts from which the chance-corrected consistency κ is computed, of complete
    order sets of N options in N orders."""
    return replace(_tally_fully_rotated_sets(grouped), statistic=_consistency_kappa)


def _compare_repeats(
    grouped: measures.GroupedFrame, noise: bool
) -> tuple[pd.DataFrame, intervals.Floats, intervals.Floats]:
    """Return one row for each order of a comparison that was read at least twice, and for each row
    two numbers: the share of pairs of its repeats that differ, and the share of its repeats with
    the most frequent verdict.

    With `noise`, calls repeated only to measure noise are included."""
    rows = grouped.picks_of_repeated_comparisons
    usable = (rows["orders"] != 0).to_numpy()  # order unknown: no repeats to compare
    if not noise:
        usable = usable & ~rows["noise"].to_numpy()
    rows = row_selection.select_rows(rows, usable)
    group, groups = row_selection.group_codes(rows, row_selection.ORDER_KEY)
    counts = row_selection.count_picks(rows, group, groups).astype(np.float64)
    several = counts.sum(axis=1) > 1
    counts, first = counts[several], row_selection.first_row_per_group(group, groups)[several]
    total = counts.sum(axis=1)
    agreeing = (counts * (counts - 1)).sum(axis=1)
    return rows.iloc[first], 1 - agreeing / (total * (total - 1)), counts.max(axis=1) / total


def repeat_noise_tally(grouped: measures.GroupedFrame) -> measures.MeasureTally:
    """Return, for each order of each comparison with repeats, the share of pairs of repeats that
    differ. Calls repeated only to measure noise are included."""
    rows, differing, _ = _compare_repeats(grouped, noise=True)
    return measures.build_tally(rows, differing, 1)


def modal_share_tally(grouped: measures.GroupedFrame) -> measures.MeasureTally:
    """Return, for each order of each comparison with repeats, the share of repeats with the most
    frequent verdict. Calls repeated only to measure noise are left out."""
    rows, _, mode_share = _compare_repeats(grouped, noise=False)
    return measures.build_tally(rows, mode_share, 1)


def slot_pick_tally(grouped: measures.GroupedFrame) -> measures.MeasureTally:
    """Count the picks of each slot, separately for each number of options, in complete order sets
    (in cells judged in one order only: in all verdicts)."""
    rows = grouped.picks_for_position_measures
    pick, options = rows["pick"].to_numpy(), rows["options"].to_numpy()
    sizes = [int(n) for n in np.unique(options) if n > 1] or [2]
    columns = [(options == n) & (pick == slot) for n in sizes for slot in range(n)]
    return replace(
        measures.build_tally(rows, *columns, (pick >= 0) & (options > 1)),
        statistic=PooledEntropy(tuple(sizes)),
    )


@dataclass(frozen=True)
class PooledEntropy:
    """Function that computes the slot entropy, from 0 to 1, from the numbers of picks of each slot.
    If comparisons differ in their number of options N, it is the mean of the entropies for each N,
    weighted by verdicts."""

    sizes: tuple[int, ...]
    """Numbers of options N; the totals have the slot counts of the first N, then of the next."""

    def __call__(self, totals: intervals.Floats) -> intervals.Floats:
        blocks = [totals[..., a:b] for a, b in pairwise(self.column_edges)]
        n = np.stack([block.sum(axis=-1) for block in blocks])
        each = np.nan_to_num(np.stack([entropy.normalised_entropy(block) for block in blocks]))
        return intervals.safe_divide((n * each).sum(axis=0), n.sum(axis=0))

    @property
    def column_edges(self) -> list[int]:
        """First column of the slot counts of each N, and the column after the last: [0, 2, 5] for N
        = 2, 3."""
        return [0, *accumulate(self.sizes)]

    def numbers_of_options_in_use(self, totals: intervals.Floats) -> list[int]:
        """List the numbers of options N that have verdicts in these totals."""
        blocks = zip(self.sizes, pairwise(self.column_edges), strict=True)
        return [size for size, (a, b) in blocks if totals[a:b].any()]


def estimate_slot_entropy(
    sums: intervals.Floats, statistic: intervals.Statistic, measure: measures.Measure
) -> Estimate:
    """Estimate the slot entropy H with its interval.

    For pairs the interval is the Wilson interval of the first-slot share, converted to entropy. For
    more slots it is a jackknife t interval over items for √(1 − H), converted to H. Its standard
    error is at least √(1/(2·n·ln N)), that of n random picks among N slots: equal counts do not
    prove that the judge has no preference. n is the number of picks (of items if H is 0), N the
    number of slots, added up over the numbers of options that occur."""
    n, value = round(float(sums[:, -1].sum())), float(statistic(sums.sum(axis=0)))
    sizes = _numbers_of_options(sums, statistic)
    items = len(sums)
    if sizes == [2]:
        share = intervals.proportions(
            sums[:, 0], sums[:, :2].sum(axis=1), np.zeros(items, np.int64), 1
        )[0]
        ends = np.array([share.value, share.low, share.high], np.float64)
        return _entropy_estimate(share, measure, *_pair_entropy(ends).tolist())
    distance = lambda totals: np.sqrt(np.maximum(1 - statistic(totals), 0))  # noqa: E731
    floor = math.sqrt(1 / (2 * (n if value > 0 else items) * math.log(sum(sizes))))
    error = intervals.jackknife_error(sums, distance)
    method = "jackknife over items, Student's t, on √(1 − entropy)"
    if not math.isfinite(error):
        return Estimate(
            value, None, None, n, items, measure.unit, 0.95, method, intervals.ONE_ITEM_NOTE
        )
    centre, half = (
        math.sqrt(max(1 - value, 0)),
        float(intervals.student_t_quantile(items)) * max(error, floor),
    )
    low, high = 1 - min(centre + half, 1) ** 2, 1 - max(centre - half, 0) ** 2
    return Estimate(value, low, high, n, items, measure.unit, 0.95, method)


def _numbers_of_options(sums: intervals.Floats, statistic: intervals.Statistic) -> list[int]:
    """Return the numbers of options N of the counted comparisons, even if some slots were never
    picked."""
    if isinstance(statistic, PooledEntropy):
        return statistic.numbers_of_options_in_use(sums.sum(axis=0))
    return [sums.shape[1] - 1]


def pair_entropy_estimates(
    sums: intervals.Floats, cell: intervals.Ints, count: int, measure: measures.Measure
) -> list[Estimate] | None:
    """Estimate the slot entropy of every cell at once; None unless all comparisons are pairs."""
    if sums.shape[1] != 3:
        return None
    shares = intervals.proportions(sums[:, 0], sums[:, :2].sum(axis=1), cell, count)
    ends = np.array([(one.value, one.low, one.high) for one in shares], np.float64)
    return [
        _entropy_estimate(share, measure, *bits)
        for share, bits in zip(shares, _pair_entropy(ends).tolist(), strict=True)
    ]


def _pair_entropy(share: intervals.Floats) -> intervals.Floats:
    """Entropy, from 0 to 1, of the picks of two slots with this first-slot share."""
    return entropy.normalised_entropy(np.stack([share, 1 - share], axis=-1))


def _entropy_estimate(
    share: Estimate, measure: measures.Measure, value: float, low: float, high: float
) -> Estimate:
    """Convert the estimate of a first-slot share to one of entropy, unknown if the share is.
    `value`, `low` and `high` are the entropies of the share and of its limits."""
    if share.value is None:
        return intervals.unknown_estimate(measure.empty, measure.unit)
    method = "Wilson interval of the first-position share, converted to entropy"
    if share.low is None or share.high is None:
        return replace(share, value=value, unit=measure.unit, method=method)
    top = 1.0 if share.low <= 0.5 <= share.high else max(low, high)
    return replace(
        share, value=value, low=min(low, high), high=top, unit=measure.unit, method=method
    )
