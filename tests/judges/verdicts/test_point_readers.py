"""Verdicts on one answer, read from replies: pass or fail, and an option of a scale."""

from __future__ import annotations

from functools import partial

import pytest

from judges.verdicts.markers import score_at
from judges.verdicts.point_readers import score_by_option
from judges.verdicts.verdict import parse_verdict
from tests.growth import STEP, is_linear

FIVE = ("1", "2", "3", "4", "5")
NAMES = ("poor", "fair", "good", "very good")


@pytest.mark.parametrize(
    ("reply", "score"),
    [
        ("It is right.\nVerdict: PASS", 1.0),
        ("**Verdict:** **FAIL**", 0.0),
        ("verdict: passed.", 1.0),
        ('I would say "Verdict: PASS" if it were right.\nVerdict: FAIL', 0.0),
        ("Verdict: [FAIL]", 0.0),
        ("Verdict: PASS or FAIL", None),
        ("Verdict: PASS/FAIL", None),
        ("Verdict: PASS is not warranted", None),
        ("Verdict: [PASS] wouldn't be fair", None),
        ("Verdict: FAIL cannot be justified", None),
        ("Verdict: PASS. It is not perfect.", 1.0),
        ("Verdict: PASS (is nothing wrong with it)", 1.0),
        ("Verdict: PASS \u2013 FAIL", None),
        ("Verdict: passable", None),
        ("Verdict: unclear", None),
        ("PASS", None),
        ("The answer fails.", None),
        ("", None),
    ],
)
def test_pass_and_fail(reply: str, score: float | None) -> None:
    verdict = parse_verdict("pass-fail", reply, 2).verdict
    assert (verdict.scores if verdict else None) == (None if score is None else (score,))


@pytest.mark.parametrize(
    ("reply", "scale", "score"),
    [
        ("Fine.\nScore: 4", FIVE, 4.0),
        ("Score: 4/5", FIVE, 4.0),
        ("Score: 4 out of 5", FIVE, 4.0),
        ("Score: **2**.", FIVE, 2.0),
        ("Score: 4.5", FIVE, None),
        ("Score: 4-5", FIVE, None),
        ("Score: 4\u20135", FIVE, None),  # an en dash
        ("Score: 4 out of 10", FIVE, None),
        ("Score: 4 or 5", FIVE, None),
        ("Score: 6", FIVE, None),
        ("Score: 40", FIVE, None),
        ("Score: 80%", FIVE, None),
        ("Score: four", FIVE, None),
        ("Score: 0.5", ("0", "0.5", "1"), 0.5),
        ("Score: Very good", NAMES, 4.0),
        ("Score: good", NAMES, 3.0),
        ("Score: goodish", NAMES, None),
        ("Score: fair or good", NAMES, None),
        ("Score: 3", NAMES, None),
        ("no score", NAMES, None),
    ],
)
def test_options_of_a_scale(reply: str, scale: tuple[str, ...], score: float | None) -> None:
    verdict = parse_verdict("score-scale", reply, len(scale), scale=scale).verdict
    assert (verdict.scores if verdict else None) == (None if score is None else (score,))


@pytest.mark.parametrize("text", ["verdict: ", "score: ", "score: [[[(", "verdict: pass or "])
def test_long_replies_take_linear_time(text: str) -> None:
    for format in ("pass-fail", "score-scale"):
        read = partial(parse_verdict, format, n_options=5, scale=FIVE)
        long = text * 500 * STEP
        assert is_linear(partial(read, text * 500), partial(read, long)), format


@pytest.mark.parametrize(
    ("scale", "reply", "score"),
    [
        (("-1", "0", "1"), "Score: -1", -1.0),
        (("0.5", "1.5"), "Score: 1.50", 1.5),
        (("1.0.1", "1.0.2"), "Score: 2", None),  # names, not numbers: 2 is no option
        (("1.0.1", "1.0.2"), "Score: 1.0.2", 2.0),
        (("low", "2"), "Score: 2", 2.0),
        (("1", "high"), "Score: 2", None),
    ],
)
def test_numbers_count_only_where_every_option_is_one(
    scale: tuple[str, ...], reply: str, score: float | None
) -> None:
    verdict = parse_verdict("score-scale", reply, len(scale), scale=scale).verdict
    assert (verdict.scores if verdict else None) == (None if score is None else (score,))


def test_options_are_worth_their_number_their_rank_or_pass_and_fail() -> None:
    assert score_by_option(("fail", "pass")) == {"fail": 0.0, "pass": 1.0}
    assert score_by_option(("pass", "fail")) == {"fail": 0.0, "pass": 1.0}
    assert score_by_option(("2", "4.5")) == {"2": 2.0, "4.5": 4.5}
    assert score_by_option(("poor", "fair", "3")) == {"poor": 1.0, "fair": 2.0, "3": 3.0}


def test_a_letter_of_the_request_counts_before_an_option_of_that_name() -> None:
    labels = ("A=D", "B=C", "C=B", "D=A")
    verdict = parse_verdict("score-scale", "Score: A", scale=("D", "C", "B", "A"), labels=labels)
    assert verdict.verdict is not None and verdict.verdict.scores == (1.0,), "the worst option"


@pytest.mark.parametrize(
    "reply", ["Accuracy: 5\nFactual Accuracy: 2", "Factual Accuracy: 2\nAccuracy: 5"]
)
def test_a_criterion_named_like_the_end_of_another_keeps_its_level(reply: str) -> None:
    labels = (*FIVE, "criterion:Accuracy", "criterion:Factual Accuracy")
    verdict = parse_verdict("rubric", reply, scale=FIVE, labels=labels).verdict
    assert verdict is not None and verdict.scores == (3.5, 5.0, 2.0)
    only = parse_verdict("rubric", "Factual Accuracy: 2", scale=FIVE, labels=labels)
    assert only.verdict is None, "the level of Accuracy is missing"


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("8", (8.0, 1)), ("8,5", (8.5, 3)), ("8/10", (8.0, 4)), ("8 out of 10.0", (8.0, 13)),
        ("8/10 - 2 points off", (8.0, 4)), ("8/10, not 9", (8.0, 4)), ("8/5", None), ("8/1", None),
        ("8-9", None), ("8 to 9", None), ("8 or 9", None), ("8/10 to 9/10", None), ("8th", None),
        ("80 %", None), ("8/10%", None), ("8 + 1 = 9", None), ("8.5.1", None), ("no", None),
    ],
)  # fmt: skip
def test_a_score_is_one_number_out_of_the_highest(text, found):
    assert score_at(text, 0, 10) == found
    at = score_at(f"= {text}", 2, 10)
    assert at == (found and (found[0], found[1] + 2)), "behind other words"


@pytest.mark.parametrize(
    ("reply", "pick"),
    [
        ("Selection: Option 2", 1),
        ("Option 1 is good.\nSelection: Option 3", 2),
        ("Option 1 is good, Option 2 is not.", 0),
        ("Selection: none", None),
        ("Selection: Option 4", None),
        ("", None),
    ],
)
def test_the_first_option_after_selection_counts(reply, pick):
    read = parse_verdict("selection-option", reply, 3, rule="gradelab")
    assert (read.verdict.pick if read.verdict else None) == pick
    assert read.rule == ("gradelab" if reply else "last-marker")
