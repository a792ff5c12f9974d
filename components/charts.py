"""Figures as plain dicts from finished numbers: no data access, no gradio, no Plotly import.

Colours are CSS variables ("var(--first)", "alpha(var(--c1), 0.13)"); the page resolves them and draws again
when the theme changes. `narrow` holds layout changes for boxes under 480 px; `summary` is read to those who
cannot see the plot. Text from data goes through `safe_plot`; `customdata` and `meta` stay raw, since they only
travel back to Python with a click.
"""

from __future__ import annotations

import math
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
from studies.records import Estimate

Figure = dict[str, Any]

PALETTE: Final = 7
"""Contestants with a colour of their own; from the eighth on: grey, named on hover."""
LABEL_GAP: Final = 20
MOST_POINTS: Final = 400
_TOP, _BOTTOM = 8, 44
_INK: Final = {"family": "var(--sans)", "size": 14, "color": "var(--ink)"}


@dataclass(frozen=True, slots=True)
class SharePoint:
    """The first-slot share after `n` decisive verdicts."""

    n: int
    value: float
    low: float | None = None
    high: float | None = None


@dataclass(frozen=True, slots=True)
class SlotRow:
    """How often each slot was chosen by one judge: shares of its decisive verdicts, and its ties."""

    name: str
    shares: Sequence[Estimate]
    ties: Estimate | None = None
    select: Any = None


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
    keep = _thinned(len(battles))
    x = [battles[i] for i in keep]
    names = list(curves)
    thin = {name: [curves[name][i] for i in keep] for name in names}
    bands = {
        name: ([low[i] for i in keep], [high[i] for i in keep])
        for name, (low, high) in (band or {}).items()
    }
    low, high = _extent([*thin.values(), *(side for pair in bands.values() for side in pair)])
    data = [_band(x, *bands[name], contestant_colour(names.index(name)), 0.13) for name in bands]
    if lines:
        data += [_line(x, thin[name], name, index) for index, name in enumerate(names)]
    end = x[-1] if x else 1
    labels = _end_labels(thin if lines else _middles(bands), end, (low, high), height)
    shapes = [
        _limit(limits[name], names.index(name)) for name in names if limits and name in limits
    ]
    if at is not None:
        shapes.append(_upright(at, "var(--ink)"))
    layout = _layout(
        height=height,
        right=_label_room(names),
        revision=revision,
        hovermode="x unified",
        annotations=labels,
        shapes=shapes,
        xaxis=_axis(title="battles", range=[0, max(end, 1)], tickformat=",d", showgrid=False),
        yaxis=_axis(tickformat=",d", range=[low, high]),
    )
    return _figure(data, layout, _elo_summary(thin, end), {"xaxis.nticks": 3, "yaxis.nticks": 4})


