"""Small drawings of what an example study shows, as SVG in the colours of the theme."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from components.html.markup import Markup, fill, join

WIDTH, HEIGHT = 220, 84
_HEAT: Final = ((1, 2, 0, 3, 1), (2, 1, 3, 5, 2), (4, 6, 2, 7, 5), (7, 8, 6, 8, 4))
"""Colour strength of each cell of the drawn heatmap, from 0 to 8."""
_BARS: Final = ((46, "first"), (24, "second"), (14, "later"), (11, "later"))
_LEVELS: Final = (
    (18, "first"),
    (34, "first soft"),
    (22, "none"),
    (30, "second soft"),
    (24, "second"),
)


def _heat() -> Markup:
    return join(
        fill(
            '<rect class="heat" x="{}" y="{}" width="34" height="16" rx="2" opacity="{:.2f}"/>',
            19 + 37 * column,
            5 + 19 * row,
            0.08 + depth / 9,
        )
        for row, line in enumerate(_HEAT)
        for column, depth in enumerate(line)
    )


def _bars() -> Markup:
    drawn = join(
        fill(
            '<rect class="{}" x="{}" y="{}" width="28" height="{}" rx="2"/>',
            kind,
            44 + 36 * place,
            72 - tall,
            tall,
        )
        for place, (tall, kind) in enumerate(_BARS)
    )
    return drawn + Markup('<path class="even" d="M36 47H186"/><path class="axis" d="M36 72H186"/>')


def _swap() -> Markup:
    """SVG of two rows of verdicts, one for each order, as on the Home tab: the same colour twice in
    a column means that the same position was picked in both orders."""
    return join(
        fill(
            '<rect class="{}" x="{}" y="{}" width="14" height="22" rx="2"/>',
            "first" if (place, row) in ((3, 0), (3, 1), (6, 1), (9, 0)) else "second",
            14 + 19 * place,
            17 + 28 * row,
        )
        for row in range(2)
        for place in range(10)
    )


def _elo() -> Markup:
    return Markup(
        '<path class="line" d="M20 44C50 40 70 30 110 24S170 18 200 16"/>'
        '<path class="line thin" d="M20 44C60 46 90 42 120 44S170 40 200 41"/>'
        '<path class="line thin" d="M20 44C50 50 90 60 120 62S170 70 200 70"/>'
    )


def _baseline() -> Markup:
    """SVG of points with intervals beside a vertical line that stands for the baseline."""
    rows = ((62, 20, 16), (104, 24, 36), (140, 18, 56), (168, 14, 74))
    drawn = join(
        fill(
            '<path class="line" d="M{} {}H{}"/><circle class="dot" cx="{}" cy="{}" r="5"/>',
            x - half,
            y - 4,
            x + half,
            x,
            y - 4,
        )
        for x, half, y in rows
    )
    return Markup('<path class="even" d="M110 4V80"/>') + drawn


def _levels() -> Markup:
    parts, x = [], 46
    for wide, kind in _LEVELS:
        parts.append(
            fill('<rect class="{}" x="{}" y="28" width="{}" height="28"/>', kind, x, wide - 2)
        )
        x += wide
    return join(parts)


_PICTURES: Final = {
    "heat": _heat,
    "bars": _bars,
    "swap": _swap,
    "elo": _elo,
    "baseline": _baseline,
    "levels": _levels,
}
PICTURE_OF: Final[Mapping[str, str]] = {
    "grade-score-probe": "bars",
    "mt-bench-probe": "swap",
    "visit-bench-probe": "elo",
    "creation-mmbench-probe": "baseline",
    "label-probability-probe": "heat",
    "arena-hard-probe": "levels",
}
"""Name of an example study -> name of its drawing."""


def picture(example: str) -> Markup:
    """SVG drawing of an example, hidden from screen readers because the card's text repeats it."""
    return fill(
        '<svg class="eh-thumb" viewBox="0 0 {} {}" aria-hidden="true">{}</svg>',
        WIDTH,
        HEIGHT,
        _PICTURES[PICTURE_OF[example]](),
    )
