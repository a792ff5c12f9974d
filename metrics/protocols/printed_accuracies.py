"""Accuracies as defined in papers, which differ in their use of orders, ties and unusable replies.

All are shares of comparisons or calls whose better answer is known. The measure `accuracy` of this
project counts each readable verdict; a tie is wrong, and an unusable reply is left out.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Final

import numpy as np
import pandas as pd

from metrics.estimation import prompt_kinds, row_selection
from metrics.estimation.intervals import proportion, unknown_estimate
from metrics.estimation.row_selection import Floats, Ints, Mask
from studies.domain import Estimate
from studies.frames.frame import NO_PICK, TIE

PRINTED_BY: Final[Mapping[str, str]] = {
    "average_of_orders": "LLMBar (average accuracy): each order alone; a tie or an unusable reply "
    "is wrong",
    "right_in_both_orders": "LLMBar (“correct in both”; elsewhere: position-consistent accuracy): "
    "right in both orders; a tie or an unusable reply is wrong",
    "orders_merged": "JudgeBench: the two orders are merged; right if more verdicts are right "
    "than wrong; ties and unusable replies count neither as right nor as wrong",
    "unusable_as_tie": "RewardBench (generative judges): each verdict alone; a tie or an unusable "
    "reply is half right",
}
"""Accuracy -> the paper that reports it, and how it is computed."""
_ONE_ORDER_NOTE: Final = "no pair was judged in both orders"


def accuracies_as_in_papers(frame: pd.DataFrame) -> dict[str, Estimate]:
    """Return name (key of `PRINTED_BY`) -> accuracy as a paper prints it, for one judge and prompt;
    empty if no better answer is known, or if the prompt scores answers and picks none."""
    rows = _calls_with_known_answer(frame)
    if rows.empty:
        return {}
    pick, known_answer = rows["pick"].to_numpy(), rows["known_answer"].to_numpy()
    read = row_selection.usable_status_mask(rows) & (pick != NO_PICK)
    right = read & (pick == known_answer)
    wrong = read & (pick != known_answer) & (pick != TIE)
    half = np.where(right, 1.0, np.where(wrong, 0.0, 0.5))
    item = row_selection.item_codes(rows)
    found = {
        "average_of_orders": proportion(right, item),
        "unusable_as_tie": proportion(half, item),
        **_accuracies_over_both_orders(rows, right, wrong, item),
    }
    return {name: _add_source_note(name, found[name]) for name in PRINTED_BY}


def _calls_with_known_answer(frame: pd.DataFrame) -> pd.DataFrame:
    """Select the calls on two answers of which one is known to be better; repeats are left out,
    and prompts that only score."""
    rows = row_selection.select_pairs(frame)
    known = (rows["known_answer"] >= 0) & ~rows["noise"] & (rows["repeat"] == 0)
    return row_selection.select_rows(rows, known & ~prompt_kinds.scoring_mask(rows))


def _accuracies_over_both_orders(
    rows: pd.DataFrame, right: Mask, wrong: Mask, item: Ints
) -> dict[str, Estimate]:
    """Estimate the accuracies that need a comparison in both orders; unknown if no pair was judged
    in both orders."""
    case, cases = row_selection.group_codes(rows, row_selection.COMPARISON_KEY)
    first = row_selection.first_row_per_group(case, cases)
    both = (rows["orders"].to_numpy()[first] > 1) & (np.bincount(case, minlength=cases) > 1)
    if not both.any():
        missing = unknown_estimate(_ONE_ORDER_NOTE, "share")
        return {"right_in_both_orders": missing, "orders_merged": missing}
    rights, wrongs, asked = (
        _count_by_case(mask, case, cases) for mask in (right, wrong, np.ones(len(rows), bool))
    )
    return {
        "right_in_both_orders": proportion((rights == asked)[both], item[first][both]),
        "orders_merged": proportion((rights > wrongs)[both], item[first][both]),
    }


def _count_by_case(mask: Mask, case: Ints, cases: int) -> Floats:
    return np.asarray(np.bincount(case, mask, minlength=cases), np.float64)


def _add_source_note(name: str, estimate: Estimate) -> Estimate:
    source = f"printed by {PRINTED_BY[name]}"
    return replace(estimate, note="; ".join(filter(None, (estimate.note, source))))
