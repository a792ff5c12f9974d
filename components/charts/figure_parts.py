"""Common parts of the Plotly charts: layout, axes, annotations, error bars, hover cards, places of
labels.

Charts have only a bottom and a left axis, with horizontal 14 px tick labels, and no title or legend
inside the plot. They are plain dicts, built from computed numbers without importing gradio or
Plotly.

Colours are CSS variables ("var(--first)", "alpha(var(--c1), 0.13)"), which the page resolves again
when the theme changes. `narrow` holds layout changes for narrow charts, `summary` the text for
screen readers, `table` the numbers for CSV download. Texts from data pass through `escape_plot`;
`customdata`, `meta` and `table` are not escaped, since they are never drawn.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Final

from components.html.format import CLICK_HINT, is_known
from components.html.markup import PlotText, escape_plot, fill_plot
from components.html.tables.csv_table import CsvTable
from studies.domain import Estimate

Figure = dict[str, Any]

LABEL_GAP: Final = 20
MAX_POINTS: Final = 400
TOP_MARGIN, BOTTOM_MARGIN = 8, 44
_HOVER_LABEL: Final = {
    "bgcolor": "var(--surface)",
    "bordercolor": "var(--line-2)",
    "align": "left",
    "font": {"family": "var(--sans)", "size": 14, "color": "var(--ink)"},
}


def make_figure(
    data: list[dict[str, Any]],
    layout: dict[str, Any],
    summary: str,
    narrow: Any = None,
    table: CsvTable | None = None,
) -> Figure:
    """Figure as a dict for the page's script: Plotly data and layout, `summary` for screen readers,
    layout changes `narrow` for charts under 480 px wide, and `table` for the CSV download."""
    figure = {"data": data, "layout": layout, "narrow": narrow or {}, "summary": summary}
    return {**figure, "table": table} if table else figure


def make_layout(
    *,
    height: int,
    revision: str,
    left: int = 48,
    right: int = 24,
    top: int = TOP_MARGIN,
    bottom: int = BOTTOM_MARGIN,
    **more: Any,
) -> dict[str, Any]:
    return {
        "height": height,
        "margin": {"l": left, "r": right, "t": top, "b": bottom},
        "paper_bgcolor": "rgba(0,0,0,0)",
        "plot_bgcolor": "rgba(0,0,0,0)",
        "font": {"family": "var(--sans)", "size": 14, "color": "var(--ink-2)"},
        "showlegend": False,
        "hovermode": "closest",
        "hoverlabel": dict(_HOVER_LABEL),
        "uirevision": revision,
        **more,
    }


def empty_figure(text: str, height: int) -> Figure:
    """A figure without data, `height` pixels high; `text` gives the reason on the page."""
    words = annotation(text, "var(--ink-3)", xref="paper", yref="paper", x=0.5, y=0.5)
    hidden = {"visible": False, "fixedrange": True}
    axes: dict[str, Any] = {"xaxis": hidden, "yaxis": dict(hidden)}
    layout = make_layout(height=height, revision="blank", annotations=[words], **axes)
    return make_figure([], layout, text)


def make_axis(title: str = "", **more: Any) -> dict[str, Any]:
    made: dict[str, Any] = {
        "gridcolor": "var(--line)",
        "zeroline": False,
        "showline": True,
        "linecolor": "var(--line-2)",
        "tickfont": {"size": 14, "color": "var(--ink-2)"},
        "ticks": "",
        "tickangle": 0,
        "nticks": 6,
        **more,
    }
    if title:
        made["title"] = {"text": title, "font": {"size": 14}, "standoff": 6}
    return made


def hidden_row_axis(rows: int) -> dict[str, Any]:
    return {"range": [max(rows, 1) - 0.5, -0.5], "visible": False, "fixedrange": True}


def annotation(
    text: str, colour: str = "var(--ink)", size: int = 14, **more: Any
) -> dict[str, Any]:
    font = {"family": "var(--sans)", "size": size, "color": colour}
    return {"text": text, "showarrow": False, "font": font, **more}


def right_edge_annotation(y: float, text: str, colour: str, size: int = 14) -> dict[str, Any]:
    """Plotly annotation: a text that begins 6 px right of the plot, at the height of the value
    `y`."""
    return annotation(text, colour, size, xref="paper", x=1, xanchor="left", xshift=6, y=y)


def right_margin_row_annotation(row: float, text: str, colour: str) -> dict[str, Any]:
    """Plotly annotation: a text in the margin right of the plot, at the height of `row`. It ends
    52 px from the plot's edge, so that the numbers of several rows are aligned."""
    return annotation(text, colour, xref="paper", x=1, xanchor="right", xshift=52, y=row)


