"""What changed in which study: a run of one must not make the numbers of another old.

Counting five million rows takes seconds, and a judgement of any study raises the store's last seq.
So what came since the last look is looked at, and only what is in the study's own plan counts.
"""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Callable, Sequence
from typing import Any, Final, NamedTuple, TypeVar

from studies.store.lru_cache import LruCache

ReadQuery = Callable[[str, Sequence[Any]], sqlite3.Cursor]
StudyVersion = tuple[str, int]
Value = TypeVar("Value")


MAX_CACHED_VALUES: Final = 64
"""Things worked out that are held, over all studies."""


class _VersionRecord(NamedTuple):
    stamp: str
    """Changes when the study is saved."""
    last: int
    """The store's last seq at the last look."""
    own: int
    """The last seq that may be the study's."""


class StudyVersions:
    """The versions of a store's studies, and what was worked out for them."""

    def __init__(self) -> None:
        self._records: dict[str, _VersionRecord] = {}
        self._cache: LruCache[tuple[str, str], tuple[StudyVersion, Any]] = LruCache(
            MAX_CACHED_VALUES
        )
        self._locks: dict[str, threading.RLock] = {}
        self._version_lock = threading.Lock()

    def study_lock(self, name: str) -> threading.RLock:
        """Held while something large of a study is worked out: who comes meanwhile waits for it
        instead of working it out too."""
        return self._locks.setdefault(name, threading.RLock())

    def current_version(self, name: str, read: ReadQuery) -> StudyVersion:
        """Changes when the study's plan or any of its judgements does.

        One look at a time: of two at once the older might come last, and would see rows vanish.
        """
        with self._version_lock:
            return self._read_version(name, read)

    def _read_version(self, name: str, read: ReadQuery) -> StudyVersion:
        row = read(
            "SELECT s.id, s.plan_sha || s.updated, COALESCE((SELECT max(seq) FROM judgements), 0) "
            "FROM studies s WHERE s.name=?",
            (name,),
        ).fetchone()
        if row is None:
            return ("", 0)
        study, stamp, last = row
        before = self._records.get(name)
        own = last
        if before is not None and before.stamp == stamp and last >= before.last:
            own = before.own if last == before.last else _last_own_seq(read, study, before)
        self._records[name] = _VersionRecord(stamp, last, own)
        return stamp, own

    def cached(
        self, name: str, what: str, version: StudyVersion, work: Callable[[], Value]
    ) -> Value:
        """Worked out once for a version."""
        with self.study_lock(f"{name} {what}"):
            held = self._cache.get((name, what))
            if held is None or held[0] != version:
                held = self._cache.put((name, what), (version, work()))
            value: Value = held[1]
            return value

    def is_current(self, name: str, version: StudyVersion, read: ReadQuery) -> bool:
        """Whether a study is still as it was at a version, by what came since."""
        stamp, last = version
        now = self.current_version(name, read)
        if now[0] != stamp or now[1] < last:
            return False
        if now[1] == last:
            return True
        row = read("SELECT id FROM studies WHERE name=?", (name,)).fetchone()
        since = _VersionRecord(stamp, last, last)
        return row is not None and _last_own_seq(read, row[0], since) == last


def _last_own_seq(read: ReadQuery, study: int, before: _VersionRecord) -> int:
    """The last seq of the study's own judgements, if any came since."""
    row = read(
        "SELECT max(j.seq) FROM judgements j WHERE j.seq>? AND EXISTS "
        "(SELECT 1 FROM plan p WHERE p.key=j.key AND p.study=?)",
        (before.last, study),
    ).fetchone()
    return before.own if row[0] is None else int(row[0])
