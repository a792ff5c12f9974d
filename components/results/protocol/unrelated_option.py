"""Effect of an unrelated option (an answer to another item): how often it is chosen, and the Grade
Scores with and without it at equal numbers of options."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

import numpy as np
import pandas as pd

from components.filtering.filtered_study import FilteredStudy
from components.html import scales
from components.html.format import number
from components.html.heatmap import colour_scale_html
from components.html.markup import EMPTY, Markup
from components.html.pieces import empty_state, no_significant_difference_badge, paragraph, wrap
from components.html.static_matrix import StaticCell, static_matrix
from components.html.tables import value_table as tables
from components.html.templates import with_chance
from components.results.protocol import grade_panel
from metrics.estimation.contrasts import Contrast, paired_contrasts
from metrics.estimation.frame_stacking import stack_frames
from metrics.protocols import grade_table
from metrics.protocols.grade_score import RANDOM_GRADE, grade_measure
from metrics.protocols.grade_table import UNRELATED_ABSENT, UNRELATED_PRESENT, GradeCell
from studies.domain import UNRELATED

SEED: Final = 20_24


@dataclass(frozen=True, slots=True)
class ComparisonStudy:
    """Another study of the same items, which is compared with the study shown. `unrelated` tells
    whether an answer to another item (the unrelated option) is absent from its comparisons, is
    added to them, or replaces an answer; `frame` has its choices that pass the filters."""

    name: str
    unrelated: str
    frame: pd.DataFrame


def show_unrelated_option(
    filtered: FilteredStudy, cells: Sequence[GradeCell], other: ComparisonStudy | None
) -> Markup:
    """HTML of how often the unrelated option is chosen; then a comparison with the study `other`
    or, if it is None, what is missing for a comparison. A message without `cells`."""
    if not cells:
        why = "Grades need rotated options."
        return empty_state("No item was shown with its options rotated.", why)
    shares = _unrelated_shares_table(cells)
    if other is None:
        return shares + _no_comparison_reason(filtered)
    return shares + _compare_with_other_study(filtered, cells, other)


def _unrelated_shares_table(cells: Sequence[GradeCell]) -> Markup:
    shown = [cell for cell in cells if cell.unrelated_share.value is not None]
    if not shown:
        return EMPTY
    prompts = [c.name for c in grade_panel.prompt_columns(shown)]
    by_cell = {(cell.judge, cell.prompt): cell.unrelated_share for cell in shown}
    lines = []
    for judge in grade_panel.rank_judges(shown):
        line = [tables.name_cell(judge, {"judge": judge, "contestant": UNRELATED})]
        for prompt in prompts:
            select = {"judge": judge, "prompt": prompt, "contestant": UNRELATED}
            got, who = by_cell.get((judge, prompt)), f"{judge}, {prompt}"
            line.append(tables.value_cell(got, tables.ROUND_PERCENT, who=who, select=select))
        lines.append(line)
    evens = sorted({cell.unrelated_share.note for cell in shown})
    note = (
        "A judge that chooses at random picks the unrelated option as often as any other "
        f"option: {'; '.join(evens)}."
    )
    heads = ["Unrelated option chosen, %", *prompts]
    return tables.value_table(heads, lines) + paragraph(note)


def _no_comparison_reason(filtered: FilteredStudy) -> Markup:
    other = "none" if filtered.study.unrelated != "none" else "replace"
    why = {
        "none": "This study has no unrelated option.",
        "add": "This study adds an unrelated option: the number of options N grew by one, so its "
        "grades are not comparable with grades without this option.",
        "replace": "This study replaces the worst-ranked answer by an unrelated option.",
    }[filtered.study.unrelated]
    menu = "choose that study in the menu next to “Active rules”"
    return empty_state(why, f"Run the same study with `unrelated: {other}` and {menu}.")


def _compare_with_other_study(
    filtered: FilteredStudy, cells: Sequence[GradeCell], other: ComparisonStudy
) -> Markup:
    theirs = grade_table.grade_cells(other.frame)
    if not theirs:
        return empty_state(f"{other.name} has no rotations.", "Choose another study.")
    scale, where = scales.GRADE_SCALE, f"in {other.name}"
    columns = [(c.name, c.note) for c in grade_panel.prompt_columns(theirs)]
    still = {}
    for c in theirs:
        lines = (f"{c.judge}, {c.prompt}", where)
        still[c.judge, c.prompt] = StaticCell.from_estimate(c.grade, scale, *lines)
    sizes = grade_panel.list_numbers_of_options(theirs)
    title = f"{other.name}: unrelated {other.unrelated}, N = {', '.join(map(str, sizes))}"
    ranked = grade_panel.rank_judges(theirs)
    drawn = static_matrix(ranked, columns, still, scale, title=title, small=False)
    chance = with_chance(grade_panel.chance_note("Grade", sizes))
    differences = _paired_differences_html(filtered, cells, theirs, other)
    return wrap(drawn, colour_scale_html(scale, chance)) + differences


def _paired_differences_html(
    filtered: FilteredStudy,
    cells: Sequence[GradeCell],
    theirs: Sequence[GradeCell],
    other: ComparisonStudy,
) -> Markup:
    """HTML of grade differences paired by item at equal N, adjusted for all judges and prompts; or
    the reason why they cannot be computed."""
    if grade_panel.list_numbers_of_options(cells) != grade_panel.list_numbers_of_options(theirs):
        chances = " and ".join(
            f"{number(RANDOM_GRADE.get(max(c.options)), 2)} at N = {max(c.options)}"
            for c in (cells[0], theirs[0])
        )
        return paragraph(
            f"The studies have different numbers of options N; the Grade Score by chance is "
            f"{chances}. **Their grades are not comparable.**"
        )
    everyone = (filtered.of_all_raters, replace(filtered.of_all_raters, name=other.name))
    found = unrelated_grade_contrasts(*map(grade_panel.load_choice_rows, everyone))
    found = [one for one in found if one.left[:2] in {(cell.judge, cell.prompt) for cell in cells}]
    alike = "Both studies treat the unrelated option alike, so its effect cannot be measured."
    return _effect_table(found) if found else paragraph(alike)


def _effect_table(found: Sequence[Contrast]) -> Markup:
    """HTML table of grade differences (with − without the unrelated option) on the same items, by
    judge and prompt."""
    by_cell = {one.left[:2]: one for one in found}
    prompts = list(dict.fromkeys(prompt for _, prompt in by_cell))
    tip = (
        "Grade Score with the unrelated option minus Grade Score without it, on the same items; "
        "interval adjusted for all judges and prompts"
    )
    heads: list[tables.Head] = ["Grade with minus grade without the unrelated option"]
    heads += [(prompt, tip) for prompt in prompts]
    lines = []
    for judge in dict.fromkeys(judge for judge, _ in by_cell):
        cells = [_effect_cell(by_cell.get((judge, prompt))) for prompt in prompts]
        lines.append([tables.name_cell(judge, {"judge": judge}), *cells])
    one, every = "one of N options answers another item", "all N options answer this item"
    label = f"Grade Score if {one}, minus Grade Score if {every}"
    return tables.value_table(heads, lines, label=label)


def unrelated_grade_contrasts(own: pd.DataFrame, other: pd.DataFrame) -> list[Contrast]:
    """For each judge and prompt, the Grade Score with the unrelated option minus the score without
    it, paired by item; empty if no judge and prompt have both."""
    marked = grade_table.mark_unrelated(stack_frames({"own": own, "other": other}, "which"))
    by = ["judge", "prompt", "unrelated"]
    known = {tuple(map(str, key)) for key in marked.groupby(by, observed=True).size().index}
    pairs = [
        ((judge, prompt, UNRELATED_PRESENT), (judge, prompt, UNRELATED_ABSENT))
        for judge, prompt, state in sorted(known)
        if state == UNRELATED_PRESENT and (judge, prompt, UNRELATED_ABSENT) in known
    ]
    if not pairs:
        return []
    rng = np.random.default_rng(SEED)
    return paired_contrasts(marked, by, [grade_measure()], rng, pairs)


def _effect_cell(contrast: Contrast | None) -> Markup:
    if contrast is None:
        return tables.MUTED_DASH
    judge, prompt, _ = contrast.left
    got, select, who = contrast.adjusted, {"judge": judge, "prompt": prompt}, f"{judge}, {prompt}"
    covers_zero = got.low is not None and got.high is not None and not got.excludes_zero
    badge = " " + no_significant_difference_badge() if covers_zero else ""
    note = f"without {number(contrast.right_value, 2)}, with {number(contrast.left_value, 2)}"
    style = tables.NumberStyle(2, signed=True)
    return tables.value_cell(got, style, who=who, note=note, select=select) + badge
