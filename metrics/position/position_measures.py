"""Position bias measures: slot shares, consistency, flips and their direction, chance levels.

An order set is one comparison in all its orders; it is complete if a verdict was read in each, and
a flip if these verdicts differ. Noise-floor repeats are calls repeated only to measure how much a
judge varies.
"""

import math
from dataclasses import replace
from typing import Final

import numpy as np
import pandas as pd

from metrics.estimation import all_measures, intervals, row_selection
from metrics.estimation.measures import GroupedFrame, Measure
from metrics.position import position_tallies as tallies
from metrics.position.position_tallies import pairs_read_in_both_orders
from studies.domain import Estimate
from studies.frames.frame import TIE

NO_SETS_NOTE: Final = "no comparison has a verdict in all its orders"
NO_PAIRS_NOTE: Final = "no pair has a verdict in both orders"
NO_REPEATS_NOTE: Final = "no comparison was repeated in the same order"
NO_PLANNED_REPEATS_NOTE: Final = f"{NO_REPEATS_NOTE}, repeats for the noise floor left out"
SHARE: Final = "share"

FIRST_SHARE: Final = Measure(
    "first_share",
    SHARE,
    tallies.first_slot_tally,
    empty=NO_SETS_NOTE,
    notes_one_order=True,
    prefers_order_sets=True,
    needs_order=True,
)
TIE_RATE: Final = Measure(
    "tie_rate",
    SHARE,
    tallies.tie_tally,
    empty=NO_SETS_NOTE,
    notes_one_order=True,
    prefers_order_sets=True,
)
SLOT_ENTROPY: Final = Measure(
    "entropy",
    "bits/log2 N",
    tallies.slot_pick_tally,
    "other",
    (0, 1),
    NO_SETS_NOTE,
    notes_one_order=True,
    prefers_order_sets=True,
    needs_order=True,
    interval=tallies.estimate_slot_entropy,
    batch_interval=tallies.pair_entropy_estimates,
)
CONSISTENCY: Final = Measure(
    "consistency",
    SHARE,
    tallies.order_set_tally("consistent"),
    empty=NO_SETS_NOTE,
    needs_order=True,
)
CONFLICT: Final = Measure(
    "conflict", SHARE, tallies.flip_tally, empty=NO_SETS_NOTE, needs_order=True
)
HARD_FLIPS: Final = Measure(
    "hard_flips", SHARE, tallies.order_set_tally("hard"), empty=NO_SETS_NOTE, needs_order=True
)
SOFT_FLIPS: Final = Measure(
    "soft_flips", SHARE, tallies.order_set_tally("soft"), empty=NO_SETS_NOTE, needs_order=True
)
EXPECTED_CONSISTENCY: Final = Measure(
    "expected_consistency",
    SHARE,
    tallies.expected_consistency_tally,
    "other",
    (0, 1),
    NO_SETS_NOTE,
    needs_order=True,
)
CONSISTENCY_KAPPA: Final = Measure(
    "kappa",
    "kappa",
    tallies.consistency_kappa_tally,
    "other",
    (-math.inf, 1),
    NO_SETS_NOTE,
    needs_order=True,
    interval=tallies.estimate_consistency_kappa,
    effect=tallies.consistency_kappa_range,
)
NOISE_FLOOR: Final = Measure(
    "noise_floor", SHARE, tallies.repeat_noise_tally, empty=NO_REPEATS_NOTE, needs_order=True
)
ACCURACY: Final = Measure(
    "accuracy", SHARE, tallies.accuracy_tally, empty="no verdict where the better answer is known"
)
ACCURACY_LEAD: Final = Measure(
    "accuracy_lead",
    "difference of shares",
    tallies.accuracy_lead_tally,
    "mean",
    (-1, 1),
    empty=ACCURACY.empty,
    is_shifted_share=True,
)
"""Accuracy minus chance. Chance is the accuracy of a judge that ties as often and otherwise chooses
at random: (1 − t)/N with the share t of ties among N options. For pairs it is half of the share of
right verdicts minus that of wrong ones. Every comparison of an accuracy with chance uses it."""
PRIMACY: Final = Measure(
    "primacy", SHARE, tallies.primacy_tally, empty=NO_PAIRS_NOTE, needs_order=True
)
RECENCY: Final = Measure(
    "recency", SHARE, tallies.recency_tally, empty=NO_PAIRS_NOTE, needs_order=True
)
FAIRNESS: Final = Measure(
    "fairness",
    "recency − primacy",
    tallies.fairness_tally,
    "mean",
    (-1, 1),
    NO_PAIRS_NOTE,
    needs_order=True,
)
STABILITY: Final = Measure(
    "stability", SHARE, tallies.modal_share_tally, empty=NO_PLANNED_REPEATS_NOTE, needs_order=True
)


def _estimate_overall(measure: Measure, frame: pd.DataFrame) -> Estimate:
    return all_measures.estimate_all([measure], frame)[measure.name][()]


def first_share(frame: pd.DataFrame) -> Estimate:
    """Estimate the share of the first slot among decisive verdicts (no ties) on comparisons read in
    all their orders. If no comparison was planned in several orders, all decisive verdicts of known
    order count, with a note."""
    return _estimate_overall(FIRST_SHARE, frame)


