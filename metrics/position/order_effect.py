"""Order effect corrected for noise: disagreement between orders above the disagreement of repeats.

Flips between two orders have two causes: the order, and the noise of a judge that varies from call
to call. Both disagreements are computed from single replies, which puts them on one scale; the most
frequent verdict of several repeats flips less often and would hide an effect.

The correction assumes that repeats are independent replies. Repeats with a memory (a cache, or
replies that copy each other) agree more often than independent ones, and look like an order effect.
With three repeats or more, such a dependence between consecutive repeats can be seen.
"""

from typing import Final

import numpy as np
import pandas as pd

from metrics.estimation import row_selection
from metrics.estimation.intervals import Floats, Ints
from metrics.estimation.measures import GroupedFrame, Measure, MeasureTally, build_tally
from studies.domain import Estimate
from studies.frames.frame import NO_PICK

NO_REPEATED_SETS_NOTE: Final = (
    "no comparison has a verdict in all orders and a repeat in one of them"
)


def _order_effect_tally(grouped: GroupedFrame) -> MeasureTally:
    """Compute the order effect D of each comparison that was read in all its orders and has repeats
    in at least one of them.

    D = (share of pairs of replies in different orders that differ) − (share of pairs of replies in
    the same order that differ). For two orders with choice probabilities p₁ and p₂ the mean of D is
    ½·‖p₁ − p₂‖², which is 0 without an order effect."""
    rows = grouped.picks_of_repeated_comparisons
    rows = row_selection.select_rows(rows, row_selection.complete_set_mask(rows))
    order, orders = row_selection.group_codes(rows, row_selection.ORDER_KEY)
    counts = _choice_counts(rows, order, orders)
    first = rows.iloc[row_selection.first_row_per_group(order, orders)]
    comparison, comparisons = row_selection.group_codes(first, row_selection.COMPARISON_KEY)
    within, repeated = _disagreement_within_orders(counts, comparison, comparisons)
    between = _disagreement_between_orders(counts, comparison, comparisons)
    kept = repeated > 0
    one_each = first.iloc[row_selection.first_row_per_group(comparison, comparisons)]
    return build_tally(one_each.loc[kept], between[kept] - within[kept], 1)


def _choice_counts(rows: pd.DataFrame, order: Ints, orders: int) -> Floats:
    """Count the replies for a tie (column 0) and for each contestant, in each order of each
    comparison: [order, choice]; `order` is the code of each row's order and comparison."""
    names = row_selection.contestants(rows)
    placed = row_selection.slot_contestants(rows, names)
    chosen = row_selection.chosen_contestants(rows, names)
    rank = np.where(chosen >= 0, ((placed >= 0) & (placed < chosen[:, None])).sum(axis=1), -1)
    width = int(rank.max(initial=0)) + 2
    flat = np.bincount(order * width + rank + 1, minlength=orders * width)
    return flat.reshape(orders, width).astype(np.float64)


def _disagreement_within_orders(
    counts: Floats, comparison: Ints, comparisons: int
) -> tuple[Floats, Ints]:
    """Return, for each comparison, how often two repeats in the same order disagree (mean over its
    orders with repeats), and the number of these orders. `counts` [order, choice] are the replies
    for each choice; `comparison` is the code of the comparison of each order."""
    total = counts.sum(axis=1)
    several = total > 1
    agreeing = (counts * (counts - 1)).sum(axis=1)[several]
    differing = 1 - agreeing / (total[several] * (total[several] - 1))
    repeated = np.bincount(comparison[several], minlength=comparisons).astype(np.int64)
    summed = np.bincount(comparison[several], differing, minlength=comparisons)
    return summed / np.maximum(repeated, 1), repeated


def _disagreement_between_orders(counts: Floats, comparison: Ints, comparisons: int) -> Floats:
    """Return, for each comparison, how often two replies in different orders disagree, as the mean
    over all pairs of its orders. `counts` [order, choice] are the replies for each choice;
    `comparison` is the code of the comparison of each order."""
    share = counts / np.maximum(counts.sum(axis=1, keepdims=True), 1)
    summed = np.stack(
        [np.bincount(comparison, column, minlength=comparisons) for column in share.T], axis=1
    )
    own = np.bincount(comparison, (share * share).sum(axis=1), minlength=comparisons)
    orders = np.bincount(comparison, minlength=comparisons)
    agreeing = (summed * summed).sum(axis=1) - own
    differing: Floats = 1 - agreeing / np.maximum(orders * (orders - 1), 1)
    return differing


ORDER_EFFECT: Final = Measure(
    "order_effect",
    "difference of shares",
    _order_effect_tally,
    "mean",
    (-1, 1),
    NO_REPEATED_SETS_NOTE,
    needs_order=True,
)


def _consecutive_repeat_similarity_tally(grouped: GroupedFrame) -> MeasureTally:
    """Compute, for each order of each comparison with three repeats or more, the share of differing
    verdicts among repeats at least two apart minus that among consecutive repeats. Calls repeated
    only to measure noise are left out."""
    rows = grouped.picks_of_repeated_comparisons
    usable = (rows["orders"] != 0).to_numpy() & ~rows["noise"].to_numpy()
    rows = row_selection.select_rows(rows, usable)
    group, groups = row_selection.group_codes(rows, row_selection.ORDER_KEY)
    pick, repeat = rows["pick"].to_numpy(np.int64), rows["repeat"].to_numpy(np.int64)
    table = np.full((groups, int(repeat.max(initial=-1)) + 1), NO_PICK, np.int64)
    table[group, repeat] = pick
    left, right = np.triu_indices(table.shape[1], 1)
    known = (table[:, left] != NO_PICK) & (table[:, right] != NO_PICK)
    differ = known & (table[:, left] != table[:, right])
    near = right - left == 1
    near_known, far_known = known[:, near].sum(axis=1), known[:, ~near].sum(axis=1)
    kept = (near_known > 0) & (far_known > 0)
    score = differ[:, ~near].sum(axis=1)[kept] / far_known[kept]
    score = score - differ[:, near].sum(axis=1)[kept] / near_known[kept]
    one_each = rows.iloc[row_selection.first_row_per_group(group, groups)]
    return build_tally(one_each.loc[kept], score, 1)


REPEAT_MEMORY: Final = Measure(
    "repeat_memory",
    "difference of shares",
    _consecutive_repeat_similarity_tally,
    "mean",
    (-1, 1),
    "no comparison was judged three times in the same order",
    needs_order=True,
)


def consecutive_repeat_similarity(frame: pd.DataFrame) -> Estimate:
    """Estimate the share of differing verdicts among repeats at least two apart minus that among
    consecutive repeats, where a call has three repeats or more. It is 0 for independent replies,
    and positive if a reply depends on the one before it. Calls repeated only to measure noise are
    left out."""
    return REPEAT_MEMORY.estimate(frame)


def order_effect(frame: pd.DataFrame) -> Estimate:
    """Estimate the disagreement of single replies between orders minus that of repeats in the same
    order, over comparisons read in all their orders with repeats in at least one; noise-floor
    repeats (calls made only to measure noise) included."""
    return ORDER_EFFECT.estimate(frame)
