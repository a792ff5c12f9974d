"""Copies of a store, made while it is in use, and the check of a copy."""

from __future__ import annotations

import contextlib
import sqlite3
from pathlib import Path

from studies.store.store_file import StoreFile


def copy_store(source: Path, target: Path) -> None:
    """Copy a store to one file without a write-ahead log.

    SQLite's backup API copies a consistent state while judgements are being written.
    """
    with (
        contextlib.closing(
            sqlite3.connect(f"{source.absolute().as_uri()}?mode=ro", uri=True)
        ) as old,
        contextlib.closing(sqlite3.connect(target)) as new,
    ):
        old.backup(new)
        new.execute("PRAGMA journal_mode=DELETE")


def find_damage(path: Path) -> str:
    """Return the first fault that SQLite finds in a database file; empty if there is none."""
    address = f"{path.absolute().as_uri()}?mode=ro"
    try:
        with contextlib.closing(sqlite3.connect(address, uri=True)) as connection:
            (result,) = connection.execute("PRAGMA quick_check(1)").fetchone()
    except sqlite3.DatabaseError as error:
        return str(error)
    return "" if result == "ok" else str(result)


def data_version(store: StoreFile) -> object:
    """Return a number that changes with every write by another connection, also of votes and
    links."""
    return store.read("PRAGMA data_version").fetchone()
