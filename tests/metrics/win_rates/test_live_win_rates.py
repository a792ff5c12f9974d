"""Win rates with bounds valid at every look: votes by hand, and errors under constant looking."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.special import beta

from metrics.estimation.planning.confidence_sequence import confidence_sequence
from metrics.win_rates.live_win_rates import live_win_rates
from tests.metrics.frames import build, pair, rotated


def test_an_item_votes_once_with_the_mean_of_its_comparisons():
    # q1: x wins in both orders for one judge, y for another (½). q2: x wins when first, y when
    # first (½). q3: a tie and a win of x (¾). q4: one order only (no vote).
    rows = [*pair("q1", 0, 1), *pair("q1", 1, 0, judge="k"), *pair("q2", 0, 0)]
    rows += [*pair("q3", "tie", 1), pair("q4", 0, 1)[0]]
    got = live_win_rates(build(rows))
    assert list(got) == ["x", "y"]
    assert (got["x"].value, got["x"].n) == (pytest.approx(1.75 / 3), 3)
    assert got["y"].value == pytest.approx(1.25 / 3)
    assert (got["x"].low, got["x"].high) == pytest.approx(
        (confidence_sequence(1.75, 3).low, confidence_sequence(1.75, 3).high)
    )
    assert got["x"].low == pytest.approx(1 - got["y"].high)


def test_an_item_has_no_vote_before_all_its_planned_calls_are_answered():
    # Unreadable replies are answers too; repeats for the noise floor are not planned calls.
    rows = [*pair("q1", 0, 1), *pair("q2", 1, 0), *pair("q2", 1, 0, noise=True)]
    rows += [*pair("q3", 1, 0), *pair("q3", 1, 1, judge="k", status="unreadable")]
    votes = {
        item: live_win_rates(build(rows), {"q1": 2, "q2": 2, "q3": 4} | {item: 5})["x"].n
        for item in ("q0", "q1", "q2", "q3")
    }
    assert votes == {"q0": 3, "q1": 2, "q2": 2, "q3": 2}


def test_the_first_opponent_of_every_item_does_not_decide_the_rate():
    """y always meets x first and loses, then wins against z: as often as against both."""
    rows = [
        row
        for k in range(30)
        for row in (
            *pair(f"q{k}", 0, 1),
            *pair(f"q{k}", 0, 1, x="y", y="z"),
            *pair(f"q{k}", 0, 1, y="z"),
        )
    ]
    got = {name: one.value for name, one in live_win_rates(build(rows)).items()}
    assert got == pytest.approx({"x": 1.0, "y": 0.5, "z": 0.0})


def test_hundred_items_have_the_published_bounds():
    rows = [row for k in range(100) for row in pair(f"q{k}", *((0, 1) if k < 60 else (1, 0)))]
    got = live_win_rates(build(rows))["x"]
    assert (got.low, got.high) == pytest.approx((0.43431, 0.75143), abs=5e-6)


def test_among_options_a_vote_is_the_share_of_rotations():
    got = live_win_rates(build(rotated("q", [1, 2, 0]) + rotated("r", [0, 0, 0])))
    assert got["o0"].value == pytest.approx((1 + 1 / 3) / 2) and got["o0"].n == 2


def test_no_verdicts_give_no_rates():
    assert live_win_rates(build([])) == {}


@pytest.mark.parametrize(("wins", "n"), [(2.25, 3), (0.5, 8), (11.75, 20), (0.05, 1)])
def test_fractional_votes_solve_the_definition(wins, n):
    # B(w + ½, n − w + ½)/B(½, ½) as an integral over the arcsine distribution.
    mixture = quad(lambda q: q ** (wins - 0.5) * (1 - q) ** (n - wins - 0.5), 0, 1, limit=200)[0]
    mixture /= beta(0.5, 0.5)
    got = confidence_sequence(wins, n)
    for end in (got.low, got.high):
        inside = 0 < end < 1
        likelihood = end**wins * (1 - end) ** (n - wins) if inside else None
        assert not inside or mixture == pytest.approx(20 * likelihood, rel=1e-3)


@pytest.mark.extra
def test_looking_after_every_item_seldom_excludes_the_mean_of_graded_votes():
    draw, ever = np.random.default_rng(4), 0
    for _ in range(300):
        votes = draw.choice([0.0, 0.25, 0.5, 1.0], p=[0.3, 0.2, 0.2, 0.3], size=120)
        looks = [confidence_sequence(float(w), n) for n, w in enumerate(votes.cumsum(), start=1)]
        ever += any(not one.low <= 0.45 <= one.high for one in looks)
    assert ever / 300 <= 0.05
