"""Ranking corrected for the judges' errors: hand-worked gaps, today's ratings, coverage."""

from __future__ import annotations

from itertools import combinations, pairwise

import numpy as np
import pandas as pd
import pytest

from metrics.error_models.corrected_ranking import (
    CorrectedRanking,
    _newton_step,
    _VerdictCounts,
    corrected_ranking,
    corrected_ranking_section,
    rank_corrected_for_errors,
)
from metrics.ratings.bradley_terry import (
    ELO_PER_LOGIT,
    bradley_terry_ratings,
    connected_leaderboards,
)
from metrics.remedies.known_winners import DESIGN
from metrics.remedies.order_grid import OrderGrid, build_order_grid
from tests.metrics.frames import build, pair
from tests.soak.coverage_studies import Tally, tolerance


def both_orders(item: str, right: bool, truth: str | None, better: str, **more: object) -> list:
    """Verdicts in both orders for the better one of x and y, or (not right) for the other one;
    `truth` is the label."""
    chosen = better if right else "y" if better == "x" else "x"
    picks = (0, 1) if chosen == "x" else (1, 0)
    return pair(item, *picks, **({} if truth is None else {"better": truth}), **more)


def two_models() -> pd.DataFrame:
    """x is better in 70 %, the judge errs in 20 %: it picks x in 62 %. 100 of 1,100 labelled."""
    rows = []
    for k in range(1100):
        share, labelled = k % 100, k < 100
        better = "x" if share < 70 else "y"
        right = share % 5 != 0  # 14 errors of 70, 6 of 30
        rows += both_orders(f"q{k}", right, better if labelled else None, better)
    return build(rows)


def test_observed_62_percent_with_20_percent_errors_is_70_percent() -> None:
    frame = two_models()
    assert connected_leaderboards(frame)[0].gap("x", "y").value == pytest.approx(85.04, abs=0.005)
    found = corrected_ranking(frame)
    assert found is not None and not found.refused
    gap = found.gaps["x"]["y"]
    assert gap.value == pytest.approx(147.19, abs=0.005)
    assert gap.low is not None and 0 < gap.low < 147 < (gap.high or 0)
    assert found.errors["j/p"]["first"].value == pytest.approx(0.2)
    assert found.errors["j/p"]["slope"].value == pytest.approx(0.6)
    assert [str(rank) for rank in found.ranks.values()] == ["1", "2"]


def test_without_errors_the_ratings_are_todays() -> None:
    """Verdicts on three models with ties; the labelled ones agree with their labels."""
    rng = np.random.default_rng(5)
    rows = []
    for k in range(120):
        for x, y in combinations("abc", 2):
            pick = int(rng.random() < 0.4 + 0.1 * (x == "b"))
            if k < 30:
                rows += pair(f"q{k}", pick, 1 - pick, x=x, y=y, better=(x, y)[pick])
            else:
                tie = rng.random() < 0.2
                rows += pair(f"q{k}", "tie" if tie else pick, 1 - pick, x=x, y=y)
    frame = build(rows)
    found = corrected_ranking(frame)
    today = bradley_terry_ratings(frame)
    assert found is not None and list(found.ratings) == list(today)
    for name, rating in found.ratings.items():
        assert rating.value == pytest.approx(today[name].value, abs=1e-4)


def test_a_judge_without_signal_is_refused() -> None:
    rows = [
        row
        for k in range(40)
        for row in both_orders(f"q{k}", k % 2 == 0, "x" if k < 30 else None, "x")
    ]
    found = corrected_ranking(build(rows))
    assert found is not None and found.refused and found.left_out == ("j/p",)
    slope = found.errors["j/p"]["slope"]
    assert slope.low is not None and slope.low <= 0.06
    assert corrected_ranking_section(build(rows)).keys() == {"refused", "errors"}


def test_a_model_that_wins_every_verdict_has_a_rating_without_interval() -> None:
    rows = [row for k in range(20) for row in both_orders(f"q{k}", True, "x", "x")]
    found = corrected_ranking(build(rows))
    assert found is not None and list(found.ratings) == ["x", "y"]
    assert found.gaps["x"]["y"].low is None and found.gaps["x"]["y"].note
    assert [str(rank) for rank in found.ranks.values()] == ["1–2", "1–2"]


def test_models_that_no_verdict_connects_are_refused() -> None:
    rows = [row for k in range(20) for row in both_orders(f"q{k}", k % 9 > 0, "x", "x")]
    rows += [row for k in range(20) for row in pair(f"r{k}", 0, k % 2, x="v", y="w")]
    found = corrected_ranking(build(rows))
    assert found is not None and "connect" in found.refused


def test_without_labels_there_is_no_section() -> None:
    assert corrected_ranking_section(build(pair("q", 0, 1))) == {}
    people = build(pair("q", 0, 1, better="x", judge="human:ann"))
    assert corrected_ranking_section(people) == {}


