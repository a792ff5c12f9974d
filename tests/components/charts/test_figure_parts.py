"""Common parts of charts, by hand."""

from __future__ import annotations

import math

from components.charts.figure_parts import padded_axis_range


def test_the_range_of_values_has_three_percent_of_room_or_fifteen_points():
    assert padded_axis_range([[1000.0, 2000.0], [1500.0, math.nan]]) == (970.0, 2030.0)
    assert padded_axis_range([[1000.0], [1010.0]]) == (985.0, 1025.0)
    assert padded_axis_range([[math.inf], []]) == (900, 1100)
