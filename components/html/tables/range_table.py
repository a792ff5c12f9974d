"""Tables with points and intervals on a common axis, such as pairs of estimates and differences.

They are HTML, so that text stays readable and a row can fold on a phone. Names and other texts from
data are escaped here.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from components.html.format import is_known
from components.html.markup import EMPTY, Markup, fill, join
from components.html.tables.forest_cells import Axis, axis_html
from components.html.tables.table import Table, TableCell, TableRow
from studies.domain import Estimate


def range_table(
    heads: Sequence[TableCell],
    rows: Iterable[TableRow],
    kind: str,
    label: str,
    axis: Axis | None = None,
) -> Markup:
    """HTML table with a plot in each row; `kind`: its CSS classes, `label`: its accessible name. A
    phone shows no table head: each plot is below its row's name and number, and `axis` is below the
    last row."""
    below = EMPTY
    if axis is not None:
        repeated = fill('<td class="trk">{}</td>', axis_html(axis))
        below = fill('<tr class="axis folded" aria-hidden="true">{}</tr>', repeated)
    return Table(heads, rows, f"eh-tbl eh-lines {kind}", label, below=below).wrapped_html()


def range_row(name: str | Markup, *cells: str | Markup, tip: str = "", kind: str = "") -> TableRow:
    """A row: its name, then cells with the CSS classes of their columns; `tip`: hover card, `kind`:
    CSS class of the row."""
    return TableRow([TableCell(name, "nm"), *cells], tip, kind)


def axis_cell(axis: Axis) -> TableCell:
    return TableCell(axis_html(axis), "trk")


# ------------------------------------------------------------------------------ marks


def track_html(axis: Axis, *marks: str, zero: float | None = None) -> Markup:
    """HTML of one row's plot: gridlines, the line at chance (or at `zero`), then the marks."""
    lines = join(
        fill('<i class="g" style="left:{}"></i>', axis.css_position(tick)) for tick in axis.ticks
    )
    at = axis.chance if zero is None else zero
    chance = "" if at is None else fill('<i class="c" style="left:{}"></i>', axis.css_position(at))
    return fill('<div class="eh-forest eh-track">{}{}{}</div>', lines, chance, join(marks))


def bar_mark(kind: str, axis: Axis, low: float | None, high: float | None) -> Markup:
    """HTML of a line (CSS class `kind`) from `low` to `high`; empty if an end is unknown. An end
    outside the axis is cut off there and drawn as an arrow (classes `under` and `over`)."""
    if low is None or high is None or not (is_known(low) and is_known(high)):
        return EMPTY
    low, high = sorted((low, high))
    left, right = (float(axis.css_position(end)[:-1]) for end in (low, high))
    kind += " under" * (low < axis.low - 1e-9) + " over" * (high > axis.high + 1e-9)
    return fill('<i class="{}" style="left:{:.2f}%;width:{:.2f}%"></i>', kind, left, right - left)


def point_mark(kind: str, axis: Axis, value: float | None) -> Markup:
    """HTML of a point at `value`; empty if it is unknown. `kind`, its CSS class, sets its shape: s
    hollow, p solid, q diamond (for people), o tick (for other judges and prompts)."""
    if value is None or not is_known(value):
        return EMPTY
    return fill('<i class="{}" style="left:{}"></i>', kind, axis.css_position(value))


def interval_marks(kind: str, axis: Axis, estimate: Estimate) -> tuple[Markup, Markup]:
    """HTML of an estimate: a thin line for its interval, and a point of the kind `kind`."""
    bar = bar_mark("v", axis, estimate.low, estimate.high)
    return bar, point_mark(kind, axis, estimate.value)


def dumbbell_track(axis: Axis, one: Estimate, both: Estimate) -> Markup:
    """HTML of two estimates on one axis, usually from one order (`one`, a hollow mark) and from
    both orders (`both`, a solid mark with its interval as a thin line)."""
    marks = [
        bar_mark("v", axis, both.low, both.high),
        bar_mark("l", axis, one.value, both.value),
        point_mark("s", axis, one.value),
        point_mark("p", axis, both.value),
    ]
    return track_html(axis, *marks)


def people_track(axis: Axis, people: Estimate) -> Markup:
    """HTML of the estimate from people: a hollow diamond with its interval."""
    return track_html(axis, *interval_marks("q", axis, people))


def difference_track(axis: Axis, raw: Estimate, adjusted: Estimate) -> Markup:
    """HTML of the plot of a difference: its value, the unadjusted interval (`raw`, thick), and the
    interval adjusted for all differences that are tested together (`adjusted`, thin). A dashed line
    marks no difference."""
    marks = [
        bar_mark("thin", axis, adjusted.low, adjusted.high),
        bar_mark("thick", axis, raw.low, raw.high),
        point_mark("p", axis, raw.value),
    ]
    return track_html(axis, *marks, zero=0)
