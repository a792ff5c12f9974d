"""SQLite connections whose errors about a damaged file name the store and the repair command.

A damaged page is found by the first query that reads it, which may be any query of the program.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from studies.errors import StoreDamaged
from studies.store.recovery.damage import is_damage

_NO_ROW: Final = object()


class StoreCursor(sqlite3.Cursor):
    """Cursor that raises StoreDamaged if SQLite finds the file damaged."""

    def execute(self, *values: Any) -> StoreCursor:
        try:
            super().execute(*values)
        except sqlite3.DatabaseError as error:
            raise self._error_to_raise(error) from error
        return self

    def executemany(self, *values: Any) -> StoreCursor:
        try:
            super().executemany(*values)
        except sqlite3.DatabaseError as error:
            raise self._error_to_raise(error) from error
        return self

    def fetchone(self) -> Any:
        try:
            return super().fetchone()
        except sqlite3.DatabaseError as error:
            raise self._error_to_raise(error) from error

    def fetchmany(self, *values: Any, **named: Any) -> list[Any]:
        try:
            return super().fetchmany(*values, **named)
        except sqlite3.DatabaseError as error:
            raise self._error_to_raise(error) from error

    def fetchall(self) -> list[Any]:
        try:
            return super().fetchall()
        except sqlite3.DatabaseError as error:
            raise self._error_to_raise(error) from error

    def __iter__(self) -> Iterator[Any]:  # type: ignore[override]
        try:
            yield from iter(super().__next__, _NO_ROW)
        except sqlite3.DatabaseError as error:
            raise self._error_to_raise(error) from error

    def _error_to_raise(self, error: sqlite3.DatabaseError) -> Exception:
        """Return the error to raise in place of `error`: StoreDamaged if the cause is a
        damaged file, else `error` itself."""
        store = self.connection
        if isinstance(store, StoreConnection) and is_damage(error):
            return StoreDamaged(store.path, str(error))
        return error


class StoreConnection(sqlite3.Connection):
    path: Path

    def cursor(self, factory: Any = StoreCursor) -> Any:
        return super().cursor(factory)

    def execute(self, *values: Any) -> StoreCursor:
        made: StoreCursor = self.cursor()
        return made.execute(*values)

    def executemany(self, *values: Any) -> StoreCursor:
        made: StoreCursor = self.cursor()
        return made.executemany(*values)
