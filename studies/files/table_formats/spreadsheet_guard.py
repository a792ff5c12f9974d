"""Protection against formula injection in exported CSV files: an apostrophe before formula-like
text.

The import removes the apostrophe. A formula that already has apostrophes before it gets one more,
so that every text is restored exactly.
"""

import re
from typing import Final

_FORMULA: Final = re.compile(r"'*[=+\-@\t\r\n＝＋－＠]")
"""Pattern of texts that a spreadsheet would run as a formula, also with full-width signs."""

_GUARDED_FORMULA: Final = re.compile(r"'+[=+\-@\t\r\n＝＋－＠]")

FLAT_COLUMNS: Final = (
    "item", "judge", "prompt", "shown", "labels", "repeat", "noise", "status", "picked", "slot",
    "margin", "scores", "rule", "prompt_tokens", "completion_tokens", "cost", "seconds", "model",
    "reply", "detail", "key", "injection_suspect", "suspects", "category", "orders", "time",
    "probabilities", "label_mass",
)  # fmt: skip
FLAT_HEADERS: Final = frozenset(
    {FLAT_COLUMNS, FLAT_COLUMNS[:-4], FLAT_COLUMNS[:-5], FLAT_COLUMNS[:-7]}
)
"""Headers of flat tables: the present one, and those of three older versions, which lack all
columns from `orders`, from `category`, or from `injection_suspect` on."""
BATTLE_COLUMNS: Final = (
    "question_id", "model_a", "model_b", "winner", "judge", "prompt", "item", "category", "tstamp",
    "order",
)  # fmt: skip
OWN_BATTLE_HEADERS: Final = frozenset({BATTLE_COLUMNS, BATTLE_COLUMNS[:-1]})
"""Headers of battles that Evenhand exports, now and earlier (without `order`); their `prompt` is
the judge's prompt, not a question."""
OWN_CSV_HEADERS: Final = FLAT_HEADERS | OWN_BATTLE_HEADERS
"""Headers of the CSV files that Evenhand writes; only in these files does the import remove an
apostrophe."""


def guard_formula(value: object) -> object:
    """Put an apostrophe before a text that a spreadsheet would run as a formula; return other
    values unchanged."""
    if isinstance(value, str) and _FORMULA.match(value):
        return "'" + value
    return value


def unguard_formula(text: str) -> str:
    """Remove the apostrophe that `guard_formula` added; return any other text unchanged."""
    return text[1:] if _GUARDED_FORMULA.match(text) else text
