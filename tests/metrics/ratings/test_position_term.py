"""The position term: hand-worked values, refusals, regularisation, invariances."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given

from metrics.ratings.position_term import (
    NO_VERDICTS_NOTE,
    PositionModel,
    fit_position_model,
    position_term,
)
from tests.metrics.battle_frames import all_finite, duels, fought, simulated, some_battles
from tests.metrics.frames import build

ORDERED = [
    ("A", "B", 8, 2),
    ("B", "A", 5, 5),
    ("A", "C", 9, 1),
    ("C", "A", 4, 6),
    ("B", "C", 7, 3),
    ("C", "B", 6, 4),
]
# (first, second, first wins, second wins, ties)
WITH_TIES = [
    ("A", "B", 16, 8, 6),
    ("B", "A", 12, 12, 6),
    ("A", "C", 20, 5, 5),
    ("C", "A", 10, 14, 6),
    ("B", "C", 15, 8, 7),
    ("C", "B", 12, 10, 8),
]


def strengths(model: PositionModel) -> dict[str, float | None]:
    return {name: strength.value for name, strength in model.strength.items()}


def gamma(frame: pd.DataFrame) -> float | None:
    return position_term(frame).value


def test_sixty_ordered_battles_give_the_term_worked_out_elsewhere():
    model = fit_position_model(duels(ORDERED))
    expected = {"A": 0.637524, "B": -0.159520, "C": -0.478004}
    assert strengths(model) == pytest.approx(expected, abs=1e-6)
    assert model.gamma["all"].value == pytest.approx(0.717255, abs=1e-6)
    assert model.first_if_equal["all"].value == pytest.approx(0.672002, abs=1e-6)


def test_the_model_error_of_the_oracle():
    from metrics.ratings import conditional_logit
    from metrics.ratings.battles import extract_battles
    from metrics.ratings.position_term import PositionDesign

    layout = PositionDesign(extract_battles(duels(ORDERED)), "half")
    variance = np.diag(conditional_logit.fit_conditional_logit(layout.problem).model)[
        layout.position_term_columns
    ]
    assert np.sqrt(variance) == pytest.approx([0.299055], abs=1e-6)


def test_ignoring_the_place_shrinks_strengths_even_in_a_balanced_design():
    # The maximum of the likelihood: without γ θ = (0.567541, −0.142161, −0.425380).
    from metrics.ratings.bradley_terry import connected_leaderboards

    (board,) = connected_leaderboards(duels(ORDERED))
    assert board.theta == pytest.approx([0.567541, -0.142161, -0.425380], abs=1e-6)


def test_ties_as_a_third_outcome_give_the_terms_worked_out_elsewhere():
    model = fit_position_model(duels(WITH_TIES), ties="davidson")
    expected = {"A": 0.40532, "B": -0.04505, "C": -0.36027}
    assert strengths(model) == pytest.approx(expected, abs=1e-5)
    assert model.gamma["all"].value == pytest.approx(0.42243, abs=1e-5)
    assert model.nu["all"].value == pytest.approx(0.566016, abs=1e-6)
    assert model.log_likelihood == pytest.approx(-183.57378, abs=1e-5)


def test_judges_share_strengths_and_have_their_own_term():
    # The second judge is the first with every place turned: γ changes its sign, θ stays.
    turned = [(b, a, lost, won) for a, b, won, lost in ORDERED]
    both = pd.concat([duels(ORDERED, judge="x"), duels(turned, judge="y")], ignore_index=True)
    for name in ("judge", "item"):
        both[name] = both[name].astype(str).astype("category")
    model = fit_position_model(both)
    assert model.gamma["x"].value == pytest.approx(0.717255, abs=1e-5)
    assert model.gamma["y"].value == pytest.approx(-0.717255, abs=1e-5)
    assert strengths(model)["A"] == pytest.approx(0.637524, abs=1e-5)


@pytest.mark.parametrize(
    "counts",
    [
        [("A", "B", 5, 3)],
        [("A", "B", 5, 3), ("A", "C", 3, 2), ("A", "D", 1, 2)],
        [("A", "B", 5, 3), ("B", "C", 3, 2)],
    ],
    ids=["one order", "the baseline always first", "a chain"],
)
def test_a_design_that_leaves_the_place_open_is_refused(counts):
    model = fit_position_model(duels(counts))
    assert model.gamma["all"].value is None
    assert "run both orders" in model.gamma["all"].note
    assert model.first_if_equal["all"].value is None


def test_a_cycle_in_one_order_each_is_identified_with_a_badge():
    # A–B, B–C, C–A: three log-odds, two strengths and γ, so γ = their mean:
    # (ln 5/3 + ln 3/2 + ln 4/3)/3 = ln(10/3)/3 = 0.401324.
    term = position_term(duels([("A", "B", 5, 3), ("B", "C", 3, 2), ("C", "A", 4, 3)]))
    assert term.value == pytest.approx(np.log(10 / 3) / 3)
    assert "transitivity" in term.note


def test_a_judge_in_one_order_is_refused_and_the_others_are_not():
    # Judge y saw only islands of its own, in one order: nothing of x speaks about them.
    both = pd.concat(
        [duels(ORDERED, judge="x"), duels([("D", "E", 3, 2)], judge="y")], ignore_index=True
    )
    both["judge"] = both["judge"].astype(str).astype("category")
    for name in ("first", "second"):
        both[name] = pd.Categorical(both[name].astype(str), categories=list("ABCDE"))
    both["item"] = both.index.astype(str).astype("category")
    model = fit_position_model(both)
    assert model.gamma["x"].value == pytest.approx(0.717255, abs=1e-6)
    assert model.gamma["y"].value is None
    assert "run both orders" in model.gamma["y"].note


def test_a_judge_who_always_answers_first_is_regularised_with_a_badge():
    # 5:0 and 5:0 with 0.1 added: ln(5.1/0.1) = 3.931826, no interval.
    model = fit_position_model(duels([("A", "B", 5, 0), ("B", "A", 5, 0)]))
    term = model.gamma["all"]
    assert term.value == pytest.approx(np.log(51))
    assert (term.low, term.high) == (None, None)
    assert "no finite fit" in term.note
    assert model.regularised


def test_a_judge_who_is_always_right_says_nothing_about_places():
    # A wins from both places: θ runs off and any γ fits. Zero by symmetry, but no interval.
    term = position_term(duels([("A", "B", 5, 0), ("B", "A", 0, 5)]))
    assert term.value == pytest.approx(0, abs=1e-9)
    assert term.low is None
    assert "no finite fit" in term.note


def test_the_interval_covers_by_items():
    # Both orders of one pair per item: y1 + y2 − 1 is the item's lean. Ten items first twice,
    # five second twice, five split: p = 25/40 overall, one strength at zero.
    rows = []
    for item in range(20):
        picks = (0, 0) if item < 10 else (1, 1) if item < 15 else (0, 1)
        rows += [(item, "A", "B", picks[0]), (item, "B", "A", picks[1])]
    term = position_term(fought(rows))
    assert term.value is not None and term.low < term.value < term.high
    assert (term.n, term.items) == (40, 20)


@given(some_battles())
def test_renaming_contestants_leaves_the_term_alone(rows):
    new = dict(zip("abcd", "zxwy", strict=True))
    renamed = fought([(i, new[a], new[b], pick) for i, a, b, pick in rows])
    assert gamma(renamed) == pytest.approx(gamma(fought(rows)), abs=1e-5)


@given(some_battles())
def test_showing_every_battle_the_other_way_round_turns_the_sign(rows):
    turned = {0: 1, 1: 0}
    swapped = fought([(item, b, a, turned.get(pick, pick)) for item, a, b, pick in rows])
    there, back = gamma(fought(rows)), gamma(swapped)
    assert (there is None) == (back is None)
    if there is not None and back is not None:
        assert back == pytest.approx(-there, abs=1e-5)


@given(some_battles(readable=True))
def test_unreadable_rows_change_nothing(rows):
    padded = fought([*rows, *((9, a, b, None) for _, a, b, _ in rows)])
    assert position_term(padded) == position_term(fought(rows))


@given(some_battles())
def test_whatever_comes_every_number_is_finite(rows):
    for ties in ("half", "davidson"):
        assert all_finite(fit_position_model(fought(rows), ties=ties))


@pytest.mark.parametrize("ties", ["half", "davidson"])
@pytest.mark.parametrize(
    "frame",
    [duels([]), fought([(0, "A", "B", None)]), duels([("A", "B", 0, 0, 4), ("B", "A", 0, 0, 4)])],
    ids=["no data", "all unreadable", "all ties"],
)
def test_thin_data_give_a_note(frame, ties):
    model = fit_position_model(frame, ties=ties)
    assert all_finite(model)
    assert model.note


def test_a_judge_nobody_could_read_is_named_with_the_reason():
    frame = build(
        [
            {"item": "1", "shown": ("A", "B"), "pick": 0, "judge": "x"},
            {"item": "1", "shown": ("B", "A"), "pick": 1, "judge": "x"},
            {"item": "2", "shown": ("A", "B"), "pick": None, "judge": "silent"},
        ]
    )
    assert fit_position_model(frame).gamma["silent"].note == NO_VERDICTS_NOTE


def test_a_simulated_bias_is_found():
    # The bias is 0.4 given the item; item effects with sd 0.7 and 15 % ties shrink it to about .3.
    term = position_term(simulated(np.random.default_rng(3), 60))
    assert term.low < 0.3 < term.high
    assert term.low > 0


def test_only_judges_with_ties_have_a_tie_parameter():
    """x: 4 wins of each and 8 ties in both orders, so ν is 2 (as likely as both wins together);
    y never ties, so ν is 0. Both see equal contestants."""
    both = [
        duels([("A", "B", 4, 4, 8), ("B", "A", 4, 4, 8)], judge="x"),
        duels([("A", "B", 5, 5), ("B", "A", 5, 5)], judge="y"),
    ]
    frame = pd.concat(both, ignore_index=True)
    for name in ("judge", "item"):
        frame[name] = frame[name].astype(str).astype("category")
    nu = fit_position_model(frame, ties="davidson").nu
    assert nu["x"].value == pytest.approx(2, abs=1e-6) and nu["x"].low < 2 < nu["x"].high
    assert (nu["y"].value, nu["y"].note) == (0, "no ties")


def test_transitivity_is_said_of_the_judge_without_both_orders() -> None:
    # x: A–B, B–C and C–A, never turned. y: the same, and B–A.
    cycle = [("A", "B", 5, 3), ("B", "C", 3, 2), ("C", "A", 4, 3)]
    frame = pd.concat(
        [duels(cycle, judge="x"), duels([*cycle, ("B", "A", 4, 3)], judge="y")], ignore_index=True
    )
    for name in ("judge", "item"):
        frame[name] = frame[name].astype(str).astype("category")
    notes = {name: one.note for name, one in fit_position_model(frame).gamma.items()}
    assert "transitivity" in notes["x"] and "transitivity" not in notes["y"]
