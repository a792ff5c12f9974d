"""A table for a paper: its texts without markup, and functions for its cells."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from components.filtering.filtered_study import FilteredStudy
from components.filtering.filters import ALL_CHOICE, WITHOUT_SUSPECTS
from components.html.format import count, interval, number
from studies.domain import Estimate
from studies.frames.point_columns import GOLD_COLUMN

EMPTY_CELL: Final = "–"


@dataclass(frozen=True, slots=True)
class PaperTable:
    """A table for a paper: name, caption, column heads and cells, as plain texts."""

    name: str
    caption: str
    head: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


def describe_items_and_filters(filtered: FilteredStudy, labelled: bool = False) -> str:
    """Text for a caption, such as "120 items, coding only.": the number of items (with `labelled`,
    of those with a label) and the filters in use, except the counting rule (how verdicts in both
    orders and unusable replies count)."""
    rows = filtered.frame
    if labelled:
        rows = rows[rows[GOLD_COLUMN].notna()] if GOLD_COLUMN in rows else rows[:0]
    items = count(rows["item"].nunique(), "item")
    return f"{items}{chosen_filters_text(filtered, ('judge', 'prompt', 'category'))}."


def chosen_filters_text(filtered: FilteredStudy, names: Sequence[str]) -> str:
    """Text on the filters in use, to follow a number of items, such as ", coding only"; "" if none
    is. It covers the filters that `names` lists, the filter on models, and the one that leaves out
    injection suspects."""
    filters = [getattr(filtered.filter, name) for name in names]
    chosen = [value for value in filters if value != ALL_CHOICE]
    chosen += list(filtered.filter.contestants)
    less = filtered.filter.suspects == WITHOUT_SUSPECTS
    left_out = ", without injection suspects" if less else ""
    return f"{', ' + ', '.join(chosen) + ' only' if chosen else ''}{left_out}"


def percent_cells(estimate: Estimate) -> tuple[str, str]:
    """Value and interval of a share, in per cent; EMPTY_CELL and "" if it is unknown."""
    if estimate.value is None:
        return EMPTY_CELL, ""
    return number(100 * estimate.value, 1), interval_cell(estimate, 100, 1)


def interval_cell(estimate: Estimate, scale: float, decimals: int) -> str:
    return interval(estimate, decimals, scale=scale)


def rank_cell(low: int, high: int) -> str:
    return str(low) if low == high else f"{low}–{high}"
