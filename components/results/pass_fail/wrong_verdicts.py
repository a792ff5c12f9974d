"""List of false passes or false fails, so that their questions can be read without opening
Inspect."""

from __future__ import annotations

from typing import Any, Final

import pandas as pd

from components.filtering.filtered_study import FilteredStudy
from components.html.format import count
from components.html.markup import Markup, fill, join
from components.html.panel import Action, button_html, wrap
from components.results.pass_fail.computed import load_pass_fail
from metrics.labels.labelled_rows import checked_rows
from studies.frames.point_columns import EXPECTED_COLUMN

KINDS: Final = {
    "False passes": ("pass_bad", "false pass", True),
    "False fails": ("fail_good", "false fail", False),
}
"""Choice of the switch -> (cell of the confusion table, noun, whether the verdict is a pass)."""
ERRORS: Final = tuple(KINDS)
MAX_ROWS: Final = 5
MAX_QUESTION: Final = 160


def wrong_verdicts_html(filtered: FilteredStudy, errors: str) -> Markup | None:
    """HTML list of up to MAX_ROWS false passes or false fails (`errors`: one of ERRORS) of the
    judge and prompt shown; None if it has neither, or if the items have no questions."""
    cell = load_pass_fail(filtered).cell
    if cell is None:
        return None
    frame = filtered.machines
    rows = frame[(frame["judge"] == cell[0]) & (frame["prompt"] == cell[1]) & ~frame["noise"]]
    found = {kind: rows[checked_rows(rows, kind)] for kind, *_ in KINDS.values()}
    items = {str(item) for one in found.values() for item in one["item"].head(MAX_ROWS)}
    questions = filtered.store.questions(filtered.name, items) if items else {}
    if not any(text.strip() for text in questions.values()):
        return None
    kind, noun, passed = KINDS.get(errors, KINDS[ERRORS[0]])
    top = _surest_first(found[kind], passed)
    if top.empty:
        return wrap(fill('<p class="eh-small eh-mute">{}</p>', f"There is no {noun}."))
    shown = filtered.store.questions(filtered.name, {str(item) for item in top["item"]})
    select = {"judge": cell[0], "prompt": cell[1], "checked": kind}
    return wrap(_list_html(top, noun, found[kind]["item"].nunique(), shown, select))


def _surest_first(rows: pd.DataFrame, passed: bool) -> pd.DataFrame:
    """The MAX_ROWS rows of different items in which the judge gave its (wrong) verdict the highest
    probability; the first rows if there are no probabilities."""
    if EXPECTED_COLUMN in rows:
        rows = rows.sort_values(EXPECTED_COLUMN, ascending=not passed, kind="stable")
    return rows.drop_duplicates("item").head(MAX_ROWS)


def _list_html(
    rows: pd.DataFrame, noun: str, total: int, questions: dict[str, str], select: dict[str, Any]
) -> Markup:
    plural = f"{noun}es" if noun.endswith("s") else f"{noun}s"
    title = f"{count(total)} {noun if total == 1 else plural}"
    lines = join(
        fill(
            '<div class="eh-dl items"><span class="q" dir="auto">{}</span>'
            '<span class="eh-small eh-mute">{}</span>{}</div>',
            " ".join((questions.get(str(item)) or str(item)).split())[:MAX_QUESTION],
            str(category or ""),
            button_html(Action("Open", {**select, "item": str(item)}), small=True),
        )
        for item, category in zip(rows["item"], rows["category"], strict=True)
    )
    every = button_html(Action(f"Open all {count(total)}", select), small=True)
    more = every if total > len(rows) else ""
    return fill('<h3>{}</h3><div class="eh-dl-box">{}</div>{}', title, lines, more)
