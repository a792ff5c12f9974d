"""A store whose file somebody removes while it is in use: it is written again, and that is said.

On Unix a removed file lives on as long as it is open. Without a watch, writes would go on into a
file that has no name, and everything would be gone at the next start.
"""

from __future__ import annotations

import contextlib
import logging
import os
import sqlite3
import threading
from pathlib import Path
from typing import Final

from studies.database import connect

Stamp = tuple[int, int] | None
PUT_BACK: Final = (
    "The file of the store was removed while it was in use. It has been written again from what "
    "was still open: nothing is lost"
)
_log = logging.getLogger(__name__)


class Watch:
    """Holds a store's file open, and knows whether it is still the one with that name."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.told = ""
        """What happened, for whoever looks at the page."""
        self._lock = threading.Lock()
        self._held: sqlite3.Connection | None = None
        self._stamp: Stamp = None

    def check(self) -> Stamp:
        """Which file has the name now, after putting it back if none has. Costs one `stat`."""
        now = stamp(self.path)
        if now is not None and now == self._stamp:
            return now
        with self._lock:
            now = stamp(self.path)
            if now is None and self._held is not None:
                put_back(self._held, self.path)
                self.told = PUT_BACK
                _log.warning("%s: %s", self.path, PUT_BACK)
                now = stamp(self.path)
            if now != self._stamp:
                self._hold(now)
        return now

    def close(self) -> None:
        with self._lock:
            self._let_go()
            self._stamp = None

    def _hold(self, now: Stamp) -> None:
        self._let_go()
        if now is not None:
            self._held = connect(self.path)
            self._held.execute("SELECT count(*) FROM sqlite_master").fetchone()  # opens the log too
        self._stamp = now

    def _let_go(self) -> None:
        if self._held is not None:
            with contextlib.suppress(sqlite3.Error):
                self._held.close()
        self._held = None


def stamp(path: Path) -> Stamp:
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_dev, found.st_ino


def put_back(held: sqlite3.Connection, path: Path) -> None:
    """Writes what a connection still sees under the name of its file, unless one is there by then.

    An old log beside a new file would be taken for its own, so it goes first.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    aside = path.with_name(f"{path.name}.{os.getpid()}.back")
    aside.unlink(missing_ok=True)
    try:
        held.execute("VACUUM INTO ?", (str(aside),))
        with contextlib.closing(sqlite3.connect(aside)) as copy:
            copy.execute("PRAGMA journal_mode=WAL")
        for tail in ("-wal", "-shm"):
            path.with_name(path.name + tail).unlink(missing_ok=True)
        with contextlib.suppress(FileExistsError):
            os.link(aside, path)
    finally:
        for tail in ("", "-wal", "-shm", "-journal"):
            aside.with_name(aside.name + tail).unlink(missing_ok=True)
