"""Judges against people, contestant by contestant: the same cases, each side's mean word."""

from __future__ import annotations

from typing import Final

import numpy as np
import pandas as pd

from components import matrix as heat
from components.scene import Scene
from components.voices import Voices
from metrics.agreement import CASE
from metrics.intervals import mean, unknown
from metrics.selection import contestants, item_codes, pairs, people, picked, rows_of
from metrics.wins import appearances
from studies.records import Estimate

GAP: Final = heat.Scale(
    "Judges − people", "r", 0, 0.3, ("−30 points below people", "+30 above"), 0, 100, "points",
    signed=True,
)  # fmt: skip


def people_gaps(scene: Scene, column: str | None = "category") -> dict[tuple[str, str], Estimate]:
    """(contestant, category or All) -> judges' win rate − people's, on the cases both judged.

    A case is one pair of answers to one item; each side's word is the mean of its verdicts.
    """
    rows = pairs(picked(Voices(scene).rows))
    human = people(rows)
    if not human.any() or human.all():
        return {}
    judges, persons = (_case_points(rows_of(rows, mask)) for mask in (~human, human))
    both = judges.to_frame("judges").join(persons.to_frame("people"), how="inner").reset_index()
    both["gap"] = both["judges"] - both["people"]
    category = rows.drop_duplicates("item").set_index("item")["category"].astype(str)
    both["category"] = both["item"].map(category).astype(str)
    found: dict[tuple[str, str], Estimate] = {}
    for who, mine in both.groupby("who", observed=True):
        found[str(who), "All"] = _gap(mine)
        for group, part in mine.groupby("category", observed=True):
            if column and str(group):
                found[str(who), str(group)] = _gap(part)
    return found


def _case_points(rows: pd.DataFrame) -> pd.Series:
    names = contestants(rows)
    row, who, points = appearances(rows, names)
    table = pd.DataFrame({key: rows[key].astype(str).to_numpy()[row] for key in CASE})
    table["who"], table["points"] = np.array(names, dtype=object)[who], points
    return table.groupby([*CASE, "who"])["points"].mean()


def _gap(rows: pd.DataFrame) -> Estimate:
    if rows.empty:
        return unknown("nothing in common", "share")
    items = item_codes(rows.assign(item=rows["item"].astype("category")))
    return mean(rows["gap"], items, "share", (-1, 1), "judges − people, same cases")
