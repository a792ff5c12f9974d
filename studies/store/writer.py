"""The writer thread of a store, with group commit.

The writes queued during a commit, up to MAX_BATCH_JOBS, form the next commit. There is no timer to
collect more writes: a timer of 50 ms would halve the rate of calls that take 50 ms.
"""

import asyncio
import contextlib
import queue
import sqlite3
import threading
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any, Final, NamedTuple

from studies.errors import TRY_AGAIN, StoreUnusable
from studies.store.recovery.backup import rewrite_identity

WriteFunction = Callable[[sqlite3.Connection], Any]
MAX_BATCH_JOBS: Final = 256
_CLOSED_MESSAGE: Final = "the store was closed"
_ERROR_ADVICE: Final = {
    "database or disk is full": f"the disk is full: free some space, {TRY_AGAIN}",
    "disk I/O error": "writing to the disk failed (it is full, over a quota or a file size limit, "
    f"or defective): make room, {TRY_AGAIN}",
    "unable to open database file": "the store cannot be written because its file cannot be opened "
    f"(the disk is full, or the folder was deleted): make room, {TRY_AGAIN}",
    "attempt to write a readonly database": f"the store is read-only: allow writing, {TRY_AGAIN}",
    "database is locked": f"another program has locked the store: close it, {TRY_AGAIN}",
}


class _WriteJob(NamedTuple):
    work: WriteFunction
    waiting: Future[Any] | asyncio.Future[Any]
    loop: asyncio.AbstractEventLoop | None
    """Event loop of the future that receives the result; None if a thread waits for the result."""


class _WriteResult(NamedTuple):
    job: _WriteJob
    result: Any
    error: Exception | None


class StoreWriter:
    """Runs all writes of a store in one thread, each batch of queued writes in one transaction."""

    def __init__(self, connect: Callable[[], sqlite3.Connection]) -> None:
        self._connect = connect
        self._connection: sqlite3.Connection | None = None
        self.current_file: Callable[[], object] = lambda: None
        """Function that returns a stamp of the store's file; a new stamp makes the writer reopen
        it."""
        self._file: object = None
        self._jobs: queue.SimpleQueue[_WriteJob | None] = queue.SimpleQueue()
        self._closed = False
        self._submit_lock = threading.Lock()
        """Lock that prevents queueing a write after the thread has ended."""
        self._thread = threading.Thread(
            target=self._commit_until_closed, name="store-writer", daemon=True
        )
        self._thread.start()

    def submit_from_loop(
        self, loop: asyncio.AbstractEventLoop, work: WriteFunction, waiting: asyncio.Future[Any]
    ) -> None:
        """Queue a write from code that runs in the event loop `loop`, without waiting. After the
        commit, the future `waiting` gets the result of the write, or its error."""
        self._queue_write(_WriteJob(work, waiting, loop))

    def run(self, work: WriteFunction) -> Any:
        """Queue the write `work` and wait for its commit; return its result, or raise its error."""
        waiting: Future[Any] = Future()
        self._queue_write(_WriteJob(work, waiting, None))
        return waiting.result()

    def _queue_write(self, job: _WriteJob) -> None:
        with self._submit_lock:
            if self._closed:
                raise StoreUnusable(_CLOSED_MESSAGE)
            self._jobs.put(job)

    def close(self) -> None:
        with self._submit_lock:
            self._closed = True
            self._jobs.put(None)
        self._thread.join(timeout=30)

    def _commit_until_closed(self) -> None:
        """Commit queued writes until the writer is closed; runs in the writer's thread."""
        running = True
        while running:
            batch, running = self._next_batch()
            if batch:
                _deliver_results(self._commit(batch))
        self._disconnect()

    def _next_batch(self) -> tuple[list[_WriteJob], bool]:
        """Wait for queued writes; return at most MAX_BATCH_JOBS of them, and whether the writer
        goes on (False if it was closed after them)."""
        job = self._jobs.get()
        batch: list[_WriteJob] = []
        while job is not None:
            batch.append(job)
            if len(batch) >= MAX_BATCH_JOBS or self._jobs.empty():
                return batch, True
            job = self._jobs.get()
        return batch, False

    def _commit(self, batch: list[_WriteJob]) -> list[_WriteResult]:
        """Commit queued writes in one transaction; return the result or error of each. If one write
        fails, each is committed in a transaction of its own. If the database fails (for example
        because the disk is full), all writes get its error."""
        try:
            results = self._run_in_transaction(batch)
        except Exception as error:
            if len(batch) > 1 and not isinstance(error, sqlite3.OperationalError):
                return [done for job in batch for done in self._commit([job])]
            self._disconnect()  # a file that was made writable is detected only by a new connection
            return [_WriteResult(job, None, _error_to_report(error)) for job in batch]
        return [_WriteResult(job, result, None) for job, result in zip(batch, results, strict=True)]

    def _run_in_transaction(self, batch: list[_WriteJob]) -> list[Any]:
        """Run the writes in one transaction and return their results; after an error nothing is
        written, and the error is raised. If the store's file was replaced, a new connection is
        opened first."""
        if self._connection is None or self._file != self.current_file():
            self._disconnect()
            self._file = self.current_file()
            self._connection = self._connect()
        connection = self._connection
        connection.execute("BEGIN IMMEDIATE")
        try:
            rewrite_identity(connection)
            results = [job.work(connection) for job in batch]
            connection.execute("COMMIT")
        except BaseException:
            if connection.in_transaction:
                connection.execute("ROLLBACK")
            raise
        return results

    def _disconnect(self) -> None:
        if self._connection is not None:
            with contextlib.suppress(sqlite3.Error):
                self._connection.close()
            self._connection = None


def _deliver_results(batch: list[_WriteResult]) -> None:
    """Give the results of writes to the futures that wait for them. Each event loop is woken only
    once for all its results, because waking it takes long."""
    by_loop: dict[asyncio.AbstractEventLoop, list[_WriteResult]] = {}
    for done in batch:
        if done.job.loop is None:
            _resolve_future(done)
        else:
            by_loop.setdefault(done.job.loop, []).append(done)
    for loop, group in by_loop.items():
        with contextlib.suppress(RuntimeError):  # the loop was closed, and no future is waiting
            loop.call_soon_threadsafe(_resolve_futures, group)


def _resolve_futures(results: list[_WriteResult]) -> None:
    for done in results:
        _resolve_future(done)


def _resolve_future(done: _WriteResult) -> None:
    waiting = done.job.waiting
    if waiting.done():  # cancelled
        return
    if done.error is None:
        waiting.set_result(done.result)
    else:
        waiting.set_exception(done.error)


def _error_to_report(error: Exception) -> Exception:
    """Return the error to report: StoreUnusable for errors of the file or disk, which the user can
    correct; other errors unchanged."""
    malformed = type(error) is sqlite3.DatabaseError  # damaged, or not a database
    if not (malformed or isinstance(error, (sqlite3.OperationalError, OSError))):
        return error
    message = str(error)
    return StoreUnusable(_ERROR_ADVICE.get(message, f"the store cannot be written: {message}"))
