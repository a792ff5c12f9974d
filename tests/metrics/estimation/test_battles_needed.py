"""Battles still needed between neighbours: against the formula for two contestants."""

from __future__ import annotations

import math

import pytest

from metrics.estimation.planning.power import further_verdicts_to_separate
from studies.domain import Estimate

ELO = 400 / math.log(10)


def expected_win_share(elo: float) -> float:
    return 1 / (1 + 10 ** (-elo / 400))


def gap_after(n: int, elo: float) -> Estimate:
    """The gap of two contestants after n independent battles: SE = 1/√(n·p·q) logits."""
    p = expected_win_share(elo)
    half = 1.959964 * ELO / math.sqrt(n * p * (1 - p))
    return Estimate(elo, elo - half, elo + half, n, n)


@pytest.mark.parametrize(("elo", "n"), [(20, 2372), (50, 382), (100, 98)])
def test_two_contestants_need_what_the_power_formula_says(elo, n):
    # (1.96/2 + .842·√(p(1−p)))²/(p − ½)², by hand: a gap of 20 Elo takes 2,372 decisive battles,
    # 50 takes 382, 100 takes 98.
    start = 20
    total = start + (further_verdicts_to_separate(gap_after(start, elo)) or 0)
    assert total == pytest.approx(n, rel=0.09)


def test_who_is_apart_needs_none_and_who_is_equal_never_will():
    assert further_verdicts_to_separate(Estimate(50.0, 10.0, 90.0, 400, 80)) == 0
    assert further_verdicts_to_separate(Estimate(-50.0, -90.0, -10.0, 400, 80)) == 0
    assert further_verdicts_to_separate(Estimate(130.0, 130.0, None, 400, 80)) == 0  # at least 130
    assert further_verdicts_to_separate(Estimate(0.0, -40.0, 40.0, 400, 80)) is None
    assert further_verdicts_to_separate(Estimate(0.001, -40.0, 40.0, 400, 80)) is None
    assert further_verdicts_to_separate(Estimate(30.0, None, None, 400, 1)) is None


def test_half_the_gap_takes_four_times_the_battles():
    # n·(h·1.4294/g)²: h 40, n 400. g 20: 400·8.17 = 3,269, so 2,869 more. g 10: 12,676 more.
    assert further_verdicts_to_separate(Estimate(20.0, -20.0, 60.0, 400, 80)) == pytest.approx(
        2869, abs=2
    )
    assert further_verdicts_to_separate(Estimate(10.0, -30.0, 50.0, 400, 80)) == pytest.approx(
        12676, abs=4
    )


def test_a_gap_whose_limit_is_zero_is_not_yet_apart():
    # Half-width 40 and gap 40 of 100: 100·1.4294² = 204.3 in all.
    assert further_verdicts_to_separate(Estimate(40.0, 0.0, 80.0, 100, 100)) == pytest.approx(
        105, abs=1
    )
    assert further_verdicts_to_separate(Estimate(-40.0, -80.0, 0.0, 100, 100)) == pytest.approx(
        105, abs=1
    )
    assert further_verdicts_to_separate(Estimate(40.0, 0.001, 80.0, 100, 100)) == 0
    assert (
        further_verdicts_to_separate(Estimate(-130.0, None, -130.0, 400, 80)) == 0
    )  # at most −130
    assert further_verdicts_to_separate(Estimate(None, -1.0, 1.0, 400, 80)) is None
    assert further_verdicts_to_separate(Estimate(30.0, -10.0, None, 400, 80)) is None
    assert further_verdicts_to_separate(Estimate(30.0, -10.0, 70.0, 0, 0)) is None


def test_more_power_takes_more_battles_and_ten_millions_are_too_many():
    # A power of one half needs no margin: n·(h/g)².
    half = Estimate(10.0, -10.0, 30.0, 100, 100)
    assert further_verdicts_to_separate(half, power=0.5) == pytest.approx(300, abs=1)
    # h/g = 300: 100·(300·1.4294)² = 18 million; 200: 8.2 million.
    assert further_verdicts_to_separate(Estimate(0.1, -29.9, 30.1, 100, 100)) is None
    assert further_verdicts_to_separate(Estimate(0.1, -19.9, 20.1, 100, 100)) == pytest.approx(
        8.17e6, rel=0.01
    )
