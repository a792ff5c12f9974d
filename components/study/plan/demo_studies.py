"""The studies of a new store: the recorded demo, and the study that the demo's button runs."""

from dataclasses import replace
from pathlib import Path
from typing import Final

from judges.planning.plan import Plan, make_plan
from judges.rendering.prompt import load_prompt
from judges.twins.make_twins import add_twins
from studies.exchange.recorded_studies import save_recorded_once
from studies.sources.load import ASSETS_FOLDER, load_items
from studies.spec.study import DataSpec, Study, load_study
from studies.store.rows import PromptText
from studies.store.store import Store

DEMO_FOLDER: Final = ASSETS_FOLDER / "demo"
PAIRS_STUDY: Final = "Probe set, embedded judge"
OPTIONS_STUDY: Final = "Probe set, four options"
LARGER_STUDY: Final = "Probe set, Qwen 1.5B judge"
SINGLE_STUDY: Final = "Probe set, single answers"
TWINS_STUDY: Final = "Probe set, twins"
DEMO_STUDIES: Final = frozenset(
    {PAIRS_STUDY, OPTIONS_STUDY, LARGER_STUDY, SINGLE_STUDY, TWINS_STUDY}
)
"""Recorded studies that come with every store: PAIRS_STUDY of the embedded 135M judge, the others
of a 1.5B judge."""
LIVE_STUDY: Final = "Twenty items, live"


def import_demo_studies(store: Store, folder: Path = DEMO_FOLDER) -> None:
    """Import the recorded demo studies, except those that the store has already; the Home tab shows
    the study of the embedded judge."""
    for log in sorted(folder.glob("*.jsonl.gz"), reverse=True):
        study = load_study(log.with_name(log.name.replace(".jsonl.gz", ".yaml")))
        prompts = tuple(load_prompt(name) for name in study.prompts)
        texts = tuple(PromptText(p.sha, p.name, p.version, p.yaml) for p in prompts)
        items = add_twins(study, load_items(study.data, study.folder)).items
        save_recorded_once(store, study, list(items), log, texts)


def live_demo_plan(store: Store) -> Plan:
    """The plan that the demo's button on the Home tab runs."""
    return make_plan(live_demo_study(store))


def live_demo_study(store: Store) -> Study:
    """The demo as a study on 20 items: models `precise` and `flawed`, both orders, 40 calls."""
    recorded = store.study(PAIRS_STUDY)
    return replace(
        recorded,
        name=LIVE_STUDY,
        data=DataSpec(source="probe", count=20, seed=7),
        contestants=("precise", "flawed"),
        prompts=recorded.prompts[:1],
        pairing="all",
        baseline="",
        labels="plain",
        noise_floor=0.0,
    )
