"""A protocol run end to end for tests: items in a file, a preset, a real store, a real engine."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from judges.planning.plan import Plan, make_plan
from studies.spec.study import study_from_mapping
from studies.store.store import Store
from tests.judges.small_studies import run_through


def write(folder: Path, items: list[dict[str, Any]]) -> Path:
    path = folder / "items.jsonl"
    path.write_text("".join(json.dumps(item) + "\n" for item in items), encoding="utf-8")
    return path


def planned(folder: Path, items: list[dict[str, Any]], preset: str, **more: Any) -> Plan:
    """A study of these items under a preset, through the same door as a study file."""
    write(folder, items)
    data = {"source": "items.jsonl", **more.pop("data", {})}
    values = {"name": "s", "preset": preset, "data": data, "judges": [simulated()], **more}
    return make_plan(study_from_mapping(values, folder=folder))


def simulated(name: str = "sim", **settings: Any) -> dict[str, Any]:
    return {"name": name, "model": "simulated", **settings}


def asked(plan: Plan, store: Store):  # type: ignore[no-untyped-def]
    """The frame of the study after a whole run, without what people say about the same items."""
    run = run_through(plan, store)
    assert run.state == "done", run.reason
    return machines(plan, store)


def machines(plan: Plan, store: Store):  # type: ignore[no-untyped-def]
    frame = store.frame(plan.study.name)
    return frame[frame["judge"].isin([judge.name for judge in plan.study.judges])]
