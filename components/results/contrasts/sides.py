"""The two sides of a contrast: who can be picked, and the rows each of them has."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final

import numpy as np
import pandas as pd

from components.filtering.filtered_study import FilteredStudy
from components.filtering.filters import ALL_CHOICE, machine_rows, row_names
from metrics.estimation import row_selection
from metrics.estimation.all_measures import estimate_all
from metrics.estimation.frame_stacking import stack_frames
from metrics.position.position_measures import CONSISTENCY

LEFT: Final = "left"
RIGHT: Final = "right"
SIDE_CELLS: Final = ((LEFT,), (RIGHT,))


@dataclass(frozen=True, slots=True)
class Side:
    """A judge, a prompt, or one with the other; empty leaves a field open."""

    name: str
    judge: str = ""
    prompt: str = ""
    study: str = ""
    """Another study with the same judge; empty: the one in view."""


def list_sides(scene: FilteredStudy) -> dict[str, Side]:
    """Who can be compared in a study: its judges, its prompts, each with each."""
    rows = machine_rows(scene.unfiltered_frame)
    cells = row_names(rows)
    judges = sorted({judge for judge, _ in cells})
    prompts = sorted({prompt for _, prompt in cells})
    found: dict[str, Side] = {}
    if len(judges) > 1 or len(prompts) == 1:
        found |= {judge: Side(judge, judge=judge) for judge in judges}
    if len(prompts) > 1:
        found |= {prompt: Side(prompt, prompt=prompt) for prompt in prompts}
    if len(judges) > 1 and len(prompts) > 1:
        found |= {name: Side(name, *cell) for cell, name in cells.items()}
    return found


def sides_in_other_studies(scene: FilteredStudy) -> dict[str, Side]:
    """The same judge where it saw something else of the same data: images, or a description."""
    judges = {str(name) for name in machine_rows(scene.unfiltered_frame)["judge"].unique()}
    found: dict[str, Side] = {}
    for line in scene.store.studies():
        if line.name == scene.name:
            continue
        study, own = scene.store.study(line.name), scene.study
        if study.data.source != own.data.source or study.judge_sees == own.judge_sees:
            continue
        for judge in study.judges:
            if judge.name in judges:
                name = f"{judge.name}, {study.judge_sees} ({line.name})"
                found[name] = Side(name, judge=judge.name, study=line.name)
    return found


def default_sides(scene: FilteredStudy, known: dict[str, Side]) -> tuple[str, str]:
    """What a study opens with: the steadiest judge and the least steady one, or prompts."""
    for column in ("judge", "prompt"):
        got = estimate_all([CONSISTENCY], machine_rows(scene.unfiltered_frame), [column])[
            CONSISTENCY.name
        ]
        steady = sorted(
            (cell[0] for cell in got if cell[0] in known),
            key=lambda name: -(got[name,].value or 0.0),
        )
        if len(steady) > 1:
            return steady[0], steady[-1]
    return next(iter(known), ""), ""


def _select_side(rows: pd.DataFrame, side: Side) -> pd.DataFrame:
    mask = np.ones(len(rows), bool)
    for column in ("judge", "prompt"):
        if wanted := getattr(side, column):
            mask &= np.asarray(rows[column] == wanted)
    return row_selection.select_rows(rows, mask)


def rows_of_side(scene: FilteredStudy, side: Side) -> pd.DataFrame:
    """The side's judgements; filters hold for what the side itself leaves open."""
    chosen = scene.filter
    chosen = replace(
        chosen,
        judge=ALL_CHOICE if side.judge else chosen.judge,
        prompt=ALL_CHOICE if side.prompt else chosen.prompt,
    )
    there = (
        FilteredStudy(scene.store, side.study, chosen)
        if side.study
        else replace(scene, filter=chosen)
    )
    return _select_side(there.machines, side)


def load_people_rows(scene: FilteredStudy) -> pd.DataFrame:
    """People's votes on the answers in view."""
    rows = replace(scene.filter, judge=ALL_CHOICE, prompt=ALL_CHOICE).apply(scene.unfiltered_frame)
    return row_selection.select_rows(rows, row_selection.people_mask(rows))


def stack_sides(scene: FilteredStudy, left: Side, right: Side) -> pd.DataFrame:
    """One frame with a column `side`; people's votes stand beside them, on neither side.

    The prompt is marked with the side, so that rows that are on both sides stay two.
    """
    parts = {LEFT: rows_of_side(scene, left), RIGHT: rows_of_side(scene, right)}
    frame = stack_frames({**parts, "people": load_people_rows(scene)}, "side")
    return frame.assign(prompt=_side_prompts(frame))


def _side_prompts(frame: pd.DataFrame) -> pd.Categorical[str]:
    """side/prompt of every row, named once for each that occurs."""
    side, prompt = frame["side"].cat, frame["prompt"].cat
    code, count = row_selection.group_codes(frame, ["side", "prompt"])
    first = row_selection.first_rows(code, count)
    names = [
        f"{side.categories[a]}/{prompt.categories[b]}"
        for a, b in zip(side.codes.iloc[first], prompt.codes.iloc[first], strict=True)
    ]
    known = sorted(names)
    place = np.array([known.index(name) for name in names], np.int64)
    return pd.Categorical.from_codes(place[code], pd.Index(known, dtype="str"))
