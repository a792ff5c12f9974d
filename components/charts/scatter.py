"""Scatter plots side by side, each of the same models in two benchmarks, with a fitted line."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from components.charts import figure_parts as parts
from components.charts.figure_parts import Figure
from components.html.format import is_known, number
from components.html.markup import escape_plot, fill_plot

PLOTS_PER_ROW: Final = 3
PLOT_HEIGHT: Final = 250
NARROW_PLOT_HEIGHT: Final = 230
_COLUMN_GAP: Final = 0.09


@dataclass(frozen=True, slots=True)
class ScatterPlot:
    """One scatter plot: points (name, x, y), axis titles, title such as "MMMU: ρ 0.83, R² 0.71"."""

    points: Sequence[tuple[str, float, float]]
    x: str
    y: str
    title: str


def scatter_figure(plots: Sequence[ScatterPlot]) -> Figure:
    """Figure of those scatter plots that have points, up to three in each row (on a phone, one); a
    click on a point opens the model's judgements. If none has points, a figure with a message."""
    shown = [plot for plot in plots if plot.points]
    if not shown:
        return parts.empty_figure("No benchmark contains a model of this study.", 120)
    rows = -(-len(shown) // PLOTS_PER_ROW)
    data: list[dict[str, Any]] = []
    notes: list[dict[str, Any]] = []
    narrow_notes: list[dict[str, Any]] = []
    axes: dict[str, Any] = {}
    narrow: dict[str, Any] = {}
    across = min(PLOTS_PER_ROW, len(shown))
    for place, plot in enumerate(shown):
        wide = _plot_domains(place, across, rows, PLOT_HEIGHT)
        tall = _plot_domains(place, 1, len(shown), NARROW_PLOT_HEIGHT)
        end = "" if place == 0 else str(place + 1)
        data += _plot_traces(plot, end)
        for axis, title, k, on in (("x", plot.x, 0, "y"), ("y", plot.y, 1, "x")):
            axes[f"{axis}axis{end}"] = parts.make_axis(
                escape_plot(title), domain=wide[k], anchor=f"{on}{end}", nticks=4
            )
            narrow[f"{axis}axis{end}.domain"] = tall[k]
        notes.append(_plot_title(plot, wide))
        narrow_notes.append(_plot_title(plot, tall))
    narrow |= {"height": NARROW_PLOT_HEIGHT * len(shown) + 40, "annotations": narrow_notes}
    height = PLOT_HEIGHT * rows + 40
    layout = parts.make_layout(
        height=height, revision="scatter", left=56, top=28, annotations=notes, **axes
    )
    return parts.make_figure(data, layout, _scatter_summary(shown), narrow)


def _plot_domains(
    index: int, across: int, rows: int, height: int
) -> tuple[list[float], list[float]]:
    """Rectangle of the plot `index`, [left, right] and [bottom, top], as shares of the figure's
    size; `across`: plots in a row, `rows`: number of rows, `height`: pixels of one row."""
    column, row = index % across, index // across
    wide = (1 - _COLUMN_GAP * (across - 1)) / across
    row_gap = 70 / (height * rows)
    tall = (1 - row_gap * (rows - 1)) / rows
    left = column * (wide + _COLUMN_GAP)
    top = 1 - row * (tall + row_gap)
    return [left, left + wide], [max(top - tall, 0.0), top]


def _plot_traces(plot: ScatterPlot, axis_suffix: str) -> list[dict[str, Any]]:
    names, x, y = zip(*plot.points, strict=True)
    on: Mapping[str, str] = {"xaxis": f"x{axis_suffix}", "yaxis": f"y{axis_suffix}"}
    marks = {
        **on,
        "mode": "markers",
        "x": list(x),
        "y": list(y),
        "marker": {"size": 10, "color": "var(--ink)"},
        "customdata": [{"contestant": name} for name in names],
        **parts.hover_trace_fields(
            [
                fill_plot(
                    "<b>{}</b><br>{} {}<br>{} {}", name, plot.x, number(a, 2), plot.y, number(b, 2)
                )
                for name, a, b in plot.points
            ]
        ),
    }
    line = _fit_line(x, y)
    return [marks] if line is None else [{**on, **line}, marks]


def _fit_line(x: Sequence[float], y: Sequence[float]) -> dict[str, Any] | None:
    """Plotly trace of the least-squares line of y on x, over the range of x; None if x is constant,
    there are fewer than three points, or the fitted line is not finite."""
    if len(x) < 3 or np.ptp(x) == 0:
        return None
    slope, start = np.polyfit(x, y, 1)
    if not (is_known(slope) and is_known(start)):
        return None
    ends = [min(x), max(x)]
    return {
        "mode": "lines",
        "x": ends,
        "y": [float(start + slope * end) for end in ends],
        "line": {"color": "var(--ink-3)", "width": 2, "dash": "dash"},
        "hoverinfo": "skip",
    }


def _plot_title(plot: ScatterPlot, domains: tuple[list[float], list[float]]) -> dict[str, Any]:
    at: dict[str, Any] = {"xref": "paper", "yref": "paper", "x": domains[0][0], "y": domains[1][1]}
    text = escape_plot(plot.title)
    return parts.annotation(text, **at, xanchor="left", yanchor="bottom", yshift=4)


def _scatter_summary(plots: Sequence[ScatterPlot]) -> str:
    return "; ".join(f"{plot.y} against {plot.x}: {plot.title}" for plot in plots)
