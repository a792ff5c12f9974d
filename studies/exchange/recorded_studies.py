"""Recorded studies: existing verdicts saved as a study, without API key or judge calls."""

import hashlib
from collections.abc import Sequence
from pathlib import Path

from studies.domain import Ask, Item, Judgement, assign_recorded_keys
from studies.errors import SourceError, StudyError
from studies.files.tables import read_table
from studies.files.upload_names import name_without_ending
from studies.people.item_votes import is_item_vote, votes_as_judgements
from studies.sources.formats.own_exports import keep_first_per_ask, parse_judgements
from studies.sources.hub import HUB_PREFIX
from studies.sources.load import LoadedSource, load_source
from studies.spec.study import DataSpec, Study
from studies.store.ballot_queries import read_ballots
from studies.store.rows import PromptText
from studies.store.store import Store


def read_exported_judgements(path: Path, source: str) -> list[Judgement]:
    """Read a file of exported judgements and keep the first judgement of each request. Each gets
    the key of a recorded verdict of the study `source`, which no call can have."""
    return assign_recorded_keys(source, keep_first_per_ask(parse_judgements(read_table(path))))


def save_recorded_once(
    store: Store, study: Study, items: list[Item], path: Path, prompts: Sequence[PromptText] = ()
) -> bool:
    """Save the judgements in the file `path` as a study that makes no calls, and return True. If
    the study was saved before from a file with the same content, save nothing and return
    False. `prompts` are stored with the study."""
    sha = hashlib.sha256(path.read_bytes()).hexdigest()
    if store.plan_sha(study.name) == sha:
        return False
    recorded = read_exported_judgements(path, study.name)
    store.save_study(study, items, (), prompts, plan_sha=sha, recorded=recorded, only_recorded=True)
    return True


def import_verdicts(
    store: Store,
    source: str | Path | DataSpec,
    name: str = "",
    *,
    folder: Path = Path(),
    format: str = "auto",
    mapping: dict[str, str] | None = None,
    files: dict[str, str] | None = None,
) -> LoadedSource:
    """Import a file, folder or Hub dataset of verdicts as a study, without judge calls; return
    the data that was imported.

    `source` is a path relative to `folder`, or the `data` block of a study. In the second
    case only the items that the block selects are imported, and `format`, `mapping` and
    `files` have no effect. A study of the same name is replaced if it makes no calls, else
    StudyError is raised. If the file has an error, nothing is replaced."""
    spec = (
        source
        if isinstance(source, DataSpec)
        else DataSpec(str(source), format, files=files or {}, mapping=mapping or {})
    )
    loaded = load_source(spec, folder).select_slice(spec)
    save_recorded_study(store, name or study_name_from_source(spec.source, folder), spec, loaded)
    return loaded


def save_recorded_study(store: Store, name: str, spec: DataSpec, loaded: LoadedSource) -> None:
    """Save imported verdicts, and the people's votes in their items, as a study that makes no
    calls; an earlier study of this kind and name is replaced. From shards (Evenhand's own
    result files) only the verdicts are saved. StudyError if a study of this name makes calls;
    SourceError if a source other than shards has neither verdicts nor votes."""
    study = Study(name, loaded.pin_revision(spec))
    if store.plans_calls(name):
        raise StudyError(
            f"a study named {name!r} exists and has live calls; import the recorded verdicts under "
            "another name"
        )
    if loaded.shards is not None:
        sha = hashlib.sha256(repr([*loaded.items, loaded.shards.rows]).encode()).hexdigest()
        from studies.exchange.shard_import import save_shards_as_study  # imports pyarrow

        save_shards_as_study(store, study, loaded.items, loaded.shards.folder, sha)
        return
    recorded = assign_recorded_keys(study.name, loaded.judgements)
    votes = votes_as_judgements(loaded.items, study.name, (j.ask for j in recorded), recorded)
    if not recorded and not votes:
        raise _no_verdicts_error(spec, loaded)
    sha = _hash_records([*loaded.items, *recorded, *votes])
    store.save_study(
        study, loaded.items, (), plan_sha=sha, recorded=[*recorded, *votes], only_recorded=True
    )