def margin_and_row_labels(
    names: Sequence[str], notes: list[dict[str, Any]]
) -> tuple[int, list[dict[str, Any]], dict[str, Any]]:
    """Labels for the rows of a chart, from `names`. Returns the left margin in pixels, the
    annotations (the names and the given `notes`), and the layout changes for a narrow page."""

    def fit_labels(max_chars: int, size: int) -> tuple[int, list[dict[str, Any]]]:
        lines = [[shorten(line, max_chars) for line in name.split("\n")] for name in names]
        longest = max((len(line) for name in lines for line in name), default=0)
        margin = max(60, round(0.52 * size * longest) + 16)
        texts = [PlotText("<br>").join(map(escape_plot, name)) for name in lines]
        left: dict[str, Any] = {"align": "left", "xref": "paper", "x": 0, "xanchor": "left"}
        named = [
            annotation(text, size=size, **left, xshift=-margin, y=row)
            for row, text in enumerate(texts)
        ]
        return margin, [*named, *notes]

    margin, annotations = fit_labels(24, 16)
    narrow_margin, narrow_annotations = fit_labels(14, 14)
    narrow = {"margin.l": narrow_margin, "annotations": narrow_annotations}
    return margin, annotations, narrow


def _dashed_line(**ends: Any) -> dict[str, Any]:
    return {"type": "line", **ends, "line": {"color": "var(--ink-3)", "width": 2, "dash": "dash"}}


def horizontal_line(y: float) -> dict[str, Any]:
    return _dashed_line(xref="paper", x0=0, x1=1, y0=y, y1=y)


def vertical_line(x: float) -> dict[str, Any]:
    return _dashed_line(yref="paper", y0=0, y1=1, x0=x, x1=x)


def band_trace(x: Sequence[int], low: Any, high: Any, colour: str, alpha: float) -> dict[str, Any]:
    return {
        "x": [*x, *reversed(x)],
        "y": [*high, *reversed(low)],
        "fill": "toself",
        "fillcolor": f"alpha({colour}, {alpha})",
        "line": {"width": 0},
        "mode": "lines",
        "hoverinfo": "skip",
    }


def error_bars(estimates: Sequence[Estimate], width: int, caps: int = 4) -> dict[str, Any]:
    def distance(bound: float | None, value: float | None) -> float:
        return abs((bound or 0.0) - (value or 0.0)) if is_known(bound) and is_known(value) else 0.0

    return {
        "type": "data",
        "symmetric": False,
        "array": [distance(e.high, e.value) for e in estimates],
        "arrayminus": [distance(e.low, e.value) for e in estimates],
        "color": "var(--ink)",
        "thickness": width,
        "width": caps,
    }


def hover_trace_fields(texts: Sequence[str]) -> dict[str, Any]:
    """Fields of a Plotly trace that give each point its hover card, from `texts` in the order of
    the points."""
    return {"hovertext": list(texts), "hovertemplate": PlotText("%{hovertext}<extra></extra>")}


def hover_card(value: str, name: str, details: str) -> str:
    """Text of a hover card in four lines: `value` in bold, `name`, `details`, and what a click
    does."""
    click = fill_plot('<span style="color:var(--ink-3)">{}</span>', CLICK_HINT)
    return fill_plot("<b>{}</b><br>{}<br>{}<br>{}", value, name, details, click)


def spread_labels(labels: list[dict[str, Any]], extent: tuple[float, float], height: int) -> None:
    """Set `yshift` of each label, in place, so that labels are LABEL_GAP pixels apart and, if there
    is room, inside the plot; the points that they label do not move. `extent`: lowest and highest y
    value of the plot; `height`: pixels of the figure."""
    inner = height - TOP_MARGIN - BOTTOM_MARGIN
    low, high = extent
    pixels = {id(label): inner * (label["y"] - low) / ((high - low) or 1) for label in labels}
    ordered = sorted(labels, key=lambda label: label["y"])
    heights = [pixels[id(label)] for label in ordered]
    for _ in range(200):
        moved = False
        for i in range(1, len(heights)):
            missing = LABEL_GAP - (heights[i] - heights[i - 1])
            if missing > 0.5:
                heights[i] += missing / 2
                heights[i - 1] -= missing / 2
                moved = True
        if not moved:
            break
    lowest, highest = 8.0, inner - 8.0
    for i in reversed(range(len(heights))):
        heights[i] = min(heights[i], highest)
        highest = heights[i] - LABEL_GAP
    for label, shifted in zip(ordered, heights, strict=True):
        shifted = max(shifted, lowest)
        lowest = shifted + LABEL_GAP
        label["yshift"] = round(shifted - pixels[id(label)], 1)


def spaced_indices(length: int) -> list[int]:
    """At most MAX_POINTS evenly spaced indices from 0 to length − 1, to keep the browser fast."""
    if length <= MAX_POINTS:
        return list(range(length))
    step = (length - 1) / (MAX_POINTS - 1)
    return [round(i * step) for i in range(MAX_POINTS)]


def padded_axis_range(series: Sequence[Sequence[float]]) -> tuple[float, float]:
    """Axis range that contains all values of all series, with padding; 900 to 1,100 without
    values."""
    values = [v for one in series for v in one if math.isfinite(v)]
    if not values:
        return 900, 1100
    pad = max(15.0, 0.03 * (max(values) - min(values)))
    return min(values) - pad, max(values) + pad


def shorten(name: str, max_chars: int = 22) -> str:
    return name if len(name) <= max_chars else name[: max_chars - 1] + "\u2026"
