"""The open SQLite file of a store: its connections and writer, the version of each study (a value
that changes with the study), and a cache of values computed from studies."""

import sqlite3
import threading
import time
from collections.abc import Callable, Hashable, Iterator, Sequence
from pathlib import Path
from typing import Any, Final, TypeVar

from studies.errors import StoreUnusable
from studies.store import database, parallel_reads, study_versions
from studies.store.caching import frame_cache, store_cache
from studies.store.database import DatabaseWatch
from studies.store.writer import StoreWriter

MIN_CACHED_SECONDS: Final = 1.0
"""Minimum seconds of a computation whose result is also cached on disk."""
Value = TypeVar("Value")


class StoreFile:
    """The SQLite file of a store. Each thread reads through a connection of its own; one thread
    makes all writes."""

    def __init__(self, path: Path | str | None = None) -> None:
        self.path = Path(path) if path is not None else database.default_store_path()
        database.prepare_store(self.path)
        self.file_watch = DatabaseWatch(self.path)
        self._local = threading.local()
        self._writer: StoreWriter | None = None
        self._versions = study_versions.StudyVersions()
        self._cache = store_cache.StoreCache(excluded=(StoreFile,))
        self._lock = threading.Lock()

    @property
    def pace_file(self) -> Path:
        """File through which the processes that use this store share measured rate limits."""
        return self.path.with_name(self.path.name + "-pace")

    @property
    def run_locks_folder(self) -> Path:
        """Folder with a lock file for each live run; the runs are the owners of leases."""
        return self.path.with_name(self.path.name + "-owners")

    @property
    def writer(self) -> StoreWriter:
        """The writer thread of the store, started at the first use."""
        with self._lock:
            if self._writer is None:
                self._writer = self._new_writer()
                self._writer.current_file = self.file_watch.check_and_restore
            return self._writer

    def _new_writer(self) -> StoreWriter:
        return StoreWriter(lambda: database.connect(self.path))

    def _open_reader(self) -> sqlite3.Connection:
        return database.connect(self.path)

    def close(self) -> None:
        with self._lock:
            if self._writer is not None:
                self._writer.close()
                self._writer = None
        self.file_watch.close()
        if (connection := self._local.__dict__.pop("connection", None)) is not None:
            connection.close()  # connections of other threads close with their threads

    def read(self, sql: str, values: Sequence[Any] = ()) -> sqlite3.Cursor:
        """Run a query with these parameters on this thread's connection; StoreUnusable, or
        StoreDamaged, if the file cannot be read."""
        try:
            return self.read_connection.execute(sql, values)
        except sqlite3.DatabaseError as error:
            raise self._unusable_error(error) from error

    @property
    def read_connection(self) -> sqlite3.Connection:
        """The connection through which this thread reads, opened anew if the file was replaced;
        StoreUnusable, or StoreDamaged, if the file cannot be opened."""
        connection: sqlite3.Connection | None = getattr(self._local, "connection", None)
        try:
            if connection is None or self._local.file != self.file_watch.check_and_restore():
                self._local.file = self.file_watch.check_and_restore()
                connection = self._local.connection = self._open_reader()
        except sqlite3.DatabaseError as error:
            raise self._unusable_error(error) from error
        return connection

    def read_blocks(self, study: str, sql: str) -> Iterator[tuple[Any, ...]]:
        """Run the query `sql` for each block (range of row numbers) of a study's plan; yield
        the first row of each result. `sql` has the parameters `:study`, `:first` and `:last`
        (see parallel_reads). StoreUnusable, or StoreDamaged, if the file cannot be read."""
        try:
            yield from parallel_reads.read_blocks(
                self.read_connection, self._open_reader, study, sql
            )
        except sqlite3.DatabaseError as error:
            raise self._unusable_error(error) from error

    def _unusable_error(self, error: sqlite3.DatabaseError) -> StoreUnusable:
        return StoreUnusable(f"the store {self.path} cannot be read: {error}; check the file")

    # ---- values computed from a version of a study -----------------------------------------

    def version(self, study: str) -> study_versions.StudyVersion:
        """Return a pair that identifies the present state of a study: it changes if the study
        is saved or gets a judgement. ("", 0) if there is no such study."""
        return self._versions.current_version(study, self.read)

    def memoised(
        self,
        study: str,
        what: tuple[Hashable, ...],
        work: Callable[[], Value],
        version: Hashable | None = None,
    ) -> Value:
        """Return the result of `work`, which is called only once per version of a study; its result
        is kept in the store's cache.

        `what` identifies the computation: its function and arguments. `version` replaces the
        study's version for results that depend on only a part of the study or on more than the
        study. Callers share the result and must not change it."""
        current = self.version(study) if version is None else version
        return self._cache.compute_once((study, *what), current, work)

    def find_memoised(
        self, study: str, what: tuple[Hashable, ...], version: Hashable | None = None
    ) -> Any:
        """Return the result that `memoised` has in its cache for the same arguments; None if it has
        none."""
        current = self.version(study) if version is None else version
        return self._cache.find((study, *what), current)

    def cached_on_disk(self, study: str, what: str, work: Callable[[], Value]) -> Value:
        """Return the result of `work` from the memory cache (as `memoised` does) or the disk cache;
        call `work` only if neither has it for the present version of the study. The result is
        stored on disk, under the name `what`, if `work` takes longer than MIN_CACHED_SECONDS.

        The result must be unchanged by conversion to JSON and back."""
        version = self.version(study)

        def read_or_compute_value() -> Value:
            value: Value | None = frame_cache.read_cached_value(
                self.path, study, what, lambda old: self._versions.is_current(study, old, self.read)
            )
            if value is None:
                began = time.monotonic()
                value = work()
                if time.monotonic() - began > MIN_CACHED_SECONDS:
                    frame_cache.cache_value(self.path, study, what, version, value)
            return value

        return self.memoised(study, (what,), read_or_compute_value, version)
