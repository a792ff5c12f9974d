"""Copies of a store, made while it is in use, and the check of a copy."""

from __future__ import annotations

import contextlib
import secrets
import sqlite3
from pathlib import Path

from studies.store.recovery.damage import quick_check


def copy_store(source: Path, target: Path) -> None:
    """Copy a store to one file without a write-ahead log.

    SQLite's backup API copies a consistent state while judgements are being written. The copy gets
    an identity of its own: a log of the source must not be applied to it.
    """
    with (
        contextlib.closing(
            sqlite3.connect(f"{source.absolute().as_uri()}?mode=ro", uri=True)
        ) as old,
        contextlib.closing(sqlite3.connect(target)) as new,
    ):
        old.backup(new)
        new.execute("PRAGMA journal_mode=DELETE")
        set_identity(new)


def set_identity(connection: sqlite3.Connection) -> None:
    """Write a new random identity into a store; see studies/store/recovery/wal_check.py."""
    connection.execute(f"PRAGMA application_id={1 + secrets.randbelow(2**31 - 1)}")


def rewrite_identity(connection: sqlite3.Connection) -> None:
    """Write the identity of a store again, unchanged, inside an open transaction.

    The transaction then has the first page, by which its log is told from another store's.
    """
    (identity,) = connection.execute("PRAGMA application_id").fetchone()
    connection.execute(f"PRAGMA application_id={int(identity)}")


def find_damage(path: Path) -> str:
    """Return the first fault that SQLite finds in a database file; empty if there is none."""
    try:
        return quick_check(path)
    except sqlite3.DatabaseError as error:
        return str(error)
