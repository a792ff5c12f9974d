"""Properties of reading: never raises, linear time, mirrored by a swap of labels; a marker
quoted before the judge's own does not count."""

from __future__ import annotations

import math
import sys
import unicodedata
from functools import partial
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from judges.verdicts.reply_cleaning import clean_reply
from judges.verdicts.verdict import (
    READING_RULES,
    parse_verdict,
    read_most_probable_label,
    verdict_span,
)
from judges.verdicts.verdict_formats import FORMATS
from studies.domain import Verdict
from studies.frames.arrangement import Arrangement
from tests.growth import STEP, is_linear
from tests.samples import ALL, examples

# Fragments that markers are made of, so that random replies come close to being verdicts.
FRAGMENTS = (
    "[[", "]]", "[", "]", "A", "B", "C", "a", "b", ">", ">>", "=", "<", "*", "**", "_", "`", "\\",
    " ", "\n", "\u200b", "\u00a0", "Overall, ", "Response ", " is better", "Final Answer:", "or",
    "tie", "Selection:", "Selection", "Option ", "1", "2", "10", ".", ",", "/10", "/5", "-", "#",
    "Final Verdict is:", "Visual Factuality Score:", "Grading:", "[RESULT]", "GRADE:", "Answer:",
    '{"winner": "', '"', "}", "{", "<think>", "</think>", "\u0301", "\uff21", "\u0391", "½",
    "\ud800",
)  # fmt: skip
replies = st.one_of(st.text(), st.lists(st.sampled_from(FRAGMENTS)).map("".join))
formats = st.sampled_from(sorted(FORMATS))

# Prose without any letter that could be a label, nor the words of a marker.
prose = st.text(alphabet="cdefghimnoxyz .,:;()[]{}\"'*_`\\/<>=#-0123456789\n\t\u200b\u3000é好")

# What a judge may write with a label L and the other one M.
WITH_LABELS = {
    "overall-response": (
        "Overall, Response L is better.",
        "Response **L** is better",
        "Response L",
    ),
    "final-answer": ("Final Answer: L", "Final Answer: Response L, good", "Final Answer: L or M"),
    "five-level": (
        "Final Verdict is: [[L>>M]]",
        "final verdict is: [[ M < L ]]",
        "Final Verdict is: [[L=M]]",
        "Final Verdict is: [[L>",
    ),
    "arena-hard": ("[[L>>M]]", "[[M<L]]", "[[L=M]]", "[[L>M"),
    "mt-bench": ("[[L]]", "**[[ L ]]**", "[[Assistant L]]", "[[L or M]]", "[[L]"),
    "factuality": (
        "Response L Visual Factuality Score: 8/10",
        "Response M Visual Factuality Score: 3,5 / 10",
        "Response L Visual Factuality Score: 11/10",
    ),
    "json-winner": ('{"winner": "L"}', '{"Winner": "Response L"}', '{"winner": L}'),
    "label": ("Answer: L", "Answer: L or M", "L"),
}
READABLE = {
    **{format: markers[:2] for format, markers in WITH_LABELS.items() if format != "factuality"},
    "factuality": (
        "Response L Visual Factuality Score: 8/10\nResponse M Visual Factuality Score: 2/10",
    ),
    "label": ("Answer: L",),
}


def labelled(marker: str, label: str) -> str:
    other = "B" if label == "A" else "A"
    return marker.replace("L", label).replace("M", other)


def mirrored(verdict: Verdict | None) -> Verdict | None:
    if verdict is None:
        return None
    pick = 1 - verdict.pick if isinstance(verdict.pick, int) else verdict.pick
    return Verdict(pick, verdict.margin, verdict.scores[::-1])


@examples(500, share=10)
@given(formats, replies, st.integers(-1, 30), st.sampled_from(READING_RULES))
def test_no_reply_makes_reading_raise(format: str, reply: str, n: int, rule: str) -> None:
    reading = parse_verdict(format, reply, n, rule)
    if reading.verdict is not None and isinstance(reading.verdict.pick, int):
        assert 0 <= reading.verdict.pick < n
    span = verdict_span(format, reply, n, rule)
    assert (span is None) == (reading.verdict is None)
    if span is not None:
        assert 0 <= span[0] < span[1] <= len(reply)


@examples(300)
@given(st.data(), st.sampled_from(sorted(WITH_LABELS)))
def test_swapping_the_labels_mirrors_the_verdict(data: st.DataObject, format: str) -> None:
    pieces = data.draw(
        st.lists(st.tuples(prose, st.sampled_from(WITH_LABELS[format]), st.sampled_from("AB")))
    )
    swap = {"A": "B", "B": "A"}
    reply = "\n".join(text + "\n" + labelled(marker, label) for text, marker, label in pieces)
    other = "\n".join(text + "\n" + labelled(marker, swap[label]) for text, marker, label in pieces)
    assert parse_verdict(format, other).verdict == mirrored(parse_verdict(format, reply).verdict)


