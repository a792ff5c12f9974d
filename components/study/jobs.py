"""Slow actions of the Study form, without gradio: judge tests, plans of runs, imports of verdicts,
image descriptions, private datasets, and uploads."""

import hashlib
import json
import re
import secrets
import shutil
import unicodedata
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from components.html.format import count
from components.html.pieces import notice_html
from components.server.access import current_access
from components.study.file.judge_entries import judge_address, judge_name
from components.study.file.lenient_study import NEW_STUDY_NAME, START_YAML, read_lenient_study
from components.study.file.yaml_edit import dump_study, parse_yaml, put_value, reset_to_source
from components.study.form.data_step import data_source, table_columns
from components.study.form.prompts import prompt_protocols
from components.study.plan import demo_studies, study_preview
from components.study.plan.cost_preview import one_item_plan
from components.study.plan.public_checks import check_upload_space
from judges.engine.engine import Engine
from judges.engine.outcome import ReplyOutcome
from judges.models import clients, embedded, weights
from judges.operations.check_judge import JudgeCheck, check_judge
from judges.operations.image_descriptions import describe_images_to_file
from judges.operations.list_models import ModelList, list_models
from judges.planning import plan as planning
from judges.planning.plan import Plan
from judges.rendering.prompt import load_prompt
from judges.security.key_consents import (
    Consents,
    TypedKeys,
    strip_and_check_key_for_origin,
    typed_keys_of_judges,
)
from judges.security.key_store import mask_keys_in_output, redact_keys
from studies.domain import HUMAN_PREFIX
from studies.errors import EvenhandError, SourceError, StudyError
from studies.exchange import recorded_studies
from studies.files.items import dump_item
from studies.files.read_limits import current_limits
from studies.files.tables import check_file_size, is_table_file, read_table
from studies.files.upload_names import UPLOADS_FOLDER, name_without_ending, original_name
from studies.sources.load import LoadedSource, load_source
from studies.sources.registry import SOURCE_FORMATS
from studies.spec.judge_spec import parse_judge
from studies.spec.keys import DATA, JUDGE
from studies.spec.study import DataSpec, parse_study, study_to_mapping
from studies.store.store import Store

REPORTED_ERRORS = (EvenhandError, embedded.EmbeddedUnavailable, weights.WeightsMissing)
"""Errors shown on the page; any other exception is a bug."""


# -------------------------------------------------------------------------------- asking


def test_judge(
    text: str,
    folder: Path,
    name: str,
    typed: TypedKeys,
    consents: Consents,
    engine: Engine | None = None,
) -> JudgeCheck:
    """Test one judge with one call. The result has reply, verdict and duration; if the call is
    impossible or fails, the error. `typed`: keys that the user typed; `consents`: to which hosts
    keys from environment variables may be sent."""
    try:
        plan = study_preview.plan_from_text(text, folder)
        judge = plan.judge(name)
        keys = typed_keys_of_judges([judge], typed)
        if judge.api_key_env and name not in keys and not current_access().machine_files:
            raise StudyError(
                "This Space's key can be used for runs, not for judge tests. Use “Try one item”."
            )
        return check_judge(plan, judge, keys, consents, engine)
    except StopIteration:
        told = f"no judge named {name!r} in this study; reload the page"
    except REPORTED_ERRORS as error:
        told = str(error)
    return JudgeCheck(name, "", ReplyOutcome("error", None, "", told), 0.0, "")


def request_judge_models(
    text: str, folder: Path, index: int, typed: TypedKeys, consents: Consents
) -> ModelList:
    """Request the models at the address of judge number `index` (from 0), which also tests its key;
    the result has the models or the error. `typed` and `consents`: as for `test_judge`."""
    judges = read_lenient_study(text, folder).judges
    if not 0 <= index < len(judges):
        return ModelList("", error="this judge is no longer in the study; reload the page")
    entry = judges[index]
    address = judge_address(entry)
    try:
        # The page holds a typed key under the name that it shows, also before a model is chosen.
        named = {JUDGE.name.name: judge_name(entry), JUDGE.model.name: "-"}
        judge = parse_judge({**entry, **named}, "judge")
        keys = typed_keys_of_judges([judge], typed)
        if judge.api_key_env and judge.name not in keys and not current_access().machine_files:
            raise StudyError("This Space's key cannot list models. Type the name of the model.")
        key = clients.find_api_key(judge, keys, consents)
        try:
            return list_models(judge.endpoint, key)
        finally:
            key.discard()
    except REPORTED_ERRORS as error:
        return ModelList(address, error=str(error))


