"""Places of the marks of the frontier chart."""

from __future__ import annotations

import math

from components.charts.svg_pieces import Canvas
from components.results.remedies.charts_svg import place_marks


def test_a_mark_without_a_free_place_goes_to_the_widest_gap():
    canvas = Canvas(400, 300)
    wall = [(float(x), 100.0) for x in range(0, 400, 10) if x not in (200, 210)]
    placed = place_marks([*wall, (60.0, 100.0)], [True] * len(wall) + [False], canvas)
    assert placed[:-1] == wall and placed[-1][1] == 100.0
    nearest = min(math.dist(placed[-1], other) for other in wall)
    assert 195 <= placed[-1][0] <= 215 and nearest >= 10
