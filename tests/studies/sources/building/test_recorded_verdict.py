"""Recorded verdicts: statuses, labels, and answers sorted by name."""

from __future__ import annotations

import pytest

from studies.domain import Ask, Judgement, Verdict
from studies.sources.building.recorded_verdict import (
    failure_status,
    has_judge_reply,
    reorder_verdict,
    slot_labels,
    sort_by_name,
)


def ask(judge: str = "j", shown: tuple[str, ...] = ("a", "b")) -> Ask:
    return Ask("k", "q", judge, "p", shown, ("A", "B"))


@pytest.mark.parametrize(
    ("judge", "reply", "has"),
    [("j", "A", True), ("j", " \n", False), ("j", "", False), ("human:ann", "A", False),
     ("human:ann", "", False)],
)  # fmt: skip
def test_only_a_judge_has_a_reply_to_read(judge, reply, has):
    assert has_judge_reply(Judgement(ask(judge), "ok", reply=reply)) == has


def test_a_verdict_that_cannot_be_used_is_unreadable_or_an_error():
    assert failure_status(True, "") is None
    assert failure_status(False, "text") == "unreadable"
    assert failure_status(False, "") == failure_status(False, None) == "error"


def test_answers_sorted_by_name_take_pick_and_scores_along():
    assert sort_by_name(("b", "a"), 0, (5.0, 3.0)) == (("a", "b"), 1, (3.0, 5.0))
    assert sort_by_name(("a", "b"), 1, (5.0,)) == (("a", "b"), 1, (5.0,))
    assert sort_by_name(("c", "a", "b"), 2, ()) == (("a", "b", "c"), 1, ())
    for pick in ("tie", None):
        assert sort_by_name(("b", "a"), pick, ())[1] == pick


def test_a_verdict_follows_the_order_of_its_ask():
    told = Verdict(0, 1, (9.0, 2.0))
    assert reorder_verdict(told, ("a", "b"), ask()) is told
    assert reorder_verdict(told, ("b", "a"), ask()) == Verdict(1, 1, (2.0, 9.0))
    assert reorder_verdict(None, ("a", "b"), ask()) is None
    assert reorder_verdict(Verdict(scores=(1.0,)), ("a", "b"), ask()) is None
    scored = Verdict(None, scores=(1.0, 2.0))
    assert reorder_verdict(scored, ("a", "b"), ask()) is scored


def test_slots_have_letters_up_to_two_and_numbers_beyond():
    assert [slot_labels(n) for n in (1, 2, 3)] == [("A",), ("A", "B"), ("1", "2", "3")]