def save_plan_for_run(text: str, store: Store, *, one_item: bool = False) -> Plan:
    """Save the plan of a run or, with `one_item`, of a trial on one item; return the plan. If
    saving would remove stored replies of a study with this name, a study that still has the default
    name gets a free one; for any other name an error is raised. An error is also raised, with the
    reason, if the study cannot be run or has the name of a recorded demo."""
    plan = study_preview.plan_from_text(text, store.folder)
    if plan.study.name in demo_studies.DEMO_STUDIES:
        raise StudyError("name: the recorded demo has this name; choose another name")
    made = planning.plan_for_current_visitor(one_item_plan(plan) if one_item else plan, store)
    if not one_item:
        made = _rename_or_refuse_if_replies_lost(made, store)
    planning.save_plan(made, store)
    return made


def _rename_or_refuse_if_replies_lost(plan: Plan, store: Store) -> Plan:
    """Return the plan unchanged if saving it removes no stored replies of a study of the same name.
    Otherwise return it with a free name if its name begins with the default name of new studies;
    for any other name, raise StudyError."""
    name, lost = plan.study.name, planning.count_replies_dropped_by_plan(plan, store)
    if not lost:
        return plan
    other = planning.find_free_study_name(store, name)
    if name.startswith(NEW_STUDY_NAME):
        return replace(plan, study=replace(plan.study, name=other))
    raise StudyError(
        f"name: a study named {name!r} exists. Saving this design under that name would remove "
        f"{lost:,} replies of the stored study. Choose another name, for example {other!r}"
    )


def import_recorded_verdicts(text: str, store: Store, judge: str = "") -> str:
    """Import all recorded verdicts of a source as a study; return the study's name. An error is
    raised if the source cannot be read or has neither verdicts nor votes.

    If this visitor has imported verdicts from this source before, the new study replaces that one,
    and votes cast on the page are kept. Otherwise, if the visitor has begun a study on this source
    in the form and only named it, the new study replaces that one and keeps its name. In all other
    cases the name is made from the source. Further studies on this source that were begun in the
    form and, apart from their name, not changed, are deleted. `judge`: new name for the source's
    judge, used only if the source has exactly one."""
    folder = store.folder
    spec = replace(
        study_preview.read_data_spec(read_lenient_study(text, folder)),
        where={},
        options=0,
        categories=(),
        count=0,
        per={},
    )
    found = study_preview.load_records(spec, folder)
    name = recorded_studies.study_name_from_source(original_name(spec.source))
    if name.endswith("-files"):  # several files stored together have no name of their own
        name = found.format
    recorded, begun = recorded_studies.list_own_studies_of_source(store, spec.source)
    new = parse_study(reset_to_source(START_YAML, spec.source), "study.yaml", folder)
    alike: dict[str, Any] = {"name": new.name, "data": new.data, "folder": new.folder}
    known = recorded + [one for one in begun if replace(store.study(one), **alike) == new]
    free = planning.find_free_study_name(store, store.name_to_save_under(name))
    named = [one for one in known if one in recorded or not one.startswith(NEW_STUDY_NAME)]
    name = next(iter(named), free)
    recorded_studies.save_recorded_study(store, name, spec, with_judge_name(found, judge))
    for draft in {*known} - {name, *recorded}:
        store.delete_study(draft)
    return name


def with_judge_name(found: LoadedSource, judge: str) -> LoadedSource:
    """The source with its only judge renamed to `judge`; unchanged if `judge` is empty or the
    source has no judge or several. People keep their names."""
    name = " ".join(judge.split())[:80]
    machines = {j.ask.judge for j in found.judgements if not j.ask.judge.startswith(HUMAN_PREFIX)}
    if not name or len(machines) != 1:
        return found
    named = [
        j if j.ask.judge.startswith(HUMAN_PREFIX) else replace(j, ask=replace(j.ask, judge=name))
        for j in found.judgements
    ]
    return replace(found, judgements=named)


@dataclass(frozen=True, slots=True)
class JobResult:
    """Result of a slow job: the text of the changed study file, and a notice."""

    text: str
    notice_html: str


def describe_images(
    text: str, store: Store, engine: Engine, request: Mapping[str, Any], typed: TypedKeys
) -> JobResult:
    """Have a judge describe the images of a study's items, and write the items with these
    descriptions to a new file. `request`: {"judge": name, "prompt": name}; `typed`: keys that the
    user typed. The study file in the result uses the new file; after an error it is unchanged, and
    the notice is the reason."""
    folder = store.folder
    try:
        study = study_preview.plan_from_text(text, folder).study
        judge, prompt = str(request["judge"]), str(request["prompt"])
        sha = hashlib.sha256(f"{text}{judge}{prompt}".encode()).hexdigest()[:8]
        out = folder / UPLOADS_FOLDER / f"{sha}-described.jsonl"
        keys = typed_keys_of_judges(study.judges, typed)
        done = describe_images_to_file(study, judge, prompt, out, store, engine=engine, keys=keys)
    except REPORTED_ERRORS as error:
        return JobResult(text, notice_html("bad", "Nothing was described.", str(error)))
    if done.out is None:
        why = next(iter(done.failed.values()), done.reason or "no reply was received")
        return JobResult(text, notice_html("bad", "Nothing was described.", why))
    made = put_value(text, DATA.source.path, f"{UPLOADS_FOLDER}/{out.name}")
    for key in DATA:
        if key.rule.per_source and key != DATA.options:
            made = put_value(made, key.path, None)
    failed = (
        f" {count(len(done.failed), 'item')} failed: the previous description is kept."
        if done.failed
        else ""
    )
    told = (
        f"Items described: {count(done.described)}, at a cost of ${done.dollars:.2f}.{failed} The "
        "study now uses the descriptions."
    )
    return JobResult(made, notice_html("warn" if failed else "calm", "Described.", told))


