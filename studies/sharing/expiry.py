"""Deletion of visitors' studies and uploaded files that were not used for a while.

Studies without an owner (those that came with the Space) and studies with a live run are kept.
"""

from __future__ import annotations

import logging
import shutil
import threading
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Final, NamedTuple

from studies.sharing.visitor_store import VISITORS_FOLDER
from studies.store.queries.run_queries import delete_runs, has_live_run
from studies.store.queries.visitor_queries import study_owners, unused_studies
from studies.store.store import Store

DAY_SECONDS: Final = 86_400.0
CHECK_INTERVAL: Final = 3_600.0
"""Seconds between two searches for expired studies and uploads."""

_log: Final = logging.getLogger(__name__)


class ExpiredCounts(NamedTuple):
    studies: int
    folders: int


def remove_expired(store: Store, days: float, now: float | None = None) -> ExpiredCounts:
    """Delete studies and uploads unused for `days`; `store` must be the unrestricted store."""
    before = (time.time() if now is None else now) - days * DAY_SECONDS
    expired = [name for name in unused_studies(store, before) if not has_live_run(store, name)]
    for name in expired:
        store.delete_study(name)
        store.writer.run(partial(delete_runs, study=name))
    owners = {owner[:24] for owner in study_owners(store)}
    folders = _remove_folders(store.path.parent / VISITORS_FOLDER, owners, before)
    return ExpiredCounts(len(expired), folders)


def _remove_folders(folder: Path, owners: set[str], before: float) -> int:
    """Delete the folders of visitors who own no study and uploaded nothing since `before`; return
    the number of deleted folders."""
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
