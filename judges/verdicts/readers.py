"""Readers of verdicts from cleaned replies, one function per verdict format.

The last marker (text that states a verdict, such as `[[A]]`) counts. If its value cannot be read,
the reply is unreadable, since an earlier marker may be a quotation. Readers for declared options:
judges/verdicts/point_readers.py.
"""

import re
import string
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Final, Literal

from judges.verdicts import markers
from judges.verdicts.markers import (
    UNREADABLE_MARKER,
    MarkerMatch,
    register_marker_reader,
    register_reply_reader,
)
from judges.verdicts.reply_cleaning import CleanedReply, lower_ascii
from judges.verdicts.verdict_formats import FORMATS
from studies.domain import Verdict

NO_SUCH_LABEL: Final = "there is no such label"
MAX_TIE_DIFFERENCE: Final = 0.1
"""Largest difference of two ratings that counts as a tie, as FastChat's TIE_DELTA."""

_BETTER_SENTENCE: Final = re.compile(r"(?:overall,?[ \n])?response[ \n]([a-z])[ \n]is[ \n]better")
_NOT_STATED: Final = re.compile(
    r"(?<!\w)(?:whether|if|(?:(?:do|does|can|could|would)(?:n['\u2019]t| not)|cannot|never)"
    r"[ \n](?:think|believe|say|agree|find|conclude|mean)(?:[ \n]that)?"
    r"|(?:doubt|deny|disagree|false|untrue|not true|not the case|cannot be said) that)[ \n]\Z"
)
_NOT_STATED_LENGTH: Final = 40


@register_reply_reader("overall-response")
def _read_overall_response(text: CleanedReply, n_options: int) -> MarkerMatch:
    """Read "Response X is better". The reply is unreadable if it states this of two responses,
    because one of the statements may be a quotation."""
    sentences = _find_better_sentences(text, n_options)
    if len({match[1] for match in sentences}) > 1:
        return MarkerMatch(reason="more than one response is called better", rule="exactly-one")
    return replace(_verdict_of_last_sentence(sentences, n_options), rule="exactly-one")


@register_reply_reader("overall-response", "last")
def _read_last_overall_response(text: CleanedReply, n_options: int) -> MarkerMatch:
    return _verdict_of_last_sentence(_find_better_sentences(text, n_options), n_options)


def _find_better_sentences(text: CleanedReply, n_options: int) -> list[re.Match[str]]:
    """Find the sentences "Response X is better" about one of the options, without those that are
    negated or doubted ("I doubt whether …")."""

    def is_stated(start: int) -> bool:
        return not _NOT_STATED.search(text.lower[max(0, start - _NOT_STATED_LENGTH) : start])

    return [
        match
        for match in _BETTER_SENTENCE.finditer(text.lower)
        if _verdict_of_letter(match[1], n_options) and is_stated(match.start())
    ]


def _verdict_of_last_sentence(sentences: list[re.Match[str]], n_options: int) -> MarkerMatch:
    if not sentences:
        return MarkerMatch()
    return MarkerMatch(_verdict_of_letter(sentences[-1][1], n_options), "", sentences[-1].span())


@register_marker_reader("final-answer", re.compile(r"(?<!\w)final answer ?:"))
def _read_letter_after(text: CleanedReply, marker: re.Match[str], n_options: int) -> MarkerMatch:
    letter = markers.label_at(text, marker.end())
    if letter is None:
        return MarkerMatch(reason=UNREADABLE_MARKER)
    verdict = _verdict_of_letter(letter[0], n_options)
    return MarkerMatch(verdict, NO_SUCH_LABEL, (marker.start(), letter[1]))


_ANSWER: Final = re.compile(r"(?<!\w)answer ?:")
_WHOLE_LABEL: Final = re.compile(
    r"\W{0,8}(?:(?:response|assistant|option|output|answer) ?)?\W{0,4}([a-z])"
    rf"[^\w{markers.ACCENTS}]{{0,8}}"
)


@register_reply_reader("label")
def _read_label(text: CleanedReply, n_options: int) -> MarkerMatch:
    """Read a reply that is a label alone; otherwise read the label after the last `Answer:`."""
    if whole := _WHOLE_LABEL.fullmatch(text.lower):
        verdict = _verdict_of_letter(whole[1], n_options)
        return MarkerMatch(verdict, NO_SUCH_LABEL, whole.span(1), "whole-reply")
    marker = markers.last_match(_ANSWER, text.lower)
    return _read_letter_after(text, marker, n_options) if marker else MarkerMatch()


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


