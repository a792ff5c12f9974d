"""The studies a new store begins with: the recorded demo, and the study its button runs."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Final

from judges.plan import Plan, make_plan
from judges.prompt import load_prompt
from studies.recorded import open_recorded
from studies.rows import PromptText
from studies.sources.load import ASSETS, load_items
from studies.store import Store
from studies.study import DataSpec, Study, load

FOLDER: Final = ASSETS / "demo"
PAIRS: Final = "Probe set, embedded judge"
OPTIONS: Final = "Probe set, four options"
LIVE: Final = "Twenty items, live"


def open_demo(store: Store, folder: Path = FOLDER) -> None:
    """Recorded judgements of the embedded judge, so that the first screen shows something real."""
    for log in sorted(folder.glob("*.jsonl"), reverse=True):
        study = load(log.with_suffix(".yaml"))
        prompts = tuple(load_prompt(name) for name in study.prompts)
        texts = tuple(PromptText(p.sha, p.name, p.version, p.yaml) for p in prompts)
        open_recorded(store, study, load_items(study.data, study.folder), log, texts)


def live_plan(store: Store) -> Plan:
    """The plan behind the button of the first screen."""
    return make_plan(live_study(store))


def live_study(store: Store) -> Study:
    """Ask it again: 20 items, precise against flawed, both orders, no noise floor: 40 asks."""
    recorded = store.study(PAIRS)
    return replace(
        recorded,
        name=LIVE,
        data=DataSpec(source="probe", count=20, seed=7),
        contestants=("precise", "flawed"),
        prompts=recorded.prompts[:1],
        pairing="all",
        baseline="",
        labels="plain",
        noise_floor=0.0,
    )