def live_share(
    points: Sequence[SharePoint],
    *,
    even: float = 0.5,
    planned: int | None = None,
    height: int = 250,
    revision: str = "share",
) -> Figure:
    """The first-slot share while verdicts come in. The y range is fixed: it must not breathe."""
    points = [points[i] for i in _thinned(len(points))]
    last = points[-1] if points else None
    colour = _lean_colour(last, even)
    x, y = [p.n for p in points], [p.value for p in points]
    within = [p for p in points if known(p.low) and known(p.high)]
    data = [
        _band(
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
    notes = [_right_note(even, f"even {share(even, 0)}", "var(--ink-3)")]
    if last:
        notes.append(_right_note(last.value, f"<b>{share(last.value)}</b>", colour, size=15))
    _push_apart(notes, (0, 1), height)
    layout = _layout(
        height=height,
        right=84,
        revision=revision,
        annotations=notes,
        shapes=[_level(even)],
        xaxis=_axis(
            title="verdicts",
            range=[0, max(planned or 0, x[-1] if x else 0, 1)],
            tickformat=",d",
            showgrid=False,
            nticks=4,
        ),
        yaxis=_axis(
            range=[0, 1],
            tickvals=[0, 0.25, 0.5, 0.75, 1],
            ticktext=[share(tick / 4, 0) for tick in range(5)],
        ),
    )
    return _figure(data, layout, _share_summary(last, even), {"xaxis.nticks": 3})


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
    places = list(range(len(rows)))
    data = [*_context_marks(rows), *_dots(rows)]
    room = _name_room([row.name for row in rows])
    notes = [_name_note(place, row.name, room) for place, row in zip(places, rows, strict=True)]
    notes += [_value_note(place, row) for place, row in zip(places, rows, strict=True)]
    layout = _layout(
        height=height or 36 * max(len(rows), 1) + _TOP + 30,
        left=room,
        right=52,
        bottom=30,
        revision=revision,
        annotations=notes,
        shapes=[_upright(chance, "var(--ink-3)", "dash")] if chance is not None else [],
        dragmode=False,
        xaxis=_axis(
            range=[low - 0.01 * (high - low), high + 0.01 * (high - low)],
            tickvals=[low + (high - low) * i / 4 for i in range(5)],
            ticktext=[_percent_tick(low + (high - low) * i / 4, i) for i in range(5)],
            fixedrange=True,
            showline=False,
        ),
        yaxis=_hidden_rows(len(rows)),
    )
    summary = "; ".join(f"{row.name}: {what} {percent(row.estimate)}" for row in rows)
    return _figure(data, layout, summary or f"No {what} yet.")


def slot_histogram(
    rows: Sequence[SlotRow], *, chance: float | None = None, height: int | None = None
) -> Figure:
    """Which slot is chosen: shares of decisive verdicts, so that chance is one straight line.

    Two slots: a pair of bars a judge, ties in a column at the right. More slots, one judge:
    upright bars, first blue, second orange, later ones grey.
    """
    slots = max((len(row.shares) for row in rows), default=2)
    chance = 1 / slots if chance is None else chance
    if slots > 2 and len(rows) == 1:
        return _upright_slots(rows[0], chance, height or 300)
    return _paired_slots(rows, slots, chance, height)


# ------------------------------------------------------------------ slot charts


def slot_colour(slot: int) -> str:
    return ("var(--first)", "var(--second)")[slot] if slot < 2 else "var(--ink-3)"


def slot_name(slot: int) -> str:
    """1st, 2nd, 3rd, 4th …"""
    return f"{slot + 1}{('st', 'nd', 'rd')[slot] if slot < 3 else 'th'}"


def _paired_slots(rows: Sequence[SlotRow], slots: int, chance: float, height: int | None) -> Figure:
    step = 0.8 / slots
    data, notes = [], []
    for slot in range(slots):
        places = [place + (slot - (slots - 1) / 2) * step for place in range(len(rows))]
        data.append(_slot_bars(rows, slot, places, step))
        for place, row in zip(places, rows, strict=True):
            notes += _bar_value(row, slot, place, chance)
    room = _name_room([row.name for row in rows])
    notes += [_name_note(place, row.name, room) for place, row in enumerate(rows)]
    notes += [_tie_note(place, row) for place, row in enumerate(rows) if row.ties]
    if any(row.ties for row in rows):
        notes.append({**_side_note(1, "ties", "var(--ink-3)"), "yref": "paper", "yshift": 12})
    layout = _layout(
        height=height or 55 * max(len(rows), 1) + 22 + 30,
        left=room,
        right=52,
        top=22,
        bottom=30,
        revision="slots",
        annotations=notes,
        shapes=[_upright(chance, "var(--ink-3)", "dash")],
        dragmode=False,
        bargap=0,
        xaxis=_axis(
            range=[0, 1.04],
            tickvals=[0, chance, 1],
            ticktext=["0", number(100 * chance), "100"],
            showgrid=False,
            showline=False,
            fixedrange=True,
        ),
        yaxis=_hidden_rows(len(rows)),
    )
    return _figure(data, layout, _slot_summary(rows))


def _slot_bars(
    rows: Sequence[SlotRow], slot: int, places: Sequence[float], step: float
) -> dict[str, Any]:
    estimates = [_slot(row, slot) for row in rows]
    return {
        "type": "bar",
        "orientation": "h",
        "x": [estimate.value for estimate in estimates],
        "y": list(places),
        "width": step * 0.82,
        "marker": {"color": slot_colour(slot), "cornerradius": 3},
        "error_x": _whiskers(estimates, 2),
        "customdata": [row.select or {"judge": row.name, "slot": slot} for row in rows],
        "hovertext": [
            _card(
                percent(estimate, n=False),
                f"{row.name}, shown {_ordinal_word(slot)}",
                f"of {count(estimate.n, 'decisive verdict')}",
            )
            for row, estimate in zip(rows, estimates, strict=True)
        ],
        "hovertemplate": "%{hovertext}<extra></extra>",
    }


def _upright_slots(row: SlotRow, chance: float, height: int) -> Figure:
    estimates = list(row.shares)
    slots = list(range(len(estimates)))
    tops = [max(e.high or 0, e.value or 0) for e in estimates]
    top = max([*tops, chance]) * 1.18
    bars = {
        "type": "bar",
        "x": slots,
        "y": [estimate.value for estimate in estimates],
        "width": 0.76,
        "marker": {"color": [slot_colour(slot) for slot in slots], "cornerradius": 3},
        "error_y": _whiskers(estimates, 2),
        "customdata": [row.select or {"judge": row.name, "slot": slot} for slot in slots],
        "hovertext": [
            _card(percent(e, n=False), f"{row.name}, shown {_ordinal_word(i)}", f"n {count(e.n)}")
            for i, e in enumerate(estimates)
        ],
        "hovertemplate": "%{hovertext}<extra></extra>",
    }
    notes = [
        {
            **_note(f"<b>{number(100 * (estimate.value or 0))}</b>"),
            "x": slot,
            "y": tops[slot],
            "yshift": 11,
            "bgcolor": "var(--surface)",
            "borderpad": 1,
        }
        for slot, estimate in enumerate(estimates)
        if known(estimate.value)
    ]
    notes.append(_right_note(chance, f"1/{len(slots)}: {number(100 * chance)}", "var(--ink-3)"))
    layout = _layout(
        height=height,
        left=36,
        right=64,
        bottom=30,
        revision="slots",
        annotations=notes,
        shapes=[_level(chance)],
        dragmode=False,
        xaxis=_axis(
            tickvals=slots,
            ticktext=[slot_name(slot) for slot in slots],
            range=[-0.6, len(slots) - 0.4],
            showgrid=False,
            fixedrange=True,
        ),
        yaxis=_axis(
            range=[0, top],
            tickvals=[0, 0.25, 0.5, 0.75, 1],
            ticktext=["0", "25", "50", "75", "100"],
            showline=False,
            fixedrange=True,
        ),
    )
    return _figure([bars], layout, _slot_summary([row]))


def _slot(row: SlotRow, slot: int) -> Estimate:
    return row.shares[slot] if slot < len(row.shares) else Estimate(None)


def _bar_value(row: SlotRow, slot: int, place: float, chance: float) -> list[dict[str, Any]]:
    estimate = _slot(row, slot)
    if estimate.value is None:
        return []
    end = max(estimate.high or estimate.value, estimate.value)
    # A number just short of the chance line would be struck through by it.
    end = chance if chance - 0.12 < end < chance else end
    text = f"<b>{number(100 * estimate.value)}</b>"
    return [{**_note(text), "x": end, "y": place, "xanchor": "left", "xshift": 7}]


def _tie_note(place: float, row: SlotRow) -> dict[str, Any]:
    value = row.ties.value if row.ties else None
    return _side_note(place, number(None if value is None else 100 * value), "var(--ink-2)")


def _side_note(place: float, text: str, colour: str) -> dict[str, Any]:
    return {
        **_note(text, colour),
        "xref": "paper",
        "x": 1,
        "xanchor": "right",
        "xshift": 52,
        "y": place,
    }


def _ordinal_word(slot: int) -> str:
    return ("first", "second", "third")[slot] if slot < 3 else slot_name(slot)


# ---------------------------------------------------------------- forest charts


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
                "error_x": _whiskers([r.estimate for _, r in kept], 3, caps=0)
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
    return _card(percent(row.estimate, n=False), row.name, where)


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


def _name_note(place: float, name: str, room: int) -> dict[str, Any]:
    return {
        **_note(safe_plot(_short(name)), size=16),
        "xref": "paper",
        "x": 0,
        "xanchor": "left",
        "xshift": -room,
        "y": place,
    }


def _value_note(place: float, row: ForestRow) -> dict[str, Any]:
    value = row.estimate.value
    text = f"<b>{number(None if value is None else 100 * value)}</b>"
    if row.few:
        return _side_note(place, count(row.estimate.items, "item"), "var(--ink-3)")
    return _side_note(place, text, "var(--ink)")


def _percent_tick(value: float, index: int) -> str:
    return number(100 * value) if index % 2 == 0 else ""


# ------------------------------------------------------------------- elo curves


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


def _band(x: Sequence[int], low: Any, high: Any, colour: str, alpha: float) -> dict[str, Any]:
    return {
        "x": [*x, *reversed(x)],
        "y": [*high, *reversed(low)],
        "fill": "toself",
        "fillcolor": f"alpha({colour}, {alpha})",
        "line": {"width": 0},
        "mode": "lines",
        "hoverinfo": "skip",
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
            **_note(
                f'<span style="color:{contestant_colour(index)}">\u25cf</span> '
                f"<b>{number(values[-1])}</b> {safe_plot(_short(name, 18))}"
            ),
            "x": end,
            "xanchor": "left",
            "xshift": 6,
            "y": values[-1],
        }
        for index, (name, values) in enumerate(curves.items())
        if values and index < PALETTE
    ]
    _push_apart(labels, extent, height)
    return labels


def _push_apart(
    labels: list[dict[str, Any]], extent: tuple[float, float], height: int, bottom: int = _BOTTOM
) -> None:
    """Shift labels by pixels until they are LABEL_GAP apart; their anchor stays at the value."""
    inner = height - _TOP - bottom
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


def _label_room(names: Sequence[str]) -> int:
    longest = max((len(_short(name, 18)) for name in names[:PALETTE]), default=0)
    return min(190, 72 + round(7.4 * longest))


def _elo_summary(curves: Mapping[str, Sequence[float]], end: float) -> str:
    ends = ", ".join(f"{name} {number(v[-1])}" for name, v in curves.items() if len(v))
    return f"Elo after {count(int(end))} battles: {ends}." if ends else "No battles yet."


# ------------------------------------------------------------------- live share


def _lean_colour(last: SharePoint | None, even: float) -> str:
    """Blue or orange only when the interval lies on one side; until then nothing is said."""
    if last is None or last.low is None or last.high is None:
        return "var(--tie)"
    if last.low > even:
        return "var(--first)"
    return "var(--second)" if last.high < even else "var(--tie)"


def _share_summary(last: SharePoint | None, even: float) -> str:
    if last is None:
        return "No decisive verdicts yet."
    estimate = Estimate(last.value, last.low, last.high, last.n)
    return f"First-slot share {percent(estimate)}; even is {share(even, 0)}."


def _slot_summary(rows: Sequence[SlotRow]) -> str:
    parts = [
        f"{row.name}: "
        + ", ".join(f"{slot_name(i)} {share(e.value, 0)}" for i, e in enumerate(row.shares))
        for row in rows
    ]
    return "; ".join(parts) or "No decisive verdicts yet."


# --------------------------------------------------------------- common grammar


def _figure(
    data: list[dict[str, Any]], layout: dict[str, Any], summary: str, narrow: Any = None
) -> Figure:
    return {"data": data, "layout": layout, "narrow": narrow or {}, "summary": summary}


def _layout(
    *,
    height: int,
    revision: str,
    left: int = 48,
    right: int = 24,
    top: int = _TOP,
    bottom: int = _BOTTOM,
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
            "font": dict(_INK),
        },
        "uirevision": revision,
        **more,
    }