def simulated(
    rng: np.random.Generator, items: int, labelled: int, errors: tuple[float, float]
) -> tuple[OrderGrid, list[tuple[str, ...]]]:
    """Three models with strengths .8, 0, −.8, all pairs in both orders; the judge errs with these
    rates where the better answer is first and second, in the same direction in half of the
    comparisons. The first items are labelled."""
    strength = {"a": 0.8, "b": 0.0, "c": -0.8}
    pairs = list(combinations("abc", 2))
    p = np.array([1 / (1 + np.exp(strength[y] - strength[x])) for x, y in pairs])
    truth = np.where(rng.random((items, 3)) < p, 1.0, -1.0)
    shared = rng.random((items, 3)) < 0.5
    luck = rng.random((2, items, 3))
    luck[1] = np.where(shared, luck[0], luck[1])
    rate = np.where(truth > 0, errors[0], errors[1]), np.where(truth > 0, errors[1], errors[0])
    verdicts = np.stack([np.where(luck[k] < rate[k], -truth, truth) for k in (0, 1)])
    known = np.where(np.arange(items)[:, None] < labelled, truth, 0.0)
    size = items * 3
    grid = OrderGrid(
        (("j", "p"),),
        np.repeat(np.arange(items), 3),
        np.arange(size),
        np.full((1, 2, size), -1, np.int32),
        known.ravel(),
        DESIGN,
        verdicts.reshape(1, 2, size).astype(np.float32),
        None,
        np.zeros((1, 2, size), np.int16),
        None,
        None,
    )
    return grid, pairs * items


def coverage(labelled: int, errors: tuple[float, float], studies: int) -> tuple[float, float]:
    """Coverage of the gap between the first and the last model, and the share of studies in which
    all ranks are inside their ranges."""
    gap, ranks = Tally(), 0
    for seed in range(studies):
        rng = np.random.default_rng([labelled, round(100 * errors[0]), seed])
        found = rank_corrected_for_errors(*simulated(rng, 200, labelled, errors))
        if found.refused:
            continue
        sign = 1 if "c" in found.gaps.get("a", {}) else -1
        one = found.gaps["a"]["c"] if sign > 0 else found.gaps["c"]["a"]
        gap.add(one, sign * ELO_PER_LOGIT * 1.6)
        ranks += holds(found)
    return gap.share, ranks / max(gap.given, 1)


def holds(found: CorrectedRanking) -> bool:
    return all(
        found.ranks[name].low <= place <= found.ranks[name].high
        for place, name in enumerate("abc", start=1)
    )


@pytest.mark.extra
@pytest.mark.parametrize("labelled", [30, 100])
def test_gaps_cover_with_few_labels(labelled: int) -> None:
    share, ranks = coverage(labelled, (0.15, 0.25), 100)
    assert share >= 0.93 - tolerance(100) and ranks >= 0.95 - tolerance(100)


def test_gaps_cover_in_a_few_studies() -> None:
    share, ranks = coverage(30, (0.15, 0.25), 5)
    assert share >= 0.6 and ranks >= 0.6, "two misses of five have a probability of 2 %"


def test_a_newton_step_by_hand() -> None:
    """7 wins to 3 at equal strengths: slope 7 − 5 of the gap, curvature 10/4, so a gap of 0.8. No
    step is longer than 1. In the second round the gap is fitted already: ln(7/3)."""
    grid = build_order_grid(build(pair("q", 0, 1)))
    counts = _VerdictCounts(grid, [0], np.array([0]), np.array([1]), 2)
    at, zero = np.log(7 / 3) / 2, np.zeros((2, 2))
    theta = np.array([[0, 0], [at, -at]])
    won, lost = np.array([[4, 3], [7, 0]]), np.array([[1, 2], [0, 3]])
    step = _newton_step(counts, theta, won, lost, 0.0)
    assert step == pytest.approx(np.array([[0.4, -0.4], [0, 0]]), abs=1e-6)
    # With half a win added to both sides: 7.5 − 5.5 over 11/4.
    assert _newton_step(counts, theta, won, lost, 0.5)[0] == pytest.approx([4 / 11, -4 / 11])
    far = _newton_step(counts, zero, won * 0 + 7, lost * 0, 0.0)
    assert far == pytest.approx(np.array([[1, -1], [1, -1]]))


def test_too_many_models_are_left_out_with_the_reason() -> None:
    names = [f"m{k:02}" for k in range(31)]
    rows = [
        row
        for k, (x, y) in enumerate(pairwise(names))
        for row in pair(f"q{k}", 0, 1, x=x, y=y, better=x)
    ]
    found, fewer = (corrected_ranking(build(some)) for some in (rows, rows[:-2]))
    assert found is not None and "30" in found.refused and found.labelled_items == 30
    assert not found.ratings and fewer is not None and len(fewer.ratings) == 30


if __name__ == "__main__":
    plain = (0.15, 0.25)
    lines = [(30, plain), (100, plain), (30, (0.05, 0.05)), (30, (0.3, 0.3)), (15, plain)]
    for count, rates in lines:
        print(count, rates, coverage(count, rates, 120), flush=True)
