"""One person with many secrets on a public page: runs are limited by network address too."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from judges.engine.public_engine import PublicEngine, RunLimits
from judges.judge_errors import PlanError
from judges.planning.plan import load_stored_plan, make_plan, save_plan
from studies.sharing.visitor_store import VisitorStore
from studies.sharing.visitors import as_visitor
from studies.spec.study import parse_study
from studies.store.store import Store
from tests.attacks.attack_list import PUBLIC
from tests.attacks.attack_log import attempt
from tests.judge_server import JudgeServer
from tests.judges.engine.test_paused_runs import guarded, house, started  # noqa: F401 - a fixture
from tests.judges.money.test_host_key import shared, visitors
from tests.page_words import pattern

DENIAL = "denial of service"
LIMITS = RunLimits(
    asks=100, runs_per_visitor=1, total_runs=8, concurrency=2, runs_per_address=2, embedded_asks=5
)
EMBEDDED = """name: {name}
data: {{source: probe, count: {count}, seed: 1}}
contestants: [precise, flawed]
judges: [{{name: embedded, model: embedded}}]
prompts: [brief-letters]
"""


def test_one_address_with_many_secrets_does_not_hold_all_places(
    guarded: VisitorStore,  # noqa: F811
    tmp_path: Path,
) -> None:
    one, other = "203.0.113.7", "203.0.113.8"
    people = visitors(4)
    with JudgeServer(latency=0.05) as server, shared(guarded, house(server), LIMITS) as engine:

        def run_as(number: int, address: str) -> None:
            who = replace(people[number], address=address)
            started(engine, guarded, tmp_path, who, f"{number}", server.base_url)

        run_as(0, one)
        run_as(1, one)
        refusal = pytest.raises(PlanError, match=pattern("2 runs", "address"))
        with attempt(DENIAL, PUBLIC, "a third run of one address"), refusal:
            run_as(2, one)
        run_as(3, other)
        assert {run.plan.study.name for run in engine._active_runs()} <= {"0", "1", "3"}


def test_calls_to_the_embedded_judge_are_limited(store: Store) -> None:
    (visitor,) = visitors(1)
    guarded_store = VisitorStore(store)
    with as_visitor(visitor):
        for name, count in (("few", 2), ("many", 3)):
            study = parse_study(EMBEDDED.format(name=name, count=count))
            save_plan(make_plan(study), guarded_store)
        engine = PublicEngine(guarded_store, LIMITS)
        try:
            refusal = pytest.raises(PlanError, match=pattern("6 calls", "embedded"))
            with attempt(DENIAL, PUBLIC, "many calls to the embedded judge"), refusal:
                engine.start(load_stored_plan(guarded_store, "many"), guarded_store)
            engine._check_number_of_calls(load_stored_plan(guarded_store, "few"))
            assert engine.active_run("many") is None
        finally:
            engine.close()
            guarded_store.close()
