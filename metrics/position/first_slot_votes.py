"""One vote per item for or against the first slot, in the order in which verdicts arrive.

A confidence sequence needs independent votes that do not change later. Verdicts on one item are not
independent, so each item votes once: by its first pair that was read in both orders and flipped,
for the slot toward which the pair flipped.
"""

import numpy as np
import pandas as pd

from metrics.estimation import intervals, row_selection
from metrics.estimation.planning.confidence_sequence import confidence_sequence
from studies.domain import Estimate

PAIRS_ONLY_NOTE = "needs pairs in both orders"


def count_items_voting_for_first_slot(frame: pd.DataFrame) -> tuple[int, int]:
    """Return the number of items that vote for the first slot, and the number of all items that
    vote. An item votes by its first pair that was read in both orders and flipped, for the slot
    toward which the pair flipped.

    Rows are in the order of arrival; of several verdicts in one order the first counts. Without a
    preference for a position both votes are equally likely, whatever the answers.
    """
    rows = row_selection.select_pairs(row_selection.select_picks(frame))
    rows = row_selection.select_rows(rows, rows["orders"] == 2)
    order, orders = row_selection.group_codes(rows, row_selection.ORDER_KEY)
    first = row_selection.first_row_per_group(order, orders)
    rows = rows.iloc[np.sort(first)]
    comparison, count = row_selection.group_codes(rows, row_selection.COMPARISON_KEY)
    pick = rows["pick"].to_numpy()
    lean = np.rint(np.bincount(comparison, np.where(pick >= 0, 1 - 2 * pick, 0), minlength=count))
    read = np.bincount(comparison, minlength=count)
    done = np.zeros(count, np.int64)
    np.maximum.at(done, comparison, np.arange(len(rows)))
    leaning = np.flatnonzero((read == 2) & (lean != 0))
    leaning = leaning[np.argsort(done[leaning], kind="stable")]
    item = row_selection.item_codes(rows)[row_selection.first_row_per_group(comparison, count)][
        leaning
    ]
    _, earliest = np.unique(item, return_index=True)
    votes = lean[leaning[earliest]]
    return int((votes > 0).sum()), len(votes)


def anytime_valid_first_slot_share(frame: pd.DataFrame) -> Estimate:
    """Estimate the share of items that vote for the first slot, with bounds that hold at every
    moment of a run. An item votes by its first pair whose verdict changed with the order
    (`count_items_voting_for_first_slot`). Unknown unless every row shows two answers."""
    if not len(frame) or not (frame["options"] == 2).all():
        return intervals.unknown_estimate(PAIRS_ONLY_NOTE, "share")
    return confidence_sequence(*count_items_voting_for_first_slot(frame))
