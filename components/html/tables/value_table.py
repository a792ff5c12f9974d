"""Tables of estimates with intervals and hover cards; a click on a value opens its judgements.

On a phone the first cell of a row becomes a title, and each other cell a line with column head and
value.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from components.html import format
from components.html.markup import Markup, attributes, escape, fill, link
from components.html.tables.forest_cells import Axis, axis_html, forest_html
from components.html.tables.table import Table, TableCell, row_name_cell
from metrics.catalogue.record import Style
from studies.domain import Estimate


@dataclass(frozen=True, slots=True)
class ColumnHead:
    """A column head; `numeric`: right-aligned column, `axis`: axis of a column of forest plots."""

    text: str
    numeric: bool = True
    axis: Axis | None = None
    tip: str = ""
    html: str = ""
    """Finished HTML shown instead of `text`; such a column takes the table's remaining width."""

    @property
    def is_wide(self) -> bool:
        return self.axis is not None or bool(self.html)


@dataclass(frozen=True, slots=True)
class NumberStyle:
    """Number format of an estimate: decimals, factor by which values are multiplied (`times`), unit
    in the hover card, and whether positive values get a plus sign."""

    decimals: int = 1
    times: float = 1
    unit: str = ""
    signed: bool = False

    def text(self, value: float | None) -> str:
        if value is None or not format.is_known(value):
            return format.DASH
        return format.number(self.times * value, self.decimals, signed=self.signed)

    def interval(self, estimate: Estimate) -> str:
        return format.interval(estimate, self.decimals, scale=self.times)


PERCENT: Final = NumberStyle(1, 100, "\u202f%")
ROUND_PERCENT: Final = NumberStyle(0, 100, "\u202f%")
SCORE: Final = NumberStyle(2)
POINTS: Final = NumberStyle(1, signed=True)
ELO: Final = NumberStyle(0)
STYLES: Final[dict[Style, NumberStyle]] = {
    "percent": PERCENT,
    "points": NumberStyle(1, 100, signed=True),
    "decimal": SCORE,
    "logit": NumberStyle(2, signed=True),
    "rating": ELO,
    "dollars": NumberStyle(2),
}
"""Style of a measure's record -> number format."""


Head = ColumnHead | Axis | tuple[str, str] | str
"""A column head: a ColumnHead; a text; a pair (text, hover card); or the axis of a column of plots.
A text alone heads the row names if it is the first head, else a column of numbers."""
MUTED_DASH: Final = Markup('<span class="eh-mute">–</span>')


def _column_head(head: Head, is_first: bool) -> ColumnHead:
    if isinstance(head, Axis):
        return ColumnHead("", axis=head)
    if isinstance(head, tuple):
        return ColumnHead(head[0], tip=head[1])
    return ColumnHead(head, numeric=not is_first) if isinstance(head, str) else head


def value_table(
    column_heads: Sequence[Head], rows: Sequence[Sequence[str]], *, label: str = ""
) -> Markup:
    """HTML table of finished cells; the first cell of each row is its name. `label`: accessible
    name of the table."""
    heads = [_column_head(head, not place) for place, head in enumerate(column_heads)]
    columns = [
        TableCell(
            axis_html(head.axis) if head.axis else head.html or head.text,
            "wide" if head.is_wide else "num" if head.numeric else "",
            head.tip,
        )
        for head in heads
    ]
    kinds = ["plot" if head.is_wide else "num" if head.numeric else "" for head in heads]
    lines = [
        [
            row_name_cell(first),
            *(
                TableCell(cell, kind, head=head.text)
                for head, kind, cell in zip(heads[1:], kinds[1:], cells, strict=True)
            ),
        ]
        for first, *cells in rows
    ]
    return Table(columns, lines, "eh-tbl dense eh-grid", label, "eh-grid-box").wrapped_html()


def name_cell(text: str, select: Mapping[str, Any] | None = None, note: str = "") -> Markup:
    """HTML of a row's first cell: its name and a note below; with `select`, a click on the name
    opens the judgements that match these filters."""
    below = fill('<small class="eh-mute">{}</small>', note) if note else ""
    if select is None:
        return fill("<span>{}</span>{}", text, below)
    return link(text, select) + below


