"""Differences between win rates by judges and by people, on the same cases."""

from __future__ import annotations

import pytest

from metrics.estimation.row_selection import people_mask, select_rows
from metrics.win_rates.merged_orders import agreement_of_merged_orders, merge_both_orders
from metrics.win_rates.people_gaps import ALL_CATEGORIES, win_rate_gaps
from metrics.win_rates.win_rates import win_rate
from tests.metrics.frames import build, pair, prd


def vote(item: str, pick) -> dict:
    return {"item": item, "judge": "human:a", "prompt": "vote", "shown": "xy", "pick": pick,
            "orders": 1}  # fmt: skip


def verdict(item: str, pick) -> dict:
    return {"item": item, "judge": "j", "prompt": "p", "shown": "xy", "pick": pick, "orders": 1}


def test_the_gaps_of_prd_are_the_differences_of_the_win_rates():
    """All its comparisons have verdicts and votes; 160 have one vote by each of three people."""
    rows = prd()
    human = people_mask(rows)
    judges, people = select_rows(rows, ~human), select_rows(rows, human)
    gaps = win_rate_gaps(rows)
    for name, rate in win_rate(judges).items():
        got = gaps[name, ALL_CATEGORIES]
        assert got.value == pytest.approx(rate.value - win_rate(people)[name].value), name
    # 39.3 % by judges, 46.1 % by people.
    assert gaps["vicuna-13b", ALL_CATEGORIES].value == pytest.approx(0.3934375 - 0.46125)


def test_the_interval_of_a_gap_weighs_votes_as_its_value_does():
    """Worked by hand: judges 2/3, people 3/5. The influences of the three kinds of items are
    −0.12889, −0.10222 and 0.23111 divided by four; t with 11 degrees of freedom is 2.20099."""
    rows = []
    for k in range(4):
        rows += [verdict(f"both{k}", 0), *(vote(f"both{k}", 0) for _ in range(3))]
        rows += [verdict(f"none{k}", 1), vote(f"none{k}", 1)]
        rows += [verdict(f"judge{k}", 0), vote(f"judge{k}", 1)]
    got = win_rate_gaps(build(rows))["x", ALL_CATEGORIES]
    assert got.value == pytest.approx(2 / 3 - 3 / 5)
    assert (got.low, got.high) == pytest.approx((-0.259403, 0.392737), abs=1e-5)


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
