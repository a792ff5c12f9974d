"""Killed processes, full disks, read-only files, several processes: no paid reply is lost."""

import contextlib
import io
import json
import os
import re
import signal
import sqlite3
import subprocess
import sys
import threading
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from judges.operations.terminal_progress import supervise_run
from judges.planning.plan import Plan, save_plan
from studies.errors import StoreUnusable
from studies.spec.study import dump_study
from studies.store.database import connect
from studies.store.run_journal import list_possibly_paid_calls
from studies.store.store import Store
from studies.store.writer import StoreWriter
from tests.canary_forms import CANARY, found_in
from tests.judge_server import JudgeServer, transient_fault_rules
from tests.judge_server.faults import rule_from_json
from tests.judges.small_studies import QUICK, endpoint, engine, run_through, study_plan
from tests.page_words import pattern, says
from tests.samples import sample
from tests.waiting import settled, until

ROOT = Path(__file__).resolve().parents[3]
KEY_VARIABLE = "EVENHAND_TEST_KEY"


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    made = Store(tmp_path / "store.db")
    yield made
    made.close()


class Disk:
    """The connections of a writer, to a store whose disk can be filled, locked or write-protected
    and repaired again. All statements run in the writer's thread: a connection that one thread
    closes while another uses it crashes the process."""

    def __init__(self, store: Store) -> None:
        self.pages: int | None = None
        self.read_only = False
        self._path = store.path
        self._writer = store._writer = StoreWriter(self.connect)

    def connect(self) -> sqlite3.Connection:
        made = connect(self._path)
        made.execute("PRAGMA busy_timeout=200")
        self._apply(made)
        return made

    def _apply(self, connection: sqlite3.Connection) -> None:
        connection.execute(f"PRAGMA max_page_count={self.pages or 1_000_000}")
        connection.execute(f"PRAGMA query_only={int(self.read_only)}")

    def _apply_now(self) -> None:
        with contextlib.suppress(StoreUnusable):  # then the writer connects again
            self._writer.run(self._apply)

    def fill(self) -> None:
        """No further page: what SQLite reports is what it reports when the disk is full."""

        def limit(connection: sqlite3.Connection) -> None:
            self.pages = connection.execute("PRAGMA page_count").fetchone()[0]
            self._apply(connection)

        with contextlib.suppress(StoreUnusable):  # a write beside it has met the limit
            self._writer.run(limit)

    def protect(self) -> None:
        self.read_only = True
        self._apply_now()

    def repair(self) -> None:
        self.pages, self.read_only = None, False
        self._apply_now()


@pytest.mark.parametrize("trouble", ["full", "read-only", "busy"])
def test_a_store_that_cannot_be_written_pauses_the_run_and_loses_nothing(trouble, store, tmp_path):
    with JudgeServer(latency=0.01) as server, engine() as made:
        plan = study_plan(tmp_path, [endpoint(server.base_url)], items=300, concurrency=8)
        disk = Disk(store)
        save_plan(plan, store)
        run = made.start(plan, store, settings=QUICK)
        until(lambda: run.snapshot().done >= 10)
        other = connect(store.path)
        if trouble == "full":
            disk.fill()
        elif trouble == "read-only":
            disk.protect()
        else:
            other.execute("BEGIN IMMEDIATE")
        until(lambda: run.snapshot().state == "paused")
        told = run.snapshot().reason
        calls = settled(lambda: server.bill.totals.calls)
        assert calls < 300, "nothing is asked that cannot be kept"
        disk.repair()
        if other.in_transaction:
            other.execute("ROLLBACK")
        run.resume()
        assert run.wait(60)
        other.close()
        assert server.bill.paid_twice == {}
        assert server.bill.totals.calls == 300
    remedy = {"full": "free some space", "read-only": "allow writing", "busy": "close it"}
    assert f"{remedy[trouble]}, then resume" in told
    assert store.status_counts("small") == {"planned": 300, "ok": 300}
    assert store.read("PRAGMA integrity_check").fetchone() == ("ok",)


def test_a_run_on_a_full_disk_can_be_stopped_and_says_why(store, tmp_path):
    with JudgeServer(latency=0.01) as server, engine() as made:
        plan = study_plan(tmp_path, [endpoint(server.base_url)], items=300, concurrency=8)
        disk = Disk(store)
        save_plan(plan, store)
        run = made.start(plan, store, settings=QUICK)
        until(lambda: run.snapshot().done >= 10)
        disk.fill()
        until(lambda: run.snapshot().state == "paused")
        run.stop()
        assert run.wait(120)
        assert run.state == "failed"
        assert says(run.reason, "disk", "full")
        disk.repair()
        stored = store.status_counts("small")["ok"]
        again = made.start(plan, store, settings=QUICK)
        assert again.wait(60)
        lost = server.bill.totals.calls - 300
    assert again.state == "done"
    assert 0 <= lost <= 8, "at most what was in flight is paid twice"
    assert stored >= 10


