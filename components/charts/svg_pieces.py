"""Pieces of SVG drawings: canvas, scales, lines, texts, axes.

SVG in the page keeps the colours of the theme, and a drawn point or bar can be a button that opens
the comparisons counted in it. Every drawing has a wide form, and a narrow form for phones.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

from components.html.format import number
from components.html.markup import Markup, fill, join

LEFT, RIGHT, TOP, BOTTOM = 34.0, 16.0, 14.0, 42.0
CHARACTER_WIDTH: Final = 7.2
"""Assumed mean width of one character, in pixels, to estimate the width of a name."""
STEPS: Final = (0.05, 0.1, 0.2)
Scale = Callable[[float], float]
Point = tuple[float, float]


@dataclass(frozen=True)
class Canvas:
    width: float
    height: float
    narrow: bool = False

    @property
    def axis_y(self) -> float:
        """Y coordinate of the horizontal axis."""
        return self.height - BOTTOM

    def vertical_scale(self, low: float, high: float) -> Scale:
        return lambda value: TOP + (self.axis_y - TOP) * (high - value) / max(high - low, 1e-9)

    def horizontal_scale(self, low: float, high: float, pad: float = 0.0) -> Scale:
        room = self.width - LEFT - RIGHT - 2 * pad
        return lambda value: LEFT + pad + room * (value - low) / max(high - low, 1e-9)


def wrap_wide_and_narrow(wide: Markup, narrow: Markup, label: str) -> Markup:
    return fill(
        '<div class="eh-svg eh-only-wide" role="img" aria-label="{}">{}</div>'
        '<div class="eh-svg eh-only-narrow" role="img" aria-label="{}">{}</div>',
        label,
        wide,
        label,
        narrow,
    )


def svg(canvas: Canvas, parts: Sequence[Markup]) -> Markup:
    return fill('<svg viewBox="0 0 {} {}">{}</svg>', canvas.width, canvas.height, join(parts))


def svg_line(x1: float, y1: float, x2: float, y2: float, css: str = "g") -> Markup:
    return fill(
        '<line class="{}" x1="{:.1f}" y1="{:.1f}" x2="{:.1f}" y2="{:.1f}"/>', css, x1, y1, x2, y2
    )


def svg_text(x: float, y: float, text: str, css: str = "m", anchor: str = "middle") -> Markup:
    return fill(
        '<text class="{}" x="{:.1f}" y="{:.1f}" text-anchor="{}">{}</text>', css, x, y, anchor, text
    )


def svg_axes(
    canvas: Canvas, rows: Sequence[float], y: Scale, columns: Sequence[tuple[float, str]], name: str
) -> list[Markup]:
    """SVG of the two axes: horizontal gridlines at the values `rows`, shares from 0 to 1 that are
    labelled in per cent (`y` maps a share to a coordinate); and the horizontal axis, with its
    labels `columns` (x coordinate, text) and its `name`."""
    parts = []
    for tick in rows:
        parts.append(svg_line(LEFT, y(tick), canvas.width - RIGHT, y(tick)))
        parts.append(svg_text(LEFT - 8, y(tick) + 5, number(100 * tick), "m", "end"))
    parts.append(svg_line(LEFT, canvas.axis_y, canvas.width - RIGHT, canvas.axis_y, "x"))
    parts += [svg_text(x, canvas.axis_y + 20, label) for x, label in columns]
    return [*parts, svg_text((LEFT + canvas.width - RIGHT) / 2, canvas.height - 4, name)]


def round_share_ticks(low: float, high: float) -> list[float]:
    """Two to six ticks that cover the range `low` to `high` of shares: multiples of 0.05, 0.1 or
    0.2."""
    for step in STEPS:
        first, last = math.floor(low / step), math.ceil(high / step)
        if last - first <= 5:
            break
    if first == last:  # one share alone is no range
        first, last = (first - 1, last) if high >= 1 else (first, last + 1)
    return [round(k * step, 4) for k in range(first, last + 1)]


def first_known_value_or_half(value: float | None, other: float | None) -> float:
    return value if value is not None else other if other is not None else 0.5
