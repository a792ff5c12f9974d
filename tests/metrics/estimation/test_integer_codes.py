"""Dense codes of groups of rows, compared with grouping one row at a time."""

from __future__ import annotations

import numpy as np
import pandas as pd
from hypothesis import given
from hypothesis import strategies as st

from metrics.estimation.integer_codes import codes_by_appearance, unique_codes
from metrics.estimation.row_selection import (
    count_items_by,
    first_row_per_group,
    group_codes,
    observed_combinations,
)
from tests.metrics.frames import build, pair

CELLS = st.lists(st.tuples(st.integers(-1, 3), st.integers(0, 2), st.integers(0, 1)), max_size=40)


def one_at_a_time(rows):
    known = {}
    return [known.setdefault(row, len(known)) for row in rows], len(known)


@given(CELLS, st.sampled_from([4, 3000]))
def test_codes_are_those_of_reading_row_by_row(rows, categories):
    # With 3,000 categories a table of all combinations would be too large: that way is taken too.
    codes = np.array([row[0] for row in rows], np.int64)
    frame = pd.DataFrame(
        {
            "a": pd.Categorical.from_codes(codes, [str(n) for n in range(categories)]),
            "b": pd.Categorical.from_codes([row[1] for row in rows], list("xyz")),
            "c": np.array([row[2] for row in rows], np.int64),
        }
    )
    for names in (["a"], ["c", "a"], ["a", "b", "c"]):
        wanted = one_at_a_time([tuple(row["abc".index(name)] for name in names) for row in rows])
        found, count = group_codes(frame, names)
        assert (found.tolist(), count) == wanted
        assert found.dtype == np.int64


def test_no_columns_are_one_group_and_no_rows_are_none():
    frame = build(pair("q", 0, 1))
    assert group_codes(frame, [])[0].tolist() == [0, 0]
    assert group_codes(frame.iloc[:0], ["item"])[1] == 0


@given(st.lists(st.integers(0, 30), max_size=60), st.sampled_from([31, 10**9]))
def test_a_table_and_a_hash_number_keys_alike(keys, size):
    found, count = codes_by_appearance(np.array(keys, np.int64), size)
    assert (found.tolist(), count) == one_at_a_time(keys)
    assert first_row_per_group(found.astype(np.int64), count).tolist() == [
        keys.index(key) for key in dict.fromkeys(keys)
    ]


@given(st.lists(st.one_of(st.integers(-5, 50), st.integers(10**6, 10**6 + 3)), max_size=60))
def test_coded_is_unique_with_its_inverse(keys):
    key = np.array(keys, np.int64)
    present, code = unique_codes(key)
    wanted, inverse = np.unique(key, return_inverse=True)
    assert present.tolist() == wanted.tolist()
    assert code.tolist() == inverse.tolist()


def test_combinations_and_items_are_those_of_pandas():
    rows = [
        *pair("q2", 0, 1, judge="b", category="c"), *pair("q1", 0, 1, judge="a", category="d"),
        *pair("q1", 0, 1, judge="b", prompt="o", category="d"),
        *pair("q3", 0, 1, judge="b", category="d"),
    ]  # fmt: skip
    frame = build(rows)
    by = ["judge", "prompt"]
    assert observed_combinations(frame, by) == list(frame.groupby(by, observed=True).size().index)
    assert observed_combinations(frame, by) == [("a", "p"), ("b", "o"), ("b", "p")]
    assert count_items_by(frame, "category") == {"c": 1, "d": 2}
    kept = frame[frame["item"] != "q2"]  # its category is left, unused
    assert count_items_by(kept, "category") == {"d": 2}