@register_marker_reader("five-level", re.compile("final verdict is ?:"))
def _read_five_level(text: CleanedReply, marker: re.Match[str], n_options: int) -> MarkerMatch:
    """Read the brackets after (or, if none, before) the last `Final Verdict is:`, on the same
    line."""
    start = text.lower.rfind("\n", 0, marker.start()) + 1
    end = text.lower.find("\n", marker.end())
    found = markers.last_brackets(text.lower, marker.end(), len(text.lower) if end < 0 else end)
    found = found or markers.last_brackets(text.lower, start, marker.start())
    return _verdict_of_level(found, marker.span())


@register_reply_reader("arena-hard")
def _read_arena_hard(text: CleanedReply, n_options: int) -> MarkerMatch:
    return _verdict_of_level(markers.last_brackets(text.lower))


def _verdict_of_level(
    brackets: markers.Brackets | None, marker: tuple[int, int] | None = None
) -> MarkerMatch:
    if brackets is None:
        return MarkerMatch(reason=UNREADABLE_MARKER if marker else markers.NO_MARKER)
    ends = (*brackets.span, *(marker or ()))
    return MarkerMatch(
        _LEVELS.get(_strip_label_word(brackets.content)), UNREADABLE_MARKER, (min(ends), max(ends))
    )


@register_reply_reader("mt-bench")
def _read_mt_bench(text: CleanedReply, n_options: int) -> MarkerMatch:
    """Read `[[A]]`, `[[B]]`, or `[[C]]`, which means a tie when there are two options."""
    brackets = markers.last_brackets(text.lower)
    if brackets is None:
        return MarkerMatch()
    label = _strip_label_word(brackets.content)
    if label == "c" and n_options == 2:
        return MarkerMatch(Verdict("tie", 0), "", brackets.span)
    verdict = _verdict_of_letter(label, n_options) if len(label) == 1 else None
    return MarkerMatch(verdict, UNREADABLE_MARKER, brackets.span)


@register_reply_reader("rating")
def _read_rating(text: CleanedReply, n_options: int) -> MarkerMatch:
    brackets = markers.last_brackets(text.lower)
    if brackets is None:
        return MarkerMatch()
    score = _parse_whole_score(brackets.content, "rating")
    verdict = None if score is None else Verdict(scores=(score,))
    return MarkerMatch(verdict, UNREADABLE_MARKER, brackets.span)


@register_reply_reader("rating-pair")
def _read_rating_pair(text: CleanedReply, n_options: int) -> MarkerMatch:
    """Read `[[x, y]]`, the ratings of two answers; the higher wins (see MAX_TIE_DIFFERENCE).

    Without brackets, a first line of two numbers alone ("9 8.5") has the ratings, as in Vicuna's
    reviews.
    """
    brackets = markers.last_brackets(text.lower)
    if brackets is None:
        line = _TWO_NUMBERS.match(text.lower) if n_options == 2 else None
        return (
            MarkerMatch()
            if line is None
            else _verdict_of_rating_pair([line[1], line[2]], line.span())
        )
    return _verdict_of_rating_pair((brackets.content or "").split(","), brackets.span)


_TWO_NUMBERS: Final = re.compile(r"\s*(\d+(?:\.\d+)?)[ ,\t]+(\d+(?:\.\d+)?)[ \t]*(?:\r?\n|$)")


def _verdict_of_rating_pair(parts: Sequence[str], span: tuple[int, int]) -> MarkerMatch:
    scores = [_parse_whole_score(part, "rating-pair") for part in parts]
    if len(scores) != 2 or scores[0] is None or scores[1] is None:
        return MarkerMatch(reason=UNREADABLE_MARKER)
    tied = abs(scores[0] - scores[1]) <= MAX_TIE_DIFFERENCE
    pick: int | Literal["tie"] = "tie" if tied else int(scores[1] > scores[0])
    verdict = Verdict(pick, 0 if tied else 1, (scores[0], scores[1]))
    return MarkerMatch(verdict, "", span)


_FACTUALITY: Final = re.compile(
    r"(?:response|assistant) ?([a-z])(?:['\u2019]s)? visual factuality score ?: ?[\[(]{0,2}"
    r"(?:[0-9.+\u00d7 ]{1,60}= ?)?"  # points that are added up
)


