"""Outcomes of the scorer for Inspect, without that package (with it: `make test-inspect`)."""

from __future__ import annotations

import asyncio
import importlib
import math
import sys
from collections.abc import Iterator
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

from tests.page_words import says

NAMES = ("Metric", "SampleScore", "Scorer", "Target", "mean", "stderr", "Model", "get_model")


@pytest.fixture
def scorers(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """The module of the scorer, with stand-ins for the names that it imports from Inspect."""

    class Score(SimpleNamespace):
        @classmethod
        def unscored(cls, **values: Any) -> Score:
            return cls(value=None, **values)

    for name in ("inspect_ai", "inspect_ai.model", "inspect_ai.scorer", "inspect_ai.solver"):
        module = ModuleType(name)
        vars(module).update(dict.fromkeys(NAMES, lambda *_: None), Score=Score, TaskState=object)
        vars(module).update(metric=lambda made: made, scorer=lambda **_: lambda made: made)
        monkeypatch.setitem(sys.modules, name, module)
    yield importlib.import_module("evenhand.inspect_scorers")
    sys.modules.pop("evenhand.inspect_scorers", None)


@pytest.mark.parametrize(
    ("first", "second", "value", "answer", "flipped"),
    [
        ("win", "win", 1.0, "win", False),
        ("loss", "loss", 0.0, "loss", False),
        ("win", "loss", 0.5, "flipped", True),
        ("tie", "win", 0.75, "flipped", True),
        ("tie", "tie", 0.5, "tie", False),
    ],
)
def test_two_verdicts_that_differ_are_a_flip(
    first: str, second: str, value: float, answer: str, flipped: bool, scorers: Any
) -> None:
    score = scorers._combine_orders({"first": first, "second": second}, [], "")
    assert (score.value, score.answer, score.metadata["flipped"]) == (value, answer, flipped)


@pytest.mark.parametrize(
    ("letter", "order", "outcome"),
    [("A", "first", "win"), ("A", "second", "loss"), ("B", "second", "win"), ("C", "first", "tie"),
     ("", "first", "")],
)  # fmt: skip
def test_a_label_counts_for_the_answer_in_its_place(
    letter: str, order: str, outcome: str, scorers: Any
) -> None:
    assert scorers._outcome_of_letter(letter, order) == outcome


def test_a_missing_verdict_is_no_score(scorers: Any) -> None:
    assert scorers._combine_orders({"first": "win", "second": ""}, [], "").value is None


def test_the_evaluated_answer_stands_where_the_order_says(scorers: Any) -> None:
    state = SimpleNamespace(input_text="q {answer_b}?", output=SimpleNamespace(completion="mine"))
    template = "{question} A: {answer_a} B: {answer_b} {other}"
    first = scorers._fill_prompt(template, state, "theirs", "first")
    second = scorers._fill_prompt(template, state, "theirs", "second")
    assert "A: mine B: theirs" in first and "A: theirs B: mine" in second
    for filled in (first, second):
        assert filled.startswith("q {answer_b}?") and filled.endswith("{other}"), "filled once"


@pytest.mark.parametrize(
    ("answer", "value", "order", "found"),
    [
        ("A", None, "first", {"first": "win"}),
        ("A", "B", "second", {"second": "loss"}),  # the answer counts before the value
        ("", "[[B]]", "first", {"first": "loss"}),
        (None, " C ", "second", {"second": "tie"}),
        ("A is better", None, "first", {}),
        (None, 1.0, "first", {}),
    ],
)
def test_a_verdict_of_another_scorer_is_used(
    answer: Any, value: Any, order: str, found: dict[str, str], scorers: Any
) -> None:
    scores = {"pairwise": SimpleNamespace(answer=answer, value=value)}
    assert scorers._outcome_by_order(scores, "pairwise", order) == found


def test_without_another_scorer_nothing_is_recorded(scorers: Any) -> None:
    scores = {"pairwise": SimpleNamespace(answer="A", value=None)}
    assert scorers._outcome_by_order(scores, "", "first") == {}
    assert scorers._outcome_by_order(scores, "unknown", "first") == {}


@pytest.mark.parametrize(
    ("reply", "letter"), [("[[A]]", "A"), ("so [[B]]", "B"), ("[[C]]", "C"), ("no idea", "")]
)
def test_the_letter_of_a_reply_is_read(reply: str, letter: str, scorers: Any) -> None:
    assert scorers._verdict_letter(reply) == letter


def test_the_metadata_of_a_score_state_what_was_asked(scorers: Any) -> None:
    score = scorers._combine_orders({"first": "win", "second": "tie"}, ["second"], "why")
    assert score.metadata == {
        "first": "win", "second": "tie", "asked": ["second"], "flipped": True,
    }  # fmt: skip
    assert (score.value, score.explanation) == (0.75, "why")
    missing = scorers._combine_orders({"first": "", "second": "tie"}, ["second"], "")
    assert missing.value is None and missing.explanation


def test_consistency_is_the_share_of_equal_verdicts(scorers: Any) -> None:
    compute = scorers.consistency()
    pairs = [("win", "win"), ("win", "loss"), ("tie", "tie"), ("win", ""), ("", "")]
    read = [
        SimpleNamespace(score=SimpleNamespace(metadata={"first": a, "second": b})) for a, b in pairs
    ]
    unscored = SimpleNamespace(score=SimpleNamespace(metadata=None))
    assert compute([*read, unscored]) == 2 / 3
    assert math.isnan(compute([unscored, *read[3:]])) and math.isnan(compute([]))


class Grader:
    """A grader that prefers the longer of the two answers in its prompt."""

    def __init__(self) -> None:
        self.asked: list[str] = []

    async def generate(self, prompt: str) -> SimpleNamespace:
        self.asked.append(prompt)
        _, a, b = prompt.split("|")
        return SimpleNamespace(completion=f"[[{'A' if len(a) > len(b) else 'B'}]]")


def compared(scorers: Any, state: dict[str, Any], target: str = "", **options: Any) -> Any:
    template = "{question}|{answer_a}|{answer_b}"
    score = scorers.both_orders(template=template, **options)
    values = {"metadata": {}, "scores": {}, "input_text": "q",
              "output": SimpleNamespace(completion="long"), **state}  # fmt: skip
    return asyncio.run(score(SimpleNamespace(**values), SimpleNamespace(text=target)))


def test_an_answer_is_compared_twice(scorers: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    grader, roles = Grader(), []

    def get_model(name: str = "", role: str = "") -> Grader:
        roles.append(name or role)
        return grader

    monkeypatch.setattr(scorers, "get_model", get_model)
    score = compared(scorers, {"metadata": {"baseline": "so"}})
    assert (score.value, score.answer) == (1.0, "win")
    assert grader.asked == ["q|long|so", "q|so|long"] and roles == ["grader", "grader"]
    assert says(score.explanation, "shown first", "[[A]]", "shown second", "[[B]]")
    lost = compared(scorers, {}, "a longer one", opponent="target", model="mine")
    assert (lost.value, lost.answer) == (0.0, "loss") and roles[2:] == ["mine", "mine"]
    for state, options in (({}, {}), ({"metadata": None}, {}), ({}, {"opponent": "target"})):
        none = compared(scorers, state, **options)
        assert none.value is None and none.reason == "no_opponent"
    assert len(grader.asked) == 4


def test_a_recorded_verdict_is_not_asked_for_again(
    scorers: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    grader = Grader()
    monkeypatch.setattr(scorers, "get_model", lambda *_, **__: grader)
    earlier = SimpleNamespace(answer="[A]", value=0)
    state = {"metadata": {"baseline": "so"}, "scores": {"old": earlier}}
    score = compared(scorers, state, recorded="old", recorded_order="second")
    assert grader.asked == ["q|long|so"] and score.metadata["flipped"] is True
    assert score.value == 0.5  # won in the first order; A, the answer beside it, in the second
    with pytest.raises(ValueError, match="'third'"):
        scorers.both_orders(recorded_order="third")
