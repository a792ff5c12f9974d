"""Agreement: coefficients against published tables, judges against people."""

from __future__ import annotations

import evalica
import numpy as np
import pandas as pd
import pytest

from metrics.agreement import agreement_coefficients as r
from metrics.agreement import majority_agreement as a
from tests.metrics.frames import build, pair, prd
from tests.metrics.reference_coefficients import (
    cohen_kappa,
    cohen_kappa_from_table,
    krippendorff_alpha,
)

_ = np.nan
WIKIPEDIA_ALPHA = [
    [_, _, _, _, _, 3, 4, 1, 2, 1, 1, 3, 3, _, 3],
    [1, _, 2, 1, 3, 3, 4, 3, _, _, _, _, _, _, _],
    [_, _, 2, 1, 3, 4, 4, _, 2, 1, 1, 3, 3, _, 4],
]


def test_cohens_kappa_with_its_standard_error():
    got = cohen_kappa([1, 1, 0, 1, 0, 0, 1, 1, 0, 1], [1, 0, 0, 1, 0, 1, 1, 1, 0, 0])
    assert got.observed == pytest.approx(0.7)
    assert got.kappa == pytest.approx(0.4)
    assert got.error == pytest.approx(0.283972, abs=1e-6)


def test_one_category_has_an_agreement_and_no_kappa():
    got = cohen_kappa([1, 1, 1], [1, 1, 1])
    assert (got.observed, got.kappa) == (1, None)
    assert "one category" in got.note
    assert cohen_kappa([], []).kappa is None


def test_the_reference_alpha_is_the_published_one_and_evalicas():
    units = pd.DataFrame(np.array(WIKIPEDIA_ALPHA))
    assert krippendorff_alpha(WIKIPEDIA_ALPHA) == pytest.approx(0.691358, abs=1e-6)
    assert krippendorff_alpha(WIKIPEDIA_ALPHA) == pytest.approx(
        evalica.alpha(units).alpha, abs=1e-9
    )


def test_rank_correlations():
    first, second = [1, 2, 3, 4, 5, 6, 7, 8], [2, 1, 3, 4, 6, 5, 8, 7]
    assert r.spearman_correlation(first, second) == pytest.approx(0.928571, abs=1e-6)
    assert r.spearman_correlation([1], [1]) is None


def vote(item: str, who: str, pick, margin: int = 1, shown: str = "xy"):
    return {
        "item": item, "judge": f"human:{who}", "prompt": "vote", "shown": shown,
        "pick": pick, "margin": margin, "orders": 1,
    }  # fmt: skip


PEOPLE = [
    *(vote("q1", who, 0) for who in "abc"),  # x
    vote("q2", "a", 0), vote("q2", "b", 0, shown="yx"), vote("q2", "c", "tie"),  # three ways: tie
    vote("q3", "a", 1), vote("q3", "b", 1), vote("q3", "c", 0),  # y
]  # fmt: skip


def test_each_verdict_is_held_against_the_peoples_majority():
    # q1 (x): x, x → 2 of 2. q2 (tie): x, tie → 1 of 2. q3 (y): y, x → 1 of 2. q4: no people, out.
    judge = [*pair("q1", 0, 1), *pair("q2", 0, "tie"), *pair("q3", 1, 1), *pair("q4", 0, 0)]
    got = a.agreement_with_people_table(build([*PEOPLE, *judge]))[("j",)]
    assert (got["agreement"].value, got["agreement"].n) == (pytest.approx(4 / 6), 6)
    # Decisive on both sides: q1 two, q3 two, 3 of 4 right.
    assert (got["agreement_decisive"].value, got["agreement_decisive"].n) == (0.75, 4)
    assert got["kappa"].value is not None


def test_judges_are_compared_on_the_same_order_of_the_same_pair():
    # j: x, x; k: x, y (slots 0, 0). Same first verdict, other second: 1 of 2.
    rows = [*pair("q1", 0, 1), *pair("q1", 0, 0, judge="k"), *pair("q2", 0, 0, judge="k")]
    got = a.equal_verdict_share_matrix(build(rows))
    assert (got["j"]["k"].value, got["j"]["k"].n) == (0.5, 2)
    assert got["j"]["k"] == got["k"]["j"]


def test_without_people_there_is_a_reason_not_a_zero():
    frame = build(pair("q", 0, 0))
    assert a.agreement_with_people_table(frame) == {}
    assert a.agreement_with_people_measure().estimate(build([])).value is None
    assert a.equal_verdict_share_matrix(build([])) == {}


def test_prd_people_and_gpt_4_are_as_published():
    frame = prd()
    table = a.agreement_with_people_table(frame)
    assert table[("gpt-4",)]["agreement"].value == pytest.approx(0.643125, abs=1e-12)
    assert table[("gpt-4",)]["agreement"].n == 1600


