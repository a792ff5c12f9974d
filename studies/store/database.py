"""Open the SQLite file of a store: settings, schema version, migrations."""

import contextlib
import logging
import re
import sqlite3
import sys
import threading
import time
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path
from typing import Final

from studies import settings
from studies.errors import StoreDamaged, StoreTooNew, StoreUnusable
from studies.files.partial_files import assign_name_if_free, replace_when_written
from studies.store.recovery import backup, damage, plain_reads, rolling_backups, store_connection
from studies.store.run_owners import lock_or_is_locked_elsewhere

SCHEMA_FILE: Final = Path(__file__).with_name("schema.sql")
Migration = Callable[[sqlite3.Connection], None]


def _make_migration(*statements: str) -> Migration:
    def run_statements(connection: sqlite3.Connection) -> None:
        for statement in statements:
            connection.execute(statement)

    return run_statements


MIGRATIONS: Final[list[Migration]] = [
    # Calls of extraction judges.
    _make_migration(
        "CREATE TABLE extractions (key TEXT PRIMARY KEY, reads TEXT NOT NULL, "
        "judge TEXT NOT NULL, prompt TEXT NOT NULL) STRICT, WITHOUT ROWID",
        "CREATE INDEX extractions_by_reads ON extractions(reads)",
    ),
    # Log-probabilities, which are empty for older replies.
    _make_migration("ALTER TABLE replies ADD COLUMN top TEXT"),
    # Owners, links and ballots; existing studies have no owner and stay public.
    _make_migration(
        "ALTER TABLE studies ADD COLUMN owner TEXT NOT NULL DEFAULT ''",
        "CREATE TABLE shares (token TEXT PRIMARY KEY, "
        "study INTEGER NOT NULL REFERENCES studies(id) ON DELETE CASCADE, "
        "created REAL NOT NULL) STRICT, WITHOUT ROWID",
        "CREATE TABLE ballots ("
        "study INTEGER NOT NULL REFERENCES studies(id) ON DELETE CASCADE, voter TEXT NOT NULL, "
        "position INTEGER NOT NULL, item TEXT NOT NULL, shown TEXT NOT NULL, mode TEXT NOT NULL, "
        "chosen TEXT NOT NULL, state TEXT NOT NULL, key TEXT, answer TEXT, "
        "comment TEXT NOT NULL DEFAULT '', seen REAL, done REAL, "
        "PRIMARY KEY (study, voter, position)) STRICT, WITHOUT ROWID",
    ),
    # Dollars that visitors' runs reserve and spend.
    _make_migration(
        "CREATE TABLE allowance (id INTEGER PRIMARY KEY, day TEXT NOT NULL, visitor TEXT NOT NULL, "
        "run TEXT NOT NULL, reserved REAL NOT NULL, spent REAL) STRICT",
        "CREATE INDEX allowance_by_day ON allowance(day)",
        "CREATE INDEX allowance_by_run ON allowance(run)",
    ),
    # Whether a share link also allows voting.
    _make_migration("ALTER TABLE shares ADD COLUMN votes INTEGER NOT NULL DEFAULT 0"),
    # Calls sent without refused parameters, and reasoning tokens.
    _make_migration(
        "CREATE TABLE adapted_requests (key TEXT PRIMARY KEY, adapted TEXT NOT NULL, "
        "without TEXT NOT NULL) STRICT, WITHOUT ROWID",
        "CREATE INDEX adapted_requests_by_adapted ON adapted_requests(adapted)",
        "ALTER TABLE attempts ADD COLUMN reasoning_tokens INTEGER",
    ),
    # The split of a study's labelled items into learn and hold-out.
    _make_migration(
        "CREATE TABLE alignments (study INTEGER PRIMARY KEY REFERENCES studies(id) "
        "ON DELETE CASCADE, json TEXT NOT NULL) STRICT"
    ),
]
"""MIGRATIONS[k] updates a store from schema version k+1 to k+2. New migrations are appended;
existing ones are never changed."""

SCHEMA_VERSION: Final = 1 + len(MIGRATIONS)
CHECKPOINT_PAGES: Final = 8000
"""Number of pages in the write-ahead log (32 MB) at which SQLite copies them to the file. A batch
of rows changes about a thousand pages, so SQLite's default would copy them at every commit."""


