"""Accuracy against chance with ties, and repeats with a memory: by hand and in simulations."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from metrics.catalogue.records import estimate_position_measures
from metrics.estimation.measures import GroupedFrame
from metrics.estimation.multiple_comparisons import simultaneous_interval
from metrics.position.order_effect import consecutive_repeat_similarity
from metrics.position.position_measures import (
    ACCURACY,
    ACCURACY_LEAD,
    accuracy,
    accuracy_lead,
    chance_accuracy,
)
from tests.metrics.frames import build, pair, rotated

CARD_TESTS = 1 / 0.79
"""Widening of a card's intervals in a study with one judge."""


def judges_with_ties(
    studies: int, items: int, ties: float, right: float, seed: int = 31
) -> pd.DataFrame:
    """One judge for each study: it ties with probability `ties`, else is right with `right`."""
    draw = np.random.default_rng(seed)
    rows = []
    for study in range(studies):
        for k in range(items):
            for name in ("xy", "xz", "yz"):
                better = int(draw.random() < 0.5)
                picks: list[object] = []
                for order in range(2):
                    slot = better ^ order if draw.random() < right else 1 - (better ^ order)
                    picks.append("tie" if draw.random() < ties else slot)
                more = {"x": name[0], "y": name[1], "better": name[better]}
                rows += pair(f"q{k}", *picks, judge=f"j{study}", **more)
    return build(rows)


def claims(frame: pd.DataFrame) -> tuple[float, float, float]:
    """Shares of judges of which a card says less often than chance, and more often; and the share
    that would be told less often with ties as errors and chance one half."""
    cells = GroupedFrame(frame, ["judge"])
    lead = [simultaneous_interval(e, CARD_TESTS) for e in ACCURACY_LEAD.by_cell(cells).values()]
    plain = [simultaneous_interval(e, CARD_TESTS) for e in ACCURACY.by_cell(cells).values()]
    below, above = np.mean([e.high < 0 for e in lead]), np.mean([e.low > 0 for e in lead])
    return float(below), float(above), float(np.mean([e.high < 0.5 for e in plain]))


def test_chance_counts_ties_by_hand():
    # Right 3, wrong 1, tied 4 of 8: a judge with as many ties is right by chance in 2 of 8.
    rows = [*pair("a", 0, 1, better="x"), *pair("b", 0, 0, better="x")]
    rows += [row for name in "cd" for row in pair(name, "tie", "tie", better="y")]
    frame = build(rows)
    right, lead = accuracy(frame), accuracy_lead(frame)
    assert (right.value, lead.value) == (3 / 8, (3 - 1) / 2 / 8)
    assert chance_accuracy(right, lead) == pytest.approx((1 - 4 / 8) / 2)


def test_without_ties_chance_is_one_of_n():
    rows = [row for k in range(6) for row in rotated(f"q{k}", [0, 1, 2])]
    frame = build([{**row, "known_answer": 0} for row in rows])
    right, lead = accuracy(frame), accuracy_lead(frame)
    assert chance_accuracy(right, lead) == pytest.approx(1 / 3)
    assert chance_accuracy(accuracy(build(pair("q", 0, 1))), lead) is None


def test_the_same_verdicts_are_as_uncertain_as_a_share_and_as_a_difference():
    """Orders that cancel: each of 80 items is right once and wrong once, but for a few. Without
    ties the lead is the accuracy minus ½, ends too; only a floor keeps the interval of the accuracy
    from a width of almost 0: .3 of the variance of 160 independent verdicts."""
    rows = [row for k in range(80) for row in pair(f"q{k}", 0, 0, better="x")]
    rows[0]["pick"], rows[3]["pick"] = 1, 0
    rows[5]["pick"] = 1
    frame = build(rows)
    right, lead = accuracy(frame), accuracy_lead(frame)
    found = (lead.value + 0.5, lead.low + 0.5, lead.high + 0.5)
    assert found == pytest.approx((right.value, right.low, right.high))
    n = 160 / 0.3 * (1.959964 / 1.990450) ** 2  # Student's t with 79 degrees of freedom
    spread = 1.959964 * np.sqrt(right.value * (1 - right.value) / n + (1.959964 / n) ** 2 / 4)
    assert (lead.high - lead.low) / 2 == pytest.approx(spread / (1 + 1.959964**2 / n), rel=0.02)


def test_a_coin_that_ties_is_seldom_told_to_be_below_chance():
    below, above, before = claims(judges_with_ties(40, 30, 0.3, 0.5))
    assert before > 0.8, "ties as errors against one half"
    assert below <= 0.125 and above <= 0.125


def test_a_judge_that_is_right_when_it_decides_is_told_to_be_above_chance():
    below, above, before = claims(judges_with_ties(15, 30, 0.5, 0.95))
    assert (below, above) == (0, 1) and before < 0.5


@pytest.mark.extra
@pytest.mark.parametrize("items", [30, 100])
@pytest.mark.parametrize("ties", [0.05, 0.2, 0.5])
def test_coins_of_all_tie_rates_keep_the_error_rate(items: int, ties: float):
    below, above, _ = claims(judges_with_ties(150, items, ties, 0.5))
    assert below <= 0.06 and above <= 0.06


def biased_judges(studies: int, items: int, seed: int) -> pd.DataFrame:
    """Judges with κ near .28 between their orders: half of the items by content, else at random."""
    draw = np.random.default_rng(seed)
    rows = []
    for study in range(studies):
        for k in range(items):
            same = draw.random() < 0.28
            slot = int(draw.integers(2))
            other = 1 - slot if same else int(draw.integers(2))
            rows += pair(f"q{k}", slot, other, judge=f"j{study}")
    return build(rows)


def test_little_more_than_chance_needs_the_upper_limit_of_kappa():
    found = estimate_position_measures(biased_judges(150, 30, 5), ["judge"]).values()
    kappa = [simultaneous_interval(one["kappa"], CARD_TESTS) for one in found]
    assert np.mean([one.value <= 0.2 for one in kappa]) > 0.2, "by the value alone"
    assert np.mean([one.high <= 0.2 for one in kappa]) <= 0.03


def copying_judge(copy: float, items: int, repeats: int, seed: int) -> pd.DataFrame:
    """Random verdicts in both orders; a repeat copies the one before with probability `copy`."""
    draw = np.random.default_rng(seed)
    rows = []
    for k in range(items):
        for shown in ("xy", "yx"):
            pick = int(draw.integers(2))
            for repeat in range(repeats):
                if repeat and draw.random() >= copy:
                    pick = int(draw.integers(2))
                rows.append({"item": f"q{k}", "shown": shown, "pick": pick, "repeat": repeat})
    return build(rows)


def test_memory_of_repeats_by_hand():
    # 0 and 2 differ; of the two consecutive pairs one differs: 1 − 1/2.
    rows = [
        {"item": "q", "shown": "xy", "pick": pick, "repeat": k} for k, pick in enumerate((0, 0, 1))
    ]
    assert consecutive_repeat_similarity(build(rows)).value == pytest.approx(0.5)
    assert consecutive_repeat_similarity(build(rows[:2])).value is None, (
        "two repeats have one distance"
    )


@pytest.mark.parametrize("copy", [0.0, 0.6])
def test_memory_of_a_copying_judge_has_its_closed_form(copy: float):
    # Verdicts d apart differ with probability (1 − copyᵈ)/2.
    got = consecutive_repeat_similarity(copying_judge(copy, 1200, 3, seed=3))
    assert got.value == pytest.approx((copy - copy**2) / 2, abs=0.03)  # four standard errors
    assert (got.low > 0) == (copy > 0)
