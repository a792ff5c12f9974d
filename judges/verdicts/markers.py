"""Find the parts of a verdict marker in a reply: label, number, double brackets, JSON object; read
sentences that compare two labels ("[[A]] is better than [[B]]" chooses A).

A marker is the text that states a verdict, such as `[[A]]`. Every function takes time linear in the
length of the reply.
"""

import json
import re
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, NoReturn

from judges.verdicts.reply_cleaning import CleanedReply
from studies.domain import Verdict

_MAX_LENGTH: Final = 160
"""Longest text between two labels, in characters, that is read as a comparison; if the text is
longer, the second label counts as the verdict."""

_NO_CHOICE: Final = re.compile(r" ?(?:/|&|=|,|,? ?(?:or|and|nor|vs\.?|versus)) ?")
_CONDITION: Final = re.compile(
    r" (?:if|when) |.*(?: (?:because|since|while|whereas)|(?<!not) as [a-z]{1,20} as) "
    r"(?:response |assistant )?\Z"
)
"""Pattern of an instruction copied from the prompt ("[[A]] if assistant A is better, [[B]] if …"),
a reason ("[[A]] because [[B]] lacks …") or a tie, in which the last label is not the choice."""

_FIRST_PREFERRED: Final = re.compile(
    r"[ ,;(]{0,3}(?:and |but )?"
    r"(?:not|rather than|instead of|over|>|>>|beats|outperforms|surpasses|exceeds|outranks"
    r"|wins (?:over|against)|is preferred (?:to|over)|is (?:[a-z]{1,20} )?superior to)"
    r" ?(?:the )?(?:response|assistant|answer)? ?"
)
_SECOND_PREFERRED: Final = re.compile(r" ?<{1,2} ?| (?:loses to|is beaten by|is outperformed by) ")
_SENTENCE_END: Final = re.compile(r"[!?\n;:]|\.(?: |\Z)")
_COMPARISON: Final = re.compile(
    r"(?<!\w)(?:than|superior to|inferior to|compared (?:to|with))(?!\w)"
)
_NEGATION: Final = re.compile(
    r"(?<!\w)(?:not|no|never|neither|hardly|cannot)(?!\w)|n['\u2019]t(?!\w)"
)
_HIGHER: Final = re.compile(
    r"(?<!\w)(?:better|more|stronger|higher|superior|greater|clearer|rather)(?!\w)"
)
_LOWER: Final = re.compile(r"(?<!\w)(?:worse|less|weaker|lower|inferior|poorer|fewer)(?!\w)")


def prefers_first_label(between: str) -> bool | None:
    """Return whether a sentence such as "[[A]] beats [[B]]" prefers the first label, given the text
    `between` the two (in lower case): True for "beats", False for "loses to", None if it chooses
    neither ("or", "is not better than").

    False for any other text, because the last label in a reply counts as its verdict."""
    if len(between) > _MAX_LENGTH:
        return False
    if _NO_CHOICE.fullmatch(between) or _CONDITION.match(between):
        return None
    if _FIRST_PREFERRED.fullmatch(between):
        return True
    if _SECOND_PREFERRED.fullmatch(between) or _SENTENCE_END.search(between):
        return False
    if not _COMPARISON.search(between):
        return False
    higher, lower = _HIGHER.search(between), _LOWER.search(between)
    if _NEGATION.search(between) or bool(higher) == bool(lower):
        return None
    return bool(higher)


NO_MARKER: Final = "no marker"
UNREADABLE_MARKER: Final = "the last marker's value cannot be read"

# A label followed by a combining accent is another letter. Not every accented letter has a
# precomposed character, so NFKC does not remove all of these marks.
ACCENTS: Final = "\u0300-\u036f\u1ab0-\u1aff\u1dc0-\u1dff\u20d0-\u20ff\ufe20-\ufe2f"
LABEL_END: Final = rf"(?![\w{ACCENTS}])"
_OPENING_MARKS: Final = "[\"'\u201c\u2018(\\[{<]{0,3}"
_CLOSING_MARKS: Final = "[\"'\u201d\u2019)\\]}>]{0,4}"

