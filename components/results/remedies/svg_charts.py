"""Charts of the Remedies view as SVG: cost against agreement, and the risk-coverage curve.

Each chart is drawn twice, wide and narrow (for phones: logarithmic axis, no names). Inline SVG uses
the colours of the theme, and each mark is a button that opens the comparisons behind it.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

from components.html.format import number
from components.html.markup import EMPTY, Markup, fill, join
from components.results.remedies.computed import RemedyView
from metrics.remedies.changed_comparisons import rule_key
from metrics.remedies.risk_coverage import CoveragePoint
from metrics.remedies.rule_names import rule_words
from metrics.remedies.rule_table import RuleEstimate

LEFT, RIGHT, TOP, BOTTOM = 34.0, 16.0, 14.0, 42.0
RADIUS: Final = 11.0
STEPS: Final = (0.05, 0.1, 0.2)
MIN_DECIDED: Final = 0.05
"""The curve ends where a smaller share is decided: too few comparisons for an interval."""
CROWDED: Final = 120.0
"""Distance between marks, in pixels, from which the name of one does not cover the other."""
Scale = Callable[[float], float]


@dataclass(frozen=True)
class _Canvas:
    width: float
    height: float
    narrow: bool = False

    @property
    def floor(self) -> float:
        return self.height - BOTTOM

    def vertical(self, low: float, high: float) -> Scale:
        return lambda value: TOP + (self.floor - TOP) * (high - value) / (high - low)

    def horizontal(self, low: float, high: float, pad: float = 0.0) -> Scale:
        room = self.width - LEFT - RIGHT - 2 * pad
        return lambda value: LEFT + pad + room * (value - low) / max(high - low, 1e-9)


def frontier_chart(view: RemedyView, by_dollars: bool) -> Markup:
    """SVG chart of each rule's agreement against its price, in a wide and a narrow drawing."""
    wide = _frontier(view, by_dollars, _Canvas(820, 290))
    narrow = _frontier(view, by_dollars, _Canvas(340, 300, narrow=True))
    return _both(wide, narrow, "Agreement of each rule by its price")


def risk_chart(view: RemedyView) -> Markup:
    """SVG chart of the share right among decided comparisons against the share decided, wide and
    narrow."""
    points = [one for one in view.curve[0] if (one.decided.value or 0) >= MIN_DECIDED]
    return _both(
        _risk(view, points, _Canvas(400, 290)),
        _risk(view, points, _Canvas(340, 280, narrow=True)),
        "Share right among the decided comparisons by the share decided",
    )


def _both(wide: Markup, narrow: Markup, label: str) -> Markup:
    return fill(
        '<div class="eh-svg eh-only-wide" role="img" aria-label="{}">{}</div>'
        '<div class="eh-svg eh-only-narrow" aria-hidden="true">{}</div>',
        label,
        wide,
        narrow,
    )


def _svg(canvas: _Canvas, parts: Sequence[Markup]) -> Markup:
    return fill('<svg viewBox="0 0 {} {}">{}</svg>', canvas.width, canvas.height, join(parts))


def _line(x1: float, y1: float, x2: float, y2: float, kind: str = "g") -> Markup:
    return fill(
        '<line class="{}" x1="{:.1f}" y1="{:.1f}" x2="{:.1f}" y2="{:.1f}"/>', kind, x1, y1, x2, y2
    )


def _text(x: float, y: float, text: str, kind: str = "m", anchor: str = "middle") -> Markup:
    return fill(
        '<text class="{}" x="{:.1f}" y="{:.1f}" text-anchor="{}">{}</text>',
        kind,
        x,
        y,
        anchor,
        text,
    )


def _frame(
    canvas: _Canvas,
    rows: Sequence[float],
    y: Scale,
    columns: Sequence[tuple[float, str]],
    name: str,
) -> list[Markup]:
    """SVG of gridlines with percentages, and of the axis with its labels and name."""
    parts = []
    for tick in rows:
        parts.append(_line(LEFT, y(tick), canvas.width - RIGHT, y(tick)))
        parts.append(_text(LEFT - 8, y(tick) + 5, number(100 * tick), "m", "end"))
    parts.append(_line(LEFT, canvas.floor, canvas.width - RIGHT, canvas.floor, "x"))
    parts += [_text(x, canvas.floor + 20, label) for x, label in columns]
    return [*parts, _text((LEFT + canvas.width - RIGHT) / 2, canvas.height - 4, name)]


