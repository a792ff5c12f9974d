"""The record tree of a board: for each study its judgements, items, study file and prompts, written
so that the same records always give the same bytes.

    records/<study>/judgements.jsonl.gz   every judgement, one JSON object per line
    records/<study>/items.jsonl.gz        the items, with votes and known better answers
    records/<study>/study.yaml            the study file
    records/<study>/prompts/*.yaml        the prompts, as they were sent
    records/<study>/record.json           who ran it, and what identifies each judge
    manifest.json                         SHA-256 of every file but itself, the page and hidden ones
"""

import gzip
import hashlib
import json
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, fields, replace
from itertools import islice
from operator import attrgetter
from pathlib import Path, PureWindowsPath
from typing import Any, Final

import orjson

from judges.judge_errors import PlanError
from judges.models.weights import WeightsMissing
from judges.planning.plan import Plan, asks_of, identity_of
from judges.rendering import prompt as prompt_files
from judges.twins.make_twins import add_twins
from studies.domain import HUMAN_PREFIX, Ask, Item, Judgement, Usage, Verdict
from studies.errors import EvenhandError, SourceError, StudyError
from studies.files import tables, upload_names
from studies.files.items import dump_item, parse_items
from studies.people.item_votes import votes_as_judgements
from studies.sources import hub, load
from studies.sources.formats.own_exports import parse_judgements
from studies.spec.presets import PROBE_SOURCE
from studies.spec.study import DataSpec, Study, dump_study, load_study, parse_study
from studies.store.queries.adapted_requests import REFUSABLE_SETS, key_without_parameters
from studies.store.store import Store

RECORDS: Final = "records"
JUDGEMENTS_FILE: Final = "judgements.jsonl.gz"
ITEMS_FILE: Final = "items.jsonl.gz"
STUDY_FILE: Final = "study.yaml"
RECORD_FILE: Final = "record.json"
MANIFEST_FILE: Final = "manifest.json"
PAGE_FILE: Final = "index.html"
RECORDED_KEY: Final = "r"
"""First letter of the key of a verdict without a request; other keys are hexadecimal."""
LINES_PER_WRITE: Final = 500
_PROMPT_FILE: Final = re.compile(r"prompts/[a-z0-9-]+\.yaml")


class BoardError(EvenhandError):
    """Raised if a board cannot be built, or differs from its records."""


@dataclass(frozen=True, slots=True)
class StudyRecords:
    """The records of one study of a board."""

    name: str
    """Name of the study's folder in the record tree."""
    study: Study
    items: tuple[Item, ...]
    judgements: tuple[Judgement, ...]
    prompts: tuple[prompt_files.Prompt, ...]
    identities: Mapping[str, str]
    """Judge -> text that identifies it in the keys of its calls: an address, the settings of a
    simulated judge, or the SHA-256 of weights."""
    source: str
    """Name of the data."""
    by: str = ""
    """Name of the person or group who ran the study."""

    @property
    def plan(self) -> Plan:
        """The plan of the study (all its calls), from which the key of each call can be computed
        again."""
        return Plan(self.study, self.items, self.prompts, Path())

    def is_imported(self, judge: str) -> bool:
        """Whether no calls were made for the verdicts of this judge: they were imported, or are
        people's votes."""
        return judge not in self.identities


# ---- from a store, or from a study file with its exported judgements ---------------------------


def records_of_store(store: Store, name: str, by: str = "") -> StudyRecords:
    """Read the records of a study from a store; raise BoardError if the study is unfinished, has no
    verdict of a judge, or has judges that see images. `by` names the person or group who ran it."""
    study, judgements = store.study(name), list(store.judgements(name))
    if pending := store.status_counts(name).get("pending", 0):
        raise BoardError(
            f"{name}: calls without a reply: {pending:,}; run the study to its end, or retry its "
            "failed calls"
        )
    items = tuple(store.items(name).values())
    prompts = prompt_files.add_versions_to_equal_names(
        [prompt_files.parse_prompt(text, name) for text in store.planned_prompt_texts(name)]
    )
    identities: dict[str, str] = {}
    for one in judgements:
        judge = one.ask.judge
        if judge not in identities and (request := store.request(one.ask.key)) is not None:
            identities[judge] = request.endpoint
    if salt := store.salt_of(name):
        plan = Plan(study, items, prompts, Path(), salt=salt)
        judgements = _replace_salted_keys(plan, judgements, identities)
    return _make_study_records(study, items, judgements, prompts, identities, by)


