"""Figures as plain dicts from finished numbers: no data access, no gradio, no Plotly import.

Colours are CSS variables ("var(--first)", "alpha(var(--c1), 0.13)"); the page resolves them and
draws again when the theme changes. `narrow` holds layout changes for boxes under 480 px; `summary`
is read to those who cannot see the plot. Text from data goes through `safe_plot`; `customdata` and
`meta` stay raw, since they only travel back to Python with a click.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from components.format import (
    count,
    known,
    number,
    percent,
    safe_plot,
    share,
)
from components.marks import (
    MOST_POINTS,
    TOP,
    Figure,
    axis,
    extent,
    figure_of,
    filled_band,
    hidden_rows,
    hover_card,
    layout_of,
    level_line,
    note,
    push_apart,
    right_note,
    shortened,
    side_note,
    thinned,
    upright_line,
    whiskers,
    with_names,
)
from components.slots import SlotRow, slot_histogram
from studies.records import Estimate

__all__ = [
    "MOST_POINTS",
    "PALETTE",
    "Figure",
    "ForestRow",
    "SharePoint",
    "SlotRow",
    "contestant_colour",
    "contestant_dash",
    "elo_curve",
    "forest",
    "live_share",
    "slot_histogram",
    "win_rates",
]

PALETTE: Final = 7
"""Contestants with a colour of their own; from the eighth on: grey, named on hover."""


@dataclass(frozen=True, slots=True)
class SharePoint:
    """The first-slot share after `n` decisive verdicts."""

    n: int
    value: float
    low: float | None = None
    high: float | None = None


@dataclass(frozen=True, slots=True)
class ForestRow:
    """One line of a forest: an estimate and what it is seen against."""

    name: str
    estimate: Estimate
    people: float | None = None
    others: Sequence[float] = field(default_factory=tuple)
    select: Any = None

    @property
    def few(self) -> bool:
        return 0 < self.estimate.items < 5


def contestant_colour(index: int) -> str:
    return f"var(--c{index + 1})" if index < PALETTE else "var(--tie)"


def contestant_dash(index: int) -> str:
    """From the sixth on the hues get close for some eyes: a dash tells them apart."""
    return "solid" if index < 5 else "dash" if index < PALETTE else "solid"


def elo_curve(
    battles: Sequence[int],
    curves: Mapping[str, Sequence[float]],
    *,
    band: Mapping[str, tuple[Sequence[float], Sequence[float]]] | None = None,
    limits: Mapping[str, float] | None = None,
    at: int | None = None,
    lines: bool = True,
    height: int = 380,
    revision: str = "elo",
) -> Figure:
    """Ratings as battles come in: one order as lines, the band over shuffled orders behind them.

    Contestants keep the order of `curves`, which gives them their colours. `limits` are the
    Bradley-Terry ratings the curves run to; `at` is the scrubber's place.
    """
    keep = thinned(len(battles))
    x = [battles[i] for i in keep]
    names = list(curves)
    thin = {name: [curves[name][i] for i in keep] for name in names}
    bands = {
        name: ([low[i] for i in keep], [high[i] for i in keep])
        for name, (low, high) in (band or {}).items()
    }
    low, high = extent([*thin.values(), *(side for pair in bands.values() for side in pair)])
    data = [
        filled_band(x, *bands[name], contestant_colour(names.index(name)), 0.13) for name in bands
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
    return figure_of(data, layout, _elo_summary(thin, end), {"xaxis.nticks": 3, "yaxis.nticks": 4})


def live_share(
    points: Sequence[SharePoint],
    *,
    even: float = 0.5,
    planned: int | None = None,
    height: int = 250,
    revision: str = "share",
) -> Figure:
    """The first-slot share while verdicts come in. The y range is fixed: it must not breathe."""
    points = [points[i] for i in thinned(len(points))]
    last = points[-1] if points else None
    colour = _lean_colour(last, even)
    x, y = [p.n for p in points], [p.value for p in points]
    within = [p for p in points if known(p.low) and known(p.high)]
    data = [
        filled_band(
            [p.n for p in within], [p.low for p in within], [p.high for p in within], colour, 0.2
        ),
        {
            "x": x,
            "y": y,
            "mode": "lines",
            "line": {"color": colour, "width": 3},
            "hovertemplate": "%{y:.1%} after %{x:,d} verdicts<extra></extra>",
        },
    ]
    notes = [right_note(even, f"even {share(even, 0)}", "var(--ink-3)")]
    if last:
        notes.append(right_note(last.value, f"<b>{share(last.value)}</b>", colour, size=15))
    window = _window(points, even)
    push_apart(notes, window, height)
    layout = layout_of(
        height=height,
        right=84,
        revision=revision,
        annotations=notes,
        shapes=[level_line(even)],
        xaxis=axis(
            title="verdicts",
            range=[0, max(planned or 0, x[-1] if x else 0, 1)],
            tickformat=",d",
            showgrid=False,
            nticks=4,
        ),
        yaxis=axis(
            range=list(window),
            tickvals=[tick / 10 for tick in range(0, 11, 2 if window == (0, 1) else 1)],
            ticktext=[share(tick / 10, 0) for tick in range(0, 11, 2 if window == (0, 1) else 1)],
        ),
    )
    return figure_of(data, layout, _share_summary(last, even), {"xaxis.nticks": 3})


def win_rates(
    estimates: Mapping[str, Estimate], *, select: str = "contestant", height: int | None = None
) -> Figure:
    """Dots with whiskers in one colour, one line a contestant; even is 50 %."""
    rows = [
        ForestRow(name, estimate, select={select: name}) for name, estimate in estimates.items()
    ]
    return forest(rows, height=height, what="win rate")


def forest(
    rows: Sequence[ForestRow],
    *,
    low: float = 0,
    high: float = 1,
    chance: float | None = None,
    height: int | None = None,
    what: str = "value",
    revision: str = "forest",
) -> Figure:
    """A row per estimate: dot and whisker in ink; people a hollow diamond, other judges grey ticks.

    Fewer than five items: a hollow dashed dot without whisker, since nothing can be said yet.
    """
    data = [*_context_marks(rows), *_dots(rows)]
    names = [row.name for row in rows]
    values = [_value_note(place, row) for place, row in enumerate(rows)]
    room, notes, narrow = with_names(names, values)
    layout = layout_of(
        height=height or 36 * max(len(rows), 1) + TOP + 30,
        left=room,
        right=52,
        bottom=30,
        revision=revision,
        annotations=notes,
        shapes=[upright_line(chance, "var(--ink-3)", "dash")] if chance is not None else [],
        dragmode=False,
        xaxis=axis(
            range=[low - 0.01 * (high - low), high + 0.01 * (high - low)],
            tickvals=[low + (high - low) * i / 4 for i in range(5)],
            ticktext=[_percent_tick(low + (high - low) * i / 4, i) for i in range(5)],
            fixedrange=True,
            showline=False,
        ),
        yaxis=hidden_rows(len(rows)),
    )
    summary = "; ".join(f"{row.name}: {what} {percent(row.estimate)}" for row in rows)
    return figure_of(data, layout, summary or f"No {what} yet.", narrow)


def _dots(rows: Sequence[ForestRow]) -> list[dict[str, Any]]:
    solid = [(i, row) for i, row in enumerate(rows) if known(row.estimate.value) and not row.few]
    hollow = [(i, row) for i, row in enumerate(rows) if known(row.estimate.value) and row.few]
    marks = []
    for kept, symbol in ((solid, "circle"), (hollow, "circle-open")):
        if not kept:
            continue
        marks.append(
            {
                "mode": "markers",
                "x": [row.estimate.value for _, row in kept],
                "y": [place for place, _ in kept],
                "marker": {
                    "size": 11,
                    "symbol": symbol,
                    "color": "var(--ink)" if symbol == "circle" else "var(--ink-3)",
                    "line": {"width": 0 if symbol == "circle" else 2, "color": "var(--ink-3)"},
                },
                "error_x": whiskers([r.estimate for _, r in kept], 3, caps=0)
                if symbol == "circle"
                else {"visible": False},
                "customdata": [row.select or {"name": row.name} for _, row in kept],
                "hovertext": [_forest_card(row) for _, row in kept],
                "hovertemplate": "%{hovertext}<extra></extra>",
            }
        )
    return marks


def _forest_card(row: ForestRow) -> str:
    where = f"n {count(row.estimate.n)}"
    if row.estimate.items:
        where += f", {count(row.estimate.items, 'item')}"
    return hover_card(percent(row.estimate, n=False), row.name, where)


def _context_marks(rows: Sequence[ForestRow]) -> list[dict[str, Any]]:
    others = [(value, place) for place, row in enumerate(rows) for value in row.others]
    people = [(row.people, place) for place, row in enumerate(rows) if known(row.people)]
    return [
        {
            "mode": "markers",
            "x": [x for x, _ in marks],
            "y": [y for _, y in marks],
            "marker": marker,
            "hovertemplate": f"{what} %{{x:.1%}}<extra></extra>",
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
    text = f"<b>{number(None if value is None else 100 * value)}</b>"
    if row.few:
        return side_note(place, count(row.estimate.items, "item"), "var(--ink-3)")
    return side_note(place, text, "var(--ink)")


def _percent_tick(value: float, index: int) -> str:
    return number(100 * value) if index % 2 == 0 else ""


def _line(x: list[int], y: list[float], name: str, index: int) -> dict[str, Any]:
    return {
        "x": x,
        "y": y,
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
        "x0": 0.86,
        "x1": 1,
        "y0": rating,
        "y1": rating,
        "line": {"color": contestant_colour(index), "width": 1.5, "dash": "dot"},
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


def _lean_colour(last: SharePoint | None, even: float) -> str:
    """Blue or orange only when the interval lies on one side; until then nothing is said."""
    if last is None or last.low is None or last.high is None:
        return "var(--tie)"
    if last.low > even:
        return "var(--first)"
    return "var(--second)" if last.high < even else "var(--tie)"


def _window(points: Sequence[SharePoint], even: float) -> tuple[float, float]:
    """25 points to each side of even, or the whole scale once a settled share leaves that.

    Two fixed windows: an axis that follows the data would make every wobble look alike.
    """
    settled = [p.value for p in points if p.n >= 20 or p is points[-1]]
    if abs(even - 0.5) < 0.01 and all(0.28 < value < 0.72 for value in settled):
        return 0.25, 0.75
    return 0, 1


def _share_summary(last: SharePoint | None, even: float) -> str:
    if last is None:
        return "No decisive verdicts yet."
    estimate = Estimate(last.value, last.low, last.high, last.n)
    return f"First-slot share {percent(estimate)}; even is {share(even, 0)}."