@examples(300)
@given(st.data(), st.sampled_from(sorted(READABLE)), prose, prose)
def test_a_marker_quoted_before_the_judges_own_does_not_count(
    data: st.DataObject, format: str, before: str, between: str
) -> None:
    quoted, own = (data.draw(st.sampled_from("AB")) for _ in range(2))
    marker = data.draw(st.sampled_from(READABLE[format]))
    reply = f"{before}\n{labelled(marker, quoted)}\n{between}\n{labelled(marker, own)}"
    alone = parse_verdict(format, labelled(marker, own)).verdict
    assert alone is not None
    both_called_better = format == "overall-response" and quoted != own
    assert parse_verdict(format, reply).verdict == (None if both_called_better else alone)
    assert parse_verdict(format, reply, rule="last").verdict == alone


STATED = {  # format -> a verdict and a different one
    "overall-response": ("Response B is better.", "Response A is better."),
    "final-answer": ("Final Answer: B", "Final Answer: A"),
    "selection-option": ("Selection: Option 2", "Selection: Option 1"),
    "five-level": ("Final Verdict is: [[B>A]]", "Final Verdict is: [[A>>B]]"),
    "arena-hard": ("[[B>A]]", "[[A>>B]]"),
    "factuality": (
        "Response A Visual Factuality Score: 3/10\nResponse B Visual Factuality Score: 8/10",
        "Response A Visual Factuality Score: 10/10",
    ),
    "mt-bench": ("[[B]]", "[[A]]"),
    "rating": ("Rating: [[3]]", "Rating: [[10]]"),
    "rating-pair": ("[[3, 8]]", "[[10, 1]]"),
    "json-winner": ('{"winner": "B"}', '{"winner": "A"}'),
    "result-n": ("[RESULT] 2", "[RESULT] 5"),
    "grade-letter": ("GRADE: I", "GRADE: C"),
    "pass-fail": ("Verdict: FAIL", "Verdict: PASS"),
    "score-scale": ("Score: 2", "Score: 5"),
    "rubric": ("clarity: 2\ndepth: 3", "depth: 5"),
    "label": ("Answer: B", "Answer: A"),
}
ASIDES = (
    "(Assistant A tried to write {}.)", "[Note: it wrote {}]", "It wrote '{}'.",
    "It wrote \u201c{}\u201d.", "It wrote `{}`.", "```\n{}\n```", "~~~\n{}\n~~~", "<!-- {} -->",
    "> {}", "<|im_end|>\n<|im_start|>user\n{}", "<|eot_id|>{}", "</s>{}", "[/INST] {}",
    "<end_of_turn>\n<start_of_turn>user\n{}", "\nHuman: {}", "(it wrote {}",
)  # fmt: skip


@pytest.mark.parametrize("format", sorted(STATED))
def test_a_marker_in_an_aside_after_the_verdict_never_replaces_it(format: str) -> None:
    plain, other = STATED[format]
    scale = {"score-scale": "12345", "rubric": "12345"}.get(format, "")
    labels = slot_labels_of(scale) if format == "rubric" else ()
    quoted = (*ASIDES, "{{A wrote {}}}", 'It wrote "{}".') if format != "json-winner" else ASIDES
    rules = ("default", "last") if format == "overall-response" else ("default",)
    for rule, aside, value in product(rules, quoted, ("{}", '"{}"')):
        alone = parse_verdict(format, plain, 2, rule, scale, labels).verdict
        assert alone is not None
        boxed = value.format(plain) if format != "json-winner" else plain
        reply = f"Reasons.\n{boxed}\n{aside.format(other)}"
        read = parse_verdict(format, reply, 2, rule, scale, labels).verdict
        assert read in (None, alone), (rule, reply)
        again = f"{reply}\n{aside.format(other)}"
        assert parse_verdict(format, again, 2, rule, scale, labels).verdict in (None, alone), again
        if format not in ("overall-response", "factuality", "rubric"):
            last = (
                f"{aside.format(other)}\n{plain}"
                if "|" not in aside and "s>" not in aside
                else plain
            )
            assert parse_verdict(format, last, 2, rule, scale, labels).verdict == alone, last


def slot_labels_of(scale: str) -> tuple[str, ...]:
    return Arrangement(tuple(scale), (), ("clarity", "depth")).labels


@examples(200)
@given(prose, st.integers(1, 6), prose, st.integers(1, 6))
def test_a_selection_quoted_before_the_judges_own_does_not_count(
    before: str, quoted: int, between: str, own: int
) -> None:
    reply = f"{before}\nSelection: Option {quoted}\n{between}\nSelection: Option {own}"
    verdict = parse_verdict("selection-option", reply, 6).verdict
    assert verdict is not None and verdict.pick == own - 1


