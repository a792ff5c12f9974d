"""Prediction-powered win rates: the textbook formula, and votes alone where it cannot help."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from metrics.estimation.intervals import proportion
from metrics.estimation.row_selection import contestants, people_mask, select_rows
from metrics.win_rates.prediction_powered import (
    ALL_CATEGORIES,
    correct_votes_with_verdicts,
    corrected_win_rates,
    win_rates_against_people,
)
from metrics.win_rates.win_rates import appearance_points
from tests.metrics.frames import build, pair, prd

NAN = math.nan


def simulated(
    seed: int = 0, items: int = 300, voted: int = 60, slip: float = 0.1, bias: float = 0.0
):
    """People decide; the judge repeats them but for a slip, and leans toward the contestant."""
    rng = np.random.default_rng(seed)
    votes = (rng.random(items) < 0.6).astype(float)
    turned = rng.random(items) < slip
    verdicts = np.where(turned, 1 - votes, votes)
    verdicts = np.where(rng.random(items) < bias, 1.0, verdicts)
    votes[voted:] = NAN
    return votes, verdicts, np.arange(items)


def test_the_value_is_the_peoples_mean_moved_by_what_the_judge_says_of_the_rest():
    votes, verdicts, item = simulated()
    got = correct_votes_with_verdicts(votes, verdicts, item)
    y, f, rest = votes[:60], verdicts[:60], verdicts[60:]
    # One case per item: λ = cov(y, f)/(var(f)·(1 + n/N)) where the rest varies as much (PPI++).
    own, helper = (y - y.mean()) / 60, (f - f.mean()) / 60
    weight = own @ helper / (helper @ helper + ((rest - rest.mean()) ** 2).sum() / 240**2)
    assert got.weight == pytest.approx(weight)
    assert got.corrected.value == pytest.approx(y.mean() - weight * (f.mean() - rest.mean()))
    assert got.bias.value == pytest.approx(f.mean() - y.mean())
    assert got.worth > 1.5
    assert "random sample" in got.corrected.note


def test_a_biased_judge_helps_and_does_not_pull():
    # It adds a fifth of all wins; people say .6, and so does the correction.
    values = [correct_votes_with_verdicts(*simulated(seed, bias=0.2)) for seed in range(40)]
    assert np.mean([one.judge.value for one in values]) == pytest.approx(0.66, abs=0.02)
    assert np.mean([one.corrected.value for one in values]) == pytest.approx(0.6, abs=0.02)
    assert np.mean([one.bias.value for one in values]) == pytest.approx(0.066, abs=0.02)


def test_a_judge_that_knows_nothing_leaves_the_peoples_interval():
    votes, verdicts, item = simulated(slip=0.5)
    got = correct_votes_with_verdicts(votes, verdicts, item)
    assert got.weight == 0 and got.worth == 1
    assert (got.corrected.low, got.corrected.high) == (got.people.low, got.people.high)
    assert "do not narrow" in got.corrected.note


def test_people_alone_are_a_proportion_by_items():
    votes, verdicts, item = simulated()
    assert correct_votes_with_verdicts(votes, verdicts, item).people == proportion(
        votes[:60], item[:60]
    )


def vote(item: str, pick, who: str = "ann"):
    return {"item": item, "judge": f"human:{who}", "prompt": "vote", "shown": "xy", "pick": pick,
            "orders": 1}  # fmt: skip


def test_from_a_frame_votes_and_both_orders_are_means_of_a_case():
    # q1: people x, x, y → 2/3; judge x, x → 1. q2: a tie → ½; judge x then y → ½. q3: judge y.
    rows = [
        vote("q1", 0), vote("q1", 0, "bob"), vote("q1", 1, "cy"), vote("q2", "tie"),
        *pair("q1", 0, 1), *pair("q2", 0, 0), *pair("q3", 1, 0), *pair("q3", 0, 0, judge="k"),
    ]  # fmt: skip
    got = corrected_win_rates(build(rows))["x"]
    assert got.people.value == pytest.approx((2 / 3 + 1 / 2) / 2)
    # All judges' verdicts on q3: y, y and x, y → ¼.
    assert got.judge.value == pytest.approx((1 + 1 / 2 + 1 / 4) / 3)
    only = corrected_win_rates(build(rows), judges=["j"])["x"]
    assert only.judge.value == pytest.approx((1 + 1 / 2 + 0) / 3)
    assert got.bias.value == pytest.approx((1 / 3 + 0) / 2)


def test_the_highest_corrected_rate_comes_first_and_one_of_zero_last():
    rows = [vote(f"q{k}", 1) for k in range(5)]
    rows += [row for k in range(9) for row in pair(f"q{k}", 1, 0)]
    got = corrected_win_rates(build(rows))
    assert [(name, one.corrected.value) for name, one in got.items()] == [("y", 1), ("x", 0)]


def test_where_there_is_nothing_to_correct_it_says_why():
    assert corrected_win_rates(build([])) == {}
    nobody = corrected_win_rates(build(pair("q1", 0, 1)))["x"]
    assert nobody.corrected.value is None and "no votes" in nobody.corrected.note
    everything = build([*(vote(f"q{k}", k % 2) for k in range(6)),
                        *(row for k in range(6) for row in pair(f"q{k}", 0, 0))])  # fmt: skip
    got = corrected_win_rates(everything)["x"]
    assert "every pair" in got.corrected.note and got.corrected.low == got.people.low
    alone = corrected_win_rates(build([vote("q1", 0), vote("q2", 1)]))["x"]
    assert alone.judge.value is None and "no judge verdict" in alone.corrected.note
    one = corrected_win_rates(build([vote("q1", 0), *pair("q1", 0, 1), *pair("q2", 0, 1)]))["x"]
    assert one.corrected.value == 1 and one.corrected.low is None
    ties = [vote(f"q{k}", "tie") for k in range(5)]
    tied = corrected_win_rates(build([*ties, *(r for k in range(9) for r in pair(f"q{k}", 0, 0))]))
    assert tied["x"].corrected.value == 0.5 and tied["x"].weight == 0
    unread = build([vote("q1", None), *pair("q1", None, None)])
    assert corrected_win_rates(unread) == {}


def test_a_comparison_with_many_votes_counts_once_in_every_category():
    """PRD has one vote on each pair with claude-v1 and three on the others: a mean over votes would
    give vicuna-13b 46.1 %, more than the judges' 39.3 %, because of its opponents alone."""
    rows = prd()
    rows = rows.assign(category=rows["item"].astype(str).str[-1])
    votes = select_rows(rows, people_mask(rows))
    vicuna = select_rows(votes, (votes[["first", "second"]] == "vicuna-13b").any(axis=1).to_numpy())
    by_case = appearance_points(vicuna, names := contestants(vicuna))
    mine = by_case[1] == names.index("vicuna-13b")
    points = pd.Series(by_case[2][mine], [vicuna["item"], vicuna["comparison"]])
    means = points.groupby(level=[0, 1], observed=True).mean()
    found = win_rates_against_people(rows)
    whole = found["vicuna-13b", ALL_CATEGORIES]
    assert whole.people.value == pytest.approx(0.403125) == pytest.approx(means.mean())
    assert points.mean() == pytest.approx(0.46125)
    assert whole.bias.value == pytest.approx(0.3934375 - 0.403125)
    digits = means.index.get_level_values(0).astype(str).str[-1]
    assert {key for key in found if key[0] == "vicuna-13b"} == {
        ("vicuna-13b", one) for one in ("", *digits)
    }
    for digit in sorted(set(digits)):
        expected = means[digits == digit].mean()
        assert found["vicuna-13b", digit].people.value == pytest.approx(expected), digit