def records_of_file(
    path: Path, identities: Mapping[str, str] | None = None, by: str = ""
) -> StudyRecords:
    """Read a study file `x.yaml`, and the judgements exported beside it as `x.jsonl` or
    `x.jsonl.gz`. `identities`: judge -> text that identifies it, needed for judges whose weights
    are not on this machine. `by`: the person or group who ran the study. BoardError if judgements
    or weights are missing, no judge gave a verdict, or judges see images."""
    study = load_study(path)
    logs = [path.with_suffix(ending) for ending in (".jsonl", ".jsonl.gz")]
    log = next((one for one in logs if one.is_file()), None)
    if log is None:
        raise BoardError(
            f"{path}: no judgements beside it; export them to {logs[0].name}: "
            "python -m studies export NAME"
        )
    judgements = parse_judgements(tables.read_table(log))
    items = add_twins(study, load.load_items(study.data, study.folder)).items
    asks = [one.ask for one in judgements]
    judgements += votes_as_judgements(items, study.name, asks, judgements)
    prompts = prompt_files.add_versions_to_equal_names(
        [prompt_files.load_prompt(name, study.folder) for name in study.prompts]
    )
    called = {one.ask.judge for one in judgements if not one.ask.key.startswith(RECORDED_KEY)}
    found = {
        judge.name: (identities or {}).get(judge.name) or _find_judge_identity(judge.name, study)
        for judge in study.judges
        if judge.name in called
    }
    return _make_study_records(study, items, judgements, prompts, found, by)


def _find_judge_identity(judge: str, study: Study) -> str:
    spec = next(one for one in study.judges if one.name == judge)
    try:
        return identity_of(spec, study.families)
    except (WeightsMissing, PlanError) as error:
        raise BoardError(
            f"judge {judge!r}: its weights are not on this machine ({error}); name them: "
            f"--identity '{judge}=embedded:SHA256'"
        ) from None


def _replace_salted_keys(
    plan: Plan, judgements: list[Judgement], identities: Mapping[str, str]
) -> list[Judgement]:
    """Replace the keys of the judgements' calls by keys that everybody can compute again. On a
    public page, a secret text of the visitor (a salt) is hashed into each key; the new keys are
    those of the same calls without it. `identities`: as in StudyRecords."""
    salted = asks_of(plan, identities)
    plain = asks_of(replace(plan, salt=""), identities)
    known = {
        key_without_parameters(a.ask.key, names): key_without_parameters(b.ask.key, names)
        for a, b in zip(salted, plain, strict=True)
        for names in REFUSABLE_SETS
    }
    return [
        replace(one, ask=replace(one.ask, key=known.get(one.ask.key, one.ask.key)))
        for one in judgements
    ]


def _make_study_records(
    study: Study,
    items: tuple[Item, ...],
    judgements: Iterable[Judgement],
    prompts: tuple[prompt_files.Prompt, ...],
    identities: Mapping[str, str],
    by: str,
) -> StudyRecords:
    if study.judge_sees == "images" and any(one.vision for one in study.judges):
        raise BoardError(
            f"{study.name}: its judges see images, which are not part of a board's records; its "
            "requests could not be checked. Run the study with judge_sees: context"
        )
    source = study.data.source
    is_file = source != PROBE_SOURCE and not source.startswith(hub.HUB_PREFIX)
    name = upload_names.name_without_ending(PureWindowsPath(source).name) if is_file else source
    data = DataSpec(ITEMS_FILE, seed=study.data.seed) if is_file else study.data
    judges = tuple(replace(one, weights=_weights_file_name(one.weights)) for one in study.judges)
    shown = replace(
        study, data=data, judges=judges, prompts=prompt_names_or_paths(prompts) or study.prompts
    )
    found = tuple(judgements)
    if not any(not one.ask.judge.startswith(HUMAN_PREFIX) for one in found):
        raise BoardError(f"{study.name}: the study has no verdict of a judge")
    return StudyRecords(
        folder_name(study.name), shown, items, found, prompts, dict(identities), name, by
    )


