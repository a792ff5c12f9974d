"""Tables with points and intervals on a common axis, such as dumbbells and differences.

Written as HTML, so that text stays readable and a row folds on a phone. Names and other texts from
data are escaped here.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from components.html.format import is_known, number
from components.html.markup import EMPTY, Markup, attributes, escape, fill, join
from components.html.panel import Axis, axis_html, wrap
from studies.domain import Estimate

TICK_STEPS: Final = (0.01, 0.02, 0.05, 0.1, 0.2, 0.25, 0.5, 1.0)
"""Possible distances between gridlines; the smallest that needs at most MAX_TICKS lines is used."""
MAX_TICKS: Final = 7


@dataclass(frozen=True, slots=True)
class TableCell:
    """One table cell: finished HTML and its CSS class (nm name, num number, trk plot, bd badge)."""

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
) -> Markup:
    """A table with a plot in each row. On a phone the plot stands below the row's name and number.

    `axis` is drawn again below the rows, for phones, where the table has no head.
    """
    top = join(fill('<th scope="col" class="{}">{}</th>', cell.kind, cell.html) for cell in heads)
    body = join(_row_html(row) for row in rows)
    if axis is not None:
        repeated = fill('<td class="trk">{}</td>', axis_html(axis))
        body += fill('<tr class="axis folded" aria-hidden="true">{}</tr>', repeated)
    return wrap(
        fill(
            '<div class="eh-tbl-box"><table class="eh-tbl eh-lines {}" '
            'aria-label="{}"><thead><tr>{}</tr></thead><tbody>{}</tbody></table></div>',
            kind,
            label,
            top,
            body,
        )
    )


def _row_html(row: TableRow) -> Markup:
    made = attributes({"class": row.kind or None, "data-tip": row.tip or None})
    cells = join(_cell_html(cell) for cell in row.cells)
    return fill("<tr{}>{}</tr>", made, cells)


def _cell_html(cell: TableCell) -> Markup:
    if cell.kind == "nm":
        return fill('<th scope="row" class="nm">{}</th>', cell.html)
    return fill('<td class="{}">{}</td>', cell.kind, cell.html)


def axis_cell(axis: Axis) -> TableCell:
    return TableCell(axis_html(axis), "trk")


def select_link(text: str, select: Mapping[str, object] | None) -> Markup:
    """A link that opens the judgements of the selection `select`; plain text without a
    selection."""
    if select is None:
        return escape(text)
    sent = json.dumps(dict(select))
    made = attributes({"type": "button", "class": "eh-link", "data-select": sent})
    return fill("<button{}>{}</button>", made, text)


# ------------------------------------------------------------------------------ marks


def track_html(axis: Axis, *marks: str, zero: float | None = None) -> Markup:
    """The plot of one row: gridlines, the line at chance (or at `zero`), then the marks."""
    lines = join(fill('<i class="g" style="left:{}"></i>', axis.place(tick)) for tick in axis.ticks)
    at = axis.chance if zero is None else zero
    chance = "" if at is None else fill('<i class="c" style="left:{}"></i>', axis.place(at))
    return fill('<div class="eh-forest eh-track">{}{}{}</div>', lines, chance, join(marks))


def bar_mark(kind: str, axis: Axis, low: float | None, high: float | None) -> Markup:
    """A horizontal line from one value to another; empty if an end is unknown."""
    if low is None or high is None or not (is_known(low) and is_known(high)):
        return EMPTY
    left, right = sorted(float(axis.place(end)[:-1]) for end in (low, high))
    return fill('<i class="{}" style="left:{:.2f}%;width:{:.2f}%"></i>', kind, left, right - left)


def point_mark(kind: str, axis: Axis, value: float | None) -> Markup:
    """A point of the given CSS class: s hollow, p solid, q diamond (people), o tick (others)."""
    if value is None or not is_known(value):
        return EMPTY
    return fill('<i class="{}" style="left:{}"></i>', kind, axis.place(value))


def dumbbell_track(
    axis: Axis, one: Estimate, both: Estimate, *, people: Estimate | None = None
) -> Markup:
    """Two estimates on one axis: `one` hollow, `both` solid with its interval as a thin line."""
    marks = [
        bar_mark("v", axis, both.low, both.high),
        bar_mark("l", axis, one.value, both.value),
        point_mark("q", axis, people.value if people else None),
        point_mark("s", axis, one.value),
        point_mark("p", axis, both.value),
    ]
    return track_html(axis, *marks)


def people_track(axis: Axis, people: Estimate) -> Markup:
    """The estimate from people as a hollow diamond with its interval."""
    return track_html(
        axis, bar_mark("v", axis, people.low, people.high), point_mark("q", axis, people.value)
    )


def difference_track(axis: Axis, raw: Estimate, adjusted: Estimate) -> Markup:
    """A difference with its unadjusted interval (thick) and the interval adjusted for the whole
    family of comparisons (thin with caps); the dashed line is no difference."""
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
    """An axis over all values and intervals, in round steps; it also covers the values `holds`."""
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
