"""MT-Bench's ratings of single answers, and counts of Arena-Hard's five verdicts."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Final

import numpy as np
import pandas as pd

from components.filtering.filtered_study import FilteredStudy
from components.filtering.filters import machine_rows
from components.html import heatmap as heat
from components.html import scales
from components.html.format import count, number
from components.html.markup import EMPTY, Markup
from components.html.panel import empty_state
from components.html.tables.forest_cells import fit_axis, steps_from
from components.html.tables.value_table import (
    ELO,
    SCORE,
    ColumnHead,
    count_cell,
    forest_cell,
    name_cell,
    value_cell,
    value_table,
)
from components.results.protocol.sections import protocol_rows
from metrics.estimation.row_selection import select_picks
from metrics.estimation.score_scale import ScoreScale
from metrics.protocols.creation_levels import ratings_by_prompt, single_ratings
from metrics.ratings.battles import STRONG_WINS
from metrics.ratings.bradley_terry import fit_leaderboards
from studies.domain import Estimate
from studies.frames.frame import TIE

ARENA_LABELS: Final = ("A>>B", "A>B", "A=B", "B>A", "B>>A")
"""The five possible verdicts of Arena-Hard; A is the answer shown first, >> is much better."""
USUAL_ENDS: Final = (1.0, 5.0, 10.0, 100.0)


def load_rating_rows(filtered: FilteredStudy) -> pd.DataFrame:
    return machine_rows(protocol_rows(filtered, "single"))


def show_ratings(filtered: FilteredStudy) -> Markup:
    """HTML table of each model's mean rating, and a matrix of mean ratings by category."""
    rows = load_rating_rows(filtered)
    found = ratings_by_prompt(rows) if len(rows) else {}
    if not found:
        return empty_state(
            "No single ratings.",
            "To get single ratings, use the prompt mt-bench-single, which "
            "rates one answer at a time.",
        )
    axis = fit_axis([one for part in found.values() for one in part.means.values()],
                    steps_from(1), number)  # fmt: skip
    heads = [
        ColumnHead("Model", numeric=False),
        *([ColumnHead("Score", numeric=False)] if len(found) > 1 else []),
        ColumnHead("Rating"),
        ColumnHead("", axis=axis),
        ColumnHead("Ratings"),
    ]
    lines, matrices = [], EMPTY
    for prompt, part in found.items():
        own = rows[rows["prompt"] == prompt]
        order = sorted(part.means, key=lambda model: -(part.means[model].value or 0.0))
        for model in order:
            select = {"contestant": model, **({"prompt": prompt} if len(found) > 1 else {})}
            who = f"mean rating of {model}"
            mean = part.means[model]
            lines.append(
                [
                    name_cell(model, select),
                    *([prompt] if len(found) > 1 else []),
                    value_cell(mean, SCORE, who=who, select=select),
                    forest_cell(mean, axis, SCORE, who, select),
                    count(int((own["first"] == model).sum())),
                ]
            )
        matrices += _category_matrix(own, order, part.scale)
    return value_table(heads, lines, label="Single ratings") + matrices


def rating_colours(scale: ScoreScale, highest: float) -> scales.ColourScale:
    """Colours of ratings: none up to the middle of the scale, full at its end. An unknown scale
    ends at the first of USUAL_ENDS that is not below the highest rating."""
    ends = (scale.high,) if math.isfinite(scale.high) else USUAL_ENDS
    full = next((end for end in ends if end >= highest), highest)
    texts = (f"no colour: {full / 2:g} or less", f"full colour: {full:g}")
    return scales.ColourScale("Rating", "w", full / 2, full, texts, 1, 1, f"of {full:g}")