def test_at_a_terminal_a_full_disk_is_told_and_the_run_goes_on_once_there_is_room(store, tmp_path):
    told = io.StringIO()
    with JudgeServer(latency=0.01) as server, engine() as made:
        plan = study_plan(tmp_path, [endpoint(server.base_url)], items=200, concurrency=8)
        disk = Disk(store)
        save_plan(plan, store)
        run = made.start(plan, store, settings=QUICK)
        until(lambda: run.snapshot().done >= 10)
        disk.fill()
        until(lambda: run.snapshot().state == "paused")
        threading.Timer(0.5, disk.repair).start()
        snapshot = supervise_run(run, told)
    assert snapshot.state == "done"
    assert len(re.findall(pattern("paused", "disk is full"), told.getvalue())) == 1
    assert store.status_counts("small") == {"planned": 200, "ok": 200}


def test_a_store_that_is_read_only_from_the_start_is_refused_before_anything_is_asked(
    store, tmp_path
):
    with JudgeServer() as server, engine() as made:
        plan = study_plan(tmp_path, [endpoint(server.base_url)], items=3)
        save_plan(plan, store)
        disk = Disk(store)
        disk.read_only = True
        with pytest.raises(StoreUnusable, match="read-only"):
            made.start(plan, store, settings=QUICK)
        assert server.bill.totals.calls == 0


# --- processes that die, and processes side by side ---------------------------------------------


def study_file(folder: Path, plan: Plan) -> Path:
    path = folder / "study.yaml"
    path.write_text(dump_study(plan.study))
    return path


def asking(study: Path, store: Path, key: str = "") -> subprocess.Popen[bytes]:
    """A run in a process of its own; `key`: the API key in its environment."""
    command = [sys.executable, "-m", "judges", "run", str(study), "--store", str(store)]
    environment = os.environ | ({KEY_VARIABLE: key} if key else {})
    command += ["--allow-keys"] if key else []
    # A test runner in the background of a shell hands down an ignored Ctrl-C: heed it again.
    return subprocess.Popen(
        command, cwd=ROOT, env=environment, start_new_session=True,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )  # fmt: skip


def judged(path: Path) -> int:
    """Looked at from outside, as another program would."""
    if not path.exists():
        return 0
    with sqlite3.connect(f"file:{path}?mode=ro", uri=True, timeout=5) as connection:
        try:
            return int(connection.execute("SELECT count(*) FROM judgements").fetchone()[0])
        except sqlite3.OperationalError:
            return 0


def kill_and_resume(
    folder: Path,
    asks: int,
    in_flight: int,
    kill_at: list[int],
    *,
    faults: str = "[]",
    key: str = "",
    **judge: Any,
) -> dict[str, Any]:
    """Kills a run whenever so many judgements are stored, then lets it finish."""
    path = folder / "store.db"
    judge |= {"api_key_env": KEY_VARIABLE} if key else {}
    rules = [rule_from_json(rule) for rule in json.loads(faults)]
    with JudgeServer(latency=(0.02, 0.06), echo_key=True, rules=rules) as server:
        asked = [endpoint(server.base_url, **judge)]
        plan = study_plan(folder, asked, items=asks, concurrency=in_flight)
        file = study_file(folder, plan)
        stored_after_kills = []
        for point in kill_at:
            if judged(path) >= point:  # the last child was quicker than our looking
                continue
            child = asking(file, path, key)
            until(
                lambda point=point, child=child: judged(path) >= point or child.poll() is not None,
                240,
            )  # type: ignore[misc]
            child.kill()
            child.communicate()
            if child.returncode == -signal.SIGKILL:  # else it ended before it was killed
                stored_after_kills.append((point, judged(path)))
        child = asking(file, path, key)
        out, err = child.communicate(timeout=240)
        return {
            "code": child.returncode,
            "out": out.decode() + err.decode(),
            "stored": stored_after_kills,
            "bill": server.books(with_calls=True),
        }


