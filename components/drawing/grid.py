"""Tables of numbers: every value with interval, hover card and the judgements behind it.

On a phone a row folds: its first cell becomes a title, the others lines of "head, value".
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from components.drawing.panels import Axis, axis_head, forest_row, wrap
from components.format import NONE, attributes, count, interval, known, number, safe
from studies.records import Estimate

CLICK: Final = "Click to read them"


@dataclass(frozen=True, slots=True)
class Head:
    """A column: `numeric` stands at the right; an axis makes it the place of a forest."""

    text: str
    numeric: bool = True
    axis: Axis | None = None
    tip: str = ""
    html: str = ""
    """HTML of ours instead of the text, over a column as wide as there is room."""

    @property
    def wide(self) -> bool:
        return self.axis is not None or bool(self.html)


@dataclass(frozen=True, slots=True)
class Style:
    """How an estimate is written: 0.631 as 63.1 with its interval, "%" in its hover card."""

    decimals: int = 1
    times: float = 1
    unit: str = ""
    signed: bool = False

    def text(self, value: float | None) -> str:
        if value is None or not known(value):
            return NONE
        return number(self.times * value, self.decimals, signed=self.signed)

    def bounds(self, estimate: Estimate) -> str:
        return interval(estimate, self.decimals, scale=self.times)


PERCENT: Final = Style(1, 100, "\u202f%")
ROUND_PERCENT: Final = Style(0, 100, "\u202f%")
SCORE: Final = Style(2)
POINTS: Final = Style(1, signed=True)
ELO: Final = Style(0)


def table(heads: Sequence[Head], rows: Sequence[Sequence[str]], *, label: str = "") -> str:
    """Rows of HTML of ours under their heads; the first cell of a row names it."""
    tops = "".join(_head(head) for head in heads)
    body = "".join(_row(heads, row) for row in rows)
    made = attributes({"class": "eh-tbl dense eh-grid", "aria-label": label or None})
    return wrap(
        f'<div class="eh-grid-box"><table{made}><thead><tr>{tops}</tr></thead>'
        f"<tbody>{body}</tbody></table></div>"
    )


def _head(head: Head) -> str:
    inside = axis_head(head.axis) if head.axis else head.html or safe(head.text)
    kind = "wide" if head.wide else "num" if head.numeric else None
    made = attributes({"class": kind, "scope": "col", "data-tip": head.tip or None})
    return f"<th{made}>{inside}</th>"


def _row(heads: Sequence[Head], row: Sequence[str]) -> str:
    cells = []
    for place, (head, cell) in enumerate(zip(heads, row, strict=True)):
        kind = "plot" if head.wide else "num" if head.numeric else None
        if place == 0:
            cells.append(f'<th scope="row">{cell}</th>')
        else:
            made = attributes({"class": kind, "data-head": head.text or None})
            cells.append(f"<td{made}>{cell}</td>")
    return f"<tr>{''.join(cells)}</tr>"


def name(text: str, select: Mapping[str, Any] | None = None, note: str = "") -> str:
    """The first cell: who it is, and a word about it."""
    said = f'<small class="eh-mute">{safe(note)}</small>' if note else ""
    if select is None:
        return f"<span>{safe(text)}</span>{said}"
    made = attributes({"type": "button", "class": "eh-link", "data-select": json.dumps(select)})
    return f"<button{made}>{safe(text)}</button>{said}"


def value(
    estimate: Estimate | None,
    style: Style,
    *,
    who: str = "",
    select: Mapping[str, Any] | None = None,
    n: bool = False,
    note: str = "",
) -> str:
    """A number with its interval; what is not known is a dash that says why."""
    if estimate is None or not known(estimate.value):
        why = estimate.note if estimate and estimate.note else "not asked"
        lines = [f"{NONE} {why}", who] if who else [f"{NONE} {why}"]
        return f'<span class="eh-mute"{attributes({"data-tip": chr(10).join(lines)})}>{NONE}</span>'
    bounds = style.bounds(estimate)
    ci = f' <span class="eh-ci">{bounds}</span>' if bounds else ""
    sized = f' <span class="eh-ci">n {count(estimate.n)}</span>' if n else ""
    inside = f"<b>{style.text(estimate.value)}</b>{ci}{sized}"
    return opened(inside, card(estimate, style, who, note=note, opens=select is not None), select)


def opened(inside: str, tip: str, select: Mapping[str, Any] | None) -> str:
    """HTML of ours with a hover card; with a selection it is a button that opens judgements."""
    if select is None:
        return f"<span{attributes({'data-tip': tip or None})}>{inside}</span>"
    made = attributes(
        {
            "type": "button", "class": "eh-val", "data-select": json.dumps(select),
            "data-tip": tip or None, "aria-label": tip.replace("\n", ". ") or None,
        }
    )  # fmt: skip
    return f"<button{made}>{inside}</button>"


def card(
    estimate: Estimate, style: Style, who: str = "", *, note: str = "", opens: bool = True
) -> str:
    """Value and interval; who; items and n; what to know about it; what a click does."""
    first = f"{style.text(estimate.value)}{style.unit} {style.bounds(estimate)}".strip()
    where = f"n {count(estimate.n)}" if estimate.n else ""
    if estimate.items:
        where = ", ".join(part for part in (count(estimate.items, "item"), where) if part)
    lines = [first, who, where, note or estimate.note, CLICK if opens else ""]
    return "\n".join(line for line in lines if line)


def counted(n: int, tip: str = "", select: Mapping[str, Any] | None = None) -> str:
    """A plain count; nothing is grey."""
    if not n:
        return '<span class="eh-mute">0</span>'
    return opened(count(n), tip, select) if tip or select is not None else count(n)


def forest_cell(
    estimate: Estimate,
    axis: Axis,
    style: Style,
    who: str,
    select: Mapping[str, Any] | None = None,
    *,
    bounds: tuple[float, float] | None = None,
) -> str:
    """Dot and whisker as a button; `bounds` are drawn behind it: what is possible at all."""
    drawn = forest_row(estimate, axis)
    if bounds is not None:
        left, right = axis.place(bounds[0]), axis.place(bounds[1])
        width = float(right[:-1]) - float(left[:-1])
        span = f'<i class="m" style="left:{left};width:{width:.2f}%"></i>'
        drawn = drawn.replace(">", f">{span}", 1)
    return opened(drawn, card(estimate, style, who, opens=select is not None), select)


def spread(estimates: Sequence[Estimate], least: float, make: Callable[[float], str]) -> Axis:
    """An axis over all values and intervals, in round steps of at least `least`."""
    ends = [
        float(end)
        for one in estimates
        for end in (one.low, one.high, one.value)
        if end is not None and known(end)
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
