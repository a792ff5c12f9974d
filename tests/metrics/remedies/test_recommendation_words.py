"""Sentences of a recommendation: its interval, and how often a small gain would have been found."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from scipy.stats import norm

from metrics.remedies import recommendation
from metrics.remedies.recommendation import (
    _held_out_credit,
    _interval_covers,
    detection_rate,
    gain_text,
    gains_by_price,
    no_room_for_gain_text,
    random_halves,
    small_gain_detection_text,
)
from metrics.remedies.remedy_study import RemedyStudy, build_remedy_study
from metrics.remedies.rule_names import NEEDS_REFERENCE
from studies.domain import Estimate
from tests.metrics.frames import build, pair
from tests.page_words import says


def drawn_study(items: int, ties: float, right: float, seed: int = 2) -> RemedyStudy:
    """A judge that ties with probability `ties`, else is right with probability `right`."""
    draw = np.random.default_rng(seed)
    rows = []
    for k in range(items):
        better = int(draw.integers(2))
        picks: list[object] = []
        for order in range(2):
            hit = draw.random() < right
            picks.append("tie" if draw.random() < ties else better ^ order ^ (not hit))
        rows += pair(f"q{k}", *picks, better="xy"[better])
    return build_remedy_study(build(rows))


def test_a_gain_is_written_with_its_interval_and_as_that_of_the_choice() -> None:
    assert gain_text(Estimate(0.046, -0.012, 0.08)) == "+4.6 points [−1.2, 8.0]"
    assert gain_text(Estimate(0.005, 0.00011, 0.009)) == "+0.5 points [0.01, 0.90]", "not 0.0"
    for low, high in ((None, 0.08), (0.012, None)):
        assert gain_text(Estimate(0.046, low, high)) == "+4.6 points"
    advice = (study := drawn_study(200, 0.5, 0.95)).advice(0)
    assert advice.chosen is not None
    assert says(advice.sentence, "add up", "in this way", gain_text(advice.chosen.gain))
    grid = replace(study.grid, with_reference=frozenset({study.raters[0][1]}))
    needs = replace(study, grid=grid).advice(0).sentence
    assert needs.replace(NEEDS_REFERENCE, "") == advice.sentence != needs


def test_nothing_shown_is_not_written_as_nothing_helps() -> None:
    study = drawn_study(40, 0.3, 0.5)
    advice = study.advice(0)
    assert advice.chosen is None and advice.coin
    words = ("shown to help", "2 rules compared", "orders 2)", "chance", "2 points", "found in")
    assert says(advice.sentence, *words)
    # Without ties, adding up two orders earns exactly as much as one call: nothing can be found.
    assert small_gain_detection_text(drawn_study(40, 0.0, 0.7).estimate_rules_of_rater(0)) == ""


def test_no_gain_is_looked_for_where_there_is_no_room(monkeypatch: pytest.MonkeyPatch) -> None:
    """One call is right in 49 of 50 comparisons: 2 points of room. In 50 of 50 there is none."""
    monkeypatch.setattr(recommendation, "detection_rate", lambda *_: 0.5)

    def table(agreement: float, high: float) -> list[Any]:
        rule = SimpleNamespace(id="pool", votes=0, members=())
        line = {"complete": True, "changed": 1, "rule": rule, "difference": Estimate(-0.01)}
        single = SimpleNamespace(agreement=Estimate(agreement, n=50), changed=0, complete=True)
        return [single, SimpleNamespace(adjusted=Estimate(-0.01, -0.05, high), **line)]

    assert says(small_gain_detection_text(table(0.98, 0.01)), "50 %")
    assert small_gain_detection_text(table(0.98, -0.001)) == "", "this rule was shown to lose"
    assert not small_gain_detection_text(table(1.0, 0.01))
    assert not no_room_for_gain_text(table(0.98, 0.01))
    assert says(no_room_for_gain_text(table(1.0, 0.01)), "100.0 %", "50 comparisons", "2 points")


@pytest.mark.parametrize(
    ("rate", "text"),
    [(1.0, "over 99 %"), (0.996, "over 99 %"), (0.99, "99 %"), (0.0, "under 1 %"), (0.42, "42 %")],
)
def test_an_estimated_rate_is_never_certain(
    monkeypatch: pytest.MonkeyPatch, rate: float, text: str
) -> None:
    monkeypatch.setattr(recommendation, "detection_rate", lambda *_: rate)
    said = small_gain_detection_text(drawn_study(40, 0.3, 0.5).estimate_rules_of_rater(0))
    assert says(said, "found in", text) and ("over" in said) is (rate > 0.99)


def test_the_detection_rate_is_that_of_a_normal_estimate() -> None:
    items, error = 10_000, 0.01
    raw = Estimate(0.0, -1.96 * error, 1.96 * error, items, items)
    adjusted = Estimate(0.0, -2.5 * error, 2.5 * error, items, items)
    for gain in (0.0, 0.02, 0.025, 0.05):
        got = detection_rate(raw, adjusted, gain)
        assert got == pytest.approx(norm.sf(2.5 - gain / error), abs=1e-3)
    assert detection_rate(Estimate(0.0, 0.0, 0.0, 9, 9), adjusted, 0.02) is None
    assert detection_rate(raw, Estimate(0.0), 0.02) is None
    assert detection_rate(Estimate(0.0, None, 0.1, 9, 9), adjusted, 0.02) is None


def test_a_price_needs_two_rules_and_the_credit_is_that_of_other_items() -> None:
    """The second rule, at price 2, gains 1 on each of ten items with two comparisons."""
    credits = np.stack([np.zeros(10), np.ones(10)], axis=1)
    count, rng = np.full(10, 2.0), np.random.default_rng(0)
    ((price, place, gain, held),) = gains_by_price(credits, count, [1.0, 2.0], rng)
    assert (price, place, gain.value, gain.n) == (2.0, 1, 0.5, 20)
    assert held == pytest.approx(np.ones(10))
    # Rule 0 is best on 30 halves, rule 1 on 10; each item is outside of half of both.
    best = np.repeat([0, 1], [30, 10])
    outside = np.stack([np.arange(40) % 2, 1 - np.arange(40) % 2], axis=1).astype(float)
    credit = np.array([[1.0, 10.0], [2.0, 20.0]])
    assert _held_out_credit(credit, best, outside) == pytest.approx(
        [(15 * 1 + 5 * 10) / 20, (15 * 2 + 5 * 20) / 20]
    )
    assert random_halves(5, rng).sum(axis=1).tolist() == [2] * 20


def test_an_agreement_without_an_interval_may_be_that_of_a_coin() -> None:
    intervals = [(0.5, 0.7), (0.51, 0.7), (0.3, 0.5), (0.3, 0.49), (None, 0.7), (0.6, None)]
    covered = [_interval_covers(Estimate(0.5, low, high), 0.5) for low, high in intervals]
    assert covered == [True, False, True, False, True, True]
