"""Pauses, stops, and the spending of a study's other runs."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from judges.engine.limits.rate_limit import EndpointLimiter
from judges.engine.pending_asks import count_asks_by_status_for_run
from judges.engine.run_state import JudgeState, RunSettings, RunState, SiblingRuns
from judges.money.costs import Ledger
from studies.domain import Ask, Price
from studies.spec.study import Study
from studies.store.rows import put_judgement
from studies.store.run_owners import LeaseOwner
from studies.store.store import Store
from tests.judges.engine.virtual_time import run_virtual
from tests.judges.small_studies import endpoint, study_plan
from tests.studies.small_items import ask, item, judged, planned

UNUSED: Any = None


def judge_state(name: str = "j") -> JudgeState:
    return JudgeState(name, UNUSED, Price(1.0, 1.0), EndpointLimiter(4))


def run_of(*judges: JudgeState) -> RunState:
    return RunState(RunSettings(), UNUSED, Ledger(), {judge.name: judge for judge in judges})


# --- asks that are made again --------------------------------------------------------------------


def test_what_is_asked_again_is_pending_until_its_new_outcome(store: Store) -> None:
    asks = [ask(f"k{n}") for n in range(5)]
    store.save_study(Study(name="s"), [item()], planned(*asks))

    def write(of: Ask, status: str) -> None:
        judgement = judged(of, 0 if status == "ok" else None, status=status)
        store.writer.run(lambda c: put_judgement(c, judgement))

    for one, status in zip(asks[:4], ("ok", "refused", "error", "error"), strict=True):
        write(one, status)
    (start,) = store.read("SELECT max(seq) FROM judgements").fetchone()
    settings = RunSettings(retry_statuses=frozenset({"error"}))

    def counts(since: int | None) -> tuple[int, ...]:
        found = count_asks_by_status_for_run(store, "s", settings, since)
        return tuple(found[name] for name in ("planned", "pending", "ok", "error", "refused"))

    assert counts(start) == counts(None) == (5, 3, 1, 0, 1)
    write(asks[2], "error")
    write(asks[3], "ok")
    assert (counts(start), counts(None)) == ((5, 1, 2, 1, 1), (5, 2, 2, 0, 1))


# --- pauses and stops ---------------------------------------------------------------------------


def pause(run: RunState, judge: JudgeState) -> None:
    run.paused = True


def stop(run: RunState, judge: JudgeState) -> None:
    run.stop = True


def reach_budget(run: RunState, judge: JudgeState) -> None:
    judge.budget_reached = True


def stop_judge(run: RunState, judge: JudgeState) -> None:
    judge.stop_judge("no key")


@pytest.mark.parametrize("how", [pause, stop, reach_budget, stop_judge])
def test_each_of_four_reasons_blocks_a_judge(how: Callable[[RunState, JudgeState], None]) -> None:
    judge, other = judge_state(), judge_state("other")
    run = run_of(judge, other)
    assert not run.is_blocked(judge)
    how(run, judge)
    assert run.is_blocked(judge)
    assert run.is_blocked(other) == (how in (pause, stop))
    run.apply_controls()
    assert judge.blocked_event.is_set() and run.resume_event.is_set() == (how is not pause)
    assert other.blocked_event.is_set() == (how in (pause, stop))


def test_a_paused_run_waits_until_it_is_resumed_and_a_stopped_one_does_not():
    async def act() -> list[bool]:
        judge = judge_state()
        run = run_of(judge)
        found = [await run.wait_until_allowed(judge)]
        run.paused = True
        run.apply_controls()
        waiting = asyncio.ensure_future(run.wait_until_allowed(judge))
        await asyncio.sleep(1)
        found.append(waiting.done())
        run.paused = False
        run.apply_controls()
        found += [await waiting, judge.blocked_event.is_set()]
        run.paused = run.stop = True
        run.apply_controls()
        return [*found, await run.wait_until_allowed(judge)]

    assert run_virtual(act) == [True, False, True, False, False]


def test_a_wait_before_a_retry_ends_in_time_or_with_the_judge():
    async def act() -> list[float]:
        judge, loop = judge_state(), asyncio.get_running_loop()
        run, found = run_of(judge), []
        for ends in (False, True):
            if ends:
                loop.call_later(2.0, judge.stop_judge, "no key")
            before = loop.time()
            await run.sleep(judge, 30.0)
            found.append(loop.time() - before)
        return found

    assert run_virtual(act) == [pytest.approx(30.0), pytest.approx(2.0)]


def test_the_first_reason_to_stop_a_judge_is_kept():
    judge = judge_state()
    judge.stop_judge("no key")
    judge.stop_judge("no quota")
    assert judge.stop_reason == "no key"


def test_a_store_error_pauses_the_run_until_it_is_resumed():
    async def act() -> list[Any]:
        judge = judge_state()
        run, told = run_of(judge), []
        run.on_store_error = told.append
        waiting = asyncio.ensure_future(run.pause_until_resumed(OSError("the disk is full"), 5.0))
        await asyncio.sleep(0.5)
        state = (run.paused, waiting.done(), judge.blocked_event.is_set(), run.store_error, told)
        run.paused = False
        run.apply_controls()
        assert await waiting
        run.resumed_at = 7.0
        again = await run.pause_until_resumed(
            OSError("the disk is full"), 6.0
        )  # failed before that
        run.stop = True
        return [*state, again, run.paused, await run.pause_until_resumed(OSError("x"), 9.0)]

    full = "the disk is full"
    assert run_virtual(act) == [True, False, True, full, [full], True, False, False]


# --- other runs of the study --------------------------------------------------------------------


class Clock:
    now = 100.0

    def __call__(self) -> float:
        return self.now


def add_run(store: Store, owner: str, started: float, ended: float | None = None) -> None:
    store.writer.run(
        lambda c: c.execute(
            "INSERT INTO runs(id, study, owner, state, reason, started, ended) "
            "VALUES (?, 'small', ?, 'running', '', ?, ?)",
            (owner, owner, started, ended),
        )
    )


def add_attempt(
    store: Store,
    owner: str,
    cost: float | None,
    *,
    outcome: str | None = "ok",
    key: str = "elsewhere",
) -> None:
    ended = None if outcome is None else 2.0
    store.writer.run(
        lambda c: c.execute(
            "INSERT INTO attempts(key, owner, started, ended, outcome, cost) "
            "VALUES (?,?,1.0,?,?,?)",
            (key, owner, ended, outcome, cost),
        )
    )


def siblings(store: Store, folder: Path, ledger: Ledger, clock: Clock) -> SiblingRuns:
    judges = [endpoint("http://127.0.0.1:9/v1"), {"name": "free", "model": "simulated"}]
    plan = study_plan(folder, judges, items=1, store=store)
    return SiblingRuns(store, plan, "me", ledger, clock)


def test_what_other_runs_spent_lost_and_have_in_flight_is_in_the_ledger(store, tmp_path):
    alive = LeaseOwner(store.run_locks_folder)
    for owner in ("me", alive.id, "dead"):
        add_run(store, owner, 1.0)
    ledger = Ledger(budget=1.0)
    siblings(store, tmp_path, Ledger(), Clock())
    free = store.read("SELECT key FROM plan WHERE judge='free'").fetchone()[0]
    add_attempt(store, "me", 0.5)  # this run's own ledger has it
    add_attempt(store, "dead", 0.25)
    add_attempt(store, "dead", 0.0625)
    add_attempt(store, "dead", None, outcome="timeout")
    for refused in ("HTTP 500", "no temperature", "rate limit", "unreachable", "stopped"):
        add_attempt(store, "dead", None, outcome=refused)
    add_attempt(store, "dead", None, outcome=None)  # lost with its process
    add_attempt(store, "dead", None, outcome=None, key=free)
    add_attempt(store, alive.id, None, outcome=None)
    add_attempt(store, alive.id, None, outcome=None)
    siblings(store, tmp_path, ledger, Clock())
    alive.close()
    assert ledger.spent_by_others == 0.3125
    assert ledger.max_cost_by_others == 0.25
    assert ledger.unknown_by_others == 2
    assert ledger.in_flight_by_others == 2


def test_without_another_run_nothing_is_taken_off(store, tmp_path):
    ledger = Ledger(budget=1.0, spent_by_others=9.0, max_cost_by_others=9.0)
    siblings(store, tmp_path, ledger, Clock())
    assert (ledger.spent_by_others, ledger.max_cost_by_others) == (0.0, 0.0)
    assert (ledger.unknown_by_others, ledger.in_flight_by_others) == (0, 0)


def test_spending_of_others_is_looked_up_again_after_a_while_and_always_when_little_is_left(
    store, tmp_path
):
    clock, ledger = Clock(), Ledger(budget=1.0)
    add_run(store, "me", 1.0)
    others = siblings(store, tmp_path, ledger, clock)
    sibling = LeaseOwner(store.run_locks_folder)
    add_run(store, sibling.id, 2.0)
    connection = store.read_connection
    add_attempt(store, sibling.id, 0.5)
    assert others.fits_budget(connection) and ledger.spent_by_others == 0.0, "asked just now"
    clock.now += 0.2
    assert others.fits_budget(connection) and ledger.spent_by_others == 0.5
    add_attempt(store, sibling.id, 0.4)
    assert others.fits_budget(connection) and ledger.spent_by_others == 0.5
    clock.now += 0.2
    assert others.fits_budget(connection) and ledger.spent_by_others == pytest.approx(0.9)
    add_attempt(store, sibling.id, 0.05)  # a tenth is left: looked up before every call
    assert others.fits_budget(connection) and ledger.spent_by_others == pytest.approx(0.95)
    add_attempt(store, sibling.id, 0.06)
    assert not others.fits_budget(connection)
    sibling.close()


@pytest.mark.parametrize("way", ["ended", "dead"])
def test_an_ended_or_dead_run_is_looked_up_once_more_and_then_never(way, store, tmp_path):
    clock, ledger = Clock(), Ledger(budget=1.0)
    add_run(store, "me", 1.0)
    others = siblings(store, tmp_path, ledger, clock)
    connection = store.read_connection
    assert not others._has_siblings(connection)
    owner = LeaseOwner(store.run_locks_folder)
    add_run(store, owner.id, 2.0)
    assert others._has_siblings(connection) and others._has_siblings(connection), "it lives"
    if way == "ended":
        ended = (50.0, owner.id)
        store.writer.run(lambda c: c.execute("UPDATE runs SET ended=? WHERE owner=?", ended))
    else:
        owner.close()
    assert others._has_siblings(connection), "its last calls"
    assert not others._has_siblings(connection)
    owner.close()


def test_a_run_that_ended_before_this_one_began_is_no_sibling(store, tmp_path):
    add_run(store, "me", 10.0)
    others = siblings(store, tmp_path, Ledger(budget=1.0), Clock())
    add_run(store, "earlier", 1.0, ended=9.0)
    assert not others._has_siblings(store.read_connection)
    add_run(store, "overlapping", 1.0, ended=10.0)
    assert others._has_siblings(store.read_connection)
