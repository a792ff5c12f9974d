"""Score agreement against hand-worked values and a second implementation."""

from __future__ import annotations

import numpy as np
import pytest

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
