"""Copy a store while it is in use, and check the copy."""

import contextlib
import secrets
import sqlite3
from pathlib import Path

from studies.store.recovery.damage import find_fault_or_raise


def copy_store(source: Path, target: Path) -> None:
    """Copy a store to one file without a write-ahead log.

    SQLite's backup API copies a consistent state while judgements are being written. The copy gets
    a new identity (a number in its header), so that a write-ahead log of the source is not applied
    to it.
    """
    with (
        contextlib.closing(
            sqlite3.connect(f"{source.absolute().as_uri()}?mode=ro", uri=True)
        ) as old,
        contextlib.closing(sqlite3.connect(target)) as new,
    ):
        old.backup(new)
        new.execute("PRAGMA journal_mode=DELETE")
        set_new_identity(new)


def set_new_identity(connection: sqlite3.Connection) -> None:
    """Write a new identity (a random number) into a store's header; see recovery/wal_check.py."""
    connection.execute(f"PRAGMA application_id={1 + secrets.randbelow(2**31 - 1)}")


def rewrite_identity(connection: sqlite3.Connection) -> None:
    """Write the identity of a store (a number in its header) again, unchanged, in an open
    transaction.

    This puts the page with the identity into the write-ahead log, from which one can later see
    that the log belongs to this store."""
    (identity,) = connection.execute("PRAGMA application_id").fetchone()
    connection.execute(f"PRAGMA application_id={int(identity)}")


def find_damage(path: Path) -> str:
    """Return the first fault that SQLite finds in a database file or, if SQLite cannot read the
    file, the reason; "" if the file is sound."""
    try:
        return find_fault_or_raise(path)
    except sqlite3.DatabaseError as error:
        return str(error)
