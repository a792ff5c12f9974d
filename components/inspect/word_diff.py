"""Which words only one of two answers has: a longest common subsequence of words."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from components.html.format import escape

MIN_SHARED_WORDS: Final = 0.25
"""Below, nearly everything would be marked: the marks are left off, and the page says so."""
MAX_WORDS: Final = 6000
_SPACE: Final = re.compile(r"(\s+)")


@dataclass(frozen=True, slots=True)
class WordDifference:
    """Two texts as HTML; `shared` is None where they are too long to compare."""

    first: str
    second: str
    words: tuple[int, int]
    shared: float | None
    marked: bool


def word_difference(first: str, second: str) -> WordDifference:
    """Both texts, with words that only one of them has inside <mark>, unless they share too few."""
    a, b = first.split(), second.split()
    words = (len(a), len(b))
    if max(words) > MAX_WORDS or not (a and b):
        shared = None if max(words) > MAX_WORDS else 0.0
        return WordDifference(escape(first), escape(second), words, shared, False)
    kept_a, kept_b = common_words(a, b)
    shared = 2 * sum(kept_a) / (len(a) + len(b))
    if shared < MIN_SHARED_WORDS:
        return WordDifference(escape(first), escape(second), words, shared, False)
    return WordDifference(
        _mark_unshared(first, kept_a), _mark_unshared(second, kept_b), words, shared, True
    )


def common_words(a: Sequence[str], b: Sequence[str]) -> tuple[list[bool], list[bool]]:
    """Which words of each belong to a longest common subsequence.

    Bit-parallel (Hyyrö, 2004): the rows of the table are whole numbers, so that two answers of
    thousands of words take milliseconds.
    """
    rows = _lcs_rows(a, b)
    kept_a, kept_b = [False] * len(a), [False] * len(b)
    i, j = len(a), len(b)
    while i and j:
        if a[i - 1] == b[j - 1]:
            i, j = i - 1, j - 1
            kept_a[i] = kept_b[j] = True
        elif rows[i - 1] >> (j - 1) & 1:
            j -= 1
        else:
            i -= 1
    return kept_a, kept_b


def _lcs_rows(a: Sequence[str], b: Sequence[str]) -> list[int]:
    """Row i holds a 0 bit at j where b[j] lengthens the subsequence common to a[:i + 1]."""
    places: dict[str, int] = {}
    for j, word in enumerate(b):
        places[word] = places.get(word, 0) | 1 << j
    full = (1 << len(b)) - 1
    row, rows = full, []
    for word in a:
        match = row & places.get(word, 0)
        row = ((row + match) | (row - match)) & full
        rows.append(row)
    return rows


def _mark_unshared(text: str, kept: Sequence[bool]) -> str:
    """Runs of unkept words in one mark, which never spans a line break."""
    parts = _SPACE.split(text)
    flags = iter(kept)
    only = [bool(part) and not part.isspace() and not next(flags) for part in parts]
    out, inside = [], False
    for place, part in enumerate(parts):
        bridge = part.isspace() and "\n" not in part and inside and any(only[place + 1 : place + 2])
        if (only[place] or bridge) != inside:
            inside = not inside
            out.append("<mark>" if inside else "</mark>")
        out.append(escape(part))
    return "".join(out) + ("</mark>" if inside else "")
