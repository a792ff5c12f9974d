"""Position bias as a table for a paper."""

from __future__ import annotations

from operator import itemgetter

from components.filtering.filtered_study import FilteredStudy
from components.filtering.filters import row_names
from components.html.tables.typed_columns import TypedColumn, ValueRow, paper_head, paper_rows
from components.html.tables.value_table import STYLES
from components.results.view.paper_table import PaperTable, slice_text
from metrics.catalogue import records
from metrics.catalogue.records import rater_profile


def position_table(filtered: FilteredStudy) -> PaperTable | None:
    """Table of position bias, one row for each judge and prompt."""
    frame = filtered.machines
    if frame.empty or filtered.has_only_people:
        return None
    found = rater_profile(frame, ["judge", "prompt"])
    shown = records.listed("paper")
    columns = [
        TypedColumn(
            "", itemgetter(one.key), STYLES[one.style], one.head, interval=one.style == "percent"
        )
        for one in shown
    ]
    columns.append(TypedColumn("", lambda cell: cell["consistency"].n, paper="n", interval=False))
    rows = [ValueRow(name, found[key]) for key, name in row_names(frame).items()]
    definitions = " ".join(f"{one.head}: {one.description}." for one in shown)
    caption = (
        f"Position bias on {filtered.name}. {definitions} {slice_text(filtered)} 95 % "
        "intervals over "
        "items; n: comparisons with a verdict in every order."
    )
    head = paper_head("Judge", columns)
    return PaperTable("Position bias", caption, head, paper_rows(columns, rows))
