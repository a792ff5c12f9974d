"""What takes time or leaves the form: tests, uploads, recorded verdicts. No gradio."""

from __future__ import annotations

import hashlib
import json
import re
import secrets
import shutil
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from components import demo
from components.access import mode
from components.drawing.pieces import notice
from components.study.bench import data_of, loaded, planned
from components.study.data import HUB, HUB_KEY, HUB_URL, UPLOADS, kind_of, upload_name
from components.study.edit import dump, other_source, put
from components.study.plan import tryout
from components.study.public import check_room
from components.study.sheet import read_sheet
from judges.check import Checked, check
from judges.consents import Consents
from judges.describe import describe
from judges.engine import Engine
from judges.models.embedded import EmbeddedUnavailable
from judges.models.weights import WeightsMissing
from judges.plan import Plan, owned, save_plan
from judges.reading import Read
from judges.typed_keys import TypedKeys, key_at, keys_for
from judges.vault import lent, redacted
from studies.errors import EvenhandError, SourceError, StudyError
from studies.recorded import save_recorded, study_name
from studies.sources.caps import caps_now
from studies.sources.formats import FORMATS
from studies.sources.load import Loaded, load_source
from studies.sources.native import item_to
from studies.sources.tables import check_size, is_table, read_table
from studies.store import Store
from studies.study import DataSpec, to_mapping

REFUSED = (EvenhandError, EmbeddedUnavailable, WeightsMissing)
"""What is said on the page; anything else is a fault of ours."""


# -------------------------------------------------------------------------------- asking


def test_judge(text: str, folder: Path, name: str, typed: TypedKeys, consents: Consents) -> Checked:
    """One ask of one judge: raw reply, reading, latency. What prevents it is said in its place."""
    try:
        plan = planned(text, folder)
        judge = plan.judge(name)
        keys = keys_for([judge], typed)
        if judge.api_key_env and name not in keys and not mode().machine:
            raise StudyError(
                "the house's key answers runs, which are metered, and no tests; try one item"
            )
        return check(plan, judge, keys, consents)
    except StopIteration:
        told = f"no judge named {name!r} in this study"
    except REFUSED as error:
        told = str(error)
    return Checked(name, "", Read("error", None, "", told), 0.0, "")


def ready(text: str, store: Store, *, one_item: bool = False) -> Plan:
    """The plan of what Run (or the try-out) asks, saved; refused with a reason before any call."""
    plan = planned(text, store.folder)
    if plan.study.name in {demo.PAIRS, demo.OPTIONS}:
        raise StudyError("name: this is the recorded demo's name; choose another")
    made = owned(tryout(plan) if one_item else plan, store)
    save_plan(made, store)
    return made


def open_verdicts(text: str, store: Store) -> str:
    """The recorded verdicts of a study's source, whole, as a study of their own; its name."""
    folder = store.folder
    spec = replace(data_of(read_sheet(text, folder)), where={}, options=0, categories=(), count=0,
                   per={})  # fmt: skip
    found = loaded(spec, folder)
    name = study_name(upload_name(spec.source))
    if name.endswith("-files"):  # several, kept together: no name of their own
        name = found.format
    if store.asks_anything(name):
        name = f"{name}, recorded"
    name = store.own_name(name)
    save_recorded(store, name, spec, found)
    return name


@dataclass(frozen=True, slots=True)
class Went:
    """What an errand came to: the file as it is now, and what to say."""

    text: str
    said: str


def describe_images(
    text: str, store: Store, engine: Engine, errand: Mapping[str, Any], typed: TypedKeys
) -> Went:
    """New descriptions in a new items file, with which the study goes on."""
    folder = store.folder
    try:
        study = planned(text, folder).study
        judge, prompt = str(errand["judge"]), str(errand["prompt"])
        sha = hashlib.sha256(f"{text}{judge}{prompt}".encode()).hexdigest()[:8]
        out = folder / UPLOADS / f"{sha}-described.jsonl"
        keys = keys_for(study.judges, typed)
        done = describe(study, judge, prompt, out, store, engine=engine, keys=keys)
    except REFUSED as error:
        return Went(text, notice("bad", "Nothing was described.", str(error)))
    if done.out is None:
        why = next(iter(done.failed.values()), done.reason or "no reply came")
        return Went(text, notice("bad", "Nothing was described.", why))
    made = put(text, ("data", "source"), f"{UPLOADS}/{out.name}")
    for key in (
        "format",
        "files",
        "join",
        "mapping",
        "split",
        "count",
        "per",
        "where",
        "categories",
    ):
        made = put(made, ("data", key), None)
    failed = f" {len(done.failed)} failed and keep what they had." if done.failed else ""
    told = f"{done.described} items for ${done.dollars:.2f}.{failed} The study goes on with them."
    return Went(made, notice("warn" if failed else "calm", "Described.", told))