def check_kills(
    folder: Path, asks: int, in_flight: int, kill_at: list[int], **more: Any
) -> dict[str, Any]:
    done = kill_and_resume(folder, asks, in_flight, kill_at, **more)
    assert done["code"] == 0, done["out"]
    assert f"planned {asks:,}, done {asks:,}" in done["out"]
    kills = len(done["stored"])
    assert kills > len(kill_at) / 2
    for point, stored in done["stored"]:
        assert stored >= point, "what was committed is there"
    store = Store(folder / "store.db")
    assert store.status_counts("small") == {"planned": asks, "ok": asks}
    assert store.read("PRAGMA integrity_check").fetchone() == ("ok",)
    again = done["bill"]["totals"]["billed"] - asks
    assert 0 <= again <= in_flight * kills, "re-paid at most what was in flight at each kill"
    doubtful = list_possibly_paid_calls(store)
    assert again <= len(doubtful), "and all of it is listed"
    assert len(doubtful) <= in_flight * kills, "and nothing that was not in flight"
    if again:
        assert "possibly paid twice" in done["out"]
    interrupted = [run for run in store.runs() if run.state == "interrupted"]
    unfinished = sum(stored < asks for _, stored in done["stored"])  # else killed after its end
    assert unfinished <= len(interrupted) <= kills
    assert says(interrupted[0].reason, "start", "study again")
    store.close()
    return {**done, "again": again, "kills": kills}


@pytest.mark.extra
def test_killed_at_three_points_nothing_committed_is_lost(tmp_path):
    check_kills(tmp_path, asks=150, in_flight=16, kill_at=[5, 60, 120])


def check_kills_under_faults(folder: Path, asks: int, kill_at: list[int]) -> dict[str, Any]:
    """Kills at 15 % transient faults, with an endpoint that repeats the key in its errors."""
    faults = transient_fault_rules(0.15)
    done = check_kills(folder, asks, 16, kill_at, faults=faults, key=CANARY)
    assert sum(done["bill"]["by_fault"].values()) > 0.1 * asks
    assert found_in(done["out"]) == []
    leaks = {p.name: found_in(p.read_bytes()) for p in folder.rglob("*") if p.is_file()}
    assert {name: forms for name, forms in leaks.items() if forms} == {}
    return done


@pytest.mark.parametrize("kill_at", sample([[20], [20, 70]], [20]))
def test_killed_with_faults_nothing_is_lost_and_no_key_is_stored(kill_at, tmp_path):
    check_kills_under_faults(tmp_path, asks=120, kill_at=kill_at)


@pytest.mark.extra
def test_two_processes_with_one_study_pay_once(tmp_path):
    path = tmp_path / "store.db"
    with JudgeServer(latency=0.05) as server:
        plan = study_plan(tmp_path, [endpoint(server.base_url)], items=120, concurrency=8)
        file = study_file(tmp_path, plan)
        children = [asking(file, path) for _ in range(2)]
        outs = [child.communicate(timeout=240) for child in children]
        bill = server.books()
    assert [child.returncode for child in children] == [0, 0], outs
    assert bill["totals"]["billed"] == 120
    assert bill["paid_twice"] == {}
    for out, _ in outs:
        assert b"planned 120, done 120" in out


@pytest.mark.extra
def test_a_dead_owners_lease_is_taken_over(tmp_path):
    path = tmp_path / "store.db"
    with JudgeServer(latency=1.5) as server:
        plan = study_plan(tmp_path, [endpoint(server.base_url)], items=40, concurrency=4)
        file = study_file(tmp_path, plan)
        child = asking(file, path)
        until(lambda: server.books()["totals"]["calls"] == 4, 240)
        os.kill(child.pid, signal.SIGKILL)
        child.communicate()
        store = Store(path)
        assert len(list_possibly_paid_calls(store)) == 4, "those in flight, not the 36 in the queue"
        assert store.read("SELECT count(*) FROM leases").fetchone() == (4,)
        run = run_through(plan, store, settings=replace(QUICK, concurrency=40))
        assert run.state == "done"
        assert run.snapshot().possibly_paid_twice == 4
        assert server.books()["totals"]["billed"] == 44
        store.close()


@pytest.mark.parametrize("sent", sample([signal.SIGINT, signal.SIGTERM], signal.SIGTERM))
def test_ctrl_c_or_a_scheduler_stops_cleanly_and_the_next_run_goes_on(sent, tmp_path):
    path = tmp_path / "store.db"
    with JudgeServer(latency=0.05) as server:
        plan = study_plan(tmp_path, [endpoint(server.base_url)], items=60, concurrency=2)
        file = study_file(tmp_path, plan)
        child = asking(file, path)
        until(lambda: judged(path) >= 5, 240)
        child.send_signal(sent)
        out, _ = child.communicate(timeout=240)
        assert child.returncode == 1
        assert b"stopped by you" in out
        store = Store(path)
        assert run_through(plan, store, settings=QUICK).state == "done"
        assert server.books()["totals"]["billed"] == 60
    assert list_possibly_paid_calls(store) == []
    assert [run.state for run in store.runs()] == ["done", "stopped"]
    assert json.dumps(store.status_counts("small"))
    store.close()
