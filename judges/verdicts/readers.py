"""Readers of verdicts from cleaned replies, one function per verdict format.

The last marker (text that states a verdict, such as `[[A]]`) counts. If its value cannot be read,
the reply is unreadable, since an earlier marker may be a quotation. Readers for N options:
judges/verdicts/option_readers.py.
"""

from __future__ import annotations

import re
import string
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Final, Literal

from judges.verdicts.markers import (
    ACCENTS,
    NO_MARKER,
    UNREADABLE_MARKER,
    Brackets,
    MarkerMatch,
    find_json_values,
    last_brackets,
    last_match,
    letter_at,
    score_at,
)
from judges.verdicts.option_readers import read_gradelab_selection, read_selection
from judges.verdicts.point_readers import read_pass_fail
from judges.verdicts.reply_cleaning import CleanedReply, lower_ascii
from judges.verdicts.verdict_formats import FORMATS, PASS_FAIL_FORMAT
from studies.domain import Verdict

NO_SUCH_LABEL: Final = "there is no such label"
MAX_TIE_DIFFERENCE: Final = 0.1
"""Largest difference of two ratings that counts as a tie, as FastChat's TIE_DELTA."""


_BETTER_SENTENCE: Final = re.compile(r"(?:overall,?[ \n])?response[ \n]([a-z])[ \n]is[ \n]better")
_NOT_STATED: Final = re.compile(
    r"(?<!\w)(?:whether|if|(?:(?:do|does|can|could|would)(?:n['\u2019]t| not)|cannot|never)"
    r"[ \n](?:think|believe|say|agree|find|conclude|mean)(?:[ \n]that)?)[ \n]\Z"
)
_NOT_STATED_LENGTH: Final = 40


def _read_overall_response(text: CleanedReply, n_options: int) -> MarkerMatch:
    """Read "Response X is better". The reply is unreadable if it states this of two responses,
    because one of the statements may be a quotation."""
    sentences = _find_sentences(text, n_options)
    if len({match[1] for match in sentences}) > 1:
        return MarkerMatch(reason="more than one response is called better", rule="exactly-one")
    return replace(_match_last_sentence(sentences, n_options), rule="exactly-one")


def _read_last_overall_response(text: CleanedReply, n_options: int) -> MarkerMatch:
    return _match_last_sentence(_find_sentences(text, n_options), n_options)


def _find_sentences(text: CleanedReply, n_options: int) -> list[re.Match[str]]:
    return [
        match
        for match in _BETTER_SENTENCE.finditer(text.lower)
        if _verdict_of_letter(match[1], n_options) and _is_stated(text.lower, match.start())
    ]


def _is_stated(text: str, start: int) -> bool:
    """Whether the sentence at `start` is plainly stated, not negated or doubted ("I doubt whether
    …")."""
    return not _NOT_STATED.search(text[max(0, start - _NOT_STATED_LENGTH) : start])


def _match_last_sentence(sentences: list[re.Match[str]], n_options: int) -> MarkerMatch:
    if not sentences:
        return MarkerMatch()
    return MarkerMatch(_verdict_of_letter(sentences[-1][1], n_options), "", sentences[-1].span())


_FINAL_ANSWER: Final = re.compile(r"(?<!\w)final answer ?:")


def _read_final_answer(text: CleanedReply, n_options: int) -> MarkerMatch:
    return _read_marked_letter(_FINAL_ANSWER, text, n_options)


_ANSWER: Final = re.compile(r"(?<!\w)answer ?:")
_WHOLE_LABEL: Final = re.compile(
    r"\W{0,8}(?:(?:response|assistant|option|output|answer) ?)?\W{0,4}([a-z])"
    rf"[^\w{ACCENTS}]{{0,8}}"
)


def _read_label(text: CleanedReply, n_options: int) -> MarkerMatch:
    """Read a reply that is a label alone; otherwise read the label after the last `Answer:`."""
    whole = _WHOLE_LABEL.fullmatch(text.lower)
    if whole:
        return MarkerMatch(
            _verdict_of_letter(whole[1], n_options), NO_SUCH_LABEL, whole.span(1), "whole-reply"
        )
    return _read_marked_letter(_ANSWER, text, n_options)


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


def _read_five_level(text: CleanedReply, n_options: int) -> MarkerMatch:
    """Read the brackets after (or, if none, before) the last `Final Verdict is:`, on the same
    line."""
    marker = last_match(_FINAL_VERDICT, text.lower)
    if marker is None:
        return MarkerMatch()
    start = text.lower.rfind("\n", 0, marker.start()) + 1
    end = text.lower.find("\n", marker.end())
    end = len(text.lower) if end < 0 else end
    brackets = last_brackets(text.lower, marker.end(), end)
    return _match_level(brackets or last_brackets(text.lower, start, marker.start()), marker.span())


