"""The sequential test of nights: exact tails, a martingale by enumeration, alarms by simulation."""

from __future__ import annotations

from itertools import product
from math import comb, exp

import numpy as np
import pytest
from scipy.stats import norm

from metrics.drift.change_evidence import (
    HORIZON,
    SHIFTS,
    ChangeEvidence,
    capital_share_for_start_night,
)
from metrics.drift.exchangeable_tail import lower_tail_probability
from metrics.drift.night_history import StreamHistory
from metrics.drift.night_scores import night_outcomes_by_stream, outcome_scores
from tests.metrics.drift.simulated_nights import first_alarm
from tests.metrics.frames import build, pair


def test_one_earlier_night_gives_mcnemars_exact_test() -> None:
    # 7 items changed for the worse, 2 for the better: P(at most 2 better of 9).
    bags = [{0: 1, 60: 1}] * 9 + [{60: 2}] * 20
    tonight = [0] * 7 + [60] * 2 + [60] * 20
    assert lower_tail_probability(bags, tonight) == pytest.approx(
        sum(comb(9, k) for k in range(3)) / 2**9
    )


def test_the_tail_is_that_of_all_draws() -> None:
    bags = [{0: 1, 30: 2, 60: 1}, {0: 3, 60: 1}, {20: 1, 60: 3}, {60: 4}]
    tonight = [30, 0, 20, 60]
    total = hits = 0
    for draw in product(*([value for value, n in bag.items() for _ in range(n)] for bag in bags)):
        total += 1
        hits += sum(draw) <= sum(tonight)
    assert lower_tail_probability(bags, tonight) == pytest.approx(hits / total)
    assert lower_tail_probability([{60: 3}], [60]) == 1.0


def test_a_bet_is_fair_and_the_starts_share_one_unit() -> None:
    # The mean over uniform p-values, as an integral over z: p is the upper tail of z.
    z = np.linspace(-8, 16, 2_401)
    bets = np.array([ChangeEvidence().after_night(float(norm.sf(x))).started for x in z])
    means = (
        (bets * norm.pdf(z)[:, None]).sum(axis=0) * (z[1] - z[0]) / capital_share_for_start_night(1)
    )
    assert means == pytest.approx(np.ones(len(SHIFTS)), rel=0.001)
    assert sum(
        capital_share_for_start_night(night) for night in range(1, HORIZON + 1)
    ) == pytest.approx(1)
    assert ChangeEvidence().e_value == pytest.approx(1)
    assert ChangeEvidence().after_night(0.5).e_value < 1.01


def test_history_survives_its_file() -> None:
    history = StreamHistory("accuracy").with_baseline_night({"a": "60", "b": "0"})
    night, longer = history.compare_night({"a": "0", "b": "60", "new": "60"})
    assert night.difference.items == 2 and night.p == pytest.approx(0.75)
    assert StreamHistory.from_json(longer.to_json()) == longer


def test_outcomes_with_the_same_score_count_together() -> None:
    # Of two nights each with verdict x and y, and z tonight: 24, 24 and 12 of 60; only z is as low.
    history = StreamHistory("agreement")
    for verdict in "xxyy":
        history = history.with_baseline_night({"item": f"call={verdict}"})
    night, _ = history.compare_night({"item": "call=z"})
    assert night.p == pytest.approx(1 / 5)
    assert (night.value, night.before) == (pytest.approx(12 / 60), pytest.approx(24 / 60))


@pytest.mark.extra
def test_few_series_without_change_alarm_and_drops_are_found() -> None:
    """A small version of tests/soak/test_coverage_gate.py, which prints the rates of docs."""
    rng = np.random.default_rng(26)
    quiet = [first_alarm(rng, items=40, noise=0.1, nights=120) for _ in range(12)]
    assert sum(alarm is not None for alarm in quiet) <= 2
    found = [
        first_alarm(rng, items=100, noise=0.1, nights=16, drop_at=10, drop=0.1) for _ in range(15)
    ]
    assert sum(alarm is not None and 10 <= alarm <= 16 for alarm in found) >= 12


def test_capital_not_yet_bet_is_kept_for_the_nights_to_come() -> None:
    evidence, spent = ChangeEvidence(), 0.0
    for night in range(1, HORIZON + 3):
        evidence = evidence.after_night(0.5)
        spent += capital_share_for_start_night(night)
        bet = sum(evidence.started) / len(SHIFTS)
        assert evidence.e_value - bet == pytest.approx(1 - spent, abs=1e-12)
    assert (
        evidence.nights,
        capital_share_for_start_night(0),
        capital_share_for_start_night(HORIZON + 1),
    ) == (HORIZON + 2, 0, 0)
    assert capital_share_for_start_night(1) == pytest.approx(2 * capital_share_for_start_night(2))
    assert capital_share_for_start_night(HORIZON) * HORIZON == pytest.approx(
        capital_share_for_start_night(1)
    )


