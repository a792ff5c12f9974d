"""Common parts of charts, by hand."""

from __future__ import annotations

import math

from components.charts.figure_parts import band_trace, error_bars, padded_axis_range
from components.charts.run_charts import _value_annotation
from studies.domain import Estimate


def test_the_range_of_values_has_three_percent_of_room_or_fifteen_points():
    assert padded_axis_range([[1000.0, 2000.0], [1500.0, math.nan]]) == (970.0, 2030.0)
    assert padded_axis_range([[1000.0], [1010.0]]) == (985.0, 1025.0)
    assert padded_axis_range([[math.inf], []]) == (900, 1100)


def test_a_band_goes_along_its_upper_edge_and_back_along_the_lower_one():
    made = band_trace([1, 2, 3], [10, 20, 30], [11, 21, 31], "red", 0.2)
    assert made["x"] == [1, 2, 3, 3, 2, 1] and made["y"] == [11, 21, 31, 30, 20, 10]
    assert (made["fill"], made["mode"], made["line"]) == ("toself", "lines", {"width": 0})
    assert (made["fillcolor"], made["hoverinfo"]) == ("alpha(red, 0.2)", "skip")


def test_an_error_bar_is_the_distance_to_each_bound_and_none_where_one_is_unknown():
    estimates = [
        Estimate(0.5, 0.25, 1.0), Estimate(0.5), Estimate(None, 0.25, 1.0),
        Estimate(0.5, None, 1.0), Estimate(0.5, 0.25, math.nan),
    ]  # fmt: skip
    made = error_bars(estimates, 3)
    assert made["array"] == [0.5, 0.0, 0.0, 0.5, 0.0]
    assert made["arrayminus"] == [0.25, 0.0, 0.0, 0.0, 0.25]
    assert (made["thickness"], made["width"], made["symmetric"]) == (3, 4, False)
    assert error_bars([], 3, caps=0)["width"] == 0


def test_the_number_beside_a_row_is_its_per_cent_or_how_few_items_it_has():
    def told(value: float | None, items: int) -> tuple[str, str, float]:
        made = _value_annotation((2, "x", Estimate(value, None, None, 9, items)))
        return made["text"], made["font"]["color"], made["y"]

    assert told(0.614, 5) == ("<b>61</b>", "var(--ink)", 2)
    assert told(None, 0) == ("<b>–</b>", "var(--ink)", 2)
    assert told(0.614, 4) == ("4 items", "var(--ink-3)", 2)
    assert told(0.614, 1)[0] == "1 item"
