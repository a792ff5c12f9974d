"""Paid replies are stored when another worker or the store fails."""

import asyncio
import json
import sqlite3

import pytest

from judges.bulk.ray_worker import AttemptLog
from judges.engine.attempt import AskAttempts
from judges.engine.limits.rate_limit import EndpointLimiter
from judges.engine.run_state import JudgeState, RunSettings, RunState
from judges.engine.worker_pool import JudgeQueue, WorkerPool
from judges.models.clients import EndpointModel
from judges.money.costs import Ledger
from judges.planning.plan import asks_of, make_plan, save_plan
from studies.domain import Judgement
from studies.spec.study import study_from_mapping
from studies.store.store import PlanChange, Store
from tests.judge_server import JudgeServer
from tests.judges.small_studies import QUICK, endpoint, engine, run_through, start_small, study_plan
from tests.page_words import says
from tests.waiting import until

PIXEL = bytes.fromhex(
    "89504e470d0a1a0a0000000d4948445200000001000000010802000000907753de0000000c49444154789c63"
    "f8cfc0000003010100c9fe92ef0000000049454e44ae426082"
)


class Broken(Exception):
    """A fault of ours."""


@pytest.mark.parametrize("where", ["call", "settle"])
def test_a_fault_of_ours_ends_the_run_after_what_was_in_flight_is_stored(where, tmp_path):
    # Eight calls of 0.3 s are under way when the fault comes.
    settled: list[str] = []

    async def ask(url):
        plan = study_plan(tmp_path, [endpoint(url)], items=12)
        planned = {p.ask.key: p for p in asks_of(plan)}
        waiting = [p.ask for p in planned.values()]

        def page(limit):
            taken, waiting[:] = waiting[:8], waiting[8:]
            return taken

        def call_for(ask):
            if where == "call" and ask.key == list(planned)[8]:
                raise Broken
            return planned[ask.key].call

        async def settle(judgement: Judgement, attempts: AskAttempts):
            await desk.journal.end_attempt(attempts.attempt, "ok", attempts.usage, attempts.cost)
            if where == "settle" and not settled:
                settled.append("lost")
                raise Broken
            settled.append(judgement.status)

        model = EndpointModel(url, "none")
        state = JudgeState("judge", model, None, EndpointLimiter(9), 9)
        desk = RunState(RunSettings(), AttemptLog("me"), Ledger(), {"judge": state})
        desk.apply_controls()
        try:
            with pytest.raises(Broken):
                await WorkerPool(desk, [JudgeQueue(state, page, call_for, settle)]).run()
        finally:
            await model.close()

    with JudgeServer(latency=0.3) as server:
        asyncio.run(ask(server.base_url))
        calls = server.bill.totals.calls
    assert calls >= 8
    assert settled.count("ok") == calls - (where == "settle")


@pytest.mark.parametrize("replaced", [False, True])
def test_an_image_gone_or_replaced_stops_the_judge_that_sees_alone(tmp_path, store, replaced):
    """A reply on another image than the one of the plan must not be kept under its key."""
    (tmp_path / "p.png").write_bytes(PIXEL)
    item = {
        "id": "q", "instruction": "?", "images": ["p.png"], "responses": {"x": "1", "y": "2"},
        "criteria": {"subjective": "names it"},
    }  # fmt: skip
    (tmp_path / "items.jsonl").write_text(json.dumps(item))
    with JudgeServer() as server:
        judges = [endpoint(server.base_url, "sees", vision=True), endpoint(server.base_url, "not")]
        values = {
            "name": "small", "data": {"source": str(tmp_path / "items.jsonl")}, "judges": judges,
            "prompts": ["creation-subjective"], "orders": "one", "judge_sees": "images",
        }  # fmt: skip
        plan = make_plan(study_from_mapping(values, folder=tmp_path))
        save_plan(plan, store)
        (tmp_path / "p.png").unlink()
        if replaced:
            (tmp_path / "p.png").write_bytes(PIXEL + b"other")
        with engine() as made:
            run = made.start(plan, store, settings=QUICK)
            assert run.wait(60)
        assert run.state == "failed"
        assert run.reason.startswith("sees: ")
        assert says(run.reason, "image", "changed") if replaced else "p.png" in run.reason
        assert [j.ask.judge for j in store.judgements("small")] == ["not"]
        if replaced:
            assert save_plan(plan, store) == PlanChange(1, 1, 1)
            assert run_through(plan, store).state == "done"


class Moody(Store):
    """A store whose pages cannot be read for a while."""

    bad = False

    def pending_asks(self, *values, **named):
        if self.bad:
            raise sqlite3.OperationalError("disk I/O error")
        return super().pending_asks(*values, **named)


def test_a_store_that_cannot_be_read_pauses_the_run_which_goes_on_when_it_can(tmp_path):
    store = Moody(tmp_path / "store.db")
    with JudgeServer(latency=0.02) as server, engine() as made:
        run = start_small(made, store, tmp_path, server, items=60, concurrency=4)
        until(lambda: run.snapshot().done >= 10)
        store.bad = True
        until(lambda: run.snapshot().state == "paused")
        assert "disk I/O error" in run.snapshot().reason
        store.bad = False
        run.resume()
        assert run.wait(120)
        assert run.state == "done"
        assert server.bill.totals.calls == 60
    store.close()
