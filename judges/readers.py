"""One function per verdict format: what a cleaned reply says, and where it says it.

The last marker binds; if its value cannot be read the reply is unreadable, since an earlier marker
may be a quotation. All rules: PROTOCOLS.md 5. N options have a file of their own: selection.py.
"""

from __future__ import annotations

import re
import string
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Final, Literal

from judges.formats import FORMATS
from judges.markers import (
    ACCENTS,
    NO_MARKER,
    NOT_READ,
    Brackets,
    Found,
    last,
    last_brackets,
    letter_at,
    objects_with,
    score_at,
)
from judges.normalise import Clean, lower
from judges.selection import selection_gradelab, selection_option
from studies.records import Verdict

NO_SUCH_LABEL: Final = "there is no such label"
TIE_WITHIN: Final = 0.1
"""Two ratings this close are a tie, as in FastChat's TIE_DELTA."""


_BETTER: Final = re.compile(r"(?:overall,?[ \n])?response[ \n]([a-z])[ \n]is[ \n]better")


def _overall_response(text: Clean, n_options: int) -> Found:
    """Exactly one of the sentences, however often: one of two may be a quotation."""
    sentences = _sentences(text, n_options)
    if len({match[1] for match in sentences}) > 1:
        return Found(reason="more than one response is called better", rule="exactly-one")
    return replace(_last_sentence(sentences, n_options), rule="exactly-one")


def _overall_response_last(text: Clean, n_options: int) -> Found:
    return _last_sentence(_sentences(text, n_options), n_options)


def _sentences(text: Clean, n_options: int) -> list[re.Match[str]]:
    return [match for match in _BETTER.finditer(text.lower) if _pick(match[1], n_options)]


def _last_sentence(sentences: list[re.Match[str]], n_options: int) -> Found:
    if not sentences:
        return Found()
    return Found(_pick(sentences[-1][1], n_options), "", sentences[-1].span())


_FINAL_ANSWER: Final = re.compile(r"(?<!\w)final answer ?:")


def _final_answer(text: Clean, n_options: int) -> Found:
    return _marked_letter(_FINAL_ANSWER, text, n_options)


_ANSWER: Final = re.compile(r"(?<!\w)answer ?:")
_WHOLE_LABEL: Final = re.compile(
    r"\W{0,8}(?:(?:response|assistant|option|output|answer) ?)?\W{0,4}([a-z])"
    rf"[^\w{ACCENTS}]{{0,8}}"
)


def _label(text: Clean, n_options: int) -> Found:
    """A reply that is nothing but a label, else the last `Answer:`."""
    whole = _WHOLE_LABEL.fullmatch(text.lower)
    if whole:
        return Found(_pick(whole[1], n_options), NO_SUCH_LABEL, whole.span(1), "whole-reply")
    return _marked_letter(_ANSWER, text, n_options)


_FINAL_VERDICT: Final = re.compile(r"final verdict is ?:")
_LEVELS: Final[Mapping[str, Verdict]] = {
    "a>>b": Verdict(0, 2),
    "a>b": Verdict(0, 1),
    "a=b": Verdict("tie", 0),
    "b>a": Verdict(1, 1),
    "b>>a": Verdict(1, 2),
    "b<<a": Verdict(0, 2),
    "b<a": Verdict(0, 1),
    "b=a": Verdict("tie", 0),
    "a<b": Verdict(1, 1),
    "a<<b": Verdict(1, 2),
}


def _five_level(text: Clean, n_options: int) -> Found:
    """`Final Verdict is:` and the brackets on its line, after it if there are any."""
    marker = last(_FINAL_VERDICT, text.lower)
    if marker is None:
        return Found()
    start = text.lower.rfind("\n", 0, marker.start()) + 1
    end = text.lower.find("\n", marker.end())
    end = len(text.lower) if end < 0 else end
    brackets = last_brackets(text.lower, marker.end(), end)
    return _level(brackets or last_brackets(text.lower, start, marker.start()), marker.span())


def _arena_hard(text: Clean, n_options: int) -> Found:
    return _level(last_brackets(text.lower))


def _level(brackets: Brackets | None, marker: tuple[int, int] | None = None) -> Found:
    if brackets is None:
        return Found(reason=NOT_READ if marker else NO_MARKER)
    ends = (*brackets.span, *(marker or ()))
    return Found(_LEVELS.get(_bare(brackets.content)), NOT_READ, (min(ends), max(ends)))


def _mt_bench(text: Clean, n_options: int) -> Found:
    """`[[A]]`, `[[B]]`, and `[[C]]` for a tie as long as no third answer is called C."""
    brackets = last_brackets(text.lower)
    if brackets is None:
        return Found()
    label = _bare(brackets.content)
    if label == "c" and n_options == 2:
        return Found(Verdict("tie", 0), "", brackets.span)
    verdict = _pick(label, n_options) if len(label) == 1 else None
    return Found(verdict, NOT_READ, brackets.span)


def _rating(text: Clean, n_options: int) -> Found:
    brackets = last_brackets(text.lower)
    if brackets is None:
        return Found()
    score = _whole_score(brackets.content, "rating")
    verdict = None if score is None else Verdict(scores=(score,))
    return Found(verdict, NOT_READ, brackets.span)


def _rating_pair(text: Clean, n_options: int) -> Found:
    """`[[x, y]]`: two ratings, of which the higher wins."""
    brackets = last_brackets(text.lower)
    if brackets is None:
        return Found()
    parts = (brackets.content or "").split(",")
    scores = [_whole_score(part, "rating-pair") for part in parts]
    if len(scores) != 2 or scores[0] is None or scores[1] is None:
        return Found(reason=NOT_READ)
    tied = abs(scores[0] - scores[1]) <= TIE_WITHIN
    pick: int | Literal["tie"] = "tie" if tied else int(scores[1] > scores[0])
    verdict = Verdict(pick, 0 if tied else 1, (scores[0], scores[1]))
    return Found(verdict, "", brackets.span)


