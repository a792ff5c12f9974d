"""Marks of a forest plot."""

from __future__ import annotations

import pytest

from components.html.tables.forest_cells import (
    RATING_STEPS,
    Axis,
    _dot_html,
    fit_axis,
    fit_share_axis,
    forest_html,
    tick_steps,
    tick_steps_from,
)
from studies.domain import Estimate


@pytest.mark.parametrize(("items", "hollow"), [(0, False), (1, True), (4, True), (5, False)])
def test_an_estimate_from_few_items_is_hollow(items, hollow):
    """Without a number of items (0) nothing is known about how few they are."""
    made = _dot_html(Estimate(0.5, 0.4, 0.6, 20, items), Axis())
    assert ("hollow" in made) is hollow
    assert _dot_html(Estimate(None), Axis()) == ""


def test_a_place_is_a_share_of_the_axis_and_stays_on_it():
    axis = Axis(10.0, 20.0)
    assert [axis.css_position(value) for value in (10, 12.5, 20, 0, 99)] == [
        "0.00%", "25.00%", "100.00%", "0.00%", "100.00%",
    ]  # fmt: skip
    assert axis.css_width(12.5, 15.0) == "25.00%" and axis.css_width(0, 99) == "100.00%"


def test_steps_between_ticks_are_used_up_to_five_times_their_length():
    assert tick_steps(1, 2) == [(1, 5), (2, 10)]
    assert [step for step, _ in tick_steps_from(0.1)[:5]] == pytest.approx([0.1, 0.2, 0.5, 1, 2])


@pytest.mark.parametrize(
    ("estimates", "ticks"),
    [
        ([Estimate(0.31, 0.22, 0.38)], [20, 25, 30, 35, 40]),
        ([Estimate(0.31), Estimate(0.33)], [31, 32, 33]),
        ([Estimate(None)], [0, 1, 2, 3, 4]),
        ([Estimate(0.5)], [50, 51]),
        ([Estimate(0.1, 0.0, 1.0)], [0, 20, 40, 60, 80, 100]),
    ],
)
def test_an_axis_begins_and_ends_at_round_ticks_around_all_values(estimates, ticks):
    axis = fit_share_axis(estimates)
    assert [100 * tick for tick in axis.ticks] == pytest.approx(ticks)
    assert (100 * axis.low, 100 * axis.high) == pytest.approx((ticks[0], ticks[-1]))
    assert list(axis.labels.values()) == [str(tick) for tick in ticks]


def test_an_axis_holds_further_values_within_its_bounds():
    held = fit_share_axis([Estimate(0.02, 0.01, 0.04)], holds=(0.0,), signed=True)
    assert list(held.labels.values()) == ["0", "+1", "+2", "+3", "+4"]
    bounded = fit_share_axis([Estimate(0.5, -0.5, 1.5)], bounds=(0.0, 1.0))
    assert (bounded.low, bounded.high) == (0.0, 1.0)
    wide = fit_share_axis([Estimate(0.0, -9.0, 9.0)])
    assert wide.ticks[1] - wide.ticks[0] == 1.0, "beyond the last step, that step"


def test_a_padded_axis_extends_beyond_its_values_and_has_its_ticks_inside():
    """Ratings from 1000 to 1200: 4 % of 200 is 8, but a fifth of the smallest step (10) is more."""
    axis = fit_axis([Estimate(1100.0, 1000.0, 1200.0)], RATING_STEPS, str, pad=0.04)
    assert (axis.low, axis.high) == (990.0, 1210.0)
    assert list(axis.ticks) == [1000, 1050, 1100, 1150, 1200]
    wide = fit_axis([Estimate(1000.0, 500.0, 1500.0)], RATING_STEPS, str, pad=0.04)
    assert (wide.low, wide.high) == (460.0, 1540.0)
    assert list(wide.ticks) == [600, 800, 1000, 1200, 1400]


def test_a_row_marks_chance_others_and_people_if_they_are_known():
    one = Estimate(0.5, 0.4, 0.6, 20, 10)
    plain = forest_html(one, Axis())
    assert plain.count('class="g"') == 5
    assert not any(f'class="{name}"' in plain for name in "coq")
    people = Estimate(0.75, 0.7, 0.9, 20, 10)
    full = forest_html(one, Axis(chance=0.25), people=people, others=[0.1, 0.2], tip="card")
    assert full.count('class="o"') == 2 and 'class="c" style="left:25.00%"' in full
    assert 'class="q" style="left:75.00%"' in full and 'data-tip="card"' in full
    assert 'class="w" style="left:40.00%;width:20.00%"' in full
    assert 'class="u" style="left:70.00%;width:20.00%"' in full
    for unknown in (Estimate(float("nan")), Estimate(None)):
        assert 'class="q"' not in forest_html(one, Axis(), people=unknown)
    few = forest_html(one, Axis(), people=Estimate(0.75, 0.7, 0.9, 4, 4))
    assert 'class="q"' in few and 'class="u"' not in few
    for half in (Estimate(0.5, 0.4, None, 20, 10), Estimate(0.5, None, 0.6, 20, 10)):
        assert 'class="w"' not in forest_html(half, Axis())
