"""Judges against people, contestant by contestant: the same cases, each side's mean word."""

from __future__ import annotations

from typing import Final

import numpy as np

from components.drawing import matrix as heat
from components.remember import remembered
from components.scene import Scene
from components.voices import Voices
from metrics.agreement import CASE
from metrics.intervals import Floats, Ints, divided, mean
from metrics.selection import (
    Mask,
    contestants,
    first_rows,
    group_codes,
    item_codes,
    pairs,
    people,
    picked,
)
from metrics.wins import appearances
from studies.records import Estimate

GAP: Final = heat.Scale(
    "Judges − people", "r", 0, 0.3, ("−30 points below people", "+30 above"), 0, 100, "points",
    signed=True,
)  # fmt: skip
ALL: Final = "All"


@remembered
def people_gaps(scene: Scene) -> dict[tuple[str, str], Estimate]:
    """(contestant, category or All) -> judges' win rate − people's, on the cases both judged.

    A case is one pair of answers to one item; each side's word is the mean of its verdicts.
    """
    rows = pairs(picked(Voices(scene).rows))
    human = people(rows)
    if not human.any() or human.all():
        return {}
    names = contestants(rows)
    case, cases = group_codes(rows, CASE)
    first = first_rows(case, cases)
    item = item_codes(rows)[first]
    category = rows["category"].astype(str).to_numpy()[first]
    row, who, points = appearances(rows, names)

    def said(kept: Mask) -> Floats:
        """Mean points of each contestant in each case: (cases, names)."""
        mine = kept[row]
        cell: Ints = case[row[mine]] * len(names) + who[mine]
        total = np.bincount(cell, points[mine], minlength=cases * len(names))
        return divided(total, np.bincount(cell, minlength=cases * len(names))).reshape(cases, -1)

    gap = said(~human) - said(human)
    found: dict[tuple[str, str], Estimate] = {}
    for code, name in enumerate(names):
        known = np.isfinite(gap[:, code])
        for group in (ALL, *sorted(set(category[known]) - {""})):
            kept = known if group == ALL else known & (category == group)
            if kept.any():
                note = "judges − people, same cases"
                found[name, group] = mean(gap[kept, code], item[kept], "share", (-1, 1), note)
    return found


def overall_gaps(scene: Scene) -> dict[str, Estimate]:
    """Contestant -> the gap over all categories."""
    found = people_gaps(scene).items()
    return {name: got for (name, group), got in found if group == ALL and got.value is not None}
