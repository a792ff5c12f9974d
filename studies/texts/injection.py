"""Find suspected prompt injections: questions and answers that contain instructions to the judge.

A suspect is flagged, counted and shown, and results can be computed with and without it; no text is
changed and no item is excluded automatically. A flag is not proof: an answer that explains prompt
injections may be flagged too.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from studies.domain import REFERENCE, REPEATED_META, Item
from studies.texts.injection_rules import INJECTION_RULES, InjectionRule
from studies.texts.nfkc import NFKC_RUN, normalise_nfkc

INSTRUCTION: Final = "@instruction"
"""Location name of a suspect in the question; such a suspect affects every comparison of the
item."""
MAX_SPANS: Final = 20
"""Maximum number of suspicious spans reported per text; further spans are dropped. One span is
enough to flag the text, the others are only highlighted."""
_MIN_ECHO_CHARS: Final = 12
"""Minimum length of a suspicious line whose repetition in a reply counts as an echo."""
_INVISIBLE: Final = (
    "\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e"
    "\u2060-\u2064\u2066-\u206f\ufe00-\ufe0f\ufeff\U000e0000-\U000e007f"
)
"""Zero-width characters, which inside a word hide the word from a search."""
_TO_FOLD: Final = re.compile(rf"[{_INVISIBLE}]+|\s{{2,}}|{NFKC_RUN}")
_INVISIBLE_RUN: Final = re.compile(f"[{_INVISIBLE}]+")


@dataclass(frozen=True, slots=True)
class SuspectSpan:
    """A passage of a text that matches injection rules."""

    start: int
    end: int
    rules: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class InjectionSuspect:
    """A text of an item that is suspected to be a prompt injection: it matches injection rules, or
    its contestant gives the same text as the answer to other questions."""

    item: str
    where: str
    """Location of the text: a contestant's name, `@reference`, or `@instruction`."""
    rules: tuple[str, ...]
    quote: str


REPEATED_RULE: Final = "repeated"
"""Name of the rule for an answer that a contestant gives to several different questions
(studies/texts/repeated_answers.py)."""

RULE_DESCRIPTIONS: Final[Mapping[str, str]] = {
    **{rule.name: rule.description for rule in INJECTION_RULES},
    REPEATED_RULE: "gives the same answer to different questions",
}


def find_suspect_spans(text: str) -> tuple[SuspectSpan, ...]:
    """Return the suspicious passages of a text in their order, at most MAX_SPANS. Passages that
    overlap are merged into one."""
    folded = _normalise_text(text)
    found = sorted(
        (match.start(), match.end(), rule.name)
        for rule in _find_triggered_rules(folded)
        for match, _ in zip(rule.pattern.finditer(folded), range(MAX_SPANS), strict=False)
    )
    merged: list[SuspectSpan] = []
    places = _original_indexes(text) if found else []
    for start, end, name in found:
        # Start and end of a span without surrounding white space and leading punctuation.
        piece = folded[start:end]
        left = len(piece) - len(piece.lstrip(" \t\n.!?:;>*#-"))
        start, end = start + left, end - (len(piece) - len(piece.rstrip(" \t\n")))
        start, end = places[start], places[end - 1] + 1
        if merged and start < merged[-1].end:
            start, end = merged[-1].start, max(end, merged[-1].end)
            names = dict.fromkeys((*merged.pop().rules, name))
            merged.append(SuspectSpan(start, end, tuple(names)))
        else:
            merged.append(SuspectSpan(start, end, (name,)))
    return tuple(merged[:MAX_SPANS])


def is_suspect(text: str) -> bool:
    folded = _normalise_text(text)
    return any(rule.pattern.search(folded) for rule in _find_triggered_rules(folded))


def _find_triggered_rules(normalised: str) -> Iterator[InjectionRule]:
    """Yield the rules that may match a text: the rules with a trigger word or phrase that occurs in
    it, also across a line break. `normalised` is the text as returned by `_normalise_text`."""
    line = normalised.replace("\n", " ")
    return (rule for rule in INJECTION_RULES if any(word in line for word in rule.words))


def find_suspects(item: Item) -> list[InjectionSuspect]:
    """Find the suspicious texts of an item, the instruction first."""
    texts = {INSTRUCTION: item.instruction, **item.responses, REFERENCE: item.reference}
    repeated = _contestants_with_repeated_answer(item)
    suspects = []
    for where, text in texts.items():
        found = find_suspect_spans(text) if text else ()
        rules = tuple(dict.fromkeys(rule for span in found for rule in span.rules))
        if where in repeated:
            rules += (REPEATED_RULE,)
        if rules:
            quote = _quote_span(text, found[0]) if found else _shorten_line(text)
            suspects.append(InjectionSuspect(item.id, where, rules, quote))
    return suspects


