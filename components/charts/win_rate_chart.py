"""Chart of win rates: one row per model, a dot with its interval."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
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
)
from components.html.format import count, is_known, number, percent
from components.html.markup import PlotText, fill_plot
from components.html.tables.csv_table import estimates_table
from studies.domain import Estimate

_Row = tuple[int, str, Estimate]


def win_rate_figure(estimates: Mapping[str, Estimate], *, height: int | None = None) -> Figure:
    """Figure of win rates with intervals, one row for each model. An estimate from fewer than five
    items is a hollow dot without an interval."""
    rows = [(place, name, one) for place, (name, one) in enumerate(estimates.items())]
    margin, notes, narrow = add_name_labels(list(estimates), [_value_note(row) for row in rows])
    layout = make_layout(
        height=height or 36 * max(len(rows), 1) + TOP_MARGIN + 30,
        left=margin,
        right=52,
        bottom=30,
        revision="forest",
        annotations=notes,
        dragmode=False,
        xaxis=make_axis(
            range=[-0.01, 1.01],
            tickvals=[0, 0.25, 0.5, 0.75, 1],
            ticktext=["0", "", "50", "", "100"],
            fixedrange=True,
            showline=False,
        ),
        yaxis=hidden_row_axis(len(rows)),
    )
    summary = "; ".join(f"{name}: win rate {percent(one)}" for _, name, one in rows)
    table = estimates_table(
        ["name", "measure"], [([name, "win rate"], one) for _, name, one in rows]
    )
    return make_figure(_dot_traces(rows), layout, summary or "No win rate yet.", narrow, table)


def _has_few_items(estimate: Estimate) -> bool:
    return 0 < estimate.items < 5


def _dot_traces(rows: Sequence[_Row]) -> list[dict[str, Any]]:
    known = [row for row in rows if is_known(row[2].value)]
    solid = [row for row in known if not _has_few_items(row[2])]
    hollow = [row for row in known if _has_few_items(row[2])]
    marks = []
    for points, symbol in ((solid, "circle"), (hollow, "circle-open")):
        if not points:
            continue
        marks.append(
            {
                "mode": "markers",
                "cliponaxis": False,
                "x": [estimate.value for _, _, estimate in points],
                "y": [place for place, _, _ in points],
                "marker": {
                    "size": 11,
                    "symbol": symbol,
                    "color": "var(--ink)" if symbol == "circle" else "var(--ink-3)",
                    "line": {"width": 0 if symbol == "circle" else 2, "color": "var(--ink-3)"},
                },
                "error_x": error_bars([estimate for _, _, estimate in points], 3, caps=0)
                if symbol == "circle"
                else {"visible": False},
                "customdata": [{"contestant": name} for _, name, _ in points],
                "hovertext": [_hover_text(name, estimate) for _, name, estimate in points],
                "hovertemplate": PlotText("%{hovertext}<extra></extra>"),
            }
        )
    return marks


def _hover_text(name: str, estimate: Estimate) -> str:
    size = f"n {count(estimate.n)}"
    if estimate.items:
        size += f", {count(estimate.items, 'item')}"
    return hover_card(percent(estimate, n=False), name, size)


def _value_note(row: _Row) -> dict[str, Any]:
    place, _, estimate = row
    if _has_few_items(estimate):
        return side_annotation(place, count(estimate.items, "item"), "var(--ink-3)")
    value = None if estimate.value is None else 100 * estimate.value
    return side_annotation(place, fill_plot("<b>{}</b>", number(value)), "var(--ink)")