def test_a_bet_multiplies_what_is_held_and_what_is_new() -> None:
    # p = ½ is z = 0: a tenth stays, nine tenths times exp(−s²/2). p = 2.275 % is z = 2: exp(2s −
    # s²/2).
    once = ChangeEvidence().after_night(0.5)
    held = [capital_share_for_start_night(1) * (0.1 + 0.9 * exp(-s * s / 2)) for s in SHIFTS]
    assert once.started == pytest.approx(held)
    twice = once.after_night(float(norm.sf(2.0)))
    wanted = [
        (have + capital_share_for_start_night(2)) * (0.1 + 0.9 * exp(2 * s - s * s / 2))
        for have, s in zip(held, SHIFTS, strict=True)
    ]
    assert twice.started == pytest.approx(wanted)
    assert (once.nights, twice.nights) == (1, 2)


def test_the_surest_nights_have_finite_evidence() -> None:
    sure = ChangeEvidence()
    for _ in range(5):
        sure = sure.after_night(0.0)
    assert 1e100 < sure.e_value <= 1e200
    none = ChangeEvidence().after_night(1.0)
    assert none.started == pytest.approx(
        [0.1 * capital_share_for_start_night(1)] * len(SHIFTS), rel=5e-3
    )


def test_a_night_is_compared_with_the_mean_of_the_earlier_ones() -> None:
    # a: 60, 60, tonight 60. b: 0, 60, tonight 0. Tonight ½; before (60 + 30)/2 = ¾; −¼ on average.
    history = StreamHistory("accuracy").with_baseline_night({"a": "60", "b": "0", "gone": "60"})
    history = history.with_baseline_night({"a": "60", "b": "60"})
    night, after = history.compare_night({"a": "60", "b": "0", "new": "60"})
    assert (night.value, night.before, night.difference.value) == (0.5, 0.75, -0.25)
    assert night.p == pytest.approx(2 / 3)  # two of b's three nights are 0
    assert after.bags["a"] == {"60": 3} and after.bags["new"] == {"60": 1}
    assert after.bags["b"] == {"0": 2, "60": 1} and after.bags["gone"] == {"60": 1}
    assert (history.baseline_nights, after.baseline_nights, after.evidence.nights) == (2, 2, 1)
    assert night.evidence == after.evidence == ChangeEvidence().after_night(2 / 3)
    assert -1 <= night.difference.low <= -0.25 <= night.difference.high <= 1


def test_a_night_without_known_items_says_nothing() -> None:
    night, after = StreamHistory("accuracy").compare_night({"a": "60"})
    assert (night.value, night.before, night.difference.value, night.p) == (None, None, None, 1.0)
    assert night.difference.note and after.bags == {"a": {"60": 1}}
    assert StreamHistory("accuracy").baseline_nights == 0


def test_baseline_nights_are_counted_also_if_no_item_is_in_all_of_them() -> None:
    history = StreamHistory("accuracy")
    for item in "abc":
        history = history.with_baseline_night({item: "60"})
    for item in "abcd":
        _, history = history.compare_night({item: "60"})
    assert (history.baseline_nights, history.evidence.nights) == (3, 4)
    stored = history.to_json()
    assert StreamHistory.from_json(stored) == history
    del stored["baseline"]  # as in a file of an older version: at most the nights of one item
    assert StreamHistory.from_json(stored).baseline_nights == 0


def test_a_better_night_raises_no_alarm() -> None:
    history = StreamHistory("accuracy").with_baseline_night({str(k): "0" for k in range(20)})
    night, _ = history.compare_night({str(k): "60" for k in range(20)})
    assert night.p == pytest.approx(1) and night.strength < 1


def night_of(**verdicts: str) -> str:
    """Outcome of an item on a night: call -> verdict as one text."""
    return "\x1d".join(f"{call}\x1e{verdict}" for call, verdict in verdicts.items())


def test_agreement_scores_count_equal_calls_on_all_nights() -> None:
    # Two calls a night, of which the second differs on one of three nights:
    # the equal nights score (2·1 + ½)/3, the other (2·½ + 1)/3.
    same, other = night_of(one="x", two="x"), night_of(one="x", two="y")
    assert outcome_scores("agreement", {same: 2, other: 1}) == {same: 50, other: 40}
    assert outcome_scores("accuracy", {"45": 3, "0": 1}) == {"45": 45, "0": 0}


