"""SVG chart of remedies: agreement against price, the Pareto frontier, and the rules of pilots.

The drawing for narrow screens has a logarithmic cost axis and no names.
"""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import dataclass

from components.charts.svg_pieces import (
    Canvas,
    Point,
    Scale,
    axes,
    known_or,
    round_shares,
    svg,
    svg_line,
    wide_and_narrow,
)
from components.html.format import count, number
from components.html.markup import EMPTY, Markup, fill, join
from components.results.remedies.computed import RemedyResults, line_dollars
from components.results.remedies.mark_layout import (
    RADIUS,
    Box,
    NamePlace,
    circle_box,
    place_marks,
    place_name,
)
from metrics.remedies.changed_comparisons import rule_key
from metrics.remedies.rule_names import rule_words
from metrics.remedies.rule_table import RuleEstimate


@dataclass(frozen=True, eq=False)
class _Spot:
    """A rule to draw: number in the table, estimate, cost, whether it is on the Pareto frontier
    (`best`), and the kind of the pilot that measured it ("" if this study did)."""

    number: str
    line: RuleEstimate
    cost: float
    best: bool = False
    pilot: str = ""

    @property
    def agreement(self) -> float:
        return self.line.agreement.value or 0.0

    @property
    def kind(self) -> str:
        return "on" if self.best else "p" if self.pilot else ""

    @property
    def tip(self) -> str:
        words = f"{number(100 * self.agreement, 1)} {rule_words(self.line.rule).title}"
        n = count(self.line.agreement.n, "comparison")
        return f"{words}; pilot {self.pilot}, {n}" if self.pilot else words


def frontier_chart(results: RemedyResults, by_dollars: bool) -> Markup:
    """SVG chart of each rule's agreement against its price, drawn for wide and for narrow screens;
    below it, the reason if dollars cannot be shown."""
    spots = [*_own_spots(results, by_dollars), *_pilot_spots(results, by_dollars)]
    wide = _frontier(results, spots, by_dollars, Canvas(820, 290))
    narrow = _frontier(results, spots, by_dollars, Canvas(340, 300, narrow=True))
    what = "the majority of people" if results.by_people else "the known better answers"
    price = "dollars per 1,000 comparisons" if by_dollars else "calls per comparison"
    label = f"Agreement of each rule with {what}, by the price of the rule in {price}"
    drawn = wide_and_narrow(wide, narrow, label)
    return join([drawn, _pilot_key(spots), _no_dollars(results)])


def _own_spots(results: RemedyResults, by_dollars: bool) -> list[_Spot]:
    best = results.frontier(by_dollars)
    return [
        _Spot(str(place), line, results.cost(line, by_dollars), line in best)
        for place, line in enumerate(results.table, start=1)
        if line.complete and not line.rule.votes
    ]


def _pilot_spots(results: RemedyResults, by_dollars: bool) -> list[_Spot]:
    """Marks of the rules of finished pilots; on a dollar axis, only rules of known price."""
    found = []
    for place, one in enumerate(results.pilot_lines, start=1):
        cost = line_dollars(one.line, one.inputs) if by_dollars else one.line.rule.price
        if cost is not None:
            found.append(_Spot(f"P{place}", one.line, cost, pilot=one.kind))
    return found


def _pilot_key(spots: Sequence[_Spot]) -> Markup:
    if not any(spot.pilot for spot in spots):
        return EMPTY
    text = (
        "rules measured on the comparisons of a pilot study; compare each with “one call” of the "
        "same pilot in the table"
    )
    return fill(
        '<p class="eh-small eh-pilot-key"><span class="eh-key"><i class="ring p"></i>{}</span></p>',
        f"P1 …: {text}",
    )


def _no_dollars(results: RemedyResults) -> Markup:
    """HTML reason why the choice "Dollars" is disabled; empty if it is enabled."""
    if results.priced:
        return EMPTY
    step = " Set the price in Study, step Judges." if results.unpriced_judges else ""
    text = f"Dollars cannot be shown, because {results.no_dollars}.{step}"
    return fill('<p class="eh-small eh-mute eh-no-dollars">{}</p>', text)


