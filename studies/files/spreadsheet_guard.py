"""Text that a spreadsheet would run: kept as text by an apostrophe, which comes off on import.

A text is guarded if it begins like a formula, also behind apostrophes of its own; so that what was
guarded can be told from what was not, and every text comes back as it was.
"""

from __future__ import annotations

import re
from typing import Final

_FORMULA: Final = re.compile(r"'*[=+\-@\t\r\n＝＋－＠]")
"""The full-width signs too: spreadsheets take them for the narrow ones."""

_GUARDED_FORMULA: Final = re.compile(r"'+[=+\-@\t\r\n＝＋－＠]")

FLAT_COLUMNS: Final = (
    "item", "judge", "prompt", "shown", "labels", "repeat", "noise", "status", "picked", "slot",
    "margin", "scores", "rule", "prompt_tokens", "completion_tokens", "cost", "seconds", "model",
    "reply", "detail", "key", "injection_suspect", "suspects", "category",
)  # fmt: skip
_EARLIER_FLAT_HEADERS: Final = (FLAT_COLUMNS[:-1], FLAT_COLUMNS[:-3])
"""As it was before the category, and before the flags: such files are about."""
BATTLE_COLUMNS: Final = (
    "question_id", "model_a", "model_b", "winner", "judge", "prompt", "item", "category", "tstamp",
    "order",
)  # fmt: skip
OWN_BATTLE_HEADERS: Final = frozenset({BATTLE_COLUMNS, BATTLE_COLUMNS[:-1]})
"""In these `prompt` is the judge's, no question."""
OWN_CSV_HEADERS: Final = frozenset({FLAT_COLUMNS, *_EARLIER_FLAT_HEADERS, *OWN_BATTLE_HEADERS})
"""The columns of the CSV files that Evenhand writes: in these, and in no others, an apostrophe may
be a guard."""


def guard_formula(value: object) -> object:
    """A cell that no spreadsheet runs; numbers stay numbers."""
    if isinstance(value, str) and _FORMULA.match(value):
        return "'" + value
    return value


def unguard_formula(text: str) -> str:
    """The text that was guarded."""
    return text[1:] if _GUARDED_FORMULA.match(text) else text
