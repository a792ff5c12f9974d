"""What strangers left: studies that nobody ran for a while, and the files that came with them.

The house's studies have no owner and are never touched; nor is a study whose run is on.
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
"""Seconds between two looks."""

_log: Final = logging.getLogger(__name__)


class ExpiredCounts(NamedTuple):
    studies: int
    folders: int


def remove_expired(store: Store, days: float, now: float | None = None) -> ExpiredCounts:
    """Removes what is older than so many days. `store` is the whole one."""
    before = (time.time() if now is None else now) - days * DAY_SECONDS
    gone = [name for name in _old_studies(store, before) if not _is_running(store, name)]
    for name in gone:
        store.delete_study(name)
        _delete_runs(store, name)
    kept = {owner[:24] for (owner,) in store.read("SELECT DISTINCT owner FROM studies")}
    return ExpiredCounts(
        len(gone), _remove_folders(store.path.parent / VISITORS_FOLDER, kept, before)
    )


def _old_studies(store: Store, before: float) -> list[str]:
    """Old is what was neither saved, run nor voted on since."""
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
    """With their attempts: whoever takes the name next must not find them."""

    def work(connection: sqlite3.Connection) -> None:
        connection.execute(
            "DELETE FROM attempts WHERE owner IN (SELECT owner FROM runs WHERE study=?)", (name,)
        )
        connection.execute("DELETE FROM runs WHERE study=?", (name,))

    store.writer.run(work)


def _remove_folders(folder: Path, kept: set[str], before: float) -> int:
    """A visitor's uploads go when no study of theirs is left and none came lately."""
    if not folder.is_dir():
        return 0
    gone = [one for one in folder.iterdir() if one.name not in kept and _last_change(one) < before]
    for one in gone:
        shutil.rmtree(one, ignore_errors=True)
    return len(gone)


def _last_change(folder: Path) -> float:
    return max((one.lstat().st_mtime for one in (folder, *folder.rglob("*"))), default=0.0)


class ExpiryThread:
    """Looks every hour, in a thread of its own. A failure is logged: the page goes on."""

    def __init__(
        self,
        store: Store,
        days: float,
        every: float = CHECK_INTERVAL,
        wall: Callable[[], float] = time.time,
    ) -> None:
        self._store, self._days, self._every, self._wall = store, days, every, wall
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._check_regularly, name="reaper", daemon=True)
        self._thread.start()

    def close(self) -> None:
        self._stop.set()
        self._thread.join(10)

    def _check_regularly(self) -> None:
        while True:
            try:
                remove_expired(self._store, self._days, self._wall())
            except Exception as error:
                _log.warning("nothing was removed: %s", error)
            if self._stop.wait(self._every):
                return
