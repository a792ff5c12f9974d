"""Remedies for single answers: credits and distances by hand, and closed forms of known judges."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest

from metrics.labels.labelled_rows import pass_fail_rows_by_rater
from metrics.labels.pass_fail import pass_fail_rates
from metrics.labels.point_rules import (
    PointRemedies,
    PointRule,
    _estimate_point_rule,
    _verdicts_follow_labels,
    compare_single_answer_rules_with_one_call,
    single_answer_rules_section,
)
from studies.domain import Estimate
from studies.frames.frame import SEP, frame_from_rows

PASSES = (SEP.join(("fail", "pass")), SEP.join(("pass", "fail")))
SCALES = tuple(SEP.join(names) for names in ("12345", "23451", "34512"))

Row = tuple[str, str, float, bool, str | None]
"""Item, arrangement, score, whether it is a noise-floor repeat, probabilities."""


def frame_of(rows: list[Row], labels: dict[str, object]) -> pd.DataFrame:
    made = [
        (k, item, "j", "p", "m", offered, k, noise, 1, "ok", None, None, f"[{score}]", shares, k)
        for k, (item, offered, score, noise, shares) in enumerate(rows)
    ]
    facts = {item: {"labels": {"m": value}} for item, value in labels.items()}
    return frame_from_rows(made, facts, study="s")


def remedies_of(rows: list[Row], labels: dict[str, object]) -> PointRemedies:
    return compare_single_answer_rules_with_one_call(frame_of(rows, labels))["j", "p"]


def rule(found: PointRemedies, id: str) -> PointRule:
    return next(one for one in found.rules if one.id == id)


def covers(estimate: Estimate | None, value: float) -> bool:
    assert estimate is not None and estimate.low is not None and estimate.high is not None
    return estimate.low <= value <= estimate.high


def test_majority_over_arrangements_by_hand() -> None:
    # q0: right twice, 1 and 1. q1: right once: half. q2: wrong twice. Undecided counts half.
    verdicts = {"q0": (1, 1), "q1": (1, 0), "q2": (0, 0)}
    rows: list[Row] = [
        (item, PASSES[k], float(score), False, None)
        for item, both in verdicts.items()
        for k, score in enumerate(both)
    ]
    found = remedies_of(rows, dict.fromkeys(verdicts, "pass"))
    assert found.kind == "pass" and found.rules[0].id == "single"
    assert found.rules[0].value.value == pytest.approx(0.5)
    both = rule(found, "arrangements")
    assert (both.calls, both.value.value) == (2, pytest.approx(0.5))
    assert both.gain is not None and both.gain.value == pytest.approx(0.0)
    assert set(found.missing) == {"expected-arrangements", "repeats", "threshold"}
    assert found.advice is None


def test_one_call_has_the_interval_of_the_rate_with_the_labels() -> None:
    # 9 of 12 right. Wilson: [.468, .911]. Three errors are few: the upper limit is that of a
    # Poisson count of 3, 1 - gammaincinv(3, .05) / 12 = 1 - .8177 / 12 = .932.
    rows: list[Row] = [(f"q{k:02}", PASSES[0], float(k >= 3), False, None) for k in range(12)]
    labels = dict.fromkeys((row[0] for row in rows), "pass")
    frame = frame_of(rows, labels)
    one = rule(compare_single_answer_rules_with_one_call(frame)["j", "p"], "single").value
    assert (one.value, one.low) == (0.75, pytest.approx(0.468, abs=0.001))
    assert one.high == pytest.approx(0.932, abs=0.001)
    rate = pass_fail_rates(pass_fail_rows_by_rater(frame)["j", "p"]).agreement
    assert (rate.low, rate.high) == (one.low, one.high)


def test_scores_lose_their_distance_to_the_label() -> None:
    # Labels 3; scores 1, 3 and 5 in three orders: one call is 4/3 away, the mean 0.
    rows: list[Row] = [
        (f"q{k}", offered, score, False, None)
        for k in range(30)
        for offered, score in zip(SCALES, (1.0, 3.0, 5.0), strict=True)
    ]
    found = remedies_of(rows, {f"q{k}": 3 for k in range(30)})
    assert found.kind == "score"
    assert found.advice is None and found.no_signal, "the constant 3 needs no judge"
    assert found.rules[0].value.value == pytest.approx(4 / 3)
    mean = rule(found, "arrangements")
    assert (mean.calls, mean.value.value) == (3, pytest.approx(0.0))
    assert mean.gain is not None and mean.gain.value == pytest.approx(4 / 3)


def test_scores_around_different_labels_are_averaged() -> None:
    # Labels 2 to 4; scores one above, one below and at the label: one call is 2/3 away, the mean 0.
    label = {f"q{k}": 2 + k % 3 for k in range(48)}
    rows: list[Row] = [
        (item, offered, float(value + step), False, None)
        for item, value in label.items()
        for offered, step in zip(SCALES, (-1, 0, 1), strict=True)
    ]
    found = remedies_of(rows, dict(label))
    assert found.advice is not None and found.advice.rule == "arrangements"
    assert found.advice.gain.value == pytest.approx(2 / 3)


def advised_without_signal(studies: int, items: int) -> float:
    """Share of studies with a recommended rule, for scores from 1 to 5 drawn without the label."""
    advised = 0
    for study in range(studies):
        draw = np.random.default_rng([96, items, study])
        label = {f"q{k}": int(draw.integers(1, 6)) for k in range(items)}
        rows: list[Row] = [
            (item, offered, float(draw.integers(1, 6)), False, None)
            for item in label
            for offered in SCALES
        ]
        advised += remedies_of(rows, dict(label)).advice is not None
    return advised / studies


def test_scores_without_a_signal_get_no_advice() -> None:
    # The mean of three random scores is nearer to the labels than one, and farther than a constant.
    assert advised_without_signal(12, 20) <= 1 / 12


@pytest.mark.extra
@pytest.mark.parametrize("items", [20, 60])
def test_random_scores_are_seldom_advised(items: int) -> None:
    assert advised_without_signal(60, items) <= 0.05


def test_expected_scores_need_probabilities() -> None:
    # The option with the highest probability is 5, the expected score 0.6·5 + 0.4·1 = 3.4.
    shares = "[0.4, 0.0, 0.0, 0.0, 0.6]"
    rows: list[Row] = [(f"q{k}", SCALES[0], 5.0, False, shares) for k in range(6)]
    found = remedies_of(rows, {f"q{k}": 3 for k in range(6)})
    assert rule(found, "single").value.value == pytest.approx(2.0)
    expected = rule(found, "expected")
    assert (expected.calls, expected.value.value) == (1, pytest.approx(0.4, abs=1e-6))
    assert "arrangements" in found.missing


def test_a_shift_is_measured_on_labels_that_did_not_choose_it() -> None:
    rng = np.random.default_rng(2)
    labels = {f"q{k}": int(rng.integers(2, 5)) for k in range(60)}
    rows: list[Row] = [
        (item, SCALES[0], float(value + 1), False, None) for item, value in labels.items()
    ]  # one step too high, always
    found = remedies_of(rows, dict(labels))
    assert found.rules[0].value.value == pytest.approx(1.0)
    assert rule(found, "shift").value.value == pytest.approx(0.0)
    assert found.advice is not None and (found.advice.rule, found.advice.calls) == ("shift", 1)
    assert found.advice.fitted == -1, "the constant that is added"


def test_repeats_are_combined_on_the_answers_that_have_them() -> None:
    rows: list[Row] = []
    for k in range(10):
        rows.append((f"q{k}", PASSES[0], 1.0, False, None))
        if k < 4:  # right in two of three calls
            rows += [(f"q{k}", PASSES[0], score, True, None) for score in (1.0, 0.0)]
    found = remedies_of(rows, {f"q{k}": "pass" for k in range(10)})
    repeats = rule(found, "repeats")
    assert (repeats.calls, repeats.value.value, repeats.value.n) == (3, 1.0, 4)
    assert repeats.gain is not None and repeats.gain.value == pytest.approx(1 / 3)


def test_a_judge_that_prefers_a_place_gains_from_all_orders() -> None:
    """Closed form: with three options and probability b for the place offered first, one call is
    right with (1 − b) q + b/3 … of labels spread evenly; the mean of three orders is nearer."""
    rng, bias = np.random.default_rng(9), 0.5
    rows: list[Row] = []
    labels: dict[str, object] = {}
    for k in range(300):
        label = int(rng.integers(1, 6))
        labels[f"q{k}"] = label
        for offered in SCALES:
            first = float(offered.split(SEP)[0])
            score = first if rng.random() < bias else float(label)
            rows.append((f"q{k}", offered, score, False, None))
    found = remedies_of(rows, labels)
    distance = np.mean([abs(first - label) for first in (1, 2, 3) for label in range(1, 6)])
    assert covers(found.rules[0].value, bias * float(distance))
    gain = rule(found, "arrangements").adjusted
    assert gain is not None and gain.low is not None and gain.low > 0


def test_a_moved_threshold_recovers_a_severe_judge() -> None:
    """The judge passes good answers with a probability around 0.4 and bad ones around 0.2, so that
    it fails all; a threshold of 0.3 tells them apart."""
    rng = np.random.default_rng(4)
    rows: list[Row] = []
    labels: dict[str, object] = {}
    for k in range(200):
        good = k % 2 == 0
        p = float(np.clip(rng.normal(0.4 if good else 0.2, 0.05), 0.01, 0.49))
        rows.append((f"q{k}", PASSES[0], 0.0, False, f"[{1 - p}, {p}]"))
        labels[f"q{k}"] = "pass" if good else "fail"
    found = remedies_of(rows, labels)
    assert found.rules[0].value.value == 0.5
    moved = rule(found, "threshold").value
    assert covers(moved, 0.977), "a normal distribution exceeds two deviations with 2.3 %"
    assert found.advice is not None and found.advice.rule == "threshold"
    assert 0.27 < found.advice.fitted < 0.33


@pytest.mark.extra
def test_null_rules_are_rarely_recommended() -> None:
    """A judge that is right with 70 % in each of two orders, independently: two verdicts are worth
    as much as one, and any threshold on their number gives 70 % again."""
    rng = np.random.default_rng(8)
    called = 0
    for _ in range(20):
        good = rng.random(40) < 0.5
        rows: list[Row] = [
            (f"q{k}", offered, float((rng.random() < 0.7) == good[k]), False, None)
            for k in range(40)
            for offered in PASSES
        ]
        labels = {f"q{k}": "pass" if good[k] else "fail" for k in range(40)}
        called += remedies_of(rows, dict(labels)).advice is not None
    assert called <= 3  # 1 expected; 4 or more has a probability of 1.6 %


def test_without_labels_there_is_nothing_to_compare() -> None:
    rows: list[Row] = [("q0", PASSES[0], 1.0, False, None)]
    assert compare_single_answer_rules_with_one_call(frame_of(rows, {})) == {}


def test_two_arrangements_with_probabilities_are_combined() -> None:
    # One order says pass with .9, the other with .3: the mean .6 passes. Labels: pass.
    rows: list[Row] = [
        (f"q{k}", offered, score, False, shares)
        for k in range(5)
        for offered, score, shares in (
            (PASSES[0], 1.0, "[0.1, 0.9]"), (PASSES[1], 0.0, "[0.3, 0.7]"),
        )
    ]  # fmt: skip
    found = remedies_of(rows, {f"q{k}": "pass" for k in range(5)})
    assert rule(found, "single").value.value == 0.5
    both = rule(found, "expected-arrangements")
    assert (both.calls, both.value.value) == (2, 1.0)
    assert both.gain is not None and both.gain.value == pytest.approx(0.5)
    assert "expected-arrangements" not in found.missing
    assert "expected" not in {one.id for one in found.rules}, "a pass is decided, not averaged"


def test_answers_not_judged_in_every_arrangement_are_left_out() -> None:
    # Nine answers in both orders, right once; the tenth in one order only, right.
    rows: list[Row] = [
        (f"q{k}", PASSES[order], 1.0 - order, False, None) for k in range(9) for order in range(2)
    ]
    rows.append(("q9", PASSES[0], 1.0, False, None))
    found = remedies_of(rows, {f"q{k}": "pass" for k in range(10)})
    assert (found.rules[0].value.value, found.rules[0].value.n) == (0.5, 9)
    assert rule(found, "arrangements").calls == 2
    # Most answers in one order: arrangements are not combined.
    few = rows[:2] + [(f"q{k}", PASSES[0], 1.0, False, None) for k in range(1, 10)]
    alone = remedies_of(few, {f"q{k}": "pass" for k in range(10)})
    assert "arrangements" in alone.missing and alone.rules[0].value.n == 10


def test_the_section_has_rules_missing_ones_and_the_advice() -> None:
    rng = np.random.default_rng(2)
    labels = {f"q{k}": int(rng.integers(2, 5)) for k in range(60)}
    rows: list[Row] = [
        (item, SCALES[0], float(value + 1), False, None) for item, value in labels.items()
    ]
    section = single_answer_rules_section(frame_of(rows, dict(labels)))["j"]["p"]
    assert set(section["rules"]) == {"single", "shift"}
    assert section["rules"]["single"].keys() == {"calls", "mae"}
    assert section["rules"]["shift"].keys() == {"calls", "mae", "gain", "adjusted"}
    assert section["rules"]["shift"]["gain"].value == pytest.approx(1.0)
    assert (section["recommendation"]["rule"], section["recommendation"]["fitted"]) == ("shift", -1)
    assert set(section["missing"]) == {
        "arrangements",
        "expected",
        "expected-arrangements",
        "repeats",
    }
    passed: list[Row] = [(f"q{k}", PASSES[0], 1.0, False, None) for k in range(5)]
    plain = single_answer_rules_section(frame_of(passed, {f"q{k}": "pass" for k in range(5)}))["j"][
        "p"
    ]
    assert plain["recommendation"] == {"rule": None}
    assert plain["rules"]["single"]["agreement"].value == 1.0


def test_three_repeats_on_two_items_are_needed() -> None:
    def found(items: int, repeats: int) -> bool:
        rows: list[Row] = [
            (f"q{k}", PASSES[0], 1.0, n > 0, None) for k in range(items) for n in range(repeats)
        ]
        made = remedies_of(rows, {f"q{k}": "pass" for k in range(items)})
        return "repeats" in {one.id for one in made.rules}

    assert found(2, 3) and not found(1, 3) and not found(2, 2)


def test_repeats_in_each_order_count_as_calls() -> None:
    rows: list[Row] = [
        (f"q{k}", PASSES[order], float(passed == "P"), False, None)
        for k in range(6)
        for order, verdicts in enumerate(("PPP", ("PFF", "PPF")[k % 2]))
        for passed in verdicts
    ]
    both = rule(remedies_of(rows, {f"q{k}": "pass" for k in range(6)}), "arrangements")
    assert both.calls == 6 and both.gain is not None
    assert both.gain.value == pytest.approx(0.25) and covers(both.gain, 0.25)


def test_verdicts_that_follow_the_labels_must_also_beat_a_constant() -> None:
    """Scores in the order of the labels 1 to 5: of no use if they are as far off as the constant 3
    (6/5 on average), of use if they are exact; equal scores follow nothing."""
    label = np.tile(np.arange(1.0, 6), 8)
    answers = pd.DataFrame({"label": label, "score": label, "expected": np.nan})
    item = np.arange(40)

    def follow(answers: pd.DataFrame, loss: float) -> bool:
        return _verdicts_follow_labels("score", answers, np.full(40, loss), item, 4.0)

    assert follow(answers, 0.0) and not follow(answers, 1.2) and not follow(answers, 2.0)
    assert not follow(answers.assign(score=3.0), 0.0)
    assert follow(answers.assign(score=3.0, expected=label), 0.0)


def test_the_adjusted_gain_of_passes_stays_between_minus_one_and_one() -> None:
    """Gains 1, 1 and 0: standard error 1/3, and t of two degrees beyond 4 for any test."""
    verdicts: Any = SimpleNamespace(kind="pass")
    single, loss = np.array([1.0, 1, 1]), np.array([0.0, 0, 1])
    found = _estimate_point_rule(verdicts, "repeats", 3.0, loss, single, np.arange(3), 5)
    assert found.gain is not None and found.gain.value == pytest.approx(2 / 3)
    assert found.adjusted is not None
    assert (found.adjusted.low, found.adjusted.high) == (-1, 1)