def value_cell(
    estimate: Estimate | None,
    style: NumberStyle,
    *,
    who: str = "",
    select: Mapping[str, Any] | None = None,
    n: bool = False,
    note: str = "",
    key: str = "",
) -> Markup:
    """HTML of an estimate with its interval and, with `n`, its sample size; an unknown value is a
    dash with the reason in its hover card. `who` (the name of the row) and `note` are lines of the
    hover card. With `select`, a click opens the judgements that match these filters. `key` is the
    path of the number in the output of `python -m metrics --json`."""
    if estimate is None or not format.is_known(estimate.value):
        why = estimate.note if estimate and estimate.note else "not measured"
        tip = attributes({"data-tip": "\n".join(filter(None, (f"{format.DASH} {why}", who)))})
        return fill('<span class="eh-mute"{}>{}</span>', tip, format.DASH)
    bounds = style.interval(estimate)
    ci = fill(' <span class="eh-ci">{}</span>', bounds) if bounds else ""
    sized = fill(' <span class="eh-ci">n {}</span>', format.count(estimate.n)) if n else ""
    inside = fill("<b>{}</b>{}{}", style.text(estimate.value), ci, sized)
    card = estimate_hover_text(estimate, style, who, note=note, opens=select is not None, key=key)
    return hover_html(inside, card, select, key)


def plotted_cells(
    estimate: Estimate,
    axis: Axis,
    style: NumberStyle,
    who: str,
    select: Mapping[str, Any] | None = None,
    *,
    key: str = "",
    bounds: tuple[float, float] | None = None,
) -> tuple[Markup, Markup]:
    """HTML of an estimate in two cells: as a number with its interval (see `value_cell`), and as a
    plot (see `forest_cell`). The parameters are those of these two functions."""
    return (
        value_cell(estimate, style, who=who, select=select, key=key),
        forest_cell(estimate, axis, style, who, select, bounds=bounds),
    )


def hover_html(inside: str, tip: str, select: Mapping[str, Any] | None, key: str = "") -> Markup:
    """HTML of the content `inside` with the hover card `tip`; with `select`, as a button that opens
    the judgements that match these filters. `key`: path of the number in the JSON output."""
    shown = {"data-tip": tip or None, "data-key": key or None}
    if select is None:
        return fill("<span{}>{}</span>", attributes(shown), inside)
    opens = {"type": "button", "class": "eh-val", "data-select": json.dumps(select)}
    made = attributes({**opens, **shown, "aria-label": tip.replace("\n", ". ") or None})
    return fill("<button{}>{}</button>", made, inside)


def estimate_hover_text(
    estimate: Estimate,
    style: NumberStyle,
    who: str = "",
    *,
    note: str = "",
    opens: bool = True,
    key: str = "",
) -> str:
    """Text of a hover card, one line for each part that is not empty: value with interval; `who`,
    the name of the row; sample size; `note`, else the estimate's own; the path `key` of the number
    in the JSON output; and, with `opens`, what a click does."""
    first = f"{style.text(estimate.value)}{style.unit} {style.interval(estimate)}".strip()
    first += format.on_scale(estimate)
    path, click = f"JSON: {key}" if key else "", format.CLICK_HINT if opens else ""
    lines = (first, who, format.sample_size_text(estimate), note or estimate.note, path, click)
    return "\n".join(filter(None, lines))


def count_cell(n: int, tip: str = "", select: Mapping[str, Any] | None = None) -> Markup:
    """HTML of a count, with the hover card `tip`; with `select`, a click opens the judgements that
    match these filters. Zero is grey, without hover card and click."""
    if not n:
        return Markup('<span class="eh-mute">0</span>')
    return (
        hover_html(format.count(n), tip, select)
        if tip or select is not None
        else escape(format.count(n))
    )


def forest_cell(
    estimate: Estimate,
    axis: Axis,
    style: NumberStyle,
    who: str,
    select: Mapping[str, Any] | None = None,
    *,
    bounds: tuple[float, float] | None = None,
) -> Markup:
    """HTML of an estimate and its interval as a plot on `axis`, with a hover card (`who`: the name
    of the row). With `select`, a click opens the judgements that match these filters. `bounds`: the
    range of possible values, drawn behind the interval."""
    drawn = forest_html(estimate, axis)
    if bounds is not None:
        left, width = axis.css_position(bounds[0]), axis.css_width(*bounds)
        span = fill('<i class="m" style="left:{};width:{}"></i>', left, width)
        drawn = drawn.replace(">", Markup(">") + span, 1)
    card = estimate_hover_text(estimate, style, who, opens=select is not None)
    return hover_html(drawn, card, select)
