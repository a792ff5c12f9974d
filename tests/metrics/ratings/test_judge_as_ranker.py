"""A judge as a ranker: oracles are scipy's kendalltau and beta distribution, judges simulated with
a known decisiveness, and arithmetic by hand."""

from __future__ import annotations

import itertools

import numpy as np
import pandas as pd
import pytest
from scipy import optimize, stats

from metrics.ratings.judge_as_ranker import (
    RankedStudy,
    RankerMeasures,
    _percentile_estimate,
    bradley_terry_from_win_rates,
    fit_decisiveness,
    judge_as_ranker,
    kendall_tau_by_row,
    symmetric_beta_cdf,
)
from studies.frames.frame import TIE
from tests.metrics.frames import build

NAMES = ("a", "b", "c", "d", "e")
PAIRS = list(itertools.combinations(range(5), 2))
GOLD = {
    (i, j): 1 / (1 + np.exp(-(s - t)))
    for (i, s), (j, t) in itertools.combinations(enumerate((1.2, 0.6, 0.1, -0.5, -1.4)), 2)
}


def study(rate, items: int = 120, seed: int = 1):
    """Votes with the win rates GOLD, and a judge with the win rates `rate(pair, gold)`."""
    rng = np.random.default_rng(seed)
    rows = []
    for item in range(items):
        for i, j in PAIRS:
            shown = (NAMES[i], NAMES[j])
            vote = int(rng.random() > GOLD[i, j])
            pick = int(rng.random() > rate((i, j), GOLD[i, j]))
            rows.append({"item": f"i{item}", "shown": shown, "pick": vote, "judge": "human:x"})
            rows.append({"item": f"i{item}", "shown": shown, "pick": pick})
    frame = build(rows)
    return frame[(frame["judge"] == "j").to_numpy()], frame


def measured(judged: pd.DataFrame, frame: pd.DataFrame) -> RankerMeasures:
    return judge_as_ranker(judged, RankedStudy.from_frame(frame))


@pytest.mark.parametrize("seed", range(5))
def test_tau_equals_scipys_also_with_ties(seed: int) -> None:
    rng = np.random.default_rng(seed)
    mine, gold = rng.integers(0, 4, (2, 6, 7)).astype(float)
    expected = [stats.kendalltau(a, b).statistic for a, b in zip(mine, gold, strict=True)]
    assert kendall_tau_by_row(mine, gold) == pytest.approx(expected)


def test_the_symmetric_beta_function_is_scipys() -> None:
    x = np.linspace(0, 1, 11)
    assert symmetric_beta_cdf(x, 2.5) == pytest.approx(stats.beta.cdf(x, 2.5, 2.5))
    assert symmetric_beta_cdf(x, 1.0) == pytest.approx(x)


@pytest.mark.parametrize("alpha", [0.4, 1.0, 3.0, 9.0])
def test_win_rates_without_noise_give_back_their_decisiveness(alpha: float) -> None:
    gold = np.array([list(GOLD.values())])
    assert fit_decisiveness(gold, stats.beta.cdf(gold, alpha, alpha))[0] == pytest.approx(
        alpha, rel=1e-4
    )


@pytest.mark.parametrize("alpha", [0.5, 2.0, 5.0])
def test_the_interval_of_a_simulated_judge_covers_its_decisiveness(alpha: float) -> None:
    found = measured(*study(lambda _, gold: stats.beta.cdf(gold, alpha, alpha), seed=3))
    got = found.decisiveness
    assert got.value == pytest.approx(alpha, rel=0.35)
    assert got.low < alpha < got.high and got.note == ""
    assert found.tau.value >= 0.8
    assert found.bias_spread.value < 0.05


