"""SVG of the risk-coverage curve: share right among the decided comparisons, by share decided."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise
from typing import Final

from components.charts.svg_pieces import (
    CHARACTER_WIDTH,
    LEFT,
    RIGHT,
    Canvas,
    Point,
    Scale,
    axes,
    known_or,
    round_shares,
    svg,
    svg_text,
    wide_and_narrow,
)
from components.html.format import number
from components.html.markup import Markup, fill
from components.results.remedies.computed import RemedyResults
from components.results.remedies.mark_layout import TEXT_HEIGHT, Box
from metrics.remedies.risk_coverage import CoveragePoint

CLOSE: Final = 20.0
"""Two marks closer than this, in pixels, share one text with both names."""
LINE_PARTS: Final = 6
"""Number of segments into which each line of the curve is cut, to keep texts off the line."""
MIN_DECIDED: Final = 0.05
"""Smallest share of decided comparisons that the curve shows; with fewer, an interval cannot be
computed reliably."""


def risk_chart(results: RemedyResults) -> Markup:
    """SVG chart, wide and narrow: share right among decided comparisons by share decided."""
    points = [one for one in results.curve[0] if (one.decided.value or 0) >= MIN_DECIDED]
    return wide_and_narrow(
        _risk(results, points, Canvas(400, 290)),
        _risk(results, points, Canvas(340, 280, narrow=True)),
        "% right among the decided comparisons, by % of comparisons decided",
    )


def _risk(results: RemedyResults, points: Sequence[CoveragePoint], canvas: Canvas) -> Markup:
    alone = [line for line in results.table if line.rule.id in ("single", "pool", "agree")]
    values = [(p.right_when_decided.low, p.right_when_decided.value) for p in points]
    lows = [known_or(low, value) for low, value in values]
    highs = [known_or(p.right_when_decided.high, p.right_when_decided.value) for p in points]
    own = [line.right_when_decided.value or 0.5 for line in alone]
    rows = round_shares(min([*lows, *own]), max([*highs, *own]))
    x, y = canvas.horizontal(0, 1), canvas.vertical(rows[0], rows[-1])
    columns = [(x(share), number(100 * share)) for share in (0, 0.25, 0.5, 0.75, 1)]
    parts = axes(canvas, rows, y, columns, "% of comparisons decided")
    marks = [
        ((x(line.decided.value or 0), y(line.right_when_decided.value or 0)), line.rule.id)
        for line in alone
    ]
    parts += _curve(points, x, y)
    parts += [_diamond(place) for place, _ in marks]
    taken = _drawn_boxes(points, x, y, [place for place, _ in marks])
    parts += _diamond_names(marks, taken, canvas)
    parts += _end_values(points, x, y, taken, canvas)
    return svg(canvas, parts)


def _drawn_boxes(
    points: Sequence[CoveragePoint], x: Scale, y: Scale, marks: Sequence[Point]
) -> list[Box]:
    """Boxes of the marks, the curve's points and its lines, which texts must not cover."""
    at = [(x(p.decided.value or 0), y(p.right_when_decided.value or 0)) for p in points]
    between = [
        (px + (qx - px) * step / LINE_PARTS, py + (qy - py) * step / LINE_PARTS)
        for (px, py), (qx, qy) in pairwise(at)
        for step in range(1, LINE_PARTS)
    ]
    return [
        *(_square(place, 9) for place in marks),
        *(_square(place, 5) for place in at),
        *(_square(place, 2) for place in between),
    ]


def _square(place: Point, half: float) -> Box:
    px, py = place
    return Box(px - half, py - half, px + half, py + half)


def _free_text_place(
    text: str, mark: Point, taken: list[Box], canvas: Canvas
) -> tuple[float, float] | None:
    """Find a place near a mark where a text covers no box in `taken`, and add the text's box to
    `taken`. Return (x of its left end, y of its base line); None if there is no room."""
    px, py = mark
    width = CHARACTER_WIDTH * len(text)
    for rise in (18, -12, 34, -28, 50, -44, 66, -60):
        for left in (px - width / 2, px + 8, px - width - 8, px + 24, px - width - 24):
            start = min(max(left, LEFT + 2), canvas.width - RIGHT - width)
            line = py + rise
            box = Box(start, line - TEXT_HEIGHT + 3, start + width, line + 3)
            inside = box.top >= 0 and box.bottom <= canvas.floor
            if inside and not any(box.overlaps(other) for other in taken):
                taken.append(box)
                return start, line
    return None


def _curve(points: Sequence[CoveragePoint], x: Scale, y: Scale) -> list[Markup]:
    if not points:
        return []
    at = [(x(p.decided.value or 0), y(p.right_when_decided.value or 0)) for p in points]
    rights = [p.right_when_decided for p in points]
    across = [px for px, _ in at]
    highs = [y(known_or(one.high, one.value)) for one in rights]
    lows = [y(known_or(one.low, one.value)) for one in rights]
    upper, lower = (list(zip(across, ends, strict=True)) for ends in (highs, lows))
    parts = [
        fill('<polygon class="band" points="{}"/>', _corners([*upper, *reversed(lower)])),
        fill('<polyline class="f" points="{}"/>', _corners(at)),
    ]
    for (px, py), point in zip(at, points, strict=True):
        tip = f"margin {point.margin:g}: {number(100 * (point.decided.value or 0))} % decided"
        parts.append(
            fill('<circle class="d" cx="{:.1f}" cy="{:.1f}" r="4" data-tip="{}"/>', px, py, tip)
        )
    return parts


def _end_values(
    points: Sequence[CoveragePoint], x: Scale, y: Scale, taken: list[Box], canvas: Canvas
) -> list[Markup]:
    """SVG of the values at both ends of the curve; a value without room is left out."""
    at = sorted((x(p.decided.value or 0), p.right_when_decided.value or 0) for p in points)
    found = []
    for px, value in (at[0], at[-1]) if len(at) > 1 else ():
        text = number(100 * value, 1)
        place = _free_text_place(text, (px, y(value)), taken, canvas)
        if place is not None:
            found.append(svg_text(*place, text, "b", "start"))
    return found


def _are_close(one: Point, other: Point) -> bool:
    return math.dist(one, other) < CLOSE


def _corners(points: Sequence[tuple[float, float]]) -> str:
    return " ".join(f"{x:.1f},{y:.1f}" for x, y in points)


SHORT_NAMES: Final = {"single": "One call", "pool": "Added up", "agree": "Must agree"}


def _diamond(place: Point) -> Markup:
    """SVG diamond of a fixed rule: one call, orders added up, or orders must agree."""
    px, py = place
    return fill(
        '<rect class="q" x="{:.1f}" y="{:.1f}" width="12" height="12" '
        'transform="rotate(45 {:.1f} {:.1f})"/>',
        px - 6,
        py - 6,
        px,
        py,
    )


def _diamond_names(
    marks: Sequence[tuple[Point, str]], taken: list[Box], canvas: Canvas
) -> list[Markup]:
    """SVG names of the diamonds, one text for diamonds close together; a name covers neither marks,
    curve nor another name."""
    groups: list[tuple[Point, list[str]]] = []
    for place, id in marks:
        near = next((names for other, names in groups if _are_close(place, other)), None)
        if near is None:
            groups.append((place, [SHORT_NAMES[id]]))
        else:
            near.append(SHORT_NAMES[id])
    found = []
    for mark, names in groups:
        text = ", ".join(names)
        free = _free_text_place(text, mark, taken, canvas)
        if free is not None:
            found.append(svg_text(*free, text, "n", "start"))
    return found
