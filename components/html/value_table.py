"""Tables of estimates: value, interval, hover card, and a click that opens the judgements.

On a phone the first cell of a row becomes a title and each other cell a line "head, value".
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from components.html.format import (
    CLICK_HINT,
    DASH,
    attributes,
    count,
    escape,
    interval,
    is_known,
    number,
)
from components.html.panel import Axis, axis_html, forest_html, wrap
from studies.domain import Estimate


@dataclass(frozen=True, slots=True)
class ColumnHead:
    """A column; a `numeric` one is right-aligned, one with an `axis` holds a forest plot."""

    text: str
    numeric: bool = True
    axis: Axis | None = None
    tip: str = ""
    html: str = ""
    """Finished HTML in place of the text; the column takes the remaining width."""

    @property
    def is_wide(self) -> bool:
        return self.axis is not None or bool(self.html)


@dataclass(frozen=True, slots=True)
class NumberStyle:
    """The format of an estimate: decimals, factor, sign, and the unit shown in the hover card."""

    decimals: int = 1
    times: float = 1
    unit: str = ""
    signed: bool = False

    def text(self, value: float | None) -> str:
        if value is None or not is_known(value):
            return DASH
        return number(self.times * value, self.decimals, signed=self.signed)

    def bounds(self, estimate: Estimate) -> str:
        return interval(estimate, self.decimals, scale=self.times)


PERCENT: Final = NumberStyle(1, 100, "\u202f%")
ROUND_PERCENT: Final = NumberStyle(0, 100, "\u202f%")
SCORE: Final = NumberStyle(2)
POINTS: Final = NumberStyle(1, signed=True)
ELO: Final = NumberStyle(0)


def value_table(
    heads: Sequence[ColumnHead], rows: Sequence[Sequence[str]], *, label: str = ""
) -> str:
    """A table of finished HTML cells; the first cell of a row is its name."""
    tops = "".join(_head_html(head) for head in heads)
    body = "".join(_row_html(heads, row) for row in rows)
    made = attributes({"class": "eh-tbl dense eh-grid", "aria-label": label or None})
    return wrap(
        f'<div class="eh-grid-box"><table{made}><thead><tr>{tops}</tr></thead>'
        f"<tbody>{body}</tbody></table></div>"
    )


def _head_html(head: ColumnHead) -> str:
    inside = axis_html(head.axis) if head.axis else head.html or escape(head.text)
    kind = "wide" if head.is_wide else "num" if head.numeric else None
    made = attributes({"class": kind, "scope": "col", "data-tip": head.tip or None})
    return f"<th{made}>{inside}</th>"


def _row_html(heads: Sequence[ColumnHead], row: Sequence[str]) -> str:
    cells = []
    for place, (head, cell) in enumerate(zip(heads, row, strict=True)):
        kind = "plot" if head.is_wide else "num" if head.numeric else None
        if place == 0:
            cells.append(f'<th scope="row">{cell}</th>')
        else:
            made = attributes({"class": kind, "data-head": head.text or None})
            cells.append(f"<td{made}>{cell}</td>")
    return f"<tr>{''.join(cells)}</tr>"


def name_cell(text: str, select: Mapping[str, Any] | None = None, note: str = "") -> str:
    """The first cell of a row: its name and a note."""
    below = f'<small class="eh-mute">{escape(note)}</small>' if note else ""
    if select is None:
        return f"<span>{escape(text)}</span>{below}"
    made = attributes({"type": "button", "class": "eh-link", "data-select": json.dumps(select)})
    return f"<button{made}>{escape(text)}</button>{below}"


def value_cell(
    estimate: Estimate | None,
    style: NumberStyle,
    *,
    who: str = "",
    select: Mapping[str, Any] | None = None,
    n: bool = False,
    note: str = "",
    key: str = "",
) -> str:
    """An estimate with its interval; a dash with the reason in its hover card if unknown.

    `key` is the path of the number in the output of `python -m metrics --json`.
    """
    if estimate is None or not is_known(estimate.value):
        why = estimate.note if estimate and estimate.note else "not measured"
        lines = [f"{DASH} {why}", who] if who else [f"{DASH} {why}"]
        return f'<span class="eh-mute"{attributes({"data-tip": chr(10).join(lines)})}>{DASH}</span>'
    bounds = style.bounds(estimate)
    ci = f' <span class="eh-ci">{bounds}</span>' if bounds else ""
    sized = f' <span class="eh-ci">n {count(estimate.n)}</span>' if n else ""
    inside = f"<b>{style.text(estimate.value)}</b>{ci}{sized}"
    card = estimate_card(estimate, style, who, note=note, opens=select is not None, key=key)
    return hover_html(inside, card, select, key)


def hover_html(inside: str, tip: str, select: Mapping[str, Any] | None, key: str = "") -> str:
    """Finished HTML with a hover card; with `select` a button that opens judgements."""
    if select is None:
        made = attributes({"data-tip": tip or None, "data-key": key or None})
        return f"<span{made}>{inside}</span>"
    made = attributes(
        {
            "type": "button",
            "class": "eh-val",
            "data-select": json.dumps(select),
            "data-tip": tip or None,
            "data-key": key or None,
            "aria-label": tip.replace("\n", ". ") or None,
        }
    )
    return f"<button{made}>{inside}</button>"


def estimate_card(
    estimate: Estimate,
    style: NumberStyle,
    who: str = "",
    *,
    note: str = "",
    opens: bool = True,
    key: str = "",
) -> str:
    """The hover card: value and interval; name; items and n; note; JSON key; effect of a click."""
    first = f"{style.text(estimate.value)}{style.unit} {style.bounds(estimate)}".strip()
    where = f"n {count(estimate.n)}" if estimate.n else ""
    if estimate.items:
        where = ", ".join(part for part in (count(estimate.items, "item"), where) if part)
    path = f"JSON: {key}" if key else ""
    lines = [first, who, where, note or estimate.note, path, CLICK_HINT if opens else ""]
    return "\n".join(line for line in lines if line)


def count_cell(n: int, tip: str = "", select: Mapping[str, Any] | None = None) -> str:
    """A count; zero is grey."""
    if not n:
        return '<span class="eh-mute">0</span>'
    return hover_html(count(n), tip, select) if tip or select is not None else count(n)


def forest_cell(
    estimate: Estimate,
    axis: Axis,
    style: NumberStyle,
    who: str,
    select: Mapping[str, Any] | None = None,
    *,
    bounds: tuple[float, float] | None = None,
) -> str:
    """An estimate and its interval as a button; `bounds`, the possible range, is drawn behind."""
    drawn = forest_html(estimate, axis)
    if bounds is not None:
        left, right = axis.place(bounds[0]), axis.place(bounds[1])
        width = float(right[:-1]) - float(left[:-1])
        span = f'<i class="m" style="left:{left};width:{width:.2f}%"></i>'
        drawn = drawn.replace(">", f">{span}", 1)
    return hover_html(drawn, estimate_card(estimate, style, who, opens=select is not None), select)


def fit_value_axis(
    estimates: Sequence[Estimate], least: float, make: Callable[[float], str]
) -> Axis:
    """An axis over all values and intervals, in round steps of `least` or more."""
    ends = [
        float(end)
        for one in estimates
        for end in (one.low, one.high, one.value)
        if end is not None and is_known(end)
    ]
    low, high = (min(ends), max(ends)) if ends else (0.0, 4 * least)
    step = least
    for factor in (2, 2.5, 2) * 6:
        if (high - low) / step <= 5:
            break
        step *= factor
    first, last = int(low // step), int(-(-high // step))
    last = max(last, first + 1)
    ticks = [step * k for k in range(first, last + 1)]
    return Axis(ticks[0], ticks[-1], ticks, {tick: make(tick) for tick in ticks})
