"""Paused runs on a public page: they do not count as active, and are stopped after a while."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from judges.engine.engine import MAX_UNUSED_LIMITERS
from judges.engine.limits.rate_limit import EndpointLimiter
from judges.engine.public_engine import PublicEngine, RunLimits
from judges.engine.run import Run
from judges.judge_errors import PlanError
from judges.money.host_key import HostKey
from studies.sharing.visitor_store import VisitorStore
from studies.sharing.visitors import Visitor, as_visitor
from studies.store.store import Store
from tests.judge_server import JudgeServer
from tests.judges.money.test_host_key import KEY, lent, shared, start, study, visitors
from tests.page_words import pattern, says
from tests.waiting import until

LIMITS = RunLimits(asks=100, runs_per_visitor=1, total_runs=2, concurrency=2, longest_pause=600.0)


@pytest.fixture
def guarded(store: Store, monkeypatch: pytest.MonkeyPatch) -> Iterator[VisitorStore]:
    monkeypatch.setenv(KEY, "the-owners-own-key")
    made = VisitorStore(store)
    yield made
    made.close()


def started(
    engine: PublicEngine, store: VisitorStore, folder: Path, who: Visitor, name: str, url: str
) -> Run:
    with as_visitor(who):
        study(store, folder, name, url, items=30)
        return start(engine, store, name)


def pause(run: Run) -> None:
    run.pause()
    until(lambda: run.idle)


def house(server: JudgeServer) -> HostKey:
    return lent(server.base_url)


def test_paused_runs_give_their_places_back(guarded: VisitorStore, tmp_path: Path) -> None:
    people = visitors(4)
    with JudgeServer(latency=0.05) as server, shared(guarded, house(server), LIMITS) as engine:
        held = [
            started(engine, guarded, tmp_path, people[n], f"{n}", server.base_url) for n in (0, 1)
        ]
        for run in held:
            pause(run)
        others = [
            started(engine, guarded, tmp_path, people[n], f"{n}", server.base_url) for n in (2, 3)
        ]
        assert [run.state for run in others] == ["running", "running"]


def test_a_place_is_given_back_only_when_the_calls_in_flight_are_back(
    guarded: VisitorStore, tmp_path: Path
) -> None:
    """Else pausing and starting in turn would send more calls at once than the page allows."""
    first, second = visitors(2)
    limits = RunLimits(asks=100, runs_per_visitor=1, total_runs=1, concurrency=2)
    with JudgeServer(latency=1.0) as server, shared(guarded, house(server), limits) as engine:
        run = started(engine, guarded, tmp_path, first, "one", server.base_url)
        until(lambda: run.snapshot().in_flight == 2)
        run.pause()
        with pytest.raises(PlanError, match="1 runs are active"):
            started(engine, guarded, tmp_path, second, "two", server.base_url)
        until(lambda: run.idle)
        with as_visitor(second):
            assert start(engine, guarded, "two").state == "running"


def test_resuming_is_refused_while_all_places_are_taken_and_nothing_is_lost(
    guarded: VisitorStore, tmp_path: Path
) -> None:
    people = visitors(3)
    with JudgeServer(latency=0.2) as server, shared(guarded, house(server), LIMITS) as engine:
        run = started(engine, guarded, tmp_path, people[0], "0", server.base_url)
        until(lambda: run.snapshot().done > 2)
        pause(run)
        done = run.snapshot().done
        others = [
            started(engine, guarded, tmp_path, people[n], f"{n}", server.base_url) for n in (1, 2)
        ]
        with pytest.raises(PlanError, match=r"2 runs are active.*stays paused"):
            run.resume()
        assert (run.state, run.snapshot().done) == ("paused", done)
        others[0].stop()
        assert others[0].wait(120)
        run.resume()
        assert run.wait(120)
        assert run.state == "done"
        assert run.snapshot().done == 30


def test_a_run_paused_for_long_is_stopped_and_past_runs_have_the_reason(
    guarded: VisitorStore, tmp_path: Path
) -> None:
    (who,) = visitors(1)
    limits = RunLimits(asks=100, runs_per_visitor=1, total_runs=2, concurrency=2, longest_pause=0.3)
    with JudgeServer(latency=0.05) as server, shared(guarded, house(server), limits) as engine:
        run = started(engine, guarded, tmp_path, who, "left", server.base_url)
        run.pause()
        assert run.wait(120)
        assert run.state == "stopped"
        assert says(run.reason, "without being resumed", "go")
        with as_visitor(who):
            (past,) = guarded.runs("left")
            assert (past.state, past.reason) == ("stopped", run.reason)
            again = start(engine, guarded, "left")
        assert again.wait(120)
        assert again.state == "done"


def test_a_resumed_run_is_not_stopped(guarded: VisitorStore, tmp_path: Path) -> None:
    (who,) = visitors(1)
    limits = RunLimits(asks=100, runs_per_visitor=1, total_runs=2, concurrency=2, longest_pause=0.4)
    with JudgeServer(latency=0.1) as server, shared(guarded, house(server), limits) as engine:
        run = started(engine, guarded, tmp_path, who, "back", server.base_url)
        run.pause()
        run.resume()
        assert run.wait(120)
        assert run.state == "done"
        assert run.snapshot().ended is not None
        assert run.snapshot().ended - run.started > 0.4  # type: ignore[operator]


def test_many_paused_runs_stop_the_one_paused_longest(
    guarded: VisitorStore, tmp_path: Path
) -> None:
    people = visitors(3)
    limits = RunLimits(asks=100, runs_per_visitor=1, total_runs=2, concurrency=2, paused=2)
    with JudgeServer(latency=0.05) as server, shared(guarded, house(server), limits) as engine:
        runs = []
        for number in (0, 1):
            runs.append(
                started(engine, guarded, tmp_path, people[number], f"{number}", server.base_url)
            )
            pause(runs[-1])
        started(engine, guarded, tmp_path, people[2], "2", server.base_url)
        assert runs[0].wait(120)
        assert says(runs[0].reason, "longest", "again", "go")
        assert runs[1].state == "paused"


def test_a_visitor_has_one_run_also_while_it_is_paused(
    guarded: VisitorStore, tmp_path: Path
) -> None:
    (who,) = visitors(1)
    with JudgeServer(latency=0.05) as server, shared(guarded, house(server), LIMITS) as engine:
        pause(started(engine, guarded, tmp_path, who, "one", server.base_url))
        with pytest.raises(PlanError, match=pattern("your run", "paused")):
            started(engine, guarded, tmp_path, who, "two", server.base_url)


def test_gates_of_typed_keys_do_not_add_up(guarded: VisitorStore) -> None:
    with shared(guarded, None) as engine:
        for number in range(MAX_UNUSED_LIMITERS + 50):
            engine._limiters[("https://api.example.com/v1", str(number))] = EndpointLimiter(1)
        engine._drop_unused_limiters()
        assert len(engine._limiters) == MAX_UNUSED_LIMITERS
        assert ("https://api.example.com/v1", "0") not in engine._limiters


def test_the_gate_that_was_used_last_is_kept(guarded: VisitorStore, tmp_path: Path) -> None:
    """A run uses the oldest gate; of many more that are made then, the others go first."""
    with JudgeServer() as server, shared(guarded, house(server), LIMITS) as engine:
        one, two = visitors(2)
        started(engine, guarded, tmp_path, one, "one", server.base_url).wait()
        (at,) = engine._limiters
        idle = [("https://api.example.com/v1", str(number)) for number in range(3)]
        engine._limiters = {at: engine._limiters[at], **{one: EndpointLimiter(1) for one in idle}}
        started(engine, guarded, tmp_path, two, "two", server.base_url).wait()
        assert [*engine._limiters][:4] == [*idle, at]
