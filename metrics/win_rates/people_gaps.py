"""Differences between win rates by judges and by people, on the cases that both judged."""

from __future__ import annotations

from typing import Final

import numpy as np
import pandas as pd

from metrics.agreement.majority_agreement import CASE_KEY
from metrics.estimation.intervals import Floats, Ints, mean_estimate, safe_divide
from metrics.estimation.row_selection import (
    Mask,
    contestants,
    first_row_per_group,
    group_codes,
    item_codes,
    people_mask,
    select_pairs,
    select_picks,
)
from metrics.win_rates.win_rates import appearance_points
from studies.domain import Estimate

ALL_CATEGORIES: Final = ""
"""Key of all categories together; no category has it."""


def win_rate_gaps(frame: pd.DataFrame) -> dict[tuple[str, str], Estimate]:
    """Estimate, for each (model, category or ALL_CATEGORIES), the win rate by judges minus the win
    rate by people, on the cases that both judged.

    A case is one pair of answers to one item; judges and people each count with the mean of their
    verdicts. Empty without verdicts of both.
    """
    rows = select_pairs(select_picks(frame))
    human = people_mask(rows)
    if not human.any() or human.all():
        return {}
    names = contestants(rows)
    case, cases = group_codes(rows, CASE_KEY)
    first = first_row_per_group(case, cases)
    item = item_codes(rows)[first]
    category = rows["category"].astype(str).to_numpy()[first]
    row, who, points = appearance_points(rows, names)

    def mean_points(selected: Mask) -> Floats:
        """Return the mean points of each model in each case, as an array (cases, models)."""
        chosen = selected[row]
        cell: Ints = case[row[chosen]] * len(names) + who[chosen]
        total = np.bincount(cell, points[chosen], minlength=cases * len(names))
        return safe_divide(total, np.bincount(cell, minlength=cases * len(names))).reshape(
            cases, -1
        )

    gap = mean_points(~human) - mean_points(human)
    found: dict[tuple[str, str], Estimate] = {}
    for code, name in enumerate(names):
        known = np.isfinite(gap[:, code])
        for group in (ALL_CATEGORIES, *sorted(set(category[known]) - {""})):
            selected = known if group == ALL_CATEGORIES else known & (category == group)
            if selected.any():
                note = "judges − people, same cases"
                found[name, group] = mean_estimate(
                    gap[selected, code], item[selected], "share", (-1, 1), note
                )
    return found