def _category_matrix(rows: pd.DataFrame, order: Sequence[str], scale: ScoreScale) -> Markup:
    cells: dict[tuple[str, str], Estimate | None] = {}
    sizes = rows.groupby("category", observed=True)["item"].nunique()
    columns = [heat.MatrixColumn(str(c), str(n)) for c, n in sizes.items() if str(c)]
    if len(columns) < 2:
        return EMPTY
    for column in columns:
        part = single_ratings(rows[rows["category"] == column.name])
        cells |= {(model, column.name): got for model, got in part.items()}
    return heat.matrix_html(
        order, columns, cells, rating_colours(scale, float(rows["score_0"].max())),
        keys=("contestant", "category"), turns=True,
    )  # fmt: skip


# -- Arena-Hard: five labels ---------------------------------------------------------------------


def label_counts(filtered: FilteredStudy) -> dict[tuple[str, str], dict[str, int]]:
    """(judge, prompt) -> count of each of Arena-Hard's five verdicts (ARENA_LABELS) and, under
    "fail", of unusable replies."""
    rows = machine_rows(protocol_rows(filtered, "five-level"))
    rows = rows.loc[~rows["noise"].to_numpy()]
    found = {}
    for judge, prompt in rows.groupby(["judge", "prompt"], observed=True).size().index:
        mine = rows[(rows["judge"] == judge) & (rows["prompt"] == prompt)]
        read = select_picks(mine)
        pick, margin = read["pick"].to_numpy(), read["margin"].to_numpy()
        level = np.where(pick == TIE, 2, np.where(pick == 0, 2 - margin, 2 + margin))
        counts = np.bincount(np.clip(level, 0, 4), minlength=5)
        found[str(judge), str(prompt)] = {
            **dict(zip(ARENA_LABELS, counts.tolist(), strict=True)),
            "fail": len(mine) - len(read),
        }
    return found


def show_label_counts(filtered: FilteredStudy) -> Markup:
    """HTML table of how often each of Arena-Hard's five verdicts (A>>B to B>>A) was given. Without
    position bias, A>>B is as frequent as B>>A, and A>B as B>A."""
    found = label_counts(filtered)
    if not found:
        return empty_state(
            "No five-level verdicts.",
            "Use a prompt whose verdict is one of five labels, such as Arena-Hard's.",
        )
    heads = [
        ColumnHead("Judge, prompt", numeric=False),
        *(ColumnHead(label) for label in ARENA_LABELS),
    ]
    heads += [ColumnHead("Unusable replies")]
    lines = []
    for (judge, prompt), counts in found.items():
        select = {"judge": judge, "prompt": prompt}
        line = [name_cell(judge, select, prompt)]
        for place, label in enumerate(ARENA_LABELS):
            slot = -1 if place == 2 else int(place > 2)
            line.append(count_cell(counts[label], label, {**select, "slot": slot}))
        failed = {**select, "status": "failures"}
        lines.append([*line, count_cell(counts["fail"], "unusable replies", failed)])
    return value_table(heads, lines, label="Five labels") + _weighted_ratings(filtered)


def _weighted_ratings(filtered: FilteredStudy) -> Markup:
    """HTML of two ratings per model: "much better" as one win, or as three (Arena-Hard)."""
    rows = machine_rows(protocol_rows(filtered, "five-level"))
    plain = {n: e for board in fit_leaderboards(rows) for n, e in board.ratings.items()}
    weighted = {
        n: e
        for board in fit_leaderboards(rows, weighting="arena-hard")
        for n, e in board.ratings.items()
    }
    if not plain:
        return EMPTY
    heads = [
        ColumnHead("Model", numeric=False),
        ColumnHead("Rating, each verdict once"),
        ColumnHead(
            f"Rating, >> counted {STRONG_WINS} times",
            tip="Arena-Hard's code counts each >> (much better) several times, although it is "
            "one verdict",
        ),
    ]
    lines = [
        [
            name_cell(model, {"contestant": model}),
            value_cell(got, ELO, who=f"{model}, each verdict once", select={"contestant": model}),
            value_cell(weighted.get(model), ELO, who=f"{model}, >> three times"),
        ]
        for model, got in plain.items()
    ]
    return value_table(
        heads,
        lines,
        label="Bradley–Terry ratings with and without extra weight for >> (much better)",
    )
