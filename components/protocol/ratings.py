"""Single ratings, and Arena-Hard's five labels as they were given."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np
import pandas as pd

from components.drawing import matrix as heat
from components.drawing.grid import (
    ELO,
    SCORE,
    Head,
    counted,
    forest_cell,
    name,
    spread,
    table,
    value,
)
from components.drawing.panels import empty
from components.format import count, number
from components.protocol.sections import rows_of_protocol
from components.rows import machine_rows
from components.scene import Scene
from metrics.battles import STRONG_WINS
from metrics.bradley_terry import leaderboards
from metrics.preference import ratings
from metrics.selection import picked
from studies.frame import TIE
from studies.records import Estimate

LABELS: Final = ("A>>B", "A>B", "A=B", "B>A", "B>>A")
"""Arena-Hard's five, A being the answer shown first."""
RATING: Final = heat.Scale("Rating", "w", 5, 10, ("5", "10"), 1, 1, "of 10")


def rating_rows(scene: Scene) -> pd.DataFrame:
    return machine_rows(rows_of_protocol(scene, "single"))


def show_ratings(scene: Scene) -> str:
    """Mean rating of each model, and by category."""
    rows = rating_rows(scene)
    found = ratings(rows) if len(rows) else {}
    if not found:
        return empty("No single rating here.", "mt-bench-single asks for one answer at a time.")
    order = sorted(found, key=lambda model: -(found[model].value or 0.0))
    axis = spread([found[model] for model in order], 1, number)
    heads = [Head("Model", numeric=False), Head("Rating"), Head("", axis=axis), Head("Ratings")]
    lines = []
    for model in order:
        select = {"contestant": model}
        who = f"mean rating of {model}"
        rated = int((rows["first"] == model).sum())
        lines.append(
            [
                name(model, select),
                value(found[model], SCORE, who=who, select=select),
                forest_cell(found[model], axis, SCORE, who, select),
                count(rated),
            ]
        )
    return table(heads, lines, label="Single ratings") + _by_category(rows, order)


def _by_category(rows: pd.DataFrame, order: Sequence[str]) -> str:
    cells: dict[tuple[str, str], Estimate | None] = {}
    sizes = rows.groupby("category", observed=True)["item"].nunique()
    columns = [heat.Column(str(c), str(n)) for c, n in sizes.items() if str(c)]
    if len(columns) < 2:
        return ""
    for column in columns:
        part = ratings(rows[rows["category"] == column.name])
        cells |= {(model, column.name): got for model, got in part.items()}
    return heat.matrix(order, columns, cells, RATING, keys=("contestant", "category"), turns=True)


# -- Arena-Hard: five labels ---------------------------------------------------------------------


def label_counts(scene: Scene) -> dict[tuple[str, str], dict[str, int]]:
    """(judge, prompt) -> how often each of the five labels was given, and failures."""
    rows = machine_rows(rows_of_protocol(scene, "five-level"))
    rows = rows.loc[~rows["noise"].to_numpy()]
    found = {}
    for judge, prompt in rows.groupby(["judge", "prompt"], observed=True).size().index:
        mine = rows[(rows["judge"] == judge) & (rows["prompt"] == prompt)]
        read = picked(mine)
        pick, margin = read["pick"].to_numpy(), read["margin"].to_numpy()
        level = np.where(pick == TIE, 2, np.where(pick == 0, 2 - margin, 2 + margin))
        counts = np.bincount(np.clip(level, 0, 4), minlength=5)
        found[str(judge), str(prompt)] = {
            **dict(zip(LABELS, counts.tolist(), strict=True)), "fail": len(mine) - len(read),
        }  # fmt: skip
    return found


def show_labels(scene: Scene) -> str:
    """The five labels as given, by place: a judge that looks at content gives mirrored counts."""
    found = label_counts(scene)
    if not found:
        return empty("No five-level verdict here.", "The five labels compare two answers.")
    heads = [Head("Judge, prompt", numeric=False), *(Head(label) for label in LABELS)]
    heads += [Head("Fail")]
    lines = []
    for (judge, prompt), counts in found.items():
        select = {"judge": judge, "prompt": prompt}
        line = [name(judge, select, prompt)]
        for place, label in enumerate(LABELS):
            slot = -1 if place == 2 else int(place > 2)
            line.append(counted(counts[label], label, {**select, "slot": slot}))
        failed = {**select, "status": "failures"}
        lines.append([*line, counted(counts["fail"], "no readable verdict", failed)])
    return table(heads, lines, label="Five labels") + _strong(scene)


def _strong(scene: Scene) -> str:
    """Ratings with much better as one win, and as three, as Arena-Hard's code has it."""
    rows = machine_rows(rows_of_protocol(scene, "five-level"))
    plain = {n: e for board in leaderboards(rows) for n, e in board.ratings.items()}
    weighted = {
        n: e for board in leaderboards(rows, weighting="arena-hard")
        for n, e in board.ratings.items()
    }  # fmt: skip
    if not plain:
        return ""
    heads = [
        Head("Rating", numeric=False), Head("Each verdict once"),
        Head(f">> counts {STRONG_WINS} times", tip="Arena-Hard's code; the weights are no n"),
    ]  # fmt: skip
    lines = [
        [
            name(model, {"contestant": model}),
            value(got, ELO, who=f"{model}, each verdict once", select={"contestant": model}),
            value(weighted.get(model), ELO, who=f"{model}, >> three times"),
        ]
        for model, got in plain.items()
    ]
    return table(heads, lines, label="Bradley–Terry with and without weights")