def list_own_studies_of_source(store: Store, source: str) -> tuple[list[str], list[str]]:
    """Return two lists of names of the visitor's studies whose data source is `source`: the studies
    of recorded verdicts, and the other studies that plan no calls."""
    found: tuple[list[str], list[str]] = [], []
    for line in store.studies():
        if not store.owns(line.name) or store.study(line.name).data.source != source:
            continue
        if line.recorded or not line.planned:
            found[not line.recorded].append(line.name)
    return found


def check_has_verdicts(name: str, spec: DataSpec, loaded: LoadedSource) -> None:
    """Raise SourceError for a source with neither verdicts nor votes; used before a study named
    `name` is created from it."""
    asks = (judgement.ask for judgement in loaded.judgements)
    if not loaded.verdict_count and not votes_as_judgements(loaded.items, name, asks, ()):
        raise _no_verdicts_error(spec, loaded)


def _no_verdicts_error(spec: DataSpec, loaded: LoadedSource) -> SourceError:
    return SourceError(
        f"{spec.source}: {len(loaded.items):,} items (format {loaded.format}) without "
        "verdicts; use this source as the data of a study and run a judge"
    )


def _hash_records(records: Sequence[Item | Judgement]) -> str:
    """Return a SHA-256 hash of the text of all records, read one at a time to save memory."""
    found = hashlib.sha256(b"[")
    for index, record in enumerate(records):
        found.update((", " if index else "").encode() + repr(record).encode())
    found.update(b"]")
    return found.hexdigest()


def recorded_verdicts_and_votes(
    store: Store,
    study: Study,
    items: Sequence[Item],
    recorded: Sequence[Judgement],
    asks: Sequence[Ask],
) -> list[Judgement]:
    """Return all judgements that were made without a call, for a study that also calls judges.

    These are the verdicts `recorded`, the verdicts that an earlier save of the study stored from
    the same source, and the votes in `items`. A vote becomes a choice among the answers that one of
    the planned calls `asks`, or one of the verdicts, compares.
    """
    earlier = _verdicts_of_earlier_save(store, study, {item.id for item in items})
    # Keys contain the name of the study, which may have had another one at its earlier save.
    found = {j.ask.key: j for j in assign_recorded_keys(study.name, [*earlier, *recorded])}
    compared = [*asks, *(j.ask for j in found.values())]
    votes = votes_as_judgements(items, study.name, compared, found.values())
    return [*found.values(), *votes]


def _verdicts_of_earlier_save(store: Store, study: Study, items: set[str]) -> list[Judgement]:
    """Return the verdicts on `items` that were stored when this study was saved before with the
    same data source. Votes are left out. The stored verdicts are used because the source's
    file may have been deleted since."""
    if study.name not in {line.name for line in store.studies()}:
        return []
    if store.study(study.name).data.source != study.data.source:
        return []
    cast = {ballot.key for ballot in read_ballots(store.read_connection, study.name)}
    return [
        j
        for j in store.recorded_judgements(study.name)
        if j.ask.item in items and not is_item_vote(j) and j.ask.key not in cast
    ]  # votes of items are converted again for the new asks; the store keeps votes cast on the page


def study_name_from_source(source: str, folder: Path = Path()) -> str:
    """Return the default name of a study of the data in `source`: the name of the folder, of the
    file without its ending, or of the Hub dataset without its revision. `source` is a path relative
    to `folder`, or the address of a Hub dataset."""
    if source.startswith(HUB_PREFIX):
        return source.partition("@")[0].removeprefix(HUB_PREFIX)
    path = (folder / source).expanduser().resolve()
    return (path.name if path.is_dir() else name_without_ending(path.name)) or "recorded"
