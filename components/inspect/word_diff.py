"""Difference of two answers word by word, by the longest common subsequence of words."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from components.html.markup import Markup, escape, join

MIN_SHARED_WORDS: Final = 0.25
"""Minimum share of common words for differences to be marked; below, nearly all words would be."""
MAX_WORDS: Final = 6000
_SPACE: Final = re.compile(r"(\s+)")


@dataclass(frozen=True, slots=True)
class WordDifference:
    """Two texts as HTML. `shared`: share of words, from 0 to 1, in their longest common
    subsequence; None if a text is too long to compare. `marked`: whether the other words are
    marked."""

    first: Markup
    second: Markup
    shared: float | None
    marked: bool


def word_difference(first: str, second: str) -> WordDifference:
    """Mark the words of two texts that are not in their longest common subsequence of words; if the
    texts share too few words or are too long, mark none."""
    a, b = first.split(), second.split()
    longest = max(len(a), len(b))
    if longest > MAX_WORDS or not (a and b):
        shared = None if longest > MAX_WORDS else 0.0
        return WordDifference(escape(first), escape(second), shared, False)
    shared_a, shared_b = common_word_flags(a, b)
    shared = 2 * sum(shared_a) / (len(a) + len(b))
    if shared < MIN_SHARED_WORDS:
        return WordDifference(escape(first), escape(second), shared, False)
    return WordDifference(
        _mark_unshared(first, shared_a), _mark_unshared(second, shared_b), shared, True
    )


def common_word_flags(a: Sequence[str], b: Sequence[str]) -> tuple[list[bool], list[bool]]:
    """For each word of `a`, and for each word of `b`, whether it is part of their longest common
    subsequence. The algorithm of Hyyrö (2004) takes milliseconds for thousands of words."""
    rows = _common_subsequence_rows(a, b)
    shared_a, shared_b = [False] * len(a), [False] * len(b)
    i, j = len(a), len(b)
    while i and j:
        if a[i - 1] == b[j - 1]:
            i, j = i - 1, j - 1
            shared_a[i] = shared_b[j] = True
        elif rows[i - 1] >> (j - 1) & 1:
            j -= 1
        else:
            i -= 1
    return shared_a, shared_b


def _common_subsequence_rows(a: Sequence[str], b: Sequence[str]) -> list[int]:
    """Table of the longest common subsequence, one integer for each word of `a`. Bit j of row i is
    0 if `b[j]` makes the longest common subsequence of `a[:i + 1]` and `b[:j]` longer."""
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


def _mark_unshared(text: str, shared: Sequence[bool]) -> Markup:
    """HTML with each run of unshared words inside one <mark>, which never spans a line break."""
    parts = _SPACE.split(text)
    flags = iter(shared)
    only = [bool(part) and not part.isspace() and not next(flags) for part in parts]
    out, inside = [], False
    for place, part in enumerate(parts):
        bridge = part.isspace() and "\n" not in part and inside and any(only[place + 1 : place + 2])
        if (only[place] or bridge) != inside:
            inside = not inside
            out.append(Markup("<mark>") if inside else Markup("</mark>"))
        out.append(escape(part))
    return join(out) + (Markup("</mark>") if inside else "")
