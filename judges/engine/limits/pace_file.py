"""A small file in which the processes that use one store share the rate limits they measured."""

import contextlib
import hashlib
import mmap
import struct
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

SLOTS: Final = 64
VALUES: Final = 30
_SLOT: Final = struct.Struct(f"<8sq{VALUES}d")
"""Binary layout of one endpoint's record in the file: hash that identifies the endpoint, number of
changes, values."""
_HEAD: Final = struct.Struct("<8sq")
LOCK_ATTEMPTS: Final = 20
LOCK_SECONDS: Final = 0.0005
"""Seconds between two tries to lock the file; a process holds the lock for microseconds."""


class RateRecord:
    """The measured rate limit of one endpoint with one API key, at a fixed place in a file that
    several processes share. `endpoint` is a text that identifies endpoint and key; its hash
    determines the place. Of two endpoints with the same place, only one shares its values, until
    it has stored none for ten minutes."""

    def __init__(self, path: Path, endpoint: str) -> None:
        digest = hashlib.sha256(endpoint.encode()).digest()
        self._tag = digest[:8]
        self._at = digest[8] % SLOTS * _SLOT.size
        self._file = path.open("a+b")
        try:
            self._file.truncate(SLOTS * _SLOT.size)
            self._map = mmap.mmap(self._file.fileno(), SLOTS * _SLOT.size)
        except BaseException:
            self._file.close()
            raise

    @property
    def change_count(self) -> int:
        """Number of times that any process has stored values for this endpoint; 0 if none has, or
        if another endpoint has since used the place in the file."""
        tag, changes = _HEAD.unpack_from(self._map, self._at)
        return int(changes) if tag == self._tag else 0

    @contextlib.contextmanager
    def lock(self) -> Iterator[bool]:
        """Lock the file against other processes; yield False if it could not be locked in time."""
        locked = _lock_file(self._file.fileno())
        try:
            yield locked
        finally:
            if locked:
                _unlock_file(self._file.fileno())

    def read(self) -> Sequence[float]:
        return _SLOT.unpack_from(self._map, self._at)[2:]

    def write(self, values: Sequence[float]) -> None:
        padded = (*values, *(0.0,) * (VALUES - len(values)))
        _SLOT.pack_into(self._map, self._at, self._tag, self.change_count + 1, *padded)

    def may_be_written(self, unused_before: float) -> bool:
        """Whether the record's place in the file may be written: it belongs to this endpoint, was
        never used, or was last changed before `unused_before`."""
        tag, changes, updated = struct.unpack_from("<8sqd", self._map, self._at)
        return bool(tag == self._tag or changes == 0 or updated < unused_before)

    def close(self) -> None:
        self._map.close()
        self._file.close()


def open_rate_record(path: Path, endpoint: str) -> RateRecord | None:
    """Open the record of an endpoint in the file; None on Windows, or if the file cannot be opened
    or shared."""
    if sys.platform == "win32":
        return None
    try:
        return RateRecord(path, endpoint)
    except (OSError, ValueError):
        return None


if sys.platform != "win32":
    import fcntl

    def _lock_file(handle: int) -> bool:
        for _ in range(LOCK_ATTEMPTS):
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                time.sleep(LOCK_SECONDS)
            except OSError:
                return False
            else:
                return True
        return False

    def _unlock_file(handle: int) -> None:
        fcntl.flock(handle, fcntl.LOCK_UN)
