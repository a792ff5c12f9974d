"""The judgement frame of a table of battles, such as a CSV file of another tool.

Names are coded once and everything else is computed from the codes, because a table can have
millions of rows but has few distinct names.
"""

from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt
import pandas as pd

from studies.domain import STATUSES
from studies.frames.frame import NO_PICK, SEP, TIE
from studies.frames.winner_words import ITEM_COLUMNS, WINNER_WORDS

Codes = npt.NDArray[np.int64]
_COLUMNS: Final = (
    "model_a", "model_b", "winner", "truth", "judge", "prompt", "category", "order",
)  # fmt: skip
"""Columns of a table of battles that are read, besides the column of items."""
MAX_SPARE_CODES: Final = 8
"""Codes may have gaps as long as there are at most this many possible codes per row; with more,
they are numbered anew without gaps, which then takes less time."""


class CodedColumn(NamedTuple):
    """A column of texts: `names` are distinct texts; row k has `names[codes[k]]`."""

    codes: Codes
    names: list[str] | pd.Index

    def categorical(self) -> pd.Categorical:
        return pd.Categorical.from_codes(self.codes, categories=pd.Index(self.names, dtype="str"))


class CodedBattles(NamedTuple):
    """Battles as codes. Row k compares the contestants `names[first[k]]` and `names[second[k]]`;
    `pick[k]` is 0 if the first won, 1 if the second won, TIE, or NO_PICK without a verdict."""

    names: list[str]
    first: Codes
    second: Codes
    pick: npt.NDArray[np.int8]
    item: CodedColumn


def encode_battles(table: pd.DataFrame, words: Mapping[str, str] | None = None) -> CodedBattles:
    """Encode the contestants, winners and items of a table of battles; columns and `words` are as
    in `frame_from_battles`. ValueError for a missing column or an invalid cell."""
    missing = {"model_a", "model_b", "winner"} - set(table.columns)
    if missing:
        raise ValueError(
            "battles need the columns model_a, model_b, winner; "
            f"missing: {', '.join(sorted(missing))}"
        )
    # Raise ValueError for an empty item, judge or prompt, which would become the name "nan". (The
    # models are checked when they are coded.)
    for name in (find_item_column(table), "judge", "prompt"):
        if name in table:
            _refuse_empty_cells(table[name].isna().to_numpy(), name)
    first, second, names = _encode_models(table)
    pick = _winner_slots(table, "winner", (first, second), names, words or {})
    return CodedBattles(names, first, second, pick, _encode_items(table))


def frame_from_battles(table: pd.DataFrame, words: Mapping[str, str] | None = None) -> pd.DataFrame:
    """Convert a table of battles (`model_a` was shown first) to a judgement frame, the table
    that metrics read. Without a column of items (ITEM_COLUMNS), each row is its own item.

    `winner`, and `truth` (the better answer) if the table has it, are contestants or one of
    WINNER_WORDS; `words` maps further words to these. An empty winner is a reply without a
    verdict. ValueError, which names the row, for an unknown word or an empty name; also for a
    missing column."""
    names, first, second, pick, item = encode_battles(table, words)
    n, judge = len(table), _encode_column(table, "judge", "all")
    known_answer = _winner_slots(table, "truth", (first, second), names, words or {})
    status = np.where(pick == NO_PICK, STATUSES.index("unreadable"), STATUSES.index("ok"))
    low, high = np.minimum(first, second), np.maximum(first, second)
    prompt, comparison = _encode_column(table, "prompt", "all"), _join_pairs(low, high, names)
    group = _group_codes(item.codes, comparison.codes, judge.codes, prompt.codes)
    swapped = first > second
    orders = _count_orders(group, swapped)
    if "order" in table:  # Evenhand's export writes this value if the order shown is unknown
        orders = np.where(table["order"].astype(str) == "unknown", np.int16(0), orders)
    return pd.DataFrame(
        {
            "study": _constant_column("battles", n),
            "item": item.categorical(),
            "category": _encode_column(table, "category", "").categorical(),
            "judge": judge.categorical(),
            "prompt": prompt.categorical(),
            "shown": _join_pairs(first, second, names).categorical(),
            "labels": _constant_column(f"A{SEP}B", n),
            "comparison": comparison.categorical(),
            "options": np.full(n, 2, np.int8),
            "orders": orders,
            "repeat": _count_earlier_rows_of_group(_group_codes(group, swapped)),
            "noise": np.zeros(n, bool),
            "status": CodedColumn(status, list(STATUSES)).categorical(),
            "pick": pick,
            "margin": (pick >= 0).astype(np.int8),
            "known_answer": known_answer,
            "first": CodedColumn(first, names).categorical(),
            "second": CodedColumn(second, names).categorical(),
        }
    )


