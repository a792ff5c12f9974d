"""The common grammar of our figures: axes, notes, whiskers, hover cards, labels pushed apart.

Bottom and left axes only, 14 px ticks, never rotated; no title and no legend box inside a plot.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Final

from components.html.csv_table import CsvTable
from components.html.format import escape_plot, is_known
from studies.domain import Estimate

Figure = dict[str, Any]

LABEL_GAP: Final = 20
MAX_POINTS: Final = 400
TOP_MARGIN, BOTTOM_MARGIN = 8, 44
_INK_FONT: Final = {"family": "var(--sans)", "size": 14, "color": "var(--ink)"}


def make_figure(
    data: list[dict[str, Any]],
    layout: dict[str, Any],
    summary: str,
    narrow: Any = None,
    table: CsvTable | None = None,
) -> Figure:
    """`table` is what the page's download menu writes as CSV."""
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
        "hoverlabel": {
            "bgcolor": "var(--surface)",
            "bordercolor": "var(--line-2)",
            "align": "left",
            "font": dict(_INK_FONT),
        },
        "uirevision": revision,
        **more,
    }


def empty_figure(text: str, height: int) -> Figure:
    """A chart that has nothing to draw says why."""
    words = {
        **annotation(text, "var(--ink-3)"),
        "xref": "paper",
        "yref": "paper",
        "x": 0.5,
        "y": 0.5,
    }
    hidden = {"visible": False, "fixedrange": True}
    layout = make_layout(
        height=height, revision="blank", annotations=[words], xaxis=hidden, yaxis=dict(hidden)
    )
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


def annotation(text: str, colour: str = "var(--ink)", size: int = 14) -> dict[str, Any]:
    return {
        "text": text,
        "showarrow": False,
        "font": {"family": "var(--sans)", "size": size, "color": colour},
    }


def right_annotation(y: float, text: str, colour: str, size: int = 14) -> dict[str, Any]:
    return {
        **annotation(text, colour, size),
        "xref": "paper",
        "x": 1,
        "xanchor": "left",
        "xshift": 6,
        "y": y,
    }


def side_annotation(place: float, text: str, colour: str) -> dict[str, Any]:
    return {
        **annotation(text, colour),
        "xref": "paper",
        "x": 1,
        "xanchor": "right",
        "xshift": 52,
        "y": place,
    }


def add_name_labels(
    names: Sequence[str], notes: list[dict[str, Any]]
) -> tuple[int, list[dict[str, Any]], dict[str, Any]]:
    """Room for the names at the left, the notes with them, and both again for a narrow box."""

    def made(most: int, size: int) -> tuple[int, list[dict[str, Any]]]:
        room = _name_width(names, most, size)
        return room, [
            *(_name_annotation(i, _name_lines(n, most), room, size) for i, n in enumerate(names)),
            *notes,
        ]

    room, wide = made(24, 16)
    less, small = made(14, 14)
    return room, wide, {"margin.l": less, "annotations": small}


def _name_lines(name: str, most: int) -> list[str]:
    """A name may take two lines: what it is, and of what."""
    return [shorten(line, most) for line in name.split("\n")]


def _name_annotation(place: float, lines: list[str], room: int, size: int) -> dict[str, Any]:
    return {
        **annotation("<br>".join(escape_plot(line) for line in lines), size=size),
        "align": "left",
        "xref": "paper",
        "x": 0,
        "xanchor": "left",
        "xshift": -room,
        "y": place,
    }


def _name_width(names: Sequence[str], most: int, size: int) -> int:
    longest = max((len(line) for name in names for line in _name_lines(name, most)), default=0)
    return max(60, round(0.52 * size * longest) + 16)


def horizontal_line(y: float) -> dict[str, Any]:
    line = {"color": "var(--ink-3)", "width": 2, "dash": "dash"}
    return {"type": "line", "xref": "paper", "x0": 0, "x1": 1, "y0": y, "y1": y, "line": line}


def vertical_line(x: float, colour: str, dash: str = "solid") -> dict[str, Any]:
    line = {"color": colour, "width": 2, "dash": dash}
    return {"type": "line", "yref": "paper", "y0": 0, "y1": 1, "x0": x, "x1": x, "line": line}


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
    def reach(bound: float | None, value: float | None) -> float:
        return abs((bound or 0.0) - (value or 0.0)) if is_known(bound) and is_known(value) else 0.0

    return {
        "type": "data",
        "symmetric": False,
        "array": [reach(e.high, e.value) for e in estimates],
        "arrayminus": [reach(e.low, e.value) for e in estimates],
        "color": "var(--ink)",
        "thickness": width,
        "width": caps,
    }


def hover_card(value: str, who: str, where: str) -> str:
    """The hover card: value and interval; who; where; what a click does."""
    click = '<span style="color:var(--ink-3)">Click to read them</span>'
    return f"<b>{value}</b><br>{escape_plot(who)}<br>{escape_plot(where)}<br>{click}"


def spread_labels(
    labels: list[dict[str, Any]],
    extent: tuple[float, float],
    height: int,
    bottom: int = BOTTOM_MARGIN,
) -> None:
    """Shift labels by pixels until they are LABEL_GAP apart; their anchor stays at the value."""
    inner = height - TOP_MARGIN - bottom
    low, high = extent
    pixels = {id(label): inner * (label["y"] - low) / ((high - low) or 1) for label in labels}
    ordered = sorted(labels, key=lambda label: label["y"])
    places = [pixels[id(label)] for label in ordered]
    for _ in range(200):
        moved = False
        for i in range(1, len(places)):
            missing = LABEL_GAP - (places[i] - places[i - 1])
            if missing > 0.5:
                places[i] += missing / 2
                places[i - 1] -= missing / 2
                moved = True
        if not moved:
            break
    lift = max(0.0, 8 - places[0]) if places else 0.0
    for label, place in zip(ordered, places, strict=True):
        label["yshift"] = round(place + lift - pixels[id(label)], 1)


def thin_indices(length: int) -> list[int]:
    """Indices of at most MOST_POINTS points, the ends kept: the browser pays for every one."""
    if length <= MAX_POINTS:
        return list(range(length))
    step = (length - 1) / (MAX_POINTS - 1)
    return [round(i * step) for i in range(MAX_POINTS)]


def value_range(series: Sequence[Sequence[float]]) -> tuple[float, float]:
    values = [v for one in series for v in one if math.isfinite(v)]
    if not values:
        return 900, 1100
    pad = max(15.0, 0.03 * (max(values) - min(values)))
    return min(values) - pad, max(values) + pad


def shorten(name: str, most: int = 22) -> str:
    return name if len(name) <= most else name[: most - 1] + "\u2026"
