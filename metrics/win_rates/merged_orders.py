"""Agreement of judges with people when the verdicts of both orders are merged to one."""

import pandas as pd

from metrics.agreement.majority_agreement import agreement_with_people_measure
from metrics.estimation import frame_stacking, measures, row_selection
from metrics.win_rates.counting_rules import outcome_rows
from studies.domain import Estimate


def merge_both_orders(machines: pd.DataFrame) -> pd.DataFrame:
    """Merge the verdicts of each judge on a pair in both orders: the same winner in both is a win,
    anything else a tie. Comparisons planned in one order, or without a verdict in one of the
    planned orders, are left out. `machines` has the rows of judges other than people."""
    several = row_selection.select_rows(machines, machines["orders"] > 1)
    return outcome_rows(several, "strict", "exclude")[[*machines.columns]]


def agreement_of_merged_orders(merged: pd.DataFrame, people: pd.DataFrame) -> dict[str, Estimate]:
    """Return judge -> share of merged verdicts equal to the people's majority; judges without a
    verdict on a case (the same answers to one item) with votes are left out."""
    if people.empty or merged.empty:
        return {}
    frame = frame_stacking.stack_frames({"merged": merged, "people": people}, "merging")
    got = agreement_with_people_measure().by_cell(measures.GroupedFrame(frame, ["judge"]))
    return {cell[0]: one for cell, one in got.items() if one.value is not None}
