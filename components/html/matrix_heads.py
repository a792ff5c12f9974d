"""Column heads of a matrix: line breaks inside long names, and upright heads on a phone."""

from __future__ import annotations

import re
from collections.abc import Container, Sequence
from dataclasses import dataclass
from typing import Final

from components.html.markup import Markup, escape, fill

_PHONE_HEADS: Final = 200
"""Pixels beside the row names that a phone has for all column heads of a matrix."""
_HEAD_CHARACTER: Final = 6.4
"""Width in pixels of a character of a column head."""
_SOFT_HYPHEN, _ZERO_WIDTH_SPACE = "\u00ad", "\u200b"
_SYLLABLE_BREAK: Final = re.compile(
    r"(?<=[aeiouy][^\Waeiouy])(?=[^\Waeiouy][aeiouy]\w{2,})", re.IGNORECASE
)
"""Place for a line break in a word: between two consonants with a vowel on each side, if at least
four letters follow."""
_LETTERS: Final = re.compile(r"[^\W\d_]+")
_UNBROKEN: Final = re.compile(rf"[^\s{_SOFT_HYPHEN}/_-]{{12}}(?=[^\s{_SOFT_HYPHEN}/_-])")
_BREAKS: Final = re.compile(rf"[-_/]|{_ZERO_WIDTH_SPACE}")


@dataclass(frozen=True, slots=True)
class MatrixColumn:
    """A column of the matrix: its name and a note below it, usually the number of items."""

    name: str
    note: str = ""


def total_name(names: Container[str]) -> str:
    """Name of the total beside columns or rows of these names: "All", or a longer name if one of
    them is named so."""
    name = "All"
    while name in names:
        name += " (total)"
    return name


def needs_upright_heads(names: Sequence[str]) -> bool:
    """Whether the column heads do not fit on a phone if no word is broken, so that each column is
    as wide as the longest word of all heads. Such heads are then written upwards."""
    parts = (part for name in names for part in re.split(r"[\s_/-]", name))
    longest = max((len(part) for part in parts), default=0)
    return _HEAD_CHARACTER * longest * len(names) > _PHONE_HEADS


def head_html(column: MatrixColumn, bold: bool = False, upright: bool = False) -> Markup:
    name = name_html(column.name, bold)
    name = fill("<span>{}</span>", name) if upright else name
    note = fill("<small>{}</small>", column.note) if column.note else ""
    return fill('<th scope="col">{}{}</th>', name, note)


def name_html(name: str, bold: bool) -> Markup:
    return fill("<b>{}</b>", break_name(name)) if bold else break_name(name)


def break_name(name: str) -> Markup:
    """HTML of a name that may break after - _ / and inside long words, between syllables where
    possible."""
    long = 10 if " " in name else 9  # a name with spaces breaks at a space first
    out = _LETTERS.sub(
        lambda word: (
            _SYLLABLE_BREAK.sub(_SOFT_HYPHEN, word[0]) if len(word[0]) >= long else word[0]
        ),
        name,
    )
    out = _UNBROKEN.sub(rf"\g<0>{_ZERO_WIDTH_SPACE}", out)
    out = _BREAKS.sub(lambda m: m.group().strip(_ZERO_WIDTH_SPACE) + _ZERO_WIDTH_SPACE, out)
    return escape(out).replace(_ZERO_WIDTH_SPACE, Markup("<wbr>"))
