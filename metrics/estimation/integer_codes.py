"""Dense integer codes for groups of rows, by counting tables instead of hashing.

Five million rows can form as many different groups. Hashing takes ten times the memory of the rows;
a counting table with an entry for every possible combination takes half the memory of the rows.
"""

from collections.abc import Iterable
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

Ints = NDArray[np.int64]
Codes = NDArray[np.integer[Any]]
"""Integer codes in the smallest integer type that suffices."""


def categories_and_codes(column: pd.Series) -> tuple[list[Any], Codes]:
    """Return the distinct values of a column and the index of each row's value among them, -1 for a
    missing value; the codes of a categorical column are not copied."""
    known = isinstance(column.dtype, pd.CategoricalDtype)
    values = column.array if known else column.astype("category").array
    return values.categories.tolist(), values.codes


def codes_offset_and_size(column: pd.Series) -> tuple[Codes, int, int]:
    """Return three facts about a column: the integer code of each row's value, the number to add to
    the codes so that none is negative, and the number of possible codes. A missing value has a code
    of its own."""
    dtype = column.dtype
    if isinstance(dtype, pd.CategoricalDtype):
        return column.array.codes, 1, len(dtype.categories) + 1
    codes, values = pd.factorize(column, use_na_sentinel=False)
    return codes, 0, len(values)


def combined_codes(columns: Iterable[pd.Series], rows: int) -> tuple[Codes, int]:
    """Return a code for each of the `rows` rows, which is equal for rows with equal values in all
    `columns`; and a number that all codes are below, although not every smaller number is used."""
    found = sorted((codes_offset_and_size(column) for column in columns), key=lambda one: one[2])
    key: Codes = np.zeros(rows, np.int32)
    size = 1
    for codes, shift, count in found:
        # Most combinations do not occur: make the codes dense before the table grows too large.
        if size * max(count, 1) > _max_counting_table_size(rows):
            key, size = codes_by_appearance(key, size)
        size *= max(count, 1)
        key = key.astype(np.int32 if size < 2**31 else np.int64, copy=False)
        key *= count
        key += codes
        key += shift
    return key, size


def codes_by_appearance(key: Codes, size: int) -> tuple[Codes, int]:
    """Convert keys below `size` to dense codes 0…n−1 in order of appearance; return them and n."""
    if size > _max_counting_table_size(len(key)):
        codes, values = pd.factorize(key)
        return codes, len(values)
    width = np.int32 if len(key) < 2**31 else np.int64
    table: Codes = np.full(size, -1, width)
    table[key[::-1]] = np.arange(len(key) - 1, -1, -1, dtype=width)
    first = np.sort(table[table >= 0])
    table[key[first]] = np.arange(len(first), dtype=width)
    return table[key], len(first)


def unique_codes(key: Ints) -> tuple[Ints, Ints]:
    """Return the distinct keys and, for each key, its index among them, like np.unique. Dense keys
    are counted in a table, which is faster than sorting."""
    least, top = int(key.min(initial=0)), int(key.max(initial=-1)) + 1
    if least < 0 or top > _max_counting_table_size(len(key)):
        present, code = np.unique(key, return_inverse=True)
        return present, code
    here = np.zeros(top, np.bool_)
    here[key] = True
    place: Codes = np.cumsum(here, dtype=np.int32 if top < 2**31 else np.int64)
    place -= 1
    return np.flatnonzero(here), place[key].astype(np.int64)


def _max_counting_table_size(rows: int) -> int:
    """Largest useful counting table for this number of rows; beyond this size, hashing takes less
    memory."""
    return 4 * rows + 1000
