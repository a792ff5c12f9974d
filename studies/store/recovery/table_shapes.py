"""Columns and types of a store's tables and indexes, by which rows on lost pages are recognised."""

import sqlite3
from collections.abc import Sequence
from contextlib import closing
from typing import Any, Final, NamedTuple

from studies.store.recovery.page_reader import Row

MASTER: Final = "sqlite_master"
SEQUENCE: Final = "sqlite_sequence"
_TYPES: Final[dict[str, tuple[type, ...]]] = {
    "TEXT": (str,),
    "INTEGER": (int,),
    "INT": (int,),
    "REAL": (float, int),
}
_FIRST_CHARACTERS: Final = {
    ("alignments", "json"): "{",
    ("items", "json"): "{",
    ("items", "narrow"): "{[",
    ("requests", "parameters"): "{",
    ("replies", "top"): "[",
}
"""(table, column) -> possible first characters of its JSON text, which distinguish tables with
otherwise equal columns."""


class Column(NamedTuple):
    name: str
    types: tuple[type, ...]
    required: bool
    first: str = ""
    """Possible first characters of the column's text; empty if any character is possible."""

    def fits(self, value: Any) -> bool:
        """Whether `value` can be a value of this column, by its type, whether it is null, and the
        first character of a text."""
        if value is None:
            return not self.required
        if not isinstance(value, self.types):
            return False
        return not self.first or (isinstance(value, str) and value[:1] in self.first)


class TableShape(NamedTuple):
    """Columns of a table or an index, in the order of the values in a record."""

    name: str
    table: str
    """Name of the table: for an index, of the indexed table; for a table, its own name."""
    columns: tuple[Column, ...]
    has_rowid: bool
    rowid_column: str = ""
    """Name of the column that is the row id, whose value in the record is empty; "" if there is
    none."""
    partial: bool = False
    """Whether an index covers only some rows of its table."""

    @property
    def is_index(self) -> bool:
        return self.name != self.table

    def fits(self, row: Row) -> bool:
        """Whether a row can belong to this table or index, by the number and kinds of its values. A
        row of a table may lack columns at the end that later versions of the store have added."""
        if (row.rowid is not None) != (self.has_rowid and not self.is_index):
            return False
        if len(row.values) > len(self.columns) or (
            self.is_index and len(row.values) < len(self.columns)
        ):
            return False
        if any(column.required for column in self.columns[len(row.values) :]):
            return False
        rowid = self.rowid_column or None  # an index has a row id without a name
        return all(
            value is None if column.name == rowid else column.fits(value)
            for column, value in zip(self.columns, row.values, strict=False)
        )

    def row_as_dict(self, row: Row) -> dict[str, Any]:
        """Return column name -> value of a row."""
        found = {c.name: value for c, value in zip(self.columns, row.values, strict=False)}
        if self.rowid_column:
            found[self.rowid_column] = row.rowid
        return found


MASTER_SHAPE: Final = TableShape(
    MASTER,
    MASTER,
    (
        Column("type", (str,), True),
        Column("name", (str,), True),
        Column("tbl_name", (str,), True),
        Column("rootpage", (int,), True),
        Column("sql", (str,), False),
    ),
    has_rowid=True,
)


def parse_table_shapes(statements: Sequence[str]) -> dict[str, TableShape]:
    """Return name -> shape of each table and index that the SQL statements of a schema create."""
    with closing(sqlite3.connect(":memory:")) as connection:
        for statement in statements:
            connection.execute(statement)
        tables = connection.execute("PRAGMA table_list").fetchall()
        shapes = {
            name: _table_shape(connection, name, not without_rowid)
            for _, name, _, _, without_rowid, _ in tables
            if not name.startswith(("sqlite_schema", "sqlite_temp"))
        }
        for table in [*shapes.values()]:
            shapes |= _index_shapes(connection, table)
    return shapes


def _table_shape(connection: sqlite3.Connection, name: str, has_rowid: bool) -> TableShape:
    """Return the shape of a table that exists in the connected database."""
    rows = connection.execute(f"PRAGMA table_info({name})").fetchall()
    keys = [row for row in rows if row[5]]
    if not has_rowid:  # its record begins with the primary key
        rows = sorted(keys, key=lambda row: row[5]) + [row for row in rows if not row[5]]
    alias = keys[0][1] if has_rowid and len(keys) == 1 and keys[0][2] == "INTEGER" else ""
    columns = tuple(
        Column(
            column,
            _TYPES.get(kind, (str, int, float)),
            bool(required or (key and column != alias)) and default is None,
            _FIRST_CHARACTERS.get((name, column), ""),
        )
        for _, column, kind, required, default, key in rows
    )
    return TableShape(name, name, columns, has_rowid, alias)


def _index_shapes(connection: sqlite3.Connection, table: TableShape) -> dict[str, TableShape]:
    """Return name -> shape of each index of a table."""
    by_name = {column.name: column for column in table.columns}
    found = {}
    for _, name, _, origin, partial in connection.execute(f"PRAGMA index_list({table.name})"):
        if origin == "pk" and not table.has_rowid:
            continue  # the table itself
        parts = connection.execute(f"PRAGMA index_xinfo({name})").fetchall()
        columns = tuple(by_name.get(column, Column("", (int,), True)) for _, _, column, *_ in parts)
        found[name] = TableShape(name, table.name, columns, table.has_rowid, partial=bool(partial))
    return found