_FACTUALITY: Final = re.compile(
    r"(?:response|assistant) ?([a-z])(?:['\u2019]s)? visual factuality score ?: ?[\[(]{0,2}"
)


def _factuality(text: Clean, n_options: int) -> Found:
    """One score per response; a later line overwrites an earlier one, readable or not."""
    scores: dict[int, float | None] = {}
    spans: dict[int, tuple[int, int]] = {}
    for marker in _FACTUALITY.finditer(text.lower):
        index = ord(marker[1]) - ord("a")
        score = score_at(text.lower, marker.end(), 10)
        scores[index] = _within("factuality", score[0]) if score else None
        spans[index] = marker.start(), score[1] if score else marker.end()
    wanted = [scores.get(index) for index in range(min(n_options, 26))]
    known = tuple(score for score in wanted if score is not None)
    if len(known) < len(wanted) or not wanted:
        return Found(reason="a score is missing or not readable" if scores else NO_MARKER)
    used = [spans[index] for index in range(len(wanted))]
    return Found(Verdict(scores=known), "", (min(used)[0], max(used)[1]))


_RESULT: Final = re.compile(r"\[result\] ?:? ?[\[(]?")


def _result_n(text: Clean, n_options: int) -> Found:
    marker = last(_RESULT, text.lower)
    if marker is None:
        return Found()
    score = score_at(text.lower, marker.end(), 5)
    value = _within("result-n", score[0]) if score else None
    if score is None or value is None:
        return Found(reason=NOT_READ)
    return Found(Verdict(scores=(value,)), "", (marker.start(), score[1]))


_GRADE: Final = re.compile(r"(?<!\w)grade ?:")
_GRADES: Final = {"c": 1.0, "p": 0.5, "i": 0.0}


def _grade_letter(text: Clean, n_options: int) -> Found:
    """Correct, partly, incorrect: what Inspect's graders write."""
    marker = last(_GRADE, text.lower)
    if marker is None:
        return Found()
    letter = letter_at(text, marker.end())
    if letter is None or letter[0] not in _GRADES:
        return Found(reason=NOT_READ)
    return Found(Verdict(scores=(_GRADES[letter[0]],)), "", (marker.start(), letter[1]))


_WINNER: Final = re.compile(
    r'"winner"[ \n]{0,9}:[ \n]{0,9}"[^"\n]{0,80}"', re.IGNORECASE | re.ASCII
)
_MODEL: Final = re.compile(r"(?:model_|(?:response|assistant) ?)?([a-z])")


def _json_winner(text: Clean, n_options: int) -> Found:
    """The last JSON object that has a winner; one that names two winners has none."""
    winners = objects_with(text.text, "winner")
    if not winners:
        return Found()
    values = {lower(v).strip() if isinstance(v, str) else None for v in winners[-1]}
    value = values.pop() if len(values) == 1 else None
    span = last(_WINNER, text.text)
    model = _MODEL.fullmatch(value or "")
    verdict = _pick(model[1], n_options) if model else None
    if value == "tie":
        verdict = Verdict("tie", 0)
    return Found(verdict, NOT_READ, span.span() if span else None)


def _none(text: Clean, n_options: int) -> Found:
    return Found(reason="this format has no verdict", rule="none")


# Shared by several formats -----------------------------------------------------------------------


def _marked_letter(pattern: re.Pattern[str], text: Clean, n_options: int) -> Found:
    marker = last(pattern, text.lower)
    if marker is None:
        return Found()
    letter = letter_at(text, marker.end())
    if letter is None:
        return Found(reason=NOT_READ)
    return Found(_pick(letter[0], n_options), NO_SUCH_LABEL, (marker.start(), letter[1]))


def _pick(letter: str, n_options: int) -> Verdict | None:
    index = string.ascii_lowercase.find(letter)
    return Verdict(index) if 0 <= index < n_options else None


_WORD_BEFORE_LABEL: Final = re.compile("(?:response|assistant)(?=[a-z](?![a-z]))")


def _bare(content: str | None) -> str:
    """What stands in brackets, without spaces and without "Response" before a label."""
    return _WORD_BEFORE_LABEL.sub("", (content or "").replace(" ", ""))


def _whole_score(content: str | None, format: str) -> float | None:
    part = (content or "").strip()
    score = score_at(part, 0, round(FORMATS[format].high))
    if score is None or score[1] != len(part):
        return None
    return _within(format, score[0])


def _within(format: str, value: float) -> float | None:
    return value if FORMATS[format].low <= value <= FORMATS[format].high else None


Reader = Callable[[Clean, int], Found]

READERS: Final[Mapping[str, Reader]] = {
    "overall-response": _overall_response,
    "final-answer": _final_answer,
    "selection-option": selection_option,
    "five-level": _five_level,
    "arena-hard": _arena_hard,
    "factuality": _factuality,
    "mt-bench": _mt_bench,
    "rating": _rating,
    "rating-pair": _rating_pair,
    "json-winner": _json_winner,
    "result-n": _result_n,
    "grade-letter": _grade_letter,
    "label": _label,
    "none": _none,
}
_BY_RULE: Final[Mapping[tuple[str, str], Reader]] = {
    ("overall-response", "last"): _overall_response_last,
    ("selection-option", "gradelab"): selection_gradelab,
}


def reader_for(format: str, rule: str) -> Reader:
    return _BY_RULE.get((format, rule)) or READERS[format]
