"""Decision rules by hand: one row of verdicts for each order, +1 for the first contestant."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from metrics.remedies import decision_rules as d

NAN = float("nan")
# Comparisons: agree on +, agree on −, flip, win and tie, two ties, one missing.
BOTH = np.array([[1, -1, 1, 1, 0, 1], [1, -1, -1, 0, 0, NAN]], float)


def said(decisions: d.Decisions) -> list[Any]:
    """(probability of the first, of the second) of each comparison, "?" if it is not known."""
    pairs = zip(decisions.first.tolist(), decisions.second.tolist(), strict=True)
    return ["?" if first != first else (first, second) for first, second in pairs]


def test_a_score_decides_by_its_sign_and_near_zero_not_at_all():
    score = np.array([0.2, -0.2, 0.0, 1e-7, -1e-7, 1e-5, NAN])
    plus, minus, none = (1, 0), (0, 1), (0, 0)
    assert said(d.decide_by_sign(score)) == [plus, minus, none, none, none, plus, "?"]


def test_rules_of_one_judge_in_two_orders():
    half = (0.5, 0.5)
    single = said(d.decide_by_one_call(BOTH))
    assert single == [(1, 0), (0, 1), half, (0.5, 0), (0, 0), "?"]
    assert said(d.decide_if_both_orders_agree(BOTH)) == [
        (1, 0),
        (0, 1),
        (0, 0),
        (0, 0),
        (0, 0),
        "?",
    ]
    assert said(d.decide_by_sum_of_orders(BOTH)) == [(1, 0), (0, 1), (0, 0), (1, 0), (0, 0), "?"]


def test_credit_is_one_a_half_or_nothing():
    rule = d.decide_by_one_call(BOTH[:, :5])
    truth = np.array([1.0, 1.0, 1.0, -1.0, 1.0])
    assert rule.probability_decided.tolist() == [1, 1, 1, 0.5, 0]
    assert rule.sign.tolist() == [1, -1, 0, 0.5, 0]
    assert rule.probability_right(truth).tolist() == [1, 0, 0.5, 0, 0]
    # Undecided counts half: the fourth is wrong with ½ and undecided with ½.
    assert rule.credit(truth).tolist() == [1, 0, 0.5, 0.25, 0.5]
    thirds = d.Decisions(np.array([0.0]), np.array([0.4]), 1 / 3)
    assert thirds.credit(np.array([1.0])).tolist() == pytest.approx([0.2])


def test_repeats_are_decided_by_their_majority():
    # [order, repeat, comparison]: first order + + −, second − − −; then a tie of + and −.
    repeats = np.array([[[1, 1], [1, -1], [-1, 1]], [[-1, -1], [-1, -1], [-1, 1]]], float)
    assert said(d.decide_by_majority_in_one_order(repeats, 3)) == [(0.5, 0.5), (0.5, 0.5)]
    assert said(d.decide_by_majority_in_one_order(repeats, 1)) == [(0.5, 0.5), (0.5, 0.5)]
    assert said(d.decide_by_majority_in_one_order(repeats, 2)) == [(0.5, 0.5), (0, 0.5)]
    assert said(d.decide_by_majority_of_both_orders(repeats, 3)) == [(0, 1), (0, 0)]
    assert said(d.decide_by_majority_of_both_orders(repeats, 2)) == [(0, 0), (0, 1)]
    assert said(d.decide_by_majority_of_both_orders(repeats, 1)) == [(0, 0), (0, 0)]


def test_graded_scores_are_averaged_and_need_their_margin():
    graded = np.array([[0.8, 0.5, -0.4, NAN], [0.0, -0.5, -0.2, 0.1]])
    assert said(d.decide_by_mean_graded_score(graded)) == [(1, 0), (0, 0), (0, 1), "?"]
    # Means .4, 0 and −.3.
    assert said(d.decide_by_margin(graded, 0.3)) == [(1, 0), (0, 0), (0, 1), "?"]
    assert said(d.decide_by_margin(graded, 0.35)) == [(1, 0), (0, 0), (0, 0), "?"]


def test_a_constant_lean_to_the_first_position_is_taken_out():
    """Content .3 for all, and .5 for the first position: +.8 in the first order, −.2 in the
    second. Corrected on other items both are .3."""
    graded = np.tile([[0.8], [-0.2]], (1, 10))
    labels, items = np.zeros((2, 10), np.int16), np.arange(10)
    assert d.calibrated_scores(graded, labels, items) == pytest.approx(np.full((2, 10), 0.3))
    assert said(d.decide_by_calibrated_call(graded, labels, items)) == [(1, 0)] * 10
    # All items in one fold: no other items to learn from, so nothing is changed.
    same = d.calibrated_scores(graded, labels, np.zeros(10, np.int64))
    assert same == pytest.approx(graded)


def test_labels_have_effects_of_their_own():
    # Arrangement 0 leans by .5, arrangement 1 not at all; content .3.
    graded = np.array([[0.8] * 10 + [0.3] * 10, [-0.2] * 10 + [0.3] * 10])
    labels = np.repeat([[0] * 10 + [1] * 10], 2, axis=0).astype(np.int16)
    got = d.calibrated_scores(graded, labels, np.tile(np.arange(10), 2))
    assert got == pytest.approx(np.full((2, 20), 0.3))


def test_the_own_fold_is_not_learnt_from():
    # Item 0 leans by 1, the other nine by .5: it is corrected by their .5, they by both.
    graded = np.tile([[0.5], [-0.5]], (1, 10))
    graded[:, 0] = [1.0, -1.0]
    got = d.calibrated_scores(graded, np.zeros((2, 10), np.int16), np.arange(10))
    assert got[:, 0].tolist() == pytest.approx([0.5, -0.5])
    # Item 5 is in the same fold as item 0; item 1 learns from 0 and seven others.
    assert got[:, 5].tolist() == pytest.approx([0, 0])
    assert got[0, 1] == pytest.approx(0.5 - (1.0 + 7 * 0.5) / 8)


def test_juries_sum_their_votes():
    plus, flip = np.array([[1.0], [1.0]]), np.array([[1.0], [-1.0]])
    # Two judges in opposite orders: + and −, or + and +.
    assert said(d.decide_by_jury([plus, flip])) == [(0.5, 0)]
    assert said(d.decide_by_jury([flip, flip])) == [(0, 0)]
    assert said(d.decide_by_full_jury([plus, flip])) == [(1, 0)]
    assert d.sum_of_jury_verdicts([plus, flip, plus]).tolist() == [4]
    assert said(d.decide_by_judge_in_turn([plus, flip])) == [(0.75, 0.25)]
    assert [one.tolist() for one in d.alternating_calls([plus, flip, flip], 1)] == [[1], [1], [-1]]
    assert [one.tolist() for one in d.alternating_calls([plus, flip, flip], 0)] == [[1], [-1], [1]]


def test_people_are_asked_first_where_the_orders_differ():
    # Four comparisons: one flips. People always say the second.
    verdicts = np.array([[1.0, 1, 1, 1], [1, 1, 1, -1]])
    votes = np.zeros(4), np.ones(4)
    # A quarter: only the flip. Half: the flip, and a third of the others. An eighth: half the flip.
    assert said(d.decide_with_share_sent_to_people(verdicts, votes, 0.25)) == [(1, 0)] * 3 + [
        (0, 1)
    ]
    half = said(d.decide_with_share_sent_to_people(verdicts, votes, 0.5))
    assert half[3] == (0, 1) and half[0] == pytest.approx((2 / 3, 1 / 3))
    assert said(d.decide_with_share_sent_to_people(verdicts, votes, 0.125)) == [(1, 0)] * 3 + [
        (0, 0.5)
    ]
    assert said(d.decide_with_share_sent_to_people(verdicts, votes, 0.0)) == [(1, 0)] * 3 + [(0, 0)]
    assert said(d.decide_with_share_sent_to_people(verdicts, votes, 1.0)) == [(0, 1)] * 4


def test_cases_without_a_vote_or_a_verdict_are_not_sent():
    verdicts = np.array([[1.0, 1, NAN, 1], [1, -1, 1, -1]])
    votes = np.array([0.0, 0, 0, NAN]), np.array([1.0, 1, 1, NAN])
    # Two of four can be sent, one of them flips: half of them is the flip.
    assert said(d.decide_with_share_sent_to_people(verdicts, votes, 0.5)) == [
        (1, 0),
        (0, 1),
        "?",
        "?",
    ]
    # All flip: each is sent with the same probability.
    flips = np.array([[1.0, 1], [-1, -1]])
    asked = d.decide_with_share_sent_to_people(flips, (np.ones(2), np.zeros(2)), 0.5)
    assert said(asked) == [(0.5, 0), (0.5, 0)]
    # None flips: the share comes from all.
    alike = d.decide_with_share_sent_to_people(np.ones((2, 2)), (np.zeros(2), np.ones(2)), 0.5)
    assert said(alike) == [(0.5, 0.5), (0.5, 0.5)]


def test_a_score_that_equals_the_margin_reaches_it():
    # 0.7 is stored as 0.69999999 in 32 bits.
    graded = np.array([[0.7, 0.69], [0.7, 0.69]], np.float32)
    assert said(d.decide_by_margin(graded, 0.7)) == [(1, 0), (0, 0)]
