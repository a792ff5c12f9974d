"""Chart of Elo ratings after each battle, with a band for each model: the range of its ratings if
the items come in other orders."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from components.charts import figure_parts as parts
from components.charts.figure_parts import Figure
from components.html.format import count, number
from components.html.markup import escape_plot, fill_plot
from components.html.palette import PALETTE_SIZE, contestant_colour, contestant_dash
from components.html.tables.csv_table import CsvCell, CsvTable, csv_table


def elo_curve_figure(
    battles: Sequence[int],
    curves: Mapping[str, Sequence[float]],
    *,
    band: Mapping[str, tuple[Sequence[float], Sequence[float]]] | None = None,
    bradley_terry: Mapping[str, float] | None = None,
    replay: bool = False,
    height: int = 340,
    revision: str = "elo",
) -> Figure:
    """Figure of Elo ratings after each battle (a verdict as a game between two models). Each model
    has a line for one order of the battles, with its name at the end of the line. Its band, the
    range over shuffled orders, appears while the mouse is over the model.

    `battles`: the numbers of battles at which ratings are given. `curves`: model -> its rating at
    each of these numbers. `band`: model -> lower edges and upper edges of its band at these
    numbers. `bradley_terry`: model -> Bradley–Terry rating, only for the CSV download. `replay`
    adds a slider under the plot that shows the ratings after any number of battles. `height`:
    pixels. A redrawn chart with the same `revision` keeps its zoom."""
    keep = parts.spaced_indices(len(battles))
    x = [battles[i] for i in keep]
    names = list(curves)
    thin = {name: [curves[name][i] for i in keep] for name in names}
    bands = {
        name: ([low[i] for i in keep], [high[i] for i in keep])
        for name, (low, high) in (band or {}).items()
    }
    low, high = parts.padded_axis_range(list(thin.values()))
    data = []
    for name, (below, above) in bands.items():
        colour = contestant_colour(names.index(name))
        low_edge, high_edge = map(_round_to_hundredths, (below, above))
        trace = parts.band_trace(x, low_edge, high_edge, colour, 0.13)
        data.append({**trace, "visible": False, "meta": {"band": name}})
    data += [_curve_trace(x, thin[name], name, index) for index, name in enumerate(names)]
    end = x[-1] if x else 1
    labels = _end_labels(thin, end, (low, high), height)
    layout = parts.make_layout(
        height=height,
        right=_label_width(names),
        revision=revision,
        hovermode="closest",
        annotations=labels,
        xaxis=parts.make_axis(
            title="battles",
            range=[0, max(end, 1)],
            tickformat=",d",
            dtick=1 if end < 6 else None,
            showgrid=False,
        ),
        yaxis=parts.make_axis(tickformat=",d", range=[low, high]),
    )
    narrow = {"xaxis.nticks": 3, "yaxis.nticks": 4}
    table = _elo_table(x, thin, bands, bradley_terry or {}) if bands or bradley_terry else None
    figure = parts.make_figure(data, layout, _elo_summary(thin, end), narrow, table)
    return {**figure, "replay": "battles"} if replay else figure


def _elo_table(
    x: Sequence[int],
    curves: Mapping[str, Sequence[float]],
    bands: Mapping[str, tuple[Sequence[float], Sequence[float]]],
    bradley_terry: Mapping[str, float],
) -> CsvTable:
    """CSV table with one row per point of a curve: model, number of battles (`x`), Elo, ends of the
    model's band there, and its Bradley–Terry rating. Parameters as for `elo_curve_figure`."""
    rows: list[list[CsvCell]] = []
    for name, values in curves.items():
        low, high = bands.get(name, ((), ()))
        for index, value in enumerate(values):
            band = (low[index], high[index]) if len(low) else (None, None)
            rows.append([name, x[index], value, *band, bradley_terry.get(name)])
    columns = ["contestant", "battles", "elo", "order_low", "order_high", "bradley_terry"]
    return csv_table(columns, rows)


def _round_to_hundredths(values: Sequence[float]) -> list[float]:
    """Round values to hundredths, which halves the bytes sent and moves no line visibly."""
    return [round(value, 2) for value in values]


def _curve_trace(x: list[int], y: list[float], name: str, index: int) -> dict[str, Any]:
    return {
        "x": x,
        "y": _round_to_hundredths(y),
        "mode": "lines",
        "name": escape_plot(name),
        "line": {
            "color": contestant_colour(index),
            "width": 3 if index < PALETTE_SIZE else 1.5,
            "dash": contestant_dash(index),
        },
        "meta": {"contestant": name},
        "hovertemplate": "%{y:,.0f} after %{x:,d} battles",
    }


def _end_labels(
    curves: Mapping[str, Sequence[float]], end: float, extent: tuple[float, float], height: int
) -> list[dict[str, Any]]:
    """Plotly annotations at `end`, the right end of the lines, for the first PALETTE_SIZE models: a
    dot in the line's colour, then the model's name in black, since coloured text has too little
    contrast. `extent`: range of the y axis; `height`: pixels of the figure."""
    labels = []
    for index, (name, values) in enumerate(curves.items()):
        if values and index < PALETTE_SIZE:
            words = (contestant_colour(index), parts.shorten(name, 18))
            text = fill_plot('<span style="color:{}">\u25cf</span> {}', *words)
            at: dict[str, Any] = {"x": end, "xanchor": "left", "xshift": 6, "y": values[-1]}
            labels.append(parts.annotation(text, **at))
    parts.spread_labels(labels, extent, height)
    return labels


def _label_width(names: Sequence[str]) -> int:
    longest = max((len(parts.shorten(name, 18)) for name in names[:PALETTE_SIZE]), default=0)
    return min(170, 30 + round(7.4 * longest))


def _elo_summary(curves: Mapping[str, Sequence[float]], end: float) -> str:
    ends = ", ".join(f"{name} {number(v[-1])}" for name, v in curves.items() if len(v))
    return f"Elo after {count(int(end), 'battle')}: {ends}." if ends else "No battles yet."