def default_store_path() -> Path:
    """Return the path in EVENHAND_STORE, else that of evenhand.db in the user's data folder."""
    if named := settings.STORE.read():
        return Path(named)
    home = Path.home()
    if sys.platform == "win32":
        base = Path(settings.WINDOWS_DATA.read() or home / "AppData" / "Local")
    elif sys.platform == "darwin":
        base = home / "Library" / "Application Support"
    else:
        base = Path(settings.USER_DATA.read() or home / ".local" / "share")
    return base / "evenhand" / "evenhand.db"


def connect(path: Path, *, create: bool = False) -> sqlite3.Connection:
    """Open a connection in autocommit mode; transactions need explicit BEGIN and COMMIT.

    Without `create`, a missing file raises sqlite3.OperationalError; SQLite would create an empty
    file without tables.
    """
    address = f"{path.absolute().as_uri()}?mode={'rwc' if create else 'rw'}"
    with plain_reads.PLAIN_READ:
        connection = sqlite3.connect(
            address,
            uri=True,
            timeout=10,
            isolation_level=None,
            check_same_thread=False,
            factory=store_connection.StoreConnection,
        )
    connection.path = path
    connection.execute("PRAGMA foreign_keys=ON")
    connection.execute("PRAGMA synchronous=FULL")  # a committed judgement survives a power failure
    connection.execute(f"PRAGMA wal_autocheckpoint={CHECKPOINT_PAGES}")
    return connection


def prepare_store(path: Path) -> None:
    """Create a missing store, or migrate an older one; raise StoreError for a newer version and for
    a file that is damaged or no store."""
    damage.check_store_file(path)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        connection = connect(path, create=True)
    except (OSError, sqlite3.Error) as error:
        raise StoreUnusable(
            f"cannot open the store {path}: {error}; choose another file with --store"
        ) from None
    try:
        _create_or_migrate(connection, path)
    except sqlite3.DatabaseError as error:
        raise StoreUnusable(
            f"{path} cannot be used as a store: {error}; choose another file with --store"
        ) from None
    finally:
        connection.close()


def create_store(path: Path) -> None:
    """Create a store at a path without a file; errors of SQLite are raised as they are."""
    with contextlib.closing(connect(path, create=True)) as connection:
        _create_or_migrate(connection, path)


def _create_or_migrate(connection: sqlite3.Connection, path: Path) -> None:
    """Create the tables of an empty file, or apply the migrations that an older store lacks, after
    a backup (none if EVENHAND_BACKUPS is 0). StoreTooNew for a store of a later version,
    StoreDamaged if tables are missing, StoreUnusable for another program's database."""
    version = connection.execute("PRAGMA user_version").fetchone()[0]
    if version > SCHEMA_VERSION:
        raise StoreTooNew(
            f"the store {path} was written by a newer Evenhand (schema {version}, this one reads "
            f"{SCHEMA_VERSION}); update Evenhand, or choose another file with --store"
        )
    if version == SCHEMA_VERSION:
        _check_tables(connection, path)
        _add_store_identity(connection)
        return
    if version:
        rolling_backups.backup_before_migration(path, version)
    connection.execute("PRAGMA journal_mode=WAL")
    connection.execute("BEGIN IMMEDIATE")
    version = connection.execute("PRAGMA user_version").fetchone()[
        0
    ]  # another process may have migrated it
    if version == 0:
        tables = connection.execute("SELECT name FROM sqlite_master WHERE type='table'").fetchall()
        if tables:
            raise StoreUnusable(
                f"{path} is another program's database; choose another file with --store"
            )
        for statement in schema_statements():
            connection.execute(statement)
    for step in MIGRATIONS[max(version, 1) - 1 :] if version else []:
        step(connection)
    connection.execute(f"PRAGMA user_version={SCHEMA_VERSION}")
    backup.set_new_identity(connection)
    connection.execute("COMMIT")


def _add_store_identity(connection: sqlite3.Connection) -> None:
    """Add the identity (a random number in the file's header) to a store of an earlier release.

    A store that cannot be written stays as it is; the first write to it reports the reason.
    """
    if connection.execute("PRAGMA application_id").fetchone()[0]:
        return
    with contextlib.suppress(sqlite3.OperationalError):
        backup.set_new_identity(connection)


def _check_tables(connection: sqlite3.Connection, path: Path) -> None:
    found = {name for (name,) in connection.execute("SELECT name FROM sqlite_master").fetchall()}
    if missing := sorted(table_names() - found):
        raise StoreDamaged(path, f"the store file lacks the tables {', '.join(missing)}")