def _axis(title: str = "", **more: Any) -> dict[str, Any]:
    axis: dict[str, Any] = {
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
        axis["title"] = {"text": title, "font": {"size": 14}, "standoff": 6}
    return axis


def _hidden_rows(rows: int) -> dict[str, Any]:
    return {"range": [max(rows, 1) - 0.5, -0.5], "visible": False, "fixedrange": True}


def _note(text: str, colour: str = "var(--ink)", size: int = 14) -> dict[str, Any]:
    return {
        "text": text,
        "showarrow": False,
        "font": {"family": "var(--sans)", "size": size, "color": colour},
    }


def _right_note(y: float, text: str, colour: str, size: int = 14) -> dict[str, Any]:
    return {
        **_note(text, colour, size),
        "xref": "paper",
        "x": 1,
        "xanchor": "left",
        "xshift": 6,
        "y": y,
    }


def _level(y: float) -> dict[str, Any]:
    line = {"color": "var(--ink-3)", "width": 2, "dash": "dash"}
    return {"type": "line", "xref": "paper", "x0": 0, "x1": 1, "y0": y, "y1": y, "line": line}


def _upright(x: float, colour: str, dash: str = "solid") -> dict[str, Any]:
    line = {"color": colour, "width": 2, "dash": dash}
    return {"type": "line", "yref": "paper", "y0": 0, "y1": 1, "x0": x, "x1": x, "line": line}


def _whiskers(estimates: Sequence[Estimate], width: int, caps: int = 4) -> dict[str, Any]:
    def reach(bound: float | None, value: float | None) -> float:
        return abs((bound or 0.0) - (value or 0.0)) if known(bound) and known(value) else 0.0

    return {
        "type": "data",
        "symmetric": False,
        "array": [reach(e.high, e.value) for e in estimates],
        "arrayminus": [reach(e.low, e.value) for e in estimates],
        "color": "var(--ink)",
        "thickness": width,
        "width": caps,
    }


def _card(value: str, who: str, where: str) -> str:
    """The hover card: value and interval; who; where; what a click does."""
    click = '<span style="color:var(--ink-3)">Click to read them</span>'
    return f"<b>{value}</b><br>{safe_plot(who)}<br>{safe_plot(where)}<br>{click}"


def _thinned(length: int) -> list[int]:
    """Indices of at most MOST_POINTS points, the ends kept: the browser pays for every one."""
    if length <= MOST_POINTS:
        return list(range(length))
    step = (length - 1) / (MOST_POINTS - 1)
    return [round(i * step) for i in range(MOST_POINTS)]


def _extent(series: Sequence[Sequence[float]]) -> tuple[float, float]:
    values = [v for one in series for v in one if math.isfinite(v)]
    if not values:
        return 900, 1100
    pad = max(15.0, 0.03 * (max(values) - min(values)))
    return min(values) - pad, max(values) + pad


def _short(name: str, most: int = 22) -> str:
    return name if len(name) <= most else name[: most - 1] + "\u2026"


def _name_room(names: Sequence[str], least: int = 60) -> int:
    longest = max((len(_short(name)) for name in names), default=0)
    return max(least, round(8.4 * longest) + 16)
