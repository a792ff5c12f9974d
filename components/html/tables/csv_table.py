"""The numbers behind a chart as a table that readers can download as CSV."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Final

from studies.domain import Estimate

CsvCell = str | float | int | None
CsvTable = dict[str, Any]
ESTIMATE_COLUMNS: Final = ("value", "low", "high", "n", "items", "unit", "note")


def csv_table(columns: Sequence[str], rows: Iterable[Sequence[CsvCell]]) -> CsvTable:
    """Dict with the columns and rows of a table, for the CSV download by the page's script."""
    return {"columns": list(columns), "rows": [list(row) for row in rows]}


def estimates_csv_table(
    names: Sequence[str], entries: Iterable[tuple[Sequence[CsvCell], Estimate | None]]
) -> CsvTable:
    """CSV table with one row per estimate. `entries` are pairs (values of the columns `names`,
    estimate); those without an estimate are left out. Further columns hold the estimate's value,
    interval, n, items, unit and note."""
    rows = [
        [*keys, *(getattr(one, column) for column in ESTIMATE_COLUMNS)]
        for keys, one in entries
        if one is not None
    ]
    return csv_table([*names, *ESTIMATE_COLUMNS], rows)