def prompt_names_or_paths(prompts: Iterable[prompt_files.Prompt]) -> tuple[str, ...]:
    """Names of the prompts in the board's study file: of a built-in prompt its name, of any other
    the path of its file in the record tree."""
    listed = tuple(prompts)
    return tuple(dict.fromkeys(map(_prompt_name_or_path, listed, _prompt_paths(listed))))


def _prompt_name_or_path(prompt: prompt_files.Prompt, file: str) -> str:
    built_in = prompt_files.built_in_prompts().get(prompt.name)
    same = built_in is not None and prompt_files.load_prompt(prompt.name).sha == prompt.sha
    return prompt.name if same else file


def _prompt_paths(prompts: Iterable[prompt_files.Prompt]) -> list[str]:
    """Path of the file of each prompt in the record tree; if two prompts would get the same path, a
    number is added."""
    found: list[str] = []
    for prompt in prompts:
        name, number = folder_name(prompt.name), 1
        path = f"prompts/{name}.yaml"
        while path in found:
            number += 1
            path = f"prompts/{name}-{number}.yaml"
        found.append(path)
    return found


def _weights_file_name(weights: str) -> str:
    """Path of a judge's weights without the folders of this machine; an address on the Hub stays as
    it is."""
    return weights if weights.startswith(hub.HUB_PREFIX) else PureWindowsPath(weights).name


def folder_name(study: str) -> str:
    """Name of the folder for a study, or of the file for a prompt: the given name in lower case,
    with a hyphen for each run of other characters than a–z and 0–9; at most 60 characters."""
    return re.sub(r"[^a-z0-9]+", "-", study.lower()).strip("-")[:60] or "study"


# ---- writing and reading the tree --------------------------------------------------------------


def write_records(records: StudyRecords, board: Path) -> None:
    """Write the records of one study; BoardError if the board has a study of this name."""
    folder = board / RECORDS / records.name
    if folder.exists():
        raise BoardError(
            f"{folder}: the board has a study of this name; rename the study, or build the board "
            "again"
        )
    (folder / "prompts").mkdir(parents=True)
    write_gzipped_lines(folder / JUDGEMENTS_FILE, map(judgement_row, records.judgements))
    write_gzipped_lines(folder / ITEMS_FILE, map(dump_item, records.items))
    (folder / STUDY_FILE).write_text(dump_study(records.study), encoding="utf-8")
    names = _prompt_paths(records.prompts)
    for name, prompt in zip(names, records.prompts, strict=True):
        (folder / name).write_text(prompt.yaml, encoding="utf-8")
    facts = {
        "by": records.by,
        "source": records.source,
        "identities": dict(records.identities),
        "prompts": names,
    }
    write_json(folder / RECORD_FILE, facts)


def judgement_row(judgement: Judgement) -> dict[str, Any]:
    """A judgement as a dictionary with the fields of an export; ten times as fast as `asdict`,
    which copies every value."""
    row = _JUDGEMENT_FIELDS(judgement)
    for name, values_of in _NESTED_FIELDS.items():
        if row[name] is not None:
            row[name] = values_of(row[name])
    return row


def _make_object_to_dict_function(kind: type[Any]) -> Callable[[object], dict[str, Any]]:
    """A function from an object of this class to a dict of its fields (name -> value)."""
    names = tuple(one.name for one in fields(kind))
    take = attrgetter(*names)
    return lambda one: dict(zip(names, take(one), strict=True))


_JUDGEMENT_FIELDS: Final = _make_object_to_dict_function(Judgement)
_NESTED_FIELDS: Final = {
    "ask": _make_object_to_dict_function(Ask),
    "verdict": _make_object_to_dict_function(Verdict),
    "usage": _make_object_to_dict_function(Usage),
}


