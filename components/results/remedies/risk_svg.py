"""Risk-coverage curve as SVG: share right among the decided comparisons."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Final

from components.charts.svg_pieces import (
    CHARACTER_WIDTH,
    LEFT,
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
from components.results.remedies.computed import RemedyView
from metrics.remedies.risk_coverage import CoveragePoint

CLOSE: Final = 20.0
"""Distance of marks, in pixels, below which their texts would cover each other."""
MIN_DECIDED: Final = 0.05
"""The curve ends where a smaller share is decided: too few comparisons for an interval."""


def risk_chart(view: RemedyView) -> Markup:
    """SVG chart of the share right among decided comparisons against the share decided, wide and
    narrow."""
    points = [one for one in view.curve[0] if (one.decided.value or 0) >= MIN_DECIDED]
    return wide_and_narrow(
        _risk(view, points, Canvas(400, 290)),
        _risk(view, points, Canvas(340, 280, narrow=True)),
        "Share of decided comparisons that are right, against the share of comparisons decided",
    )


def _risk(view: RemedyView, points: Sequence[CoveragePoint], canvas: Canvas) -> Markup:
    alone = [line for line in view.table if line.rule.id in ("single", "pool", "agree")]
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
    parts += _end_values(points, x, y, [place for place, _ in marks])
    parts += [_diamond(place) for place, _ in marks]
    parts += _diamond_names(marks, canvas)
    return svg(canvas, parts)


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
    points: Sequence[CoveragePoint], x: Scale, y: Scale, marks: Sequence[Point]
) -> list[Markup]:
    """SVG of the values at both ends of the curve; none where a rule's mark is close."""
    at = sorted((x(p.decided.value or 0), p.right_when_decided.value or 0) for p in points)
    found = []
    for (px, value), below in ((at[0], -10), (at[-1], 20)) if len(at) > 1 else ():
        if not any(_are_close((px, y(value)), mark) for mark in marks):
            found.append(svg_text(px, y(value) + below, number(100 * value, 1), "b"))
    return found


def _are_close(one: Point, other: Point) -> bool:
    return math.dist(one, other) < CLOSE


def _corners(points: Sequence[tuple[float, float]]) -> str:
    return " ".join(f"{x:.1f},{y:.1f}" for x, y in points)


SHORT_NAMES: Final = {"single": "One call", "pool": "Added up", "agree": "Must agree"}


def _diamond(place: Point) -> Markup:
    """SVG mark of a rule without a margin."""
    px, py = place
    return fill(
        '<rect class="q" x="{:.1f}" y="{:.1f}" width="12" height="12" '
        'transform="rotate(45 {:.1f} {:.1f})"/>',
        px - 6,
        py - 6,
        px,
        py,
    )


def _diamond_names(marks: Sequence[tuple[Point, str]], canvas: Canvas) -> list[Markup]:
    """SVG names of the marks: one text for marks close together, above them near the axis."""
    groups: list[tuple[Point, list[str]]] = []
    for place, id in marks:
        near = next((names for other, names in groups if _are_close(place, other)), None)
        if near is None:
            groups.append((place, [SHORT_NAMES[id]]))
        else:
            near.append(SHORT_NAMES[id])
    found = []
    for (px, py), names in groups:
        text = ", ".join(names)
        line = py + 19 if py + 24 < canvas.floor else py - 10
        fits = px - 13 - CHARACTER_WIDTH * len(text) > LEFT
        at, anchor = (px - 13, "end") if fits else (px + 13, "start")
        found.append(svg_text(at, line, text, "n", anchor))
    return found
