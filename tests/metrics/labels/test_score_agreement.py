"""Score agreement against hand-worked values and a second implementation."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from scipy import stats

from metrics.estimation.intervals import Floats, wilson_bounds
from metrics.estimation.rare_events import upper_limit_of_unseen_share
from metrics.labels.scores.score_agreement import quadratic_kappa, score_agreement


def weighted_kappa(a: np.ndarray, b: np.ndarray) -> float:
    """Quadratic κ from the table of counts, as in the textbook."""
    levels = np.unique(np.concatenate([a, b]))
    table = np.array([[((a == x) & (b == y)).sum() for y in levels] for x in levels], float)
    weight = (levels[:, None] - levels[None, :]) ** 2
    expected = table.sum(1)[:, None] * table.sum(0)[None, :] / table.sum()
    return 1 - (weight * table).sum() / (weight * expected).sum()


def tau_b(a: np.ndarray, b: np.ndarray) -> float:
    """Kendall's tau-b by counting all pairs."""
    x, y = np.sign(a[:, None] - a[None, :]), np.sign(b[:, None] - b[None, :])
    upper = np.triu_indices(len(a), 1)
    x, y = x[upper], y[upper]
    return (x * y).sum() / np.sqrt((x != 0).sum() * (y != 0).sum())


def test_hand_worked_values():
    found = score_agreement([1, 2, 3, 4, 5], [1, 3, 3, 2, 5], range(5))
    assert found.mae.value == pytest.approx(0.6)
    assert found.bias.value == pytest.approx(0.2)
    assert found.within_one.value == pytest.approx(0.8)
    # ranks 1 2 3 4 5 and 1 3.5 3.5 2 5: covariance 6.5, sums of squares 10 and 9.5
    assert found.spearman.value == pytest.approx(6.5 / np.sqrt(95))


@pytest.mark.parametrize("seed", range(5))
def test_second_implementations(seed):
    rng = np.random.default_rng(seed)
    label = rng.integers(1, 6, 60).astype(float)
    score = np.clip(label + rng.integers(-2, 3, 60), 1, 5).astype(float)
    found = score_agreement(score, label, np.arange(60))
    assert quadratic_kappa(score, label) == pytest.approx(weighted_kappa(score, label))
    assert found.kendall.value == pytest.approx(tau_b(score, label))
    assert found.quadratic_kappa.low < found.quadratic_kappa.value < found.quadratic_kappa.high


def test_missing_scores_are_left_out_and_equal_scores_have_no_correlation():
    found = score_agreement([1, np.nan, 3], [1, 2, np.nan], [0, 1, 2])
    assert found.mae.n == 1
    equal = score_agreement([3, 3, 3, 3], [1, 2, 3, 4], range(4))
    assert equal.spearman.value is None and "equal" in equal.spearman.note
    assert score_agreement([], [], []).mae.value is None


@pytest.mark.extra
def test_the_interval_of_a_rank_correlation_covers():
    rng, inside = np.random.default_rng(5), 0
    for _ in range(100):
        x = rng.standard_normal(60)
        y = 0.6 * x + 0.8 * rng.standard_normal(60)
        found = score_agreement(x, y, np.arange(60)).spearman
        inside += found.low <= 6 / np.pi * np.arcsin(0.6 / 2) <= found.high
    assert 0.9 <= inside / 100 <= 1.0


def test_no_error_in_eight_answers_proves_no_perfect_judge():
    # Unseen errors: at most Wilson's limit for 0 of 8, each as far as the scale allows (1 to 5).
    label = np.array([1, 2, 3, 4, 5, 3, 2, 4])
    found, unseen = score_agreement(label, label, range(8)), upper_limit_of_unseen_share(8)
    assert (found.mae.low, found.mae.high) == pytest.approx((0, 4 * unseen))
    assert (found.bias.low, found.bias.high) == pytest.approx((-4 * unseen, 4 * unseen))
    for one in (found.spearman, found.kendall, found.quadratic_kappa):
        assert (one.low, one.high) == pytest.approx((1 - 2 * unseen, 1))
    above = score_agreement(label + 1, label, range(8))
    assert above.mae.low < 1 < above.mae.high and above.spearman.low < 0.9


def seldom_wrong(rng: np.random.Generator, answers: int, errors: float) -> tuple[Floats, Floats]:
    """Scores from 1 to 5 that differ from the label in a share of answers, by −1, 1 or 2."""
    label = rng.choice(5, answers, p=[0.1, 0.15, 0.2, 0.25, 0.3]) + 1.0
    step = np.where(rng.random(answers) < errors, rng.choice([-1, 1, 2], answers), 0)
    return np.clip(label + step, 1, 5), label


