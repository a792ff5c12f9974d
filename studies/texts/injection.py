"""Injection suspects: answers and instructions that speak to the judge.

Nothing is mended and nothing is left out by itself: a suspect is flagged, counted, shown, and the
numbers can be read with and without it. A flag is no verdict: an answer that explains what a
prompt injection is may carry one.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from studies.domain import REFERENCE, Item
from studies.texts.injection_rules import INJECTION_RULES

INSTRUCTION: Final = "@instruction"
"""Where a suspect stands in the question; whatever is shown with it is under suspicion."""
MAX_SPANS: Final = 20
"""Of one text: one would do to flag it, some more are marked on the page."""
_MIN_ECHO_CHARS: Final = 12
_INVISIBLE: Final = re.compile(
    "[\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e"
    "\u2060-\u2064\u2066-\u206f\ufe00-\ufe0f\ufeff\U000e0000-\U000e007f]"
)
"""Characters that have no width: words are taken apart with them to hide from a search."""
_FULL_WIDTH: Final = {wide: wide - 0xFEE0 for wide in range(0xFF01, 0xFF5F)} | {
    0x3000: 0x20,
    0xA0: 0x20,
}


@dataclass(frozen=True, slots=True)
class SuspectSpan:
    """A suspicious piece of a text, and the rules that found it."""

    start: int
    end: int
    rules: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class InjectionSuspect:
    """A text of an item that speaks to the judge: whose answer it is, and where it does."""

    item: str
    where: str
    """A contestant, `@reference`, or `@instruction`."""
    rules: tuple[str, ...]
    quote: str


RULE_DESCRIPTIONS: Final[Mapping[str, str]] = {
    rule.name: rule.description for rule in INJECTION_RULES
}


def find_spans(text: str) -> tuple[SuspectSpan, ...]:
    """What is suspicious in a text, from its start to its end; pieces that overlap are one."""
    folded, places = _fold_text(text)
    found = sorted(
        (match.start(), match.end(), rule.name)
        for rule in INJECTION_RULES
        if any(word in folded for word in rule.words)
        for match, _ in zip(rule.pattern.finditer(folded), range(MAX_SPANS), strict=False)
    )
    apart: list[SuspectSpan] = []
    for start, end, name in found:
        start, end = _trim_span(folded, start, end)
        if places is not None:
            start, end = places[start], places[end - 1] + 1
        if apart and start < apart[-1].end:
            start, end = apart[-1].start, max(end, apart[-1].end)
            names = dict.fromkeys((*apart.pop().rules, name))
            apart.append(SuspectSpan(start, end, tuple(names)))
        else:
            apart.append(SuspectSpan(start, end, (name,)))
    return tuple(apart[:MAX_SPANS])


def is_suspect(text: str) -> bool:
    folded, _ = _fold_text(text)
    return any(
        rule.pattern.search(folded)
        for rule in INJECTION_RULES
        if any(word in folded for word in rule.words)
    )


def find_suspects(item: Item) -> list[InjectionSuspect]:
    """The suspicious texts of an item, the instruction first."""
    texts = {INSTRUCTION: item.instruction, **item.responses, REFERENCE: item.reference}
    return [
        InjectionSuspect(item.id, where, _rule_names(found), _quote_span(text, found[0]))
        for where, text in texts.items()
        if text and (found := find_spans(text))
    ]


def _rule_names(found: Sequence[SuspectSpan]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(rule for span in found for rule in span.rules))


def suspect_places(item: Item) -> list[str]:
    """Where in an item a suspect stands: what the store keeps beside an item."""
    texts = {INSTRUCTION: item.instruction, **item.responses, REFERENCE: item.reference}
    return [where for where, text in texts.items() if text and is_suspect(text)]


def find_all_suspects(items: Iterable[Item]) -> list[InjectionSuspect]:
    return [suspect for item in items for suspect in find_suspects(item)]


def find_echoes(reply: str, texts: Sequence[str]) -> tuple[tuple[int, int], ...]:
    """Where a reply repeats suspicious pieces of the texts it was shown.

    A marker alone (`[[A]]`) is what every reply ends with, so a piece counts only with the words
    around it: the line it stands on.
    """
    lower = reply.lower()
    found = set()
    for text in texts:
        for span in find_spans(text):
            line = _line_around(text, span).lower()
            at = lower.find(line) if len(line) >= _MIN_ECHO_CHARS else -1
            if at >= 0:
                found.add((at, at + len(line)))
    return tuple(sorted(found))


def _fold_text(text: str) -> tuple[str, Sequence[int] | None]:
    """Lower case, wide letters made narrow, unseen characters gone; and where each one stood."""
    if text.isascii():
        return text.lower(), None
    plain = text.translate(_FULL_WIDTH)
    lower = plain.lower()
    if len(lower) != len(plain):  # İ is two characters in lower case
        lower = "".join(c.lower() if len(c.lower()) == 1 else c for c in plain)
    if not _INVISIBLE.search(lower):
        return lower, None
    places = [place for place, c in enumerate(lower) if not _INVISIBLE.match(c)]
    return "".join(lower[place] for place in places), places


def _trim_span(text: str, start: int, end: int) -> tuple[int, int]:
    """Without the line breaks and full stops that only told where a sentence begins."""
    piece = text[start:end]
    left = len(piece) - len(piece.lstrip(" \t\n.!?:;>*#-"))
    return start + left, end - (len(piece) - len(piece.rstrip(" \t\n")))


_QUOTE_CONTEXT_CHARS: Final = 60


def _quote_span(text: str, span: SuspectSpan) -> str:
    """A suspicious piece with a little of what stands around it, on one line."""
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
