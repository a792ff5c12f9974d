"""Places of the marks of the frontier chart."""

from __future__ import annotations

import math

from components.charts.svg_pieces import Canvas
from components.results.remedies.charts_svg import _cost_axis, place_marks


def test_a_mark_without_a_free_place_goes_to_the_widest_gap():
    canvas = Canvas(400, 300)
    wall = [(float(x), 100.0) for x in range(0, 400, 10) if x not in (200, 210)]
    placed = place_marks([*wall, (60.0, 100.0)], [True] * len(wall) + [False], canvas)
    assert placed[:-1] == wall and placed[-1][1] == 100.0
    nearest = min(math.dist(placed[-1], other) for other in wall)
    assert 195 <= placed[-1][0] <= 215 and nearest >= 10


def test_marks_of_cheap_rules_lie_inside_the_drawing_at_their_price():
    """Dollars per 1,000 comparisons far below a cent: no price is rounded to another place."""
    for costs in ((0.0149, 0.0074), (0.004, 0.002, 0.001), (0.0549,), (0.0, 0.003)):
        for narrow in (False, True):
            canvas = Canvas(340, 300, narrow=narrow)
            place, labels = _cost_axis(canvas, costs, by_dollars=True)
            known = [place(cost) for cost in costs if cost]
            assert known == sorted(known, reverse=True)
            assert all(0 <= x <= canvas.width for x in known)
            assert labels and not any(text.strip("0.") == "" for _, text in labels)
