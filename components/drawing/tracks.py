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

from components.drawing.panels import Axis, axis_head, wrap
from components.format import attributes, known, number, safe
from studies.records import Estimate

STEPS: Final = (0.01, 0.02, 0.05, 0.1, 0.2, 0.25, 0.5, 1.0)
"""Between gridlines, as shares; the finest that needs no more than MOST_LINES is taken."""
MOST_LINES: Final = 7


@dataclass(frozen=True, slots=True)
class Cell:
    """One cell of a table: HTML of ours and the class that says what it is.

    nm a name, num a number, trk a track, bd a badge.
    """

    html: str
    kind: str = "num"


@dataclass(frozen=True, slots=True)
class Row:
    cells: Sequence[Cell]
    tip: str = ""
    kind: str = ""


def table(
    heads: Sequence[Cell], rows: Iterable[Row], kind: str, label: str, axis: Axis | None = None
) -> str:
    """Hairlines, no zebra; on a phone the track of a row stands under its name and number.

    `axis` is written once more under the rows where the head has folded away.
    """
    top = "".join(f'<th scope="col" class="{cell.kind}">{cell.html}</th>' for cell in heads)
    body = "".join(_row(row) for row in rows)
    if axis is not None:
        again = f'<td class="trk">{axis_head(axis)}</td>'
        body += f'<tr class="axis folded" aria-hidden="true">{again}</tr>'
    return wrap(
        f'<div class="eh-tbl-box"><table class="eh-tbl eh-lines {kind}" aria-label="{safe(label)}">'
        f"<thead><tr>{top}</tr></thead><tbody>{body}</tbody></table></div>"
    )


def _row(row: Row) -> str:
    made = attributes({"class": row.kind or None, "data-tip": row.tip or None})
    cells = "".join(_cell(cell) for cell in row.cells)
    return f"<tr{made}>{cells}</tr>"


def _cell(cell: Cell) -> str:
    if cell.kind == "nm":
        return f'<th scope="row" class="nm">{cell.html}</th>'
    return f'<td class="{cell.kind}">{cell.html}</td>'


def axis_cell(axis: Axis) -> Cell:
    return Cell(axis_head(axis), "trk")


def link(text: str, select: Mapping[str, object] | None) -> str:
    """A name or number that opens the judgements behind it; plain where there are none."""
    if select is None:
        return safe(text)
    sends = json.dumps(dict(select))
    made = attributes({"type": "button", "class": "eh-link", "data-select": sends})
    return f"<button{made}>{safe(text)}</button>"


# ------------------------------------------------------------------------------ marks


def track(axis: Axis, *marks: str, zero: float | None = None) -> str:
    """Gridlines, the line of no difference (or of chance), then the marks."""
    lines = "".join(f'<i class="g" style="left:{axis.place(tick)}"></i>' for tick in axis.ticks)
    at = axis.chance if zero is None else zero
    chance = "" if at is None else f'<i class="c" style="left:{axis.place(at)}"></i>'
    return f'<div class="eh-forest eh-track">{lines}{chance}{"".join(marks)}</div>'


def bar(kind: str, axis: Axis, low: float | None, high: float | None) -> str:
    """A horizontal line from one value to another; nothing where an end is unknown."""
    if low is None or high is None or not (known(low) and known(high)):
        return ""
    left, right = sorted(float(axis.place(end)[:-1]) for end in (low, high))
    return f'<i class="{kind}" style="left:{left:.2f}%;width:{right - left:.2f}%"></i>'


def point(kind: str, axis: Axis, value: float | None) -> str:
    """s hollow, p solid, q a diamond for people, o a tick for the others."""
    if value is None or not known(value):
        return ""
    return f'<i class="{kind}" style="left:{axis.place(value)}"></i>'


def dumbbell(axis: Axis, one: Estimate, both: Estimate, *, people: Estimate | None = None) -> str:
    """Hollow is one, solid is both, the thin line is the interval of the solid one."""
    marks = [
        bar("v", axis, both.low, both.high),
        bar("l", axis, one.value, both.value),
        point("q", axis, people.value if people else None),
        point("s", axis, one.value),
        point("p", axis, both.value),
    ]
    return track(axis, *marks)


def diamond(axis: Axis, people: Estimate) -> str:
    """People: hollow diamond with its interval."""
    return track(axis, bar("v", axis, people.low, people.high), point("q", axis, people.value))


def difference(axis: Axis, raw: Estimate, adjusted: Estimate) -> str:
    """Thick: one by one. Thin with caps: adjusted for the whole family. Dashed: no difference."""
    marks = [
        bar("thin", axis, adjusted.low, adjusted.high),
        bar("thick", axis, raw.low, raw.high),
        point("p", axis, raw.value),
    ]
    return track(axis, *marks, zero=0)


# ------------------------------------------------------------------------------- axes


def spread_axis(
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
        if value is not None and known(value)
    ]
    ends += list(holds)
    low, high = (min(ends), max(ends)) if ends else (0.0, 1.0)
    low, high = max(low, bounds[0]), min(high, bounds[1])
    step = next((s for s in STEPS if (high - low) / s <= MOST_LINES - 2), STEPS[-1])
    first, last = math.floor(low / step + 1e-9), math.ceil(high / step - 1e-9)
    ticks = [step * k for k in range(first, max(last, first + 1) + 1)]
    decimals = 0 if step * times >= 1 or times == 100 else 2 if step < 0.1 else 1
    labels = {tick: number(times * tick, decimals, signed=signed) for tick in ticks}
    return Axis(ticks[0], ticks[-1], ticks, labels)