def coverage(answers: int, errors: float, studies: int) -> dict[str, float]:
    rng = np.random.default_rng([21, answers])
    score, label = seldom_wrong(np.random.default_rng(1), 20_000, errors)
    gap = score - label
    truth = {
        "mae": np.abs(gap).mean(), "bias": gap.mean(), "within_one": (np.abs(gap) <= 1).mean(),
        "spearman": stats.spearmanr(score, label).statistic,
        "kendall": stats.kendalltau(score, label).statistic,
        "quadratic_kappa": quadratic_kappa(score, label),
    }  # fmt: skip
    inside = Counter[str]()
    for _ in range(studies):
        found = score_agreement(*seldom_wrong(rng, answers, errors), np.arange(answers))
        for name, value in truth.items():
            one = getattr(found, name)
            inside[name] += one.low is None or one.low <= value <= one.high
    return {name: inside[name] / studies for name in truth}


def test_intervals_cover_for_a_judge_that_is_seldom_wrong():
    got = coverage(15, 0.05, 40)
    assert {name: share for name, share in got.items() if share < 0.85} == {}


@pytest.mark.extra
@pytest.mark.parametrize("errors", [0.05, 0.3, 0.8])
@pytest.mark.parametrize("answers", [8, 15, 30, 100])
def test_intervals_of_score_agreement_cover(answers, errors):
    got = coverage(answers, errors, 300)
    least = 0.95 - 3.2 * (0.95 * 0.05 / 300) ** 0.5  # 72 shares: together 5 % by chance
    assert {name: share for name, share in got.items() if share < least} == {}


def test_correlations_have_95_percent_intervals_and_equal_labels_have_none() -> None:
    found = score_agreement([1, 2, 3, 4, 5], [1, 3, 3, 2, 5], range(5))
    assert found.spearman.level == found.kendall.level == found.quadratic_kappa.level == 0.95
    equal = score_agreement([1, 2, 3, 4], [3, 3, 3, 3], range(4))
    assert equal.kendall.value is equal.spearman.value is None


if __name__ == "__main__":
    print("| answers | " + " | ".join(coverage(8, 0.05, 1)) + " |")
    for count in (8, 15, 30, 100):
        shares = coverage(count, 0.05, 300).values()
        print(f"| {count} | " + " | ".join(f"{share:.3f}" for share in shares) + " |", flush=True)


def test_labels_that_are_all_alike_have_no_agreement_beyond_chance():
    """Quadratic κ is then 0 whatever the scores are, and rank correlations are undefined."""
    for score in ([1, 2, 3, 4], [3, 3, 3, 3], [1, 1, 5, 5]):
        found = score_agreement(score, [3, 3, 3, 3], range(4))
        for one in (found.quadratic_kappa, found.spearman, found.kendall):
            assert one.value is None and one.note
    assert score_agreement([3, 3], [2, 4], range(2)).quadratic_kappa.value == 0


def test_several_answers_to_one_item_have_values_but_no_interval():
    for items in ([0, 0, 0], [0, 0, 1]):
        found = score_agreement([1, 2, 3], [1, 3, 2], items)
        assert found.spearman.value == pytest.approx(0.5)
        assert found.kendall.low is None and "too few items" in found.quadratic_kappa.note


@pytest.mark.parametrize("wrong", [{2: 9.0}, {2: 9.0, 7: 1.0}, {2: 9.0, 7: 1.0, 4: 8.0}])
def test_the_interval_of_a_correlation_is_a_jackknife_or_that_of_rare_errors(
    wrong: dict[int, float],
) -> None:
    """Leave one out, on Fisher's z scale from two errors on; at least as wide as the Wilson
    interval of few errors."""
    label = np.arange(1.0, 11)
    score = np.array([wrong.get(k, one) for k, one in enumerate(label)])
    got = score_agreement(score, label, range(10)).kendall
    left = np.array([tau_b(np.delete(score, k), np.delete(label, k)) for k in range(10)])
    value, t = tau_b(score, label), stats.t.ppf(0.975, 9)
    if len(wrong) > 1:
        value_z, left = np.arctanh(value), np.arctanh(np.clip(left, -0.999999, 0.999999))
    error = t * np.sqrt(0.9 * ((left - left.mean()) ** 2).sum())
    low = np.tanh(value_z - error) if len(wrong) > 1 else value - error
    rare = 1 - (1 - value) / (len(wrong) / 10) * wilson_bounds(len(wrong), 10)[1]
    assert got.value == pytest.approx(value)
    assert got.low == pytest.approx(max(min(low, rare), -1), abs=1e-5)