def _winner_slots(
    table: pd.DataFrame,
    column: str,
    sides: tuple[Codes, Codes],
    names: Sequence[str],
    words: Mapping[str, str],
) -> npt.NDArray[np.int8]:
    """Return the slot that the word of each row names: 0 first, 1 second, TIE, or NO_PICK for an
    empty cell; without the column, NO_PICK everywhere. A contestant's name takes precedence over a
    word. `sides` has the contestants shown first and second, as indexes of `names`; `words` maps
    further words to known ones. ValueError for an unknown word."""
    if column not in table:
        return np.full(len(table), NO_PICK, np.int8)
    codes, found = pd.factorize(table[column], use_na_sentinel=False)
    texts = [_cell_text(word) for word in found]
    place = {name: code for code, name in enumerate(names)}
    who = np.array([place.get(text, NO_PICK) for text in texts], np.int64)[codes]
    unknown = -9
    slot = np.array([_slot_of_winner_word(text, words, unknown) for text in texts], np.int64)[codes]
    made = np.where(who == sides[0], 0, np.where(who == sides[1], 1, slot))
    if (made == unknown).any():
        row = int(np.flatnonzero(made == unknown)[0])
        text, (first, second) = texts[codes[row]], (names[side[row]] for side in sides)
        number = text.lstrip("-").isdigit()
        hint = f"; say what it means with words={{{text}: 'first', …}}" if number else ""
        raise ValueError(
            f"row {row + 1}: {column} is {text!r}; known: {first!r}, {second!r}, model_a, model_b, "
            f"first, second, A, B, tie{hint}"
        )
    return made.astype(np.int8)


def _slot_of_winner_word(text: str, words: Mapping[str, str], unknown: int) -> int:
    """Return the slot that a word for the winner means: 0, 1 or TIE. NO_PICK for an empty text,
    `unknown` for an unknown word; `words` maps further words to known ones."""
    word = text.strip().casefold()
    word = words.get(text, words.get(word, word)).strip().casefold()
    if not word:
        return NO_PICK
    pick = WINNER_WORDS.get(word, unknown)
    return TIE if pick == "tie" else int(pick)


def _refuse_empty_cells(empty: npt.NDArray[np.bool_], column: str) -> None:
    if empty.any():
        row = int(np.argmax(empty)) + 1
        raise ValueError(f"row {row}: the column {column} is empty; fill it or remove the row")


def list_unused_columns(table: pd.DataFrame) -> list[str]:
    """List the columns of a table of battles that contain values but are not read."""
    read = {*_COLUMNS, find_item_column(table)}
    unread = [name for name in table.columns if name not in read]
    return [str(name) for name in unread if any(map(_cell_text, table[name].unique()))]


def find_item_column(table: pd.DataFrame) -> str:
    """Return the name of the column with the item of each row; "" if there is none."""
    return next((name for name in ITEM_COLUMNS if name in table), "")


# -------------------------------------------------------------------------------------- codes


def _encode_texts(values: pd.Series, required: str = "") -> CodedColumn:
    """Return a column of texts as a CodedColumn: its distinct texts, sorted, and the code of each
    row. `required` is "" or, for a column in which no cell may be missing or blank, the name of the
    column; ValueError then names the first such row."""
    codes, found = pd.factorize(values)
    if required:
        blank = np.array([str(value).strip() == "" for value in found] + [True])
        _refuse_empty_cells(blank[codes], required)  # the code of a missing value is -1
    texts = [_cell_text(value) for value in found]
    names = sorted(set(texts))
    place = {name: code for code, name in enumerate(names)}
    rank = np.fromiter((place[text] for text in texts), np.int64, len(texts))
    return CodedColumn(rank[codes] if len(rank) else np.zeros(0, np.int64), names)


def _cell_text(value: object) -> str:
    """Return the text of a cell; a missing value is empty, and 3.0 is "3", as in a CSV of whole
    numbers."""
    if value is None or value is pd.NA or value != value:
        return ""
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)


def _encode_models(table: pd.DataFrame) -> tuple[Codes, Codes, list[str]]:
    """Return (first, second, names): `names[first[k]]` is `model_a` of row k, `names[second[k]]`
    its `model_b`; ValueError for an empty cell."""
    coded = [_encode_texts(table[name], required=name) for name in ("model_a", "model_b")]
    names = sorted({name for column in coded for name in column.names})
    place = {name: code for code, name in enumerate(names)}
    first, second = (
        np.array([place[name] for name in column.names], np.int64)[column.codes] for column in coded
    )
    return first, second, names


