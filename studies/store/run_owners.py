"""Owners of leases: runs that have reserved calls.

An owner is alive as long as its process has locked the owner's lock file. The kernel releases the
lock when the process ends, also after kill -9. Leases of a dead owner can be taken over at once,
and a change of the system clock releases no lease.
"""

import errno
import os
import secrets
import sys
from pathlib import Path
from typing import IO, Final

if sys.platform == "win32":
    import msvcrt

    def _lock(handle: IO[bytes]) -> None:
        msvcrt.locking(handle.fileno(), msvcrt.LK_NBLCK, 1)
else:
    import fcntl

    def _lock(handle: IO[bytes]) -> None:
        fcntl.flock(handle.fileno(), fcntl.LOCK_EX | fcntl.LOCK_NB)


LOCKED_ELSEWHERE: Final = frozenset({errno.EWOULDBLOCK, errno.EAGAIN, errno.EACCES})
"""Error numbers of a lock that another process holds."""


def try_lock(handle: IO[bytes]) -> bool:
    try:
        _lock(handle)
    except OSError:
        return False
    return True


def lock_or_is_locked_elsewhere(handle: IO[bytes]) -> bool:
    """Try to lock a file; return False if it is now locked by this process, True if another
    process holds the lock. On a disk without locks, return False although it is not locked."""
    try:
        _lock(handle)
    except OSError as error:
        return error.errno in LOCKED_ELSEWHERE
    return False


class LeaseOwner:
    """Identity of a run among all runs of a store; the run is alive while its file is locked."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.id = f"{os.getpid()}-{secrets.token_hex(6)}"
        self._path = folder / f"{self.id}.lock"
        self._handle = self._path.open("wb")
        if not try_lock(self._handle):  # a new file is locked by no other process
            self.close()
            raise OSError(errno.ENOLCK, "the disk of this folder does not support file locks")

    def close(self) -> None:
        self._handle.close()
        self._path.unlink(missing_ok=True)


def is_owner_alive_else_clean_up(folder: Path, owner: str) -> bool:
    """Whether the run with the id `owner` is alive: its lock file is locked, or exists but cannot
    be checked. If the run is dead, its lock file is deleted."""
    path = folder / f"{owner}.lock"
    try:
        with path.open("rb+") as handle:
            alive = not try_lock(handle)
    except FileNotFoundError:
        return False
    except OSError:
        return True  # unknown: assume that it is alive, as waiting is better than paying twice
    if not alive:
        path.unlink(missing_ok=True)
    return alive
