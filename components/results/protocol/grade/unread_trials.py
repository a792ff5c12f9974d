"""Grade Score where trials could not be read: ours leaves such items out, the authors' code does
not. Both numbers side by side, since published ones were made the other way."""

from __future__ import annotations

from collections.abc import Sequence

from components.filtering.filtered_study import FilteredStudy
from components.html.format import count, inline_markup
from components.html.panel import wrap
from components.html.value_table import (
    SCORE,
    ColumnHead,
    count_cell,
    name_cell,
    value_cell,
    value_table,
)
from components.results.protocol.grade.heatmap import load_choice_rows, short_prompt
from metrics.estimation.row_selection import select_rows
from metrics.protocols.grade_heatmap import UNRELATED_PRESENT, GradeCell, mark_unrelated
from metrics.protocols.grade_score import grade_estimates, grade_table


def show_unread_trials(scene: FilteredStudy, cells: Sequence[GradeCell]) -> str:
    """A line for every cell with an item that has an unread trial; nothing where all were read."""
    rows = mark_unrelated(load_choice_rows(scene))
    heads = [
        ColumnHead("Judge, prompt", numeric=False),
        ColumnHead("Items left out", tip="an unread trial; counted once per repeat"),
        ColumnHead("Grade, ours"), ColumnHead("Grade, authors’ code"),
        ColumnHead("Entropy, theirs"), ColumnHead("Choice, theirs"),
    ]  # fmt: skip
    lines, left = [], 0
    for cell in cells:
        own = (rows["judge"] == cell.judge) & (rows["prompt"] == cell.prompt)
        mine = select_rows(rows, own & (rows["unrelated"] == cell.unrelated))
        out = int(grade_table(mine).attrs["left_out"])
        if not out:
            continue
        left += out
        theirs, who = grade_estimates(mine, "gradelab"), f"{cell.judge}, {cell.prompt}"
        note = short_prompt(cell.prompt) + (
            ", unrelated" if cell.unrelated == UNRELATED_PRESENT else ""
        )
        select = {"judge": cell.judge, "prompt": cell.prompt}
        lines.append(
            [
                name_cell(cell.judge, select, note),
                count_cell(out, "a trial without a verdict", {**select, "status": "failures"}),
                value_cell(cell.grade, SCORE, who=who, select=select),
                *(value_cell(theirs[part], SCORE, who=f"{who}, authors’ code", select=select)
                  for part in ("grade", "entropy", "choice")),
            ]
        )  # fmt: skip
    if not lines:
        return ""
    often = "Once" if left == 1 else f"{count(left)} times"
    said = (
        f"{often} an item has a trial that could not be read. Ours leaves such items out; "
        "the authors’ code scores their readable trials, with the entropy over log2 of all, and an "
        "item without any as 0."
    )
    under = wrap(f'<p class="eh-small eh-under">{inline_markup(said)}</p>')
    return value_table(heads, lines, label="Items with an unread trial, by both rules") + under
