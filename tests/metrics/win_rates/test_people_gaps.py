"""Differences between win rates by judges and by people, on the same cases."""

from __future__ import annotations

import pytest

from metrics.estimation.multiple_comparisons import simultaneous_interval
from metrics.win_rates.merged_orders import agreement_of_merged_orders, merge_both_orders
from metrics.win_rates.people_gaps import ALL_CATEGORIES, win_rate_gaps
from tests.metrics.frames import build, pair, prd


def vote(item: str, pick) -> dict:
    return {"item": item, "judge": "human:a", "prompt": "vote", "shown": "xy", "pick": pick,
            "orders": 1}  # fmt: skip


def test_the_largest_gap_of_prd_includes_zero_when_adjusted_for_choosing_it():
    # The review: +3.4 [0.5, 6.4] unadjusted, [−0.5, 7.4] as the largest of five.
    gaps = {name: got for (name, group), got in win_rate_gaps(prd()).items()
            if group == ALL_CATEGORIES}  # fmt: skip
    largest = max(gaps.values(), key=lambda one: abs(one.value))
    assert (largest.value, largest.low, largest.high) == pytest.approx(
        (0.034, 0.005, 0.064), abs=1e-3
    )
    adjusted = simultaneous_interval(largest, len(gaps))
    assert (adjusted.low, adjusted.high) == pytest.approx((-0.005, 0.074), abs=1e-3)


def test_gaps_are_taken_on_cases_that_both_judged():
    # q1: the judge says x, x (1); the person y (0). q2: no vote. q3: no verdict.
    rows = [*pair("q1", 0, 1), vote("q1", 1), *pair("q2", 0, 1), vote("q3", 0)]
    got = win_rate_gaps(build(rows))
    assert got["x", ALL_CATEGORIES].value == 1 and got["x", ALL_CATEGORIES].items == 1
    assert win_rate_gaps(build(pair("q1", 0, 1))) == {}


def test_merged_orders_are_held_against_people():
    # q1: x in both orders, people x: right. q2: x, then y: a tie, people x: wrong.
    judged, votes = [*pair("q1", 0, 1), *pair("q2", 0, 0)], [vote("q1", 0), vote("q2", 0)]
    merged = merge_both_orders(build(judged))
    assert agreement_of_merged_orders(merged, build(votes))["j"].value == 0.5
    assert agreement_of_merged_orders(merged, build([])) == {}
