"""The memory cache of a store: values computed from its studies, limited in bytes.

A server runs for weeks, and every filter choice produces new values. When the values exceed the
limit, the least recently used ones are dropped. Some values grow after they are stored, because
they compute further results on first use; therefore values are measured again after use, but
measuring takes at most a fiftieth of the time.
"""

import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import islice
from typing import Any, Final, TypeVar

from studies.store.caching.memory_size import MemorySize, measure_memory

MAX_CACHE_BYTES: Final = 1 << 30
"""Maximum bytes of a store's cache, about three frames of five million judgements."""
REMEASURE_SECONDS: Final = 1.0
"""Minimum seconds between two measurements of used values while the cache is under half full."""
MEASURING_SHARE: Final = 0.02
"""Share of the time that measurements of used values may take: after a measurement of 0.1 s,
the next follows after 5 s at the earliest."""
RECENT_ENTRIES: Final = 8
"""Number of most recently used entries that every measurement includes, as they may still grow."""
Value = TypeVar("Value")
CacheKey = tuple[Hashable, ...]


@dataclass(slots=True)
class _CacheEntry:
    version: Hashable
    value: Any
    size: MemorySize = field(default_factory=MemorySize)


class StoreCache:
    """Cache of one value per key; a value of another version is computed anew and replaces the old
    one. The newest value is never dropped."""

    def __init__(self, most_bytes: int = MAX_CACHE_BYTES, excluded: tuple[type, ...] = ()) -> None:
        """Create an empty cache of at most `most_bytes`; objects of `excluded` types, such as the
        store, are not measured."""
        self._most, self._excluded = most_bytes, excluded
        self._entries: OrderedDict[CacheKey, _CacheEntry] = OrderedDict()
        self._buffers: dict[int, list[int]] = {}
        """Address of an array buffer -> its bytes, and the number of entries that refer to it."""
        self._bytes = 0
        self._used: set[CacheKey] = set()
        """Keys of entries that may have grown since they were last measured."""
        self._measured_at = self._measuring_seconds = 0.0
        self._lock = threading.Lock()
        self._computing: dict[CacheKey, list[Any]] = {}
        """Key that is being computed -> its lock, and the number of threads that use the lock."""

    @property
    def bytes(self) -> int:
        """Estimated bytes of all values; a buffer shared by several values counts once."""
        self._measure_used_values()
        return self._bytes

    def __len__(self) -> int:
        return len(self._entries)

    def compute_once(self, key: CacheKey, version: Hashable, work: Callable[[], Value]) -> Value:
        """Return the value of a key in this version. If it is not in the cache, compute it by
        calling `work`, and cache it. If several threads ask for it at once, one computes
        it and the others wait."""
        with self._lock_key(key):
            entry = self._find_entry(key, version)
            if entry is None:
                entry = self._put_entry(key, _CacheEntry(version, work()))
            value: Value = entry.value
            return value

    def find(self, key: CacheKey, version: Hashable) -> Any:
        """Return the value of a key in this version; None if it is not cached."""
        entry = self._find_entry(key, version)
        return entry.value if entry else None

    def drop_study(self, study: Hashable) -> None:
        """Delete all values of a study: those whose key has the study's name as its first
        element."""
        with self._lock:
            for key in [key for key in self._entries if key[0] == study]:
                self._remove_entry(key)

    @contextmanager
    def _lock_key(self, key: CacheKey) -> Iterator[None]:
        """Context in which no other thread computes the value of this key."""
        with self._lock:
            turn = self._computing.setdefault(key, [threading.RLock(), 0])
            turn[1] += 1
        try:
            with turn[0]:
                yield
        finally:
            with self._lock:
                turn[1] -= 1
                if not turn[1]:
                    del self._computing[key]

    def _find_entry(self, key: CacheKey, version: Hashable) -> _CacheEntry | None:
        with self._lock:
            entry = self._entries.get(key)
            if entry is None or entry.version != version:
                return None
            self._entries.move_to_end(key)
            self._used.add(key)
            return entry

    def _put_entry(self, key: CacheKey, entry: _CacheEntry) -> _CacheEntry:
        """Store an entry and return it; if the cache is then too large, drop the least recently
        used entries."""
        entry.size = measure_memory(entry.value, self._excluded)
        with self._lock:
            if key in self._entries:
                self._remove_entry(key)
            self._entries[key] = entry
            self._add_to_total_bytes(entry.size, 1)
            self._used.add(key)
            self._drop_excess()
            due = self._needs_measuring()
        if due:
            self._measure_used_values()
        return entry

    def _drop_excess(self) -> None:
        """Drop the least recently used entries while the cache is too large."""
        while self._bytes > self._most and len(self._entries) > 1:
            self._remove_entry(next(iter(self._entries)))

    def _needs_measuring(self) -> bool:
        waited = time.monotonic() - self._measured_at
        shortest = 0.0 if self._bytes > self._most / 2 else REMEASURE_SECONDS
        return waited >= max(shortest, self._measuring_seconds / MEASURING_SHARE)

    def _measure_used_values(self) -> None:
        """Measure again the entries that may have grown since they were last measured. Measuring
        takes long, so that the lock, for which every reader of the cache waits, is not held."""
        began = time.monotonic()
        with self._lock:
            self._measured_at = began  # no other thread measures meanwhile
            used = [(key, self._entries[key]) for key in self._used]
            self._used = set(islice(reversed(self._entries), RECENT_ENTRIES))
        sizes = [measure_memory(entry.value, self._excluded) for _, entry in used]
        with self._lock:
            for (key, entry), size in zip(used, sizes, strict=True):
                if self._entries.get(key) is entry:
                    self._add_to_total_bytes(entry.size, -1)
                    entry.size = size
                    self._add_to_total_bytes(size, 1)
            self._drop_excess()
            self._measured_at = time.monotonic()
            self._measuring_seconds = self._measured_at - began

    def _remove_entry(self, key: CacheKey) -> None:
        self._add_to_total_bytes(self._entries.pop(key).size, -1)
        self._used.discard(key)

    def _add_to_total_bytes(self, size: MemorySize, sign: int) -> None:
        """Add the size of an entry to the total (`sign` 1), or subtract it (-1). A buffer to which
        several entries refer counts once in the total."""
        self._bytes += sign * int(size.small)
        for address, held in size.buffers.items():
            known = self._buffers.setdefault(address, [held, 0])
            known[1] += sign
            if sign > 0 and known[1] == 1:
                self._bytes += known[0]
            elif not known[1]:
                self._bytes -= self._buffers.pop(address)[0]
