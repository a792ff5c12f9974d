"""Tie models: hand-worked values and edge cases."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given

from metrics.ratings.bradley_terry import connected_leaderboards
from metrics.ratings.tie_models import (
    PSEUDO_COUNT,
    TieModel,
    _RaoKupperLikelihood,
    fit_davidson,
    fit_rao_kupper,
)
from tests.metrics.battle_frames import all_finite, duels, fought, some_battles

# Wins of three models with ties A–B 4, A–C 3, B–C 5.
TIED = [("A", "B", 7, 3, 4), ("A", "C", 8, 2, 3), ("B", "C", 6, 4, 5)]


def strengths(model: TieModel) -> dict[str, float | None]:
    return {name: strength.value for name, strength in model.strength.items()}


def test_davidson_gives_what_was_worked_out_elsewhere():
    model = fit_davidson(duels(TIED))
    expected = {"A": 0.76479, "B": -0.15818, "C": -0.60662}
    assert strengths(model) == pytest.approx(expected, abs=1e-5)
    assert model.parameter.value == pytest.approx(0.89262, abs=1e-5)
    assert model.log_likelihood == pytest.approx(-42.86675, abs=1e-5)


def test_rao_kupper_gives_what_was_worked_out_elsewhere():
    model = fit_rao_kupper(duels(TIED))
    expected = {"A": 0.58730, "B": -0.12269, "C": -0.46461}
    assert strengths(model) == pytest.approx(expected, abs=1e-5)
    assert model.parameter.value == pytest.approx(1.94482, abs=1e-5)
    assert model.log_likelihood == pytest.approx(-42.82996, abs=1e-5)


def test_half_wins_shrink_the_gaps_and_keep_the_order():
    (board,) = connected_leaderboards(duels(TIED))
    assert board.theta == pytest.approx([0.52521, -0.10851, -0.41670], abs=1e-5)
    assert board.names == tuple(fit_davidson(duels(TIED)).strength) == ("A", "B", "C")


@pytest.mark.parametrize(("fit", "never"), [(fit_davidson, 0.0), (fit_rao_kupper, 1.0)])
def test_without_ties_the_parameter_is_dropped(fit, never):
    # 7:3 only: plain Bradley–Terry, θ = ± ln(7/3)/2 = ± 0.423649.
    model = fit(duels([("A", "B", 7, 3)]))
    assert model.parameter.value == never
    assert strengths(model) == pytest.approx({"A": 0.423649, "B": -0.423649}, abs=1e-6)
    assert "no ties" in model.note


@pytest.mark.parametrize("fit", [fit_davidson, fit_rao_kupper])
def test_only_ties_make_everyone_equal(fit):
    model = fit(duels([("A", "B", 0, 0, 5)]))
    assert strengths(model) == {"A": 0.0, "B": 0.0}
    assert model.parameter.value is None
    assert "only ties" in model.note


@pytest.mark.parametrize("fit", [fit_davidson, fit_rao_kupper])
def test_groups_that_never_met_are_refused(fit):
    model = fit(duels([("A", "B", 2, 1), ("C", "D", 1, 2)]))
    assert model.strength == {}
    assert "never compared" in model.note


@pytest.mark.parametrize("fit", [fit_davidson, fit_rao_kupper])
def test_one_side_winning_everything_is_regularised(fit):
    model = fit(duels([("A", "B", 5, 0), ("A", "C", 5, 0), ("B", "C", 3, 2, 1)]))
    assert model.regularised
    assert model.strength["A"].low is None
    assert "no finite fit" in model.strength["A"].note


def test_added_wins_give_a_pair_without_a_loss_finite_strengths_and_leave_its_ties():
    # Three wins and two ties: with PSEUDO_COUNT added to both sides' wins, one pair is fitted
    # exactly. Davidson: α_A/α_B = won/lost, ν = ties/√(won·lost). Rao–Kupper, with p and q the
    # shares won and lost: α_A/α_B = κp/(1 − p), and κ² = (1 − p)(1 − q)/(pq).
    won, lost, ties = 3 + PSEUDO_COUNT, PSEUDO_COUNT, 2
    frame = duels([("A", "B", 3, 0, 2)])
    davidson, rao_kupper = fit_davidson(frame), fit_rao_kupper(frame)
    gap = davidson.strength["A"].value - davidson.strength["B"].value
    assert gap == pytest.approx(math.log(won / lost), abs=1e-5)
    assert davidson.parameter.value == pytest.approx(ties / math.sqrt(won * lost), rel=1e-5)
    p, q = won / (won + lost + ties), lost / (won + lost + ties)
    kappa = math.sqrt((1 - p) * (1 - q) / (p * q))
    gap = rao_kupper.strength["A"].value - rao_kupper.strength["B"].value
    assert gap == pytest.approx(math.log(kappa * p / (1 - p)), abs=1e-5)
    assert rao_kupper.parameter.value == pytest.approx(kappa, rel=1e-5)


@pytest.mark.parametrize("fit", [fit_davidson, fit_rao_kupper])
def test_wins_and_ties_without_a_loss_have_no_finite_fit(fit):
    # A tie does not hold A back: strength and the tie parameter run off together.
    model = fit(duels([("A", "B", 2, 0, 1)]))
    assert model.regularised
    assert model.strength["A"].low is None
    assert all_finite(model)
    turned = fit(duels([("A", "B", 0, 2, 1)]))
    assert turned.strength["B"].value == pytest.approx(model.strength["A"].value)


@given(some_battles())
@pytest.mark.parametrize("fit", [fit_davidson, fit_rao_kupper])
def test_whatever_comes_every_number_is_finite(fit, rows):
    assert all_finite(fit(fought(rows)))


@given(some_battles())
@pytest.mark.parametrize("fit", [fit_davidson, fit_rao_kupper])
def test_swapping_all_verdicts_mirrors_the_strengths(fit, rows):
    turned = {0: 1, 1: 0}
    lost = fit(fought([(item, a, b, turned.get(pick, pick)) for item, a, b, pick in rows]))
    mirror = {name: -(value or 0.0) for name, value in strengths(fit(fought(rows))).items()}
    assert strengths(lost) == pytest.approx(mirror, abs=1e-5)


@pytest.mark.parametrize("fit", [fit_davidson, fit_rao_kupper])
def test_thin_data_give_a_note(fit):
    for frame in (duels([]), fought([(0, "A", "B", None)])):
        assert fit(frame).note == "no readable verdict"
    assert all_finite(fit(duels([("A", "B", 1, 0)])))


def test_a_step_is_halved_until_ties_are_possible_and_the_likelihood_does_not_fall():
    """One pair with two wins, a tie and a loss, from θ₁ − θ₂ = .1 and η = 1.2."""
    sides = _RaoKupperLikelihood(np.array([[1.0]]))
    counts = np.array([[2.0, 1.0, 1.0]])

    def likelihood(d: float, eta: float) -> float:
        won, lost = 1 / (1 + math.exp(eta - d)), 1 / (1 + math.exp(eta + d))
        return 2 * math.log(won) + math.log(1 - won - lost) + math.log(lost)

    start = np.array([0.1, 1.2])
    assert sides.log_likelihood(start, counts) == pytest.approx(likelihood(*start))
    for step in ([0.0, -1.5], [0.0, -1.2], [9.0, 0.0], [0.3, -0.2], [-40.0, 3.0]):
        tried = [start + np.array(step) * 0.5**k for k in range(60)]
        possible = [one for one in tried if one[1] > 0]
        better = [one for one in possible if likelihood(*one) >= likelihood(*start)]
        wanted = better[0] if better else start
        assert sides.line_search(start, np.array(step), counts) == pytest.approx(wanted, abs=1e-6)
    worse = np.array([0.0, 4.0])
    assert sides.line_search(start, worse, counts) == pytest.approx(start, abs=1e-6)
