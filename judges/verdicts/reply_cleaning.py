"""Cleaning of a reply before its verdict is read. A position in the cleaned text can be mapped back
to the original reply, to highlight the verdict on the page."""

import re
from bisect import bisect_right
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from studies.texts.nfkc import NFKC_RUN, normalise_nfkc

CleaningStep = tuple[re.Pattern[str], str | Callable[[re.Match[str]], str]]
TextEdit = tuple[int, int, str]
"""(start, end, replacement) of one edit."""


@dataclass(frozen=True, slots=True)
class CleanedReply:
    """A judge's reply as cleaned by `clean_reply`. `lower` is `text` with A-Z in lower case, of the
    same length, so that a place found in one is the same place in the other. `truncated`: a
    reasoning block was not closed, and nothing was removed."""

    text: str
    lower: str
    truncated: bool


def clean_reply(reply: str, *, emphasis: bool = True) -> CleanedReply:
    """Normalise characters and spaces of a reply; remove reasoning blocks and Markdown emphasis.
    With an unclosed reasoning block, nothing is removed and the result is `truncated`.

    For JSON use `emphasis=False`: asterisks and underscores are kept, as values may contain them.
    """
    for pattern, replacement in _SPACE_STEPS if reply.isascii() else _UNICODE_STEPS + _SPACE_STEPS:
        reply = pattern.sub(replacement, reply)
    tags = _REASONING_TAG.findall(reply)
    if tags and tags[-1] != "/":
        return CleanedReply(reply, lower_ascii(reply), truncated=True)
    if tags:
        reply = _REASONING_STEP[0].sub(" ", reply)
    for pattern, replacement in _EMPHASIS_STEPS if emphasis else ():
        reply = pattern.sub(replacement, reply)
    return CleanedReply(reply, lower_ascii(reply), truncated=False)


def split_reasoning(reply: str, *, cut_off: bool = False) -> tuple[str, str]:
    """Split a reply that begins with a reasoning block into (reasoning, answer); ("", reply) if it
    does not.

    The opening tag may be missing, because some chat templates write it. Without a closing tag all
    of the reply counts as answer, or, if the reply was `cut_off`, as reasoning.
    """
    tags = _REASONING_TAG.finditer(reply)
    first = next(tags, None)
    if first is None or (first[1] != "/" and reply[: first.start()].strip()):
        return "", reply
    start, closing = (0, first) if first[1] == "/" else (first.end(), next(tags, None))
    while closing is not None and closing[1] != "/":
        closing = next(tags, None)
    if closing is None:
        return (reply[start:].strip(), "") if cut_off else ("", reply)
    return reply[start : closing.start()].strip(), reply[closing.end() :].lstrip()


def original_span(reply: str, span: tuple[int, int], *, emphasis: bool = True) -> tuple[int, int]:
    """Map a span of the cleaned text to the corresponding span of the original reply; `emphasis` as
    for `clean_reply`."""
    history = []
    steps = (*_UNICODE_STEPS, *_SPACE_STEPS, _REASONING_STEP)
    for pattern, replacement in (*steps, *_EMPHASIS_STEPS) if emphasis else steps:
        history.append(_find_edits(pattern, replacement, reply))
        reply = pattern.sub(replacement, reply)
    start, end = span
    for edits in reversed(history):
        start, end = (
            _span_before_edits(start, edits)[0],
            _span_before_edits(max(start, end - 1), edits)[1],
        )
    return start, end


def lower_ascii(text: str) -> str:
    """Put only A-Z in lower case, so that look-alike letters of other alphabets stay different."""
    return text.translate(_ASCII_LOWER)


def _find_edits(
    pattern: re.Pattern[str], replacement: str | Callable[[re.Match[str]], str], text: str
) -> list[TextEdit]:
    return [
        (m.start(), m.end(), replacement if isinstance(replacement, str) else replacement(m))
        for m in pattern.finditer(text)
    ]


def _span_before_edits(position: int, edits: list[TextEdit]) -> tuple[int, int]:
    """Undo one cleaning step for a position: return where the character at `position` of the edited
    text stood before the replacements `edits`, as (start, end). If it belongs to a replacement,
    the whole part that was replaced is returned."""
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


_ASCII_LOWER: Final = {code: code + 32 for code in range(ord("A"), ord("Z") + 1)}
_UNICODE_STEPS: Final[tuple[CleaningStep, ...]] = (
    (re.compile(NFKC_RUN), lambda match: normalise_nfkc(match[0])),
    (
        re.compile(
            "[\u00ad\u034f\u061c\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u206f"
            "\ufe00-\ufe0f\ufeff\U000e0000-\U000e01ef]+"
        ),
        "",
    ),
)
_SPACE_STEPS: Final[tuple[CleaningStep, ...]] = (
    (re.compile("\r\n?|[\x0b\x0c\x1c-\x1e\x85\u2028\u2029]"), "\n"),
    # Space-like characters that NFKC keeps, including blank letters and the Braille blank.
    (re.compile("[\t\x1f\u1680\u115f\u1160\u2800]+"), " "),
)
_REASONING_TAG: Final = re.compile(r"<(/?)think(?:ing)?>", re.IGNORECASE | re.ASCII)
_REASONING_STEP: Final[CleaningStep] = (
    # A closing tag without an opening one ends a block that the chat template opened.
    # `clean_reply` applies this only if the last tag closes. `\Z` keeps other texts linear: without
    # it, each opening tag of a text without a closing one would be searched to the end.
    re.compile(
        r"\A[^<]*(?:<(?!/?think(?:ing)?>)[^<]*)*</think(?:ing)?>"
        r"|<think(?:ing)?>.*?(?:</think(?:ing)?>|\Z)",
        re.IGNORECASE | re.ASCII | re.DOTALL,
    ),
    " ",
)
_EMPHASIS_STEPS: Final[tuple[CleaningStep, ...]] = (
    # As in Markdown, a backslash is an escape only before punctuation.
    (re.compile(r"[*_`\\]+(?:(?<!\\)|(?=[\W_]))"), ""),
    (re.compile(r" {2,}"), " "),
    (re.compile(r"(?: \n|\n[ \n])[ \n]*"), "\n"),
)
