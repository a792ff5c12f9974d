"""Grade Score where trials could not be read: ours leaves such items out, the authors' code does
not. Both numbers side by side, since published ones were made the other way."""

from __future__ import annotations

from collections.abc import Sequence

from components.drawing.grid import SCORE, Head, counted, name, table, value
from components.drawing.panels import wrap
from components.format import count, rich
from components.protocol.grade import choice_rows, short_prompt
from components.scene import Scene
from metrics.grade import grade, grade_table
from metrics.grade_panel import WITH, GradeCell, mark_unrelated
from metrics.selection import rows_of


def show_unread(scene: Scene, cells: Sequence[GradeCell]) -> str:
    """A line for every cell with an item that has an unread trial; nothing where all were read."""
    rows = mark_unrelated(choice_rows(scene))
    heads = [
        Head("Judge, prompt", numeric=False),
        Head("Items left out", tip="an unread trial; counted once per repeat"),
        Head("Grade, ours"), Head("Grade, authors’ code"),
        Head("Entropy, theirs"), Head("Choice, theirs"),
    ]  # fmt: skip
    lines, left = [], 0
    for cell in cells:
        own = (rows["judge"] == cell.judge) & (rows["prompt"] == cell.prompt)
        mine = rows_of(rows, own & (rows["unrelated"] == cell.unrelated))
        out = int(grade_table(mine).attrs["left_out"])
        if not out:
            continue
        left += out
        theirs, who = grade(mine, "gradelab"), f"{cell.judge}, {cell.prompt}"
        note = short_prompt(cell.prompt) + (", unrelated" if cell.unrelated == WITH else "")
        select = {"judge": cell.judge, "prompt": cell.prompt}
        lines.append(
            [
                name(cell.judge, select, note),
                counted(out, "a trial without a verdict", {**select, "status": "failures"}),
                value(cell.grade, SCORE, who=who, select=select),
                *(value(theirs[part], SCORE, who=f"{who}, authors’ code", select=select)
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
    under = wrap(f'<p class="eh-small eh-under">{rich(said)}</p>')
    return table(heads, lines, label="Items with an unread trial, by both rules") + under
