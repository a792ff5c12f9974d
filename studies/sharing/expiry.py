"""Deletion of visitors' studies and uploaded files that were not used for a while, and of the
longest unused ones if all visitors together store too much.

Studies without an owner (those that came with the Space) and studies with a live run are kept.
"""

import contextlib
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
from studies.store.queries.visitor_queries import (
    study_owners,
    unused_owned_studies,
    used_store_bytes,
)
from studies.store.store import Store

DAY_SECONDS: Final = 86_400.0
RECENT_SECONDS: Final = 3_600.0
"""A study that was used within this many seconds is not deleted to make room for others."""
CHECK_INTERVAL: Final = 3_600.0
"""Seconds between two searches for expired studies and uploads."""

_log: Final = logging.getLogger(__name__)


class ExpiredCounts(NamedTuple):
    """Numbers of deleted studies and of deleted folders of visitors."""

    studies: int
    folders: int


def delete_unused_studies_and_uploads(
    store: Store, days: float, now: float | None = None
) -> ExpiredCounts:
    """Delete the studies of visitors that were not used for `days` days and have no live run;
    then the folders of visitors who own no study and uploaded nothing in this time. Return the
    numbers of deleted studies and folders. `store` must be the unrestricted store. `now` is
    the time in seconds since 1970 (None: the present)."""
    before = (time.time() if now is None else now) - days * DAY_SECONDS
    expired = [
        name for name in unused_owned_studies(store, before) if not has_live_run(store, name)
    ]
    for name in expired:
        _delete_study_and_runs(store, name)
    return ExpiredCounts(len(expired), _remove_unused_visitor_folders(store, before))


def delete_unused_until_room(store: Store, max_bytes: int, now: float | None = None) -> bool:
    """Delete studies and uploads of visitors, the longest unused first, until the store and all
    visitors' files together have fewer than `max_bytes`. Return whether they do at the end.

    Studies used in the last RECENT_SECONDS, with a live run or without an owner are kept.
    `now` is the time in seconds since 1970 (None: the present)."""
    if total_used_bytes(store) < max_bytes:
        return True
    before = (time.time() if now is None else now) - RECENT_SECONDS
    _remove_unused_visitor_folders(store, before)
    for name in unused_owned_studies(store, before):
        if total_used_bytes(store) < max_bytes:
            break
        if not has_live_run(store, name):
            _log.info("deleted an unused study, because visitors' studies fill their space")
            _delete_study_and_runs(store, name)
            _remove_unused_visitor_folders(store, before)
    return total_used_bytes(store) < max_bytes


def total_used_bytes(store: Store) -> int:
    """Return the bytes of a store's rows and of all visitors' files."""
    total = used_store_bytes(store)
    for one in (store.path.parent / VISITORS_FOLDER).rglob("*"):
        with contextlib.suppress(OSError):  # deleted by now
            total += one.lstat().st_size
    return total


class VisitorStorageLimit:
    """Limit on the bytes of the store together with all visitors' files. While there is room, the
    bytes are counted at most every `every` seconds, because counting takes time."""

    def __init__(
        self,
        store: Store,
        max_bytes: int,
        every: float = 10.0,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._store, self._max_bytes, self._every, self._clock = store, max_bytes, every, clock
        self._next_count = float("-inf")
        self._lock = threading.Lock()

    def make_room_if_needed(self) -> bool:
        """Return whether visitors may store more. If there is no room, unused studies and uploads
        are deleted first."""
        with self._lock:
            if self._clock() < self._next_count:
                return True
            if not delete_unused_until_room(self._store, self._max_bytes):
                return False
            self._next_count = self._clock() + self._every
            return True


def _delete_study_and_runs(store: Store, name: str) -> None:
    store.delete_study(name)
    store.writer.run(partial(delete_runs, study=name))


def _remove_unused_visitor_folders(store: Store, before: float) -> int:
    """Delete the folders of visitors who own no study and uploaded nothing since `before`; return
    the number of deleted folders."""
    owners = {owner[:24] for owner in study_owners(store)}
    folder = store.path.parent / VISITORS_FOLDER
    if not folder.is_dir():
        return 0
    unused = [one for one in folder.iterdir() if one.name not in owners]
    expired = [one for one in unused if _last_change_in_folder(one) < before]
    for one in expired:
        shutil.rmtree(one, ignore_errors=True)
    return len(expired)


def _last_change_in_folder(folder: Path) -> float:
    return max((one.lstat().st_mtime for one in (folder, *folder.rglob("*"))), default=0.0)


class ExpiryThread:
    """Thread that deletes studies and uploads unused for `days`, every hour by default; errors are
    logged and not raised."""

    def __init__(
        self,
        store: Store,
        days: float,
        every: float = CHECK_INTERVAL,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._store, self._days, self._every, self._clock = store, days, every, clock
        self._stop = threading.Event()
        self._thread = threading.Thread(
            target=self._delete_unused_regularly, name="expiry", daemon=True
        )
        self._thread.start()

    def close(self) -> None:
        self._stop.set()
        self._thread.join(10)

    def _delete_unused_regularly(self) -> None:
        while True:
            try:
                delete_unused_studies_and_uploads(self._store, self._days, self._clock())
            except Exception as error:
                _log.warning(
                    "expired studies were not deleted, the next check tries again: %s", error
                )
            if self._stop.wait(self._every):
                return