def fetch_private_dataset(text: str, store: Store, typed: TypedKeys) -> JobResult:
    """Download a private Hub dataset with the visitor's token, which is in `typed` under
    HUB_TOKEN_NAME, and store it as a file with an unguessable name, so that other visitors cannot
    open it. The study file in the result uses this file; after an error it is unchanged, and the
    notice is the reason."""
    folder = store.folder
    try:
        spec = study_preview.read_data_spec(read_lenient_study(text, folder))
        if data_source.source_kind(spec.source) != data_source.HUB:
            raise StudyError("data.source: this is not a Hub dataset; enter the name of one first")
        if data_source.HUB_TOKEN_NAME not in typed:
            raise StudyError("a private dataset needs your Hugging Face token; type it first")
        token = strip_and_check_key_for_origin(
            typed[data_source.HUB_TOKEN_NAME], data_source.HUB_URL, "token"
        )
        with mask_keys_in_output([token]):
            found = _load_private_dataset(spec, folder, token)
        lines = "".join(
            json.dumps(dump_item(item), ensure_ascii=False) + "\n" for item in found.items
        )
        check_upload_space(folder, len(lines))
    except REPORTED_ERRORS as error:
        return JobResult(text, notice_html("bad", "Nothing was fetched.", str(error)))
    name = spec.source.removeprefix("hub:").partition("@")[0].replace("/", "-").replace(":", "-")
    out = folder / UPLOADS_FOLDER / f"{secrets.token_hex(4)}-{name}.jsonl"
    out.parent.mkdir(parents=True, exist_ok=True)
    out.write_text(lines, encoding="utf-8")
    made = reset_to_source(text, f"{UPLOADS_FOLDER}/{out.name}")
    told = f"{len(found.items):,} items, revision {found.revision[:12]}. The study now uses them."
    return JobResult(made, notice_html("calm", "Fetched.", told))


def _load_private_dataset(spec: DataSpec, folder: Path, token: str) -> LoadedSource:
    """Load a private dataset; the token is removed from errors of the Hub library."""
    try:
        return load_source(spec, folder, token)
    except EvenhandError as error:
        raise SourceError(redact_keys(str(error))) from None


# -------------------------------------------------------------------------------- files


def store_upload(path: Path, folder: Path, name: str = "") -> str:
    """Copy the uploaded file `path` to the uploads in `folder`; return its new path, relative to
    `folder`. Its new name is a hash of its content, then `name` or, if that is empty, its old
    name."""
    with path.open("rb") as content:
        sha = hashlib.file_digest(content, "sha256").hexdigest()[:8]
    kept = folder / UPLOADS_FOLDER / f"{sha}-{safe_file_name(name or path.name)}"
    kept.parent.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(path, kept)
    return f"{UPLOADS_FOLDER}/{kept.name}"


def safe_file_name(name: str) -> str:
    """The name, shortened, with all characters but letters, digits, _ . + - replaced by "-"."""
    words = _UNSAFE_CHARACTERS.sub("-", unicodedata.normalize("NFKC", name)).strip("-.")
    stem, dot, ending = words.partition(".")
    return f"{stem[:60] or 'file'}{dot}{ending[-30:]}"


_UNSAFE_CHARACTERS = re.compile(r"[^\w.+-]+")


def study_name_from_data_file(text: str) -> str:
    """Name for a new study, from the text of its study file: the name of the data file, without its
    suffix and without the hash that an upload adds; NEW_STUDY_NAME if that is empty."""
    data = parse_yaml(text).get(DATA.source.path[0])
    source = data.get(DATA.source.name) if isinstance(data, Mapping) else ""
    name = recorded_studies.study_name_from_source(original_name(str(source or "")))
    return name or NEW_STUDY_NAME


def has_or_needs_column_mapping(text: str, folder: Path) -> bool:
    """Whether the study's source is a table that has a column mapping or needs one."""
    return table_columns.mappable_table(study_preview.build_preview(text, folder)) is not None


