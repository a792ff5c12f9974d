"""Tables as rows and typed columns: one list of columns gives the table of the page and the table
of a paper."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from operator import attrgetter
from typing import Any, Final

from components.html.format import count
from components.html.markup import EMPTY, Markup, escape
from components.html.tables.forest_cells import Axis
from components.html.tables.value_table import (
    PERCENT,
    STYLES,
    ColumnHead,
    NumberStyle,
    forest_cell,
    name_cell,
    value_cell,
    value_table,
)
from metrics.catalogue.record import MeasureRecord
from metrics.catalogue.records import RECORDS
from studies.domain import Estimate

INTERVAL_HEAD: Final = "95 % CI"


@dataclass(frozen=True)
class TypedColumn:
    """A column of a table for the page and for a paper. `head`: its heading on the page; `get`:
    function that returns the column's value (an estimate, a count or a text) from
    `ValueRow.values`."""

    head: str
    get: Callable[[Any], Any]
    style: NumberStyle | Callable[[Any], NumberStyle] = PERCENT
    """Number format; a function of the row's values if the rows are different measures."""
    paper: str = ""
    """Short head in a paper."""
    n: bool = False
    """Whether the page shows the sample size beside an estimate."""
    axis: Axis | None = None
    """Axis of a column that draws estimates instead of writing them."""
    chance: Callable[[Any], float | None] | None = None
    """Function that returns, from `ValueRow.values`, the level marked in a row's plot to compare
    the estimate with, such as chance; None marks no level."""
    interval: bool = True
    """Whether the table of a paper has the interval in a second column."""
    tip: str = ""
    """Hover card of the head."""

    def number_style_of(self, values: Any) -> NumberStyle:
        return self.style(values) if callable(self.style) else self.style


def measure_column(key: str, path: str, paper: str = "", **more: Any) -> TypedColumn:
    """A column for a measure of the catalogue, named by its `key`, which gives the heading and the
    number format. `path`: attribute of `ValueRow.values` with the value (dots allowed). `paper`:
    short heading in a paper; `more`: further fields of TypedColumn."""
    return record_column(RECORDS[key], attrgetter(path), paper=paper, **more)


def record_column(record: MeasureRecord, get: Callable[[Any], Any], **more: Any) -> TypedColumn:
    """A column whose heading and number format come from a measure's `record` in the catalogue.
    `get` returns the value from `ValueRow.values`. `more`: further fields of TypedColumn, which
    replace those from the record."""
    head = f"{record.name}, %" if record.style == "percent" else record.name
    facts: dict[str, Any] = {"style": STYLES[record.style], **more}
    return TypedColumn(head, get, **facts)


@dataclass(frozen=True)
class ValueRow:
    """A row: its name, the values that the columns read, the filters that a click on the name
    sets, and a note below the name."""

    name: str
    values: Any
    select: Mapping[str, Any] | None = None
    note: str = ""


def page_table(
    first: str,
    columns: Sequence[TypedColumn],
    rows: Iterable[ValueRow],
    label: str,
    named: bool = True,
) -> Markup:
    """HTML table. `first`: heading of the first column, which has the names of the rows; `label`:
    the table's accessible name. With `named`, hover cards of estimates contain the row's name;
    those of columns with an axis always do."""
    heads = [ColumnHead(first, numeric=False)]
    heads += [ColumnHead(one.head, axis=one.axis, tip=one.tip) for one in columns]
    lines = [
        [
            name_cell(row.name, row.select, row.note),
            *(_page_cell(one, row, named) for one in columns),
        ]
        for row in rows
    ]
    return value_table(heads, lines, label=label)


def _page_cell(column: TypedColumn, row: ValueRow, named: bool) -> Markup:
    value, name, style = column.get(row.values), row.name, column.number_style_of(row.values)
    if value is not None and not isinstance(value, Estimate):
        return escape(count(value) if isinstance(value, int) else value)
    if column.axis is None:
        return value_cell(value, style, who=name if named else "", n=column.n)
    if value is None or value.value is None:
        return EMPTY
    axis = column.axis
    if column.chance is not None:
        axis = replace(axis, chance=column.chance(row.values))
    return forest_cell(value, axis, style, name)


def paper_head(first: str, columns: Sequence[TypedColumn]) -> tuple[str, ...]:
    """Heads of a paper's table: `first` above the names of the rows, then those of the columns; a
    column with an interval has two heads."""
    pairs = [(one.paper, INTERVAL_HEAD) if one.interval else (one.paper,) for one in columns]
    return (first, *(text for pair in pairs for text in pair))


def paper_rows(
    columns: Sequence[TypedColumn], rows: Iterable[ValueRow]
) -> tuple[tuple[str, ...], ...]:
    """Rows of a paper's table as texts: name of the row, then one text per column, or two (value
    and interval) if the column has an interval."""
    return tuple(
        (row.name, *(t for one in columns for t in _paper_cell_texts(one, row))) for row in rows
    )


def _paper_cell_texts(column: TypedColumn, row: ValueRow) -> tuple[str, ...]:
    value = column.get(row.values)
    if isinstance(value, Estimate):
        style = column.number_style_of(row.values)
        texts = style.text(value.value), "" if value.value is None else style.interval(value)
    else:
        texts = count(value) if value is None or isinstance(value, int) else str(value), ""
    return texts if column.interval else texts[:1]