def _ticks(low: float, high: float) -> list[float]:
    """At most six round values that enclose a range of shares."""
    for step in STEPS:
        first, last = math.floor(low / step), math.ceil(high / step)
        if last - first <= 5:
            break
    return [round(k * step, 4) for k in range(first, last + 1)]


# -- frontier --------------------------------------------------------------------------------------


def _frontier(view: RemedyView, by_dollars: bool, canvas: _Canvas) -> Markup:
    lines = [line for line in view.table if line.complete and not line.rule.votes]
    best = view.frontier(by_dollars)
    costs = [view.cost(line, by_dollars) for line in lines]
    rows = _ticks(*_bounds(lines))
    y = canvas.vertical(rows[0], rows[-1])
    x, columns = _cost_axis(canvas, costs, by_dollars)
    placed = _spread([x(cost) for cost in costs], [line in best for line in lines])
    name = "dollars per 1,000 comparisons" if by_dollars else "judge calls per comparison"
    parts = _frame(canvas, rows, y, columns, name)
    heights = [y(line.agreement.value or 0) for line in lines]
    at = {id(line): spot for line, *spot in zip(lines, placed, heights, strict=True)}
    corners = " ".join(f"{at[id(line)][0]:.1f},{at[id(line)][1]:.1f}" for line in best)
    parts.append(fill('<polyline class="f" points="{}"/>', corners))
    for line in lines:
        parts.append(_whisker(line, at[id(line)][0], y, line in best))
    for place, line in enumerate(view.table, start=1):
        if id(line) in at:
            parts.append(_mark(view, line, place, at[id(line)], line in best))
    if not canvas.narrow:
        others = [at[id(line)] for line in lines if line not in best]
        parts += _names(canvas, [(line, at[id(line)], y) for line in best], others)
    return _svg(canvas, parts)


def _bounds(lines: Sequence[RuleEstimate]) -> tuple[float, float]:
    lows = [_known(line.agreement.low, line.agreement.value) for line in lines]
    highs = [_known(line.agreement.high, line.agreement.value) for line in lines]
    return min(lows), max(highs)


def _known(value: float | None, other: float | None) -> float:
    return value if value is not None else other if other is not None else 0.5


def _cost_axis(
    canvas: _Canvas, costs: Sequence[float], by_dollars: bool
) -> tuple[Scale, list[tuple[float, str]]]:
    """A function that gives the position of a cost, and the labelled costs; logarithmic on
    phones."""
    known = sorted({round(cost, 2) for cost in costs if cost > 0} or {1.0})
    if canvas.narrow and known[0] > 0:
        log = canvas.horizontal(math.log(known[0]), math.log(known[-1]), pad=26)
        place: Scale = lambda cost: log(math.log(max(cost, known[0])))  # noqa: E731
    else:
        place = canvas.horizontal(0.0, known[-1] * 1.04, pad=6)
    labelled: list[tuple[float, str]] = []
    for cost in known:
        if not labelled or place(cost) - labelled[-1][0] > 34:
            text = number(cost, 2) if by_dollars else f"{cost:g}"
            labelled.append((place(cost), text))
    return place, labelled


def _spread(places: Sequence[float], kept: Sequence[bool]) -> list[float]:
    """Move marks of equal cost apart; marks on the frontier keep their place."""
    taken: list[float] = [x for x, stays in zip(places, kept, strict=True) if stays]
    found = []
    for x, stays in zip(places, kept, strict=True):
        if not stays:
            while any(abs(x - other) < 2 * RADIUS + 3 for other in taken):
                x += 4
            taken.append(x)
        found.append(x)
    return found


def _whisker(line: RuleEstimate, x: float, y: Scale, on: bool) -> Markup:
    got = line.agreement
    if got.low is None or got.high is None:
        return EMPTY
    return _line(x, y(got.low), x, y(got.high), "w on" if on else "w")


def _mark(
    view: RemedyView, line: RuleEstimate, place: int, at: Sequence[float], on: bool
) -> Markup:
    x, y = at
    select = {"rule": rule_key(line.rule), "judge": view.judge, "prompt": view.prompt}
    tip = f"{number(100 * (line.agreement.value or 0), 1)} {rule_words(line.rule).title}"
    return fill(
        '<g class="k{}" tabindex="0" data-rule="{}" data-tip="{}"{}>'
        '<circle cx="{:.1f}" cy="{:.1f}" r="{}"/><text x="{:.1f}" y="{:.1f}">{}</text></g>',
        fill(" on") if on else EMPTY,
        place,
        tip,
        fill(' data-select="{}"', json.dumps(select)) if line.changed else EMPTY,
        x,
        y,
        RADIUS,
        x,
        y + 4.5,
        place,
    )