def _frontier(
    results: RemedyResults, spots: Sequence[_Spot], by_dollars: bool, canvas: Canvas
) -> Markup:
    rows = round_shares(*_bounds([spot.line for spot in spots]))
    y = canvas.vertical(rows[0], rows[-1])
    x, columns = _cost_axis(canvas, [spot.cost for spot in spots], by_dollars)
    wanted = [(x(spot.cost), y(spot.agreement)) for spot in spots]
    at = place_marks(wanted, [spot.best for spot in spots], canvas)
    name = "dollars per 1,000 comparisons" if by_dollars else "judge calls per comparison"
    parts = axes(canvas, rows, y, columns, name)
    joined = sorted(
        (spot.cost, spot.agreement, where)
        for spot, where in zip(spots, at, strict=True)
        if spot.best
    )
    corners = " ".join(f"{px:.1f},{py:.1f}" for *_, (px, py) in joined)
    parts.append(fill('<polyline class="f" points="{}"/>', corners))
    drawn = list(zip(spots, at, strict=True))
    parts += [_whisker(spot, place[0], y) for spot, place in drawn]
    parts += [_mark(results, spot, place) for spot, place in drawn]
    if not canvas.narrow:
        parts += _names(canvas, drawn, y)
    return svg(canvas, parts)


def _bounds(lines: Sequence[RuleEstimate]) -> tuple[float, float]:
    lows = [known_or(line.agreement.low, line.agreement.value) for line in lines]
    highs = [known_or(line.agreement.high, line.agreement.value) for line in lines]
    return min(lows), max(highs)


def _cost_axis(
    canvas: Canvas, costs: Sequence[float], by_dollars: bool
) -> tuple[Scale, list[tuple[float, str]]]:
    """The scale of the cost axis (from a cost to its x coordinate), and its tick labels as (x
    coordinate, text); logarithmic on narrow screens."""
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


def _whisker(spot: _Spot, x: float, y: Scale) -> Markup:
    got = spot.line.agreement
    if got.low is None or got.high is None:
        return EMPTY
    return svg_line(x, y(got.low), x, y(got.high), f"w {spot.kind}".strip())


def _mark(results: RemedyResults, spot: _Spot, at: Sequence[float]) -> Markup:
    """SVG circle with the rule's number. A click opens the comparisons that the rule decides
    differently from a single call; not for a rule of a pilot, which is another study."""
    x, y = at
    select = {"rule": rule_key(spot.line.rule), "judge": results.judge, "prompt": results.prompt}
    opens = spot.line.changed and not spot.pilot
    return fill(
        '<g class="{}" tabindex="0" data-rule="{}" data-tip="{}"{}>'
        '<circle cx="{:.1f}" cy="{:.1f}" r="{}"/><text x="{:.1f}" y="{:.1f}">{}</text></g>',
        f"k {spot.kind}".strip(),
        spot.number,
        spot.tip,
        fill(' data-select="{}"', json.dumps(select)) if opens else EMPTY,
        x,
        y,
        RADIUS,
        x,
        y + 4.5,
        spot.number,
    )


def _names(canvas: Canvas, drawn: Sequence[tuple[_Spot, Point]], y: Scale) -> list[Markup]:
    """SVG texts with value and name of each rule on the frontier; a name that would cover another
    mark is left out."""
    taken = [circle_box(place) for _, place in drawn]
    parts = []
    for spot, mark in sorted(drawn, key=lambda pair: pair[0].cost):
        if not spot.best:
            continue
        title = rule_words(spot.line.rule).title
        value = number(100 * spot.agreement, 1)
        text, ends = f"{value} {title}", _whisker_ends(spot, y)
        # A name crosses an interval only if there is no place beside all of them.
        free = [*taken, *(_whisker_box(one, at, y) for one, at in drawn if one is not spot)]
        place = place_name(text, mark, ends, free, canvas)
        if place is not None:
            taken.append(free[-1])
        else:
            place = place_name(text, mark, ends, taken, canvas)
        if place is not None:
            parts.append(_name(place, value, title))
    return parts


def _whisker_ends(spot: _Spot, y: Scale) -> tuple[float, float]:
    """y coordinates of the upper and lower end of a mark's interval."""
    got = spot.line.agreement
    return y(known_or(got.high, got.value)), y(known_or(got.low, got.value))


def _whisker_box(spot: _Spot, at: Point, y: Scale) -> Box:
    upper, lower = _whisker_ends(spot, y)
    return Box(at[0] - 2, upper, at[0] + 2, lower)


def _name(place: NamePlace, value: str, title: str) -> Markup:
    return fill(
        '<text class="n" x="{:.1f}" y="{:.1f}" text-anchor="{}"><tspan>{}</tspan> {}</text>',
        place.x,
        place.y,
        place.anchor,
        value,
        title,
    )