def _read_arena_hard(text: CleanedReply, n_options: int) -> MarkerMatch:
    return _match_level(last_brackets(text.lower))


def _match_level(brackets: Brackets | None, marker: tuple[int, int] | None = None) -> MarkerMatch:
    if brackets is None:
        return MarkerMatch(reason=UNREADABLE_MARKER if marker else NO_MARKER)
    ends = (*brackets.span, *(marker or ()))
    return MarkerMatch(
        _LEVELS.get(_strip_label_word(brackets.content)), UNREADABLE_MARKER, (min(ends), max(ends))
    )


def _read_mt_bench(text: CleanedReply, n_options: int) -> MarkerMatch:
    """Read `[[A]]`, `[[B]]`, or `[[C]]`, which means a tie when there are two options."""
    brackets = last_brackets(text.lower)
    if brackets is None:
        return MarkerMatch()
    label = _strip_label_word(brackets.content)
    if label == "c" and n_options == 2:
        return MarkerMatch(Verdict("tie", 0), "", brackets.span)
    verdict = _verdict_of_letter(label, n_options) if len(label) == 1 else None
    return MarkerMatch(verdict, UNREADABLE_MARKER, brackets.span)


def _read_rating(text: CleanedReply, n_options: int) -> MarkerMatch:
    brackets = last_brackets(text.lower)
    if brackets is None:
        return MarkerMatch()
    score = _parse_whole_score(brackets.content, "rating")
    verdict = None if score is None else Verdict(scores=(score,))
    return MarkerMatch(verdict, UNREADABLE_MARKER, brackets.span)


def _read_rating_pair(text: CleanedReply, n_options: int) -> MarkerMatch:
    """Read `[[x, y]]`, the ratings of two answers; the higher wins (see MAX_TIE_DIFFERENCE)."""
    brackets = last_brackets(text.lower)
    if brackets is None:
        return MarkerMatch()
    parts = (brackets.content or "").split(",")
    scores = [_parse_whole_score(part, "rating-pair") for part in parts]
    if len(scores) != 2 or scores[0] is None or scores[1] is None:
        return MarkerMatch(reason=UNREADABLE_MARKER)
    tied = abs(scores[0] - scores[1]) <= MAX_TIE_DIFFERENCE
    pick: int | Literal["tie"] = "tie" if tied else int(scores[1] > scores[0])
    verdict = Verdict(pick, 0 if tied else 1, (scores[0], scores[1]))
    return MarkerMatch(verdict, "", brackets.span)


_FACTUALITY: Final = re.compile(
    r"(?:response|assistant) ?([a-z])(?:['\u2019]s)? visual factuality score ?: ?[\[(]{0,2}"
)


def _read_factuality(text: CleanedReply, n_options: int) -> MarkerMatch:
    """Read one score per response from the last line that states it; the reply is unreadable if one
    of these scores is missing or cannot be read."""
    scores: dict[int, float | None] = {}
    spans: dict[int, tuple[int, int]] = {}
    for marker in _FACTUALITY.finditer(text.lower):
        index = ord(marker[1]) - ord("a")
        score = score_at(text.lower, marker.end(), 10)
        scores[index] = _check_range("factuality", score[0]) if score else None
        spans[index] = marker.start(), score[1] if score else marker.end()
    wanted = [scores.get(index) for index in range(min(n_options, 26))]
    known = tuple(score for score in wanted if score is not None)
    if len(known) < len(wanted) or not wanted:
        reason = "a score is missing or not readable" if scores else NO_MARKER
        parts = tuple((index, score) for index, score in scores.items() if score is not None)
        return MarkerMatch(reason=reason, parts=parts if len(parts) == len(scores) else ())
    used = [spans[index] for index in range(len(wanted))]
    return MarkerMatch(Verdict(scores=known), "", (min(used)[0], max(used)[1]))


_RESULT: Final = re.compile(r"\[result\] ?:? ?[\[(]?")


def _read_result_n(text: CleanedReply, n_options: int) -> MarkerMatch:
    marker = last_match(_RESULT, text.lower)
    if marker is None:
        return MarkerMatch()
    score = score_at(text.lower, marker.end(), 5)
    value = _check_range("result-n", score[0]) if score else None
    if score is None or value is None:
        return MarkerMatch(reason=UNREADABLE_MARKER)
    return MarkerMatch(Verdict(scores=(value,)), "", (marker.start(), score[1]))


_GRADE: Final = re.compile(r"(?<!\w)grade ?:")
_GRADES: Final = {"c": 1.0, "p": 0.5, "i": 0.0}
_PRONOUN: Final = re.compile(
    r"['\u2019]| (?:would|think|believe|am|give|find|cannot|can|have|will|rate|grade)(?!\w)"
)


