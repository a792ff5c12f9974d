"""Rank ranges that hold for all contestants at once."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

from metrics.estimation.intervals import ITEMS_AGREE_NOTE
from metrics.estimation.multiple_comparisons import draw_normal_vectors
from metrics.estimation.row_selection import people_mask
from metrics.ratings.bradley_terry import connected_leaderboards
from metrics.ratings.simultaneous_gaps import MAX_DRAWN, quantile_of_largest_gap_z
from tests.metrics.frames import build, pair, prd


def tukey(size: int) -> float:
    return float(stats.studentized_range.ppf(0.95, size, np.inf) / np.sqrt(2))


@pytest.mark.parametrize("size", [3, 5, 10])
def test_independent_strengths_have_tukeys_quantile(size):
    assert quantile_of_largest_gap_z(np.eye(size)) == pytest.approx(tukey(size), abs=0.06)


def test_two_contestants_have_one_difference_and_many_use_tukey():
    assert quantile_of_largest_gap_z(np.eye(2)) == pytest.approx(1.959964)
    assert quantile_of_largest_gap_z(np.eye(MAX_DRAWN + 1)) == pytest.approx(tukey(MAX_DRAWN + 1))


def test_draws_have_the_covariance_and_do_not_follow_the_signs_of_eigenvectors(monkeypatch):
    covariance = np.array([[2.0, -1.5, -0.5], [-1.5, 1.75, -0.25], [-0.5, -0.25, 0.75]])
    drawn = draw_normal_vectors(covariance, np.random.default_rng(1), 40_000)
    assert np.cov(drawn.T) == pytest.approx(covariance, abs=0.05)
    exact = np.linalg.eigh

    def with_other_signs(matrix):
        values, vectors = exact(matrix)
        return values, vectors * [-1.0, 1.0, -1.0]

    monkeypatch.setattr(np.linalg, "eigh", with_other_signs)
    assert draw_normal_vectors(covariance, np.random.default_rng(1), 40_000) == pytest.approx(drawn)


@pytest.mark.parametrize("noise", [-1e-16, 0.0, 1e-16])
def test_models_whose_difference_no_item_doubts_are_not_ranked_by_rounding_errors(noise):
    rows = []
    for k in range(6):
        for x, y in ("ab", "bc", "ac"):
            won = int((x, y) == ("a", "c"))  # a beats b, b beats c, c beats a: in every item
            rows += pair(f"q{k}", won, 1 - won, x=x, y=y)
    (board,) = connected_leaderboards(build(rows))
    still = replace(board, theta=np.array([1.0, 0.0, -1.0]), covariance=noise * (1 - np.eye(3)))
    first, second = still.names[:2]
    gap = still.gap(first, second)
    assert (gap.low, gap.high, gap.note) == (None, None, ITEMS_AGREE_NOTE)
    assert not still.is_significantly_better(first, second)


def test_the_pooled_judges_of_prd():
    frame = prd()
    (board,) = connected_leaderboards(frame.loc[~people_mask(frame)])
    assert {name: str(rank) for name, rank in board.ranks.items()} == {
        "gpt-4": "1", "claude-v1": "2", "vicuna-13b": "3–4", "gpt-3.5-turbo": "3–5", "bard": "4–5",
    }  # fmt: skip
    assert board._rank_quantile == pytest.approx(2.77, abs=0.03)


@pytest.mark.extra
def test_equal_models_seldom_exclude_a_rank():
    draw = np.random.default_rng(7)
    names, wrong = "ABCDEFGH", 0
    for _ in range(20):
        rows = []
        for k in range(25):
            for i, x in enumerate(names):
                for y in names[i + 1 :]:
                    won = int(draw.integers(0, 2))
                    rows += pair(f"q{k}", won, 1 - won, x=x, y=y)
        (board,) = connected_leaderboards(build(rows))
        wrong += any((rank.low, rank.high) != (1, 8) for rank in board.ranks.values())
    assert wrong <= 4  # 5 % of 20 is 1; without the adjustment about half of them
