"""SVG charts of the view Remedies: agreement of each rule against its price; and the risk-coverage
curve (of the comparisons that are decided, the share decided rightly, by the share decided).

Marks and names do not cover each other if there is room. The price chart for narrow screens has
a logarithmic axis and no names.

A rule decides a comparison from one or more stored verdicts, such as "both orders must agree"."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

from components.charts import svg_pieces
from components.charts.svg_pieces import CHARACTER_WIDTH, LEFT, RIGHT, Canvas, Point, Scale
from components.html.format import count, number
from components.html.markup import Markup
from components.results.remedies.computed import RemedyResults, dollars_per_thousand_comparisons
from components.results.remedies.panels import html
from metrics.remedies.changed_comparisons import rule_key
from metrics.remedies.risk_coverage import CoveragePoint
from metrics.remedies.rule_names import rule_texts
from metrics.remedies.rule_table import RuleEstimate
from studies.domain import Estimate

RADIUS: Final = 11.0
TEXT_HEIGHT: Final = 15.0
WHISKER_GAP: Final = 8.0
"""Smallest horizontal distance, in pixels, between two interval lines that are to look separate."""
STEP: Final = 4.0
CLOSE: Final = 20.0
"""Two marks closer than this, in pixels, share one text with both names."""
LINE_PARTS: Final = 6
"""Number of segments into which each line of the curve is cut, to keep texts off the line."""
MIN_DECIDED: Final = 0.05
"""Smallest share of decided comparisons that the curve shows; with fewer, an interval cannot be
computed reliably."""
SHORT_NAMES: Final = {"single": "One call", "pool": "Added up", "agree": "Must agree"}


# -- layout ----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Box:
    left: float
    top: float
    right: float
    bottom: float

    def overlaps(self, other: Box) -> bool:
        across = self.left < other.right and other.left < self.right
        return across and self.top < other.bottom and other.top < self.bottom


def box_around(mark: Point, half: float = RADIUS) -> Box:
    """The square around a mark, with sides of twice `half`, in pixels of the chart."""
    x, y = mark
    return Box(x - half, y - half, x + half, y + half)


def place_marks(marks: Sequence[Point], kept: Sequence[bool], canvas: Canvas) -> list[Point]:
    """Return the places of the marks: those with `kept` True stay; each other mark is moved
    sideways to the nearest place where its circle and interval cover no other mark, or to the
    widest gap if there is no such place."""
    taken = [mark for mark, stays in zip(marks, kept, strict=True) if stays]
    found = list(marks)
    for place, (mark, stays) in enumerate(zip(marks, kept, strict=True)):
        if not stays:
            found[place] = _find_free_place(mark, taken, canvas.width - RADIUS)
            taken.append(found[place])
    return found


def _find_free_place(mark: Point, taken: Sequence[Point], limit: float) -> Point:
    x, y = mark
    right = [x + STEP * step for step in range(int((limit - x) / STEP) + 1)]
    left = [x - STEP * step for step in range(1, int((x - LEFT - RADIUS) / STEP) + 1)]
    near = sorted((right or [x]) + left, key=lambda place: abs(place - x))
    places = [(place, y) for place in near]
    free = (one for one in places if not any(_do_marks_overlap(one, other) for other in taken))
    if (found := next(free, None)) is not None:
        return found
    return max(places, key=lambda place: min(math.dist(place, other) for other in taken))


def _do_marks_overlap(one: Point, other: Point) -> bool:
    across, down = abs(one[0] - other[0]), abs(one[1] - other[1])
    return across < WHISKER_GAP or (across < 2 * RADIUS + 3 and down < 2 * RADIUS + 3)


def _reserve_room_for_text(
    width: float, places: Iterable[Point], taken: list[Box], canvas: Canvas
) -> Point | None:
    """Return the first of `places` (left end and base line of a text) where a text of this width
    overlaps no box in `taken` and stays above the axis; None if there is none. The box of the
    text is added to `taken`."""
    for left, line in places:
        box = Box(left, line - TEXT_HEIGHT + 3, left + width, line + 3)
        inside = box.top >= 0 and box.bottom <= canvas.axis_y
        if inside and not any(box.overlaps(other) for other in taken):
            taken.append(box)
            return left, line
    return None


@dataclass(frozen=True)
class NamePlace:
    """Coordinates of a text. `anchor` (SVG's text-anchor) tells whether its start or its end is at
    `x`."""

    x: float
    y: float
    anchor: str


def reserve_room_for_name(
    text: str, mark: Point, ends: tuple[float, float], taken: list[Box], canvas: Canvas
) -> NamePlace | None:
    """Find room for the name of a mark above or below its interval; None if there is no room.
    `ends`: y coordinates of the upper and lower end of the interval. `taken`: boxes of marks and
    names already placed; the box of this name is added."""
    width = CHARACTER_WIDTH * len(text)
    x, (upper, lower) = mark[0], ends
    right = x - RADIUS + width > canvas.width - RIGHT
    left = x + RADIUS - width if right else max(x - RADIUS, LEFT)
    lines = (upper - 8, lower + 18, upper - 24, lower + 34, upper - 40)
    found = _reserve_room_for_text(width, [(left, line) for line in lines], taken, canvas)
    if found is None:
        return None
    return NamePlace(left + width if right else left, found[1], "end" if right else "start")


def _svg_points_text(points: Iterable[Point]) -> str:
    return " ".join(f"{x:.1f},{y:.1f}" for x, y in points)


def _list_interval_ends(estimates: Iterable[Estimate]) -> list[tuple[float, float]]:
    """(lower, upper) end of the interval of each estimate. An unknown end is replaced by the
    estimate's value, and an unknown value by 0.5."""
    known = svg_pieces.first_known_value_or_half
    return [(known(one.low, one.value), known(one.high, one.value)) for one in estimates]


# -- agreement by price ----------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class _RuleMark:
    """A rule as drawn in the chart: its number in the table, estimate and cost. `best`: whether
    it is on the Pareto frontier; `pilot`: remedy of the pilot study that measured it, such as
    "repeats", "" if this study did."""

    number: str
    estimate: RuleEstimate
    cost: float
    best: bool = False
    pilot: str = ""

    @property
    def agreement(self) -> float:
        return self.estimate.agreement.value or 0.0

    @property
    def value(self) -> str:
        return number(100 * self.agreement, 1)

    @property
    def title(self) -> str:
        return rule_texts(self.estimate.rule).title

    @property
    def css_class(self) -> str:
        return "on" if self.best else "p" if self.pilot else ""

    @property
    def hover_text(self) -> str:
        n = count(self.estimate.agreement.n, "comparison")
        return f"{self.value} {self.title}" + (f"; pilot {self.pilot}, {n}" if self.pilot else "")

    def interval_ends(self, y: Scale) -> tuple[float, float]:
        """y coordinates of the upper and lower end of the interval."""
        ((low, high),) = _list_interval_ends([self.estimate.agreement])
        return y(high), y(low)

    def interval_box(self, x: float, y: Scale) -> Box:
        upper, lower = self.interval_ends(y)
        return Box(x - 2, upper, x + 2, lower)


def frontier_chart(results: RemedyResults, by_dollars: bool) -> Markup:
    """SVG chart of each rule's agreement against its price, in dollars (`by_dollars`) or calls,
    drawn for wide and for narrow screens; below it, the reason if dollars cannot be shown."""
    spots = list(_list_rule_marks(results, by_dollars))
    what = results.winner_source
    price = "dollars per 1,000 comparisons" if by_dollars else "calls per comparison"
    drawn = svg_pieces.wrap_wide_and_narrow(
        _frontier_svg(results, spots, by_dollars, Canvas(820, 290)),
        _frontier_svg(results, spots, by_dollars, Canvas(340, 300, narrow=True)),
        f"Agreement of each rule with {what}, by the price of the rule in {price}",
    )
    reason = ""
    if not results.can_compare_in_dollars:
        unknown = results.unpriced_judges
        step = f" {results.price_hint(unknown)}" if unknown else ""
        reason = f"No dollars: {results.no_dollars_reason}.{step}"
    return drawn + html.frontier_notes(any(spot.pilot for spot in spots), reason)


def _list_rule_marks(results: RemedyResults, by_dollars: bool) -> Iterator[_RuleMark]:
    """Marks of the rules to draw: first this study's rules, without those on fewer comparisons or
    with people's votes; then the rules that pilot studies measured. With `by_dollars`, pilots'
    rules without a known price are left out."""
    best = results.pareto_frontier(by_dollars)
    for place, line in enumerate(results.rule_estimates, start=1):
        if line.complete and not line.rule.votes:
            yield _RuleMark(str(place), line, results.rule_price(line, by_dollars), line in best)
    for place, one in enumerate(results.pilot_rules, start=1):
        cost: float | None = one.estimate.rule.calls_per_comparison
        if by_dollars:
            cost = dollars_per_thousand_comparisons(one.estimate, one.inputs)
        if cost is not None:
            yield _RuleMark(f"P{place}", one.estimate, cost, pilot=one.kind)


def _frontier_svg(
    results: RemedyResults, spots: Sequence[_RuleMark], by_dollars: bool, canvas: Canvas
) -> Markup:
    """SVG chart of each rule's agreement by its cost (dollars or calls), with a line through the
    rules on the Pareto frontier. A click on a mark opens the comparisons that the rule decides
    differently from a single call, if there are any; marks of pilots' rules cannot be clicked."""
    lows, highs = zip(*_list_interval_ends(spot.estimate.agreement for spot in spots), strict=True)
    rows = svg_pieces.round_share_ticks(min(lows), max(highs))
    y = canvas.vertical_scale(rows[0], rows[-1])
    x, columns = _cost_axis(canvas, [spot.cost for spot in spots], by_dollars)
    wanted = [(x(spot.cost), y(spot.agreement)) for spot in spots]
    at = place_marks(wanted, [spot.best for spot in spots], canvas)
    drawn = list(zip(spots, at, strict=True))
    joined = sorted((spot.cost, spot.agreement, where) for spot, where in drawn if spot.best)
    marks = []
    for (spot, (px, py)), (true_x, _) in zip(drawn, wanted, strict=True):
        got, rule = spot.estimate.agreement, rule_key(spot.estimate.rule)
        ends = None if got.low is None or got.high is None else (y(got.low), y(got.high))
        opens = spot.estimate.changed and not spot.pilot
        select = {"rule": rule, "judge": results.judge, "prompt": results.prompt}
        marks.append((spot, px, py, true_x, ends, select if opens else None))
    names = [] if canvas.narrow else list(_place_rule_names(canvas, drawn, y))
    name = "dollars per 1,000 comparisons" if by_dollars else "judge calls per comparison"
    chart = html.frontier(_svg_points_text(where for *_, where in joined), marks, names, RADIUS)
    return svg_pieces.svg(canvas, [*svg_pieces.svg_axes(canvas, rows, y, columns, name), chart])


def _cost_axis(
    canvas: Canvas, costs: Sequence[float], by_dollars: bool
) -> tuple[Scale, list[tuple[float, str]]]:
    """The scale of the cost axis (from a cost to its x coordinate), and its tick labels as (x
    coordinate, text); logarithmic on narrow screens."""
    known = sorted({cost for cost in costs if cost > 0} or {1.0})
    decimals = 2 if known[-1] >= 0.1 else 4  # dollars of cheap judges
    if canvas.narrow:
        log = canvas.horizontal_scale(math.log(known[0]), math.log(known[-1]), pad=26)
        place: Scale = lambda cost: log(math.log(max(cost, known[0])))  # noqa: E731
    else:
        place = canvas.horizontal_scale(0.0, known[-1] * 1.04, pad=6)
    labelled: list[tuple[float, str]] = []
    for cost in known:
        if not labelled or place(cost) - labelled[-1][0] > 34:
            text = number(cost, decimals) if by_dollars else f"{round(cost, 2):g}"
            labelled.append((place(cost), text))
    return place, labelled


def _place_rule_names(
    canvas: Canvas, drawn: Sequence[tuple[_RuleMark, Point]], y: Scale
) -> Iterator[tuple[NamePlace, str, str]]:
    """Yield (place, value, title) of the names of the rules on the frontier, the cheapest first. A
    name is left out if there is no room for it beside the marks and the other names."""
    taken = [box_around(place) for _, place in drawn]
    for spot, mark in sorted(drawn, key=lambda pair: pair[0].cost):
        if not spot.best:
            continue
        text, ends = f"{spot.value} {spot.title}", spot.interval_ends(y)
        # A name crosses an interval only if there is no place beside all of them.
        free = [*taken, *(one.interval_box(at[0], y) for one, at in drawn if one is not spot)]
        place = reserve_room_for_name(text, mark, ends, free, canvas)
        if place is not None:
            taken.append(free[-1])
        else:
            place = reserve_room_for_name(text, mark, ends, taken, canvas)
        if place is not None:
            yield place, spot.value, spot.title


# -- risk-coverage curve ---------------------------------------------------------------------------


def risk_coverage_chart(results: RemedyResults) -> Markup | None:
    """SVG chart, wide and narrow: share right among decided comparisons by share decided; None if
    hardly any comparison is decided."""
    points = [one for one in results.risk_curve[0] if (one.decided.value or 0) >= MIN_DECIDED]
    if not points:
        return None
    return svg_pieces.wrap_wide_and_narrow(
        _risk_curve_svg(results, points, Canvas(400, 290)),
        _risk_curve_svg(results, points, Canvas(340, 280, narrow=True)),
        "% right among the decided comparisons, by % of comparisons decided",
    )


def _risk_curve_svg(
    results: RemedyResults, points: Sequence[CoveragePoint], canvas: Canvas
) -> Markup:
    """SVG of the curve with its interval, and diamonds of three fixed rules: one call, orders added
    up, orders must agree."""
    alone = [line for line in results.rule_estimates if line.rule.id in SHORT_NAMES]
    bounds = _list_interval_ends(one.right_when_decided for one in points)
    own = [line.right_when_decided.value for line in alone]
    ends = [value for value in own if value is not None]
    ends += [end for pair in bounds for end in pair]
    rows = svg_pieces.round_share_ticks(min(ends), max(ends))
    x, y = canvas.horizontal_scale(0, 1), canvas.vertical_scale(rows[0], rows[-1])
    columns = [(x(share), number(100 * share)) for share in (0, 0.25, 0.5, 0.75, 1)]

    def locate(one: CoveragePoint | RuleEstimate) -> Point:
        return x(one.decided.value or 0), y(one.right_when_decided.value or 0)

    at, marks = [locate(one) for one in points], [locate(one) for one in alone]
    upper = [(px, y(high)) for (px, _), (_, high) in zip(at, bounds, strict=True)]
    lower = [(px, y(low)) for (px, _), (low, _) in zip(at, bounds, strict=True)]
    tips = [
        f"margin {one.margin:g}: {number(100 * (one.decided.value or 0))} % decided"
        for one in points
    ]
    dots = [(px, py, tip) for (px, py), tip in zip(at, tips, strict=True)]
    chart = html.risk(
        _svg_points_text([*upper, *reversed(lower)]), _svg_points_text(at), dots, marks
    )
    between = [
        (px + (qx - px) * step / LINE_PARTS, py + (qy - py) * step / LINE_PARTS)
        for (px, py), (qx, qy) in pairwise(at)
        for step in range(1, LINE_PARTS)
    ]
    taken = [
        box_around(place, half)
        for half, ones in ((9, marks), (5, at), (2, between))
        for place in ones
    ]
    groups: dict[Point, list[str]] = {}
    for mark, line in zip(marks, alone, strict=True):
        near = next((one for one in groups if math.dist(one, mark) < CLOSE), mark)
        groups.setdefault(near, []).append(SHORT_NAMES[line.rule.id])
    texts = [(mark, ", ".join(names), "n") for mark, names in groups.items()]
    ordered = sorted(
        (px, one.right_when_decided.value or 0) for (px, _), one in zip(at, points, strict=True)
    )
    for px, value in (ordered[0], ordered[-1]) if len(ordered) > 1 else ():
        texts.append(((px, y(value)), number(100 * value, 1), "b"))
    written = [
        svg_pieces.svg_text(*place, text, kind, "start")
        for mark, text, kind in texts
        if (place := _reserve_room_for_text_beside(text, mark, taken, canvas)) is not None
    ]
    axes = svg_pieces.svg_axes(canvas, rows, y, columns, "% of comparisons decided")
    return svg_pieces.svg(canvas, [*axes, chart, *written])


def _reserve_room_for_text_beside(
    text: str, mark: Point, taken: list[Box], canvas: Canvas
) -> Point | None:
    """Find a place near a mark where a text covers no box in `taken`, and add the text's box to
    `taken`. Return (x of its left end, y of its base line); None if there is no room."""
    px, py = mark
    width = CHARACTER_WIDTH * len(text)
    lefts = (px - width / 2, px + 8, px - width - 8, px + 24, px - width - 24)
    places = [
        (min(max(left, LEFT + 2), canvas.width - RIGHT - width), py + rise)
        for rise in (18, -12, 34, -28, 50, -44, 66, -60)
        for left in lefts
    ]
    return _reserve_room_for_text(width, places, taken, canvas)
