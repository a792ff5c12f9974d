"""Reasoning in Inspect: folded, apart from the reply, with the verdict still boxed."""

from dataclasses import dataclass

from components.inspect.load_comparison import InspectedReply, OrderReplies, SentMessages
from components.inspect.replies_html import replies_html
from judges.verdicts.verdict import verdict_span
from studies.domain import Ask, Judgement, Verdict
from tests.page_words import says

THOUGHT = "Overall, Response A is better? I doubt it."
ANSWER = "Overall, Response B is better."


@dataclass(frozen=True)
class OpenedOrders:
    """The part of an opened comparison that its replies are drawn from."""

    orders: tuple[OrderReplies, ...]


def html_of(reply: str, reasoning: str = "", detail: str = "") -> str:
    ask = Ask("k", "q", "j", "p", ("x", "y"), ("A", "B"))
    judgement = Judgement(
        ask, "ok", Verdict(1), "exactly-one", reply=reply, reasoning=reasoning, detail=detail
    )
    span = verdict_span("overall-response", reply, 2, "default")
    shown = InspectedReply(judgement, span)
    orders = (OrderReplies(("x", "y"), shown, (), SentMessages()),)
    return replies_html(OpenedOrders(orders))  # type: ignore[arg-type]


def test_reasoning_is_in_a_closed_drawer_after_the_reply():
    html = html_of(ANSWER, reasoning=THOUGHT)
    before, _, drawer = html.partition("<details")
    assert THOUGHT not in before
    assert THOUGHT in drawer
    assert says(drawer, "not used", "verdict")
    assert " open" not in drawer.partition(">")[0]


def test_tags_in_replies_of_older_stores_are_folded_and_the_verdict_stays_boxed():
    html = html_of(f"<think>{THOUGHT}</think>\n{ANSWER}")
    before, _, drawer = html.partition("<details")
    assert THOUGHT not in before
    assert "think" not in before
    assert THOUGHT in drawer
    assert 'class="eh-vd second">' in before
    assert (
        html_of(ANSWER).partition('class="eh-vd second">')[2][:8]
        == (before.partition('class="eh-vd second">')[2][:8])
    )


def test_a_note_on_the_call_is_shown_with_a_readable_reply():
    assert "asked without temperature" in html_of(ANSWER, detail="asked without temperature")


def test_a_reply_that_contradicts_itself_is_marked_and_keeps_its_verdict():
    html = html_of("Response A is more accurate than Response B. Overall, Response B is better.")
    assert "Contradicts itself" in html
    assert "picked <b>y</b>" in html
    assert "Contradicts itself" not in html_of(ANSWER)
