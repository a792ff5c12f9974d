"""Runs: control from any thread, and snapshots that do not read the store."""

import os
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from judges.engine.engine import Engine
from judges.engine.run_state import RunSettings
from judges.planning.plan import save_plan
from studies.store.store import Store
from tests.growth import count_calls
from tests.judge_server import Fault, JudgeServer, Reply, always, at, first_attempt
from tests.judges.small_studies import (
    QUICK,
    endpoint,
    engine,
    judgements,
    run_through,
    start_small,
    study_plan,
)
from tests.page_words import says
from tests.waiting import settled, until

CANARY = "canary-0123456789abcdef"


@pytest.fixture
def made() -> Iterator[Engine]:
    with engine() as one:
        yield one


def test_a_pause_holds_at_once_and_keeps_what_is_in_flight(store, tmp_path, made):
    with JudgeServer(latency=0.05) as server:
        run = start_small(made, store, tmp_path, server, items=200, concurrency=8)
        until(lambda: server.bill.totals.calls > 20)
        run.pause()
        paused = server.app.now()
        until(lambda: run.snapshot().in_flight == 0)
        arrived = server.bill.totals.calls
        late = [call for call in server.bill.calls if call.arrived > paused]
        assert len(late) <= 8, "no more than were under way"
        time.sleep(0.2)  # for a call that should not come
        assert server.bill.totals.calls == arrived
        assert run.snapshot().state == "paused"
        assert store.status_counts("small")["ok"] == arrived, "what was in flight is stored"
        run.resume()
        assert run.wait(60)
    assert run.snapshot().state == "done"
    assert store.status_counts("small") == {"planned": 200, "ok": 200}
    assert server.bill.paid_twice == {}


def test_a_run_paused_before_it_begins_asks_nothing(store, tmp_path, made):
    with JudgeServer(latency=0.05) as server:
        run = start_small(made, store, tmp_path, server, items=200, concurrency=2)
        run.pause()
        calls = settled(lambda: server.bill.totals.calls)
        assert calls <= 2, "what was under way when the pause came"
        run.resume()
        assert run.wait(120)
    assert run.state == "done"


@pytest.mark.parametrize("kind", ["cool-down", "backoff"])
def test_a_stop_does_not_wait_for_a_cool_down_or_a_backoff(kind, store, tmp_path, made):
    fault = (
        Fault("rate_limit_seconds", retry_after=600)
        if kind == "cool-down"
        else Fault("server_error")
    )
    with JudgeServer(rules=[always(fault)]) as server:
        plan = study_plan(tmp_path, [endpoint(server.base_url)], items=20, concurrency=4)
        save_plan(plan, store)
        run = made.start(plan, store, settings=RunSettings(first_backoff=600))
        until(lambda: bool(run.snapshot().wait_texts))
        told = run.snapshot().wait_texts[0]
        run.stop()
        assert run.wait(120), "ten minutes are named"
    if kind == "cool-down":
        assert told.startswith("judge: cooling down ") and told.endswith(" s: rate limit")
    else:
        assert says(told, "retry 1", "5: HTTP 500")
    assert run.state == "stopped"
    assert store.status_counts("small") == {"planned": 20, "pending": 20}


def test_a_stop_is_final_and_the_next_run_goes_on_where_it_stopped(store, tmp_path, made):
    with JudgeServer(latency=0.02) as server:
        plan = study_plan(tmp_path, [endpoint(server.base_url)], items=60, concurrency=4)
        save_plan(plan, store)
        run = made.start(plan, store, settings=QUICK)
        until(lambda: server.bill.totals.calls > 10)
        run.stop()
        run.resume()
        run.pause()
        assert run.wait(120)
        assert run.state == "stopped"
        assert run.reason == "stopped by you"
        again = made.start(plan, store, settings=QUICK)
        assert again.wait(120)
        assert server.bill.totals.calls == 60
    assert again.state == "done"


