"""Full disks: a limit on file sizes, and a file system of a few megabytes.

The child is `python -m judges run` as a user starts it; the errors come from the kernel.
"""

import contextlib
import os
import resource
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

import pytest

from studies.store.run_journal import list_possibly_paid_calls
from studies.store.store import Store
from tests.judge_server import JudgeServer
from tests.judges.engine.test_endpoint_failures import asking, judged, study_file
from tests.judges.small_studies import endpoint, study_plan
from tests.small_disk import filled, mounted
from tests.waiting import until

pytestmark = [
    pytest.mark.extra,
    pytest.mark.skipif(sys.platform != "linux", reason="NOT LINUX: no prlimit, no tmpfs"),
]
ASKS = 200
IN_FLIGHT = 8
REFUSED = "writing to the disk failed"


class Told:
    """What a child says on standard error, read while it runs."""

    def __init__(self, child: subprocess.Popen[bytes]) -> None:
        assert child.stderr is not None
        self._fd = child.stderr.fileno()
        os.set_blocking(self._fd, False)
        self.text = ""

    def holds(self, words: str) -> bool:
        with contextlib.suppress(BlockingIOError):
            self.text += os.read(self._fd, 65536).decode()
        return words in self.text


@contextmanager
def limited_files(child: subprocess.Popen[bytes], store: Path) -> Iterator[None]:
    """No file of the child may grow beyond what the store's log has now (the kernel's EFBIG;
    Python ignores the signal that goes with it)."""
    log = store.with_name(store.name + "-wal").stat().st_size
    resource.prlimit(child.pid, resource.RLIMIT_FSIZE, (log + 8192, resource.RLIM_INFINITY))
    yield
    if child.poll() is None:
        room = (resource.RLIM_INFINITY, resource.RLIM_INFINITY)
        resource.prlimit(child.pid, resource.RLIMIT_FSIZE, room)


@contextmanager
def full_file_system(_: subprocess.Popen[bytes], store: Path) -> Iterator[None]:
    """Every block of the file system is taken by a file of somebody else."""
    with filled(store.parent):
        yield


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    with mounted(tmp_path / "disk") as folder:
        yield folder


Trouble = Callable[[subprocess.Popen[bytes], Path], AbstractContextManager[None]]


@pytest.fixture(params=["file sizes", "file system"])
def trouble(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[Trouble, Path, str]:
    """How the disk gets full, where the store is, and what the run should say."""
    if request.param == "file sizes":
        return limited_files, tmp_path / "store.db", REFUSED
    return full_file_system, request.getfixturevalue("small_disk") / "store.db", "the disk is full"


def test_a_full_disk_pauses_the_run_which_goes_on_when_there_is_room(trouble, tmp_path):
    make, path, words = trouble
    with JudgeServer(latency=0.02) as server:
        plan = study_plan(tmp_path, [endpoint(server.base_url)], ASKS, concurrency=IN_FLIGHT)
        child = asking(study_file(tmp_path, plan), path)
        told = Told(child)
        until(lambda: judged(path) >= 20, 240)
        with make(child, path):
            until(lambda: told.holds(words), 240)
            stored = judged(path)
            calls = server.books()["totals"]["calls"]
            assert calls <= stored + 2 * IN_FLIGHT, "nothing more is asked that cannot be kept"
        out, _ = child.communicate(timeout=240)
        bill = server.books()
    assert child.returncode == 0, out
    assert bill["totals"]["billed"] == ASKS
    assert bill["paid_twice"] == {}
    check(path, stored)


def test_a_run_that_is_stopped_on_a_full_disk_says_why_and_the_next_one_completes_it(tmp_path):
    make, path, words = limited_files, tmp_path / "store.db", REFUSED
    with JudgeServer(latency=0.02) as server:
        plan = study_plan(tmp_path, [endpoint(server.base_url)], ASKS, concurrency=IN_FLIGHT)
        file = study_file(tmp_path, plan)
        child = asking(file, path)
        told = Told(child)
        until(lambda: judged(path) >= 20, 240)
        with make(child, path):
            until(lambda: told.holds(words), 240)
            child.send_signal(signal.SIGINT)
            out, _ = child.communicate(timeout=240)
            stored = judged(path)
        assert child.returncode == 1
        assert f"small: failed: {words}" in out.decode()
        child = asking(file, path)
        out, err = child.communicate(timeout=240)
        assert child.returncode == 0, err
        again = server.books()["totals"]["billed"] - ASKS
    assert 0 <= again <= IN_FLIGHT, "at most what was in flight is paid twice"
    store = check(path, stored)
    assert again <= len(list_possibly_paid_calls(store)) <= IN_FLIGHT, "and it is listed"
    store.close()


def check(path: Path, stored: int) -> Store:
    assert stored >= 20
    store = Store(path)
    assert store.status_counts("small") == {"planned": ASKS, "ok": ASKS}
    assert store.read("PRAGMA integrity_check").fetchone() == ("ok",)
    return store
