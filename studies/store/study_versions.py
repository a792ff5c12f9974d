"""Versions of studies: a version changes only if the study is saved or gets a judgement.

Counting five million rows takes seconds, and a judgement of any study increases the store's last
sequence number (seq). Therefore only the judgements since the last check are read, once for all
studies, and only those in the plan of a study change its version.
"""

import sqlite3
import threading
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

ReadQuery = Callable[[str, Sequence[Any]], sqlite3.Cursor]
StudyVersion = tuple[str, int]


class _VersionRecord(NamedTuple):
    stamp: str
    """Value that changes when the study is saved."""
    own: int
    """Sequence number (seq) that is part of the study's version. At the first check in this process
    or after a save, it is the highest of the store; from then on, that of the newest judgement that
    the study got after this check, if it got any."""


class StudyVersions:
    """Computes the version of each study: a pair that changes if the study is saved or gets a
    judgement. The last version of each study is kept in memory, so that only later judgements
    need to be read."""

    def __init__(self) -> None:
        self._records: dict[str, _VersionRecord] = {}
        self._last = 0
        """Highest sequence number (seq) of the store up to which `_newest` is complete."""
        self._newest: dict[int, int] = {}
        """Id of a study -> sequence number of its newest judgement, of those read so far."""
        self._version_lock = threading.Lock()

    def current_version(self, study: str, read: ReadQuery) -> StudyVersion:
        """Return the version of a study, which changes if the study is saved or gets a judgement.
        `read` runs a query on the store."""
        # Without the lock, the older of two parallel reads could finish last and be stored.
        with self._version_lock:
            return self._read_version(study, read)

    def _read_version(self, study: str, read: ReadQuery) -> StudyVersion:
        """Read the version of a study and remember it: a pair of a text that changes when the study
        is saved, and a sequence number (see `_VersionRecord.own`). ("", 0) if there is no such
        study."""
        row = read(
            "SELECT s.id, s.plan_sha || s.updated, COALESCE((SELECT max(seq) FROM judgements), 0) "
            "FROM studies s WHERE s.name=?",
            (study,),
        ).fetchone()
        if row is None:
            return ("", 0)
        study_id, stamp, last = row
        self._read_new_judgements(last, read)
        before = self._records.get(study)
        own = last
        if before is not None and before.stamp == stamp:
            own = max(before.own, self._newest.get(study_id, 0))
        self._records[study] = _VersionRecord(stamp, own)
        return stamp, own

    def _read_new_judgements(self, last: int, read: ReadQuery) -> None:
        """Add the judgements up to the sequence number `last` to `_newest`. If the store has gone
        back behind the last check (a replaced file), forget everything.
        `CROSS JOIN` keeps SQLite from reading the whole plan first."""
        if last < self._last or not self._records:
            self._records.clear()
            self._newest.clear()
        elif last > self._last:
            found = read(
                "SELECT p.study, max(j.seq) FROM judgements j CROSS JOIN plan p ON p.key=j.key "
                "WHERE j.seq>? GROUP BY p.study",
                (self._last,),
            )
            self._newest.update(found.fetchall())
        self._last = last

    def is_current(self, study: str, version: StudyVersion, read: ReadQuery) -> bool:
        """Whether a version, such as that of a cached result, is still current: the study has not
        been saved since, and has got no judgement. `read` runs a query on the store."""
        stamp, last = version
        now = self.current_version(study, read)
        if now[0] != stamp or now[1] < last:
            return False
        if now[1] == last:
            return True
        newest = read(
            "SELECT max(j.seq) FROM judgements j CROSS JOIN plan p ON p.key=j.key "
            "JOIN studies s ON s.id=p.study WHERE j.seq>? AND s.name=?",
            (last, study),
        ).fetchone()[0]
        return newest is None