_LABEL_LETTER: Final = re.compile(
    rf"[ \n]?{_OPENING_MARKS} ?(?:(?:response|assistant) ?)?{_OPENING_MARKS}([a-z]){LABEL_END}"
)
_ALTERNATIVE_WORD: Final = re.compile(
    rf"{_CLOSING_MARKS}[ ,]{{0,3}}(?:or|and|nor|tie|tied|draw|vs|versus){LABEL_END}"
)
# "a" may be an article before a tie with an adjective: "a clear tie".
_TIE_AFTER_ARTICLE: Final = re.compile(
    r"(?: (?:clear|close|near|very|complete|perfect|virtual|real|true|exact|total|narrow|dead)"
    rf"){{1,2}} (?:tie|draw|heat|call|toss[ -]?up){LABEL_END}"
)
# Upper case only: in lower case the second label may be an article ("B, a clear win").
_ALTERNATIVE_LABEL: Final = re.compile(
    rf"{_CLOSING_MARKS} ?[,/&|+=<>~\u2248\u2264\u2265\u2192] ?"
    rf"(?:[Rr]esponse |[Aa]ssistant )?{_OPENING_MARKS}([A-Z]){LABEL_END}"
)
# "A is worse than B", "A is not the better one": the label is named, but not chosen.
_LABEL_REJECTED: Final = re.compile(
    rf"{_CLOSING_MARKS}(?:['\u2019]s [a-z]{{1,20}})? ?"
    r"(?:(?:is|was|does|did|has)(?:n['\u2019]t| not)|cannot"
    r"|(?:is|was|seems|appears|looks|performs|does)(?: [a-z]{1,20}){0,3}? "
    rf"(?:worse|inferior|weaker|poorer|less)){LABEL_END}"
)
# "A better answer is B": the "a" is an article.
_ARTICLE_BEFORE_ANSWER: Final = re.compile(
    r" (?:[a-z]{1,20} ){0,2}(?:answer|response|choice|option|look|reading|comparison)"
    rf"{LABEL_END}"
)
_BRACKETS: Final = re.compile(r"\[\[([^\[\]\n]{0,80})(\]\]|\]?[ \n]?\Z)")
_NUMBER: Final = re.compile(r"([0-9]{1,9}(?:[.,][0-9]{1,9})?|\.[0-9]{1,9})(?![0-9]|[.,][0-9])")
_DENOMINATOR: Final = re.compile(r"[\])]{0,2} ?(?:/|out of) ?([0-9]{0,9}(?:[.,]0{1,9})?)")
DASH: Final = "[-\u2010-\u2015\u2212~]"
_SUM: Final = r" ?(?:[0-9.]{1,9} ?)?[+=\u00d7\u00f7] ?[0-9]"  # 5 is not the score: "5 + 2 = 7"
_NOT_A_SCORE: Final = re.compile(
    rf"[\w%/\u2044{ACCENTS}]| ?%| ?(?:{DASH}|\.\.\.?|to |or |and ) ?[0-9]|{_SUM}"
)
_SECOND_SCORE: Final = re.compile(
    rf"[\w%/\u2044{ACCENTS}]| ?%| ?(?:{DASH}|to |or |and ) ?[0-9]{{1,9}}(?:[.,][0-9]{{1,9}})? ?/"
    rf"|{_SUM}"
)


@dataclass(frozen=True, slots=True)
class MarkerMatch:
    """Result of reading a reply: the verdict and its span in the text, or the reason why there is
    no verdict."""

    verdict: Verdict | None = None
    reason: str = NO_MARKER
    span: tuple[int, int] | None = None
    rule: str = "last-marker"
    parts: tuple[tuple[int, float], ...] = ()
    """Scores that were read although others are missing, as (index in the verdict's scores, score);
    empty if a stated score cannot be read."""


ReplyReader = Callable[[CleanedReply, int], MarkerMatch]
"""Function of a cleaned reply and the number of options that returns the verdict in the reply."""
MarkerReader = Callable[[CleanedReply, re.Match[str], int], MarkerMatch]
READERS: Final[dict[tuple[str, str], ReplyReader]] = {}
"""(verdict format, reading rule) -> reader. A rule without a reader of its own reads by the rule
"default"."""


def register_reply_reader(
    format: str, rule: str = "default"
) -> Callable[[ReplyReader], ReplyReader]:
    """Return a decorator that registers a function as the reader of a verdict format by a rule."""

    def register(reader: ReplyReader) -> ReplyReader:
        READERS[format, rule] = reader
        return reader

    return register


def register_marker_reader(
    format: str, pattern: re.Pattern[str]
) -> Callable[[MarkerReader], MarkerReader]:
    """Return a decorator that registers a function as the reader of a verdict format. The function
    is called with the cleaned reply, the last match of `pattern` in it, and the number of options.
    A reply without a match has no verdict."""

    def register(reader: MarkerReader) -> MarkerReader:
        def read(text: CleanedReply, n_options: int) -> MarkerMatch:
            found = last_match(pattern, text.lower)
            return MarkerMatch() if found is None else reader(text, found, n_options)

        READERS[format, "default"] = read
        return reader

    return register


def last_match(
    pattern: re.Pattern[str], text: str, start: int = 0, end: int | None = None
) -> re.Match[str] | None:
    """Return the last match of a pattern between the indices `start` and `end`, None if there is
    none, in time linear in the length of the text."""
    return next(
        iter(deque(pattern.finditer(text, start, len(text) if end is None else end), 1)), None
    )


