"""Small studies for tests of the engine: as many asks as wanted, at a loopback judge."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from judges.engine.engine import Engine
from judges.engine.run import Run
from judges.engine.run_state import RunSettings
from judges.planning.plan import Plan, make_plan, save_plan
from studies.domain import Judgement
from studies.spec.study import parse_study, study_from_mapping
from studies.store.store import Store
from tests.judge_server import JudgeServer

QUICK = RunSettings(first_backoff=0.01, deadline=60.0)
PRICE = {"input": 2.0, "output": 8.0, "cache_read": 1.0, "cache_write": 3.0}
"""The judge server's own default prices, in dollars per million tokens."""

MUMBLING = """
name: mumbling
data: {source: probe, count: 6, seed: 1}
contestants: [precise, flawed]
judges: [{name: mumbler, model: simulated, unreadable_rate: RATE, seed: 1}]
prompts: [brief-letters]
"""
"""A study of 12 calls, of whose replies about the share RATE contains no verdict."""


def mumbling_plan(rate: float) -> Plan:
    return make_plan(parse_study(MUMBLING.replace("RATE", str(rate)), "test", Path()))


def write_items(path: Path, count: int, *, words: int = 3) -> Path:
    with path.open("w") as out:
        for n in range(count):
            answer = " ".join(f"word{n}" for _ in range(words))
            responses = {"x": f"short {n}", "y": f"a longer answer {n}: {answer}"}
            line = {"id": f"q{n}", "instruction": f"question {n}", "responses": responses}
            out.write(json.dumps(line) + "\n")
    return path


def endpoint(url: str, name: str = "judge", **more: Any) -> dict[str, Any]:
    return {"name": name, "model": "judge", "base_url": url, "price": PRICE, **more}


def study_plan(
    folder: Path,
    judges: list[dict[str, Any]],
    items: int = 3,
    *,
    store: Store | None = None,
    **more: Any,
) -> Plan:
    """`items` asks per judge: one pair an item, in one order; saved if a store is given."""
    folder.mkdir(exist_ok=True)
    path = write_items(folder / "items.jsonl", items)
    values = {
        "name": "small",
        "data": {"source": str(path)},
        "judges": judges,
        "prompts": ["visit-reference-free"],
        "orders": "one",
        **more,
    }
    plan = make_plan(study_from_mapping(values, folder=folder))
    if store is not None:
        save_plan(plan, store)
    return plan


def written_study(folder: Path, judge: str, items: int, more: str = "") -> Path:
    """A study file of as many asks, for commands; `judge` and `more` are its YAML."""
    source, study = write_items(folder / "items.jsonl", items), folder / "study.yaml"
    study.write_text(
        f"name: small\ndata: {{source: {source}}}\nprompts: [visit-reference-free]\norders: one\n"
        f"judges:\n  - {{name: judge, model: judge, {judge}}}\n{more}",
        encoding="utf-8",
    )
    return study


@contextmanager
def engine() -> Iterator[Engine]:
    made = Engine()
    try:
        yield made
    finally:
        made.close()


def start_small(made: Engine, store: Store, folder: Path, server: JudgeServer, **more: Any) -> Run:
    """A run of a small study at one judge, not waited for; `more`: see study_plan."""
    plan = study_plan(folder, [endpoint(server.base_url)], store=store, **more)
    return made.start(plan, store, settings=QUICK)


def run_through(
    plan: Plan,
    store: Store,
    *,
    settings: RunSettings = QUICK,
    keys: Mapping[str, str] | None = None,
    seconds: float = 240.0,
) -> Run:
    """A whole run, in an engine of its own."""
    save_plan(plan, store)
    with engine() as made:
        run = made.start(plan, store, keys=keys, settings=settings)
        assert run.wait(seconds), f"still {run.snapshot()}"
    return run


def run_text(store: Store, text: str, folder: Path | None = None) -> Plan:
    """The plan of a study file after a whole run, in an engine of its own."""
    plan = make_plan(parse_study(text, "test", folder or Path()))
    run = run_through(plan, store, settings=RunSettings(), seconds=120)
    assert run.state == "done", run.reason
    return plan


def judgements(store: Store, study: str = "small") -> list[Judgement]:
    return list(store.judgements(study))
