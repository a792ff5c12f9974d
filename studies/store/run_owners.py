"""Is the process that took a lease still alive? A lock file answers, whatever the clock says.

The kernel drops the lock when its holder dies, kill -9 included, so a dead owner's leases can be
taken over at once, and a wall clock that jumps an hour frees nothing.
"""

from __future__ import annotations

import errno
import os
import secrets
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from studies.store.study_versions import ReadQuery

if sys.platform == "win32":
    import msvcrt

    def _try_lock(handle: IO[bytes]) -> bool:
        try:
            msvcrt.locking(handle.fileno(), msvcrt.LK_NBLCK, 1)
        except OSError:
            return False
        return True
else:
    import fcntl

    def _try_lock(handle: IO[bytes]) -> bool:
        try:
            fcntl.flock(handle.fileno(), fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            return False
        return True


class LeaseOwner:
    """A run's identity among all that use one store; alive while the file is locked."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.id = f"{os.getpid()}-{secrets.token_hex(6)}"
        self._path = folder / f"{self.id}.lock"
        self._handle = self._path.open("wb")
        if not _try_lock(self._handle):  # nobody else knows its name: the disk takes no locks
            self.close()
            raise OSError(errno.ENOLCK, "its disk takes no locks; a store needs a local disk")

    def close(self) -> None:
        self._handle.close()
        self._path.unlink(missing_ok=True)


def is_owner_alive(folder: Path, owner: str) -> bool:
    """Whether somebody still holds this owner's lock; the file of a dead one is removed."""
    path = folder / f"{owner}.lock"
    try:
        with path.open("rb+") as handle:
            alive = not _try_lock(handle)
    except FileNotFoundError:
        return False
    except OSError:
        return True  # cannot tell: better wait than pay twice
    if not alive:
        path.unlink(missing_ok=True)
    return alive


@dataclass(frozen=True, slots=True)
class PastRun:
    """A run as the store remembers it; `state` is running, paused, stopped, done, failed or
    interrupted."""

    id: str
    study: str
    state: str
    reason: str
    started: float
    ended: float | None
    owner: str = ""
    """Whose attempts are this run's."""


def list_past_runs(read: ReadQuery, owners: Path, study: str | None = None) -> list[PastRun]:
    """Of one study or of all, newest first; one whose process is gone was interrupted."""
    rows = read(
        "SELECT id, study, owner, state, reason, started, ended FROM runs "
        "WHERE ?1 IS NULL OR study=?1 ORDER BY started DESC",
        (study,),
    ).fetchall()
    return [_past_run_from_row(row, owners) for row in rows]


def _past_run_from_row(row: Sequence[Any], owners: Path) -> PastRun:
    run_id, study, owner, state, reason, started, ended = row
    if ended is None and not is_owner_alive(owners, owner):
        state = "interrupted"
        reason = "its process ended; start the study again to go on where it stopped"
    return PastRun(run_id, study, state, reason, started, ended, owner)
