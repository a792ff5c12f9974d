"""The numbers behind a chart as a plain table: what a reader downloads as CSV."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Final

from studies.records import Estimate

Cell = str | float | int | None
Table = dict[str, Any]
ESTIMATE: Final = ("value", "low", "high", "n", "items", "unit", "note")


def table(columns: Sequence[str], rows: Iterable[Sequence[Cell]]) -> Table:
    """As it travels to the page; text stays raw, the page escapes it for the spreadsheet."""
    return {"columns": list(columns), "rows": [list(row) for row in rows]}


def of_estimates(
    names: Sequence[str], entries: Iterable[tuple[Sequence[Cell], Estimate | None]]
) -> Table:
    """One line an estimate: what it is of, then value, interval, n, items, unit and note."""
    rows = [[*who, *_numbers(one)] for who, one in entries if one is not None]
    return table([*names, *ESTIMATE], rows)


def _numbers(one: Estimate) -> list[Cell]:
    return [one.value, one.low, one.high, one.n, one.items, one.unit, one.note]
