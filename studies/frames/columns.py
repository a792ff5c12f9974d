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

from studies.frames.frame_codes import GROUP_COLUMNS, ROW_SEP, ColumnTexts
from studies.frames.frame_codes import SEP as SEP

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

    def append_texts(self, texts: Sequence[str]) -> None:
        codes, found = pd.factorize(np.asarray(texts, dtype=object))
        self.append_coded_texts(found, codes)

    def append_coded_texts(self, texts: Iterable[str], codes: np.ndarray) -> None:
        """Append the row `texts[code]` for each of `codes`; `texts` are distinct texts in the order
        in which they first appear."""
        known = self._known
        merged = [known.setdefault(str(text), len(known)) for text in texts]
        self._parts.append(np.asarray(merged, np.int32)[codes])

    @property
    def distinct_texts(self) -> list[str]:
        """The distinct texts; code k stands for the text with index k."""
        return list(self._known)

    @property
    def codes(self) -> np.ndarray:
        return _merge_parts_in_place(self._parts, np.int32)


class NumberListColumn:
    """A column of lists of numbers (scores, label probabilities); often empty."""

    def __init__(self) -> None:
        self._parts: list[np.ndarray] = []
        self._any = False

    def append_json(self, texts: Sequence[str | None]) -> None:
        """Append one row per text, which is a JSON list of numbers or None."""
        found = any(texts)  # one call of the parser for all rows
        self.append_lists(
            json.loads(f"[{','.join(text or 'null' for text in texts)}]") if found else texts
        )

    def append_lists(self, lists: Sequence[Any]) -> None:
        """Append one row per element: a list of numbers, or None for a row without numbers."""
        table = np.full((len(lists), 0), np.nan, np.float32)
        if any(lists):
            self._any = True
            table = _lists_to_array([row or [] for row in lists])
        self._parts.append(table)

    def to_array(self, width: int) -> np.ndarray | None:
        """Return an array with the first `width` numbers of each row, filled up with NaN; None if
        no row has a number."""
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
        """Read rows as returned by `Store.frame_rows`; `no_pick` is the number that stands for a
        missing pick."""
        self._create_empty_columns(no_pick)
        waiting = iter(rows)
        while chunk := list(islice(waiting, ROWS_PER_CHUNK)):
            self._append_column_values(
                dict(zip(_COLUMN_ORDER, zip(*chunk, strict=True), strict=True))
            )

    @classmethod
    def from_texts(cls, blocks: Iterable[ColumnTexts], no_pick: int) -> JudgementColumns:
        """Build the columns from `blocks` of consecutive rows, in which the store has joined
        the values of each column to one text; `no_pick` is the number that stands for a
        missing pick."""
        self = cls.__new__(cls)
        self._create_empty_columns(no_pick)
        for block in blocks:
            self._append_column_texts(block)
        return self

    def _create_empty_columns(self, no_pick: int) -> None:
        self.texts = {name: TextColumn() for name in TEXT_COLUMNS}
        self.scores, self.probabilities = NumberListColumn(), NumberListColumn()
        self._no_pick = no_pick
        self._integers: dict[str, list[np.ndarray]] = {
            n: [] for n in (*INTEGER_COLUMNS, "pick", "margin")
        }

    def __len__(self) -> int:
        return len(self.integers("seq"))

    def codes(self, name: str) -> np.ndarray:
        """Return the codes of a text column, one per row: indexes of
        `self.distinct_texts(name)`."""
        return self.texts[name].codes

    def distinct_texts(self, name: str) -> list[str]:
        """Return the distinct texts of a text column."""
        return self.texts[name].distinct_texts

    def integers(self, name: str) -> np.ndarray:
        """Return a column of whole numbers, one per row, such as `repeat` or `pick`."""
        kind = INTEGER_COLUMNS.get(name, np.int8)
        return _merge_parts_in_place(self._integers[name], kind)

    def _append_column_values(self, columns: dict[str, tuple[Any, ...]]) -> None:
        for name, coded in self.texts.items():
            coded.append_texts(columns[name])
        for name, kind in INTEGER_COLUMNS.items():
            self._integers[name].append(np.asarray(columns[name], kind))
        for name in ("pick", "margin"):
            self._integers[name].append(self._fill_missing(name, columns[name]))
        self.scores.append_json(columns["scores"])
        self.probabilities.append_json(columns["probabilities"])

    def _append_column_texts(self, block: ColumnTexts) -> None:
        codes, values = _parse_distinct(block.groups)
        groups = dict(zip(GROUP_COLUMNS, zip(*values, strict=True), strict=True))
        item_codes, items = _parse_distinct(block.items)
        self.texts["item"].append_coded_texts(items, item_codes)
        for name, texts in groups.items():
            if name in self.texts:
                self.texts[name].append_coded_texts(texts, codes)
            elif name in INTEGER_COLUMNS:
                self._integers[name].append(np.asarray(texts, INTEGER_COLUMNS[name])[codes])
            else:
                self._integers[name].append(self._fill_missing(name, texts)[codes])
        self._integers["seq"].append(np.fromstring(block.seqs, INTEGER_COLUMNS["seq"], sep=","))
        self.scores.append_lists(json.loads(block.scores))
        self.probabilities.append_lists(json.loads(block.probabilities))

    def _fill_missing(self, name: str, values: Sequence[Any]) -> np.ndarray:
        """Convert the column `name`, "pick" or "margin", to an array of small integers. None
        becomes the number for a missing pick, or the margin 0."""
        default = self._no_pick if name == "pick" else 0
        return np.asarray([default if value is None else value for value in values], np.int8)


def _merge_parts_in_place(parts: list[np.ndarray], kind: Any) -> np.ndarray:
    """Join the parts of a column into one array, which then replaces the parts in the list. `kind`
    is the type of the array if there are no parts."""
    if len(parts) != 1:
        parts[:] = [np.concatenate(parts) if parts else np.zeros(0, kind)]
    return parts[0]


def _parse_distinct(joined: str) -> tuple[np.ndarray, list[Any]]:
    """Parse JSON texts joined by ROW_SEP; return (codes, distinct values): `values[codes[k]]` is
    the value of the k-th text."""
    codes, texts = pd.factorize(np.asarray(joined.split(ROW_SEP), dtype=object))
    return codes, [json.loads(text) for text in texts]


def _lists_to_array(lists: Sequence[Sequence[float]]) -> np.ndarray:
    """Return an array with one list per row; shorter lists are filled up with NaN."""
    sizes = np.fromiter(map(len, lists), np.int64, len(lists))
    table = np.full((len(lists), int(sizes.max(initial=0))), np.nan, np.float32)
    for size in np.unique(sizes[sizes > 0]):
        rows = np.flatnonzero(sizes == size)
        table[rows, :size] = np.asarray([lists[row] for row in rows.tolist()], np.float32)
    return table