def test_calls_without_a_verdict_are_no_evidence_of_a_change() -> None:
    whole, part = night_of(one="x", two="y"), night_of(one="x")
    unread, silent = night_of(one="x", two="?"), night_of(one="?", two="?")
    assert outcome_scores("agreement", {whole: 3, part: 1, unread: 1}) == dict.fromkeys(
        (whole, part, unread), 60
    )
    # A night without common calls says nothing: a scores (3·1 + 1·0)/4, not (3·1 + 1·0 + 0)/5.
    a, b, apart = night_of(one="x"), night_of(one="y"), night_of(two="y")
    assert outcome_scores("agreement", {a: 3, b: 1, apart: 1}) == {a: 45, b: 15, apart: 60}
    assert outcome_scores("agreement", {whole: 3, silent: 1})[whole] == 60


def test_nights_without_a_verdict_in_older_files_are_left_out() -> None:
    said, silent = night_of(one="x", two="?"), night_of(one="?", two="?")
    data = {
        "kind": "agreement", "nights": 2, "evidence": [0.5] * len(SHIFTS),
        "items": {"a": {said: 2, silent: 1}, "b": {silent: 3}}, "single": {"a": said, "b": silent},
    }  # fmt: skip
    got = StreamHistory.from_json(data)
    assert (got.bags, got.single) == ({"a": {said: 2}}, {"a": said})
    assert got.evidence == ChangeEvidence(2, (0.5,) * len(SHIFTS))


def test_a_judge_that_becomes_unreadable_loses_coverage_only() -> None:
    items = [f"q{number}" for number in range(12)]
    good = night_outcomes_by_stream(build([row for item in items for row in pair(item, 0, 1)]))
    bad = night_outcomes_by_stream(build([row for item in items for row in pair(item, 0, None)]))
    p = {}
    for stream, tonight in bad.items():
        history = StreamHistory(stream.kind).with_baseline_night(good[stream])
        for _ in range(4):
            history = history.compare_night(good[stream])[1]
        p[stream.kind] = history.compare_night(tonight)[0].p
    assert p["agreement"] == 1.0 and p["coverage"] < 0.001


def test_a_night_is_scored_in_sixtieths_by_judge_prompt_and_kind() -> None:
    rows = [
        *pair("q1", 0, 1, better="x"), *pair("q2", 0, 0, better="y"),
        *pair("q3", 1, None, better="x"), *pair("q4", 0, 1, judge="k"),
        *pair("q4", 1, 0, judge="k", noise=True),
        *pair("q1", 0, 1, judge="human:a"),
    ]  # fmt: skip
    found = {
        tuple(stream): scores for stream, scores in night_outcomes_by_stream(build(rows)).items()
    }
    # Accuracy: q1 both right, q2 one of two, q3 wrong (one readable). Coverage: q3 one of two.
    # Consistency: q2 flips; q3 has one order only.
    assert found["j", "p", "accuracy"] == {"q1": "60", "q2": "30", "q3": "0"}
    assert found["j", "p", "coverage"] == {"q1": "60", "q2": "60", "q3": "30"}
    assert found["j", "p", "consistency"] == {"q1": "60", "q2": "0"}
    assert {judge for judge, _, _ in found} == {"j", "k"}, "people are no stream"
    assert ("j", "p", "agreement") not in found and ("k", "p", "accuracy") not in found
    (text,) = found["k", "p", "agreement"].values()
    calls = text.split("\x1d")
    assert [call.split("\x1e")[1] for call in calls] == ["x", "x"], "the noise repeats are left out"
    assert found["k", "p", "consistency"] == {"q4": "60"}


def test_verdicts_of_a_night_are_texts_of_winner_or_tie() -> None:
    found = night_outcomes_by_stream(build([*pair("q", 1, "tie"), *pair("r", None, 1)]))
    texts = {
        item: [call.split("\x1e")[1] for call in text.split("\x1d")]
        for stream, scores in found.items()
        if stream.kind == "agreement"
        for item, text in scores.items()
    }
    assert texts == {"q": ["y", "tie"], "r": ["x"]}


def test_a_night_of_scores_differs_from_a_night_of_other_scores() -> None:
    def texts(shown: tuple[str, ...], *scores: float, status: str = "ok") -> list[str]:
        row = {"item": "q", "shown": shown, "pick": None, "scores": scores, "status": status}
        (found,) = (scores for stream, scores in night_outcomes_by_stream(build([row])).items()
                    if stream.kind == "agreement")  # fmt: skip
        return [text.split("\x1e")[1] for text in found.values()]

    assert texts(("x",), 1.0) == ["1"] and texts(("x",), 0.0) == ["0"]
    assert texts(("x", "y"), 7.5, 3.0) == ["7.5 3"], "two scores and no choice"
    assert texts(("x",), 1.0, status="unreadable") == [], "unreadable"