def test_a_finished_study_makes_no_call_even_after_everything_was_restarted(tmp_path):
    with JudgeServer() as server:
        plan = study_plan(tmp_path, [endpoint(server.base_url)], items=20, repeats=3)
        first = Store(tmp_path / "store.db")
        run_through(plan, first)
        first.close()
        # Three repeats are the same bytes: only our key tells them apart.
        assert server.bill.totals.calls == 60
        second = Store(tmp_path / "store.db")
        again = run_through(
            study_plan(tmp_path, [endpoint(server.base_url)], 20, repeats=3), second
        )
        assert server.bill.totals.calls == 60
        second.close()
    assert again.state == "done"
    assert again.snapshot().done == 60


def test_an_error_never_satisfies_a_resume(store, tmp_path):
    with JudgeServer(rules=[always(Fault("server_error"))]) as server:
        plan = study_plan(tmp_path, [endpoint(server.base_url)], items=3)
        run_through(plan, store, settings=RunSettings(attempts=2, first_backoff=0.01))
        assert store.status_counts("small") == {"planned": 3, "error": 3}
        server.schedule()
        run = run_through(plan, store)
    assert run.snapshot().counts == {"planned": 3, "pending": 0, "ok": 3}


def test_two_runs_of_one_study_pay_once(store, tmp_path, made):
    with JudgeServer(latency=0.02) as server:
        plan = study_plan(tmp_path, [endpoint(server.base_url)], items=80, concurrency=8)
        save_plan(plan, store)
        runs = [made.start(plan, store, settings=QUICK) for _ in range(2)]
        assert all(run.wait(120) for run in runs)
        assert server.bill.totals.calls == 80
    assert [run.state for run in runs] == ["done", "done"]
    assert [run.snapshot().done for run in runs] == [80, 80]


def test_runs_side_by_side_share_a_gate_but_not_their_counts(store, tmp_path, made):
    refusal = Fault("rate_limit_seconds", retry_after=1.0)
    with JudgeServer(latency=0.02, rules=[at(refusal, *range(3, 8))], grace=0.3) as server:
        plans = []
        for name in ("one", "two"):
            folder = tmp_path / name
            folder.mkdir()
            judge = endpoint(server.base_url, model=name)
            plans.append(study_plan(folder, [judge], items=30, concurrency=8, name=name))
            save_plan(plans[-1], store)
        runs = [made.start(plan, store, settings=QUICK) for plan in plans]
        assert all(run.wait(120) for run in runs)
        (cooldown,) = server.books()["cooldowns"]
        assert server.peak_in_flight <= 8
    assert cooldown["after_grace"] == 0
    assert [run.snapshot().counts["ok"] for run in runs] == [30, 30]


def test_a_paused_run_keeps_no_place_behind_the_gate_from_another(store, tmp_path, made):
    with JudgeServer(latency=0.01) as server:
        plans = []
        for name in ("held", "free"):
            folder = tmp_path / name
            folder.mkdir()
            judge = endpoint(server.base_url, model=name)
            plans.append(study_plan(folder, [judge], items=40, concurrency=2, name=name))
            save_plan(plans[-1], store)
        held = made.start(plans[0], store, settings=QUICK)
        until(lambda: server.bill.totals.calls > 4)
        held.pause()
        free = made.start(plans[1], store, settings=QUICK)
        assert free.wait(120)
        held.stop()
    assert free.state == "done"


def test_a_paused_run_holds_no_lease_so_that_another_can_go_on_with_its_asks(store, tmp_path, made):
    trouble = [at(Fault("server_error"), 0, 1, 2)]  # three asks wait in a backoff of a minute
    with JudgeServer(latency=0.02, rules=trouble) as server:
        plan = study_plan(tmp_path, [endpoint(server.base_url)], items=80, concurrency=8)
        save_plan(plan, store)
        held = made.start(plan, store, settings=RunSettings(first_backoff=60, deadline=60))
        until(lambda: server.bill.totals.calls > 30)
        held.pause()
        until(lambda: held.snapshot().in_flight == 0)
        until(lambda: store.read("SELECT count(*) FROM leases").fetchone() == (0,))
        assert store.read("SELECT count(*) FROM attempts WHERE ended IS NULL").fetchone() == (0,)
        other = made.start(plan, store, settings=QUICK)
        assert other.wait(120)
        assert other.snapshot().counts["ok"] == 80
        held.resume()
        assert held.wait(120)
        assert server.bill.totals.billed == 80, "and nothing was paid twice"
    assert held.state == "done"
    assert held.snapshot().done == 80


