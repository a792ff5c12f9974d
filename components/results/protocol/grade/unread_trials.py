"""Grade Score of items with unusable trials, by Evenhand's rule and by the authors' code.

A trial is one call: one rotation of an item's options. Evenhand leaves out items with an unusable
trial. The authors' code, and so the published numbers, include such items.
"""

from __future__ import annotations

from collections.abc import Sequence

from components.filtering.filtered_study import FilteredStudy
from components.html.format import count
from components.html.markup import EMPTY, Markup, fill, inline_markup
from components.html.panel import wrap
from components.html.tables.value_table import (
    SCORE,
    ColumnHead,
    count_cell,
    name_cell,
    value_cell,
    value_table,
)
from components.results.protocol.grade.grade_panel import load_choice_rows, short_prompt
from metrics.estimation.row_selection import select_rows
from metrics.protocols.grade_score import grade_estimates, grade_table
from metrics.protocols.grade_table import UNRELATED_PRESENT, GradeCell, mark_unrelated


def show_unread_trials(filtered: FilteredStudy, cells: Sequence[GradeCell]) -> Markup:
    """HTML table of Grade Scores by both rules, for judges and prompts that have items with an
    unusable trial; empty if there are none."""
    rows = mark_unrelated(load_choice_rows(filtered))
    heads = [
        ColumnHead("Judge, prompt", numeric=False),
        ColumnHead(
            "Items left out", tip="items with at least one unusable reply, counted once per repeat"
        ),
        ColumnHead("Grade, this app"),
        ColumnHead("Grade, authors’ code"),
        ColumnHead("Entropy, authors’ code"),
        ColumnHead("Choice, authors’ code"),
    ]
    lines, total = [], 0
    for cell in cells:
        own = (rows["judge"] == cell.judge) & (rows["prompt"] == cell.prompt)
        mine = select_rows(rows, own & (rows["unrelated"] == cell.unrelated))
        left_out = int(grade_table(mine).attrs["left_out"])
        if not left_out:
            continue
        total += left_out
        theirs, who = grade_estimates(mine, "gradelab"), f"{cell.judge}, {cell.prompt}"
        note = short_prompt(cell.prompt) + (
            ", unrelated" if cell.unrelated == UNRELATED_PRESENT else ""
        )
        select = {"judge": cell.judge, "prompt": cell.prompt}
        lines.append(
            [
                name_cell(cell.judge, select, note),
                count_cell(left_out, "a reply without a verdict", {**select, "status": "failures"}),
                value_cell(cell.grade, SCORE, who=who, select=select),
                *(
                    value_cell(theirs[part], SCORE, who=f"{who}, authors’ code", select=select)
                    for part in ("grade", "entropy", "choice")
                ),
            ]
        )
    if not lines:
        return EMPTY
    have, are = ("has", "is") if total == 1 else ("have", "are")
    text = (
        f"{count(total, 'item')} {have} an unusable reply and {are} left out. The code of "
        "Grade Score's authors scores the usable replies of these items; an item without a usable "
        "reply gets 0."
    )
    under = wrap(fill('<p class="eh-small eh-under">{}</p>', inline_markup(text)))
    return (
        value_table(
            heads,
            lines,
            label="Grade Score of each judge with unusable replies: by the rule of this app, and "
            "by the authors' code",
        )
        + under
    )
