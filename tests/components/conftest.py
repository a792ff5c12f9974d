"""A finished study of simulated judges, so that panels are shown what really comes out of a run."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from judges.engine.engine import Engine
from judges.planning.plan import make_plan, save_plan
from studies.spec.study import parse_study
from studies.store.store import Store

STUDY = """
name: two judges
data: {source: probe, per: {category: 5}, seed: 1}
contestants: [precise, flawed]
judges:
  - {name: always first, model: simulated, first_bias: 1, seed: 1}
  - {name: fair, model: simulated, accuracy: 1, seed: 2}
prompts: [brief-letters]
noise_floor: 0.5
"""


@pytest.fixture(scope="session")
def judged(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    store = Store(tmp_path_factory.mktemp("judged") / "evenhand.db")
    engine = Engine()
    plan = make_plan(parse_study(STUDY, "test", Path()))
    save_plan(plan, store)
    run = engine.start(plan, store)
    assert run.wait(60)
    assert run.snapshot().state == "done"
    yield store
    engine.close()
    store.close()