@register_reply_reader("factuality")
def _read_factuality(text: CleanedReply, n_options: int) -> MarkerMatch:
    """Read the score of each response, from the last place that states a score for this response.
    The reply is unreadable if the score of a response is missing or cannot be read."""
    scores: dict[int, float | None] = {}
    spans: dict[int, tuple[int, int]] = {}
    for marker in _FACTUALITY.finditer(text.lower):
        index = ord(marker[1]) - ord("a")
        score = markers.score_at(text.lower, marker.end(), 10)
        scores[index] = _score_if_in_range("factuality", score[0]) if score else None
        spans[index] = marker.start(), score[1] if score else marker.end()
    wanted = [scores.get(index) for index in range(min(n_options, 26))]
    known = tuple(score for score in wanted if score is not None)
    if len(known) < len(wanted) or not wanted:
        reason = "a score is missing or not readable" if scores else markers.NO_MARKER
        parts = tuple((index, score) for index, score in scores.items() if score is not None)
        return MarkerMatch(reason=reason, parts=parts if len(parts) == len(scores) else ())
    used = [spans[index] for index in range(len(wanted))]
    return MarkerMatch(Verdict(scores=known), "", (min(used)[0], max(used)[1]))


@register_marker_reader("result-n", re.compile(r"\[result\] ?:?[ \n]?[\[(]?"))
def _read_result_n(text: CleanedReply, marker: re.Match[str], n_options: int) -> MarkerMatch:
    score = markers.score_at(text.lower, marker.end(), 5)
    value = _score_if_in_range("result-n", score[0]) if score else None
    if score is None or value is None:
        return MarkerMatch(reason=UNREADABLE_MARKER)
    return MarkerMatch(Verdict(scores=(value,)), "", (marker.start(), score[1]))


_GRADES: Final = {"c": 1.0, "p": 0.5, "i": 0.0}
_PRONOUN: Final = re.compile(
    r"['\u2019]| (?:would|could|should|must|might|may|can|cannot|will|do|did|am|was|have|think|feel"
    r"|believe|know|need|see|say|give|find|judge|choose|assign|rate|grade)(?:n['\u2019]t)?(?!\w)"
)


@register_marker_reader("grade-letter", re.compile(r"(?<!\w)grade ?:"))
def _read_grade_letter(text: CleanedReply, marker: re.Match[str], n_options: int) -> MarkerMatch:
    """Read `GRADE: C`, `P` or `I` (correct, partially correct, incorrect), as graders of the
    package Inspect write it."""
    letter = markers.label_at(text, marker.end())
    pronoun = letter and letter[0] == "i" and _PRONOUN.match(text.lower, letter[1])
    if letter is None or letter[0] not in _GRADES or pronoun:
        return MarkerMatch(reason=UNREADABLE_MARKER)
    return MarkerMatch(Verdict(scores=(_GRADES[letter[0]],)), "", (marker.start(), letter[1]))


_WINNER: Final = re.compile(
    r'"winner"[ \n]{0,9}:[ \n]{0,9}"[^"\n]{0,80}"', re.IGNORECASE | re.ASCII
)
_MODEL: Final = re.compile(r"(?:model_|(?:response|assistant) ?)?([a-z])")


@register_reply_reader("json-winner")
def _read_json_winner(text: CleanedReply, n_options: int) -> MarkerMatch:
    """Read the key "winner" of the last JSON object that has it. The reply is unreadable if this
    object contains the key twice with different values."""
    winners = markers.find_json_values(text.text, "winner")
    if not winners:
        return MarkerMatch()
    values = {lower_ascii(v).strip() if isinstance(v, str) else None for v in winners[-1]}
    value = values.pop() if len(values) == 1 else None
    span = markers.last_match(_WINNER, text.text)
    model = _MODEL.fullmatch(value or "")
    verdict = _verdict_of_letter(model[1], n_options) if model else None
    if value == "tie":
        verdict = Verdict("tie", 0)
    return MarkerMatch(verdict, UNREADABLE_MARKER, span.span() if span else None)


@register_reply_reader("none")
def _read_no_verdict(text: CleanedReply, n_options: int) -> MarkerMatch:
    return MarkerMatch(reason="this format has no verdict", rule="none")


# Shared by several formats -----------------------------------------------------------------------


def _verdict_of_letter(letter: str, n_options: int) -> Verdict | None:
    index = string.ascii_lowercase.find(letter)
    return Verdict(index) if 0 <= index < n_options else None


_WORD_BEFORE_LABEL: Final = re.compile("(?:response|assistant)(?=[a-z](?![a-z]))")


def _strip_label_word(content: str | None) -> str:
    """Return the content of brackets, which is in lower case, without spaces and without the word
    "response" or "assistant" before a letter: "response a" -> "a"."""
    return _WORD_BEFORE_LABEL.sub("", (content or "").replace(" ", ""))


def _parse_whole_score(content: str | None, format: str) -> float | None:
    part = (content or "").strip()
    score = markers.score_at(part, 0, round(FORMATS[format].high))
    if score is None or score[1] != len(part):
        return None
    return _score_if_in_range(format, score[0])


def _score_if_in_range(format: str, value: float) -> float | None:
    return value if FORMATS[format].low <= value <= FORMATS[format].high else None
