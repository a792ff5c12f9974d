"""Bar chart of how often each position was chosen, with a line at chance and a column for ties."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from components.charts import figure_parts as parts
from components.charts.figure_parts import Figure
from components.html.format import count, is_known, number, percent, share, slot_name
from components.html.markup import fill_plot
from components.html.tables.csv_table import CsvCell, CsvTable, estimates_csv_table
from studies.domain import Estimate


@dataclass(frozen=True, slots=True)
class SlotRow:
    """The positions that one judge chose. `shares`: share of its verdicts for each position, ties
    left out; `ties`: share of ties among all its verdicts. `select`: the filters that a click on a
    bar sends together with the position, by default the judge's name."""

    name: str
    shares: Sequence[Estimate]
    ties: Estimate | None = None
    select: Mapping[str, str] | None = None


def slot_colour(slot: int) -> str:
    return ("var(--first)", "var(--second)")[slot] if slot < 2 else "var(--ink-3)"


def slot_histogram_figure(rows: Sequence[SlotRow]) -> Figure:
    """Bar chart of the share of verdicts for each position. Ties are left out, so that chance is
    one divided by the number of positions for every judge.

    For one judge and more than two positions the bars are vertical: the first blue, the second
    orange, the others grey. Otherwise each judge has a row with one horizontal bar for each
    position, and its share of ties, if known, is a number at the right."""
    slots = max((len(row.shares) for row in rows), default=2)
    if slots > 2 and len(rows) == 1:
        return _vertical_bars_figure(rows[0], 1 / slots)
    return _horizontal_bars_figure(rows, slots, 1 / slots)


def _horizontal_bars_figure(rows: Sequence[SlotRow], slots: int, chance: float) -> Figure:
    step = 0.8 / slots
    data, notes = [], []
    for slot in range(slots):
        places = [place + (slot - (slots - 1) / 2) * step for place in range(len(rows))]
        data.append(_slot_bars_trace(rows, slot, places, step))
        for place, row in zip(places, rows, strict=True):
            notes += _bar_labels(row, slot, place, chance, named=slots > 2)
    notes += [_tie_label(place, row) for place, row in enumerate(rows) if row.ties]
    if any(row.ties for row in rows):
        notes.append(
            {
                **parts.right_margin_row_annotation(1, "ties", "var(--ink-3)"),
                "yref": "paper",
                "yshift": 12,
            }
        )
    margin, notes, narrow = parts.margin_and_row_labels([row.name for row in rows], notes)
    layout = parts.make_layout(
        height=(55 if slots == 2 else 19 * slots) * max(len(rows), 1) + 22 + 30,
        left=margin,
        right=52,
        top=22,
        bottom=30,
        revision="slots",
        annotations=notes,
        shapes=[parts.vertical_line(chance)],
        dragmode=False,
        bargap=0,
        xaxis=parts.make_axis(
            range=[0, 1.04],
            tickvals=[0, chance, 1],
            ticktext=["0", number(100 * chance), "100"],
            showgrid=False,
            showline=False,
            fixedrange=True,
        ),
        yaxis=parts.hidden_row_axis(len(rows)),
    )
    return parts.make_figure(data, layout, _slot_summary(rows), narrow, _slot_table(rows))


def _click_filters(row: SlotRow, slot: int) -> dict[str, Any]:
    return {**(row.select or {"judge": row.name}), "slot": slot}


def _slot_bars_trace(
    rows: Sequence[SlotRow], slot: int, places: Sequence[float], step: float
) -> dict[str, Any]:
    estimates = [_slot_share(row, slot) for row in rows]
    return {
        "type": "bar",
        "orientation": "h",
        "x": [estimate.value for estimate in estimates],
        "y": list(places),
        "width": step * 0.82,
        "marker": {"color": slot_colour(slot), "cornerradius": 3},
        "error_x": parts.error_bars(estimates, 2),
        "customdata": [_click_filters(row, slot) for row in rows],
        **parts.hover_trace_fields(
            [
                _hover_text(row, slot, one, f"of {count(one.n, 'verdict')} other than ties")
                for row, one in zip(rows, estimates, strict=True)
            ]
        ),
    }