def test_a_judge_that_favours_one_model_shows_a_bias_toward_it_alone() -> None:
    """The judge adds 0.2 to every win rate of e. The oracle is the definition, computed from the
    exact win rates with scipy's own minimiser."""

    def rate(pair, gold):
        return gold - 0.2 if pair[1] == 4 else gold

    exact = np.array([rate(pair, gold) for pair, gold in GOLD.items()])
    gold = np.array(list(GOLD.values()))

    def loss(log):
        return float(((stats.beta.cdf(gold, np.exp(log), np.exp(log)) - exact) ** 2).sum())

    alpha = np.exp(optimize.minimize_scalar(loss, bounds=(-3, 3), method="bounded").x)
    left = exact - stats.beta.cdf(gold, alpha, alpha)
    expected = {
        name: np.mean([r if i == k else -r for (i, j), r in zip(GOLD, left, strict=True)
                       if k in (i, j)])
        for k, name in enumerate(NAMES)
    }  # fmt: skip
    found = measured(*study(rate, items=300))
    for name, value in expected.items():
        assert found.bias[name].value == pytest.approx(value, abs=0.06)
    assert found.bias_spread.value == pytest.approx(np.std(list(expected.values())), abs=0.03)
    assert max(expected, key=expected.get) == "e" and found.bias["e"].low > 0


def test_known_answers_alone_give_a_ranking_but_no_decisiveness() -> None:
    rows = []
    for item in range(8):
        for other, pick in (("b", item % 4 == 0), ("c", item % 8 == 0)):
            rows.append(
                {"item": f"{item}", "shown": ("a", other), "pick": int(pick), "known_answer": 0}
            )
    frame = build(rows)
    found = measured(frame, frame)
    # The reference ties b and c behind a, the judge puts b before c: 2 of 2 ordered pairs agree.
    assert found.tau.value == pytest.approx(2 / np.sqrt(2 * 3))
    assert found.decisiveness.value is None and found.bias == {}
    assert found.pairs == (("a", "b", 1.0, 0.75), ("a", "c", 1.0, 0.875))


def test_two_models_or_no_reference_give_no_number() -> None:
    two = build(
        [{"item": f"{k}", "shown": ("a", "b"), "pick": 0, "known_answer": 0} for k in range(9)]
    )
    none = build([{"item": f"{k}", "shown": ("a", "b"), "pick": 0} for k in range(9)])
    for frame in (two, none, none.iloc[:0]):
        found = measured(frame, frame)
        assert (found.tau.value, found.decisiveness.value) == (None, None)
        assert found.tau.note


def ranked(items: int, pick: object = 0) -> RankerMeasures:
    """A judge and known answers on all pairs of a, b and c: the earlier name is better, but b and c
    are equally good."""
    frame = build(
        [{"item": f"{k}", "shown": shown, "pick": pick,
          "known_answer": TIE if shown == ("b", "c") else 0}
         for k in range(items) for shown in (("a", "b"), ("a", "c"), ("b", "c"))]
    )  # fmt: skip
    return measured(frame, frame)


def test_a_ranking_needs_five_items_a_bound_on_cells_and_different_models(monkeypatch) -> None:
    # The judge orders all three pairs, the reference two of them: τ-b = 2/√(3·2).
    monkeypatch.setattr("metrics.ratings.judge_as_ranker.ROUNDS", 3)
    four, five = ranked(4), ranked(5)
    assert four.tau.value is None and "5" in four.tau.note
    assert five.tau.value == pytest.approx(2 / np.sqrt(6))
    assert five.pairs == (("a", "b", 1.0, 1.0), ("a", "c", 1.0, 1.0), ("b", "c", 0.5, 1.0))
    tied = ranked(5, "tie")
    assert (tied.tau.value, tied.tau.unit) == (None, "τ") and len(tied.pairs) == 3
    for cells, known in ((15, True), (14, False)):
        monkeypatch.setattr("metrics.ratings.judge_as_ranker.MAX_CELLS", cells)
        assert (ranked(5).tau.value is not None) is known


def test_strengths_of_a_baseline_design_follow_the_rates_against_the_baseline() -> None:
    """With one opponent in every pair the fit is exact: log-odds of the rate, up to the shrink."""
    rates = np.array([[0.3, 0.9, 0.5]])  # of the baseline 0 against 1, 2, 3
    got = bradley_terry_from_win_rates(rates, np.zeros(3, int), np.array([1, 2, 3]), 4)[0]
    share = (rates[0] + 0.01) / 1.02
    assert got[0] - got[1:] == pytest.approx(np.log(share / (1 - share)), abs=1e-6)


