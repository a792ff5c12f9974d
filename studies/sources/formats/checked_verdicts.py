"""Format of verdicts on single answers, with the right verdicts: columns `verdict` and `label`.

Both contain pass/fail words or numbers on one scale. A row with an empty label is an unlabelled
verdict; a row with an empty verdict is an unusable reply. An unknown word raises an error that asks
for its meaning, because a wrong guess would reverse every verdict.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Final

from studies.domain import FAIL, GOLD, PASS, STATUSES, USABLE_STATUSES, AnswerLabel, Status
from studies.errors import SourceError
from studies.files.tables import Row, SourceTable, text_of
from studies.sources.building.builder import SourceBuilder
from studies.sources.building.open_source import OpenSource

COLUMNS: Final[Mapping[str, tuple[str, ...]]] = {
    "item": ("item", "id", "item_id"),
    "contestant": ("contestant", "model"),
    "judge": ("judge",),
    "prompt": ("prompt",),
    "group": ("group", "category"),
    "instruction": ("question", "instruction"),
    "response": ("response", "answer"),
    "reply": ("reply", "reason"),
    "source": ("labeller", "label_source"),
    "policy": ("policy",),
}
"""Optional field -> names that its column may have; `verdict` and `label` are required."""
DEFAULT_CONTESTANT: Final = "answer"
DEFAULT_JUDGE: Final = "judge"
DEFAULT_PROMPT: Final = "recorded"
PASS_WORDS: Final = frozenset({"pass", "true", "yes", "1"})
FAIL_WORDS: Final = frozenset({"fail", "false", "no", "0"})
_UNUSABLE_WORDS: Final[dict[str, Status]] = {
    name: name for name in STATUSES if name not in USABLE_STATUSES
}
MAX_NAMED_WORDS: Final = 5

Value = bool | float | None
"""Value of a cell: pass (True) or fail, a score, or None for an empty cell or an unusable reply."""


def matches_table(table: SourceTable) -> str:
    folded = _fold_columns(table)
    if {"verdict", "label"} <= set(folded) and "winner" not in folded:
        return "verdict and label are verdicts on single answers beside their labels"
    return ""


def read(source: OpenSource) -> SourceBuilder:
    table = source.rows
    folded = _fold_columns(table)
    fields = {
        field: folded[name]
        for field, names in COLUMNS.items()
        for name in reversed(names)
        if name in folded
    }
    pair = (folded["verdict"], folded["label"])
    cells = _CellReader(table, pair)
    builder = SourceBuilder()
    labels: dict[tuple[str, str], tuple[Value, str]] = {}
    for index, row in enumerate(table.rows):
        where = table.where(index)
        item, contestant = _add_row(builder, cells, row, fields, where, index)
        label = cells.value(row, pair[1])
        if label is None:
            continue
        earlier, place = labels.setdefault((item, contestant), (label, where))
        if earlier != label:
            raise SourceError(
                f"{where}: the label of {contestant!r} on item {item!r} differs from that in "
                f"{place}; keep one of the two labels"
            )
        builder.add_label(item, _make_label(row, fields, contestant, label))
    used = {*pair, *fields.values()}
    if ignored := [column for column in table.columns if column not in used]:
        builder.notes.append(f"columns not read: {', '.join(ignored)[:300]}")
    return builder


def _fold_columns(table: SourceTable) -> dict[str, str]:
    """Return column name in lower case -> column name as in the file."""
    return {column.casefold().strip(): column for column in reversed(table.columns)}


def _add_row(
    builder: SourceBuilder,
    cells: _CellReader,
    row: Row,
    fields: Mapping[str, str],
    where: str,
    index: int,
) -> tuple[str, str]:
    """Add the verdict of a row; return its item's id and its contestant's name."""

    def text(field: str, default: str = "") -> str:
        return text_of(row.get(fields.get(field, ""))).strip() or default

    contestant = text("contestant", DEFAULT_CONTESTANT)
    item = builder.add_item(
        text("item", f"row-{index + 1:06}"),
        text("instruction"),
        {contestant: text("response")},
        where=where,
        category=text("group"),
    )
    verdict = cells.value(row, cells.verdict_column)
    status = cells.status(row)
    by = (item, text("judge", DEFAULT_JUDGE), text("prompt", DEFAULT_PROMPT))
    if cells.pass_fail:
        passed = None if verdict is None else bool(verdict)
        builder.add_pass_fail(*by, contestant, passed, status=status, reply=text("reply"))
    else:
        scores = () if verdict is None else (float(verdict),)
        builder.add_verdict(
            *by, (contestant,), None, scores=scores, status=status, reply=text("reply")
        )
    return item, contestant


def _make_label(
    row: Row, fields: Mapping[str, str], contestant: str, label: bool | float
) -> AnswerLabel:
    source = text_of(row.get(fields.get("source", ""))).strip() or GOLD
    policy = text_of(row.get(fields.get("policy", ""))).strip()
    if isinstance(label, bool):
        return AnswerLabel(contestant, PASS if label else FAIL, source, policy=policy)
    return AnswerLabel(contestant, label, source, policy=policy)


class _CellReader:
    """Reader of the columns `verdict` and `label`: pass/fail words in both, or numbers in both."""

    def __init__(self, table: SourceTable, columns: tuple[str, str]) -> None:
        self.verdict_column = columns[0]
        words = {
            column: {
                word: index
                for index, row in reversed(list(enumerate(table.rows)))
                if (word := _fold_word(row.get(column)))
                and (column != self.verdict_column or word not in _UNUSABLE_WORDS)
            }
            for column in columns
        }
        kinds = {column: _kind_of(set(found)) for column, found in words.items() if found}
        for column, kind in kinds.items():
            if kind == "unclear":
                raise SourceError(_question(table, column, words[column]))
        known = set(kinds.values())
        if {"words", "numbers"} <= known:
            named, numbers = sorted(kinds, key=lambda column: kinds[column] == "numbers")
            raise SourceError(
                f"{table.name}: column {named!r} holds pass or fail, column {numbers!r} numbers. "
                "The lowest passing number is unknown: write pass or fail in both columns"
            )
        self.pass_fail = "numbers" not in known

    def value(self, row: Row, column: str) -> Value:
        word = _fold_word(row.get(column))
        if not word or (column == self.verdict_column and word in _UNUSABLE_WORDS):
            return None
        return word in PASS_WORDS if self.pass_fail else float(word)

    def status(self, row: Row) -> Status | None:
        """Return the status, such as "error", that the verdict cell names; None for a verdict."""
        return _UNUSABLE_WORDS.get(_fold_word(row.get(self.verdict_column)))


def _fold_word(cell: object) -> str:
    """Return the text of a cell in lower case; 1.0 and 0.0 become "1" and "0"."""
    word = text_of(cell).strip().casefold()
    return {"1.0": "1", "0.0": "0"}.get(word, word)


def _kind_of(words: set[str]) -> str:
    """Return the type of a column's values: "binary" (only 0 and 1), "words" (pass/fail words),
    "numbers" or "unclear"."""
    if words <= {"0", "1"}:
        return "binary"
    if words <= PASS_WORDS | FAIL_WORDS:
        return "words"
    return "numbers" if all(_is_number(word) for word in words) else "unclear"


def _is_number(word: str) -> bool:
    try:
        return math.isfinite(float(word))
    except ValueError:
        return False


def _question(table: SourceTable, column: str, words: Mapping[str, int]) -> str:
    """Return the error message that asks whether unknown words in a column mean pass or fail."""
    unclear = [word for word in words if word not in PASS_WORDS | FAIL_WORDS]
    listed = ", ".join(repr(word) for word in sorted(unclear)[:MAX_NAMED_WORDS])
    first = min(unclear, key=lambda word: words[word])
    return (
        f"{table.where(words[first])}: column {column!r}: does {first!r} mean pass or fail? "
        f"Unclear words: {listed}. Replace each by pass or fail (also true, false, yes, no, 1, 0), "
        "or leave the cell empty"
    )[:400]