def test_gpt_4_helps_the_people_of_prd():
    # All 800 pairs have votes. Keep those of a fifth of the questions: the corrected rates are
    # nearer to what all votes say than not, and never wider than the few votes alone.
    frame = prd()
    whole = {name: got.people.value for name, got in corrected_win_rates(frame).items()}
    human = frame["judge"].astype(str).str.startswith("human:").to_numpy()
    kept = frame["item"].cat.codes.to_numpy() % 5 == 0
    few = corrected_win_rates(frame.loc[~human | kept], judges=["gpt-4"])
    covered = [few[name].corrected.low <= whole[name] <= few[name].corrected.high for name in whole]
    assert sum(covered) >= 4
    assert all(got.worth >= 1 for got in few.values())
    assert max(got.worth for got in few.values()) > 1.1


@given(
    st.lists(
        st.tuples(
            st.one_of(st.just(NAN), st.sampled_from([0, 0.5, 1])),
            st.one_of(st.just(NAN), st.sampled_from([0, 0.5, 1])),
            st.integers(0, 8),
        ),
        max_size=40,
    )
)
def test_it_is_never_nan_never_wider_and_holds_its_value(rows):
    votes, verdicts, item = (np.array([row[k] for row in rows], float) for k in range(3))
    got = correct_votes_with_verdicts(votes, verdicts, item.astype(np.int64))
    for one in (got.people, got.judge, got.corrected, got.bias):
        assert one.value is None or math.isfinite(one.value)
    if got.corrected.low is not None:
        assert 0 <= got.corrected.low <= got.corrected.value <= got.corrected.high <= 1
        assert got.worth is None or got.worth >= 1 - 1e-9
    assert 0 <= got.weight <= 1
