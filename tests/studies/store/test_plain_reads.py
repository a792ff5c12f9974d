"""A second look at a store never takes the log away from a process that writes to it."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import Future
from pathlib import Path
from typing import Any

import pytest

from studies.spec.study import DataSpec, Study
from studies.store import parallel_reads
from studies.store.recovery.plain_reads import is_open_here
from studies.store.store import Store
from tests.studies.small_items import ask, item, judged

ROOT = Path(__file__).resolve().parents[3]
COUNT = """
import sys
from studies.store.store import Store
store = Store(sys.argv[1])
print(store.read("SELECT count(*) FROM judgements").fetchone()[0])
store.close()
"""


def save(store: Store, name: str) -> None:
    made = [judged(ask(f"{name}{order}", "q1", order), 0) for order in ("xy", "yx")]
    spec = Study(name=name, data=DataSpec(source="a"))
    store.save_study(spec, [item("q1")], (), recorded=made, plan_sha=name, only_recorded=True)


def count_elsewhere(path: Path) -> int:
    """Judgements that another process finds; it is the last to close the store, if no lock says
    that this process has it open."""
    command = [sys.executable, "-c", COUNT, str(path)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    return int(done.stdout)


@pytest.mark.skipif(sys.platform == "win32", reason="locks of POSIX")
def test_writes_survive_a_second_opening_here_and_a_reader_elsewhere(tmp_path: Path) -> None:
    path = tmp_path / "s.db"
    store = Store(path)
    save(store, "one")
    assert is_open_here(path)
    Store(path).close()  # as the page of a Space does: it opens its store twice
    assert count_elsewhere(path) == 2
    save(store, "two")
    assert count_elsewhere(path) == 4
    store.close()
    assert not is_open_here(path)
    assert count_elsewhere(path) == 4


def test_a_file_that_is_not_open_here_is_checked(tmp_path: Path) -> None:
    assert not is_open_here(tmp_path / "none.db")
    path = tmp_path / "s.db"
    path.write_bytes(b"no database at all, but long enough to be one" * 4)
    with pytest.raises(Exception, match="not a database"):
        Store(path)


def test_only_a_few_blocks_are_read_ahead_of_the_caller(monkeypatch: pytest.MonkeyPatch) -> None:
    started: list[int] = []

    class Reader:
        def execute(self, sql: str, block: dict[str, int]) -> Reader:
            started.append(block["first"])
            return self

        def fetchone(self) -> tuple[int]:
            return (started[-1],)

    class AtOnce:
        """An executor that does the work when it is handed in."""

        def __init__(self, *_: object, **__: object) -> None:
            self.shutdown = lambda **_: None

        def submit(self, work: Callable[..., object], *values: object) -> Future[object]:
            done: Future[object] = Future()
            done.set_result(work(*values))
            return done

    monkeypatch.setattr(parallel_reads, "ThreadPoolExecutor", AtOnce)
    readers: list[Any] = [Reader(), Reader()]
    blocks = [{"first": number} for number in range(50)]
    for taken, row in enumerate(parallel_reads._read_in_order(readers, "", blocks), start=1):
        assert row == (taken - 1,)
        assert len(started) <= taken + len(readers) + 1
    assert started == list(range(50))
