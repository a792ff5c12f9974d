"""Differences between win rates by judges and by people, on the cases that both judged."""

from __future__ import annotations

from typing import Final

import numpy as np
import pandas as pd

from metrics.agreement.majority_agreement import CASE_KEY
from metrics.estimation import row_selection
from metrics.estimation.intervals import Floats, Ints, mean_estimate, safe_divide
from metrics.win_rates.win_rates import appearance_points
from studies.domain import Estimate

ALL_CATEGORIES: Final = ""
"""Key of all categories together; no category has it."""


def win_rate_gaps(frame: pd.DataFrame) -> dict[tuple[str, str], Estimate]:
    """Return (model, category or ALL_CATEGORIES) -> win rate by judges minus win rate by people, on
    the cases that both judged.

    A case is one pair of answers to one item. In both win rates every verdict counts once, as in
    `win_rate`, so a case with many votes counts more for people. Empty without verdicts of both.
    """
    rows = row_selection.select_pairs(row_selection.select_picks(frame))
    human = row_selection.people_mask(rows)
    if not human.any() or human.all():
        return {}
    names = row_selection.contestants(rows)
    case, cases = row_selection.group_codes(rows, CASE_KEY)
    first = row_selection.first_row_per_group(case, cases)
    item = row_selection.item_codes(rows)[first]
    category = rows["category"].astype(str).to_numpy()[first]
    row, who, points = appearance_points(rows, names)

    def mean_points(selected: row_selection.Mask) -> tuple[Floats, Ints]:
        """Return two arrays [case, model] from the selected verdicts: the mean points of the model
        in the case (nan without verdicts), and the number of verdicts behind this mean."""
        chosen = selected[row]
        cell: Ints = case[row[chosen]] * len(names) + who[chosen]
        total = np.bincount(cell, points[chosen], minlength=cases * len(names))
        verdicts = np.bincount(cell, minlength=cases * len(names))
        return safe_divide(total, verdicts).reshape(cases, -1), verdicts.reshape(cases, -1)

    sides = [mean_points(~human), mean_points(human)]
    found: dict[tuple[str, str], Estimate] = {}
    for code, name in enumerate(names):
        known = np.all([np.isfinite(means[:, code]) for means, _ in sides], axis=0)
        for group in (ALL_CATEGORIES, *sorted(set(category[known]) - {""})):
            selected = known if group == ALL_CATEGORIES else known & (category == group)
            if selected.any():
                note = "judges − people, same cases"
                by_judges, by_people = (
                    _weigh_by_verdicts(means[selected, code], verdicts[selected, code])
                    for means, verdicts in sides
                )
                found[name, group] = mean_estimate(
                    by_judges - by_people, item[selected], "share", (-1, 1), note
                )
    return found


def _weigh_by_verdicts(means: Floats, verdicts: Ints) -> Floats:
    """Return one value per case, such that the plain mean of these values is the mean over all
    verdicts, in which a case with more verdicts counts more; its interval by item is then right
    too. `means` are the mean points of each case, `verdicts` the number of verdicts behind each. If
    these numbers are all equal, the result is `means`."""
    weight = verdicts / verdicts.mean()
    pooled = float(np.average(means, weights=verdicts))
    return np.asarray(weight * means + (1 - weight) * pooled, np.float64)
