"""Marks on a common axis, one row each: dumbbells, differences, and the tables they stand in.

All HTML, as the forests in a row of `panels`, so that text stays readable and a row folds on a
phone. Names and other text from data are escaped here.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from components.html.format import attributes, escape, is_known, number
from components.html.panel import Axis, axis_html, wrap
from studies.domain import Estimate

TICK_STEPS: Final = (0.01, 0.02, 0.05, 0.1, 0.2, 0.25, 0.5, 1.0)
"""Between gridlines, as shares; the finest that needs no more than MOST_LINES is taken."""
MAX_TICKS: Final = 7


@dataclass(frozen=True, slots=True)
class TableCell:
    """One cell of a table: HTML of ours and the class that says what it is.

    nm a name, num a number, trk a track, bd a badge.
    """

    html: str
    kind: str = "num"


@dataclass(frozen=True, slots=True)
class TableRow:
    cells: Sequence[TableCell]
    tip: str = ""
    kind: str = ""


def range_table(
    heads: Sequence[TableCell],
    rows: Iterable[TableRow],
    kind: str,
    label: str,
    axis: Axis | None = None,
) -> str:
    """Hairlines, no zebra; on a phone the track of a row stands under its name and number.

    `axis` is written once more under the rows where the head has folded away.
    """
    top = "".join(f'<th scope="col" class="{cell.kind}">{cell.html}</th>' for cell in heads)
    body = "".join(_row_html(row) for row in rows)
    if axis is not None:
        again = f'<td class="trk">{axis_html(axis)}</td>'
        body += f'<tr class="axis folded" aria-hidden="true">{again}</tr>'
    return wrap(
        f'<div class="eh-tbl-box"><table class="eh-tbl eh-lines {kind}" aria-label="{escape(label)}">'
        f"<thead><tr>{top}</tr></thead><tbody>{body}</tbody></table></div>"
    )


def _row_html(row: TableRow) -> str:
    made = attributes({"class": row.kind or None, "data-tip": row.tip or None})
    cells = "".join(_cell_html(cell) for cell in row.cells)
    return f"<tr{made}>{cells}</tr>"


def _cell_html(cell: TableCell) -> str:
    if cell.kind == "nm":
        return f'<th scope="row" class="nm">{cell.html}</th>'
    return f'<td class="{cell.kind}">{cell.html}</td>'


def axis_cell(axis: Axis) -> TableCell:
    return TableCell(axis_html(axis), "trk")


def select_link(text: str, select: Mapping[str, object] | None) -> str:
    """A name or number that opens the judgements behind it; plain where there are none."""
    if select is None:
        return escape(text)
    sends = json.dumps(dict(select))
    made = attributes({"type": "button", "class": "eh-link", "data-select": sends})
    return f"<button{made}>{escape(text)}</button>"


# ------------------------------------------------------------------------------ marks


def track_html(axis: Axis, *marks: str, zero: float | None = None) -> str:
    """Gridlines, the line of no difference (or of chance), then the marks."""
    lines = "".join(f'<i class="g" style="left:{axis.place(tick)}"></i>' for tick in axis.ticks)
    at = axis.chance if zero is None else zero
    chance = "" if at is None else f'<i class="c" style="left:{axis.place(at)}"></i>'
    return f'<div class="eh-forest eh-track">{lines}{chance}{"".join(marks)}</div>'


def bar_mark(kind: str, axis: Axis, low: float | None, high: float | None) -> str:
    """A horizontal line from one value to another; nothing where an end is unknown."""
    if low is None or high is None or not (is_known(low) and is_known(high)):
        return ""
    left, right = sorted(float(axis.place(end)[:-1]) for end in (low, high))
    return f'<i class="{kind}" style="left:{left:.2f}%;width:{right - left:.2f}%"></i>'


def point_mark(kind: str, axis: Axis, value: float | None) -> str:
    """s hollow, p solid, q a diamond for people, o a tick for the others."""
    if value is None or not is_known(value):
        return ""
    return f'<i class="{kind}" style="left:{axis.place(value)}"></i>'


def dumbbell_track(
    axis: Axis, one: Estimate, both: Estimate, *, people: Estimate | None = None
) -> str:
    """Hollow is one, solid is both, the thin line is the interval of the solid one."""
    marks = [
        bar_mark("v", axis, both.low, both.high),
        bar_mark("l", axis, one.value, both.value),
        point_mark("q", axis, people.value if people else None),
        point_mark("s", axis, one.value),
        point_mark("p", axis, both.value),
    ]
    return track_html(axis, *marks)


def people_track(axis: Axis, people: Estimate) -> str:
    """People: hollow diamond with its interval."""
    return track_html(
        axis, bar_mark("v", axis, people.low, people.high), point_mark("q", axis, people.value)
    )


def difference_track(axis: Axis, raw: Estimate, adjusted: Estimate) -> str:
    """Thick: one by one. Thin with caps: adjusted for the whole family. Dashed: no difference."""
    marks = [
        bar_mark("thin", axis, adjusted.low, adjusted.high),
        bar_mark("thick", axis, raw.low, raw.high),
        point_mark("p", axis, raw.value),
    ]
    return track_html(axis, *marks, zero=0)


# ------------------------------------------------------------------------------- axes


def fit_share_axis(
    estimates: Iterable[Estimate],
    *,
    times: float = 100,
    signed: bool = False,
    holds: Sequence[float] = (),
    bounds: tuple[float, float] = (-math.inf, math.inf),
) -> Axis:
    """From the lowest end to the highest in round steps; `holds` are values it must show."""
    ends = [
        value
        for estimate in estimates
        for value in (estimate.low, estimate.high, estimate.value)
        if value is not None and is_known(value)
    ]
    ends += list(holds)
    low, high = (min(ends), max(ends)) if ends else (0.0, 1.0)
    low, high = max(low, bounds[0]), min(high, bounds[1])
    step = next((s for s in TICK_STEPS if (high - low) / s <= MAX_TICKS - 2), TICK_STEPS[-1])
    first, last = math.floor(low / step + 1e-9), math.ceil(high / step - 1e-9)
    ticks = [step * k for k in range(first, max(last, first + 1) + 1)]
    decimals = 0 if step * times >= 1 or times == 100 else 2 if step < 0.1 else 1
    labels = {tick: number(times * tick, decimals, signed=signed) for tick in ticks}
    return Axis(ticks[0], ticks[-1], ticks, labels)
