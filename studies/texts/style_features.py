"""Style of an answer: the numbers of its words, headings, list items and bold passages."""

import re
from collections.abc import Iterable, Mapping
from typing import Final

from studies.domain import REFERENCE, Item

STYLE_FEATURES: Final = ("length", "headings", "lists", "bold")
Styles = Mapping[str, Mapping[str, tuple[int, ...]]]
"""Item -> contestant -> number of words, headings, list items and bold passages."""

_FENCED: Final = re.compile(r"^```.*?^```[^\n]*$", re.MULTILINE | re.DOTALL)
_HEADING: Final = re.compile(r"^#{1,6} ", re.MULTILINE)
_LISTED: Final = re.compile(r"^[ \t]{0,12}(?:[-*+]|\d{1,3}[.)]) ", re.MULTILINE)
_BOLD: Final = re.compile(r"\*\*[^*\n]+\*\*|__[^_\n]+__")


def count_style_marks(text: str) -> tuple[int, ...]:
    """Return the numbers of words, headings, list items and bold passages of a Markdown text. In
    code blocks, only words are counted."""
    prose = _FENCED.sub("", text) if "```" in text else text
    marks = (_HEADING, _LISTED, _BOLD)
    return (len(text.split()), *(len(pattern.findall(prose)) for pattern in marks))


def count_style_marks_by_answer(items: Iterable[Item]) -> dict[str, dict[str, tuple[int, ...]]]:
    """Return item -> contestant -> numbers of words, headings, list items and bold passages, for
    every answer that is not empty."""
    found = {}
    for item in items:
        texts = {**item.responses, **({REFERENCE: item.reference} if item.reference else {})}
        found[item.id] = {name: count_style_marks(text) for name, text in texts.items() if text}
    return found
