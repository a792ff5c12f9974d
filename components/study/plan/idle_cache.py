"""Cache of records that were read from files.

A value that was not used for a while is deleted, so that the records of a visitor who left do not
stay in memory.
"""

import threading
import time
from collections.abc import Callable, Hashable
from typing import Final, TypeVar

from studies.files.read_limits import MEGABYTE
from studies.settings import is_public
from studies.store.caching.store_cache import StoreCache

PUBLIC_SECONDS: Final = 60.0
"""Seconds without use after which a public page deletes a value."""
PRIVATE_SECONDS: Final = 1_800.0
MAX_BYTES: Final = 512 * MEGABYTE
"""Maximum memory of all values; the value used last is kept whatever its size."""
Value = TypeVar("Value")


class IdleCache:
    """Cache of one value per key: a value of another version replaces the old one, and a value that
    was not used for a while is deleted."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self.clock = clock
        self._values = StoreCache(MAX_BYTES)
        self._last_uses: dict[Hashable, float] = {}
        self._lock, self._is_waiting = threading.Lock(), False

    def __len__(self) -> int:
        return len(self._values)

    def compute_once(self, key: Hashable, version: Hashable, work: Callable[[], Value]) -> Value:
        """Return the value of a key in this version, computed by `work` if it is not cached."""
        try:
            return self._values.compute_once((key,), version, work)
        finally:
            self._last_uses[key] = self.clock()
            self._schedule_deletion()

    def delete_idle_values(self) -> None:
        """Delete all values that were not used for PUBLIC_SECONDS on a public page, or for
        PRIVATE_SECONDS on a private machine."""
        latest = self.clock() - _idle_seconds()
        for key, used in list(self._last_uses.items()):
            if used <= latest:
                self._last_uses.pop(key, None)
                self._values.drop_study(key)

    def _schedule_deletion(self) -> None:
        """Start a timer that deletes idle values, and that is started again as long as values are
        left; do nothing if a timer is already running."""
        with self._lock:
            if not self._is_waiting:
                self._is_waiting = True
                timer = threading.Timer(_idle_seconds(), self._delete_and_reschedule)
                timer.daemon = True
                timer.start()

    def _delete_and_reschedule(self) -> None:
        self.delete_idle_values()
        with self._lock:
            self._is_waiting = False
        if self._last_uses:
            self._schedule_deletion()


def _idle_seconds() -> float:
    return PUBLIC_SECONDS if is_public() else PRIVATE_SECONDS


RECORDS: Final = IdleCache()
"""Records, tables and statistics of the sources that study files name."""
