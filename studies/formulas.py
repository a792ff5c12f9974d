"""Text that a spreadsheet would run: kept as text by an apostrophe, which comes off on import.

A text is guarded if it begins like a formula, also behind apostrophes of its own; so that what was
guarded can be told from what was not, and every text comes back as it was.
"""

from __future__ import annotations

import re
from typing import Final

_FORMULA: Final = re.compile(r"'*[=+\-@\t\r\n＝＋－＠]")
"""The full-width signs too: spreadsheets take them for the narrow ones."""

_GUARDED: Final = re.compile(r"'+[=+\-@\t\r\n＝＋－＠]")

FLAT: Final = (
    "item", "judge", "prompt", "shown", "labels", "repeat", "noise", "status", "picked", "slot",
    "margin", "scores", "rule", "prompt_tokens", "completion_tokens", "cost", "seconds", "model",
    "reply", "detail", "key", "injection_suspect", "suspects", "category",
)  # fmt: skip
_EARLIER: Final = (FLAT[:-1], FLAT[:-3])
"""As it was before the category, and before the flags: such files are about."""
BATTLES: Final = (
    "question_id", "model_a", "model_b", "winner", "judge", "prompt", "item", "category", "tstamp",
    "order",
)  # fmt: skip
OUR_BATTLES: Final = frozenset({BATTLES, BATTLES[:-1]})
"""In these `prompt` is the judge's, no question."""
OURS: Final = frozenset({FLAT, *_EARLIER, *OUR_BATTLES})
"""The columns of the CSV files that Evenhand writes: in these, and in no others, an apostrophe may
be a guard."""


def guarded(value: object) -> object:
    """A cell that no spreadsheet runs; numbers stay numbers."""
    if isinstance(value, str) and _FORMULA.match(value):
        return "'" + value
    return value


def bare(text: str) -> str:
    """The text that was guarded."""
    return text[1:] if _GUARDED.match(text) else text
