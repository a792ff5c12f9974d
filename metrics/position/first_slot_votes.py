"""One vote per item for or against the first slot, in the order of arrival.

A confidence sequence needs votes that are independent and never change. Verdicts of one item are
not independent, so each item votes once: by its first pair that was read in both orders and leans.
"""

from __future__ import annotations

import numpy as np
import pandas as pd

from metrics.estimation import row_selection
from metrics.estimation.confidence_sequence import confidence_sequence
from metrics.estimation.intervals import unknown_estimate
from studies.domain import Estimate

PAIRS_ONLY_NOTE = "needs pairs in both orders"


def count_item_votes(frame: pd.DataFrame) -> tuple[int, int]:
    """(items that lean toward first, items that lean); rows are in the order of arrival.

    A pair counts from the moment its second order is read, with the first reading of each order.
    Without a preference for a position both leans are equally likely, whatever the answers.
    """
    rows = row_selection.select_pairs(row_selection.select_picks(frame))
    rows = row_selection.select_rows(rows, rows["orders"] == 2)
    order, orders = row_selection.group_codes(rows, row_selection.ORDER_KEY)
    first = row_selection.first_rows(order, orders)
    rows = rows.iloc[np.sort(first)]
    comparison, count = row_selection.group_codes(rows, row_selection.COMPARISON_KEY)
    pick = rows["pick"].to_numpy()
    lean = np.rint(np.bincount(comparison, np.where(pick >= 0, 1 - 2 * pick, 0), minlength=count))
    read = np.bincount(comparison, minlength=count)
    done = np.zeros(count, np.int64)
    np.maximum.at(done, comparison, np.arange(len(rows)))
    leaning = np.flatnonzero((read == 2) & (lean != 0))
    leaning = leaning[np.argsort(done[leaning], kind="stable")]
    item = row_selection.item_codes(rows)[row_selection.first_rows(comparison, count)][leaning]
    _, earliest = np.unique(item, return_index=True)
    votes = lean[leaning[earliest]]
    return int((votes > 0).sum()), len(votes)


def live_first_share(frame: pd.DataFrame) -> Estimate:
    """Share of items that lean toward the first slot, with bounds valid at every look."""
    if not len(frame) or not (frame["options"] == 2).all():
        return unknown_estimate(PAIRS_ONLY_NOTE, "share")
    return confidence_sequence(*count_item_votes(frame))
