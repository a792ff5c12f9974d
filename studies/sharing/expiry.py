"""Expiry of visitors' studies that were not used for a while, and of their uploaded files.

Studies without an owner (those that came with the Space) and studies with a live run are kept.
"""

from __future__ import annotations

import logging
import shutil
import sqlite3
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Final, NamedTuple

from studies.sharing.visitor_store import VISITORS_FOLDER
from studies.store.run_owners import is_owner_alive
from studies.store.store import Store

DAY_SECONDS: Final = 86_400.0
CHECK_INTERVAL: Final = 3_600.0
"""Seconds between two checks."""

_log: Final = logging.getLogger(__name__)


class ExpiredCounts(NamedTuple):
    studies: int
    folders: int


def remove_expired(store: Store, days: float, now: float | None = None) -> ExpiredCounts:
    """Delete studies and folders unused for `days`. `store`: the store without restrictions."""
    before = (time.time() if now is None else now) - days * DAY_SECONDS
    expired = [name for name in _old_studies(store, before) if not _is_running(store, name)]
    for name in expired:
        store.delete_study(name)
        _delete_runs(store, name)
    owners = {owner[:24] for (owner,) in store.read("SELECT DISTINCT owner FROM studies")}
    folders = _remove_folders(store.path.parent / VISITORS_FOLDER, owners, before)
    return ExpiredCounts(len(expired), folders)


def _old_studies(store: Store, before: float) -> list[str]:
    """Owned studies that were not saved, run or voted on since `before`."""
    rows = store.read(
        "SELECT name FROM studies s WHERE owner!='' AND max(updated, "
        "COALESCE((SELECT max(max(started, COALESCE(ended, 0))) FROM runs WHERE study=s.name), 0), "
        "COALESCE((SELECT max(done) FROM ballots WHERE study=s.id), 0)) < ?",
        (before,),
    )
    return [name for (name,) in rows.fetchall()]


def _is_running(store: Store, name: str) -> bool:
    rows = store.read("SELECT owner FROM runs WHERE study=? AND ended IS NULL", (name,))
    return any(is_owner_alive(store.owners, owner) for (owner,) in rows.fetchall())


def _delete_runs(store: Store, name: str) -> None:
    """Delete the runs of a study and their attempts; a later study may have the same name."""

    def work(connection: sqlite3.Connection) -> None:
        connection.execute(
            "DELETE FROM attempts WHERE owner IN (SELECT owner FROM runs WHERE study=?)", (name,)
        )
        connection.execute("DELETE FROM runs WHERE study=?", (name,))

    store.writer.run(work)


def _remove_folders(folder: Path, owners: set[str], before: float) -> int:
    """Delete folders of visitors who own no study and uploaded nothing since `before`."""
    if not folder.is_dir():
        return 0
    unused = [one for one in folder.iterdir() if one.name not in owners]
    expired = [one for one in unused if _last_change(one) < before]
    for one in expired:
        shutil.rmtree(one, ignore_errors=True)
    return len(expired)


def _last_change(folder: Path) -> float:
    return max((one.lstat().st_mtime for one in (folder, *folder.rglob("*"))), default=0.0)


class ExpiryThread:
    """Thread that deletes expired studies every hour; errors are logged and not raised."""

    def __init__(
        self,
        store: Store,
        days: float,
        every: float = CHECK_INTERVAL,
        wall: Callable[[], float] = time.time,
    ) -> None:
        self._store, self._days, self._every, self._wall = store, days, every, wall
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._check_regularly, name="expiry", daemon=True)
        self._thread.start()

    def close(self) -> None:
        self._stop.set()
        self._thread.join(10)

    def _check_regularly(self) -> None:
        while True:
            try:
                remove_expired(self._store, self._days, self._wall())
            except Exception as error:
                _log.warning(
                    "expired studies were not deleted, the next check tries again: %s", error
                )
            if self._stop.wait(self._every):
                return