def fetch_private(text: str, store: Store, typed: TypedKeys) -> Went:
    """A private dataset with the reader's own token: kept as a file, so that no other reader of
    this page gets it by its name."""
    folder = store.folder
    try:
        spec = data_of(read_sheet(text, folder))
        if kind_of(spec.source) != HUB:
            raise StudyError("data.source: name a dataset of the Hub first")
        if HUB_KEY not in typed:
            raise StudyError("a private dataset needs your token; type it in first")
        token = key_at(typed[HUB_KEY], HUB_URL, "token")
        with lent([token]):
            found = _fetched(spec, folder, token)
        lines = "".join(
            json.dumps(item_to(item), ensure_ascii=False) + "\n" for item in found.items
        )
        check_room(folder, len(lines))
    except REFUSED as error:
        return Went(text, notice("bad", "Nothing was fetched.", str(error)))
    name = spec.source.removeprefix("hub:").partition("@")[0].replace("/", "-").replace(":", "-")
    out = folder / UPLOADS / f"{secrets.token_hex(4)}-{name}.jsonl"
    out.parent.mkdir(parents=True, exist_ok=True)
    out.write_text(lines, encoding="utf-8")
    made = other_source(text, f"{UPLOADS}/{out.name}")
    told = f"{len(found.items):,} items at {found.revision[:12]}; the study goes on with them."
    return Went(made, notice("calm", "Fetched.", told))


def _fetched(spec: DataSpec, folder: Path, token: str) -> Loaded:
    """What the Hub's library says may repeat the token."""
    try:
        return load_source(spec, folder, token)
    except EvenhandError as error:
        raise SourceError(redacted(str(error))) from None


# -------------------------------------------------------------------------------- files


def keep_upload(path: Path, folder: Path, name: str = "") -> str:
    """An uploaded file is kept beside the store, by its content: temporary files go."""
    with path.open("rb") as content:
        sha = hashlib.file_digest(content, "sha256").hexdigest()[:8]
    kept = folder / UPLOADS / f"{sha}-{plain_name(name or path.name)}"
    kept.parent.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(path, kept)
    return f"{UPLOADS}/{kept.name}"


def plain_name(name: str) -> str:
    """A file's name without what means something to a shell, a path or a page; its ending stays."""
    words = _NO_NAME.sub("-", unicodedata.normalize("NFKC", name)).strip("-.")
    stem, dot, ending = words.partition(".")
    return f"{stem[:60] or 'file'}{dot}{ending[-30:]}"


_NO_NAME = re.compile(r"[^\w.+-]+")


def take_upload(text: str, paths: Sequence[Path], folder: Path) -> str:
    """The study on the uploaded file; of several, one holds the questions and others answers."""
    for path in paths:
        check_size(path)
    size = sum(path.stat().st_size for path in paths)
    caps_now().check_bytes(size, f"these {len(paths)} files")
    check_room(folder, size)
    if len(paths) == 1:
        return other_source(text, keep_upload(paths[0], folder))
    if whole := _as_folder(paths, folder):
        return other_source(text, whole)
    questions = max(paths, key=_columns)
    made = other_source(text, keep_upload(questions, folder))
    answers = {_contestant(p): keep_upload(p, folder) for p in paths if p != questions}
    return put(made, ("data", "files"), answers)


def _as_folder(paths: Sequence[Path], folder: Path) -> str:
    """A set of files that a format knows as a folder, kept together under their own names."""
    contents = sorted((path.name, path.read_bytes()) for path in paths)
    sha = hashlib.sha256(b"\0".join(name.encode() + text for name, text in contents)).hexdigest()
    kept = folder / UPLOADS / f"{sha[:8]}-{len(paths)}-files"
    kept.mkdir(parents=True, exist_ok=True)
    for path in paths:
        shutil.copyfile(path, kept / plain_name(path.name))
    if any(form.holds(kept) for form in FORMATS.values()):
        return f"{UPLOADS}/{kept.name}"
    shutil.rmtree(kept)
    return ""


def _columns(path: Path) -> tuple[int, int]:
    """The file of questions has most columns; of equals the larger."""
    known = len(read_table(path).columns) if is_table(path) else 0
    return known, path.stat().st_size


def _contestant(path: Path) -> str:
    return path.name.partition(".")[0].removeprefix("answers_").removeprefix("answers-")


def study_text(store: Store, name: str) -> str:
    """A stored study as a file, to be edited: under a name of its own if it cannot be run again."""
    study = store.study(name)
    line = next(line for line in store.studies() if line.name == name)
    mapping = to_mapping(replace(study, name=f"{name}, again") if line.recorded else study)
    return dump(mapping)