def _encode_items(table: pd.DataFrame) -> CodedColumn:
    """Encode the column of items; without one, each row is an item named by its number from 0."""
    if column := find_item_column(table):
        return _encode_texts(table[column])
    order = _numbers_in_alphabetical_order(len(table))
    codes = np.empty(len(table), np.int64)
    codes[order] = np.arange(len(table))
    return CodedColumn(codes, _numbers_to_texts(order))


def _numbers_to_texts(numbers: Codes) -> list[str] | pd.Index:
    """Convert whole numbers to texts; with pyarrow, if pandas stores texts in it, because this
    takes a fifth of the time of a list."""
    kind = pd.Series([], dtype="str").dtype
    if isinstance(kind, pd.StringDtype) and kind.storage == "pyarrow":
        import pyarrow as pa

        texts: pd.Index = pd.Index(pd.array(pa.array(numbers).cast(pa.large_string()), dtype=kind))
        return texts
    return list(map(str, numbers.tolist()))


def _numbers_in_alphabetical_order(count: int) -> Codes:
    """Return the numbers 0 to count - 1 in the alphabetical order of their digits (0, 1, 10, 2)."""
    # Padded with zeros on the right, numbers compare as their texts do; of two that are then equal,
    # the shorter text comes first. This is ten times as fast as sorting texts.
    numbers = np.arange(count, dtype=np.int64)
    digits = np.ones(count, np.int64)
    for power in range(1, len(str(count)) + 1):
        digits[10**power :] += 1
    padded = numbers * 10 ** (len(str(count)) - digits)
    return np.argsort(padded * 32 + digits, kind="stable")


def _encode_column(table: pd.DataFrame, name: str, default: str) -> CodedColumn:
    if name not in table:
        return CodedColumn(np.zeros(len(table), np.int64), [default] if len(table) else [])
    values = table[name].astype(object)
    return _encode_texts(values.where(values.notna(), default))


def _join_pairs(left: Codes, right: Codes, names: Sequence[str]) -> CodedColumn:
    """Join the two names of each row, `names[left[k]]` and `names[right[k]]`, to one text with
    the separator SEP; return these texts as a coded column."""
    wide = left * max(len(names), 1) + right
    used = np.zeros(len(names) ** 2, bool)
    used[wide] = True
    pairs, codes = np.flatnonzero(used), (np.cumsum(used) - 1)[wide]
    joined = (divmod(int(pair), len(names)) for pair in pairs)
    texts = [SEP.join((names[one], names[other])) for one, other in joined]
    order = np.argsort(np.array(texts, object), kind="stable")
    rank = np.empty(len(texts), np.int64)
    rank[order] = np.arange(len(texts))
    return CodedColumn(rank[codes], [texts[place] for place in order])


def _constant_column(text: str, count: int) -> pd.Categorical:
    return CodedColumn(np.zeros(count, np.int64), [text] if count else []).categorical()


def _group_codes(*columns: npt.NDArray[np.generic]) -> Codes:
    """Return a code for each row, which is the same for rows with equal values in all `columns`
    and only for these. Codes can have gaps, but stay below MAX_SPARE_CODES times the number of
    rows."""
    rows = len(columns[0])
    found, size = np.zeros(rows, np.int64), 1
    for column in columns:
        wide = column.astype(np.int64)
        span = int(wide.max(initial=0)) + 1
        if span == rows and (np.bincount(wide) == 1).all():
            return wide  # each row is a group of its own
        if size * span >= 2**62:
            found, kinds = pd.factorize(found)
            size = len(kinds)
        found, size = found * span + wide, size * span
    if size <= MAX_SPARE_CODES * rows:
        return found
    return np.asarray(pd.factorize(found)[0], np.int64)


def _count_orders(group: Codes, swapped: npt.NDArray[np.bool_]) -> npt.NDArray[np.int16]:
    """Return, for each row, in how many orders (1 or 2) its comparison was shown. Rows of one
    comparison have the same code in `group`; `swapped` marks the rows in the other order."""
    groups = int(group.max(initial=-1)) + 1
    seen = np.zeros((2, groups), bool)
    seen[swapped.astype(np.int64), group] = True
    orders: npt.NDArray[np.int16] = seen.sum(axis=0)[group].astype(np.int16)
    return orders


def _count_earlier_rows_of_group(group: Codes) -> npt.NDArray[np.int16]:
    """Return, for each row, the number of earlier rows in the same group."""
    order = np.argsort(group, kind="stable")
    starts = np.flatnonzero(np.diff(group[order], prepend=-1))
    sizes = np.diff(np.append(starts, len(group)))
    earlier = np.empty(len(group), np.int64)
    earlier[order] = np.arange(len(group)) - np.repeat(starts, sizes)
    return earlier.astype(np.int16)
