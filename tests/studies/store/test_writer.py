"""The writer: reported writes are on disk; a failed write does not affect others."""

import asyncio
import contextlib
import sqlite3
import threading
from pathlib import Path
from types import SimpleNamespace

import pytest

from studies.errors import StoreUnusable
from studies.store.database import connect
from studies.store.recovery.wal_check import read_wal, wal_path
from studies.store.store import Store
from studies.store.writer import StoreWriter, _resolve_future


@pytest.fixture
def path(tmp_path: Path) -> Path:
    made = connect(tmp_path / "x.db", create=True)
    made.execute("PRAGMA journal_mode=WAL")
    made.execute("CREATE TABLE numbers (n INTEGER PRIMARY KEY) STRICT")
    made.close()
    return tmp_path / "x.db"


def numbers(path: Path) -> list[int]:
    with sqlite3.connect(path) as connection:
        return [n for (n,) in connection.execute("SELECT n FROM numbers ORDER BY n")]


def put(n: int):  # type: ignore[no-untyped-def]
    return lambda c: c.execute("INSERT INTO numbers VALUES (?)", (n,)).lastrowid


def test_what_has_queued_during_a_commit_is_committed_together(path):
    commits: list[str] = []

    def watched() -> sqlite3.Connection:
        made = connect(path)
        made.set_trace_callback(lambda sql: commits.append(sql) if sql == "COMMIT" else None)
        return made

    writer = StoreWriter(watched)
    gate = threading.Event()

    async def many() -> list[int]:
        loop = asyncio.get_running_loop()
        waiting = [loop.create_future() for _ in range(100)]
        held = loop.create_future()
        writer.submit_from_loop(loop, lambda c: gate.wait(120), held)
        for n, future in enumerate(waiting):
            writer.submit_from_loop(loop, put(n), future)
        gate.set()
        return list(await asyncio.gather(*waiting))

    assert asyncio.run(many()) == list(range(100))
    writer.close()
    assert len(commits) <= 3, "100 rows, not 100 commits"
    assert numbers(path) == list(range(100))


def test_a_commit_has_at_most_so_many_writes(path, monkeypatch):
    monkeypatch.setattr("studies.store.writer.MAX_BATCH_JOBS", 3)
    commits: list[str] = []

    def watched() -> sqlite3.Connection:
        made = connect(path)
        made.set_trace_callback(lambda sql: commits.append(sql) if sql == "COMMIT" else None)
        return made

    writer = StoreWriter(watched)
    begun, gate = threading.Event(), threading.Event()

    async def many() -> None:
        loop = asyncio.get_running_loop()
        waiting = [loop.create_future() for _ in range(8)]
        writer.submit_from_loop(loop, lambda c: begun.set() or gate.wait(120), waiting[7])
        begun.wait(120)
        for n, future in enumerate(waiting[:7]):
            writer.submit_from_loop(loop, put(n), future)
        gate.set()
        await asyncio.gather(*waiting)

    asyncio.run(many())
    writer.close()
    assert numbers(path) == list(range(7))
    assert len(commits) == 1 + 3, "3, 3 and 1"


def test_one_write_that_fails_takes_no_other_with_it(path):
    writer = StoreWriter(lambda: connect(path))
    writer.run(put(7))
    gate = threading.Event()

    async def three() -> list[object]:
        loop = asyncio.get_running_loop()
        held = loop.create_future()
        writer.submit_from_loop(loop, lambda c: gate.wait(120), held)
        waiting = [loop.create_future() for _ in range(3)]
        for n, future in zip((1, 7, 2), waiting, strict=True):
            writer.submit_from_loop(loop, put(n), future)
        gate.set()
        return await asyncio.gather(*waiting, return_exceptions=True)

    one, seven, two = asyncio.run(three())
    writer.close()
    assert (one, two) == (1, 2)
    assert isinstance(seven, sqlite3.IntegrityError)
    assert numbers(path) == [1, 2, 7]


def test_a_store_that_cannot_be_opened_is_an_error_not_a_silence(tmp_path):
    writer = StoreWriter(lambda: connect(tmp_path / "no" / "such" / "folder.db"))
    with pytest.raises(StoreUnusable, match="cannot be written"):
        writer.run(put(1))
    writer.close()


