"""The judgement frame of a table of battles, such as a CSV file of another tool.

Names are coded once and everything else is computed from the codes, because a table can have
millions of rows but has few distinct names.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt
import pandas as pd

from studies.domain import STATUSES
from studies.frames.frame import NO_PICK, SEP, TIE

Codes = npt.NDArray[np.int64]
_PICK_BY_WINNER: Final = {
    "model_a": 0,
    "model_b": 1,
    "tie": TIE,
    "tie (bothbad)": TIE,
    "both_bad": TIE,
}


class CodedColumn(NamedTuple):
    """A column of texts: `names` are the distinct texts, sorted; row k has `names[codes[k]]`."""

    codes: Codes
    names: list[str]

    def categorical(self) -> pd.Categorical:
        return pd.Categorical.from_codes(self.codes, categories=pd.Index(self.names, dtype="str"))


def frame_from_battles(table: pd.DataFrame) -> pd.DataFrame:
    """Convert battles (`model_a` shown first) to a frame; without an item column, each row is an
    item of its own.

    An unknown value of `winner` raises an error that names the row.
    """
    missing = {"model_a", "model_b", "winner"} - set(table.columns)
    if missing:
        raise ValueError(
            "battles need the columns model_a, model_b, winner; "
            f"missing: {', '.join(sorted(missing))}"
        )
    pick = _parse_winners(table["winner"])
    _check_cells(table)
    n = len(table)
    first, second, names = _code_models(table)
    low, high = np.minimum(first, second), np.maximum(first, second)
    item, judge = _code_items(table), _code_column(table, "judge", "all")
    prompt, comparison = _code_column(table, "prompt", "all"), _join_pairs(low, high, names)
    group = _group_codes(item.codes, comparison.codes, judge.codes, prompt.codes)
    swapped = first > second
    orders = _count_orders(group, swapped)
    if "order" in table:  # Evenhand's export writes this value if the order shown is unknown
        orders = np.where(table["order"].astype(str) == "unknown", np.int16(0), orders)
    return pd.DataFrame(
        {
            "study": _constant("battles", n),
            "item": item.categorical(),
            "category": _code_column(table, "category", "").categorical(),
            "judge": judge.categorical(),
            "prompt": prompt.categorical(),
            "shown": _join_pairs(first, second, names).categorical(),
            "labels": _constant(f"A{SEP}B", n),
            "comparison": comparison.categorical(),
            "options": np.full(n, 2, np.int8),
            "orders": orders,
            "repeat": _count_earlier(_group_codes(group, swapped)),
            "noise": np.zeros(n, bool),
            "status": CodedColumn(
                np.full(n, STATUSES.index("ok"), np.int64), list(STATUSES)
            ).categorical(),
            "pick": pick,
            "margin": (pick >= 0).astype(np.int8),
            "truth": np.full(n, NO_PICK, np.int8),
            "first": CodedColumn(first, names).categorical(),
            "second": CodedColumn(second, names).categorical(),
        }
    )


def _parse_winners(winner: pd.Series) -> npt.NDArray[np.int8]:
    codes, words = pd.factorize(winner, use_na_sentinel=False)
    known = np.array([_PICK_BY_WINNER.get(word, NO_PICK) for word in words], np.int8)
    pick = known[codes] if len(known) else np.zeros(0, np.int8)
    if (known == NO_PICK).any():
        row = int(np.flatnonzero(pick == NO_PICK)[0])
        raise ValueError(
            f"row {row + 1}: winner is {winner.iloc[row]!r}; known: {', '.join(_PICK_BY_WINNER)}"
        )
    return pick


def _check_cells(table: pd.DataFrame) -> None:
    """Raise an error for an empty cell, which would become the name "nan"; only categories may be
    empty."""
    for name in ("model_a", "model_b", "item", "judge", "prompt"):
        if name not in table:
            continue
        empty = table[name].isna().to_numpy()
        if name.startswith("model"):
            codes, values = pd.factorize(table[name])
            blank = np.array([str(value).strip() == "" for value in values] + [True])
            empty = empty | blank[codes]  # the code of a missing value is -1
        if empty.any():
            row = int(np.argmax(empty)) + 1
            raise ValueError(f"row {row}: the column {name} is empty; fill it or remove the row")


# -------------------------------------------------------------------------------------- codes


def _code_texts(values: pd.Series) -> CodedColumn:
    codes, found = pd.factorize(values)
    texts = pd.Series(found).astype(str).tolist()
    names = sorted(set(texts))
    place = {name: code for code, name in enumerate(names)}
    rank = np.fromiter((place[text] for text in texts), np.int64, len(texts))
    return CodedColumn(rank[codes] if len(rank) else np.zeros(0, np.int64), names)


def _code_models(table: pd.DataFrame) -> tuple[Codes, Codes, list[str]]:
    coded = [_code_texts(table[name]) for name in ("model_a", "model_b")]
    names = sorted({name for column in coded for name in column.names})
    place = {name: code for code, name in enumerate(names)}
    first, second = (
        np.array([place[name] for name in column.names], np.int64)[column.codes] for column in coded
    )
    return first, second, names


def _code_items(table: pd.DataFrame) -> CodedColumn:
    if "item" in table:
        return _code_texts(table["item"])
    order = _alphabetical_order(len(table))
    codes = np.empty(len(table), np.int64)
    codes[order] = np.arange(len(table))
    return CodedColumn(codes, list(map(str, order.tolist())))


def _alphabetical_order(count: int) -> Codes:
    """Return the numbers 0 to count - 1 in the alphabetical order of their digits (0, 1, 10, 2)."""
    # Padded with zeros on the right, numbers compare as their texts do; of two that are then equal,
    # the shorter text comes first. This is ten times as fast as sorting texts.
    numbers = np.arange(count, dtype=np.int64)
    digits = np.ones(count, np.int64)
    for power in range(1, len(str(count)) + 1):
        digits[10**power :] += 1
    padded = numbers * 10 ** (len(str(count)) - digits)
    return np.argsort(padded * 32 + digits, kind="stable")


def _code_column(table: pd.DataFrame, name: str, default: str) -> CodedColumn:
    if name not in table:
        return CodedColumn(np.zeros(len(table), np.int64), [default] if len(table) else [])
    values = table[name]
    return _code_texts(values.where(values.notna(), default))


def _join_pairs(left: Codes, right: Codes, names: Sequence[str]) -> CodedColumn:
    """Join the two names of each row by SEP; return the result as a coded column."""
    codes, pairs = pd.factorize(left * max(len(names), 1) + right)
    joined = (divmod(int(pair), len(names)) for pair in pairs)
    texts = [SEP.join((names[one], names[other])) for one, other in joined]
    order = np.argsort(np.array(texts, object), kind="stable")
    rank = np.empty(len(texts), np.int64)
    rank[order] = np.arange(len(texts))
    return CodedColumn(rank[codes], [texts[place] for place in order])


def _constant(text: str, n: int) -> pd.Categorical:
    return CodedColumn(np.zeros(n, np.int64), [text] if n else []).categorical()


def _group_codes(*columns: npt.NDArray[np.generic]) -> Codes:
    """Return a code for each row; rows with equal values in all columns have equal codes."""
    found = np.zeros(len(columns[0]), np.int64)
    for column in columns:
        wide = column.astype(np.int64)
        found = pd.factorize(found * (int(wide.max(initial=0)) + 1) + wide)[0].astype(np.int64)
    return found


def _count_orders(group: Codes, swapped: npt.NDArray[np.bool_]) -> npt.NDArray[np.int16]:
    """Return, for each row, the number of orders (1 or 2) in which its comparison was shown."""
    groups = int(group.max(initial=-1)) + 1
    seen = np.zeros((2, groups), bool)
    seen[swapped.astype(np.int64), group] = True
    orders: npt.NDArray[np.int16] = seen.sum(axis=0)[group].astype(np.int16)
    return orders


def _count_earlier(group: Codes) -> npt.NDArray[np.int16]:
    """Return, for each row, the number of earlier rows in the same group."""
    order = np.argsort(group, kind="stable")
    starts = np.flatnonzero(np.diff(group[order], prepend=-1))
    sizes = np.diff(np.append(starts, len(group)))
    earlier = np.empty(len(group), np.int64)
    earlier[order] = np.arange(len(group)) - np.repeat(starts, sizes)
    return earlier.astype(np.int16)
