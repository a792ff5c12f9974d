"""Load the data of a study file, select the slice (the items that the study uses) and build the
plan. A step that fails leaves its error in the result, and the others are still done.

Loaded records are cached until their files change, or until they are not used for half an hour (on
a public page, a minute)."""

import time
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from components.study.file.lenient_study import LenientStudy, read_lenient_study
from components.study.plan import idle_cache, public_checks
from judges.models.weights import WeightsMissing
from judges.planning.plan import Plan, make_plan
from studies.domain import Item
from studies.errors import EvenhandError, StudyError
from studies.files.read_limits import MEGABYTE
from studies.files.shards import ITEMS_FILE
from studies.sources.load import LoadedSource, load_source, source_path
from studies.spec.keys import DATA, STUDY
from studies.spec.study import DataSpec, parse_study, study_from_mapping
from studies.store.caching.store_cache import StoreCache

RETRY_SECONDS: Final = 60.0
"""Maximum seconds for which a source that failed to load is not loaded again."""


@dataclass(frozen=True, slots=True)
class StudyPreview:
    """Study, items and plan of a study file, with the errors of parts that could not be made."""

    lenient_study: LenientStudy
    records: LoadedSource | None = None
    items: tuple[Item, ...] = ()
    plan: Plan | None = None
    plan_error: str = ""
    """Error in building the plan; empty if the plan was built."""
    data_error: str = ""
    """Error in loading the data source or in selecting the slice; empty if both succeeded."""

    @property
    def contestants(self) -> list[str]:
        items = self.records.items if self.records else ()
        return sorted({name for item in items for name in item.responses})


def build_preview(text: str, folder: Path) -> StudyPreview:
    sheet = read_lenient_study(text, folder)
    if sheet.parse_error:
        return StudyPreview(sheet, plan_error=f"study.yaml: {sheet.parse_error}")
    records, data_fault = None, ""
    items: tuple[Item, ...] = ()
    try:
        spec = read_data_spec(sheet)
        records = load_records(spec, folder)
        items = tuple(records.select_slice(spec).items)
    except EvenhandError as error:
        data_fault = str(error)
    try:
        return StudyPreview(sheet, records, items, plan_from_text(text, folder), "", data_fault)
    except (EvenhandError, WeightsMissing) as error:
        return StudyPreview(sheet, records, items, None, str(error), data_fault)


def read_data_spec(study: LenientStudy) -> DataSpec:
    """The data settings of a study file whose other parts may be invalid."""
    kept = {key: study.values[key] for key in (*STUDY.preset, *STUDY.data) if key in study.values}
    return study_from_mapping({STUDY.name.name: "data", **kept}, "study.yaml", study.folder).data


def load_records(spec: DataSpec, folder: Path) -> LoadedSource:
    """Load all records of a source, or take them from the cache. After a failure the same error is
    raised for up to RETRY_SECONDS, since a Hub that does not respond is slow to fail."""
    public_checks.check_data_source(spec, folder)
    whole = replace(
        spec, where={}, options=0, categories=(), count=0, take=DATA.take.default, per={}, seed=0
    )
    source, stamp = (folder, repr(whole)), _file_stamps(whole, folder)
    period = int(time.monotonic() // RETRY_SECONDS)

    def load() -> LoadedSource:
        if failure := _FAILURES.find(source, (stamp, period)):
            raise failure[0](failure[1])
        try:
            return load_source(whole, folder)
        except EvenhandError as error:
            failed = type(error), str(error)
            _FAILURES.compute_once(source, (stamp, period), lambda: failed)
            raise

    return idle_cache.RECORDS.compute_once(("records", *source), stamp, load)


_FAILURES: Final = StoreCache(MEGABYTE)
"""Messages of failures by source. An error itself would keep the rows that were read before it."""


def _file_stamps(spec: DataSpec, folder: Path) -> tuple[int, ...]:
    """Modification time and size of each file of a source that exists; empty for a Hub dataset."""
    if spec.source.startswith("hub:"):
        return ()
    found: list[int] = []
    try:
        path = source_path(spec, folder)
        files = [path, *(folder / name for name in (*spec.parts, *spec.files.values()))]
        for one in [*files, *(path.iterdir() if path.is_dir() else ())]:
            if one.exists():
                found += [one.stat().st_mtime_ns, one.stat().st_size]
    except (EvenhandError, OSError):
        pass  # loading reports the error
    return tuple(found)


def plan_from_text(text: str, folder: Path) -> Plan:
    """Plan of a study file's text, from cached records; an error is raised if the file is not
    valid, not allowed on this page, or has no calls."""
    study = parse_study(text, "study.yaml", folder)
    public_checks.check_prompts_and_judges(study)
    return make_plan(study, _load_records_to_judge, public_checks.check_ask_count)


def _load_records_to_judge(spec: DataSpec, folder: Path) -> LoadedSource:
    """Load all records of a source; StudyError if they can only be imported, not judged: stored
    verdicts (shards) without answers."""
    found = load_records(spec, folder)
    if found.shards is not None and not any(item.responses for item in found.items):
        raise StudyError(
            f"data.source: {found.shards.folder.name} holds verdicts without questions and "
            "answers. Open the verdicts as a study (step 1), or put "
            f"the items into {ITEMS_FILE} beside the verdict files"
        )
    return found
