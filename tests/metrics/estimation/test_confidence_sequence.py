"""Confidence sequences: published values, and errors under constant looking."""

from __future__ import annotations

import numpy as np
import pytest

from metrics.estimation.intervals import wilson_bounds
from metrics.estimation.planning.confidence_sequence import confidence_sequence
from metrics.estimation.planning.power import E_VALUE_THRESHOLD, e_value


@pytest.mark.parametrize(
    ("wins", "n", "low", "high"),
    [(60, 100, 0.43431, 0.75143), (8, 10, 0.34248, 0.99061), (70, 100, 0.53716, 0.83435)],
)
def test_published_values(wins, n, low, high):
    got = confidence_sequence(wins, n)
    assert (got.low, got.high) == (pytest.approx(low, abs=5e-6), pytest.approx(high, abs=5e-6))


def test_it_excludes_one_half_exactly_where_the_e_value_reaches_20():
    for n in (5, 20, 80):
        for wins in range(n + 1):
            got = confidence_sequence(wins, n)
            excluded = got.low > 0.5 or got.high < 0.5
            assert excluded == (e_value(wins, n) > E_VALUE_THRESHOLD)


def test_no_votes_and_unanimous_votes():
    assert confidence_sequence(0, 0).value is None
    assert confidence_sequence(0, 5).low == 0.0
    assert confidence_sequence(5, 5).high == 1.0


@pytest.mark.extra
def test_looking_after_every_vote_seldom_excludes_a_fair_coin():
    draw = np.random.default_rng(2)
    ever = fixed = 0
    for _ in range(400):
        won = np.cumsum(draw.integers(0, 2, 200)).tolist()
        looks = [confidence_sequence(w, n) for n, w in enumerate(won, start=1)]
        ever += any(one.low > 0.5 or one.high < 0.5 for one in looks)
        ends = [wilson_bounds(w, n) for n, w in enumerate(won[9:], start=10)]
        fixed += any(low > 0.5 or high < 0.5 for low, high in ends)
    assert ever / 400 <= 0.05  # .041 by n = 200
    assert fixed / 400 > 0.2  # intervals for a fixed n: more than a quarter
