"""Ratings as battles come in: lines, the band over orders, and where both are heading."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from components.drawing.data_table import Cell, Table, table
from components.drawing.marks import (
    Figure,
    axis,
    extent,
    figure_of,
    filled_band,
    layout_of,
    note,
    push_apart,
    shortened,
    thinned,
    upright_line,
)
from components.drawing.palette import PALETTE, contestant_colour, contestant_dash
from components.format import count, number, safe_plot


def elo_curve(
    battles: Sequence[int],
    curves: Mapping[str, Sequence[float]],
    *,
    band: Mapping[str, tuple[Sequence[float], Sequence[float]]] | None = None,
    limits: Mapping[str, float] | None = None,
    at: int | None = None,
    lines: bool = True,
    replay: bool = False,
    height: int = 380,
    revision: str = "elo",
) -> Figure:
    """Ratings as battles come in: one order as lines, the band over shuffled orders behind them.

    Contestants keep the order of `curves`, which gives them their colours. `limits` are the
    Bradley-Terry ratings the curves run to; `at` is a place to mark. With `replay` the page puts a
    scrubber under the plot and says the values there.
    """
    keep = thinned(len(battles))
    x = [battles[i] for i in keep]
    names = list(curves)
    thin = {name: [curves[name][i] for i in keep] for name in names}
    bands = {
        name: ([low[i] for i in keep], [high[i] for i in keep])
        for name, (low, high) in (band or {}).items()
    }
    ends = [[limits[name]] for name in names if limits and name in limits]
    sides = [side for pair in bands.values() for side in pair]
    low, high = extent([*thin.values(), *sides, *ends])
    data = [
        filled_band(x, *map(_rounded, bands[name]), contestant_colour(names.index(name)), 0.13)
        for name in bands
    ]
    if lines:
        data += [_line(x, thin[name], name, index) for index, name in enumerate(names)]
    end = x[-1] if x else 1
    labels = _end_labels(thin if lines else _middles(bands), end, (low, high), height)
    shapes = [
        _limit(limits[name], names.index(name)) for name in names if limits and name in limits
    ]
    if at is not None:
        shapes.append(upright_line(at, "var(--ink)"))
    layout = layout_of(
        height=height,
        right=_label_room(names),
        revision=revision,
        hovermode="x unified",
        annotations=labels,
        shapes=shapes,
        xaxis=axis(
            title="battles",
            range=[0, max(end, 1)],
            tickformat=",d",
            dtick=1 if end < 6 else None,
            unifiedhovertitle={"text": "after <b>%{x:,d}</b> battles"},
            showgrid=False,
        ),
        yaxis=axis(tickformat=",d", range=[low, high]),
    )
    figure = figure_of(
        data, layout, _elo_summary(thin, end), {"xaxis.nticks": 3, "yaxis.nticks": 4},
        _elo_table(x, thin, bands, limits or {}) if bands or limits else None,
    )  # fmt: skip
    return {**figure, "replay": "battles"} if replay and lines else figure


def _elo_table(
    x: Sequence[int],
    curves: Mapping[str, Sequence[float]],
    bands: Mapping[str, tuple[Sequence[float], Sequence[float]]],
    limits: Mapping[str, float],
) -> Table:
    """Every point of every line, with its band and where it is heading."""
    rows: list[list[Cell]] = []
    for name, values in curves.items():
        low, high = bands.get(name, ((), ()))
        for place, value in enumerate(values):
            band = (low[place], high[place]) if len(low) else (None, None)
            rows.append([name, x[place], value, *band, limits.get(name)])
    columns = ["contestant", "battles", "elo", "order_low", "order_high", "bradley_terry"]
    return table(columns, rows)


def _rounded(values: Sequence[float]) -> list[float]:
    """A hundredth of a point is far below a pixel, and half of the bytes."""
    return [round(value, 2) for value in values]


def _line(x: list[int], y: list[float], name: str, index: int) -> dict[str, Any]:
    return {
        "x": x,
        "y": _rounded(y),
        "mode": "lines",
        "name": safe_plot(name),
        "line": {
            "color": contestant_colour(index),
            "width": 3 if index < PALETTE else 1.5,
            "dash": contestant_dash(index),
        },
        "meta": {"contestant": name},
        "hovertemplate": "%{y:,.0f}",
    }


def _limit(rating: float, index: int) -> dict[str, Any]:
    return {
        "type": "line",
        "xref": "paper",
        "x0": 0,
        "x1": 1,
        "layer": "below",
        "y0": rating,
        "y1": rating,
        "line": {"color": contestant_colour(index), "width": 1, "dash": "dot"},
    }


def _middles(bands: Mapping[str, tuple[list[float], list[float]]]) -> dict[str, list[float]]:
    return {name: [(low[-1] + high[-1]) / 2] for name, (low, high) in bands.items() if low}


def _end_labels(
    curves: Mapping[str, Sequence[float]], end: float, extent: tuple[float, float], height: int
) -> list[dict[str, Any]]:
    """Dot in the line's colour, rating and name in ink: coloured text would be too pale to read."""
    labels = [
        {
            **note(
                f'<span style="color:{contestant_colour(index)}">\u25cf</span> '
                f"<b>{number(values[-1])}</b> {safe_plot(shortened(name, 18))}"
            ),
            "x": end,
            "xanchor": "left",
            "xshift": 6,
            "y": values[-1],
        }
        for index, (name, values) in enumerate(curves.items())
        if values and index < PALETTE
    ]
    push_apart(labels, extent, height)
    return labels


def _label_room(names: Sequence[str]) -> int:
    longest = max((len(shortened(name, 18)) for name in names[:PALETTE]), default=0)
    return min(190, 72 + round(7.4 * longest))


def _elo_summary(curves: Mapping[str, Sequence[float]], end: float) -> str:
    ends = ", ".join(f"{name} {number(v[-1])}" for name, v in curves.items() if len(v))
    return f"Elo after {count(int(end))} battles: {ends}." if ends else "No battles yet."