def test_the_correlation_of_rankings_is_scipys_tau_b_in_every_row():
    mine = np.array([[3.0, 2, 1, 0], [1, 1, 2, 3], [0, 1, 0, 1], [1, 1, 1, 1]])
    gold = np.array([[3.0, 2, 0, 1], [3, 2, 1, 0], [1, 2, 3, 3], [4, 3, 2, 1]])
    got = kendall_tau_by_row(mine, gold)
    for row in range(3):
        assert got[row] == pytest.approx(stats.kendalltau(mine[row], gold[row]).statistic)
    assert np.isnan(got[3]), "all in one place"
    # Less than 10⁻⁶ apart is equal.
    near = kendall_tau_by_row(np.array([[1.0, 1 + 1e-8, 0]]), np.array([[2.0, 1, 0]]))
    assert near[0] == pytest.approx(stats.kendalltau([1, 1, 0], [2, 1, 0]).statistic)


def test_strengths_reproduce_the_win_rates_that_they_came_from():
    theta = np.array([0.8, 0.1, -0.9])
    low, high = np.array([0, 0, 1]), np.array([1, 2, 2])
    rates = 1 / (1 + np.exp(theta[high] - theta[low]))
    (got,) = bradley_terry_from_win_rates(rates[None, :], low, high, 3)
    # A hundredth of a win is added to both sides, so the gaps are a little smaller.
    shrunk = (rates + 0.01) / 1.02
    assert got.sum() == pytest.approx(0, abs=1e-9)
    assert got == pytest.approx(theta, abs=0.05)
    two = np.array([0]), np.array([1])
    (pair_only,) = bradley_terry_from_win_rates(rates[None, :1], *two, 2)
    assert pair_only[0] - pair_only[1] == pytest.approx(np.log(shrunk[0] / (1 - shrunk[0])))
    # An unknown pair does not count.
    (part,) = bradley_terry_from_win_rates(np.array([[rates[0], np.nan, rates[2]]]), low, high, 3)
    assert part[0] - part[1] == pytest.approx(np.log(shrunk[0] / (1 - shrunk[0])), abs=1e-4)


def test_a_model_without_a_known_win_rate_stays_at_the_mean_of_the_others() -> None:
    low, high = np.array([0, 0, 1]), np.array([1, 2, 2])
    (got,) = bradley_terry_from_win_rates(np.array([[0.5, np.nan, np.nan]]), low, high, 3)
    assert got == pytest.approx([0, 0, 0])


def test_each_item_of_a_question_has_its_own_known_answer() -> None:
    rows = [
        {"item": f"t{k}", "shown": shown, "pick": 0, "known_answer": k % 2}
        for k in range(12)
        for shown in (("a", "b"), ("b", "c"), ("a", "c"))
    ]
    frame = build(rows)
    question = [f"q{int(name[1:]) // 2}" for name in frame["item"].astype(str)]
    frame = frame.assign(question=pd.Categorical(question))
    found = judge_as_ranker(frame, RankedStudy.from_frame(frame))
    assert {reference for _, _, reference, _ in found.pairs} == {0.5}


def test_the_interval_of_bootstrap_rounds_holds_the_value_and_leaves_out_undefined_rounds() -> None:
    nan = float("nan")
    rounds = [nan, *np.linspace(0, 1, 41), nan]
    found = _percentile_estimate(np.array([0.99, *rounds]), 7, 3, "share")
    assert (found.value, found.low, found.n, found.items) == (0.99, pytest.approx(0.025), 7, 3)
    assert found.high == 0.99  # the rounds alone: .975
    assert _percentile_estimate(np.array([0.5, *rounds]), 7, 3, "share").high == pytest.approx(
        0.975
    )
    for unknown in ([nan, 0.2, 0.3], [0.5, nan, nan], [0.5]):
        assert _percentile_estimate(np.array(unknown), 7, 3, "share").value is None


def test_a_judge_that_decides_by_chance_or_at_once_is_at_the_bound_of_the_fit() -> None:
    sure = measured(*study(lambda _, gold: float(gold > 0.5), items=40))
    even = measured(*study(lambda _, gold: 0.5, items=40))
    for found in (sure, even):
        assert "bound" in found.decisiveness.note
