"""Recorded verdicts: somebody's finished judgements, opened as a study without a key or a call."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from pathlib import Path

from studies.domain import Ask, Item, Judgement
from studies.errors import SourceError, StudyError
from studies.exchange.shard_import import save_shards
from studies.files.tables import read_table
from studies.people.item_votes import is_item_vote, votes_as_judgements
from studies.recorded_keys import assign_recorded_keys
from studies.sources.formats.own_judgements import first_per_ask, parse_judgements
from studies.sources.hub import HUB_PREFIX
from studies.sources.load import LoadedSource, load_source
from studies.spec.study import DataSpec, Study
from studies.store.rows import PromptText
from studies.store.store import Store


def read_exported_judgements(path: Path, source: str) -> list[Judgement]:
    """The lines that `python -m studies export` writes."""
    return assign_recorded_keys(source, first_per_ask(parse_judgements(read_table(path))))


def save_recorded_once(
    store: Store,
    study: Study,
    items: list[Item],
    path: Path,
    prompts: tuple[PromptText, ...] = (),
) -> bool:
    """Writes a recorded study once; False if this very file is there already."""
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
    """A file (or folder, or Hub dataset) of verdicts as a study: no key, no call.

    `source` is a path relative to `folder`, or a whole `data` block, whose slice is then taken. A
    recorded study of that name is replaced, but not if anything is wrong with the file.
    """
    spec = (
        source
        if isinstance(source, DataSpec)
        else DataSpec(str(source), format, files or {}, mapping=mapping or {})
    )
    loaded = load_source(spec, folder).select_slice(spec)
    save_recorded_study(store, name or name_from_source(spec.source, folder), spec, loaded)
    return loaded


def save_recorded_study(store: Store, name: str, spec: DataSpec, loaded: LoadedSource) -> None:
    """Writes verdicts that are read already, with the votes of their items."""
    study = Study(name, loaded.pin_revision(spec))
    if store.has_live_asks(name):
        raise StudyError(
            f"there is a study named {name!r} whose judges are asked live; give the recorded one "
            "another name"
        )
    if loaded.shards is not None:
        sha = hashlib.sha256(repr([*loaded.items, loaded.shards.rows]).encode()).hexdigest()
        save_shards(store, study, loaded.items, loaded.shards.folder, sha)
        return
    recorded = assign_recorded_keys(study.name, loaded.judgements)
    votes = votes_as_judgements(loaded.items, study.name, (j.ask for j in recorded), recorded)
    if not recorded and not votes:
        raise SourceError(
            f"{study.data.source}: {len(loaded.items):,} items, read as {loaded.format}, but no "
            "verdict: make it the data of a study and let a judge compare the answers"
        )
    sha = hashlib.sha256(repr([*loaded.items, *recorded, *votes]).encode()).hexdigest()
    store.save_study(
        study, loaded.items, (), plan_sha=sha, recorded=[*recorded, *votes], only_recorded=True
    )


def recorded_beside_asks(
    store: Store,
    study: Study,
    items: Sequence[Item],
    recorded: Sequence[Judgement],
    asks: Sequence[Ask],
) -> list[Judgement]:
    """What a study with live asks keeps beside them: the verdicts of its file, those that the store
    holds of the same records, and the votes of its items."""
    kept = {j.ask.key: j for j in _stored_verdicts(store, study, {item.id for item in items})}
    kept |= {j.ask.key: j for j in assign_recorded_keys(study.name, recorded)}
    about = [*asks, *(j.ask for j in kept.values())]
    votes = votes_as_judgements(items, study.name, about, kept.values())
    return [*kept.values(), *votes]


def _stored_verdicts(store: Store, study: Study, items: set[str]) -> list[Judgement]:
    """An uploaded file may be gone while its verdicts are here; another file's are not ours."""
    if study.name not in {line.name for line in store.studies()}:
        return []
    if store.study(study.name).data.source != study.data.source:
        return []
    cast = {ballot.key for ballot in store.ballots(study.name)}
    return [
        j
        for j in store.recorded(study.name)
        if j.ask.item in items and not is_item_vote(j) and j.ask.key not in cast
    ]  # votes of items are worked out again, what is asked about may have changed; those cast on
    # the page are put back by the store


def name_from_source(source: str, folder: Path = Path()) -> str:
    """What a study is called after its file: the name without its ending."""
    if source.startswith(HUB_PREFIX):
        return source.partition("@")[0].removeprefix(HUB_PREFIX)
    name = (folder / source).expanduser().resolve().name
    return name.split(".")[0] or name or "recorded"