def _contestants_with_repeated_answer(item: Item) -> frozenset[str]:
    """Return the contestants that give the same answer, word for word, to several questions.

    They were recorded in the item when its source was read (studies/texts/repeated_answers.py).
    """
    return frozenset(item.meta.get(REPEATED_META, "").split("\n")) & item.responses.keys()


def _shorten_line(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= _QUOTE_LENGTH else line[: _QUOTE_LENGTH - 1] + "\u2026"


def list_suspect_places(item: Item) -> list[str]:
    """List which texts of an item are suspicious: INSTRUCTION stands for the question, REFERENCE
    for the reference answer, the name of a contestant for its answer. The store saves this list
    with the item."""
    texts = {INSTRUCTION: item.instruction, **item.responses, REFERENCE: item.reference}
    repeated = _contestants_with_repeated_answer(item)
    return [
        where for where, text in texts.items() if text and (where in repeated or is_suspect(text))
    ]


def find_all_suspects(items: Iterable[Item]) -> list[InjectionSuspect]:
    return [suspect for item in items for suspect in find_suspects(item)]


def find_echoed_spans(reply: str, texts: Sequence[str]) -> tuple[tuple[int, int], ...]:
    """Return the passages, as (start, end) in `reply`, in which a judge's reply repeats suspicious
    passages of `texts`, which the judge was shown.

    A verdict marker alone (`[[A]]`) occurs in every reply. Therefore a passage counts only if
    the whole line around it is repeated."""
    lower = _lower_text(reply)
    found = set()
    for text in texts:
        for span in find_suspect_spans(text):
            line = _lower_text(_line_around(text, span))
            at = lower.find(line) if len(line) >= _MIN_ECHO_CHARS else -1
            if at >= 0:
                found.add((at, at + len(line)))
    return tuple(sorted(found))


def _normalise_text(text: str) -> str:
    """Return a text in the form that rules are matched with: in lower case, with letters of other
    styles (full-width, mathematical bold) made plain, without zero-width characters, and with
    one space or line break for each run of white space. An empty line before "Human:" is kept."""
    return _TO_FOLD.sub(_normalise_match, _lower_text(text))


def _normalise_match(match: re.Match[str]) -> str:
    """Return what replaces one match of the pattern `_TO_FOLD` in `_normalise_text`: white space
    is shortened, other characters are made plain."""
    piece = match[0]
    if piece.isspace() and piece.count("\n") < 2:
        return "\n" if "\n" in piece else " "
    if piece.isspace():  # an empty line before "Human:" marks the turn of a user
        following = match.string[match.end() : match.end() + len("human")]
        return "\n\n" if normalise_nfkc(following).lower() == "human" else "\n"
    return _INVISIBLE_RUN.sub("", normalise_nfkc(piece)).lower()


def _lower_text(text: str) -> str:
    """Return a text in lower case, with the same length. A character such as "İ", which would
    become two characters, is kept as it is."""
    lower = text.lower()
    if len(lower) == len(text):
        return lower
    return "".join(c.lower() if len(c.lower()) == 1 else c for c in text)


def _original_indexes(text: str) -> list[int]:
    """Return, for each character of the normalised text (see `_normalise_text`), its index in the
    original `text`."""
    places: list[int] = []
    end = 0
    lower = _lower_text(text)
    for match in _TO_FOLD.finditer(lower):
        places += range(end, match.start())
        size, last = len(_normalise_match(match)), match.end() - 1
        places += [min(match.start() + k, last) for k in range(size)]
        end = match.end()
    return [*places, *range(end, len(text))]


_QUOTE_CONTEXT_CHARS: Final = 60
_QUOTE_LENGTH: Final = 120


def _quote_span(text: str, span: SuspectSpan) -> str:
    """Quote a suspicious span with some context, on one line."""
    before, after = (
        max(span.start - _QUOTE_CONTEXT_CHARS, 0),
        min(span.end + _QUOTE_CONTEXT_CHARS, len(text)),
    )
    cut = " ".join(text[before:after].split())
    return ("\u2026" if before else "") + cut + ("\u2026" if after < len(text) else "")


def _line_around(text: str, span: SuspectSpan) -> str:
    start = text.rfind("\n", 0, span.start) + 1
    end = text.find("\n", span.end)
    return text[start : len(text) if end < 0 else end].strip()[:400]
