"""Charts drawn during a run: win rates by model, and the first-position share after each
verdict."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from components.charts import figure_parts as parts
from components.charts.figure_parts import Figure
from components.html.format import count, is_known, number, percent, share
from components.html.markup import PlotText, fill_plot
from components.html.tables.csv_table import csv_table, estimates_csv_table
from studies.domain import Estimate

_Row = tuple[int, str, Estimate]


def win_rate_figure(estimates: Mapping[str, Estimate], *, height: int | None = None) -> Figure:
    """Figure of win rates (`estimates`: model -> win rate) with intervals, one row for each model.
    An estimate from fewer than five items is a hollow dot without an interval. `height`: pixels;
    None: by the number of models."""
    rows = [(place, name, one) for place, (name, one) in enumerate(estimates.items())]
    values = [_value_annotation(row) for row in rows]
    margin, notes, narrow = parts.margin_and_row_labels(list(estimates), values)
    layout = parts.make_layout(
        height=height or 36 * max(len(rows), 1) + parts.TOP_MARGIN + 30,
        left=margin,
        right=52,
        bottom=30,
        revision="forest",
        annotations=notes,
        dragmode=False,
        xaxis=parts.make_axis(
            range=[-0.01, 1.01],
            tickvals=[0, 0.25, 0.5, 0.75, 1],
            ticktext=["0", "", "50", "", "100"],
            fixedrange=True,
            showline=False,
        ),
        yaxis=parts.hidden_row_axis(len(rows)),
    )
    summary = "; ".join(f"{name}: win rate {percent(one)}" for _, name, one in rows)
    entries = [([name, "win rate"], one) for _, name, one in rows]
    table = estimates_csv_table(["name", "measure"], entries)
    summary = summary or "No win rate yet."
    return parts.make_figure(_dot_traces(rows), layout, summary, narrow, table)


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
                "error_x": parts.error_bars([estimate for _, _, estimate in points], 3, caps=0)
                if symbol == "circle"
                else {"visible": False},
                "customdata": [{"contestant": name} for _, name, _ in points],
                **parts.hover_trace_fields(
                    [_hover_text(name, estimate) for _, name, estimate in points]
                ),
            }
        )
    return marks


def _hover_text(name: str, estimate: Estimate) -> str:
    size = f"n {count(estimate.n)}"
    if estimate.items:
        size += f", {count(estimate.items, 'item')}"
    return parts.hover_card(percent(estimate, n=False), name, size)


def _value_annotation(row: _Row) -> dict[str, Any]:
    place, _, estimate = row
    if _has_few_items(estimate):
        few = count(estimate.items, "item")
        return parts.right_margin_row_annotation(place, few, "var(--ink-3)")
    value = number(None if estimate.value is None else 100 * estimate.value)
    return parts.right_margin_row_annotation(place, fill_plot("<b>{}</b>", value), "var(--ink)")


# -- the first-position share --------------------------------------------------------------------

HEIGHT: Final = 250


@dataclass(frozen=True, slots=True)
class FirstSharePoint:
    """The share of verdicts for the answer shown first among `n` verdicts, ties left out, with the
    bounds of its interval."""

    n: int
    value: float
    low: float | None = None
    high: float | None = None


def live_first_share_figure(points: Sequence[FirstSharePoint], *, even: float = 0.5) -> Figure:
    """Figure of the first-position share (share of verdicts for the answer shown first, ties left
    out) after each verdict that is not a tie. A line is drawn at `even`, the share of a judge that
    prefers no position. The y axis is always 0.25 to 0.75 or 0 to 1, so that a redrawn chart can be
    compared with the former one."""
    points = [points[i] for i in parts.spaced_indices(len(points))]
    last = points[-1] if points else None
    colour = _preferred_position_colour(last, even)
    x, y = [p.n for p in points], [p.value for p in points]
    within = [p for p in points if is_known(p.low) and is_known(p.high)]
    data = [
        parts.band_trace(
            [p.n for p in within], [p.low for p in within], [p.high for p in within], colour, 0.2
        ),
        {
            "x": x,
            "y": y,
            "mode": "lines",
            "line": {"color": colour, "width": 3},
            "hovertemplate": PlotText("%{y:.1%} after %{x:,d} verdicts<extra></extra>"),
        },
    ]
    notes = [parts.right_edge_annotation(even, f"even {share(even, 0)}", "var(--ink-3)")]
    if last:
        shown = fill_plot("<b>{}</b>", share(last.value))
        notes.append(parts.right_edge_annotation(last.value, shown, colour, size=15))
    window = _y_range(points, even)
    ticks = [tick / 10 for tick in range(0, 11, 2 if window == (0, 1) else 1)]
    parts.spread_labels(notes, window, HEIGHT)
    layout = parts.make_layout(
        height=HEIGHT,
        right=84,
        revision="share",
        annotations=notes,
        shapes=[parts.horizontal_line(even)],
        xaxis=parts.make_axis(
            title="verdicts",
            range=[0, max(x[-1] if x else 0, 1)],
            tickformat=",d",
            showgrid=False,
            nticks=4,
        ),
        yaxis=parts.make_axis(
            range=list(window), tickvals=ticks, ticktext=[share(tick, 0) for tick in ticks]
        ),
    )
    rows = [(point.n, point.value, point.low, point.high) for point in points]
    table = csv_table(["verdicts", "first_share", "low", "high"], rows)
    summary = _share_summary(last, even)
    return parts.make_figure(data, layout, summary, {"xaxis.nticks": 3}, table)


def _preferred_position_colour(last: FirstSharePoint | None, even: float) -> str:
    """Colour of the first position if the interval of the latest share lies above `even`, of the
    second if below; grey if it contains `even` or is unknown."""
    if last is None or last.low is None or last.high is None:
        return "var(--tie)"
    if last.low > even:
        return "var(--first)"
    return "var(--second)" if last.high < even else "var(--tie)"


def _y_range(points: Sequence[FirstSharePoint], even: float) -> tuple[float, float]:
    """The y range: 0.25 to 0.75, or 0 to 1.

    It is 0 to 1 in two cases: `even` is not 0.5; or the latest share, or any share of 20 or more
    verdicts, is not between 0.28 and 0.72. There are only two ranges because an axis fitted to the
    data would make small and large changes look alike."""
    settled = [p.value for p in points if p.n >= 20 or p is points[-1]]
    if abs(even - 0.5) < 0.01 and all(0.28 < value < 0.72 for value in settled):
        return 0.25, 0.75
    return 0, 1


def _share_summary(last: FirstSharePoint | None, even: float) -> str:
    if last is None:
        return "No verdict other than a tie has arrived yet."
    estimate = Estimate(last.value, last.low, last.high, last.n)
    return (
        f"Share of verdicts for the answer shown first, ties left out: {percent(estimate)}; "
        f"a judge without a preferred position has {share(even, 0)}."
    )