def label_at(text: CleanedReply, position: int) -> tuple[str, int] | None:
    """Return (label in lower case, index after it) for the label that starts at `position`. None if
    there is no label, or if the text does not choose it: "A or B", "a tie", "A is worse"."""
    match = _LABEL_LETTER.match(text.lower, position)
    if match is None or _ALTERNATIVE_WORD.match(text.lower, match.end()):
        return None
    if match[1] == "a" and _TIE_AFTER_ARTICLE.match(text.lower, match.end()):
        return None
    if match[1] == "a" and _ARTICLE_BEFORE_ANSWER.match(text.lower, match.end()):
        return None
    if _LABEL_REJECTED.match(text.lower, match.end()):
        return None
    rival = _ALTERNATIVE_LABEL.match(text.text, match.end())
    if rival and rival[1].lower() != match[1]:
        return None
    return match[1], match.end()


@dataclass(frozen=True, slots=True)
class Brackets:
    """Content and span of `[[content]]` in a reply.

    The content is None in two cases: the reply ends before the closing brackets, or one sentence
    contains two different values in brackets without choosing between them ("[[A]] or [[B]]").
    """

    content: str | None
    span: tuple[int, int]


def last_brackets(text: str, start: int = 0, end: int | None = None) -> Brackets | None:
    """Return the last `[[…]]` between the indices `start` and `end` of a reply (`text`, in lower
    case); None if there is none. If a sentence compares the last two ("[[a]] is better than
    [[b]]"), the preferred one is returned."""
    two = deque(_BRACKETS.finditer(text, start, len(text) if end is None else end), 2)
    if not two:
        return None
    match = two[-1]
    if len(two) == 2 and len({found[1].replace(" ", "") for found in two}) == 2:
        first = prefers_first_label(text[two[0].end() : match.start()])
        if first is None:
            return Brackets(None, match.span())
        if first:
            return Brackets(two[0][1], two[0].span())
    return Brackets(match[1] if match[2] == "]]" else None, match.span())


def score_at(text: str, position: int, highest: int) -> tuple[float, int] | None:
    """Return (score, index after it) for the score that starts at `position`: "8" or, if `highest`
    is 10, "8/10". None if there is no number, or if it is a range, has another denominator or is
    another kind of number (80 %, 8th). The score is not compared with `highest`."""
    number = _NUMBER.match(text, position)
    if number is None:
        return None
    end = number.end()
    denominator = _DENOMINATOR.match(text, end)
    if denominator and re.split("[.,]", denominator[1])[0] != str(highest):
        return None
    end = denominator.end() if denominator else end
    if (_SECOND_SCORE if denominator else _NOT_A_SCORE).match(text, end):
        return None
    return float(number[1].replace(",", ".")), end


def find_json_values(text: str, key: str) -> list[list[object]]:
    """Find all JSON objects in a text that have the key `key` (given in lower case, found in any
    case). Return for each object the list of the key's values, which are several if the object
    repeats the key; the objects are in the order in which they end.

    Nested objects are found too, even if the object around them is malformed further on."""
    found: list[list[object]] = []

    def keep_values_of_key(pairs: list[tuple[str, object]]) -> None:
        values = [value for name, value in pairs if name.lower() == key]
        if values:
            found.append(values)

    def reject_constant(name: str) -> NoReturn:
        raise ValueError(f"{name} is not JSON")

    decoder = json.JSONDecoder(
        object_pairs_hook=keep_values_of_key, parse_int=str, parse_constant=reject_constant
    )
    start = _OBJECT_START.search(text) if f'"{key}"' in text.lower() else None
    while start:
        start = _OBJECT_START.search(
            text, start.start() + _advance_past_object(decoder, text, start.start())
        )
    return found


_OBJECT_START: Final = re.compile(r'\{[ \n]{0,99}"')
_MAX_OBJECT_LENGTH: Final = 65_536
_SHORT_PART_LENGTH: Final = 500
"""If a possible JSON object proves invalid within this many characters, it is given up, so that the
long rest of a reply is not copied and parsed for every brace in it."""


def _advance_past_object(decoder: json.JSONDecoder, text: str, start: int) -> int:
    """Parse the JSON object at index `start`, if there is a valid one (its values are noted by
    `decoder`); return by how many characters to move on to search for the next object."""
    try:
        return decoder.raw_decode(text[start : start + 2 * _SHORT_PART_LENGTH])[1]
    except json.JSONDecodeError as failure:
        if failure.pos <= _SHORT_PART_LENGTH and not failure.msg.startswith("Unterminated"):
            return 1
    except (RecursionError, ValueError):
        pass  # try the long part
    try:
        return decoder.raw_decode(text[start : start + _MAX_OBJECT_LENGTH])[1]
    except json.JSONDecodeError as failure:
        # The brace may be part of prose, so continue at the next one; a long part is never
        # parsed twice.
        return failure.pos if failure.pos > _SHORT_PART_LENGTH else 1
    except RecursionError:
        return len(text)
    except ValueError:
        return 1