def _names(
    canvas: _Canvas,
    marks: Sequence[tuple[RuleEstimate, Sequence[float], Scale]],
    others: Sequence[Sequence[float]],
) -> list[Markup]:
    """SVG texts with value and name of each rule on the frontier, alternately above and below its
    interval."""
    parts = []
    for place, (line, (x, height), y) in enumerate(marks):
        high, low = (
            _known(v, line.agreement.value) for v in (line.agreement.high, line.agreement.low)
        )
        crowded = any(abs(ox - x) < CROWDED and oy > height for ox, oy in others)
        above = bool(place % 2) or crowded
        at = max(y(high) - 8, 12.0) if above else min(y(low) + 18, canvas.floor - 6)
        right = x > canvas.width * 0.66
        parts.append(
            fill(
                '<text class="n" x="{:.1f}" y="{:.1f}" text-anchor="{}">'
                "<tspan>{}</tspan> {}</text>",
                x + RADIUS if right else max(x - RADIUS, LEFT),
                at,
                "end" if right else "start",
                number(100 * (line.agreement.value or 0), 1),
                rule_words(line.rule).title,
            )
        )
    return parts


# -- risk and coverage -----------------------------------------------------------------------------


def _risk(view: RemedyView, points: Sequence[CoveragePoint], canvas: _Canvas) -> Markup:
    alone = [line for line in view.table if line.rule.id in ("single", "pool", "agree")]
    values = [(p.right_when_decided.low, p.right_when_decided.value) for p in points]
    lows = [_known(low, value) for low, value in values]
    highs = [_known(p.right_when_decided.high, p.right_when_decided.value) for p in points]
    own = [line.right_when_decided.value or 0.5 for line in alone]
    rows = _ticks(min([*lows, *own]), max([*highs, *own]))
    x, y = canvas.horizontal(0, 1), canvas.vertical(rows[0], rows[-1])
    columns = [(x(share), number(100 * share)) for share in (0, 0.25, 0.5, 0.75, 1)]
    parts = _frame(canvas, rows, y, columns, "% of comparisons decided")
    parts += _curve(points, x, y)
    for line in alone:
        parts += _diamond(line, x, y, canvas.narrow)
    return _svg(canvas, parts)


def _curve(points: Sequence[CoveragePoint], x: Scale, y: Scale) -> list[Markup]:
    if not points:
        return []
    at = [(x(p.decided.value or 0), y(p.right_when_decided.value or 0)) for p in points]
    rights = [p.right_when_decided for p in points]
    upper = [(px, y(_known(one.high, one.value))) for (px, _), one in zip(at, rights, strict=True)]
    lower = [(px, y(_known(one.low, one.value))) for (px, _), one in zip(at, rights, strict=True)]
    parts = [
        fill('<polygon class="band" points="{}"/>', _corners([*upper, *reversed(lower)])),
        fill('<polyline class="f" points="{}"/>', _corners(at)),
    ]
    for (px, py), point in zip(at, points, strict=True):
        tip = f"margin {point.margin:g}: {number(100 * (point.decided.value or 0))} % decided"
        parts.append(
            fill('<circle class="d" cx="{:.1f}" cy="{:.1f}" r="4" data-tip="{}"/>', px, py, tip)
        )
    for (px, py), point in ((at[0], points[0]), (at[-1], points[-1])):
        value = number(100 * (point.right_when_decided.value or 0), 1)
        parts.append(_text(px, py - 10, value, "b"))
    return parts


def _corners(points: Sequence[tuple[float, float]]) -> str:
    return " ".join(f"{x:.1f},{y:.1f}" for x, y in points)


SHORT_NAMES: Final = {"single": "One call", "pool": "Added up", "agree": "Must agree"}


def _diamond(line: RuleEstimate, x: Scale, y: Scale, narrow: bool) -> list[Markup]:
    px, py = x(line.decided.value or 0), y(line.right_when_decided.value or 0)
    parts = [
        fill(
            '<rect class="q" x="{:.1f}" y="{:.1f}" width="12" height="12" '
            'transform="rotate(45 {:.1f} {:.1f})"/>',
            px - 6,
            py - 6,
            px,
            py,
        )
    ]
    parts.append(_text(px - 13, py + 19, SHORT_NAMES[line.rule.id], "n", "end"))
    return parts
