"""HTML of a judge's replies: orders and arrangements, outcomes in words, probabilities, repeats."""

from __future__ import annotations

import re
from types import SimpleNamespace
from typing import Any

import pytest

from components.inspect import replies_html
from components.inspect.html_parts import MAX_TEXT
from components.inspect.load_comparison import InspectedReply, OrderReplies
from studies.domain import Ask, Judgement, Verdict
from tests.page_words import text_of


def judged(
    verdict: Verdict | None,
    shown: tuple[str, ...] = ("x", "y"),
    labels: tuple[str, ...] = ("A", "B"),
    **more: Any,
) -> Judgement:
    ask = Ask("k", "q", "j", "p", shown, labels)
    values = {"status": "unreadable" if verdict is None else "ok", "reply": "A", **more}
    return Judgement(ask, verdict=verdict, **values)


def opened(*shown: tuple[str, ...]) -> Any:
    none: Any = None
    return SimpleNamespace(
        orders=tuple(
            OrderReplies(
                one, InspectedReply(judged(Verdict(0), one, ("A", "B")[: len(one)])), (), none
            )
            for one in shown
        )
    )


@pytest.mark.parametrize(
    ("orders", "heading"),
    [
        ([("x", "y")], "Judge's reply"),
        ([("x",)], "Judge's reply"),
        ([("x", "y"), ("y", "x")], "Judge's replies in both orders"),
        ([("x", "y", "z")] * 3, "Judge's replies in 3 orders"),
        ([("x",)] * 2, "Judge's replies in 2 arrangements"),
        ([("x",)] * 3, "Judge's replies in 3 arrangements"),
    ],
)
def test_the_heading_says_how_many_orders_or_arrangements(
    orders: list[tuple[str, ...]], heading: str
) -> None:
    made = text_of(replies_html.replies_html(opened(*orders)))
    assert made.startswith(f"{heading} ")
    assert [f"Order {place}" in made for place in range(1, len(orders) + 2)] == (
        [True] * len(orders) + [False]
    )


@pytest.mark.parametrize(
    ("shown", "labels", "text"),
    [
        (("x", "y"), ("A", "B"), "x, then y"),
        (("x", "y"), ("B", "A"), "x (labelled B), then y (labelled A)"),
        (("x", "y"), (), "x, then y"),
        (("x", "y", "z"), ("2", "10", "11"), "x, then y, then z"),
        (("x", "y"), ("10", "2"), "x (labelled 10), then y (labelled 2)"),
        (("x",), ("A",), "x"),
        (("x",), ("5", "1", "3"), "x, options 5, 1, 3"),
        (("x",), ("B=1", "A=2"), "x, options B=1, A=2"),
        (
            ("x",),
            ("1", "2", "criterion:Clarity", "criterion:Length"),
            "x, options 1, 2; criteria Clarity, Length",
        ),
    ],
)
def test_an_order_names_models_crossed_labels_options_and_criteria(
    shown: tuple[str, ...], labels: tuple[str, ...], text: str
) -> None:
    assert text_of(replies_html._shown_order(judged(Verdict(0), shown, labels))) == text


PASS_FAIL = ("pass", "fail")


@pytest.mark.parametrize(
    ("made", "text"),
    [
        (judged(None), "no verdict"),
        (judged(None, detail="too long"), "no verdict: too long"),
        (judged(Verdict(0), status="refusal"), "no verdict"),
        (judged(Verdict(0)), "picked x"),
        (judged(Verdict(1)), "picked y"),
        (judged(Verdict(1, 2)), "picked y by far"),
        (judged(Verdict("tie", 0)), "gave a tie"),
        (judged(Verdict(None, scores=(7.0, 3.5))), "scored x 7.0 , y 3.5"),
        (judged(Verdict(None, scores=(1.0,)), ("x",), PASS_FAIL), "passed x"),
        (judged(Verdict(None, scores=(0.0,)), ("x",), PASS_FAIL), "failed x"),
        (judged(Verdict(None), ("x",), PASS_FAIL), "failed x"),
        (judged(Verdict(None, scores=(4.0,)), ("x",), ("1", "4")), "scored x 4.0"),
        (
            judged(
                Verdict(None, scores=(3.0, 2.0, 4.0)),
                ("x",),
                ("1", "2", "criterion:Clarity", "criterion:Length"),
            ),
            "scored x 3.0 : Clarity 2.0, Length 4.0",
        ),
    ],
)
def test_an_outcome_names_the_answer_its_score_or_the_reason(made: Judgement, text: str) -> None:
    assert text_of(replies_html._outcome_html(made)) == text


@pytest.mark.parametrize(
    ("p", "width", "text"),
    [(0.25, "25.0%", "25.0"), (0.0, "0.0%", "0.0"), (1.0, "100.0%", "100"), (1.2, "100.0%", "120"),
     (-0.1, "0.0%", "10")],
)  # fmt: skip
def test_a_bar_is_as_wide_as_its_probability_and_never_wider_than_its_box(
    p: float, width: str, text: str
) -> None:
    made = replies_html._probability_bars(judged(Verdict(0, label_probabilities=(p,))))
    assert f"width:{width}" in made and text in text_of(made)


