"""Opening the SQLite file of a store: settings, schema version, migrations."""

from __future__ import annotations

import os
import sqlite3
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Final

from studies.errors import NewerStore, StoreUnusable

SCHEMA: Final = Path(__file__).with_name("schema.sql")
Migration = Callable[[sqlite3.Connection], None]


def _extractions(connection: sqlite3.Connection) -> None:
    connection.execute(
        "CREATE TABLE extractions (key TEXT PRIMARY KEY, reads TEXT NOT NULL, "
        "judge TEXT NOT NULL, prompt TEXT NOT NULL) STRICT, WITHOUT ROWID"
    )
    connection.execute("CREATE INDEX extractions_by_reads ON extractions(reads)")


def _top_logprobs(connection: sqlite3.Connection) -> None:
    """Replies of older stores have none: their label probabilities cannot be read again."""
    connection.execute("ALTER TABLE replies ADD COLUMN top TEXT")


def _owners_and_ballots(connection: sqlite3.Connection) -> None:
    """What older stores hold has no owner: it is everybody's, as it was."""
    connection.execute("ALTER TABLE studies ADD COLUMN owner TEXT NOT NULL DEFAULT ''")
    connection.execute(
        "CREATE TABLE shares (token TEXT PRIMARY KEY, "
        "study INTEGER NOT NULL REFERENCES studies(id) ON DELETE CASCADE, "
        "created REAL NOT NULL) STRICT, WITHOUT ROWID"
    )
    connection.execute(
        "CREATE TABLE ballots ("
        "study INTEGER NOT NULL REFERENCES studies(id) ON DELETE CASCADE, voter TEXT NOT NULL, "
        "position INTEGER NOT NULL, item TEXT NOT NULL, shown TEXT NOT NULL, mode TEXT NOT NULL, "
        "chosen TEXT NOT NULL, state TEXT NOT NULL, key TEXT, answer TEXT, "
        "comment TEXT NOT NULL DEFAULT '', seen REAL, done REAL, "
        "PRIMARY KEY (study, voter, position)) STRICT, WITHOUT ROWID"
    )


def _allowance(connection: sqlite3.Connection) -> None:
    connection.execute(
        "CREATE TABLE allowance (id INTEGER PRIMARY KEY, day TEXT NOT NULL, visitor TEXT NOT NULL, "
        "run TEXT NOT NULL, reserved REAL NOT NULL, spent REAL) STRICT"
    )
    connection.execute("CREATE INDEX allowance_by_day ON allowance(day)")
    connection.execute("CREATE INDEX allowance_by_run ON allowance(run)")


def _links_for_voters(connection: sqlite3.Connection) -> None:
    connection.execute("ALTER TABLE shares ADD COLUMN votes INTEGER NOT NULL DEFAULT 0")


MIGRATIONS: Final[list[Migration]] = [
    _extractions,
    _top_logprobs,
    _owners_and_ballots,
    _allowance,
    _links_for_voters,
]
"""MIGRATIONS[k] brings a store from schema version k+1 to k+2; append, never edit."""

VERSION: Final = 1 + len(MIGRATIONS)
CHECKPOINT: Final = 8000
"""Pages of log (32 MB) before they go into the file: keys are hashes, so a batch of rows dirties
a thousand pages, and SQLite's default would write the file at every commit."""


def default_path() -> Path:
    """EVENHAND_STORE, else evenhand.db in the user's data folder."""
    if named := os.environ.get("EVENHAND_STORE"):
        return Path(named)
    home = Path.home()
    if sys.platform == "win32":
        base = Path(os.environ.get("LOCALAPPDATA", home / "AppData" / "Local"))
    elif sys.platform == "darwin":
        base = home / "Library" / "Application Support"
    else:
        base = Path(os.environ.get("XDG_DATA_HOME", home / ".local" / "share"))
    return base / "evenhand" / "evenhand.db"


def connect(path: Path, *, create: bool = False) -> sqlite3.Connection:
    """A connection in autocommit mode: transactions are begun and ended by name.

    A file that is not there is an error: SQLite would make an empty one and find no table in it.
    """
    address = f"{path.absolute().as_uri()}?mode={'rwc' if create else 'rw'}"
    connection = sqlite3.connect(
        address, uri=True, timeout=10, isolation_level=None, check_same_thread=False
    )
    connection.execute("PRAGMA foreign_keys=ON")
    connection.execute("PRAGMA synchronous=FULL")  # a committed judgement survives a power cut
    connection.execute(f"PRAGMA wal_autocheckpoint={CHECKPOINT}")
    return connection


def prepare(path: Path) -> None:
    """Makes the store if it is not there, brings an older one up to date, refuses a newer one."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        connection = connect(path, create=True)
    except (OSError, sqlite3.Error) as error:
        raise StoreUnusable(
            f"cannot open the store {path}: {error}; choose another file with --store"
        ) from None
    try:
        _bring_up_to_date(connection, path)
    except sqlite3.DatabaseError as error:
        raise StoreUnusable(
            f"{path} cannot be used as a store: {error}; choose another file with --store"
        ) from None
    finally:
        connection.close()


def _bring_up_to_date(connection: sqlite3.Connection, path: Path) -> None:
    version = connection.execute("PRAGMA user_version").fetchone()[0]
    if version > VERSION:
        raise NewerStore(
            f"the store {path} was written by a newer Evenhand (schema {version}, this one knows "
            f"{VERSION}); update Evenhand, or choose another file with --store"
        )
    if version == VERSION:
        return
    connection.execute("PRAGMA journal_mode=WAL")
    connection.execute("BEGIN IMMEDIATE")
    version = connection.execute("PRAGMA user_version").fetchone()[0]  # another process was first?
    if version == 0:
        _create(connection, path)
    for step in MIGRATIONS[max(version, 1) - 1 :] if version else []:
        step(connection)
    connection.execute(f"PRAGMA user_version={VERSION}")
    connection.execute("COMMIT")


def _create(connection: sqlite3.Connection, path: Path) -> None:
    tables = connection.execute("SELECT name FROM sqlite_master WHERE type='table'").fetchall()
    if tables:
        raise StoreUnusable(
            f"{path} is another program's database; choose another file with --store"
        )
    for statement in _statements(SCHEMA.read_text(encoding="utf-8")):
        connection.execute(statement)


def _statements(script: str) -> list[str]:
    """Split by SQLite's own rule: executescript would commit our transaction."""
    statements, current = [], ""
    for line in script.splitlines():
        current += line + "\n"
        if sqlite3.complete_statement(current):
            statements.append(current)
            current = ""
    return statements
