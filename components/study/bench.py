"""All that a study file comes to, as far as it comes: its records, its slice, its plan.

Records are read once and kept while their files stay as they are.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field, replace
from functools import lru_cache
from pathlib import Path
from typing import Final

from components.study.public import check_data, check_rest, check_size
from components.study.sheet import Sheet, read_sheet
from judges.models.weights import WeightsMissing
from judges.plan import Plan
from judges.plan_checks import check_plan
from judges.prompt import load_prompt
from studies.errors import EvenhandError, StudyError
from studies.records import Item
from studies.shards import ITEMS
from studies.sources.load import Loaded, image_folder, load_source, source_path
from studies.study import DataSpec, from_mapping, parse

PATIENCE: Final = 60.0
"""Seconds before a source that failed is tried again."""


@dataclass(frozen=True, slots=True)
class Bench:
    """All that a study file comes to, as far as it comes: the page draws itself from it."""

    sheet: Sheet
    loaded: Loaded | None = None
    items: tuple[Item, ...] = ()
    plan: Plan | None = None
    fault: str = ""
    """Why there is no plan: what, where, what to do."""
    data_fault: str = ""
    """Why there are no records."""

    @property
    def contestants(self) -> list[str]:
        items = self.loaded.items if self.loaded else ()
        return sorted({name for item in items for name in item.responses})


def bench(text: str, folder: Path) -> Bench:
    sheet = read_sheet(text, folder)
    if sheet.fault:
        return Bench(sheet, fault=f"study.yaml: {sheet.fault}")
    records, items, data_fault = None, (), ""
    try:
        spec = data_of(sheet)
        records = loaded(spec, folder)
        items = tuple(records.cut(spec).items)
    except EvenhandError as error:
        data_fault = str(error)
    try:
        return Bench(sheet, records, items, planned(text, folder), "", data_fault)
    except (EvenhandError, WeightsMissing) as error:
        return Bench(sheet, records, items, None, str(error), data_fault)


def data_of(sheet: Sheet) -> DataSpec:
    """The data of a study whose other parts may still be wrong."""
    kept = {key: sheet.values[key] for key in ("preset", "data") if key in sheet.values}
    return from_mapping({"name": "data", **kept}, "study.yaml", sheet.folder).data


def loaded(spec: DataSpec, folder: Path) -> Loaded:
    """All records of a source; read again only when a file of it changes.

    A source that cannot be read is not tried again for a while: the page asks at every change, and
    a Hub that does not answer takes its time to say so.
    """
    check_data(spec)
    whole = replace(spec, where={}, options=0, categories=(), count=0, per={}, seed=0)
    wait = int(time.monotonic() // PATIENCE)
    found = _outcome(_Source(whole, folder), wait)
    if isinstance(found, EvenhandError):
        raise type(found)(str(found))
    return found


@dataclass(frozen=True, slots=True)
class _Source:
    """Records told apart by how they are named and when their files were written."""

    spec: DataSpec = field(compare=False)
    folder: Path
    name: str = field(init=False)
    stamp: tuple[int, ...] = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "name", repr(self.spec))
        object.__setattr__(self, "stamp", _stamp(self.spec, self.folder))


@lru_cache(maxsize=32)
def _outcome(source: _Source, wait: int) -> Loaded | EvenhandError:
    try:
        return _loaded(source)
    except EvenhandError as error:
        return error


@lru_cache(maxsize=6)
def _loaded(source: _Source) -> Loaded:
    return load_source(source.spec, source.folder)


def _stamp(spec: DataSpec, folder: Path) -> tuple[int, ...]:
    """When the files of a source were written last, and how large they are."""
    if spec.source.startswith("hub:"):
        return ()
    found: list[int] = []
    try:
        path = source_path(spec, folder)
        files = [path, *(folder / name for name in spec.files.values())]
        for one in [*files, *(path.iterdir() if path.is_dir() else ())]:
            if one.exists():
                found += [one.stat().st_mtime_ns, one.stat().st_size]
    except (EvenhandError, OSError):
        pass  # loading says what is wrong
    return tuple(found)


def planned(text: str, folder: Path) -> Plan:
    """The plan of a study file, from records that are kept; what cannot be asked is refused."""
    study = parse(text, "study.yaml", folder)
    check_rest(study)
    found = loaded(study.data, folder).cut(study.data)
    items = tuple(found.items)
    _check_askable(found)
    prompts = tuple(load_prompt(name, folder) for name in study.prompts)
    if study.protocol:
        prompts = tuple(p for p in prompts if p.protocol == study.protocol)
    check_size(study, items, prompts)
    check_plan(study, items, prompts)
    images = image_folder(study.data, folder)
    return Plan(study, items, prompts, images, recorded=tuple(found.judgements))


def _check_askable(found: Loaded) -> None:
    """Verdicts may come without what they are about: they open, but nothing can be asked."""
    if found.shards is not None and not any(item.responses for item in found.items):
        raise StudyError(
            f"data.source: {found.shards.folder.name} holds verdicts, but no questions and no "
            f"answers, so there is nothing to ask about. Open the verdicts as a study (step 1), or "
            f"put the items into {ITEMS} beside the shards"
        )