def test_bars_have_the_colours_of_their_positions_and_options_are_sorted_by_score() -> None:
    verdict = Verdict(0, label_probabilities=(0.5, 0.25, 0.125), label_mass=0.875)
    three = replies_html._probability_bars(judged(verdict, ("x", "y", "z"), ("C", "A", "B")))
    assert re.findall(r'<i class="(\w+)" style="width:([\d.]+)%', three) == [
        ("first", "50.0"), ("second", "25.0"), ("later", "12.5"),
    ]  # fmt: skip
    assert re.findall(r'class="l">(\w)</span><span class="n">(\w)<', three) == [
        ("C", "x"), ("A", "y"), ("B", "z"),
    ]  # fmt: skip
    assert "87.5" in text_of(three)
    single = replies_html._probability_bars(judged(verdict, ("x",), ("5", "1", "3")))
    assert re.findall(r'class="l">(\d)</span><span class="n">(\w)<', single) == [
        ("1", "1"), ("2", "3"), ("3", "5"),
    ]  # fmt: skip
    named = replies_html._probability_bars(judged(verdict, ("x",), ("good", "bad", "fair")))
    assert re.findall(r'class="n">([\w ]+)<', named) == ["level 1", "level 2", "level 3"]
    assert "together" not in replies_html._probability_bars(
        judged(Verdict(0, label_probabilities=(0.6, 0.4)))
    )
    assert not replies_html._probability_bars(judged(Verdict(0)))
    assert not replies_html._probability_bars(judged(None))


@pytest.mark.parametrize(
    ("pick", "slot"), [(0, "first"), (1, "second"), (2, "tie"), ("tie", "tie"), (None, "tie")]
)
def test_the_verdict_in_a_reply_is_boxed_in_its_colour(pick: Any, slot: str) -> None:
    made = judged(Verdict(pick), reply="I say A here")
    boxed = replies_html._highlight_verdict(InspectedReply(made, (6, 7)))
    assert f'I say <span class="eh-vd {slot}">A</span> here' in boxed


def test_no_box_without_a_place_a_verdict_or_in_a_reply_that_is_cut() -> None:
    reply = "I say A here"
    for one in (
        InspectedReply(judged(Verdict(0), reply=reply)),
        InspectedReply(judged(None, reply=reply), (6, 7)),
        InspectedReply(judged(Verdict(0), reply="x" * MAX_TEXT + "A"), (MAX_TEXT, MAX_TEXT + 1)),
    ):
        assert "eh-vd" not in replies_html._highlight_verdict(one)
    last = InspectedReply(
        judged(Verdict(0), reply="x" * (MAX_TEXT - 1) + "A"), (MAX_TEXT - 1, MAX_TEXT)
    )
    assert 'first">A<' in replies_html._highlight_verdict(last)


@pytest.mark.parametrize(
    ("made", "word"),
    [
        (judged(Verdict(0), reply=" \n"), "not recorded"),
        (judged(None, reply=""), "empty"),
        (judged(None, reply="hm"), "hm"),
    ],
)
def test_a_missing_reply_is_told_from_an_empty_one(made: Judgement, word: str) -> None:
    assert word in text_of(replies_html._reply_html(InspectedReply(made)))


def test_a_note_on_the_call_is_shown_only_with_a_verdict() -> None:
    assert "no seed" in replies_html._call_note(judged(Verdict(0), detail="no seed"))
    assert not replies_html._call_note(judged(Verdict(0)))
    assert not replies_html._call_note(judged(None, detail="no seed"))


def test_repeats_show_their_verdicts_or_failures_and_their_number() -> None:
    assert not replies_html._repeats_html(())
    again = [InspectedReply(one) for one in (judged(Verdict(1)), judged(None), judged(Verdict(0)))]
    made = text_of(replies_html._repeats_html(again))
    assert "3 more replies" in made and "unreadable" in made.lower()
    chips = re.findall(r'eh-slot (\w+)">', replies_html._repeats_html(again))
    assert chips == ["second", "first"]
    assert "1 more reply" in text_of(replies_html._repeats_html(again[:1]))


def test_reasoning_is_folded_and_both_kinds_are_shown() -> None:
    assert not replies_html._reasoning_drawer(InspectedReply(judged(Verdict(0), reasoning=" ")))
    made = judged(Verdict(0), reasoning="sent apart", reply="<think>tagged</think>A")
    drawer = replies_html._reasoning_drawer(InspectedReply(made))
    assert drawer.startswith("<details") and " open" not in drawer[: drawer.index(">")]
    found = text_of(drawer)
    assert found.index("sent apart") < found.index("tagged")