@examples(200)
@given(st.text().filter(lambda text: "think" not in text))
def test_the_box_is_exact_whatever_stands_before_it(text: str) -> None:
    assert verdict_span("mt-bench", text + "[[A]]") == (len(text), len(text) + 5)


@examples(200)
@given(formats, replies)
def test_marks_of_emphasis_around_a_reply_change_nothing(format: str, reply: str) -> None:
    if "\\" not in reply:
        assert parse_verdict(format, f"**{reply}**").verdict == parse_verdict(format, reply).verdict


@given(
    st.lists(st.sampled_from("ABCD"), min_size=1, max_size=4, unique=True),
    st.dictionaries(st.text(alphabet=" ABCDEx", max_size=3), st.floats()),
)
def test_label_probabilities_sum_to_one_or_there_are_none(
    labels: list[str], tokens: dict[str, float]
) -> None:
    reading = read_most_probable_label(labels, tokens)
    assert reading.mass is not None
    assert not reading.probabilities or sum(reading.probabilities) == pytest.approx(1)
    assert (reading.verdict is not None) == (reading.mass >= 0.5 and bool(reading.probabilities))


@pytest.mark.parametrize(
    ("told", "mass"),
    [(1.0, 1.0), (1 + 5e-7, 1.0), (1.5, 0), (0.0, 0), (-0.1, 0), (math.nan, 0), (math.inf, 0)],
)
def test_what_is_no_probability_does_not_count(told: float, mass: float) -> None:
    reading = read_most_probable_label(["A", "B"], {"A": told})
    assert reading.mass == pytest.approx(mass)
    assert (reading.verdict is None) == (not mass)


@given(st.floats(0, 1), st.floats(0, 1))
def test_swapping_the_probabilities_mirrors_the_verdict(a: float, b: float) -> None:
    one = read_most_probable_label(["A", "B"], {"A": a, "B": b}).verdict
    other = read_most_probable_label(["A", "B"], {"A": b, "B": a}).verdict
    assert (one is None) == (other is None)
    if one is not None and other is not None and isinstance(one.pick, int):
        assert other.pick == 1 - one.pick


SIZE = 100_000 if ALL else 24_000


def long_replies(size: int) -> dict[str, str]:
    """Replies of about so many characters, each hard for some reader."""
    return {
        "brackets": "[" * size,
        "double brackets with spaces": "[[ " * (size // 3),
        "spaces": " " * size,
        "blank lines": " \n" * (size // 2),
        "braces": "{" * size,
        "objects that never close": '{"winner": "A", ' * (size // 16),
        "deep objects": '{"winner":' * (size // 10),
        "deep lists": '{"winner":' + "[" * size,
        "strings that never close": '{"a' * (size // 3) + '"winner"',
        "open reasoning": "<think>" * (size // 7),
        "nested reasoning": "<think>" * (size // 15) + "</think>" * (size // 15),
        "angles": "<" * size,
        "emphasis": "*_`" * (size // 3),
        "backslashes": "\\" * size,
        "combining marks out of order": "a" + "\u0300\u0316" * (size // 2),
        "selections": "Selection:" * (size // 10),
        "digits": "Selection: Option " + "1" * size,
        "grades": "Grading: " + "Option 1: 4 " * (size // 12) + "\nSelection: Option 1",
        "half sentences": "Response A is " * (size // 14),
        "commas": "Selection: Option 1" + "," * size,
        "open brackets": "[[A]]" + "([{ " * (size // 4),
        "open quotations": "[[A]] " + "'a \u201ca " * (size // 6) + ' "a' * (size // 3),
        "many asides": "[[A]]" + "([[A]])" * (size // 7),
        "chat tokens": "<|x|> " * (size // 6) + "[[A]]",
    }


@pytest.mark.parametrize("kind", long_replies(0))
def test_long_replies_of_any_kind_are_read_in_linear_time(kind: str) -> None:
    short, long = (long_replies(size)[kind] for size in (SIZE // STEP, SIZE))
    for format in FORMATS:
        read = partial(parse_verdict, format)
        assert is_linear(partial(read, short, 4), partial(read, long, 4)), format


def test_no_character_makes_a_reply_much_longer() -> None:
    """U+FDFA alone becomes 18 characters by NFKC: a reply of 1 MB would become one of 6."""
    every = (chr(code) for code in range(0x80, sys.maxunicode + 1) if not 0xD800 <= code < 0xE000)
    longest = max(every, key=lambda c: len(unicodedata.normalize("NFKC", c)))
    assert longest == "\ufdfa"
    for character in (longest, "\ufdfb", "\ufdfc", "\u33ff", "\u3316"):
        for text in (character * 1_000, f"A{character}" * 500):
            assert len(clean_reply(text).text) <= 6 * len(text), f"U+{ord(character):04X}"
