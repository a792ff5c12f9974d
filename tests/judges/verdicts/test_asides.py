"""Asides of a reply, worked by hand."""

import pytest

from judges.verdicts.asides import blank_spans, find_asides


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
