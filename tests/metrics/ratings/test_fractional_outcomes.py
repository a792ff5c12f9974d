"""Label probabilities as outcomes: fractional wins, intervals by items."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pytest
from scipy.optimize import minimize

from metrics.estimation import row_selection
from metrics.ratings.battles import extract_battles
from metrics.ratings.bradley_terry import (
    ELO_PER_LOGIT,
    bradley_terry_ratings,
    connected_leaderboards,
)
from metrics.ratings.rating_by_order import people_leaderboard
from metrics.win_rates.prediction_powered import corrected_win_rates
from metrics.win_rates.win_rates import win_rate
from tests.metrics.frames import build, pair, prd


def soft(item: str, first: tuple[float, float], second: tuple[float, float], **more):
    """x first with these shares of the two slots, then y first."""
    rows = pair(item, int(first[1] > first[0]), int(second[1] > second[0]), **more)
    rows[0]["p"], rows[1]["p"] = list(first), list(second)
    return rows


def test_a_win_rate_by_probabilities_is_their_mean():
    # x: .7 as first, .4 as second (the second slot of the second order); .9 and .8. Mean .7.
    rows = [*soft("q1", (0.7, 0.3), (0.6, 0.4)), *soft("q2", (0.9, 0.1), (0.2, 0.8))]
    got = win_rate(build(rows), outcome="probability")
    assert got["x"].value == pytest.approx(0.7, abs=1e-6)
    assert got["y"].value == pytest.approx(0.3, abs=1e-6)
    assert "by label probabilities" in got["x"].note
    # The same verdicts counted whole: x wins three of four.
    assert win_rate(build(rows))["x"].value == 0.75


def test_what_the_slots_lack_is_the_ties_and_is_shared():
    rows = build(soft("q1", (0.5, 0.3), (0.1, 0.7)))
    assert row_selection.points_from_probabilities(rows) == pytest.approx(
        np.array([[0.6, 0.4], [0.2, 0.8]])
    )
    assert win_rate(rows, outcome="probability")["x"].value == pytest.approx(0.7, abs=1e-6)


def test_a_verdict_without_probabilities_counts_whole():
    rows = [*soft("q1", (0.7, 0.3), (0.3, 0.7)), *pair("q2", 0, "tie")]
    got = win_rate(build(rows), outcome="probability")["x"]
    assert got.value == pytest.approx((0.7 + 0.7 + 1 + 0.5) / 4, abs=1e-6)


def test_bradley_terry_of_two_is_the_logit_of_the_mean():
    rng = np.random.default_rng(2)
    p, q = rng.beta(4, 2, 30), rng.beta(4, 2, 30)
    rows = [row for k in range(30) for row in soft(f"q{k}", (p[k], 1 - p[k]), (1 - q[k], q[k]))]
    (board,) = connected_leaderboards(build(rows), outcome="probability")
    mean = (p.mean() + q.mean()) / 2
    gap = board.gap("x", "y")
    assert gap.value == pytest.approx(ELO_PER_LOGIT * math.log(mean / (1 - mean)), abs=1e-3)
    # The delta method on item means: SE(logit) = SE(mean)/(m(1 − m)), t with 29 degrees.
    error = np.std((p + q) / 2, ddof=1) / math.sqrt(30) / (mean * (1 - mean))
    assert gap.high - gap.value == pytest.approx(ELO_PER_LOGIT * error * 2.04523, rel=1e-3)
    assert len(extract_battles(build(rows), outcome="probability")) == 60


def test_probabilities_of_0_and_1_are_the_verdicts():
    rows = [*soft("q1", (1, 0), (0, 1)), *soft("q2", (0, 1), (0, 1)), *soft("q3", (1, 0), (1, 0))]
    frame = build(rows)
    assert bradley_terry_ratings(frame, outcome="probability") == bradley_terry_ratings(frame)
    hard, same = win_rate(frame), win_rate(frame, outcome="probability")
    assert [one.value for one in hard.values()] == [one.value for one in same.values()]


def _ratings_of_mean_votes(frame: pd.DataFrame) -> dict[str, float]:
    """Second implementation: one fractional outcome for each comparison, the likelihood maximised
    by a general optimiser."""
    votes = frame[frame["judge"].astype(str).str.startswith("human:") & (frame["pick"] >= -1)]
    outcomes: dict[tuple[str, ...], list[float]] = {}
    for item, first, second, pick in votes[["item", "first", "second", "pick"]].to_numpy():
        low, high = sorted((first, second))
        won = 0.5 if pick not in (0, 1) else float((first, second)[pick] == low)
        outcomes.setdefault((item, low, high), []).append(won)
    names = sorted({name for _, *both in outcomes for name in both})
    low = np.array([names.index(key[1]) for key in outcomes])
    high = np.array([names.index(key[2]) for key in outcomes])
    mean = np.array([np.mean(each) for each in outcomes.values()])

    def loss(theta: np.ndarray) -> float:
        gap = theta[low] - theta[high]
        return float((mean * np.logaddexp(0, -gap) + (1 - mean) * np.logaddexp(0, gap)).sum())

    theta = minimize(loss, np.zeros(len(names)), tol=1e-10).x
    return dict(zip(names, 1000 + ELO_PER_LOGIT * (theta - theta.mean()), strict=True))


def _vote(item: str, person: str, pick: object, shown: tuple[str, str] = ("x", "y")):
    """One vote; `pick` is the slot."""
    return {"item": item, "judge": f"human:{person}", "shown": shown, "pick": pick, "orders": 1}


def test_three_votes_on_a_comparison_are_no_three_comparisons():
    """One comparison with three votes for x, one with a vote for y: as many points for both. The
    order of the answers differs between the votes."""
    rows = [_vote("q1", "ann", 0), _vote("q1", "bob", 1, ("y", "x")), _vote("q1", "eve", 0)]
    board = people_leaderboard(build([*rows, _vote("q2", "ann", 1)]))
    assert board.gap("x", "y").value == pytest.approx(0, abs=1e-6)
    assert board.matches.tolist() == [2, 2]
    # Two of three votes and a tie: x has (2/3 + 1/2)/2 = 7/12 of the points.
    rows[2]["pick"] = 1
    board = people_leaderboard(build([*rows, _vote("q2", "ann", "tie")]))
    assert board.gap("x", "y").value == pytest.approx(ELO_PER_LOGIT * math.log(7 / 5), abs=1e-3)


def test_votes_on_pairs_chosen_for_their_flips_enter_no_ranking():
    frame = build([_vote("q1", "ann", 0), _vote("q2", "ann", 1), _vote("q3", "ann", 0)])
    frame["chosen"] = ["", "", "flipped"]
    assert people_leaderboard(frame).matches.tolist() == [2, 2]


def test_peoples_ranking_of_prd_counts_every_comparison_once():
    """The pairs of claude-v1 have one vote, all others three. The numbers were computed apart from
    this code."""
    board = people_leaderboard(prd())
    found = {name: rating.value for name, rating in board.ratings.items()}
    assert found == pytest.approx(_ratings_of_mean_votes(prd()), abs=0.01)
    told = {"gpt-4": 1173.4, "claude-v1": 1120.4, "vicuna-13b": 937.1, "gpt-3.5-turbo": 897.1}
    assert found == pytest.approx({**told, "bard": 872.0}, abs=0.05)
    assert board.gap("gpt-4", "claude-v1").value == pytest.approx(53.0, abs=0.1)
    assert {rating.n for rating in board.ratings.values()} == {320}
    rates = corrected_win_rates(prd())
    assert list(board.names) == sorted(rates, key=lambda name: -rates[name].people.value)


def test_rules_that_need_a_winner_are_refused():
    frame = build(soft("q1", (0.7, 0.3), (0.6, 0.4)))
    with pytest.raises(ValueError, match="combine 'pooled'"):
        win_rate(frame, combine="strict", outcome="probability")
    with pytest.raises(ValueError, match="ties 'half'"):
        win_rate(frame, ties="drop", outcome="probability")
    with pytest.raises(ValueError, match="Known: verdict, probability"):
        win_rate(frame, outcome="odds")
    with pytest.raises(ValueError, match="Known: verdict, probability"):
        bradley_terry_ratings(frame, outcome="odds")


def test_nothing_read_or_no_probabilities_is_as_without_them():
    assert win_rate(build([]), outcome="probability") == {}
    assert bradley_terry_ratings(build([]), outcome="probability") == {}
    plain = build(pair("q1", 0, "tie"))
    assert bradley_terry_ratings(plain, outcome="probability") == bradley_terry_ratings(plain)
    unread = build(pair("q1", None, None))
    assert win_rate(unread, outcome="probability")["x"].value is None
