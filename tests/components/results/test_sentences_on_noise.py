"""Headlines on data without an effect: coin judges, few battles, contestants that never met."""

from __future__ import annotations

import numpy as np
import pytest

from components.filtering.filters import Filter
from components.results.bias.computed import Bias, BiasCounts, bias_from_frame
from components.results.bias.sentences import (
    bias_finding,
    flip_leans,
    low_consistency_warning,
    random_consistency,
)
from components.results.ranking import sentences as ranking_sentences
from components.results.wins import sentences as wins_sentences
from metrics.ratings.bradley_terry import fit_leaderboards
from studies.domain import Estimate
from tests.metrics.frames import build, pair

COIN_WITH_TIES = ("tie", 0, 1)


def coin_judges(seed: int = 3, items: int = 60, **outcomes):
    """Judges that draw each verdict at random from their outcomes."""
    draw = np.random.default_rng(seed)
    return build(
        [
            row
            for k in range(items)
            for judge, values in outcomes.items()
            for row in pair(
                f"q{k}", *(values[i] for i in draw.integers(0, len(values), 2)), judge=judge
            )
        ]
    )


def test_flips_without_repeats_are_not_said_to_come_from_the_order():
    frame = coin_judges(coin3=COIN_WITH_TIES, coin2=(0, 1, 0, 1))
    title, _ = bias_finding(bias_from_frame(frame))
    assert "order decides" not in title
    assert "without repeats in the same order this may be noise" in title


def test_one_way_flips_are_said_to_come_from_the_order():
    rows = [row for k in range(20) for row in pair(f"q{k}", 0, 0, judge="first")]
    rows += [row for k in range(20) for row in pair(f"q{k}", 0, 1, judge="fair")]
    title, _ = bias_finding(bias_from_frame(build(rows)))
    assert title.endswith("For one, the order decides most pairs.")


def test_a_coin_that_ties_is_compared_with_a_coin_that_ties():
    bias = bias_from_frame(coin_judges(items=200, coin3=COIN_WITH_TIES))
    assert random_consistency(bias) == pytest.approx(1 / 3, abs=0.02)
    assert bias.whole("consistency").high < 0.5
    assert low_consistency_warning(bias) == ""


def test_a_coin_without_ties_has_one_half():
    assert random_consistency(bias_from_frame(coin_judges(coin=(0, 1)))) == 0.5


def test_a_second_model_above_even_is_named():
    rates = {"A": Estimate(0.875, 0.47, 0.98, 8, 4), "B": Estimate(0.75, 0.685, 0.805, 400, 200)}
    said = wins_sentences.unclear_leader_sentence("A wins 88 % of its verdicts", rates, 0.5)
    assert said == "A wins 88 % of its verdicts, not significantly above even; B is."
    alone = wins_sentences.unclear_leader_sentence("A wins", {"A": rates["A"]}, 0.5)
    assert alone.startswith("No model is significantly above even")


def test_contestants_without_a_chain_of_wins_are_not_said_to_have_won():
    rows = [row for k in range(8) for row in pair(f"q{k}", 0, 1, x="A", y="C")]
    rows += [row for k in range(5) for row in pair(f"q{k}", 0, 1, x="B", y="C")]
    (board,) = fit_leaderboards(build(rows))
    assert set(board.names[:2]) == {"A", "B"}
    assert "cannot be compared yet" in ranking_sentences.unclear_leader_sentence(board)


def test_one_who_won_everything_against_the_second_is_said_to_have_won():
    rows = [row for k in range(2) for row in pair(f"q{k}", 0, 1, x="A", y="B")]
    (board,) = fit_leaderboards(build(rows))
    assert "A won every battle" in ranking_sentences.unclear_leader_sentence(board)


def null_study(seed: int, judges: int = 4, categories: int = 6, items: int = 48):
    """Judges without any effect of position, items in categories of equal size."""
    draw = np.random.default_rng(seed)
    return build(
        [
            row
            for k in range(items)
            for judge in range(judges)
            for row in pair(
                f"q{k}", *draw.integers(0, 2, 2).tolist(), judge=f"j{judge}",
                category=f"c{k % categories}",
            )
        ]
    )  # fmt: skip


def test_a_filter_does_not_shrink_the_family():
    rows = [row for k in range(40) for row in pair(f"q{k}", 0, int(k >= 9), judge="leans")]
    rows += [row for k in range(40) for j in "abc" for row in pair(f"q{k}", 0, 1, judge=j)]
    rows += [row for j in "abc" for row in pair("flip", 0, 0, judge=j)]
    counts = BiasCounts(build(rows))
    whole = {row.judge: row.p for row in flip_leans(Bias(counts))}
    (alone,) = flip_leans(Bias(counts, Filter(judge="leans")))
    assert alone.p == whole["leans"] == pytest.approx(4 * 2 / 2**9)


def test_filters_on_null_studies_seldom_show_a_preference():
    shown = 0
    for seed in range(20):
        counts = BiasCounts(null_study(seed))
        shown += any(
            row.is_significant
            for category in range(6)
            for judge in range(4)
            for row in flip_leans(Bias(counts, Filter(judge=f"j{judge}", category=f"c{category}")))
        )
    assert shown <= 2