def read_records(board: Path, name: str) -> StudyRecords:
    """Read the records of one study of a board; BoardError, with the file, if one is missing or
    malformed."""
    folder = board / RECORDS / name
    facts = read_json(folder / RECORD_FILE)
    try:
        if unknown := [one for one in facts["prompts"] if not _PROMPT_FILE.fullmatch(one)]:
            raise BoardError(f"{name}/{RECORD_FILE}: {unknown[0]!r} is no file of prompts/")
        prompts = [
            prompt_files.parse_prompt((folder / one).read_text("utf-8"), f"{name}/{one}")
            for one in facts["prompts"]
        ]
        return StudyRecords(
            name,
            parse_study((folder / STUDY_FILE).read_text("utf-8"), f"{name}/{STUDY_FILE}", folder),
            tuple(parse_items(tables.read_table(folder / ITEMS_FILE), texts_required=False)),
            tuple(parse_judgements(tables.read_table(folder / JUDGEMENTS_FILE))),
            prompt_files.add_versions_to_equal_names(prompts),
            facts["identities"],
            facts["source"],
            facts["by"],
        )
    except KeyError as error:
        raise BoardError(f"{name}/{RECORD_FILE}: {error} is missing") from None
    except OSError as error:
        raise BoardError(f"{error.filename}: {error.strerror}") from None
    except StudyError as error:
        raise BoardError(str(error)) from None
    except SourceError as error:
        raise BoardError(f"{RECORDS}/{name}/{error}") from None


def study_folders(board: Path) -> list[str]:
    """Names of the folders of the studies of a board, sorted; BoardError if there are none."""
    folder = board / RECORDS
    found = sorted(one.parent.name for one in folder.glob(f"*/{RECORD_FILE}"))
    if not found:
        raise BoardError(f"{board}: no records in it; a board has a folder {RECORDS}/")
    return found


def write_gzipped_lines(path: Path, records: Iterable[object]) -> None:
    """Write one JSON object per line, compressed; the file contains neither its name nor a time, so
    that equal records give equal bytes."""
    lines = (orjson.dumps(record, option=orjson.OPT_APPEND_NEWLINE) for record in records)
    with path.open("wb") as raw, gzip.GzipFile("", "wb", 6, raw, mtime=0) as out:
        while text := b"".join(islice(lines, LINES_PER_WRITE)):
            out.write(text)


def json_text(value: Any) -> str:
    """The text with which a value is stored in a JSON file of a board."""
    return json.dumps(value, ensure_ascii=False, indent=1, allow_nan=False) + "\n"


def write_json(path: Path, value: Any) -> None:
    path.write_text(json_text(value), encoding="utf-8")


def read_json(path: Path) -> Any:
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise BoardError(f"{path}: {error.strerror}; is this the folder of a board?") from None
    except ValueError:
        raise BoardError(f"{path}: not JSON") from None


def write_manifest(board: Path) -> None:
    """Write the SHA-256 of every file of the board but the manifest, the page and hidden files."""
    write_json(board / MANIFEST_FILE, {"sha256": file_hashes(board)})


def file_hashes(board: Path) -> dict[str, str]:
    """Path -> SHA-256, for every file but the manifest, the page (which shows the hash of the
    manifest) and hidden files."""
    found = {}
    for path in sorted(board.rglob("*")):
        name = path.relative_to(board).as_posix()
        hidden = name.startswith(".")  # a Git folder is not listed
        if path.is_file() and name not in (MANIFEST_FILE, PAGE_FILE) and not hidden:
            with path.open("rb") as file:
                found[name] = hashlib.file_digest(file, "sha256").hexdigest()
    return found


def record_file_paths(records: StudyRecords) -> list[str]:
    """Paths of the files that a board has for a study."""
    prompts = _prompt_paths(records.prompts)
    names = (JUDGEMENTS_FILE, ITEMS_FILE, STUDY_FILE, RECORD_FILE, *prompts)
    return [f"{RECORDS}/{records.name}/{name}" for name in names]


def manifest_hash(board: Path) -> str:
    return hashlib.sha256((board / MANIFEST_FILE).read_bytes()).hexdigest()
