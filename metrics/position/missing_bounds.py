"""Bounds of position measures over all verdicts that unusable replies could have had.

A reply may be unusable because of the verdict it would have given, such as a refusal to prefer one
answer. The bounds hold for any such reason; they do not include sampling error.
"""

from collections.abc import Sequence
from typing import Any, Final

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from metrics.estimation import intervals, prompt_kinds, row_selection
from metrics.estimation.measures import CellKey, GroupedFrame
from studies.domain import Estimate
from studies.frames.frame import NO_PICK

BOUNDS_METHOD: Final = "bounds: lowest and highest value that the missing verdicts allow"
NOTHING_PLANNED_NOTE: Final = "no comparison was planned in several orders"


def consistency_bounds(frame: pd.DataFrame, by: Sequence[str] = ()) -> dict[CellKey, Estimate]:
    """Return cell (values of the columns `by`) -> bounds of consistency: none of the incomplete
    comparisons is consistent (low), or all are (high).

    Only comparisons planned in several orders count; a comparison that lacks a verdict in one of
    them is incomplete. `value` is the consistency of the complete comparisons.
    """
    evidence = GroupedFrame(frame, by)
    rows = _calls_planned_in_several_orders(evidence.frame)
    comparison, count = row_selection.group_codes(rows, row_selection.COMPARISON_KEY)
    cells = rows["cell"].to_numpy()[row_selection.first_row_per_group(comparison, count)]
    planned = np.bincount(cells, minlength=evidence.count)
    sets = evidence.order_sets
    own = sets["cell"].to_numpy()
    read = np.bincount(own, minlength=evidence.count)
    consistent = np.bincount(own, sets["consistent"], minlength=evidence.count)
    return _bounds_by_cell(evidence, consistent, read, planned - read, "comparisons incomplete")


def first_share_bounds(frame: pd.DataFrame, by: Sequence[str] = ()) -> dict[CellKey, Estimate]:
    """Return cell (values of the columns `by`) -> bounds of the first-slot share: all unusable
    replies picked another slot (low), or all picked the first (high).

    Counts all calls on comparisons planned in several orders, incomplete comparisons included;
    `value` is the share among the decisive verdicts.
    """
    evidence = GroupedFrame(frame, by)
    rows = _calls_planned_in_several_orders(evidence.frame)
    read = row_selection.usable_status_mask(rows) & (rows["pick"] != NO_PICK).to_numpy()
    pick, cell = rows["pick"].to_numpy(), rows["cell"].to_numpy()
    first = np.bincount(cell[read & (pick == 0)], minlength=evidence.count).astype(np.float64)
    decisive = np.bincount(cell[read & (pick >= 0)], minlength=evidence.count)
    missing = np.bincount(cell[~read], minlength=evidence.count)
    return _bounds_by_cell(evidence, first, decisive, missing, "verdicts missing")


def _calls_planned_in_several_orders(frame: pd.DataFrame) -> pd.DataFrame:
    """Calls on comparisons planned in several orders. Left out are calls repeated only to measure
    noise, and prompts that only score answers, because these ask for no verdict on a pair."""
    planned = (frame["orders"] > 1) & ~frame["noise"] & ~prompt_kinds.scoring_mask(frame)
    return row_selection.select_rows(frame, planned)


def _bounds_by_cell(
    grouped: GroupedFrame,
    events: NDArray[Any],
    read: NDArray[Any],
    missing: NDArray[Any],
    missing_word: str,
) -> dict[CellKey, Estimate]:
    """Return, for each cell, events/read as `value` and the bounds events/(read + missing) and
    (events + missing)/(read + missing); unknown if no comparison was planned in several orders.
    `missing_word` is the word for the missing replies or comparisons in the note."""
    found = {}
    for code, key in enumerate(grouped.cells):
        yes, n, gone = float(events[code]), int(read[code]), int(missing[code])
        if n + gone == 0:
            found[key] = intervals.unknown_estimate(NOTHING_PLANNED_NOTE, "share")
            continue
        found[key] = Estimate(
            yes / n if n else None,
            yes / (n + gone),
            (yes + gone) / (n + gone),
            n,
            0,
            "share",
            1.0,
            BOUNDS_METHOD,
            f"{gone} of {n + gone} {missing_word}",
        )
    return found
