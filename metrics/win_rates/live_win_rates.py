"""Win rates of a running study, with bounds that hold at every moment of the run.

A confidence sequence needs independent votes that do not change later. Verdicts on one item are not
independent, so each item has one vote for each contestant: its points in the first comparison that
was read in all planned orders, as the mean over these orders. A win has 1 point, a loss 0, a tie
1/N with N answers shown.
"""

from __future__ import annotations

import numpy as np
import pandas as pd

from metrics.estimation import row_selection
from metrics.estimation.planning.confidence_sequence import confidence_sequence
from metrics.win_rates.win_rates import appearance_points
from studies.domain import Estimate


def live_win_rates(frame: pd.DataFrame) -> dict[str, Estimate]:
    """Estimate each contestant's mean vote over items (see the module), best first.

    Rows are in the order of arrival; of several verdicts in one order the first counts. Contestants
    without a vote are left out.
    """
    rows = row_selection.select_picks(frame)
    order, orders = row_selection.group_codes(rows, row_selection.ORDER_KEY)
    rows = rows.iloc[np.sort(row_selection.first_rows(order, orders))]
    comparison, count = row_selection.group_codes(rows, row_selection.COMPARISON_KEY)
    first = row_selection.first_rows(comparison, count)
    planned = np.maximum(rows["orders"].to_numpy()[first], 1)
    read = np.bincount(comparison, minlength=count)
    arrival = np.zeros(count, np.int64)
    np.maximum.at(arrival, comparison, np.arange(len(rows)))
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
        done = np.flatnonzero((read >= planned) & (shown[mine] > 0))
        done = done[np.argsort(arrival[done], kind="stable")]
        _, earliest = np.unique(item[done], return_index=True)
        voted = mine[done[earliest]]
        if len(voted):
            won = float((total[voted] / shown[voted]).sum())
            found[name] = confidence_sequence(won, len(voted))
    return dict(sorted(found.items(), key=lambda one: -(one[1].value or 0.0)))
