"""Automatic backups beside a store: one a day, and one before each change of its schema.

`EVENHAND_BACKUPS` is the number of daily backups that are kept; 0 disables both kinds of backup. In
public mode there are no daily backups unless the variable is set: a Space loses its disk at every
restart, so its backup is `EVENHAND_SNAPSHOT`.
"""

import logging
import shutil
import sqlite3
import threading
import time
from pathlib import Path
from typing import Final

from studies import settings
from studies.errors import StoreUnusable
from studies.files.partial_files import delete_abandoned_partial_files, replace_when_written
from studies.store.recovery.backup import copy_store, find_damage

MAX_DAILY_BYTES: Final = 2_000_000_000
"""Size above which no daily backup is made and a warning is logged; other backups have no limit."""
FIRST_CHECK_SECONDS: Final = 60.0
CHECK_SECONDS: Final = 1800.0
_log: Final = logging.getLogger(__name__)


def backup_folder(store: Path) -> Path:
    return store.with_name(store.name + "-backups")


def daily_backups(store: Path) -> list[Path]:
    """List the daily backups of a store, oldest first; empty if there are none."""
    return sorted(backup_folder(store).glob("daily-????-??-??.db"))


def backups_to_keep() -> int:
    if settings.is_public() and not settings.BACKUPS.is_set():
        return 0
    return settings.BACKUPS.read()


def write_backup(store: Path, target: Path) -> None:
    """Copy a store to a temporary file, check the copy and rename it to `target`; StoreUnusable,
    without a file at `target`, if copying fails or the copy is damaged."""
    try:
        with replace_when_written(target) as partial:
            copy_store(store, partial)
            if damage := find_damage(partial):
                raise StoreUnusable(
                    f"the copy of {store} is damaged ({damage}); the copy was deleted"
                )
    except sqlite3.Error as error:
        raise StoreUnusable(
            f"cannot copy {store} to {target}: {error}; make room, or name another file"
        ) from error


def backup_before_migration(store: Path, version: int) -> None:
    """Copy a store before its schema is changed, unless EVENHAND_BACKUPS is 0; raise StoreUnusable
    if the copy fails, so that the schema is not changed."""
    if not settings.BACKUPS.read():
        return
    day = time.strftime("%Y-%m-%d-%H%M%S")
    target = backup_folder(store) / f"schema-{version}-{day}.db"
    size = store_size_bytes(store)
    if size > MAX_DAILY_BYTES:
        _log.warning("copying %s (%.1f GB) to %s before its update", store, size / 1e9, target)
    try:
        _require_disk_space(size, store)
        write_backup(store, target)
    except (OSError, StoreUnusable) as error:
        raise StoreUnusable(
            f"{store} needs an update of its schema, and no backup could be made: {error}. "
            "Make room, or set EVENHAND_BACKUPS=0 to update without a backup"
        ) from error


def backup_daily(store: Path) -> Path | None:
    """Make today's backup if none was made today and the store has changed since the last one;
    delete the oldest backups above the number to keep.

    Return the new file; None if no backup was due. StoreUnusable if the store is too large, or the
    disk too full.
    """
    delete_abandoned_partial_files(backup_folder(store))
    keep, size = backups_to_keep(), store_size_bytes(store)
    target = backup_folder(store) / time.strftime("daily-%Y-%m-%d.db")
    made = daily_backups(store)
    if not keep or target in made or (made and made[-1].stat().st_mtime > last_change_time(store)):
        return None
    if size > MAX_DAILY_BYTES:
        raise StoreUnusable(
            f"no daily backup: {store} has {size / 1e9:.1f} GB, more than "
            f"{MAX_DAILY_BYTES / 1e9:.0f} GB; make one with python -m studies backup"
        )
    _require_disk_space(size, store)
    write_backup(store, target)
    for old in daily_backups(store)[:-keep]:
        old.unlink(missing_ok=True)
    return target


def store_size_bytes(store: Path) -> int:
    """Return the size of a store together with its write-ahead log, in bytes."""
    return sum(path.stat().st_size for path in _paths_of_store_and_log(store))


def last_change_time(store: Path) -> float:
    return max(path.stat().st_mtime for path in _paths_of_store_and_log(store))


def _paths_of_store_and_log(store: Path) -> list[Path]:
    log = store.with_name(store.name + "-wal")
    return [path for path in (store, log) if path.exists()]


def _require_disk_space(size: int, store: Path) -> None:
    """Raise StoreUnusable if the disk of the store has less than twice `size` bytes free."""
    free = shutil.disk_usage(store.parent).free
    if free < 2 * size:
        raise StoreUnusable(
            f"no backup: it needs {2 * size / 1e9:.1f} GB, {free / 1e9:.1f} GB are free; make room"
        )


class DailyBackupThread:
    """Thread that makes the daily backups while the page runs; it logs at most one error a day."""

    def __init__(
        self, store: Path, first: float = FIRST_CHECK_SECONDS, every: float = CHECK_SECONDS
    ) -> None:
        self._store, self._first, self._every = store, first, every
        self._stop = threading.Event()
        self._reported = ""
        """Day of the last logged error."""
        self._thread = threading.Thread(
            target=self._back_up_regularly, name="daily-backup", daemon=True
        )
        self._thread.start()

    def close(self) -> None:
        self._stop.set()
        self._thread.join(60)

    def _back_up_regularly(self) -> None:
        pause = self._first
        while not self._stop.wait(pause):
            pause = self._every
            try:
                backup_daily(self._store)
            except (OSError, StoreUnusable) as error:
                today = time.strftime("%Y-%m-%d")
                if self._reported != today:
                    self._reported = today
                    _log.warning("%s", error)
