"""Forest plot: one row per estimate, with the values of people and other judges for comparison."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from components.charts.figure_parts import (
    TOP_MARGIN,
    Figure,
    add_name_labels,
    error_bars,
    hidden_row_axis,
    hover_card,
    make_axis,
    make_figure,
    make_layout,
    side_annotation,
    vertical_line,
)
from components.html.csv_table import estimates_table
from components.html.format import count, is_known, number, percent
from components.html.markup import PlotText, fill_plot
from studies.domain import Estimate


@dataclass(frozen=True, slots=True)
class ForestRow:
    """One row of a forest plot: an estimate and the values it is compared with."""

    name: str
    estimate: Estimate
    people: float | None = None
    others: Sequence[float] = field(default_factory=tuple)
    select: Any = None

    @property
    def few(self) -> bool:
        return 0 < self.estimate.items < 5


def win_rate_figure(
    estimates: Mapping[str, Estimate], *, select: str = "contestant", height: int | None = None
) -> Figure:
    """Figure of win rates with intervals, one row for each model."""
    rows = [
        ForestRow(name, estimate, select={select: name}) for name, estimate in estimates.items()
    ]
    return forest_figure(rows, height=height, what="win rate")


def forest_figure(
    rows: Sequence[ForestRow],
    *,
    low: float = 0,
    high: float = 1,
    chance: float | None = None,
    height: int | None = None,
    what: str = "value",
    revision: str = "forest",
) -> Figure:
    """Figure with one row per estimate: a dot with its interval, a hollow diamond for people, grey
    ticks for other judges.

    An estimate from fewer than five items is a hollow dot without an interval.
    """
    data = [*_context_traces(rows), *_dot_traces(rows)]
    names = [row.name for row in rows]
    values = [_value_note(place, row) for place, row in enumerate(rows)]
    margin, notes, narrow = add_name_labels(names, values)
    layout = make_layout(
        height=height or 36 * max(len(rows), 1) + TOP_MARGIN + 30,
        left=margin,
        right=52,
        bottom=30,
        revision=revision,
        annotations=notes,
        shapes=[vertical_line(chance, "var(--ink-3)", "dash")] if chance is not None else [],
        dragmode=False,
        xaxis=make_axis(
            range=[low - 0.01 * (high - low), high + 0.01 * (high - low)],
            tickvals=[low + (high - low) * i / 4 for i in range(5)],
            ticktext=[_percent_tick(low + (high - low) * i / 4, i) for i in range(5)],
            fixedrange=True,
            showline=False,
        ),
        yaxis=hidden_row_axis(len(rows)),
    )
    summary = "; ".join(f"{row.name}: {what} {percent(row.estimate)}" for row in rows)
    table = estimates_table(["name", "measure"], [([row.name, what], row.estimate) for row in rows])
    return make_figure(data, layout, summary or f"No {what} yet.", narrow, table)


def _dot_traces(rows: Sequence[ForestRow]) -> list[dict[str, Any]]:
    solid = [(i, row) for i, row in enumerate(rows) if is_known(row.estimate.value) and not row.few]
    hollow = [(i, row) for i, row in enumerate(rows) if is_known(row.estimate.value) and row.few]
    marks = []
    for points, symbol in ((solid, "circle"), (hollow, "circle-open")):
        if not points:
            continue
        marks.append(
            {
                "mode": "markers",
                "cliponaxis": False,
                "x": [row.estimate.value for _, row in points],
                "y": [index for index, _ in points],
                "marker": {
                    "size": 11,
                    "symbol": symbol,
                    "color": "var(--ink)" if symbol == "circle" else "var(--ink-3)",
                    "line": {"width": 0 if symbol == "circle" else 2, "color": "var(--ink-3)"},
                },
                "error_x": error_bars([r.estimate for _, r in points], 3, caps=0)
                if symbol == "circle"
                else {"visible": False},
                "customdata": [row.select or {"name": row.name} for _, row in points],
                "hovertext": [_hover_text(row) for _, row in points],
                "hovertemplate": PlotText("%{hovertext}<extra></extra>"),
            }
        )
    return marks


def _hover_text(row: ForestRow) -> str:
    size = f"n {count(row.estimate.n)}"
    if row.estimate.items:
        size += f", {count(row.estimate.items, 'item')}"
    return hover_card(percent(row.estimate, n=False), row.name, size)


def _context_traces(rows: Sequence[ForestRow]) -> list[dict[str, Any]]:
    others = [(value, place) for place, row in enumerate(rows) for value in row.others]
    people = [(row.people, place) for place, row in enumerate(rows) if is_known(row.people)]
    return [
        {
            "mode": "markers",
            "x": [x for x, _ in marks],
            "y": [y for _, y in marks],
            "marker": marker,
            "hovertemplate": fill_plot("{} %{{x:.1%}}<extra></extra>", what),
        }
        for marks, marker, what in (
            (
                others,
                {"symbol": "line-ns", "size": 16, "line": {"width": 2, "color": "var(--tie)"}},
                "another judge",
            ),
            (
                people,
                {
                    "symbol": "diamond",
                    "size": 13,
                    "color": "var(--surface)",
                    "line": {"width": 2, "color": "var(--ink-3)"},
                },
                "people",
            ),
        )
        if marks
    ]


def _value_note(place: float, row: ForestRow) -> dict[str, Any]:
    value = row.estimate.value
    text = fill_plot("<b>{}</b>", number(None if value is None else 100 * value))
    if row.few:
        return side_annotation(place, count(row.estimate.items, "item"), "var(--ink-3)")
    return side_annotation(place, text, "var(--ink)")


def _percent_tick(value: float, index: int) -> str:
    return number(100 * value) if index % 2 == 0 else ""