def _vertical_bars_figure(row: SlotRow, chance: float) -> Figure:
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
        "error_y": parts.error_bars(estimates, 2),
        "customdata": [_click_filters(row, slot) for slot in slots],
        **parts.hover_trace_fields(
            [_hover_text(row, i, e, f"n {count(e.n)}") for i, e in enumerate(estimates)]
        ),
    }
    style: dict[str, Any] = {"yshift": 11, "bgcolor": "var(--surface)", "borderpad": 1}
    notes = [
        parts.annotation(
            fill_plot("<b>{}</b>", number(100 * (one.value or 0))), x=slot, y=tops[slot], **style
        )
        for slot, one in enumerate(estimates)
        if is_known(one.value)
    ]
    even = f"1/{len(slots)}: {number(100 * chance)}"
    notes.append(parts.right_edge_annotation(chance, even, "var(--ink-3)"))
    layout = parts.make_layout(
        height=300,
        left=36,
        right=64,
        bottom=30,
        revision="slots",
        annotations=notes,
        shapes=[parts.horizontal_line(chance)],
        dragmode=False,
        xaxis=parts.make_axis(
            tickvals=slots,
            ticktext=[slot_name(slot) for slot in slots],
            range=[-0.6, len(slots) - 0.4],
            showgrid=False,
            fixedrange=True,
        ),
        yaxis=parts.make_axis(
            range=[0, top],
            tickvals=[0, 0.25, 0.5, 0.75, 1],
            ticktext=["0", "25", "50", "75", "100"],
            showline=False,
            fixedrange=True,
        ),
    )
    return parts.make_figure([bars], layout, _slot_summary([row]), None, _slot_table([row]))


def _slot_table(rows: Sequence[SlotRow]) -> CsvTable:
    entries: list[tuple[list[CsvCell], Estimate | None]] = []
    for row in rows:
        name = row.name.replace("\n", ", ")
        entries += [([name, slot_name(slot)], one) for slot, one in enumerate(row.shares)]
        entries.append(([name, "tie"], row.ties))
    return estimates_csv_table(["row", "slot"], entries)


def _slot_share(row: SlotRow, slot: int) -> Estimate:
    return row.shares[slot] if slot < len(row.shares) else Estimate(None)


def _bar_labels(
    row: SlotRow, slot: int, place: float, chance: float, *, named: bool
) -> list[dict[str, Any]]:
    """The label at the end of a bar, as a list of one Plotly annotation; an empty list if the share
    is unknown. The label is the share of the position `slot` (from 0). With `named` it begins with
    the position's ordinal, because bars from the third position on have the same colour. `place`:
    the bar's y coordinate; `chance`: the share that is drawn as a line."""
    estimate = _slot_share(row, slot)
    if estimate.value is None:
        return []
    end = max(estimate.high or estimate.value, estimate.value)
    # The chance line would strike through a number just left of it.
    end = chance if chance - 0.12 < end < chance else end
    text = fill_plot("<b>{}</b>", number(100 * estimate.value))
    if named:
        text = fill_plot("{} {}", text, slot_name(slot))
    return [parts.annotation(text, x=end, y=place, xanchor="left", xshift=7)]


def _tie_label(place: float, row: SlotRow) -> dict[str, Any]:
    value = row.ties.value if row.ties else None
    return parts.right_margin_row_annotation(
        place, number(None if value is None else 100 * value), "var(--ink-2)"
    )


def _hover_text(row: SlotRow, slot: int, estimate: Estimate, size: str) -> str:
    word = ("first", "second", "third")[slot] if slot < 3 else slot_name(slot)
    return parts.hover_card(percent(estimate, n=False), f"{row.name}, shown {word}", size)


def _slot_summary(rows: Sequence[SlotRow]) -> str:
    texts = []
    for row in rows:
        shares = [f"{slot_name(i)} {share(e.value, 0)}" for i, e in enumerate(row.shares)]
        texts.append(f"{row.name}: {', '.join(shares)}")
    return "; ".join(texts) or "All verdicts so far are ties; no position was chosen."
