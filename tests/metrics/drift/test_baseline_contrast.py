"""A change right after a single baseline night: exact p-values, weights, simulated rates."""

from __future__ import annotations

from itertools import product
from math import log, prod

import numpy as np
import pytest
from scipy.stats import binom

from metrics.drift.baseline_contrast import (
    LOOKS,
    SHARE,
    baseline_p_value,
    e_value_of_baseline_p_value,
    item_weights_if_baseline_high_or_low,
)
from metrics.drift.night_history import StreamHistory
from tests.metrics.drift.simulated_nights import ALPHA, STREAMS, first_alarm
from tests.samples import ALL


def test_p_values_are_valid_for_every_baseline_that_could_have_been() -> None:
    bags = [{60: 1, 0: 3}, {60: 3, 0: 1}, {0: 2, 30: 1, 60: 1}, {60: 2, 0: 2}, {60: 4}]
    drawn = []
    for baseline in product(*bags):
        chance = prod(bag[score] / 4 for bag, score in zip(bags, baseline, strict=True))
        drawn.append((baseline_p_value(bags, list(baseline)), chance))
    assert sum(chance for _, chance in drawn) == pytest.approx(1)
    for level in sorted({p for p, _ in drawn}):
        assert sum(chance for p, chance in drawn if p <= level) <= level + 1e-12


def test_ten_stable_items_that_all_changed_are_one_case_in_a_million() -> None:
    # In each of ten items the baseline is the one high night of four.
    assert baseline_p_value([{60: 1, 0: 3}] * 10, [60] * 10) == pytest.approx(0.25**10)
    assert baseline_p_value([{60: 1, 0: 3}] * 10, [0] * 10) == pytest.approx(1)
    assert baseline_p_value([{60: 4}] * 10, [60] * 10) == 1.0


def test_an_item_that_varies_or_improved_weighs_little() -> None:
    changed, varies, improved = (
        item_weights_if_baseline_high_or_low(1, 8),
        item_weights_if_baseline_high_or_low(4, 8),
        item_weights_if_baseline_high_or_low(7, 8),
    )
    assert changed[0] > 30 and changed[1] < -30
    assert abs(varies[0]) <= 2 and abs(varies[1]) <= 2
    assert abs(improved[0]) <= 2 and abs(improved[1]) <= 2


def test_only_a_single_baseline_night_is_contrasted() -> None:
    one = StreamHistory("accuracy").with_baseline_night({"a": "60"})
    assert one.single == {"a": "60"} and one.baseline_nights == 1
    two = one.with_baseline_night({"a": "60"})
    assert two.single == {} and two.baseline_nights == 2
    night, later = one.compare_night({"a": "60"})
    assert night.strength == pytest.approx((1 - SHARE) * night.evidence.e_value)
    assert later.with_baseline_night({"a": "60"}).single == {"a": "60"}, (
        "the alarm rate is shared by now"
    )
    night, _ = two.compare_night({"a": "60"})
    assert night.strength == night.evidence.e_value
    assert StreamHistory.from_json(later.to_json()) == later
    old = {name: value for name, value in one.to_json().items() if name != "single"}
    assert StreamHistory.from_json(old).single == {}


def test_verdicts_that_change_right_after_the_baseline_are_found_without_known_answers() -> None:
    rng = np.random.default_rng(7)
    varies = rng.random(100) < 0.2
    changed = rng.choice(np.flatnonzero(~varies), 12, replace=False)
    history = StreamHistory("agreement").with_baseline_night(verdicts(rng, varies, []))
    strengths = []
    for _ in range(max(LOOKS)):
        night, history = history.compare_night(verdicts(rng, varies, changed))
        strengths.append(night.strength)
    assert max(strengths) >= STREAMS / ALPHA


def verdicts(rng: np.random.Generator, varies: np.ndarray, changed: object) -> dict[str, str]:
    picked = np.where(varies, rng.random(len(varies)) < 0.5, True)
    picked[changed] = False
    return {str(n): "x" if first else "y" for n, first in enumerate(picked)}


def test_a_drop_right_after_a_single_night_is_found_and_quiet_weeks_are_quiet() -> None:
    """A small version of tests/soak/test_coverage_gate.py, which prints the rates of docs."""
    rng = np.random.default_rng(27)
    week = {"items": 100, "noise": 0.1, "nights": 7}
    found = [first_alarm(rng, **week, drop_at=1, drop=0.1) for _ in range(20)]
    assert sum(alarm is not None for alarm in found) >= 18
    weeks = 100 if ALL else 50
    quiet = [first_alarm(rng, **week) for _ in range(weeks)]
    assert sum(alarm is not None for alarm in quiet) <= 0.04 * weeks


@pytest.mark.parametrize(("high", "nights"), [(1, 4), (1, 8), (2, 6), (3, 4), (5, 6)])
def test_the_weights_are_those_of_bayes_rule(high: int, nights: int) -> None:
    """A changed item is high on the baseline with probability .95, on later nights with .05; an
    item that varies has any rate of high nights, all counts being equally likely."""
    first = 0.95 * binom.pmf(high - 1, nights - 1, 0.05)
    later = 0.05 * binom.pmf(high, nights - 1, 0.05)
    changed = (first + later) / (first + later + 1 / (nights + 1))
    share = high / nights
    likely = changed * first / (first + later) + (1 - changed) * share
    wanted = round(20 * log(likely / share)), round(20 * log((1 - likely) / (1 - share)))
    assert item_weights_if_baseline_high_or_low(high, nights) == wanted


def test_the_strength_of_a_contrast_is_a_third_of_a_third_at_three_nights_only() -> None:
    # The three looks share one third: p = 1/900 is as strong as an e-value of 100.
    assert [e_value_of_baseline_p_value(night, 1 / 900) for night in range(1, 9)] == pytest.approx(
        [0, 0, 100, 0, 100, 0, 100, 0]
    )
    assert 1e290 < e_value_of_baseline_p_value(3, 0.0) < 1e300


def test_an_item_is_high_above_the_middle_of_its_scores() -> None:
    # 0, 10 and 60: the middle is 30, so 10 is low: as an item of one high night in four.
    assert baseline_p_value([{0: 2, 10: 1, 60: 1}], [60]) == pytest.approx(0.25)
    assert baseline_p_value([{0: 2, 10: 1, 60: 1}], [10]) == pytest.approx(1)
    # 30 of 0, 30, 60 is the middle itself: low.
    assert baseline_p_value([{0: 2, 30: 1, 60: 1}], [30]) == pytest.approx(1)


def test_the_third_night_after_a_single_baseline_is_contrasted() -> None:
    # Eight items, right on the baseline and wrong on the three nights after it: p = ¼⁸.
    history = StreamHistory("accuracy").with_baseline_night({str(n): "60" for n in range(8)})
    for _ in range(3):
        night, history = history.compare_night({str(n): "0" for n in range(8)})
    assert night.strength == pytest.approx(
        max(4.0**8 / 9, 2 / 3 * night.evidence.e_value), rel=1e-6
    )
    assert night.strength == pytest.approx(4.0**8 / 9)
