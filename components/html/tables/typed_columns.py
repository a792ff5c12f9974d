"""Tables as rows and typed columns: one list of columns gives the table of the page and the table
of a paper."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from components.html.format import count
from components.html.markup import EMPTY, Markup, escape
from components.html.panel import Axis
from components.html.tables.value_table import (
    PERCENT,
    ColumnHead,
    NumberStyle,
    forest_cell,
    name_cell,
    value_cell,
    value_table,
)
from studies.domain import Estimate

INTERVAL_HEAD: Final = "95 % CI"


@dataclass(frozen=True)
class TypedColumn:
    """A column: its head on the page and in a paper, and the function that gets its value (an
    estimate, a count or a text) from the values of a row."""

    head: str
    get: Callable[[Any], Any]
    style: NumberStyle = PERCENT
    paper: str = ""
    """Short head in a paper."""
    n: bool = False
    """Whether the page shows the sample size beside an estimate."""
    axis: Callable[[Any], Axis] | None = None
    """Axis of a row's plot, for a column that draws estimates instead of writing them."""
    interval: bool = True
    """Whether a paper has the interval in a column of its own."""


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
    """HTML table; `first` is the head of the names, `label` the table's accessible name. With
    `named`, hover cards of estimates begin with the row's name."""
    heads = [ColumnHead(first, numeric=False)]
    heads += [ColumnHead(one.head, axis=Axis() if one.axis else None) for one in columns]
    lines = [
        [name_cell(row.name, row.select, row.note), *(_cell(one, row, named) for one in columns)]
        for row in rows
    ]
    return value_table(heads, lines, label=label)


def _cell(column: TypedColumn, row: ValueRow, named: bool) -> Markup:
    value, name = column.get(row.values), row.name if named else ""
    if not isinstance(value, Estimate):
        return escape(count(value) if isinstance(value, int) else value)
    if column.axis is None:
        return value_cell(value, column.style, who=name, n=column.n)
    drawn = value.value is not None
    return forest_cell(value, column.axis(row.values), column.style, name) if drawn else EMPTY


def paper_head(first: str, columns: Sequence[TypedColumn]) -> tuple[str, ...]:
    """Heads of a paper's table; an estimate with an interval has two columns."""
    pairs = [(one.paper, INTERVAL_HEAD) if one.interval else (one.paper,) for one in columns]
    return (first, *(text for pair in pairs for text in pair))


def paper_rows(
    columns: Sequence[TypedColumn], rows: Iterable[ValueRow]
) -> tuple[tuple[str, ...], ...]:
    """Rows of a paper's table as texts."""
    return tuple((row.name, *(t for one in columns for t in _texts(one, row))) for row in rows)


def _texts(column: TypedColumn, row: ValueRow) -> tuple[str, ...]:
    value = column.get(row.values)
    if not isinstance(value, Estimate):
        return (count(value) if isinstance(value, int) else str(value),)
    text = column.style.text(value.value)
    if not column.interval:
        return (text,)
    return text, "" if value.value is None else column.style.bounds(value)