def test_a_connection_that_failed_is_opened_anew(path):
    made: list[sqlite3.Connection] = []

    def first_read_only() -> sqlite3.Connection:
        connection = connect(path)
        if not made:
            connection.execute("PRAGMA query_only=ON")
        made.append(connection)
        return connection

    writer = StoreWriter(first_read_only)
    with pytest.raises(StoreUnusable, match="read-only: allow writing"):
        writer.run(put(1))
    writer.run(put(1))
    writer.close()
    assert numbers(path) == [1]


def test_a_file_that_is_spoilt_is_trouble_with_the_store(path):
    writer = StoreWriter(lambda: connect(path))
    writer.run(put(1))
    writer.close()
    content = bytearray(path.read_bytes())
    content[100:] = b"\xff" * (len(content) - 100)
    path.write_bytes(content)
    writer = StoreWriter(lambda: connect(path))
    with pytest.raises(StoreUnusable, match=r"cannot be read: .*repair"):
        writer.run(put(2))
    writer.close()


def test_a_folder_that_is_gone_is_trouble_with_the_store(path):
    def gone() -> None:
        raise FileNotFoundError(2, "No such file or directory", str(path))

    writer = StoreWriter(lambda: connect(path))
    writer.current_file = gone
    with pytest.raises(StoreUnusable, match="No such file"):
        writer.run(put(1))
    writer.close()


def test_who_writes_while_it_is_closed_is_told_and_never_left_waiting(path):
    for _ in range(20):
        writer = StoreWriter(lambda: connect(path))
        told: list[bool] = []

        def write(writer: StoreWriter = writer, told: list[bool] = told) -> None:
            with contextlib.suppress(StoreUnusable):
                while True:
                    writer.run(lambda c: None)
            told.append(True)

        threads = [threading.Thread(target=write, daemon=True) for _ in range(4)]
        for thread in threads:
            thread.start()
        writer.close()
        for thread in threads:
            thread.join(120)
        assert told == [True] * 4


def test_a_closed_writer_says_so(path):
    writer = StoreWriter(lambda: connect(path))
    writer.close()
    with pytest.raises(StoreUnusable, match="closed"):
        writer.run(put(1))


def test_a_loop_that_closed_meanwhile_does_not_stop_the_writer(path):
    writer = StoreWriter(lambda: connect(path))
    gate = threading.Event()

    async def leave() -> None:
        loop = asyncio.get_running_loop()
        writer.submit_from_loop(loop, lambda c: gate.wait(120), loop.create_future())
        writer.submit_from_loop(loop, put(3), loop.create_future())

    asyncio.run(leave())
    gate.set()
    writer.run(put(4))
    writer.close()
    assert numbers(path) == [3, 4]


def test_the_advice_after_a_failed_write_fits_any_command(path):
    def small() -> sqlite3.Connection:
        made = connect(path)
        made.execute(f"PRAGMA max_page_count={made.execute('PRAGMA page_count').fetchone()[0]}")
        return made

    writer = StoreWriter(small)
    with pytest.raises(StoreUnusable, match=r"free some space, then try again$"):
        writer.run(lambda c: c.execute("CREATE TABLE more AS SELECT zeroblob(100000)"))
    writer.close()


def test_every_commit_has_the_page_with_the_store_s_identity_in_the_log(store: Store) -> None:
    """By this page it is known later that the log belongs to the store."""
    with contextlib.closing(sqlite3.connect(store.path)) as connection:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
    assert read_wal(wal_path(store.path)) is None
    store.writer.run(lambda c: c.execute("UPDATE studies SET updated=1"))
    log = read_wal(wal_path(store.path))
    assert log is not None and 1 in log.latest_offsets_by_page()


def test_a_write_that_nobody_waits_for_has_no_result():
    async def act() -> None:
        loop = asyncio.get_running_loop()
        for error in (None, ValueError("no")):
            kept, gone = loop.create_future(), loop.create_future()
            gone.cancel()
            for waiting in (kept, gone):
                job = SimpleNamespace(waiting=waiting)
                _resolve_future(SimpleNamespace(job=job, error=error, result=7))
            assert gone.cancelled()
            assert (kept.exception() if error else kept.result()) == (error or 7)

    asyncio.run(act())
