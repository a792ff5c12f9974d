"""Rank ranges that hold for all contestants at once."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from metrics.estimation.row_selection import people_mask
from metrics.ratings.bradley_terry import connected_leaderboards
from metrics.ratings.simultaneous_gaps import MAX_DRAWN, simultaneous_quantile
from tests.metrics.frames import build, pair, prd


def tukey(size: int) -> float:
    return float(stats.studentized_range.ppf(0.95, size, np.inf) / np.sqrt(2))


@pytest.mark.parametrize("size", [3, 5, 10])
def test_independent_strengths_have_tukeys_quantile(size):
    assert simultaneous_quantile(np.eye(size)) == pytest.approx(tukey(size), abs=0.06)


def test_two_contestants_have_one_difference_and_many_use_tukey():
    assert simultaneous_quantile(np.eye(2)) == pytest.approx(1.959964)
    assert simultaneous_quantile(np.eye(MAX_DRAWN + 1)) == pytest.approx(tukey(MAX_DRAWN + 1))


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
