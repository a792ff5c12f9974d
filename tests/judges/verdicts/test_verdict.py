"""Verdicts checked by hand: awkward replies, label probabilities, and the marker's span."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from judges.judge_errors import UnknownFormat
from judges.verdicts.markers import find_json_values, last_brackets
from judges.verdicts.verdict import (
    ParsedVerdict,
    parse_verdict,
    read_most_probable_label,
    verdict_span,
)
from judges.verdicts.verdict_formats import FORMATS, find_format
from studies.domain import Verdict
from tests.samples import each

AWKWARD: list[dict[str, Any]] = yaml.safe_load(
    Path(__file__).with_name("awkward_replies.yaml").read_text(encoding="utf-8")
)


def expected(case: dict[str, Any]) -> Verdict | None:
    if case.get("none") or case.get("truncated"):
        return None
    scores = tuple(float(score) for score in case.get("scores", ()))
    if "pick" not in case:
        return Verdict(scores=scores)
    return Verdict(case["pick"], case.get("margin", int(case["pick"] != "tie")), scores)


def of(case: dict[str, Any]) -> ParsedVerdict:
    return parse_verdict(
        case["format"], case["reply"], case.get("n", 2), case.get("rule", "default")
    )


@each("case", AWKWARD, lambda case: f"{case['format']}: {case['why']}")
def test_an_awkward_reply_is_read_as_it_should_be(case: dict[str, Any]) -> None:
    reading = of(case)
    assert reading.verdict == expected(case), case["why"]
    assert reading.truncated == bool(case.get("truncated"))


def test_there_are_enough_awkward_replies_of_every_format() -> None:
    assert len(AWKWARD) >= 80
    assert {case["format"] for case in AWKWARD} == set(FORMATS)


def test_no_awkward_reply_is_there_twice() -> None:
    keys = [(c["format"], c["reply"], c.get("n", 2), c.get("rule", "default")) for c in AWKWARD]
    assert len(keys) == len(set(keys))


@each("case", AWKWARD, lambda case: f"{case['format']}: {case['why']}")
def test_a_verdict_has_a_rule_and_a_missing_one_has_a_reason(case: dict[str, Any]) -> None:
    reading = of(case)
    assert reading.rule
    assert bool(reading.reason) == (reading.verdict is None)


@each("case", AWKWARD, lambda case: f"{case['format']}: {case['why']}")
def test_the_box_around_a_verdict_holds_what_is_needed_to_read_it(case: dict[str, Any]) -> None:
    verdict = expected(case)
    span = verdict_span(
        case["format"], case["reply"], case.get("n", 2), case.get("rule", "default")
    )
    if verdict is None:
        assert span is None
        return
    assert span is not None
    boxed = case["reply"][slice(*span)]
    if case["format"] == "json-winner":
        boxed = "{" + boxed + "}"
    again = parse_verdict(
        case["format"], boxed, case.get("n", 2), case.get("rule", "default")
    ).verdict
    assert again is not None
    assert (again.pick, again.margin) == (verdict.pick, verdict.margin)


@pytest.mark.parametrize(
    ("format", "reply", "boxed"),
    [
        ("overall-response", "**Overall, Response A is better.**", "Overall, Response A is better"),
        ("mt-bench", "x\u200b **[[ A ]]** y", "[[ A ]]"),
        ("mt-bench", "<think>[[B]]</think> hence [[A]].", "[[A]]"),
        ("selection-option", "a  b\r\n\r\n**Selection:**  Option 2 etc.", "Selection:**  Option 2"),
        ("final-answer", "ﬁne ﬁne. Final Answer: B", "Final Answer: B"),
        ("json-winner", 'Well: {"winner": "A"} there', '"winner": "A"'),
    ],
)  # fmt: skip
def test_the_box_is_given_in_offsets_of_the_raw_reply(format: str, reply: str, boxed: str) -> None:
    span = verdict_span(format, reply)
    assert span is not None
    assert reply[slice(*span)] == boxed


def test_the_rule_that_fired_is_named() -> None:
    assert parse_verdict("overall-response", "Response A is better").rule == "exactly-one"
    assert (
        parse_verdict("overall-response", "Response A is better", rule="last").rule == "last-marker"
    )
    assert (
        parse_verdict("selection-option", "Selection: Option 1", rule="gradelab").rule == "gradelab"
    )
    assert parse_verdict("mt-bench", "[[A]]").rule == "last-marker"
    assert parse_verdict("label", "A").rule == "whole-reply"


def test_an_unknown_format_is_an_error_that_lists_the_known_ones() -> None:
    with pytest.raises(UnknownFormat, match=r"'mt_bench'.*overall-response.*mt-bench"):
        parse_verdict("mt_bench", "[[A]]")


def test_an_unknown_rule_is_an_error_that_lists_the_known_ones() -> None:
    with pytest.raises(ValueError, match=r"'first'.*default, last, gradelab"):
        parse_verdict("mt-bench", "[[A]]", rule="first")


# --- label probabilities ------------------------------------------------------------------------


def test_variants_of_a_label_are_summed_and_renormalised() -> None:
    # A: .3 + .15, B: .15; together .6, so A has three quarters of it.
    reading = read_most_probable_label(["A", "B"], {" A": 0.3, "A": 0.15, " B": 0.15, " The": 0.3})
    assert reading.verdict is not None
    assert reading.verdict.pick == 0
    assert reading.verdict.label_probabilities == pytest.approx((0.75, 0.25))
    assert reading.verdict.label_mass == reading.mass == pytest.approx(0.6)


def test_labels_with_less_than_half_of_the_probability_are_unreadable_but_the_mass_is_kept() -> (
    None
):
    # What a 135M model does with "Response X": it answers " X".
    reading = read_most_probable_label(["A", "B"], {" X": 0.97, " A": 0.004, " B": 0.002})
    assert reading.verdict is None
    assert reading.mass == pytest.approx(0.006)
    assert reading.probabilities == pytest.approx((2 / 3, 1 / 3))
    assert "less than one half" in reading.reason


def test_a_mass_of_exactly_one_half_is_readable() -> None:
    assert read_most_probable_label(["A", "B"], {"A": 0.5, "x": 0.5}).verdict is not None


def test_the_tie_label_takes_part_but_is_no_option() -> None:
    # A .2, B .1, C .5 of .8.
    reading = read_most_probable_label(["A", "B"], {"A": 0.2, "B": 0.1, "C": 0.5}, tie="C")
    assert reading.verdict is not None
    assert (reading.verdict.pick, reading.verdict.margin) == ("tie", 0)
    assert reading.verdict.label_probabilities == pytest.approx((0.25, 0.125))


def test_equally_likely_labels_are_a_tie_and_not_the_first_of_them() -> None:
    reading = read_most_probable_label(["A", "B"], {"A": 0.4, "B": 0.4})
    assert reading.verdict is not None
    assert reading.verdict.pick == "tie"


def test_no_label_among_the_tokens_is_unreadable_with_no_mass() -> None:
    reading = read_most_probable_label(["A", "B"], {"yes": 1.0})
    assert reading.verdict is None
    assert (reading.mass, reading.probabilities) == (0.0, ())


def test_probabilities_that_are_no_numbers_are_not_counted() -> None:
    reading = read_most_probable_label(["1", "2"], {"1": float("nan"), "2": 0.9, " 1": -0.5})
    assert reading.verdict is not None
    assert reading.verdict.pick == 1


# --- the formats --------------------------------------------------------------------------------


def test_letters_name_pairs_and_numbers_name_options() -> None:
    assert find_format("overall-response").labels_for(2) == ("A", "B")
    assert find_format("label").labels_for(4) == ("A", "B", "C", "D")
    assert find_format("selection-option").labels_for(11)[-2:] == ("10", "11")
    assert find_format("rating").labels_for(2) == ()


def test_more_options_than_letters_is_an_error_that_says_what_to_do() -> None:
    with pytest.raises(UnknownFormat, match="selection-option"):
        find_format("label").labels_for(27)


@pytest.mark.parametrize("form", FORMATS.values(), ids=lambda form: form.name)
def test_the_prefilled_closing_has_no_placeholder_for_a_small_model_to_copy(form: Any) -> None:
    words = form.closing_prefilled.replace("[", " ").replace("]", " ").replace(".", " ").split()
    assert not {"X", "x", "k", "V", "x/10", "n"} & set(words)
    assert bool(form.closing_prefilled) == (form.name != "none")


@pytest.mark.parametrize("form", FORMATS.values(), ids=lambda form: form.name)
def test_a_format_is_read_by_a_prefill_or_by_a_grammar(form: Any) -> None:
    for n_options in (2, 4, 9, 12):
        prefilled, grammar = form.prefill_for(n_options), form.grammar_for(n_options)
        assert (prefilled is None) != (grammar is None) or form.name == "none"


def test_ten_options_are_no_longer_single_tokens_so_a_grammar_takes_over() -> None:
    selection = find_format("selection-option")
    assert selection.prefill_for(9) == "Selection: Option "
    assert selection.prefill_for(10) is None
    assert selection.grammar_for(9) is None
    assert '"9" | "10"' in (selection.grammar_for(10) or "")


@pytest.mark.parametrize(
    ("format", "reply"),
    [
        ("final-answer", "Final Answer: A"),
        ("selection-option", "Selection: Option 1"),
        ("json-winner", '{"winner": "A"}'),
        ("label", "Answer: A"),
        ("overall-response", "Overall, Response A is better."),
    ],
)
def test_a_prefill_is_the_start_of_a_reply_that_can_be_read(format: str, reply: str) -> None:
    prefill = find_format(format).prefill
    assert prefill and reply.startswith(prefill)
    verdict = parse_verdict(format, reply).verdict
    assert verdict is not None and verdict.pick == 0


def test_an_object_whose_first_part_ends_between_two_values_is_read_whole() -> None:
    # Of a long reply a first part of 1,000 characters is tried; here it ends behind a comma.
    values = "1, " * 600
    reply = f'{{"scores": [{values}1], "winner": "B"}}'
    verdict = parse_verdict("json-winner", reply).verdict
    assert verdict is not None and verdict.pick == 1


def test_an_object_is_read_whatever_the_end_of_its_first_part_cuts() -> None:
    """A text, a word, a number, or a space between them."""
    for length in range(1_100):
        text = f'{{"why": "{"x" * length}", "sure": false, "n": 12, "winner": "B"}}'
        assert find_json_values(text, "winner") == [["B"]], length


@pytest.mark.parametrize(("length", "chosen"), [(160, "a"), (161, "b")])
def test_a_comparison_of_two_labels_has_at_most_160_characters(length: int, chosen: str) -> None:
    between = f" is better than {'x' * (length - 17)} "
    found = last_brackets(f"[[a]]{between}[[b]]")
    assert len(between) == length and found is not None and found.content == chosen
