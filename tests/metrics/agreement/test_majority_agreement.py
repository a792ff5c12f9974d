"""Agreement: coefficients against published tables, judges against people."""

from __future__ import annotations

import evalica
import numpy as np
import pandas as pd
import pytest

from metrics.agreement import agreement_coefficients as r
from metrics.agreement import majority_agreement as a
from metrics.win_rates import win_rates
from tests.metrics.frames import build, pair, prd

WIKIPEDIA_FLEISS = [
    [0, 0, 0, 0, 14], [0, 2, 6, 4, 2], [0, 0, 3, 5, 6], [0, 3, 9, 2, 0], [2, 2, 8, 1, 1],
    [7, 7, 0, 0, 0], [3, 2, 6, 3, 0], [2, 5, 3, 2, 2], [6, 5, 2, 1, 0], [0, 2, 2, 3, 7],
]  # fmt: skip
_ = np.nan
WIKIPEDIA_ALPHA = [
    [_, _, _, _, _, 3, 4, 1, 2, 1, 1, 3, 3, _, 3],
    [1, _, 2, 1, 3, 3, 4, 3, _, _, _, _, _, _, _],
    [_, _, 2, 1, 3, 4, 4, _, 2, 1, 1, 3, 3, _, 4],
]


def test_cohens_kappa_with_its_standard_error():
    got = r.cohen_kappa([1, 1, 0, 1, 0, 0, 1, 1, 0, 1], [1, 0, 0, 1, 0, 1, 1, 1, 0, 0])
    assert got.observed == pytest.approx(0.7)
    assert got.kappa == pytest.approx(0.4)
    assert got.error == pytest.approx(0.283972, abs=1e-6)


def test_one_category_has_an_agreement_and_no_kappa():
    got = r.cohen_kappa([1, 1, 1], [1, 1, 1])
    assert (got.observed, got.kappa) == (1, None)
    assert "one category" in got.note
    assert r.cohen_kappa([], []).kappa is None
    assert r.fleiss_kappa([[3, 0], [3, 0]]) is None


def test_fleiss_kappa_of_the_wikipedia_table():
    assert r.fleiss_kappa(WIKIPEDIA_FLEISS) == pytest.approx(0.209931, abs=1e-6)
    assert r.fleiss_kappa([[2, 1], [1, 1]]) is None


@pytest.mark.parametrize(
    ("level", "alpha"), [("nominal", 0.691358), ("ordinal", 0.806721), ("interval", 0.810845)]
)
def test_krippendorffs_alpha_of_the_wikipedia_table(level, alpha):
    assert r.krippendorff_alpha(WIKIPEDIA_ALPHA, level) == pytest.approx(alpha, abs=1e-6)


def test_evalica_agrees_on_nominal_alpha():
    units = pd.DataFrame(np.array(WIKIPEDIA_ALPHA))
    assert r.krippendorff_alpha(WIKIPEDIA_ALPHA) == pytest.approx(
        evalica.alpha(units).alpha, abs=1e-9
    )


def test_alpha_of_nothing_comparable_is_unknown():
    assert r.krippendorff_alpha([[1, 1], [1, 1]]) is None
    assert r.krippendorff_alpha([[1, _], [_, 2]]) is None
    with pytest.raises(ValueError, match="nominal, ordinal, interval"):
        r.krippendorff_alpha([[1, 2], [1, 2]], "ratio")


def test_rank_correlations():
    first, second = [1, 2, 3, 4, 5, 6, 7, 8], [2, 1, 3, 4, 6, 5, 8, 7]
    assert r.kendall_tau(first, second) == pytest.approx(0.785714, abs=1e-6)
    assert r.spearman_correlation(first, second) == pytest.approx(0.928571, abs=1e-6)
    assert r.kendall_tau([1, 2, 2, 3], [1, 2, 3, 3]) == pytest.approx(0.8)
    assert r.kendall_tau([1, 1], [1, 2]) is None
    assert r.spearman_correlation([1], [1]) is None


def test_distance_from_people_and_the_judge_that_always_says_equal():
    people = [1.5, 1, -1, -1.25, 0, 0.25, 0.5, 0.75]
    judge = [2, 1, 0, -1, -2, 1, 0, 1]
    assert (r.mean_absolute_error(judge, people), r.share_within_one(judge, people)) == (
        0.65625,
        0.875,
    )
    assert (r.mean_absolute_error([0] * 8, people), r.share_within_one([0] * 8, people)) == (
        0.78125,
        0.75,
    )


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
    got = a.people_agreement_table(build([*PEOPLE, *judge]))[("j",)]
    assert (got["agreement"].value, got["agreement"].n) == (pytest.approx(4 / 6), 6)
    # Decisive on both sides: q1 two, q3 two, 3 of 4 right.
    assert (got["agreement_decisive"].value, got["agreement_decisive"].n) == (0.75, 4)
    assert got["kappa"].value is not None


def test_the_peoples_majority_stands_as_a_judge():
    verdicts = a.people_majority_rows(build(PEOPLE))
    assert win_rates.win_loss_record(verdicts)["x"] == {
        "matches": 3,
        "wins": 1,
        "losses": 1,
        "ties": 1,
    }
    assert len(a.people_majority_rows(build([]))) == 0


def test_judges_are_compared_on_the_same_order_of_the_same_pair():
    # j: x, x; k: x, y (slots 0, 0). Same first verdict, other second: 1 of 2.
    rows = [*pair("q1", 0, 1), *pair("q1", 0, 0, judge="k"), *pair("q2", 0, 0, judge="k")]
    got = a.judge_agreement_matrix(build(rows))
    assert (got["j"]["k"].value, got["j"]["k"].n) == (0.5, 2)
    assert got["j"]["k"] == got["k"]["j"]


def test_without_people_there_is_a_reason_not_a_zero():
    frame = build(pair("q", 0, 0))
    assert a.people_agreement_table(frame) == {}
    assert a.people_agreement_measure().of(build([])).value is None
    assert a.judge_agreement_matrix(build([])) == {}


def test_prd_people_and_gpt_4_are_as_published():
    frame = prd()
    got = {
        name: one.value for name, one in win_rates.win_rate(a.people_majority_rows(frame)).items()
    }
    wanted = {
        "gpt-4": 0.821875, "claude-v1": 0.6890625, "vicuna-13b": 0.390625,
        "gpt-3.5-turbo": 0.3125, "bard": 0.2859375,
    }  # fmt: skip
    assert got == pytest.approx(wanted, abs=1e-12)
    table = a.people_agreement_table(frame)
    assert table[("gpt-4",)]["agreement"].value == pytest.approx(0.643125, abs=1e-12)
    assert table[("gpt-4",)]["agreement"].n == 1600
