"""What an unrelated option does: how often it is chosen, and its effect on the grade at equal N."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import pandas as pd

from components.filtering.filtered_study import FilteredStudy
from components.html import matrix as heat
from components.html.format import inline_markup, number
from components.html.panel import empty_state, no_difference_badge, wrap
from components.html.static_matrix import StaticCell, scale_html, static_matrix
from components.html.value_table import (
    ROUND_PERCENT,
    ColumnHead,
    NumberStyle,
    name_cell,
    value_cell,
    value_table,
)
from components.results.protocol.grade.heatmap import (
    chance_note,
    load_choice_rows,
    prompt_columns,
    rank_judges,
    short_prompt,
)
from metrics.estimation.contrasts import Contrast, paired_contrasts
from metrics.estimation.frame_stacking import stack_frames
from metrics.protocols.grade_heatmap import (
    UNRELATED_ABSENT,
    UNRELATED_PRESENT,
    GradeCell,
    grade_heatmap_cells,
    mark_unrelated,
)
from metrics.protocols.grade_score import RANDOM_GRADE, grade_measure
from studies.domain import UNRELATED

SEED: Final = 20_24


@dataclass(frozen=True, slots=True)
class ComparisonStudy:
    """Another study on the same items, held against the one in view."""

    name: str
    unrelated: str
    frame: pd.DataFrame


def show_unrelated(
    scene: FilteredStudy, cells: Sequence[GradeCell], beside: ComparisonStudy | None
) -> str:
    """How often the unrelated option is chosen; its effect on the grade, at equal N only."""
    if not cells:
        return empty_state("No item was shown in rotations.", "There is nothing to compare.")
    parts = [_unrelated_shares(cells)]
    if beside is None:
        parts.append(_no_comparison(scene))
    else:
        parts.append(_side_by_side(scene, cells, beside))
    return "".join(part for part in parts if part)


def _unrelated_shares(cells: Sequence[GradeCell]) -> str:
    shown = [cell for cell in cells if cell.unrelated_share.value is not None]
    if not shown:
        return ""
    prompts = [c.name for c in prompt_columns(shown)]
    heads = [ColumnHead("Unrelated option chosen, %", numeric=False)]
    heads += [ColumnHead(short_prompt(prompt)) for prompt in prompts]
    by_cell = {(cell.judge, cell.prompt): cell for cell in shown}
    lines = []
    for judge in rank_judges(shown):
        line = [name_cell(judge, {"judge": judge, "contestant": UNRELATED})]
        for prompt in prompts:
            cell = by_cell.get((judge, prompt))
            select = {"judge": judge, "prompt": prompt, "contestant": UNRELATED}
            got = cell.unrelated_share if cell else None
            line.append(value_cell(got, ROUND_PERCENT, who=f"{judge}, {prompt}", select=select))
        lines.append(line)
    evens = sorted({cell.unrelated_share.note for cell in shown})
    said = f"A judge that picks blindly takes it as often as any other: {'; '.join(evens)}."
    return value_table(heads, lines) + wrap(
        f'<p class="eh-small eh-under">{inline_markup(said)}</p>'
    )


def _no_comparison(scene: FilteredStudy) -> str:
    other = "none" if scene.study.unrelated != "none" else "replace"
    why = {
        "none": "This study was asked without an unrelated option.",
        "add": "This study adds an unrelated option, so N grew by one: no effect can be read off.",
        "replace": "This study puts an unrelated option in place of the worst-ranked answer.",
    }[scene.study.unrelated]
    return empty_state(
        why,
        f"Run the same study with `unrelated: {other}` and choose it above under “Beside”: at "
        "equal N the difference is the option's own.",
    )


def _side_by_side(scene: FilteredStudy, cells: Sequence[GradeCell], beside: ComparisonStudy) -> str:
    theirs = grade_heatmap_cells(beside.frame)
    if not theirs:
        return empty_state(f"{beside.name} has no rotations.", "Choose another study.")
    columns = [(c.name, c.note) for c in prompt_columns(theirs)]
    still = {
        (cell.judge, cell.prompt): StaticCell.of(
            cell.grade, heat.GRADE_SCALE, f"{cell.judge}, {cell.prompt}", f"in {beside.name}"
        )
        for cell in theirs
    }
    title = f"{beside.name}: unrelated {beside.unrelated}, N = {_option_counts(theirs)}"
    drawn = static_matrix(
        rank_judges(theirs), columns, still, heat.GRADE_SCALE, title=title, small=False
    )
    sizes = sorted({n for cell in theirs for n in cell.options})
    under = scale_html(heat.GRADE_SCALE, f"<span>{chance_note('Grade', sizes)}</span>")
    return wrap(drawn, under) + _paired_differences(scene, cells, theirs, beside)


def _option_counts(cells: Sequence[GradeCell]) -> str:
    return ", ".join(str(n) for n in sorted({n for cell in cells for n in cell.options}))


def _paired_differences(
    scene: FilteredStudy,
    cells: Sequence[GradeCell],
    theirs: Sequence[GradeCell],
    beside: ComparisonStudy,
) -> str:
    """Paired differences at equal N, adjusted for the family; else why there are none."""
    if _option_counts(cells) != _option_counts(theirs):
        coins = " and ".join(
            f"{number(RANDOM_GRADE.get(max(c.options)), 2)} at N = {max(c.options)}"
            for c in (cells[0], theirs[0])
        )
        said = f"N differs: a coin scores {coins}. **The two are not comparable.**"
        return wrap(f'<p class="eh-small eh-under">{inline_markup(said)}</p>')
    found = unrelated_contrasts(load_choice_rows(scene), beside.frame)
    if not found:
        said = "Both studies have the same unrelated option: nothing to compare."
        return wrap(f'<p class="eh-small eh-under">{inline_markup(said)}</p>')
    return _effect_table(found)


def _effect_table(found: Sequence[Contrast]) -> str:
    """With − without on the same items: judges down, prompts across."""
    by_cell = {one.left[:2]: one for one in found}
    prompts = list(dict.fromkeys(prompt for _, prompt in by_cell))
    tip = "with − without on the same items, adjusted for the whole family"
    heads = [ColumnHead("Difference, with − without", numeric=False)]
    heads += [ColumnHead(short_prompt(prompt), tip=tip) for prompt in prompts]
    lines = []
    for judge in dict.fromkeys(judge for judge, _ in by_cell):
        cells = [by_cell.get((judge, prompt)) for prompt in prompts]
        lines.append([name_cell(judge, {"judge": judge}), *(_effect_cell(one) for one in cells)])
    return value_table(heads, lines, label="Effect of the unrelated option at equal N")


def unrelated_contrasts(own: pd.DataFrame, other: pd.DataFrame) -> list[Contrast]:
    """Grade with − without for every judge and prompt that both studies asked."""
    marked = mark_unrelated(stack_frames({"own": own, "other": other}, "which"))
    known = {
        tuple(map(str, key))
        for key in marked.groupby(["judge", "prompt", "unrelated"], observed=True).size().index
    }
    pairs = [
        ((judge, prompt, UNRELATED_PRESENT), (judge, prompt, UNRELATED_ABSENT))
        for judge, prompt, state in sorted(known)
        if state == UNRELATED_PRESENT and (judge, prompt, UNRELATED_ABSENT) in known
    ]
    if not pairs:
        return []
    rng = np.random.default_rng(SEED)
    return paired_contrasts(marked, ["judge", "prompt", "unrelated"], [grade_measure()], rng, pairs)


def _effect_cell(one: Contrast | None) -> str:
    if one is None:
        return '<span class="eh-mute">–</span>'
    judge, prompt, _ = one.left
    got = one.adjusted
    untold = got.low is not None and got.high is not None and got.low <= 0 <= got.high
    badge = f" {no_difference_badge()}" if untold else ""
    note = f"without {number(one.right_value, 2)}, with {number(one.left_value, 2)}"
    select = {"judge": judge, "prompt": prompt}
    who = f"{judge}, {prompt}"
    return value_cell(got, NumberStyle(2, signed=True), who=who, note=note, select=select) + badge
