"""Limits of unbounded gaps: exact for two contestants, counted by items."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from scipy.special import expit

from metrics.ratings import unbounded_gaps
from metrics.ratings.battles import count_wins_by_pair, extract_battles
from metrics.ratings.bradley_terry import (
    ELO_PER_LOGIT,
    MAX_CONTESTANTS_WITH_LIMITS,
    Leaderboard,
    connected_leaderboards,
)
from metrics.ratings.unbounded_gaps import GapLimits, reachable_by_wins
from tests.metrics.battle_frames import duels, fought, some_battles
from tests.page_words import says

SEPARABLE = [("A", "B", 5, 0), ("A", "C", 5, 0), ("B", "C", 3, 2)]


def board(frame) -> Leaderboard:
    (only,) = connected_leaderboards(frame)
    return only


@pytest.mark.parametrize("wins", [1, 5, 40])
def test_a_gap_without_end_is_at_least_the_exact_limit(wins):
    # n of n wins, each its own item: a share p with p^n < .025 is ruled out.
    share = 0.025 ** (1 / wins)
    got = board(duels([("A", "B", wins, 0)]))
    assert got.gap("A", "B").value == pytest.approx(
        ELO_PER_LOGIT * math.log(share / (1 - share)), abs=1e-4
    )
    assert got.predicted_share("A", "B").value == pytest.approx(share, abs=1e-6)
    assert got.predicted_share("A", "B").high is None


@pytest.mark.parametrize(("wins", "shown"), [(5, False), (6, True)])
def test_six_wins_of_six_show_a_gap_and_five_do_not(wins, shown):
    # A share of ½ is ruled out if ½^n < .025: from n = 6 on, where the limit is .541.
    limits = GapLimits(count_wins_by_pair(extract_battles(duels([("A", "B", wins, 0)]))))
    assert limits.is_significantly_positive(0, 1) is shown
    assert (limits.lower_limit(0, 1) > 0) is shown


def test_battles_of_one_item_count_once_toward_the_limit():
    # Eight items, won in both orders each: 16 battles tell as much as 8.
    both = fought([(k, *pair) for k in range(8) for pair in (("A", "B", 0), ("B", "A", 1))])
    once = duels([("A", "B", 8, 0)])
    assert board(both).gap("A", "B").value == pytest.approx(board(once).gap("A", "B").value)


def test_the_limit_of_three_is_where_the_best_fit_is_too_unlikely():
    # A 5:0 B, A 5:0 C, B 3:2 C. Over all θ_A − θ_C at a fixed θ_A − θ_B, the largest log-likelihood
    # falls −ln .025 short of the best of all, 3·ln .6 + 2·ln .4.
    limit = board(duels(SEPARABLE)).gap("A", "B").value / ELO_PER_LOGIT
    other = np.linspace(-6, 8, 200_001)
    inner = 3 * np.log(expit(other - limit)) + 2 * np.log(expit(limit - other))
    value = 5 * np.log(expit(limit)) + 5 * np.log(expit(other)) + inner
    best = 3 * math.log(0.6) + 2 * math.log(0.4)
    assert best - value.max() == pytest.approx(-math.log(0.025), abs=1e-5)


def test_two_who_only_lost_to_the_same_one_cannot_be_told_apart():
    only = board(duels([("A", "B", 5, 0), ("A", "C", 2, 0)]))
    assert only.gap("B", "C").value is None
    assert says(only.gap("B", "C").note, "no chain", "wins")
    assert only.predicted_share("B", "C").value is None


def test_a_chain_of_wins_has_a_limit_from_end_to_end():
    # A beats B, B beats C, nobody lost twice: the whole is more than nothing, and more than −40.
    only = board(duels([("A", "B", 9, 0), ("B", "C", 9, 0)]))
    whole, half = only.gap("A", "C").value, only.gap("A", "B").value
    assert whole > half > 0


def test_a_long_enough_row_of_wins_makes_the_rank_sure():
    # 40 of 40: the limit is above zero. 3 of 3: p ≥ .29, it is not.
    assert str(board(duels([("A", "B", 40, 0)])).ranks["A"]) == "1"
    assert str(board(duels([("A", "B", 3, 0)])).ranks["A"]) == "1–2"


@given(some_battles(readable=True))
def test_every_gap_is_finite_or_says_why(battles):
    for only in connected_leaderboards(fought(battles)):
        for row in only.gaps().values():
            for gap in row.values():
                ends = [end for end in (gap.value, gap.low, gap.high) if end is not None]
                assert all(math.isfinite(end) for end in ends)
                assert gap.value is not None or gap.note


def test_of_many_contestants_no_limit_is_worked_out_and_that_is_said():
    """One above the other, some hundred of them: minutes of fits, asked for by one small file."""
    few, many = (
        board(duels([(f"m{n:03}", f"m{n + 1:03}", 2, 0) for n in range(size - 1)]))
        for size in (MAX_CONTESTANTS_WITH_LIMITS, MAX_CONTESTANTS_WITH_LIMITS + 1)
    )
    assert few.gap("m000", "m001").value is not None
    gap = many.gap("m000", "m001")
    assert gap.value is None and "at most 40" in gap.note


@pytest.mark.extra
def test_what_all_lines_of_a_board_have_in_common_is_worked_out_once():
    # A page reads ratings and ranks line by line: of a chain of 100 that was 300 times the table.
    chain = duels([(f"m{k:03d}", f"m{k + 1:03d}", 8, k % 2) for k in range(99)])
    only = board(chain)
    assert only.ranks is only.ranks and only.ratings is only.ratings
    limits = GapLimits(only.counts)
    assert limits.reachable is limits.reachable
    # m000 won 8:0, and .025^(1/8) is 63 %: above zero. Asked twice, one answer.
    above, below = only.names.index("m000"), only.names.index("m001")
    assert limits.lower_limit(above, below) == limits.lower_limit(above, below) > 0
    assert (
        limits.is_significantly_positive(above, below) and limits.lower_limit(below, above) is None
    )


def test_one_win_leads_down_and_one_tie_both_ways() -> None:
    # A beat B once, B and C tied once, D beat C once: from A and D all that are below.
    counts = count_wins_by_pair(
        extract_battles(duels([("A", "B", 1, 0), ("B", "C", 0, 0, 1), ("C", "D", 0, 1)]))
    )
    assert reachable_by_wins(counts).astype(int).tolist() == [
        [1, 1, 1, 0],
        [0, 1, 1, 0],
        [0, 1, 1, 0],
        [0, 1, 1, 1],
    ]


def test_a_gap_that_no_battle_excludes_has_no_lower_limit(monkeypatch):
    """No limit if even the lowest gap that is searched is not too unlikely."""
    limits = GapLimits(count_wins_by_pair(extract_battles(duels([("A", "B", 6, 0)]))))
    assert limits.lower_limit(0, 1) == pytest.approx(
        math.log(0.025 ** (1 / 6) / (1 - 0.025 ** (1 / 6))), abs=1e-6
    )
    assert limits.lower_limit(1, 0) is None and not limits.is_significantly_positive(1, 0)
    narrow = GapLimits(count_wins_by_pair(extract_battles(duels([("A", "B", 1, 0)]))))
    # one win: excluded below ln(.025/.975) = −3.66
    for most, known in ((3.0, False), (4.0, True)):
        monkeypatch.setattr(unbounded_gaps, "MAX_GAP_LOGITS", most)
        narrow._cache.clear()
        assert (narrow.lower_limit(0, 1) is not None) is known


def test_a_board_of_one_item_ranks_with_the_quantile_of_its_gaps():
    lone = board(fought([(0, "a", "b", 0), (0, "b", "a", 0)]))
    assert lone.covariance is None and lone._rank_quantile == lone._t_quantile
