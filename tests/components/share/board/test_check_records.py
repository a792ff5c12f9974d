"""Checks of single records of a board: equal verdicts, missing orders, the changed part."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest

from components.share.board import check_records
from components.share.board.record_tree import BoardError
from studies.domain import Ask, Judgement, Verdict
from tests.page_words import says

ASK = Ask("k", "q1", "judge", "letters", ("x", "y"), ("A", "B"), orders=2)


def made(verdict: Verdict | None = None, **more: Any) -> Judgement:
    ask = replace(ASK, **more.pop("ask", {}))
    return Judgement(ask, more.pop("status", "ok"), verdict, **more)


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        (None, None, True),
        (None, Verdict(0), False),
        (Verdict(0), None, False),
        (Verdict(0), Verdict(0), True),
        (Verdict(0), Verdict(1), False),
        (Verdict("tie", 0), Verdict("tie", 0), True),
        (Verdict(0, 1), Verdict(0, 2), False),
        (Verdict(None, scores=(7.0, 3.0)), Verdict(None, scores=(7.0, 3.0)), True),
        (Verdict(None, scores=(7.0, 3.0)), Verdict(None, scores=(7.0, 3.1)), False),
        (Verdict(None, scores=(7.0,)), Verdict(None, scores=(7.0, 3.0)), False),
        (Verdict(0, label_mass=0.5), Verdict(0, label_mass=None), False),
        (Verdict(0, label_mass=0.5), Verdict(0, label_mass=0.5 + 1e-10), True),
        (Verdict(0, label_mass=0.5), Verdict(0, label_mass=0.5 + 1e-8), False),
        (Verdict(0, label_mass=0.5 + 1e-8), Verdict(0, label_mass=0.5), False),
        (
            Verdict(0, label_probabilities=(0.6, 0.4)),
            Verdict(0, label_probabilities=(0.6, 0.4 - 1e-10)),
            True,
        ),
        (
            Verdict(0, label_probabilities=(0.6, 0.4)),
            Verdict(0, label_probabilities=(0.6, 0.3)),
            False,
        ),
        (Verdict(0, label_probabilities=(0.6, 0.4)), Verdict(0), False),
    ],
)
def test_verdicts_are_equal_in_choice_and_up_to_rounding_in_numbers(
    one: Verdict | None, other: Verdict | None, same: bool
) -> None:
    assert check_records._is_same_verdict(one, other) is same


@pytest.mark.parametrize(
    ("one", "expected"),
    [
        (made(reply="A"), True),
        (made(reply="  \n"), False),
        (made(), False),
        (made(Verdict(0)), True),
        (made(Verdict(0), finish="content_filter"), False),
        (made(reply="no", status="refusal"), True),
        (made(reply="no", status="refusal", detail="refused by the provider"), False),
        (made(reply="A", detail="a note"), True),
    ],
)
def test_a_record_with_a_reply_or_a_verdict_is_read_again_unless_the_provider_refused(
    one: Judgement, expected: bool
) -> None:
    assert check_records._should_have_verdict(one) is expected


@pytest.mark.parametrize(
    ("verdict", "text"),
    [
        (None, "no choice"),
        (Verdict(None, scores=(1.0,)), "no choice"),
        (Verdict("tie", 0), "tie"),
        (Verdict(0), "position 1"),
        (Verdict(1), "position 2"),
    ],
)
def test_a_choice_is_named_by_its_position_from_one(verdict: Verdict | None, text: str) -> None:
    assert check_records._describe_pick(verdict) == text


def test_a_call_is_named_with_its_repeat_if_it_has_one() -> None:
    whole = "judge, letters, item q1, shown x then y"
    assert check_records._describe_ask(ASK) == whole
    assert check_records._describe_ask(replace(ASK, repeat=2)) == f"{whole}, repeat 2"


# ---- a choice without the tokens it was read from ------------------------------------------------


def choice(one: Judgement, kind: str = "embedded") -> str:
    """The fault that is found; "" if there is none."""
    planned: Any = SimpleNamespace(call=SimpleNamespace(judge=SimpleNamespace(kind=kind)))
    try:
        check_records._require_most_probable_choice(one, planned, "file, line 7")
    except BoardError as error:
        return str(error)
    return ""


def test_a_choice_must_be_the_most_probable_label() -> None:
    likely = Verdict(1, label_probabilities=(0.2, 0.8))
    assert choice(made(likely, reply="B")) == ""
    assert choice(made(replace(likely, label_probabilities=(0.5, 0.5)), reply="B")) == ""
    found = choice(made(replace(likely, pick=0), reply="A"))
    assert found.startswith("file, line 7") and "position 1" in found and "probable" in found
    assert choice(made(replace(likely, pick=0, label_probabilities=()), reply="A")) == ""


def test_the_last_word_of_an_embedded_judge_must_be_its_choice() -> None:
    assert "names B" in choice(made(Verdict(0), reply="My verdict: B"))
    assert choice(made(Verdict(0), reply="B A")) == ""
    assert choice(made(Verdict(0), reply="")) == ""
    assert choice(made(Verdict(0), reply="B."), "embedded") == "", "not a label"
    assert choice(made(Verdict(0), reply="B"), "endpoint") == "", "another judge may explain itself"


@pytest.mark.parametrize("verdict", [None, Verdict("tie", 0), Verdict(None, scores=(1.0, 2.0))])
def test_a_record_without_a_chosen_position_is_not_compared(verdict: Verdict | None) -> None:
    assert choice(made(verdict, reply="B")) == ""


# ---- orders --------------------------------------------------------------------------------------


def missing_order(*found: Judgement) -> str:
    try:
        check_records._require_all_orders(found, "file")
    except BoardError as error:
        return str(error)
    return ""


def shown(names: str, **ask: Any) -> Judgement:
    return made(Verdict(0), ask={"shown": tuple(names), **ask})


def test_both_orders_of_a_pair_must_be_there() -> None:
    assert missing_order(shown("xy"), shown("yx")) == ""
    assert says(missing_order(shown("xy")), "item q1", "x and y", "1 of 2")
    assert missing_order(shown("xy"), shown("yx", item="q2")) != ""
    assert missing_order(shown("xy"), shown("yx", judge="other")) != ""
    assert missing_order(shown("xy"), shown("yx", prompt="other")) != ""
    assert missing_order(shown("xy"), shown("yx"), shown("yx", repeat=1)) != ""


def test_a_pair_has_no_more_than_two_orders_and_three_answers_as_many_as_were_planned() -> None:
    assert missing_order(shown("xy", orders=6), shown("yx", orders=6)) == ""
    three = [shown(names, orders=3) for names in ("xyz", "yzx", "zxy")]
    assert missing_order(*three) == ""
    assert "2 of 3 orders" in missing_order(*three[:2])
    assert "1 of 3 orders" in missing_order(three[0], three[0])


def test_one_planned_order_a_repeat_for_noise_one_answer_and_a_person_need_no_second() -> None:
    for alone in (
        shown("xy", orders=1),
        shown("xy", orders=0),
        shown("xy", noise=True),
        shown("x"),
        shown("xy", judge="human:anna"),
    ):
        assert missing_order(alone) == ""
    assert missing_order(shown("xy", noise=True), shown("yx")) != ""


# ---- items of the probe set ----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("stored", "expected", "fault"),
    [
        ({"a": {"t": 1}}, {"a": {"t": 1}}, ""),
        ({}, {"a": {"t": 1}}, "item a: missing"),
        ({"a": {"t": 1}, "b": {"t": 1}}, {"a": {"t": 1}}, "item b: an item more"),
        ({"a": {"t": 1, "u": 2}}, {"a": {"t": 1}}, "item a: u"),
        ({"a": {"t": 1}}, {"a": {"t": 1, "u": 2}}, "item a: u"),
        ({"a": {"t": 2, "u": 3, "v": 1}}, {"a": {"t": 1, "u": 2, "v": 1}}, "item a: t, u"),
    ],
)
def test_an_item_that_differs_is_named_with_its_parts(
    stored: dict[str, dict[str, object]], expected: dict[str, dict[str, object]], fault: str
) -> None:
    try:
        check_records._require_equal_items(stored, expected, "items")
        found = ""
    except BoardError as error:
        found = str(error).replace("not as in the probe set: ", "").removeprefix("items, ")
    assert found == fault


# ---- what was changed ----------------------------------------------------------------------------


def changed(*asks: tuple[str, str, str, bool]) -> str:
    """The parts named for calls (judge, prompt, item, whether the key fits)."""
    judgements, planned = [], {}
    for number, (judge, prompt, item, fits) in enumerate(asks):
        ask = replace(ASK, key=f"{number:032x}", judge=judge, prompt=prompt, item=item)
        judgements.append(Judgement(ask, "ok", Verdict(0)))
        wanted = replace(ask, key=ask.key if fits else "f" * 32)
        planned[check_records._identify_ask(ask)] = SimpleNamespace(ask=wanted)
    records: Any = SimpleNamespace(judgements=judgements)
    return check_records._describe_changed_parts(records, planned)  # type: ignore[arg-type]


def test_a_part_none_of_whose_keys_fits_is_named_with_its_file() -> None:
    found = changed(("j", "p", "a", True), ("j", "q", "a", False), ("j", "q", "b", False))
    assert found == "prompt q (prompts/q.yaml)"
    found = changed(("j", "p", "a", True), ("k", "p", "a", False), ("k", "p", "b", False))
    assert found.startswith("judge k (") and "study.yaml" in found and "record.json" in found


def test_several_changed_parts_of_a_kind_are_counted() -> None:
    found = changed(
        ("j", "p", "a", True),
        ("j", "q", "a", False),
        ("j", "r", "b", False),
        ("j", "s", "b", False),
    )
    assert says(found, "prompt q", "2 more", "prompts/q.yaml")


def test_the_only_item_with_other_keys_is_named_though_some_of_its_keys_fit() -> None:
    one = (("j", "p", "a", True), ("k", "p", "a", False), ("k", "p", "b", True))
    assert changed(*one) == "item a (items.jsonl.gz)"


def test_exchanged_single_records_name_no_part() -> None:
    mixed = (
        ("j", "p", "a", True), ("j", "p", "b", False), ("k", "p", "a", False), ("k", "p", "b", True)
    )  # fmt: skip
    found = changed(*mixed)
    assert "(" not in found and found
