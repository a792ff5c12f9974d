"""Replies whose reasons favour another answer than their verdict: hand-worked examples."""

from __future__ import annotations

import math

import pytest

from studies.texts.self_contradiction import self_contradiction

CONTRADICTING = (
    "Response B is more accurate and cites the right year, unlike Response A. [[A]]",
    "Answer A gives a date. Answer B is better because it is complete. Final Answer: A",
    "Response A is wrong about the year. Response B is correct. Overall, Response A is better.",
    "Selection: Option 3\nExplanation: Option 3 is incorrect. Option 2 is correct: it is 8.",
    "Assistant B outperforms Assistant A in every respect, so my verdict is [[A>B]]",
    "I prefer Response B, it is short. Response A repeats itself all the time. [[A]]",
    '{"reason": "Response B is clearly the better one; Response A is fine", "winner": "A"}',
    "**Response B** is more helpful than **Response A**.\n\n[[A>>B]]",
)
CONSISTENT = (
    "Response A is more accurate and cites the right year, unlike Response B. [[A]]",
    "Although Response B is more accurate, Response A is better for a child. [[A]]",
    "Response B is correct. Response A is also correct, and shorter. [[A]]",
    "Response B is worse than Response A by a wide margin here. [[A]]",
    "Option 4 is correct. Option 2 clearly states the name.\nSelection: Option 2",
    "Assistant A outperforms Assistant B in every respect: [[B<A]]",
)
NOT_COUNTED = (
    "[[A]]",
    "Overall, Response A is better.",
    "Both answers have their merits, and I would rather not choose one of them here.",
    "Response B would be better if it named the year, as Response A does. [[A]]",
    "Response B is not better than Response A, nor is it shorter in words. [[A]]",
    "This answer is correct and complete in every respect that matters. [[A]]",
    "<think>Response B is better than Response A.</think> I decided after some thought: [[A]]",
    "Response B is more detailed than needed. Response A says it in one line. [[A]]",
    "",
)  # fmt: skip


@pytest.mark.parametrize("reply", CONTRADICTING)
def test_reasons_for_the_other_answer_contradict_the_verdict(reply: str) -> None:
    assert self_contradiction(reply) == 1


@pytest.mark.parametrize("reply", CONSISTENT)
def test_reasons_for_the_chosen_answer_do_not(reply: str) -> None:
    assert self_contradiction(reply) == 0


@pytest.mark.parametrize("reply", NOT_COUNTED)
def test_replies_without_comparing_reasons_are_not_counted(reply: str) -> None:
    assert math.isnan(self_contradiction(reply))


def test_the_rule_is_linear_in_the_length_of_a_reply() -> None:
    """Longer replies than the limit are left out, and a long one is examined in one pass."""
    assert math.isnan(self_contradiction("Response B is better. " * 5000 + "[[A]]"))
    assert self_contradiction("Response A lists facts. Response B is better. " * 400 + "[[A]]") == 1
