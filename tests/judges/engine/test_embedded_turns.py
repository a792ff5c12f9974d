"""Several runs at the embedded judge: their calls take turns, one at a time; each judge is asked
with its own weights."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from pathlib import Path

import pytest

from judges.engine import engine as engine_module
from judges.models import clients
from judges.models.interface import JudgeCall, JudgeReply
from judges.operations.check_judge import check_judge
from judges.planning import plan as plan_module
from judges.planning.plan import Plan
from judges.security.key_store import SecretKey
from studies.domain import JudgeSpec
from studies.store.store import Store
from tests.attacks.attack_list import OWN
from tests.attacks.attack_log import attempt
from tests.judges.small_studies import QUICK, engine, study_plan

DENIAL = "denial of service"
TEST = "test"
"""Name of the study with which the judge is tested."""


class Calls:
    """Calls in the order in which the embedded judge got them. Each is answered only when every
    other run that has calls left waits for its turn, so that no run is late by chance."""

    def __init__(self) -> None:
        self.order: list[tuple[str, str]] = []
        self.left: dict[str, int] = {}
        self.at_once = 0
        self.made: engine_module.Engine | None = None

    def waiting(self) -> set[str]:
        """Studies whose runs wait for a turn, at whichever rate limiter."""
        assert self.made is not None
        asking = {run for one in self.made._limiters.values() for run in one._waiters._by_run}
        runs = self.made._runs.values()
        names = {run.plan.study.name for run in runs if id(run._run_state) in asking}
        return names | ({TEST} if self.waiting_tests() == self.left.get(TEST) else set())

    def waiting_tests(self) -> int:
        """Number of tests of the judge that wait for a turn."""
        assert self.made is not None
        queues = [one._waiters._by_run for one in self.made._limiters.values()]
        return sum(len(queue.get(engine_module.OUTSIDE_RUNS, ())) for queue in queues)

    async def answer(self, study: str, weights: str) -> JudgeReply:
        self.at_once += 1
        assert self.at_once == 1, "one call at a time"
        self.order.append((study, weights))
        self.left[study] -= 1
        own = {study} - {TEST}  # of the tests, all that are left wait
        while not {name for name, left in self.left.items() if left} <= self.waiting() | own:
            await asyncio.sleep(0.001)
        self.at_once -= 1
        return JudgeReply("[[A]]", model="embedded")


class Weights:
    """A client of the embedded judge with one file of weights."""

    ceiling = 1

    def __init__(self, calls: Calls, weights: str) -> None:
        self._calls, self._weights = calls, weights

    async def complete(self, call: JudgeCall) -> JudgeReply:
        study = call.judge.name.partition(" ")[0]
        return await self._calls.answer(study, self._weights)

    async def close(self) -> None:
        """Nothing is open."""


@pytest.fixture
def calls(monkeypatch: pytest.MonkeyPatch) -> Iterator[Calls]:
    made = Calls()

    def build(judge: JudgeSpec, key: SecretKey, families: object) -> Weights:
        return Weights(made, judge.weights)

    monkeypatch.setattr(engine_module, "build_judge_client", build)
    monkeypatch.setattr(clients, "build_judge_client", build)
    monkeypatch.setattr(plan_module, "locate_weights", Path)
    monkeypatch.setattr(plan_module, "sha256_of", str)
    yield made


def embedded_plan(folder: Path, name: str, judges: int, items: int, store: Store) -> Plan:
    """A study with several embedded judges, so that several workers ask for it; each names an
    address, which an embedded judge does not use."""
    return study_plan(
        folder / name,
        [
            {
                "name": f"{name} {n}",
                "model": "embedded",
                "extra_body": {"user": f"{name} {n}"},  # no two judges share a call
                "read": "text",
                "base_url": f"https://{name}{n}.example/v1",
            }
            for n in range(judges)
        ],
        items,
        store=store,
        name=name,
    )


def test_calls_of_different_runs_take_turns(tmp_path: Path, store: Store, calls: Calls) -> None:
    plans = [
        embedded_plan(tmp_path, name, judges, items, store)
        for name, judges, items in (("large", 4, 15), ("small", 1, 6), ("other", 2, 4))
    ]
    calls.left = {"large": 60, "small": 6, "other": 8}
    with engine() as made:
        calls.made = made
        runs = {plan.study.name: made.start(plan, store, settings=QUICK) for plan in plans}
        assert all(run.wait(60) for run in runs.values())
    names = [name for name, _ in calls.order]
    with attempt(DENIAL, OWN, *(f"call {n} to the embedded judge" for n in range(60))):
        assert {name: names.count(name) for name in runs} == {"large": 60, "small": 6, "other": 8}
        turns = [names[n : n + 3] for n in range(3, 15)]  # all three runs have calls left
        assert all(len(set(turn)) == 3 for turn in turns), names
        assert names[25:] == ["large"] * 49


def test_each_judge_is_asked_with_its_own_weights(
    tmp_path: Path, store: Store, calls: Calls
) -> None:
    judges = [
        {"name": f"one {weights}", "model": "embedded", "weights": weights, "read": "text"}
        for weights in ("/models/a.gguf", "/models/b.gguf")
    ]
    plan = study_plan(tmp_path, judges, 3, store=store, name="two")
    calls.left = {"one": 6}
    with engine() as made:
        calls.made = made
        run = made.start(plan, store, settings=QUICK)
        assert run.wait(60)
    assert (
        sorted(weights for _, weights in calls.order)
        == ["/models/a.gguf"] * 3 + ["/models/b.gguf"] * 3
    )


def test_tests_of_the_judge_take_turns_with_a_run_as_one_run_would(
    tmp_path: Path, store: Store, calls: Calls
) -> None:
    run_plan = embedded_plan(tmp_path, "run", 1, 12, store)
    tested = embedded_plan(tmp_path, "test", 1, 1, store)
    calls.left = {"run": 12, "test": 4}
    with engine() as made, ThreadPoolExecutor(4) as visitors:
        calls.made = made
        run = made.start(run_plan, store, settings=QUICK)
        judge = tested.study.judges[0]
        checks = [visitors.submit(check_judge, tested, judge, engine=made) for _ in range(4)]
        assert [check.result(120).reply for check in checks] == ["[[A]]"] * 4
        assert run.wait(120)
    names = [name for name, _ in calls.order]
    with attempt(DENIAL, OWN, *(f"test {n} of the embedded judge" for n in range(4))):
        assert (names.count("run"), names.count("test")) == (12, 4)
        assert ("test", "test") not in pairwise(names), names


def test_calls_outside_runs_take_turns_one_at_a_time():
    engine, entered = engine_module.Engine(), threading.Event()

    def second() -> None:
        with engine.take_embedded_turn():
            entered.set()

    other = threading.Thread(target=second)
    with engine.take_embedded_turn():
        other.start()
        assert not entered.wait(0.3)
    assert entered.wait(30)
    other.join()
    engine.close()
