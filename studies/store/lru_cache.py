"""What was used last, and no more of it than fits: a server runs for weeks, a store holds thousands
of studies, and most of them are looked at once."""

from __future__ import annotations

import threading
from collections import OrderedDict
from typing import Generic, TypeVar

Key = TypeVar("Key")
Value = TypeVar("Value")


class LruCache(Generic[Key, Value]):
    """A mapping of at most `most` things; what nobody has asked for the longest goes first."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._held: OrderedDict[Key, Value] = OrderedDict()
        self._lock = threading.Lock()

    def get(self, key: Key) -> Value | None:
        with self._lock:
            if key in self._held:
                self._held.move_to_end(key)
            return self._held.get(key)

    def put(self, key: Key, value: Value) -> Value:
        with self._lock:
            self._held[key] = value
            self._held.move_to_end(key)
            while len(self._held) > self._most:
                self._held.popitem(last=False)
        return value

    def drop(self, key: Key) -> None:
        with self._lock:
            self._held.pop(key, None)

    def __len__(self) -> int:
        return len(self._held)
