"""What an unrelated option does: how often it is chosen, and its effect on the grade at equal N."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import pandas as pd

from components.drawing import matrix as heat
from components.drawing.grid import ROUND_PERCENT, Head, Style, name, table, value
from components.drawing.panels import empty, untold_badge, wrap
from components.drawing.still import Still, still_matrix, strip
from components.format import number, rich
from components.protocol.grade import (
    choice_rows,
    coin_aside,
    judge_rows,
    prompt_columns,
    short_prompt,
)
from components.scene import Scene
from metrics.contrasts import Contrast, contrasts
from metrics.grade import G_RANDOM, grade_measure
from metrics.grade_panel import WITH, WITHOUT, GradeCell, grade_panel, mark_unrelated
from metrics.stacking import stacked
from studies.records import UNRELATED

SEED: Final = 20_24


@dataclass(frozen=True, slots=True)
class Beside:
    """Another study on the same items, held against the one in view."""

    name: str
    unrelated: str
    frame: pd.DataFrame


def show_unrelated(scene: Scene, cells: Sequence[GradeCell], beside: Beside | None) -> str:
    """How often the unrelated option is chosen; its effect on the grade, at equal N only."""
    if not cells:
        return empty("No item was shown in rotations.", "There is nothing to compare.")
    parts = [_shares(cells)]
    if beside is None:
        parts.append(_nothing_beside(scene))
    else:
        parts.append(_side_by_side(scene, cells, beside))
    return "".join(part for part in parts if part)


def _shares(cells: Sequence[GradeCell]) -> str:
    shown = [cell for cell in cells if cell.unrelated_share.value is not None]
    if not shown:
        return ""
    prompts = [c.name for c in prompt_columns(shown)]
    heads = [Head("Unrelated option chosen, %", numeric=False)]
    heads += [Head(short_prompt(prompt)) for prompt in prompts]
    by_cell = {(cell.judge, cell.prompt): cell for cell in shown}
    lines = []
    for judge in judge_rows(shown):
        line = [name(judge, {"judge": judge, "contestant": UNRELATED})]
        for prompt in prompts:
            cell = by_cell.get((judge, prompt))
            select = {"judge": judge, "prompt": prompt, "contestant": UNRELATED}
            got = cell.unrelated_share if cell else None
            line.append(value(got, ROUND_PERCENT, who=f"{judge}, {prompt}", select=select))
        lines.append(line)
    evens = sorted({cell.unrelated_share.note for cell in shown})
    said = f"A judge that picks blindly takes it as often as any other: {'; '.join(evens)}."
    return table(heads, lines) + wrap(f'<p class="eh-small eh-under">{rich(said)}</p>')


def _nothing_beside(scene: Scene) -> str:
    other = "none" if scene.study.unrelated != "none" else "replace"
    why = {
        "none": "This study was asked without an unrelated option.",
        "add": "This study adds an unrelated option, so N grew by one: no effect can be read off.",
        "replace": "This study puts an unrelated option in place of the worst-ranked answer.",
    }[scene.study.unrelated]
    return empty(
        why,
        f"Run the same study with `unrelated: {other}` and choose it above under “Beside”: at "
        "equal N the difference is the option's own.",
    )


def _side_by_side(scene: Scene, cells: Sequence[GradeCell], beside: Beside) -> str:
    theirs = grade_panel(beside.frame)
    if not theirs:
        return empty(f"{beside.name} has no rotations.", "Choose another study.")
    columns = [(c.name, c.note) for c in prompt_columns(theirs)]
    still = {
        (cell.judge, cell.prompt): Still.of(
            cell.grade, heat.GRADE, f"{cell.judge}, {cell.prompt}", f"in {beside.name}"
        )
        for cell in theirs
    }
    title = f"{beside.name}: unrelated {beside.unrelated}, N = {_sizes(theirs)}"
    drawn = still_matrix(judge_rows(theirs), columns, still, heat.GRADE, title=title, small=False)
    sizes = sorted({n for cell in theirs for n in cell.options})
    under = strip(heat.GRADE, f"<span>{coin_aside('Grade', sizes)}</span>")
    return wrap(drawn, under) + _compared(scene, cells, theirs, beside)


def _sizes(cells: Sequence[GradeCell]) -> str:
    return ", ".join(str(n) for n in sorted({n for cell in cells for n in cell.options}))


def _compared(
    scene: Scene, cells: Sequence[GradeCell], theirs: Sequence[GradeCell], beside: Beside
) -> str:
    """Paired differences at equal N, adjusted for the family; else why there are none."""
    if _sizes(cells) != _sizes(theirs):
        coins = " and ".join(
            f"{number(G_RANDOM.get(max(c.options)), 2)} at N = {max(c.options)}"
            for c in (cells[0], theirs[0])
        )
        said = f"N differs: a coin scores {coins}. **The two are not comparable.**"
        return wrap(f'<p class="eh-small eh-under">{rich(said)}</p>')
    found = unrelated_effect(choice_rows(scene), beside.frame)
    if not found:
        said = "Both studies have the same unrelated option: nothing to compare."
        return wrap(f'<p class="eh-small eh-under">{rich(said)}</p>')
    return _effect_table(found)


def _effect_table(found: Sequence[Contrast]) -> str:
    """With − without on the same items: judges down, prompts across."""
    by_cell = {one.left[:2]: one for one in found}
    prompts = list(dict.fromkeys(prompt for _, prompt in by_cell))
    tip = "with − without on the same items, adjusted for the whole family"
    heads = [Head("Difference, with − without", numeric=False)]
    heads += [Head(short_prompt(prompt), tip=tip) for prompt in prompts]
    lines = []
    for judge in dict.fromkeys(judge for judge, _ in by_cell):
        cells = [by_cell.get((judge, prompt)) for prompt in prompts]
        lines.append([name(judge, {"judge": judge}), *(_effect(one) for one in cells)])
    return table(heads, lines, label="Effect of the unrelated option at equal N")


def unrelated_effect(own: pd.DataFrame, other: pd.DataFrame) -> list[Contrast]:
    """Grade with − without for every judge and prompt that both studies asked."""
    marked = mark_unrelated(stacked({"own": own, "other": other}, "which"))
    known = {
        tuple(map(str, key))
        for key in marked.groupby(["judge", "prompt", "unrelated"], observed=True).size().index
    }
    pairs = [
        ((judge, prompt, WITH), (judge, prompt, WITHOUT))
        for judge, prompt, state in sorted(known)
        if state == WITH and (judge, prompt, WITHOUT) in known
    ]
    if not pairs:
        return []
    rng = np.random.default_rng(SEED)
    return contrasts(marked, ["judge", "prompt", "unrelated"], [grade_measure()], rng, pairs)


def _effect(one: Contrast | None) -> str:
    if one is None:
        return '<span class="eh-mute">–</span>'
    judge, prompt, _ = one.left
    got = one.adjusted
    untold = got.low is not None and got.high is not None and got.low <= 0 <= got.high
    badge = f" {untold_badge()}" if untold else ""
    note = f"without {number(one.right_value, 2)}, with {number(one.left_value, 2)}"
    select = {"judge": judge, "prompt": prompt}
    who = f"{judge}, {prompt}"
    return value(got, Style(2, signed=True), who=who, note=note, select=select) + badge