@lru_cache(1)
def table_names() -> frozenset[str]:
    """Return the names of the tables that a store has."""
    script = SCHEMA_FILE.read_text(encoding="utf-8")
    return frozenset(re.findall(r"^CREATE TABLE (\w+)", script, re.MULTILINE))


def schema_statements() -> list[str]:
    """Return the SQL statements that create the tables and indexes of a store."""
    return _split_statements(SCHEMA_FILE.read_text(encoding="utf-8"))


def _split_statements(script: str) -> list[str]:
    """Split an SQL script into statements, which are executed one by one because executescript
    would commit the open transaction."""
    statements, current = [], ""
    for line in script.splitlines():
        current += line + "\n"
        if sqlite3.complete_statement(current):
            statements.append(current)
            current = ""
    return statements


FileStamp = tuple[int, int] | None
RESTORED_NOTICE: Final = (
    "The store's file was deleted while in use. It was restored from the open connection; no data "
    "was lost"
)
RESTORE_ATTEMPTS: Final = 600
"""Attempts, a tenth of a second apart, to lock a deleted store's file before it is restored."""
_log = logging.getLogger(__name__)


class DatabaseWatch:
    """Keeps the file of a store open, so that the file can be restored if it is deleted, and
    notices when another file takes its place."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.notice = ""
        """Message for the page; empty if the file was never restored."""
        self._lock = threading.Lock()
        self._open_connection: sqlite3.Connection | None = None
        self._stamp: FileStamp = None

    def check_and_restore(self) -> FileStamp:
        """Return a stamp that identifies the file now at the path; None if there is no file. If the
        file was deleted while this object had it open, it is first restored from the open
        connection, and `notice` is set to a message about it."""
        now = file_stamp(self.path)
        if now is not None and now == self._stamp:
            return now
        with self._lock:
            now = file_stamp(self.path)
            if now is None and self._open_connection is not None:
                if restore_deleted_file(self._open_connection, self.path):
                    self.notice = RESTORED_NOTICE
                    _log.warning("%s: %s", self.path, RESTORED_NOTICE)
                now = file_stamp(self.path)
            if now != self._stamp:
                # Open the file at the path in place of the one open so far; `now` is its stamp,
                # None without a file.
                self._close_file()
                if now is not None:
                    self._open_connection = connect(self.path)
                    # A query also opens the write-ahead log.
                    self._open_connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
                self._stamp = now
        return now

    def close(self) -> None:
        with self._lock:
            self._close_file()
            self._stamp = None

    def _close_file(self) -> None:
        if self._open_connection is not None:
            with contextlib.suppress(sqlite3.Error):
                self._open_connection.close()
        self._open_connection = None


def file_stamp(path: Path) -> FileStamp:
    """Return the device and inode numbers of a file, which identify it; None without a file."""
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_dev, found.st_ino


def restore_deleted_file(connection: sqlite3.Connection, path: Path) -> bool:
    """Write the data of an open connection to a new file at `path`; return False if a file exists
    there, for example because another process has restored it.

    The old write-ahead log is deleted first, because SQLite would apply it to the new file. A
    lock, on disks that have locks, keeps other processes from deleting the log of a file that
    was just restored. A file that appears meanwhile is never replaced."""
    path.parent.mkdir(parents=True, exist_ok=True)
    locked = path.with_name(f"{path.name}.restoring")
    with locked.open("ab") as lock:
        for _ in range(RESTORE_ATTEMPTS):
            if not lock_or_is_locked_elsewhere(lock):
                break
            time.sleep(0.1)
        if path.exists():
            return False
        aside = path.with_name(f"{path.name}.restored")
        with replace_when_written(aside) as partial:
            connection.execute("VACUUM INTO ?", (str(partial),))
            with contextlib.closing(sqlite3.connect(partial)) as copy:
                copy.execute("PRAGMA journal_mode=WAL")
        for tail in ("-wal", "-shm") if not path.exists() else ():
            path.with_name(path.name + tail).unlink(missing_ok=True)
        restored = assign_name_if_free(aside, path)
        aside.unlink(missing_ok=True)
    with contextlib.suppress(OSError):  # who still waits for this lock finds the file restored
        locked.unlink()
    return restored
