"""Outcomes of replies: statuses, and labels mapped to the positions shown."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import pytest

from judges.engine.outcome import apply_extraction, read_outcome, read_reply_text, verdict_by_slot
from judges.models.interface import JudgeCall, JudgeReply
from judges.rendering.messages import PromptInputs
from judges.rendering.prompt import load_prompt
from studies.domain import Ask, Item, Judgement, JudgeSpec, Verdict

BETTER = "Overall, Response A is better."
PROMPT = load_prompt("brief-letters")


@pytest.mark.parametrize(
    ("reply", "status", "rule"),
    [
        (JudgeReply(BETTER), "ok", "default"),
        (JudgeReply(BETTER, finish="length"), "ok", "default"),
        (JudgeReply("", refusal="I cannot judge this"), "refusal", "refusal"),
        (JudgeReply(BETTER, refusal="I cannot judge this"), "refusal", "refusal"),
        (JudgeReply(BETTER, finish="content_filter"), "filtered", "content_filter"),
        (JudgeReply(""), "empty", "empty"),
        (JudgeReply(" \n"), "empty", "empty"),
        (JudgeReply(" \n", finish="length"), "truncated", "empty"),
        (JudgeReply("I wonder"), "unreadable", "default"),
        (JudgeReply("I wonder", finish="length"), "truncated", "default"),
    ],
)
def test_a_reply_has_the_status_of_the_first_thing_that_is_wrong(reply, status, rule):
    read = read_reply_text(PROMPT, ("A", "B"), reply, "default")
    assert read.status == status
    assert (read.verdict is not None) == (status == "ok")
    assert bool(read.detail) == (status != "ok")
    if rule != "default":
        assert read.rule == rule


def test_the_label_chosen_counts_for_the_place_in_which_it_was_shown():
    for labels, slot in ((("A", "B"), 0), (("B", "A"), 1)):
        verdict = read_reply_text(PROMPT, labels, JudgeReply(BETTER), "default").verdict
        assert verdict is not None and verdict.pick == slot


def test_a_judgement_keeps_what_the_reply_said():
    ask = Ask("key", "q", "j", "p", ("x", "y"), ("A", "B"))
    reply = JudgeReply(BETTER, reasoning="hm", finish="stop", model="m-1")
    stored = read_reply_text(PROMPT, ("A", "B"), reply, "default").build_judgement(ask, reply)
    assert (stored.reply, stored.reasoning, stored.finish) == (BETTER, "hm", "stop")
    assert (stored.model, stored.status, stored.top_logprobs) == ("m-1", "ok", "")
    refused = JudgeReply("", refusal="I cannot")
    stored = read_reply_text(PROMPT, ("A", "B"), refused, "default").build_judgement(ask, refused)
    assert stored.reply == "I cannot" and stored.detail == "I cannot"


def call_for(labels: tuple[str, ...], **parameters: Any) -> JudgeCall:
    item = Item("q", "hello", {"x": "one", "y": "two"})
    inputs = PromptInputs(item, ("x", "y"), ("one", "two"), labels)
    return JudgeCall("key", JudgeSpec("j", "m"), PROMPT, inputs, [], parameters)


def test_a_call_for_probabilities_is_read_by_them_and_not_by_its_text():
    reply = JudgeReply(BETTER, top_logprobs=((" A", math.log(0.2)), (" B", math.log(0.7))))
    for labels, pick, shares in (
        (("A", "B"), 1, (0.2 / 0.9, 0.7 / 0.9)),
        (("B", "A"), 0, (0.7 / 0.9, 0.2 / 0.9)),
    ):
        read = read_outcome(call_for(labels, logprobs=True), reply)
        assert read.verdict is not None and read.verdict.pick == pick
        assert read.verdict.label_probabilities == pytest.approx(shares)
        assert read.verdict.label_mass == pytest.approx(0.9)
    text = read_outcome(call_for(("A", "B")), reply)
    assert text.verdict is not None and text.verdict.pick == 0


@pytest.mark.parametrize(
    ("reply", "status"),
    [(JudgeReply(""), "empty"), (JudgeReply("A"), "unsupported"),
     (JudgeReply("", refusal="no"), "refusal"),
     (JudgeReply("x", top_logprobs=(("x", -0.01),)), "unreadable")],
)  # fmt: skip
def test_without_probabilities_of_labels_there_is_no_verdict(reply, status):
    read = read_outcome(call_for(("A", "B"), logprobs=True), reply)
    assert read.status == status and read.detail
    assert (read.verdict is None) is (status != "unreadable")
    assert read.verdict is None or read.verdict.pick is None


def test_scores_and_shares_follow_the_order_shown_and_what_comes_after_stays():
    told = Verdict(0, 2, (9.0, 5.0, 1.0), (0.8, 0.2), 0.9)
    assert verdict_by_slot(told, ()) is told
    assert verdict_by_slot(told, ("A", "B")) == told
    turned = verdict_by_slot(told, ("B", "A"))
    assert turned == Verdict(1, 2, (5.0, 9.0, 1.0), (0.2, 0.8), 0.9)
    assert verdict_by_slot(Verdict("tie", 0, (4.0,)), ("B", "A")) == Verdict("tie", 0, (4.0,))
    assert verdict_by_slot(Verdict(None, scores=(4.0, 2.0)), ("B", "A")).scores == (2.0, 4.0)


def test_labels_of_two_digits_come_after_those_of_one():
    labels = ("10", "2", "1")
    told = Verdict(2, 1, (0.1, 0.2, 0.3))  # the third label in order, 10, with 0.3
    assert verdict_by_slot(told, labels) == Verdict(0, 1, (0.3, 0.2, 0.1))


def test_an_extracted_verdict_takes_the_place_of_the_unreadable_one():
    ask = Ask("key", "q", "j", "p", ("x", "y"), ("A", "B"))
    unread = Judgement(ask, "unreadable", reply="hm", detail="no marker", cost=0.5)
    extraction = Judgement(replace(ask, key="e", judge="reader"), "ok", Verdict(1))
    found = apply_extraction(unread, extraction)
    assert found is not None
    assert (found.status, found.verdict, found.detail) == ("extracted", Verdict(1), "")
    assert (found.ask, found.reply, found.cost) == (ask, "hm", 0.5)
    assert found.rule.endswith("reader")
    assert apply_extraction(unread, replace(extraction, status="unreadable")) is None