def test_a_pause_that_comes_while_the_intent_is_written_takes_it_back(store, tmp_path, made):
    with JudgeServer(latency=0.01) as server:
        run = start_small(made, store, tmp_path, server, items=40, concurrency=4)
        until(lambda: server.bill.totals.calls > 4)
        run.pause()
        until(lambda: run.snapshot().in_flight == 0)
        calls, slow = server.bill.totals.calls, threading.Event()
        # A commit that takes a while: the intents of the next calls are queued behind it.
        threading.Thread(target=store.writer.run, args=(lambda c: slow.wait(120),)).start()
        (gate,) = made._limiters.values()
        run.resume()
        until(lambda: gate.in_flight == 4)
        time.sleep(0.05)
        run.pause()
        slow.set()
        until(lambda: gate.in_flight == 0)
        time.sleep(0.2)
        assert server.bill.totals.calls == calls, "nothing is sent after a pause"
        open_ones = "SELECT count(*) FROM attempts WHERE ended IS NULL"
        assert store.read(open_ones).fetchone() == (0,)
        assert store.read("SELECT count(*) FROM leases").fetchone() == (0,)
        run.resume()
        assert run.wait(120)
    assert run.snapshot().counts["ok"] == 40


def test_a_look_at_a_run_never_waits(store, tmp_path, made):
    with JudgeServer(latency=0.01) as server:
        run = start_small(made, store, tmp_path, server, items=300, concurrency=16)
        held, seen = threading.Event(), []
        until(lambda: run.snapshot().done > 20)
        writing = threading.Thread(target=store.writer.run, args=(lambda c: held.wait(120),))
        writing.start()
        seen += [run.snapshot() for _ in range(10)]
        assert writing.is_alive(), "a look does not wait for a commit"
        held.set()
        writing.join(120)
        most = 0
        while not run.finished.is_set():
            most = max(most, count_calls(lambda: seen.append(run.snapshot())))
            time.sleep(0.01)
    assert most < 1_000, "function calls, whatever the number of replies"
    done = [snapshot.done for snapshot in seen]
    assert done == sorted(done)
    assert run.snapshot().done == 300


def watched(store: Store, folder: Path, made: Engine) -> tuple[float, list[tuple[float, float]]]:
    """100 asks, 8 at a time, 0.4 s each on average: 5 s, in which the machine has little to do.
    When it ended, and the guesses of its second half with their time."""
    with JudgeServer(latency=(0.2, 0.6)) as server:
        plan = study_plan(folder, [endpoint(server.base_url)], items=100, concurrency=8)
        save_plan(plan, store)
        run = made.start(plan, store, settings=QUICK)
        guesses: list[tuple[float, float]] = []
        while not run.wait(0.05):
            snapshot = run.snapshot()
            if snapshot.eta is not None and 50 <= snapshot.done <= 90:
                guesses.append((time.monotonic(), snapshot.eta))
        return time.monotonic(), guesses


