"""The two sides of a contrast: who can be picked, and the rows each of them has."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final

import numpy as np
import pandas as pd

from components.rows import ALL, machine_rows, row_names
from components.scene import Scene
from metrics import selection
from metrics.every import every
from metrics.position import CONSISTENCY
from metrics.stacking import stacked

LEFT: Final = "left"
RIGHT: Final = "right"
SIDES: Final = ((LEFT,), (RIGHT,))


@dataclass(frozen=True, slots=True)
class Side:
    """A judge, a prompt, or one with the other; empty leaves a field open."""

    name: str
    judge: str = ""
    prompt: str = ""
    study: str = ""
    """Another study with the same judge; empty: the one in view."""


def sides(scene: Scene) -> dict[str, Side]:
    """Who can be compared in a study: its judges, its prompts, each with each."""
    rows = machine_rows(scene.whole)
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


def elsewhere(scene: Scene) -> dict[str, Side]:
    """The same judge where it saw something else of the same data: images, or a description."""
    judges = {str(name) for name in machine_rows(scene.whole)["judge"].unique()}
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


def first_two(scene: Scene, known: dict[str, Side]) -> tuple[str, str]:
    """What a study opens with: the steadiest judge and the least steady one, or prompts."""
    for column in ("judge", "prompt"):
        got = every([CONSISTENCY], machine_rows(scene.whole), [column])[CONSISTENCY.name]
        steady = sorted(
            (cell[0] for cell in got if cell[0] in known),
            key=lambda name: -(got[name,].value or 0.0),
        )
        if len(steady) > 1:
            return steady[0], steady[-1]
    return next(iter(known), ""), ""


def _own(rows: pd.DataFrame, side: Side) -> pd.DataFrame:
    mask = np.ones(len(rows), bool)
    for column in ("judge", "prompt"):
        if wanted := getattr(side, column):
            mask &= np.asarray(rows[column] == wanted)
    return selection.rows_of(rows, mask)


def rows_of_side(scene: Scene, side: Side) -> pd.DataFrame:
    """The side's judgements; filters hold for what the side itself leaves open."""
    chosen = scene.filter
    chosen = replace(
        chosen,
        judge=ALL if side.judge else chosen.judge,
        prompt=ALL if side.prompt else chosen.prompt,
    )
    there = Scene(scene.store, side.study, chosen) if side.study else replace(scene, filter=chosen)
    return _own(there.machines, side)


def people_rows(scene: Scene) -> pd.DataFrame:
    """People's votes on the answers in view."""
    rows = replace(scene.filter, judge=ALL, prompt=ALL).apply(scene.whole)
    return selection.rows_of(rows, selection.people(rows))


def both_sides(scene: Scene, left: Side, right: Side) -> pd.DataFrame:
    """One frame with a column `side`; people's votes stand beside them, on neither side.

    The prompt is marked with the side, so that rows that are on both sides stay two.
    """
    parts = {LEFT: rows_of_side(scene, left), RIGHT: rows_of_side(scene, right)}
    frame = stacked({**parts, "people": people_rows(scene)}, "side")
    return frame.assign(prompt=_marked(frame))


def _marked(frame: pd.DataFrame) -> pd.Categorical[str]:
    """side/prompt of every row, named once for each that occurs."""
    side, prompt = frame["side"].cat, frame["prompt"].cat
    code, count = selection.group_codes(frame, ["side", "prompt"])
    first = selection.first_rows(code, count)
    names = [
        f"{side.categories[a]}/{prompt.categories[b]}"
        for a, b in zip(side.codes.iloc[first], prompt.codes.iloc[first], strict=True)
    ]
    known = sorted(names)
    place = np.array([known.index(name) for name in names], np.int64)
    return pd.Categorical.from_codes(place[code], pd.Index(known, dtype="str"))
