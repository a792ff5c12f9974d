"""Asides of a reply, worked by hand."""

import pytest

from judges.rendering.messages import list_arrangement_labels
from judges.rendering.prompt import load_prompt
from judges.verdicts.asides import blank_spans, find_asides
from judges.verdicts.reply_cleaning import split_reasoning
from judges.verdicts.verdict import parse_verdict


@pytest.mark.parametrize(
    ("text", "asides"),
    [
        ("(a\nb", ["(a"]),
        ("(a", ["(a"]),
        ("a (b (c\nd (e", ["(b (c", "(e"]),
        ("a (b (c) d) e", ["(b (c) d)"]),
        ("x (a [b c) d\ne", ["(a [b c) d"]),
        ("(a)(b)", ["(a)", "(b)"]),
        ("a) b]", []),
        ("[[A]] [Result] [a]", ["[a]"]),
        ("\u201ca\u201d `b` <!-- c", ["\u201ca\u201d", "`b`", "<!-- c"]),
        ("> a\nb", ["> a"]),
        ("<|im_start|>a <|im_end|>b", ["<|im_end|>b"]),
        ('{"a": [1]}', ['{"a": [1]}']),
    ],
)
def test_asides_are_what_stands_in_marks(text: str, asides: list[str]) -> None:
    spans = find_asides(text)
    assert [text[start:end] for start, end in spans] == asides
    whole = blank_spans(text, spans)
    assert len(whole) == len(text) - sum(map(len, asides)) + len(asides)
    assert not any(aside in whole for aside in asides)


def test_in_json_quotation_marks_and_braces_are_no_asides() -> None:
    assert find_asides('{"a": "b"}', is_json=True) == []
    assert find_asides('{"a": (b)}', is_json=True) == [(6, 9)]


def test_a_span_becomes_one_space() -> None:
    assert blank_spans("ab(c)de", [(2, 5)]) == "ab de"
    assert blank_spans("(c)", [(0, 3)]) == " "
    assert blank_spans("(c)(d)e", [(0, 3), (3, 6)]) == "  e"
    assert blank_spans("abc", []) == "abc"


@pytest.mark.parametrize(
    ("own", "agrees"),
    [("Correctness: 3", True), ("Clarity: 2", True), ("Clarity: 3", False), ("Clarity: 1", False)],
)
def test_a_level_outside_code_agrees_with_that_of_its_own_criterion(own: str, agrees: bool) -> None:
    prompt = load_prompt("rubric")
    (labels,) = list_arrangement_labels(prompt, "ascending")
    reply = f"{own}\n```\nCorrectness: 3\nCompleteness: 1\nClarity: 2\n```"
    read = parse_verdict(prompt.verdict, reply, 1, scale=prompt.options, labels=labels)
    assert (read.verdict is not None) == agrees
    if read.verdict:
        assert read.verdict.scores == (2, 3, 1, 2)


def test_reasoning_ends_with_its_last_tag() -> None:
    assert split_reasoning("<think>a<think>b</think> c") == ("a<think>b", "c")
    assert split_reasoning("a</think>b") == ("a", "b")
    assert split_reasoning("<think>a<think>b") == ("", "<think>a<think>b")
    assert split_reasoning("<think>a<think>b", cut_off=True) == ("a<think>b", "")
    assert split_reasoning("x <think>a</think>b") == ("", "x <think>a</think>b")