def _read_grade_letter(text: CleanedReply, n_options: int) -> MarkerMatch:
    """Read `GRADE: C`, `P` or `I` (correct, partially correct, incorrect), as graders of the
    package Inspect write it."""
    marker = last_match(_GRADE, text.lower)
    if marker is None:
        return MarkerMatch()
    letter = letter_at(text, marker.end())
    pronoun = letter and letter[0] == "i" and _PRONOUN.match(text.lower, letter[1])
    if letter is None or letter[0] not in _GRADES or pronoun:
        return MarkerMatch(reason=UNREADABLE_MARKER)
    return MarkerMatch(Verdict(scores=(_GRADES[letter[0]],)), "", (marker.start(), letter[1]))


_WINNER: Final = re.compile(
    r'"winner"[ \n]{0,9}:[ \n]{0,9}"[^"\n]{0,80}"', re.IGNORECASE | re.ASCII
)
_MODEL: Final = re.compile(r"(?:model_|(?:response|assistant) ?)?([a-z])")


def _read_json_winner(text: CleanedReply, n_options: int) -> MarkerMatch:
    """Read the key "winner" of the last JSON object that has it. The reply is unreadable if this
    object contains the key twice with different values."""
    winners = find_json_values(text.text, "winner")
    if not winners:
        return MarkerMatch()
    values = {lower_ascii(v).strip() if isinstance(v, str) else None for v in winners[-1]}
    value = values.pop() if len(values) == 1 else None
    span = last_match(_WINNER, text.text)
    model = _MODEL.fullmatch(value or "")
    verdict = _verdict_of_letter(model[1], n_options) if model else None
    if value == "tie":
        verdict = Verdict("tie", 0)
    return MarkerMatch(verdict, UNREADABLE_MARKER, span.span() if span else None)


def _read_none(text: CleanedReply, n_options: int) -> MarkerMatch:
    return MarkerMatch(reason="this format has no verdict", rule="none")


# Shared by several formats -----------------------------------------------------------------------


def _read_marked_letter(
    pattern: re.Pattern[str], text: CleanedReply, n_options: int
) -> MarkerMatch:
    marker = last_match(pattern, text.lower)
    if marker is None:
        return MarkerMatch()
    letter = letter_at(text, marker.end())
    if letter is None:
        return MarkerMatch(reason=UNREADABLE_MARKER)
    return MarkerMatch(
        _verdict_of_letter(letter[0], n_options), NO_SUCH_LABEL, (marker.start(), letter[1])
    )


def _verdict_of_letter(letter: str, n_options: int) -> Verdict | None:
    index = string.ascii_lowercase.find(letter)
    return Verdict(index) if 0 <= index < n_options else None


_WORD_BEFORE_LABEL: Final = re.compile("(?:response|assistant)(?=[a-z](?![a-z]))")


def _strip_label_word(content: str | None) -> str:
    """Return the content of brackets (in lower case) without spaces and the word "response" or
    "assistant": "response a" -> "a"."""
    return _WORD_BEFORE_LABEL.sub("", (content or "").replace(" ", ""))


def _parse_whole_score(content: str | None, format: str) -> float | None:
    part = (content or "").strip()
    score = score_at(part, 0, round(FORMATS[format].high))
    if score is None or score[1] != len(part):
        return None
    return _check_range(format, score[0])


def _check_range(format: str, value: float) -> float | None:
    return value if FORMATS[format].low <= value <= FORMATS[format].high else None


ReplyReader = Callable[[CleanedReply, int], MarkerMatch]

READERS: Final[Mapping[str, ReplyReader]] = {
    "overall-response": _read_overall_response,
    "final-answer": _read_final_answer,
    "selection-option": read_selection,
    "five-level": _read_five_level,
    "arena-hard": _read_arena_hard,
    "factuality": _read_factuality,
    "mt-bench": _read_mt_bench,
    "rating": _read_rating,
    "rating-pair": _read_rating_pair,
    "json-winner": _read_json_winner,
    "result-n": _read_result_n,
    "grade-letter": _read_grade_letter,
    PASS_FAIL_FORMAT: read_pass_fail,
    "label": _read_label,
    "none": _read_none,
}
_READERS_BY_RULE: Final[Mapping[tuple[str, str], ReplyReader]] = {
    ("overall-response", "last"): _read_last_overall_response,
    ("selection-option", "gradelab"): read_gradelab_selection,
}


def reader_for(format: str, rule: str) -> ReplyReader:
    return _READERS_BY_RULE.get((format, rule)) or READERS[format]
