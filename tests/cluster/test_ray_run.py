"""A real local Ray: workers and drivers die, and the store is complete, with no key twice.

Slow, and only where Ray is installed: `make test-cluster`.
"""

from __future__ import annotations

import contextlib
import importlib.util
import os
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from studies.files.shards import find_shards, finished_keys
from studies.store.store import Store
from tests.conftest import ROOT
from tests.judge_server import JudgeServer, NoCache, judge
from tests.judges.small_studies import write_items
from tests.waiting import until

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(
        importlib.util.find_spec("ray") is None,
        reason="NO RAY HERE: make test-cluster installs it and runs these",
    ),
]
ASKS = 500


@pytest.fixture
def server() -> Iterator[JudgeServer]:
    with JudgeServer(cache=NoCache(), behaviour=judge("longer"), latency=0.25) as made:
        yield made


@pytest.fixture
def study(server: JudgeServer, tmp_path: Path) -> Path:
    items = write_items(tmp_path / "items.jsonl", ASKS)
    path = tmp_path / "study.yaml"
    path.write_text(
        f"name: small\ndata: {{source: {items}}}\nprompts: [visit-reference-free]\norders: one\n"
        "concurrency: 16\njudges:\n"
        f"  - {{name: judge, model: judge, base_url: '{server.base_url}',\n"
        "     price: {input: 2.0, output: 8.0}}\n",
        encoding="utf-8",
    )
    return path


def drive(study: Path, *more: str) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "judges", "run", str(study), "--engine", "ray",
               "--store", str(study.with_name("e.db")), *more]  # fmt: skip
    return subprocess.Popen(
        command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )


def descendants(pid: int) -> dict[int, str]:
    """The processes under one, by what they call themselves; Linux only."""
    parents: dict[int, int] = {}
    names: dict[int, str] = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                stat = (entry / "stat").read_text()
                names[int(entry.name)] = (entry / "cmdline").read_bytes().decode("utf-8", "replace")
                parents[int(entry.name)] = int(stat.rpartition(")")[2].split()[1])
            except OSError:
                continue
    found = {}
    for child in parents:
        up = child
        while up in parents and up != pid:
            up = parents[up]
        if up == pid and child != pid:
            found[child] = names[child]
    return found


def answered(server: JudgeServer) -> int:
    return int(server.bill.totals.calls)


def askers_of(driver: subprocess.Popen[str]) -> list[int]:
    return [pid for pid, name in descendants(driver.pid).items() if "MapWorker" in name]


def end(driver: subprocess.Popen[str]) -> None:
    """At once, and what it would leave behind, one by one."""
    under = descendants(driver.pid)
    driver.kill()
    for pid in under:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    driver.communicate()


def test_a_worker_and_then_the_driver_die_and_the_store_is_complete(
    server: JudgeServer, study: Path
) -> None:
    driver = drive(study)
    folder = study.with_name("e.db-shards") / "small"
    try:
        until(lambda: len(askers_of(driver)) == 2 or driver.poll() is not None)
        until(lambda: find_shards(folder) or driver.poll() is not None)
        assert driver.poll() is None, driver.communicate()[0]
        os.kill(askers_of(driver)[0], signal.SIGKILL)
        before = answered(server)
        until(lambda: answered(server) >= before + 60)
    finally:
        end(driver)

    kept = finished_keys(find_shards(folder))
    assert kept  # what was asked before is not lost with the driver
    calls = answered(server)
    assert calls < ASKS + 16
    again = drive(study)
    said = again.communicate(timeout=240)[0]
    assert again.returncode == 0, said
    store = Store(study.with_name("e.db"))
    judgements = list(store.judgements("small"))
    assert len(judgements) == ASKS
    assert Counter(j.status for j in judgements) == {"ok": ASKS}
    assert max(Counter(j.ask.key for j in judgements).values()) == 1
    assert "500 planned" in said
    # What the shards held was not asked again: only what was in flight, or not yet in a shard,
    # when somebody died (16 calls in flight, at most 2 s of answers unwritten).
    assert answered(server) - calls <= ASKS - len(kept)
    states = sorted(run.state for run in store.runs("small"))
    assert states == ["done", "interrupted"]
    store.close()
    third = drive(study)
    said = third.communicate(timeout=240)[0]
    assert third.returncode == 0, said
    assert answered(server) - calls <= ASKS - len(kept)  # nothing was left to ask
    assert "0 new" in said


def test_own_weights_go_through_a_processor(
    server: JudgeServer, study: Path, tmp_path: Path
) -> None:
    """A stand-in with the columns of Ray's vLLM processor: weights, a chat template and a GPU are
    what it stands for."""
    from judges.bulk.ray_run import RayCluster, run_on_ray
    from judges.planning.plan import make_plan, save_plan
    from studies.spec.study import load_study
    from tests.cluster.vllm_stand_in import processor

    plan = make_plan(load_study(study))
    store = Store(tmp_path / "w.db")
    save_plan(plan, store)
    cluster = RayCluster(weights={"judge": "/models/x"}, processor=processor)
    taken, stopped = run_on_ray(plan, store, cluster, max_asks=300)
    assert (taken.stored, stopped) == (ASKS, {})
    assert store.status_counts("small")["ok"] == ASKS - 1
    assert store.status_counts("small")["too_long"] == 1
    assert answered(server) == 0
    store.close()


def test_ray_that_runs_already_is_used_by_its_address(server: JudgeServer, study: Path) -> None:
    ray = str(Path(sys.executable).with_name("ray"))
    start = [ray, "start", "--head", "--port=0", "--num-cpus=2", "--include-dashboard=false",
             "--object-store-memory=150000000", "--block"]  # fmt: skip
    head = subprocess.Popen(start, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    try:
        address = ""
        assert head.stdout is not None
        for line in head.stdout:
            if "--address=" in line:
                address = line.partition("--address=")[2].strip().strip("'\"")
                break
        assert address
        driver = drive(study, "--address", address, "--workers", "2")
        said = driver.communicate(timeout=240)[0]
        assert driver.returncode == 0, said
    finally:
        end(head)
    store = Store(study.with_name("e.db"))
    assert store.status_counts("small") == {"planned": ASKS, "ok": ASKS}
    assert answered(server) == ASKS
    store.close()
