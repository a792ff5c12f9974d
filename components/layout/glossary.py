"""The terms of docs/GLOSSARY.md, and their marks in the labels of the page.

A marked term is a button; assets/page.js shows its definition on hover, focus and tap. The
definitions are sent once, in the head of the page.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Final

from components.html.markup import Markup, fill, join
from studies.texts.counts import plural

GLOSSARY: Final = Path(__file__).resolve().parents[2] / "docs" / "GLOSSARY.md"
UNMARKED: Final = frozenset({
    "accuracy", "answer", "attempt", "ballot", "call", "case", "cell", "chance", "comparison",
    "decisive", "family", "frame", "item", "judge", "key of a call", "label",
    "label of an answer", "lease", "live call", "look", "margin", "model", "options of a verdict",
    "order", "origin", "owner", "pilot", "plan", "position", "preset", "prompt", "repeat",
    "reply", "run", "share link", "slice", "space", "store", "study", "swap", "verdict",
    "verdict on one answer", "visitor", "voter",
})  # fmt: skip
"""Glossary terms that are not marked in labels, because the page also uses the word otherwise."""
_ENTRY: Final = re.compile(r"\*\*(.+?)\*\*([^*]*(?:\*(?!\*)[^*]*)*)")
_ASIDE: Final = re.compile(r"^ \((?:also \*(?P<also>[^*]+)\*|[^)]*)\)")
_FOR_CODE: Final = re.compile(r" In code,[^.]*\.")
_LABEL: Final = re.compile(
    r'(?:<h2[^>]*>|(?<=</h[12]>)<p[^>]*>|<dt[^>]*>|<dd class="n">|<th[^>]* scope="col"[^>]*>)'
    r"(?P<text>.*?)</(?:h2|p|dt|dd|th)>",
    re.DOTALL,
)
_PIECE: Final = re.compile(r"<(?P<end>/?)(?P<name>\w+)[^>]*>|[^<]+")
_INTERACTIVE: Final = ("button", "a", "summary", "label", "code")


@dataclass(frozen=True, slots=True)
class Term:
    """A glossary term with its definition and its synonym `also`."""

    name: str
    definition: str
    also: str = ""

    @property
    def key(self) -> str:
        return self.name.lower()

    @property
    def spellings(self) -> tuple[str, ...]:
        """Spellings of the term and its synonym in lower case: "κ (kappa)" gives κ and kappa."""
        short, _, long = self.name.partition(" (")
        return tuple(word.lower() for word in (short, long.rstrip(")"), self.also) if word)


def parse_glossary(text: str) -> tuple[Term, ...]:
    """Terms of a glossary in Markdown, in the order of the file."""
    bullets = [
        " ".join(part.split())
        for block in re.split(r"\n(?=#|\n)", text)
        for part in re.split(r"^- ", block, flags=re.MULTILINE)[1:]
    ]
    return tuple(term for bullet in bullets for term in _parse_terms(bullet))


def _parse_terms(bullet: str) -> Iterator[Term]:
    for name, rest in _ENTRY.findall(bullet):
        aside = _ASIDE.match(rest)
        body = rest[aside.end() :] if aside else rest
        words = _FOR_CODE.sub("", body).lstrip(":, ").strip().replace("*", "").replace("`", "")
        yield Term(name, words[:1].upper() + words[1:], (aside and aside["also"]) or "")


@cache
def glossary() -> tuple[Term, ...]:
    return parse_glossary(GLOSSARY.read_text(encoding="utf-8"))


@cache
def _spellings_and_pattern() -> tuple[Mapping[str, str], re.Pattern[str]]:
    """Two values for finding terms in a text: spelling (singular or plural, in lower case) -> key
    of its term, and a pattern that matches any of these spellings as a whole word."""
    keys = {
        spelling: term.key
        for term in glossary()
        if term.key not in UNMARKED
        for word in term.spellings
        for spelling in (word, plural(word))
    }
    longest_first = sorted(keys, key=len, reverse=True)
    words = "|".join(map(re.escape, longest_first))
    return keys, re.compile(rf"(?:^|(?<=[^\w&#-]))({words})(?![\w;-])", re.IGNORECASE)


def mark_terms(html: Markup) -> Markup:
    """Mark the first occurrence of each term in the labels of a panel: titles, subtitles, column
    heads, key figures. Text in buttons and links is not marked, since a mark is a button."""
    parts, at, seen = [], 0, set[str]()
    for label in _LABEL.finditer(html):
        start, end = label.span("text")
        parts += [html[at:start], *_mark_terms_in_label(html[start:end], seen)]
        at = end
    return join([*parts, html[at:]]) if parts else html


def _mark_terms_in_label(html: Markup, seen: set[str]) -> Iterator[Markup]:
    inside = 0
    for piece in _PIECE.finditer(html):
        part = html[piece.start() : piece.end()]
        if piece["name"] in _INTERACTIVE:
            inside += -1 if piece["end"] else 1
        if piece["name"] or inside:
            yield part
        else:
            yield from _mark_terms_in_text(part, seen)


def _mark_terms_in_text(text: Markup, seen: set[str]) -> Iterator[Markup]:
    keys, pattern = _spellings_and_pattern()
    at = 0
    for found in pattern.finditer(text):
        key = keys[found[0].lower()]
        if key in seen:
            continue
        seen.add(key)
        word = text[found.start() : found.end()]
        yield text[at : found.start()]
        yield fill('<button type="button" class="eh-term" data-term="{}">{}</button>', key, word)
        at = found.end()
    yield text[at:]


def glossary_data() -> Sequence[Any]:
    """Name and definition of each term, for the script of the page."""
    return [
        [term.name, f"{term.definition} Also: {term.also}." if term.also else term.definition]
        for term in glossary()
    ]
