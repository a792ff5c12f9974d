"""Effect of an unrelated option (an answer to another item): how often it is chosen, and the Grade
Scores with and without it at equal numbers of options."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import pandas as pd

from components.filtering.filtered_study import FilteredStudy
from components.html import scales
from components.html.format import number
from components.html.heatmap import scale_html
from components.html.markup import EMPTY, Markup, fill, inline_markup, join
from components.html.panel import empty_state, no_difference_badge, wrap
from components.html.static_matrix import StaticCell, static_matrix
from components.html.tables.value_table import (
    ROUND_PERCENT,
    ColumnHead,
    NumberStyle,
    name_cell,
    value_cell,
    value_table,
)
from components.results.protocol.grade.grade_panel import (
    chance_note,
    load_choice_rows,
    prompt_columns,
    rank_judges,
    short_prompt,
)
from metrics.estimation.contrasts import Contrast, paired_contrasts
from metrics.estimation.frame_stacking import stack_frames
from metrics.protocols.grade_score import RANDOM_GRADE, grade_measure
from metrics.protocols.grade_table import (
    UNRELATED_ABSENT,
    UNRELATED_PRESENT,
    GradeCell,
    grade_cells,
    mark_unrelated,
)
from studies.domain import UNRELATED

SEED: Final = 20_24


@dataclass(frozen=True, slots=True)
class ComparisonStudy:
    """Another study of the same items, which is compared with the study shown."""

    name: str
    unrelated: str
    frame: pd.DataFrame


def show_unrelated(
    filtered: FilteredStudy, cells: Sequence[GradeCell], beside: ComparisonStudy | None
) -> Markup:
    """HTML of how often the unrelated option is chosen, and a comparison with another study."""
    if not cells:
        return empty_state(
            "No item was shown with its options rotated.", "Grades need rotated options."
        )
    parts = [_unrelated_shares(cells)]
    if beside is None:
        parts.append(_no_comparison(filtered))
    else:
        parts.append(_side_by_side(filtered, cells, beside))
    return join(part for part in parts if part)


def _unrelated_shares(cells: Sequence[GradeCell]) -> Markup:
    shown = [cell for cell in cells if cell.unrelated_share.value is not None]
    if not shown:
        return EMPTY
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
    note = (
        "A judge that chooses at random picks the unrelated option as often as any other "
        f"option: {'; '.join(evens)}."
    )
    return value_table(heads, lines) + _note_html(note)


def _note_html(text: str) -> Markup:
    return wrap(fill('<p class="eh-small eh-under">{}</p>', inline_markup(text)))


def _no_comparison(filtered: FilteredStudy) -> Markup:
    other = "none" if filtered.study.unrelated != "none" else "replace"
    why = {
        "none": "This study has no unrelated option.",
        "add": "This study adds an unrelated option: the number of options N grew by one, so its "
        "grades are not comparable with grades without this option.",
        "replace": "This study replaces the worst-ranked answer by an unrelated option.",
    }[filtered.study.unrelated]
    return empty_state(
        why,
        f"Run the same study with `unrelated: {other}` and choose that study in the menu next to "
        "“Active rules”.",
    )


def _side_by_side(
    filtered: FilteredStudy, cells: Sequence[GradeCell], beside: ComparisonStudy
) -> Markup:
    theirs = grade_cells(beside.frame)
    if not theirs:
        return empty_state(f"{beside.name} has no rotations.", "Choose another study.")
    columns = [(c.name, c.note) for c in prompt_columns(theirs)]
    still = {
        (cell.judge, cell.prompt): StaticCell.of(
            cell.grade, scales.GRADE_SCALE, f"{cell.judge}, {cell.prompt}", f"in {beside.name}"
        )
        for cell in theirs
    }
    title = f"{beside.name}: unrelated {beside.unrelated}, N = {_option_counts(theirs)}"
    drawn = static_matrix(
        rank_judges(theirs), columns, still, scales.GRADE_SCALE, title=title, small=False
    )
    sizes = sorted({n for cell in theirs for n in cell.options})
    under = scale_html(scales.GRADE_SCALE, fill("<span>{}</span>", chance_note("Grade", sizes)))
    return wrap(drawn, under) + _paired_differences(filtered, cells, theirs, beside)


def _option_counts(cells: Sequence[GradeCell]) -> str:
    return ", ".join(str(n) for n in sorted({n for cell in cells for n in cell.options}))


def _paired_differences(
    filtered: FilteredStudy,
    cells: Sequence[GradeCell],
    theirs: Sequence[GradeCell],
    beside: ComparisonStudy,
) -> Markup:
    """HTML of grade differences paired by item at equal N, adjusted for all judges and prompts; or
    the reason why they cannot be computed."""
    if _option_counts(cells) != _option_counts(theirs):
        chances = " and ".join(
            f"{number(RANDOM_GRADE.get(max(c.options)), 2)} at N = {max(c.options)}"
            for c in (cells[0], theirs[0])
        )
        return _note_html(
            f"The studies have different numbers of options N; the Grade Score by chance is "
            f"{chances}. **Their grades are not comparable.**"
        )
    found = unrelated_contrasts(load_choice_rows(filtered), beside.frame)
    if not found:
        return _note_html(
            "Both studies treat the unrelated option alike, so its effect cannot be measured."
        )
    return _effect_table(found)


def _effect_table(found: Sequence[Contrast]) -> Markup:
    """HTML table of grade differences (with − without the unrelated option) on the same items, by
    judge and prompt."""
    by_cell = {one.left[:2]: one for one in found}
    prompts = list(dict.fromkeys(prompt for _, prompt in by_cell))
    tip = (
        "Grade Score with the unrelated option minus Grade Score without it, on the same items; "
        "interval adjusted for all judges and prompts"
    )
    heads = [ColumnHead("Grade with minus grade without the unrelated option", numeric=False)]
    heads += [ColumnHead(short_prompt(prompt), tip=tip) for prompt in prompts]
    lines = []
    for judge in dict.fromkeys(judge for judge, _ in by_cell):
        cells = [by_cell.get((judge, prompt)) for prompt in prompts]
        lines.append([name_cell(judge, {"judge": judge}), *(_effect_cell(one) for one in cells)])
    return value_table(
        heads,
        lines,
        label="Grade Score if one of N options answers another item, minus Grade Score if all N "
        "options answer this item",
    )


def unrelated_contrasts(own: pd.DataFrame, other: pd.DataFrame) -> list[Contrast]:
    """Grade with − grade without the unrelated option, for each judge and prompt that has both."""
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


def _effect_cell(one: Contrast | None) -> Markup:
    if one is None:
        return Markup('<span class="eh-mute">–</span>')
    judge, prompt, _ = one.left
    got = one.adjusted
    covers_zero = got.low is not None and got.high is not None and got.low <= 0 <= got.high
    badge = " " + no_difference_badge() if covers_zero else ""
    note = f"without {number(one.right_value, 2)}, with {number(one.left_value, 2)}"
    select = {"judge": judge, "prompt": prompt}
    who = f"{judge}, {prompt}"
    return value_cell(got, NumberStyle(2, signed=True), who=who, note=note, select=select) + badge
