"""One writer, group commit: whatever has queued is committed as soon as the last commit ends.

No timer: around 50 ms calls a 50 ms timer would halve the rate.
"""

from __future__ import annotations

import queue
import sqlite3
import threading
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any, Final, NamedTuple

from studies.errors import StoreUnusable

Work = Callable[[sqlite3.Connection], Any]
BATCH: Final = 256


class _Job(NamedTuple):
    work: Work
    done: Callable[[Any, Exception | None], None]


class Writer:
    """Runs all writes of a store in one thread, each batch in one transaction."""

    def __init__(self, connect: Callable[[], sqlite3.Connection]) -> None:
        self._connect = connect
        self._jobs: queue.SimpleQueue[_Job | None] = queue.SimpleQueue()
        self._thread = threading.Thread(target=self._loop, name="store-writer", daemon=True)
        self._thread.start()

    def submit(self, work: Work, done: Callable[[Any, Exception | None], None]) -> None:
        """Queues a write; `done(result, error)` is called in the writer's thread after commit."""
        self._jobs.put(_Job(work, done))

    def run(self, work: Work) -> Any:
        """A write that the caller waits for."""
        future: Future[Any] = Future()

        def done(result: Any, error: Exception | None) -> None:
            future.set_result(result) if error is None else future.set_exception(error)

        self.submit(work, done)
        return future.result()

    def close(self) -> None:
        self._jobs.put(None)
        self._thread.join(timeout=30)

    def _loop(self) -> None:
        connection = self._connect()
        open_for_business = True
        while open_for_business:
            batch, open_for_business = self._next_batch()
            if batch:
                _commit(connection, batch)
        connection.close()

    def _next_batch(self) -> tuple[list[_Job], bool]:
        job = self._jobs.get()
        batch: list[_Job] = []
        while job is not None:
            batch.append(job)
            if len(batch) >= BATCH or self._jobs.empty():
                return batch, True
            job = self._jobs.get()
        return batch, False


def _commit(connection: sqlite3.Connection, batch: list[_Job]) -> None:
    """All or nothing; if one of several fails, each is tried alone so that only it fails."""
    try:
        results = _transaction(connection, batch)
    except Exception as error:
        if len(batch) > 1 and not isinstance(error, sqlite3.OperationalError):
            for job in batch:
                _commit(connection, [job])
            return
        for job in batch:
            job.done(None, _readable(error))
        return
    for job, result in zip(batch, results, strict=True):
        job.done(result, None)


def _transaction(connection: sqlite3.Connection, batch: list[_Job]) -> list[Any]:
    connection.execute("BEGIN IMMEDIATE")
    try:
        results = [job.work(connection) for job in batch]
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise
    return results


def _readable(error: Exception) -> Exception:
    if not isinstance(error, sqlite3.OperationalError):
        return error
    message = str(error)
    remedy = {
        "database or disk is full": "the disk is full: free some space, then resume",
        "attempt to write a readonly database": "the store is read-only: allow writing, resume",
        "database is locked": "another program holds the store: close it, then resume",
    }
    return StoreUnusable(remedy.get(message, f"the store cannot be written: {message}"))