def save_uploads_as_data(text: str, paths: Sequence[Path], folder: Path) -> str:
    """Store uploaded files, and return the study file `text` with them as its data. For one file, a
    column mapping is added if one can be guessed (`with_guessed_columns`). Several files are stored
    as a folder if a known format reads such a folder; else one file is taken as the questions, and
    each other one as the answers of a model. Files that are too large raise an error."""
    for path in paths:
        check_file_size(path)
    size = sum(path.stat().st_size for path in paths)
    current_limits().check_bytes(size, f"these {len(paths)} files")
    check_upload_space(folder, size)
    if len(paths) == 1:
        made = reset_to_source(text, store_upload(paths[0], folder))
        return with_guessed_columns(made, folder)
    if whole := _store_as_folder(paths, folder):
        return reset_to_source(text, whole)
    questions = max(paths, key=_question_file_sort_key)
    made = reset_to_source(text, store_upload(questions, folder))
    answers = {
        _contestant_name_from_file(p): store_upload(p, folder) for p in paths if p != questions
    }
    return put_value(made, DATA.files.path, answers)


def with_guessed_columns(text: str, folder: Path) -> str:
    """The study file `text` with a guessed column mapping, if the source needs one and can be read
    with the guess; else unchanged.

    A guess is used only if it has a question and no verdicts, and also either the answers of two or
    more models, or one answer with its label (such as "pass", or a score). In the case of one
    answer, the study also gets a prompt that judges one answer on the scale of these labels; if
    there is no such prompt, the file is unchanged."""
    study = read_lenient_study(text, folder)
    if table_columns.mappable_table(study_preview.build_preview(text, folder)) is None:
        return text
    guess = table_columns.guessed_column_mapping(study)
    fields = set(guess.values())
    answers = {field for field in fields if field.startswith("responses.")}
    least = 1 if "label" in fields else 2
    if "instruction" not in fields or len(answers) < least or fields & _VERDICT_FIELDS:
        return text
    made = put_value(text, DATA.mapping.path, guess)
    if len(answers) == 1 and prompt_protocols(study) != {"single"}:
        items = study_preview.build_preview(made, folder).items
        values = {label.value for item in items for label in item.labels}
        prompt = _prompt_name_for_label_scale(values)
        if prompt is None:
            return text
        made = put_value(made, ("prompts",), [prompt])
    return made if not study_preview.build_preview(made, folder).data_error else text


def _prompt_name_for_label_scale(values: Collection[float | str]) -> str | None:
    """Name of a prompt that judges one answer on the scale of the labels: pass or fail, 1 to 5, or
    1 to 10. None if there are no labels, or if no scale contains all of them."""
    scores = [value for value in values if not isinstance(value, str)]
    if values and not scores:
        return "pass-fail"
    for name in ("score-scale", "mt-bench-single") if len(scores) == len(values) > 0 else ():
        low, high = load_prompt(name).score_range
        if all(low <= score <= high for score in scores):
            return name
    return None


_VERDICT_FIELDS = frozenset(
    {"winner", "winner_index", "score", "first", "second", "a", "b", "reply"}
)


def _store_as_folder(paths: Sequence[Path], folder: Path) -> str:
    """Store the files as one folder if a format reads such a folder; return its path, else ""."""
    contents = sorted((path.name, path.read_bytes()) for path in paths)
    sha = hashlib.sha256(b"\0".join(name.encode() + text for name, text in contents)).hexdigest()
    kept = folder / UPLOADS_FOLDER / f"{sha[:8]}-{len(paths)}-files"
    kept.mkdir(parents=True, exist_ok=True)
    for path in paths:
        shutil.copyfile(path, kept / safe_file_name(path.name))
    if any(form.matches_folder(kept) for form in SOURCE_FORMATS.values()):
        return f"{UPLOADS_FOLDER}/{kept.name}"
    shutil.rmtree(kept)
    return ""


def _question_file_sort_key(path: Path) -> tuple[int, int]:
    """Sort key of an uploaded file: its number of columns, then its bytes. The file with the
    highest key is taken as the questions."""
    known = len(read_table(path).columns) if is_table_file(path) else 0
    return known, path.stat().st_size


def _contestant_name_from_file(path: Path) -> str:
    return name_without_ending(path.name).removeprefix("answers_").removeprefix("answers-")


def stored_study_yaml(store: Store, name: str) -> str:
    """Study file of a stored study, to be shown in the form. A study of recorded verdicts gets the
    name "…, again", because the form cannot change it, but can start a new study on the same
    data."""
    study = store.study(name)
    line = next(line for line in store.studies() if line.name == name)
    mapping = study_to_mapping(replace(study, name=f"{name}, again") if line.recorded else study)
    return dump_study(mapping)
