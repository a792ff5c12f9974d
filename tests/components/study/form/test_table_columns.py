"""First rows of a table of verdicts: answers in the order shown, and the verdict in words."""

from __future__ import annotations

from typing import Any

import pytest

from components.study.form.data_step.table_columns import _describe_judgement
from studies.domain import Judgement, Verdict
from tests.page_words import says
from tests.studies.small_items import ask, item


def described(verdict: Verdict | None, shown: str = "xy", **more: Any) -> tuple[list[Any], str]:
    status: Any = "ok" if verdict else "unreadable"
    made = Judgement(ask("k", shown=shown, **more), status, verdict)
    _, answers, words = _describe_judgement(made, item("q1", "xyz"))
    return answers, words


@pytest.mark.parametrize(
    ("verdict", "words"),
    [
        (Verdict(0), "Verdict of j: x wins"),
        (Verdict(1), "Verdict of j: y wins"),
        (Verdict("tie", 0), "Verdict of j: tie"),
        (Verdict(None, scores=(7.0, 2.5)), "Verdict of j: score 7, 2.5"),
        (None, "Verdict of j: no usable verdict (unreadable)"),
    ],
)
def test_a_verdict_names_the_winner_the_scores_or_the_failure(
    verdict: Verdict | None, words: str
) -> None:
    assert described(verdict)[1] == words


def test_a_person_votes() -> None:
    assert says(described(Verdict(0), judge="human:anna")[1], "anna", "x wins")


def test_answers_have_their_place_if_the_order_is_known_and_one_answer_has_none() -> None:
    texts = {name: f"{name} answers q1" for name in "xyz"}
    assert described(Verdict(0), "yx")[0] == [("1. y", texts["y"]), ("2. x", texts["x"])]
    assert described(Verdict(0), orders=0)[0] == [("? x", texts["x"]), ("? y", texts["y"])]
    assert described(Verdict(None, scores=(3.0,)), "x")[0] == [("x", texts["x"])]


def test_an_unknown_item_has_no_texts() -> None:
    found = _describe_judgement(Judgement(ask("k"), "ok", Verdict(0)), None)
    assert found[0] is None and found[1] == [("1. x", None), ("2. y", None)]
