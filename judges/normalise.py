"""What is done to a reply before its verdict is read, and the way back to where it stood.

Each step replaces the matches of one pattern, so one table serves reading (fast, no record) and
boxing the verdict on the page (each edit remembered). Every step takes linear time.
"""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_right
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

Step = tuple[re.Pattern[str], str | Callable[[re.Match[str]], str]]
Edit = tuple[int, int, str]
"""Text from start to end became this."""


@dataclass(frozen=True, slots=True)
class Clean:
    """A reply ready to be read. In `lower` only A-Z are lowered, so offsets agree."""

    text: str
    lower: str
    truncated: bool


def clean(reply: str, *, emphasis: bool = True) -> Clean:
    """The reply as its verdict is read. JSON keeps its emphasis marks: they are part of values."""
    for pattern, replacement in _SPACES if reply.isascii() else _UNICODE + _SPACES:
        reply = pattern.sub(replacement, reply)
    tags = _REASONING_TAG.findall(reply)
    if tags and tags[-1] != "/":
        return Clean(reply, lower(reply), truncated=True)
    if tags:
        reply = _REASONING[0].sub(" ", reply)
    for pattern, replacement in _EMPHASIS if emphasis else ():
        reply = pattern.sub(replacement, reply)
    return Clean(reply, lower(reply), truncated=False)


def raw_span(reply: str, span: tuple[int, int], *, emphasis: bool = True) -> tuple[int, int]:
    """Where a span of the cleaned text stood in the reply as it came."""
    history = []
    steps = (*_UNICODE, *_SPACES, _REASONING)
    for pattern, replacement in (*steps, *_EMPHASIS) if emphasis else steps:
        history.append(_edits(pattern, replacement, reply))
        reply = pattern.sub(replacement, reply)
    start, end = span
    for edits in reversed(history):
        start, end = _before(start, edits)[0], _before(max(start, end - 1), edits)[1]
    return start, end


def lower(text: str) -> str:
    """Only our own letters are lowered: look-alikes of other alphabets stay what they are."""
    return text.translate(_ASCII_LOWER)


def _edits(
    pattern: re.Pattern[str], replacement: str | Callable[[re.Match[str]], str], text: str
) -> list[Edit]:
    return [
        (m.start(), m.end(), replacement if isinstance(replacement, str) else replacement(m))
        for m in pattern.finditer(text)
    ]


def _before(position: int, edits: list[Edit]) -> tuple[int, int]:
    """Start and end, before the edits, of what is the character at a position after them."""
    starts, shift = [], 0
    for start, end, replacement in edits:
        starts.append(start - shift)
        shift += (end - start) - len(replacement)
    index = bisect_right(starts, position) - 1
    if index < 0:
        return position, position + 1
    start, end, replacement = edits[index]
    behind = position - starts[index] - len(replacement)
    return (start, end) if behind < 0 else (end + behind, end + behind + 1)


def _compatible(match: re.Match[str]) -> str:
    return unicodedata.normalize("NFKC", match[0])


_ASCII_LOWER: Final = {code: code + 32 for code in range(ord("A"), ord("Z") + 1)}
_UNICODE: Final[tuple[Step, ...]] = (
    # Runs are bounded: NFKC sorts combining marks by insertion, quadratic in their number.
    (re.compile(r"[\x00-\x7f]?[^\x00-\x7f]{1,32}"), _compatible),
    (
        re.compile(
            "[\u00ad\u034f\u061c\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u206f"
            "\ufe00-\ufe0f\ufeff\U000e0000-\U000e01ef]+"
        ),
        "",
    ),
)
_SPACES: Final[tuple[Step, ...]] = (
    (re.compile("\r\n?|[\x0b\x0c\x1c-\x1e\x85\u2028\u2029]"), "\n"),
    # What NFKC leaves of the space-like characters, blank letters and the Braille blank included.
    (re.compile("[\t\x1f\u1680\u115f\u1160\u2800]+"), " "),
)
_REASONING_TAG: Final = re.compile(r"<(/?)think(?:ing)?>", re.IGNORECASE | re.ASCII)
_REASONING: Final[Step] = (
    # A closing tag alone, first, ends a block that the chat template opened for the model.
    # `clean` uses this only where the last tag closes. `\Z` keeps any other text linear: without
    # it, every opening tag of a text that never closes one would be searched to the end.
    re.compile(
        r"\A[^<]*(?:<(?!/?think(?:ing)?>)[^<]*)*</think(?:ing)?>"
        r"|<think(?:ing)?>.*?(?:</think(?:ing)?>|\Z)",
        re.IGNORECASE | re.ASCII | re.DOTALL,
    ),
    " ",
)
_EMPHASIS: Final[tuple[Step, ...]] = (
    # As in Markdown, a backslash is an escape only before punctuation.
    (re.compile(r"[*_`\\]+(?:(?<!\\)|(?=[\W_]))"), ""),
    (re.compile(r" {2,}"), " "),
    (re.compile(r"(?: \n|\n[ \n])[ \n]*"), "\n"),
)
