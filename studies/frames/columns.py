"""Columns of codes and small numbers, built from rows of the store in chunks.

Reading in chunks saves memory: five million rows are never all in memory as Python objects.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from itertools import islice
from typing import Any, Final

import numpy as np
import pandas as pd

SEP: Final = "\x1f"
"""Separator of contestants (or labels) in one category; a control character that names cannot
contain."""

ROWS_PER_CHUNK: Final = 50_000
TEXT_COLUMNS: Final = ("item", "judge", "prompt", "shown", "labels", "status")
INTEGER_COLUMNS: Final = {
    "repeat": np.int16,
    "noise": np.bool_,
    "orders": np.int16,
    "seq": np.int64,
}
_COLUMN_ORDER: Final = (
    "position", "item", "judge", "prompt", "shown", "labels", "repeat", "noise", "orders", "status",
    "pick", "margin", "scores", "probabilities", "seq",
)  # fmt: skip
"""Order of the columns in `Store.frame_rows`."""


class TextColumn:
    """A column of texts as integer codes, numbered in order of first appearance."""

    def __init__(self) -> None:
        self._known: dict[str, int] = {}
        self._parts: list[np.ndarray] = []

    def take(self, texts: Sequence[str]) -> None:
        codes, found = pd.factorize(np.asarray(texts, dtype=object))
        known = self._known
        merged = [known.setdefault(str(text), len(known)) for text in found]
        self._parts.append(np.asarray(merged, np.int32)[codes])

    @property
    def names(self) -> list[str]:
        return list(self._known)

    @property
    def codes(self) -> np.ndarray:
        return _concatenate(self._parts, np.int32)


class NumberListColumn:
    """A column of JSON number lists (scores, label probabilities); empty in most studies."""

    def __init__(self) -> None:
        self._parts: list[np.ndarray] = []
        self._any = False

    def take(self, texts: Sequence[str | None]) -> None:
        table = np.full((len(texts), 0), np.nan, np.float32)
        if any(texts):
            self._any = True
            table = _parse_number_lists(texts)
        self._parts.append(table)

    def table(self, width: int) -> np.ndarray | None:
        """Return an array with one column per slot, NaN where a row has no number; None if no row
        has any."""
        if not self._any:
            return None
        whole = np.full((sum(map(len, self._parts)), width), np.nan, np.float32)
        row = 0
        for part in self._parts:
            numbers = part[:, :width]
            whole[row : row + len(part), : numbers.shape[1]] = numbers
            row += len(part)
        return whole


class JudgementColumns:
    """All columns of a study's judgements, as arrays of codes and numbers."""

    def __init__(self, rows: Iterable[tuple[Any, ...]], no_pick: int) -> None:
        self.texts = {name: TextColumn() for name in TEXT_COLUMNS}
        self.scores, self.probabilities = NumberListColumn(), NumberListColumn()
        self._no_pick = no_pick
        self._integers: dict[str, list[np.ndarray]] = {
            n: [] for n in (*INTEGER_COLUMNS, "pick", "margin")
        }
        waiting = iter(rows)
        while chunk := list(islice(waiting, ROWS_PER_CHUNK)):
            self._append_chunk(dict(zip(_COLUMN_ORDER, zip(*chunk, strict=True), strict=True)))

    def __len__(self) -> int:
        return len(self.integers("seq"))

    def codes(self, name: str) -> np.ndarray:
        return self.texts[name].codes

    def names(self, name: str) -> list[str]:
        return self.texts[name].names

    def integers(self, name: str) -> np.ndarray:
        kind = INTEGER_COLUMNS.get(name, np.int8)
        return _concatenate(self._integers[name], kind)

    def _append_chunk(self, columns: dict[str, tuple[Any, ...]]) -> None:
        for name, coded in self.texts.items():
            coded.take(columns[name])
        for name, kind in INTEGER_COLUMNS.items():
            self._integers[name].append(np.asarray(columns[name], kind))
        for name, default in (("pick", self._no_pick), ("margin", 0)):
            filled = [default if value is None else value for value in columns[name]]
            self._integers[name].append(np.asarray(filled, np.int8))
        self.scores.take(columns["scores"])
        self.probabilities.take(columns["probabilities"])


def _concatenate(parts: list[np.ndarray], kind: Any) -> np.ndarray:
    """Join the parts of a column into one array, and replace the parts in the list by it."""
    if len(parts) != 1:
        parts[:] = [np.concatenate(parts) if parts else np.zeros(0, kind)]
    return parts[0]


def _parse_number_lists(texts: Sequence[str | None]) -> np.ndarray:
    values = json.loads(f"[{','.join(text or '[]' for text in texts)}]")  # one call for all rows
    sizes = np.fromiter(map(len, values), np.int64, len(values))
    table = np.full((len(texts), int(sizes.max(initial=0))), np.nan, np.float32)
    for size in np.unique(sizes[sizes > 0]):
        rows = np.flatnonzero(sizes == size)
        table[rows, :size] = np.asarray([values[row] for row in rows], np.float32)
    return table
