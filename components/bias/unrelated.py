"""What an unrelated option does to a judge: two studies on the same items, at equal N only."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Final

import numpy as np
import pandas as pd

from components.drawing.pieces import empty, untold_badge, wrap
from components.format import NARROW, interval, number, safe, share
from components.rows import Filter, machine_rows, names_of
from components.scene import Scene
from metrics.contrasts import Contrast, contrasts
from metrics.grade import grade_measure
from metrics.grade_panel import WITH, WITHOUT, mark_unrelated, unrelated_share
from metrics.stacking import stacked
from studies.records import Estimate
from studies.store import Store
from studies.study import Study

SEED: Final = 20_24
ROUNDS: Final = 500
SIDE: Final = "side"
REPLACE: Final = (
    "Only `unrelated: replace` keeps N: it puts an answer to another item in the place of the "
    "worst-ranked one. Run the same study with it, and the two stand here side by side."
)


@dataclass(frozen=True, slots=True)
class Effect:
    """Grades with and without the unrelated option, and how often it was chosen."""

    judge: str
    prompt: str
    contrast: Contrast
    chosen: Estimate


def unrelated_of(scene: Scene) -> str:
    """Side by side where both studies are there; else what is missing."""
    store, name = scene.store, scene.name
    other = partner(store, scene.study)
    if other is None:
        return empty(_missing(scene.study), REPLACE)
    versions = (store.version(name), store.version(other))
    found = _effects(store, name, other, versions, scene.filter)
    if isinstance(found, str):
        return empty("Not comparable.", found)
    return _table(found, other)


def _missing(study: Study) -> str:
    if study.unrelated == "add":
        return "An added option changes N, and grades of different N cannot be compared."
    if study.unrelated == "replace":
        return "No study without the unrelated option is here."
    return "No study with an unrelated option is here."


def partner(store: Store, study: Study) -> str | None:
    """A study on the same data with judges and prompts in common, with the option if this has none
    and without if it has."""
    wanted = {"none": "replace", "replace": "none"}.get(study.unrelated)
    judges = {judge.name for judge in study.judges}
    for line in store.studies():
        other = store.study(line.name)
        if (
            other.unrelated == wanted
            and other.data.source == study.data.source
            and judges & {judge.name for judge in other.judges}
            and set(study.prompts) & set(other.prompts)
            and line.judged
        ):
            return line.name
    return None


@lru_cache(maxsize=8)
def _effects(
    store: Store,
    name: str,
    other: str,
    versions: tuple[tuple[str, int], tuple[str, int]],
    chosen: Filter,
) -> tuple[Effect, ...] | str:
    frames = [machine_rows(chosen.apply(store.frame(study))) for study in (name, other)]
    return effects(*frames)


def effects(one: pd.DataFrame, two: pd.DataFrame) -> tuple[Effect, ...] | str:
    """Paired by item, for each judge and prompt that both have; a reason where N differs."""
    sides = {}
    for frame in (one, two):
        has = bool((mark_unrelated(frame)["unrelated"] == WITH).any())
        sides[WITH if has else WITHOUT] = frame
    if len(sides) < 2:
        return "Both studies show an unrelated option, or neither does."
    sizes = [set(frame["options"].unique()) for frame in sides.values()]
    if sizes[0] != sizes[1]:
        return "The two studies show different numbers of options; compare grades at equal N only."
    both = stacked(sides, SIDE)
    cells = set(both.groupby(["judge", "prompt", SIDE], observed=True).size().index)
    rows = sorted({(j, p) for j, p, _ in cells if {(j, p, WITH), (j, p, WITHOUT)} <= cells})
    pairs = [((j, p, WITH), (j, p, WITHOUT)) for j, p in rows]
    if not pairs:
        return "The two studies have no judge and prompt in common."
    rng = np.random.default_rng(SEED)
    found = contrasts(both, ["judge", "prompt", SIDE], [grade_measure()], rng, pairs, ROUNDS)
    shown = sides[WITH]
    return tuple(
        Effect(j, p, one, unrelated_share(shown[(shown["judge"] == j) & (shown["prompt"] == p)]))
        for (j, p), one in zip(rows, found, strict=True)
    )


def _table(found: tuple[Effect, ...], other: str) -> str:
    names = names_of([(one.judge, one.prompt) for one in found])
    body = "".join(_line(names[one.judge, one.prompt], one) for one in found)
    return wrap(
        '<div class="eh-tbl-box"><table class="eh-tbl dense eh-tests eh-unrel">'
        "<thead><tr><th>Row</th>"
        '<th class="num">Without</th><th class="num">With</th>'
        f'<th class="num">Difference, adjusted 95{NARROW}% CI</th>'
        '<th class="num">Chosen</th></tr></thead>'
        f'<tbody>{body}</tbody></table></div><p class="eh-small eh-under">The other study: '
        f"{safe(other)}. Grades on the items that both have, paired.</p>"
    )


def _line(name: str, one: Effect) -> str:
    contrast = one.contrast
    gap = contrast.adjusted
    untold = gap.low is not None and gap.high is not None and gap.low <= 0 <= gap.high
    badge = f" {untold_badge()}" if untold else ""
    value = f"<b>{number(gap.value, 2, signed=True)}</b>"
    bounds = f'<span class="eh-ci">{interval(gap, 2)}</span>'
    return (
        f'<tr><th scope="row">{safe(name)}</th><td class="num">{number(contrast.right_value, 2)}'
        f'</td><td class="num">{number(contrast.left_value, 2)}</td>'
        f'<td class="num">{value} {bounds}{badge}</td>'
        f'<td class="num">{share(one.chosen.value, 0)}</td></tr>'
    )
