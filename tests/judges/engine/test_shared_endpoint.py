"""Two runs at one endpoint: each gets its share of a request limit."""

from pathlib import Path

import pytest

from judges.engine.run_state import RunSettings
from judges.planning.plan import save_plan
from studies.store.store import Store
from tests.judge_server import JudgeServer, Limiter, Rule, sometimes
from tests.judge_server.faults import Fault
from tests.judges.small_studies import endpoint, engine, study_plan
from tests.waiting import until


def shares(tmp_path: Path, rules: list[Rule], replies: int = 150) -> tuple[int, int, int]:
    """Replies of two runs at 20 calls a second, and the refused calls."""
    store = Store(tmp_path / "store.db")
    with (
        JudgeServer(latency=0.02, limiter=Limiter(20, burst=5), rules=rules) as server,
        engine() as made,
    ):
        runs = []
        for name in ("one", "two"):
            judge = endpoint(server.base_url, temperature=0.1 if name == "one" else 0.2)
            plan = study_plan(tmp_path, [judge], items=400, name=name, concurrency=8)
            save_plan(plan, store)
            runs.append(made.start(plan, store, settings=RunSettings()))
        until(lambda: all(run.snapshot().done >= 5 for run in runs), 60)
        before = [run.snapshot().done for run in runs]
        until(lambda: sum(run.snapshot().done for run in runs) - sum(before) >= replies, 120)
        done = [run.snapshot().done - start for run, start in zip(runs, before, strict=True)]
        refused = server.books()["limiter"]["refused"]
        for run in runs:
            run.stop()
        assert all(run.wait(60) for run in runs)
    store.close()
    return done[0], done[1], refused


@pytest.mark.extra
def test_two_runs_share_a_request_limit_fairly(tmp_path):
    one, two, refused = shares(tmp_path, [])
    assert min(one, two) >= 0.6 * max(one, two), (one, two)
    assert refused <= 0.2 * (one + two + refused), "runs at one endpoint share what was learned"


@pytest.mark.extra
def test_two_runs_share_fairly_with_transient_faults(tmp_path):
    faults = [sometimes(Fault("server_error"), 0.08), sometimes(Fault("unavailable"), 0.08)]
    one, two, _ = shares(tmp_path, faults)
    assert min(one, two) >= 0.6 * max(one, two), (one, two)


def test_waits_name_the_rate_limiter_that_judges_of_one_endpoint_share(tmp_path):
    store = Store(tmp_path / "store.db")
    with JudgeServer(latency=0.05) as one, JudgeServer(latency=0.05) as two, engine() as made:
        judges = [
            endpoint(server.base_url, name, model=name)
            for name, server in (("a", one), ("b", one), ("c", two), ("d", two))
        ]
        plan = study_plan(tmp_path, judges, items=400, store=store, concurrency=2)
        run = made.start(plan, store, settings=RunSettings())
        until(lambda: run.snapshot().done, 60)
        for name in "abc":
            run.leave_out_judge(name)
        until(lambda: len(run.snapshot().waits) == 3, 60)
        numbers = {wait.judge: wait.limiter for wait in run.snapshot().waits}
        run.stop()
        assert run.wait(60)
    store.close()
    assert numbers["a"] == numbers["b"] != numbers["c"]
