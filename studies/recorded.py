"""Recorded verdicts: somebody's finished judgements, opened as a study without a key or a call."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from pathlib import Path

from studies.errors import SourceError, StudyError
from studies.intake import save_shards
from studies.keys import keyed
from studies.records import Ask, Item, Judgement
from studies.rows import PromptText
from studies.sources.evenhand import judgements_of, one_each
from studies.sources.hub import HUB
from studies.sources.load import Loaded, load_source
from studies.sources.tables import read_table
from studies.store import Store
from studies.study import DataSpec, Study
from studies.votes import is_from_item, votes_of


def read_judgements(path: Path, source: str) -> list[Judgement]:
    """The lines that `python -m studies export` writes."""
    return keyed(source, one_each(judgements_of(read_table(path))))


def open_recorded(
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
    recorded = read_judgements(path, study.name)
    store.save_study(study, items, (), prompts, plan_sha=sha, recorded=recorded, only_recorded=True)
    return True


def open_file(
    store: Store,
    source: str | Path | DataSpec,
    name: str = "",
    *,
    folder: Path = Path(),
    format: str = "auto",
    mapping: dict[str, str] | None = None,
    files: dict[str, str] | None = None,
) -> Loaded:
    """A file (or folder, or Hub dataset) of verdicts as a study: no key, no call.

    `source` is a path relative to `folder`, or a whole `data` block, whose slice is then taken. A
    recorded study of that name is replaced, but not if anything is wrong with the file.
    """
    spec = (
        source
        if isinstance(source, DataSpec)
        else DataSpec(str(source), format, files or {}, mapping=mapping or {})
    )
    loaded = load_source(spec, folder).cut(spec)
    save_recorded(store, name or study_name(spec.source, folder), spec, loaded)
    return loaded


def save_recorded(store: Store, name: str, spec: DataSpec, loaded: Loaded) -> None:
    """Writes verdicts that are read already, with the votes of their items."""
    study = Study(name, loaded.pinned(spec))
    if store.asks_anything(name):
        raise StudyError(
            f"there is a study named {name!r} whose judges are asked live; give the recorded one "
            "another name"
        )
    if loaded.shards is not None:
        sha = hashlib.sha256(repr([*loaded.items, loaded.shards.rows]).encode()).hexdigest()
        save_shards(store, study, loaded.items, loaded.shards.folder, sha)
        return
    recorded = keyed(study.name, loaded.judgements)
    votes = votes_of(loaded.items, study.name, (j.ask for j in recorded), recorded)
    if not recorded and not votes:
        raise SourceError(
            f"{study.data.source}: {len(loaded.items):,} items, read as {loaded.format}, but no "
            "verdict: make it the data of a study and let a judge compare the answers"
        )
    sha = hashlib.sha256(repr([*loaded.items, *recorded, *votes]).encode()).hexdigest()
    store.save_study(
        study, loaded.items, (), plan_sha=sha, recorded=[*recorded, *votes], only_recorded=True
    )


def beside_asks(
    store: Store,
    study: Study,
    items: Sequence[Item],
    recorded: Sequence[Judgement],
    asks: Sequence[Ask],
) -> list[Judgement]:
    """What a study with live asks keeps beside them: the verdicts of its file, those that the store
    holds of the same records, and the votes of its items."""
    kept = {j.ask.key: j for j in _of_same_records(store, study, {item.id for item in items})}
    kept |= {j.ask.key: j for j in keyed(study.name, recorded)}
    about = [*asks, *(j.ask for j in kept.values())]
    votes = votes_of(items, study.name, about, kept.values())
    return [*kept.values(), *votes]


def _of_same_records(store: Store, study: Study, items: set[str]) -> list[Judgement]:
    """An uploaded file may be gone while its verdicts are here; another file's are not ours."""
    if study.name not in {line.name for line in store.studies()}:
        return []
    if store.study(study.name).data.source != study.data.source:
        return []
    cast = {ballot.key for ballot in store.ballots(study.name)}
    return [
        j
        for j in store.recorded(study.name)
        if j.ask.item in items and not is_from_item(j) and j.ask.key not in cast
    ]  # votes of items are worked out again, what is asked about may have changed; those cast on
    # the page are put back by the store


def study_name(source: str, folder: Path = Path()) -> str:
    """What a study is called after its file: the name without its ending."""
    if source.startswith(HUB):
        return source.partition("@")[0].removeprefix(HUB)
    name = (folder / source).expanduser().resolve().name
    return name.split(".")[0] or name or "recorded"