def tie_rate(frame: pd.DataFrame) -> Estimate:
    """Estimate the share of ties among the verdicts on comparisons read in all their orders, and
    those of unknown order. If no comparison was planned in several orders, all verdicts count."""
    return _estimate_overall(TIE_RATE, frame)


def slot_entropy(frame: pd.DataFrame) -> Estimate:
    """Estimate the entropy of the picked slots, divided by its maximum log N for N options.

    If N differs between comparisons, the entropies of each N are averaged, weighted by verdicts.
    Only decisive verdicts of complete order sets count (all decisive ones, if no comparison was
    planned in several orders).
    """
    return _estimate_overall(SLOT_ENTROPY, frame)


def flip_share_from_consistency(consistent: Estimate) -> Estimate:
    """Share of comparisons that flip, from the share that does not (`consistent`)."""
    if consistent.value is None:
        return consistent
    low, high = (None if end is None else 1 - end for end in (consistent.high, consistent.low))
    return replace(consistent, value=1 - consistent.value, low=low, high=high)


def consistency(frame: pd.DataFrame) -> Estimate:
    """Estimate the share of comparisons with the same outcome (win, loss, tie) in all orders.

    Repeats are first reduced to their most frequent verdict. A comparison counts only if every
    planned order was read: an unreadable reply lowers n, not the value.
    """
    return _estimate_overall(CONSISTENCY, frame)


def noise_floor(frame: pd.DataFrame) -> Estimate:
    """Estimate how often a judge contradicts itself on the same call: the share of pairs of its
    replies that differ, as the mean over calls with repeats. All repeats count, also those made
    only to measure this."""
    return _estimate_overall(NOISE_FLOOR, frame)


def accuracy(frame: pd.DataFrame) -> Estimate:
    """Estimate the share of verdicts for the truly better answer, among comparisons whose better
    answer is known; a tie is wrong."""
    return _estimate_overall(ACCURACY, frame)


def accuracy_lead(frame: pd.DataFrame) -> Estimate:
    """Estimate the accuracy minus that of a judge that ties as often and otherwise chooses at
    random."""
    return _estimate_overall(ACCURACY_LEAD, frame)


def chance_accuracy(accuracy: Estimate, lead: Estimate) -> float | None:
    """Accuracy of a judge that ties as often and otherwise chooses at random, from the accuracy and
    its lead over chance (`ACCURACY_LEAD`); None if they are unknown."""
    return None if accuracy.value is None or lead.value is None else accuracy.value - lead.value


def fairness(frame: pd.DataFrame) -> Estimate:
    """Estimate preference fairness: the share of pairs that flip toward the second slot minus the
    share that flip toward the first. It lies between −1 (all flip toward the first) and +1."""
    return _estimate_overall(FAIRNESS, frame)


def stability(frame: pd.DataFrame) -> Estimate:
    """Estimate how stable the verdicts of one order are: the share of the most frequent verdict
    among its repeats, as the mean over orders with repeats. Calls repeated only to measure noise
    are left out."""
    return _estimate_overall(STABILITY, frame)


def flip_counts(frame: pd.DataFrame) -> dict[str, int]:
    """Count pairs read in both orders ("pairs"), "flips", flips "toward_first" and "toward_second",
    and pairs with the same slot picked twice ("first_twice", "second_twice")."""
    sets = pairs_read_in_both_orders(GroupedFrame(frame))
    lean = sets["lean"].to_numpy()
    return {
        "pairs": len(sets),
        "flips": int((lean != 0).sum()),
        "toward_first": int((lean > 0).sum()),
        "toward_second": int((lean < 0).sum()),
        "first_twice": int((lean == 2).sum()),
        "second_twice": int((lean == -2).sum()),
    }


def slot_and_tie_counts(frame: pd.DataFrame, options: int = 2) -> dict[str, list[int] | int]:
    """Count the picks of each slot ("slots", a list) and the "ties" on comparisons of `options`
    answers that were read in all their orders. If no comparison was planned in several orders, all
    verdicts of known order count."""
    rows = GroupedFrame(frame).picks_for_position_measures
    pick = rows.loc[(rows["options"] == options).to_numpy(), "pick"].to_numpy()
    slots = np.bincount(pick[pick >= 0].astype(np.int64), minlength=options)
    return {"slots": slots.tolist(), "ties": int((pick == TIE).sum())}


def slot_shares(frame: pd.DataFrame, options: int = 2) -> list[Estimate]:
    """Estimate the share of each slot among the decisive verdicts on comparisons of `options`
    answers that were read in all their orders. If no comparison was planned in several orders, all
    decisive verdicts of known order count."""
    evidence = GroupedFrame(frame)
    rows = evidence.picks_for_position_measures
    rows = row_selection.select_rows(rows, (rows["options"] == options) & (rows["pick"] >= 0))
    pick, item = rows["pick"].to_numpy(), row_selection.item_codes(rows)
    note = intervals.join_notes("" if len(rows) else NO_SETS_NOTE, f"chance is 1/{options}")
    return [intervals.proportion(pick == slot, item, note=note) for slot in range(options)]