@pytest.mark.extra
def test_the_eta_is_right_within_a_quarter_in_the_second_half_of_a_steady_run(
    store, tmp_path, made
):
    wrong: list[float] = []
    for _ in range(3):  # others may use the machine: such a run is not steady
        end, guesses = watched(store, tmp_path, made)
        assert len(guesses) > 5
        # What is left is never less than two calls' time: that much is noise.
        wrong = sorted(abs((end - at) - eta) / max(end - at, 0.8) for at, eta in guesses)
        if wrong[len(wrong) * 9 // 10] < 0.25:
            return
    raise AssertionError(wrong)


def test_several_judges_and_prompts_are_asked_side_by_side(store, tmp_path):
    with JudgeServer(latency=0.01) as server:
        judges = [endpoint(server.base_url, name, model=name) for name in ("a", "b", "c")]
        prompts = ["visit-reference-free", "brief-letters"]
        plan = study_plan(tmp_path, judges, items=5, prompts=prompts, noise_floor=0.5)
        run = run_through(plan, store)
    planned = run.snapshot().counts["planned"]
    assert planned > 30, "3 judges x 2 prompts x 5 items, and the noise floor"
    assert run.snapshot().counts["ok"] == planned


def test_two_judges_that_are_the_same_request_are_asked_once(store, tmp_path):
    with JudgeServer() as server:
        judges = [endpoint(server.base_url, name) for name in ("a", "b")]
        plan = study_plan(tmp_path, judges, items=10)
        run = run_through(plan, store)
        assert server.bill.totals.calls == 10
    assert run.snapshot().counts == {"planned": 20, "pending": 0, "ok": 20}


def test_failures_are_shown_by_kind_with_a_count_and_an_example(store, tmp_path):
    with JudgeServer(rules=[first_attempt(Fault("server_error"))]) as server:
        plan = study_plan(tmp_path, [endpoint(server.base_url)], items=7)
        run = run_through(plan, store)
    (failure,) = run.snapshot().failures
    assert (failure.judge, failure.reason, failure.times) == ("judge", "HTTP 500", 7)
    assert says(failure.example, "server", "error")


def test_a_key_is_in_nothing_that_is_kept_or_told(store, tmp_path, caplog):
    caplog.set_level("DEBUG")
    rules = [
        at(Fault("server_error", echo_key=True), 0, 1),
        at(Fault("cut_body"), 2),
        at(Fault("timeout", seconds=2), 3),
        at(Fault("unauthorized", echo_key=True), 12),
    ]
    with JudgeServer(rules=rules, echo_key=True) as server, engine() as made:
        plan = study_plan(tmp_path, [endpoint(server.base_url)], items=30, concurrency=2)
        save_plan(plan, store)
        quick = RunSettings(first_backoff=0.01, deadline=0.5)
        run = made.start(plan, store, keys={"judge": CANARY}, settings=quick)
        assert run.wait(120)
        assert run.state == "failed"
        assert CANARY not in f"{run.snapshot()} {vars(run)}"
        assert not made._clients, "no client is kept that holds a key"
    store.close()
    held = [
        path
        for path in tmp_path.rglob("*")
        if path.is_file() and CANARY.encode() in path.read_bytes()
    ]
    assert held == []
    assert CANARY not in caplog.text


def test_a_clock_that_jumps_an_hour_neither_frees_a_lease_nor_stops_a_run(store, tmp_path, made):
    jump = threading.Event()

    def wall() -> float:
        return time.time() + (3600 if jump.is_set() else 0)

    with JudgeServer(latency=0.05) as server:
        plan = study_plan(tmp_path, [endpoint(server.base_url)], items=40, concurrency=4)
        save_plan(plan, store)
        settings = RunSettings(first_backoff=0.01, wall_clock=wall)
        first = made.start(plan, store, settings=settings)
        until(lambda: server.bill.totals.calls > 4)
        jump.set()  # forward, and then back
        second = made.start(plan, store, settings=settings)
        time.sleep(0.1)
        jump.clear()
        assert first.wait(120)
        assert second.wait(120)
        assert server.bill.totals.calls == 40, "a live lease was freed"
    assert store.status_counts("small") == {"planned": 40, "ok": 40}


def test_what_came_in_while_thinking_is_kept_apart_from_the_reply(store, tmp_path):
    thinking = Reply("Overall, Response B is better.", reasoning="Response A is better, or is it?")
    with JudgeServer(behaviour=lambda _: thinking) as server:
        run_through(study_plan(tmp_path, [endpoint(server.base_url)], items=1), store)
    (judgement,) = judgements(store)
    assert judgement.reasoning == thinking.reasoning
    assert judgement.reply == thinking.text
    assert judgement.verdict and judgement.verdict.pick == 1
    assert judgement.model == "judge"
    assert judgement.finish == "stop"


def resident() -> int:
    """Bytes of this process in memory."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


@pytest.mark.extra
@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="reads /proc")
def test_memory_stays_flat_over_five_thousand_asks(store, tmp_path, made):
    judge = {"name": "s", "model": "simulated"}
    plan = study_plan(tmp_path, [judge], items=5000, concurrency=64)
    save_plan(plan, store)
    run = made.start(plan, store)
    until(lambda: run.snapshot().done > 1000)
    before = resident()
    assert run.wait(120)
    assert run.state == "done"
    grown = (resident() - before) / 2**20
    assert grown < 10, f"{grown:.1f} MB more after 4,000 asks"
