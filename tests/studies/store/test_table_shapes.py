"""Shapes of tables and indexes, with which a damaged store is read: rows that fit, and others."""

from __future__ import annotations

import pytest

from studies.store.recovery.page_reader import Row
from studies.store.recovery.table_shapes import Column, TableShape

TABLE = TableShape(
    "t", "t", (Column("id", (int,), True), Column("name", (str,), False, "ab")), True, "id"
)
INDEX = TableShape("i", "t", (Column("name", (str,), False), Column("", (int,), True)), True)


@pytest.mark.parametrize(
    ("row", "fits"),
    [
        (Row(7, (None, "a word")), True),
        (Row(7, (None, None)), True),
        (Row(7, (None,)), True),
        (Row(7, (7, "a word")), False),
        (Row(7, (None, "word")), False),
        (Row(7, (None, 5)), False),
        (Row(7, (None, "a", "more")), False),
        (Row(None, (None, "a word")), False),
    ],
)
def test_the_row_id_of_a_table_is_not_in_its_record(row: Row, fits: bool) -> None:
    assert TABLE.fits(row) is fits


@pytest.mark.parametrize(
    ("row", "fits"),
    [
        (Row(None, ("x", 5)), True),
        (Row(None, (None, 5)), True),
        (Row(None, ("x", None)), False),
        (Row(None, ("x", "5")), False),
        (Row(None, ("x",)), False),
        (Row(3, ("x", 5)), False),
    ],
)
def test_an_index_has_the_row_id_as_its_last_value(row: Row, fits: bool) -> None:
    assert INDEX.fits(row) is fits


def test_a_record_names_the_row_id() -> None:
    assert TABLE.row_as_dict(Row(7, (None, "a"))) == {"id": 7, "name": "a"}
    assert INDEX.row_as_dict(Row(None, ("x", 5))) == {"name": "x", "": 5}