def test_the_correlations_are_none_for_a_constant_and_those_of_their_formulas():
    first, second = [1.0, 2.0, 3.0], [2.0, 4.0, 9.0]
    # Deviations −1, 0, 1 and −3, −1, 4: 7/√(2·26).
    assert r.pearson_correlation(first, second) == pytest.approx(7 / 52**0.5)
    assert r.spearman_correlation(first, second) == pytest.approx(1)
    assert r.pearson_correlation([1, 2], [5, 3]) == pytest.approx(-1)
    for constant in ([1, 1, 1], [2, 2, 2]):
        assert r.pearson_correlation(constant, first) is None
        assert r.spearman_correlation(first, constant) is None
    assert r.pearson_correlation([1], [2]) is None


def test_a_table_has_a_kappa_with_its_chance():
    # 20 5 / 10 15 of 50: observed .7, expected .5·.6 + .5·.4 = .5, κ = .4.
    got = cohen_kappa_from_table([[20, 5], [10, 15]])
    assert (got.observed, got.expected, got.kappa, got.n) == pytest.approx((0.7, 0.5, 0.4, 50))
    nothing = cohen_kappa_from_table([[0, 0], [0, 0]])
    assert (nothing.observed, nothing.kappa, nothing.n) == (None, None, 0) and nothing.note


def test_the_most_frequent_choice_of_each_case():
    # Case 0: 1, 1, 0 → 1. Case 1: 0 and a tie → tie. Case 2: no votes. Case 3: two ties, one 2.
    case, chosen = np.array([0, 0, 0, 1, 1, 3, 3, 3]), np.array([1, 1, 0, 0, -1, -1, 2, -1])
    assert a.majority_choices(case, chosen, 4).tolist() == [1, -1, a.NO_CHOICE, -1]
    nothing = np.zeros(0, np.int64)
    assert a.majority_choices(nothing, nothing, 2).tolist() == [a.NO_CHOICE] * 2


def test_kappa_with_people_is_cohens_over_slots_and_ties():
    # Majority x in q1 and q4, a tie in q2, y in q3. Judge against people, slot by slot (t: tie):
    # q1 0 0, 1 1; q2 0 t, t t; q3 1 1, 1 0; q4 0 0, t 1.
    people = [*PEOPLE, *(vote("q4", who, 0) for who in "ab")]
    judge = [*pair("q1", 0, 1), *pair("q2", 0, "tie"), *pair("q3", 1, 1), *pair("q4", 0, "tie")]
    mine, theirs = [0, 1, 0, -1, 1, 1, 0, -1], [0, 1, -1, -1, 1, 0, 0, 1]
    got = a.agreement_with_people_table(build([*people, *judge]))["j",]
    assert got["kappa"].value == pytest.approx(cohen_kappa(mine, theirs).kappa)
    decided = [(m, t) for m, t in zip(mine, theirs, strict=True) if min(m, t) >= 0]
    assert got["kappa_decisive"].value == pytest.approx(
        cohen_kappa(*map(list, zip(*decided, strict=True))).kappa
    )
    assert (got["kappa"].n, got["kappa_decisive"].n) == (8, 5)
    assert got["kappa"].low < got["kappa"].value < got["kappa"].high


def test_raters_without_a_common_choice_have_a_kappa_of_zero():
    """The judge always takes the slot that people never prefer: chance agreement is 0 too."""
    rows = [row for k in range(3) for row in [vote(f"q{k}", "a", 0), vote(f"q{k}", "b", 0)]]
    rows += [{"item": f"q{k}", "shown": "xy", "pick": 1, "orders": 1} for k in range(3)]
    got = a.agreement_with_people_table(build(rows))["j",]
    assert (got["agreement"].value, got["kappa"].value) == (0, 0)
    same = [{**row, "pick": 0} for row in rows]
    assert a.agreement_with_people_table(build(same))["j",]["kappa"].value is None


def test_the_matrix_of_judges_drops_ties_and_adds_the_people():
    rows = [*PEOPLE, *pair("q1", 0, "tie"), *pair("q1", 0, 1, judge="k")]
    kept = a.equal_verdict_share_matrix(build(rows))
    assert (kept["j"]["k"].value, kept["j"]["k"].n) == (0.5, 2)
    assert kept["people"]["k"].value == 1 and kept["j"]["people"].value == 0.5
    dropped = a.equal_verdict_share_matrix(build(rows), "drop")
    assert (dropped["j"]["k"].value, dropped["j"]["k"].n) == (1, 1)
    assert dropped["j"]["people"].value == 1
    assert "people" not in a.equal_verdict_share_matrix(build(rows), people=False)
    apart = a.equal_verdict_share_matrix(build([*rows, *pair("q9", 0, 1, judge="l")]))
    assert set(apart["people"]) == {"j", "k"} and set(apart["l"]) == {"j", "k"}
    assert "people" not in a.equal_verdict_share_matrix(build(pair("q", 0, 1)))
