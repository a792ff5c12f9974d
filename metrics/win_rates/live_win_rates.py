"""Win rates of a running study, with bounds that hold at every moment of the run.

A confidence sequence needs independent votes that do not change later. Verdicts on one item are not
independent, so each item has one vote for each contestant, once all planned calls on the item are
answered: the contestant's mean points over its comparisons there. Only comparisons read in all
planned orders count. A win has 1 point, a loss 0, a tie 1/N with N answers shown.
"""

from collections.abc import Mapping
from types import MappingProxyType

import numpy as np
import pandas as pd

from metrics.estimation import row_selection
from metrics.estimation.planning.confidence_sequence import confidence_sequence
from metrics.win_rates.win_rates import appearance_points
from studies.domain import Estimate


def live_win_rates(
    frame: pd.DataFrame, planned: Mapping[str, int] = MappingProxyType({})
) -> dict[str, Estimate]:
    """Estimate each contestant's mean vote over the complete items, best first, with bounds that
    hold at every moment of the run. An item's vote for a contestant is its mean points (win 1, loss
    0, tie 1/N of N answers) over its comparisons there that were read in all planned orders.

    An item is complete if it has as many replies, readable or not, as `planned` states (item ->
    number of planned calls, without those repeated only to measure noise), or if `planned` does not
    name it; other items are left out. Rows are in the order of arrival; of several verdicts in one
    order the first counts. Contestants without a vote are left out."""
    rows = row_selection.select_picks(_rows_of_complete_items(frame, planned))
    order, orders = row_selection.group_codes(rows, row_selection.ORDER_KEY)
    rows = rows.iloc[np.sort(row_selection.first_row_per_group(order, orders))]
    comparison, count = row_selection.group_codes(rows, row_selection.COMPARISON_KEY)
    first = row_selection.first_row_per_group(comparison, count)
    read_in_full = np.bincount(comparison, minlength=count) >= np.maximum(
        rows["orders"].to_numpy()[first], 1
    )
    names = row_selection.contestants(rows) if len(rows) else []
    row, who, points = appearance_points(rows, names)
    key = comparison[row] * max(len(names), 1) + who
    size = count * len(names)
    total = np.bincount(key, points, minlength=size)
    shown = np.bincount(key, minlength=size)
    item = row_selection.item_codes(rows)[first]
    found = {}
    for code, name in enumerate(names):
        mine = np.arange(count) * len(names) + code
        done = np.flatnonzero(read_in_full & (shown[mine] > 0))
        if len(done):
            means = total[mine[done]] / shown[mine[done]]
            compared = np.bincount(item[done])
            votes = np.bincount(item[done], means)[compared > 0] / compared[compared > 0]
            found[name] = confidence_sequence(float(votes.sum()), len(votes))
    return dict(sorted(found.items(), key=lambda one: -(one[1].value or 0.0)))


def _rows_of_complete_items(frame: pd.DataFrame, planned: Mapping[str, int]) -> pd.DataFrame:
    """Rows of the items on which all planned calls have an outcome, readable or not."""
    answered = frame.loc[~frame["noise"], "item"].value_counts()
    partial = {item for item, calls in planned.items() if answered.get(item, 0) < calls}
    return row_selection.select_rows(frame, ~frame["item"].isin(partial)) if partial else frame
