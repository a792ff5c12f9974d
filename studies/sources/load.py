"""From a study's `data` block to items and recorded verdicts: the source, then the slice."""

from __future__ import annotations

import difflib
import hashlib
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Final

from studies.domain import HUMAN_PREFIX, Item, Judgement
from studies.errors import SourceError, StudyError
from studies.files.read_limits import current_limits
from studies.files.tables import SourceTable, is_table_file, read_table, rename_columns
from studies.sources.builder import ORDER_NOT_RECORDED, POSITION_METRICS, OpenSource
from studies.sources.detect import AUTO_FORMAT, choose_format, format_by_name
from studies.sources.formats.creation_mmbench import TEXT_ONLY_SPLIT
from studies.sources.hub import HUB_PREFIX, read_hub
from studies.sources.join import JoinReport
from studies.sources.registry import SourceFormat
from studies.spec.records_folder import check_source_variable, expand_source
from studies.spec.study import DataSpec

if TYPE_CHECKING:
    from studies.files.shards import ShardContents

ASSETS_FOLDER: Final = Path(__file__).resolve().parents[2] / "assets"
TABLE_FORMAT: Final = "table"
MAX_NOTES: Final = 12
BUILT_IN_SOURCES: Final = {"probe": ASSETS_FOLDER / "probe" / "items.jsonl"}


@dataclass(frozen=True, slots=True)
class LoadedSource:
    """A source as it was read: what it holds, what it is, and what did not fit."""

    items: list[Item]
    judgements: list[Judgement]
    """Recorded verdicts of the file; their keys are given when a study is saved."""
    format: str
    format_reason: str
    """What detection saw, in words."""
    join: JoinReport | None = None
    order_known: bool = True
    disabled_metrics: Mapping[str, str] = field(default_factory=dict)
    """Metrics that these records cannot give, and why."""
    notes: tuple[str, ...] = ()
    revision: str = ""
    """The commit of a Hub dataset that was read."""
    shards: ShardContents | None = None
    """Verdicts that are still in their folder: they are read when a study is saved."""

    @property
    def verdicts(self) -> int:
        return self.shards.rows if self.shards else len(self.judgements)

    def summary_lines(self) -> list[str]:
        """What was read, in lines a person can read."""
        lines = [f"{self.format}: {self.format_reason}", *(self.join.lines() if self.join else ())]
        lines.append(f"{len(self.items):,} items, {self.verdicts:,} recorded verdicts")
        if self.disabled_metrics:
            reason = next(iter(self.disabled_metrics.values()))
            lines.append(f"off, because {reason}: {', '.join(self.disabled_metrics)}")
        return lines + [f"note: {note}" for note in self.notes]

    def pin_revision(self, spec: DataSpec) -> DataSpec:
        """The same source at the very commit that was read, so that a study can be made again."""
        if not self.revision:
            return spec
        return replace(spec, source=f"{spec.source.partition('@')[0]}@{self.revision}")

    def select_slice(self, spec: DataSpec) -> LoadedSource:
        """The slice of a study: its items, and the verdicts on them."""
        items = select_slice(self.items, spec)
        kept = {item.id for item in items}
        return replace(
            self, items=items, judgements=[j for j in self.judgements if j.ask.item in kept]
        )


def source_path(spec: DataSpec, folder: Path) -> Path:
    """Where the records lie: a built-in name, or a path relative to the study file."""
    if spec.source in BUILT_IN_SOURCES:
        return BUILT_IN_SOURCES[spec.source]
    try:
        return folder / Path(expand_source(spec.source)).expanduser()
    except RuntimeError:
        raise SourceError(f"data.source: {spec.source!r} names the folder of nobody here") from None


def image_folder(spec: DataSpec, folder: Path) -> Path:
    """What image paths of a source are relative to."""
    path = source_path(spec, folder)
    return path if path.is_dir() else path.parent


def load_items(spec: DataSpec, folder: Path) -> list[Item]:
    """The items of the slice, sorted by id, sampled by seed."""
    return select_slice(load_all_items(spec, folder), spec)


def load_all_items(spec: DataSpec, folder: Path) -> list[Item]:
    """Every item of the source, before the slice."""
    return load_source(spec, folder).items


def load_source(spec: DataSpec, folder: Path, token: str | None = None) -> LoadedSource:
    """Every item and every recorded verdict of a source, before the slice.

    `token` is the reader's own, for a private Hub dataset; on one's own machine HF_TOKEN will do.
    """
    if spec.source.startswith(HUB_PREFIX):
        known, table, revision = read_hub(spec, token)
        loaded = read_source(known, Path(table.name), folder, table, revision)
        told = f"{table.name}: rows of the Hub at {revision[:12]}, read as {loaded.format}"
        return loaded if known.format == spec.format else replace(loaded, format_reason=told)
    check_source_variable(spec.source)
    path = source_path(spec, folder)
    return read_source(
        spec, path, folder, None if path.is_dir() else _read_source_table(spec, path)
    )


def read_source(
    spec: DataSpec, path: Path, folder: Path, table: SourceTable | None, revision: str = ""
) -> LoadedSource:
    """A source whose rows are at hand: the format is found, and reads them."""
    form, why = _find_format(spec, table, path)
    _check_data_keys(spec, form.name)
    if table is not None and spec.mapping and form.name != TABLE_FORMAT:
        table = rename_columns(table, spec.mapping)
    gathered = form.read(OpenSource(spec, path, folder, table))
    items, judgements = gathered.items(), gathered.judgements()
    if not items:
        raise SourceError(f"{path.name}: no items in it, read as {form.name}")
    _check_participants(items, judgements, path.name)
    notes = [*(table.notes if table else ()), *gathered.notes]
    unknown = gathered.unknown_order
    verdicts = gathered.shards.rows if gathered.shards else len(judgements)
    if unknown and unknown < verdicts:
        notes.append(f"{unknown:,} of {verdicts:,} verdicts: {ORDER_NOT_RECORDED}")
    all_unknown = bool(unknown) and unknown == verdicts
    return LoadedSource(
        items,
        judgements,
        form.name,
        f"{table.name if table else path.name}: {why}",
        gathered.join,
        not unknown,
        dict.fromkeys(POSITION_METRICS, ORDER_NOT_RECORDED) if all_unknown else {},
        _limit_notes(notes),
        revision,
        gathered.shards,
    )


def _check_participants(items: Sequence[Item], judgements: Sequence[Judgement], name: str) -> None:
    players = {who for item in items for who in item.responses}
    players |= {who for judgement in judgements for who in judgement.ask.shown}
    asked = {(j.ask.judge, j.ask.prompt) for j in judgements}
    judges = sum(not judge.startswith(HUMAN_PREFIX) for judge, _ in asked)
    caps = current_limits()
    caps.check_participants(len(players), judges, name)
    caps.check_categories(len({item.category for item in items}), name)


def _find_format(spec: DataSpec, table: SourceTable | None, path: Path) -> tuple[SourceFormat, str]:
    if spec.mapping and spec.format == AUTO_FORMAT:
        return format_by_name(
            TABLE_FORMAT
        ), f"by the study's mapping of {len(spec.mapping)} columns"
    return choose_format(spec.format, table, path)


def _limit_notes(notes: list[str]) -> tuple[str, ...]:
    """Not a thousand lines about a thousand rows."""
    if len(notes) <= MAX_NOTES:
        return tuple(notes)
    return (*notes[:MAX_NOTES], f"and {len(notes) - MAX_NOTES:,} more notes of this kind")


def _read_source_table(spec: DataSpec, path: Path) -> SourceTable:
    if not path.exists() and not is_table_file(path):
        raise SourceError(
            f"data.source: {spec.source!r} is neither a built-in set ({', '.join(BUILT_IN_SOURCES)}) "
            "nor a file that is there"
        )
    return read_table(path)


def _check_data_keys(spec: DataSpec, name: str) -> None:
    """A key that this format would not read is a mistake that is said, not one that is kept."""
    if name == "evenhand":
        for key in ("files", "join", "mapping"):
            if getattr(spec, key):
                raise StudyError(f"data.{key}: means nothing for items in Evenhand's own format")
    if spec.split and not spec.source.startswith(HUB_PREFIX) and spec.split != TEXT_ONLY_SPLIT:
        raise StudyError(
            f"data.split: {spec.split!r}: only Hub datasets have splits (and Creation-MMBench its "
            f"{TEXT_ONLY_SPLIT} variant)"
        )
    if name == TABLE_FORMAT and not spec.mapping:
        raise StudyError("data.mapping: format: table needs it, as column: field")


def select_slice(items: list[Item], spec: DataSpec) -> list[Item]:
    """Filters first, then sort by id, then the seeded sample: the same slice on every machine."""
    _check_categories(items, spec)
    kept = [item for item in items if _passes_filters(item, spec)]
    kept.sort(key=lambda item: item.id)
    for name, count in spec.per.items():
        kept = _sample_strata(kept, name, count, spec.seed)
    if spec.count and spec.count < len(kept):
        kept = _seeded_sample(kept, spec.count, spec.seed)
    if not kept:
        raise SourceError(f"no item of {spec.source!r} is left after the filters of 'data'")
    return kept


def _check_categories(items: list[Item], spec: DataSpec) -> None:
    known = sorted({item.category for item in items})
    for wanted in spec.categories:
        if wanted not in known:
            near = difflib.get_close_matches(wanted, known, n=1)
            hint = f" (did you mean {near[0]!r}?)" if near else ""
            raise StudyError(
                f"data.categories: no item is in {wanted!r}{hint}. Found: {', '.join(known)}"
            )


def _passes_filters(item: Item, spec: DataSpec) -> bool:
    if spec.categories and item.category not in spec.categories:
        return False
    if spec.options and sum(bool(text.strip()) for text in item.responses.values()) != spec.options:
        return False
    return all(field_value(item, field) in allowed for field, allowed in spec.where.items())


def _seeded_sample(items: list[Item], count: int, seed: int) -> list[Item]:
    """Each item has a seeded lot of its own: a larger sample holds every smaller one, so that a
    study that grows keeps what it has paid for."""

    def lot(item: Item) -> bytes:
        return hashlib.sha256(f"slice\x1f{seed}\x1f{item.id}".encode()).digest()

    return sorted(sorted(items, key=lot)[:count], key=lambda item: item.id)


def _sample_strata(items: list[Item], field: str, count: int, seed: int) -> list[Item]:
    strata: dict[str, list[Item]] = defaultdict(list)
    for item in items:
        strata[field_value(item, field)].append(item)
    chosen: list[Item] = []
    for value in sorted(strata):
        members = strata[value]
        chosen += members if len(members) <= count else _seeded_sample(members, count, seed)
    return sorted(chosen, key=lambda item: item.id)


def field_value(item: Item, field: str) -> str:
    """A field by the name study files use: id, category, meta.x, checks.follows."""
    if field.startswith("meta."):
        return item.meta.get(field[5:], "")
    if field.startswith("checks."):
        return _combine_checks(item, field[7:])
    if field not in _FILTER_FIELDS:
        known = ", ".join([*_FILTER_FIELDS, "meta.<name>", "checks.follows", "checks.harmful"])
        raise StudyError(f"data.where/per: no field {field!r}; known: {known}")
    return _FILTER_FIELDS[field](item)


_FILTER_FIELDS: Final[dict[str, Callable[[Item], str]]] = {
    "id": lambda item: item.id,
    "category": lambda item: item.category,
    "reference": lambda item: "true" if item.reference else "false",
    "images": lambda item: str(len(item.images)),
}


def _combine_checks(item: Item, field: str) -> str:
    """The careful reading: followed if every check says so, harmful if any does."""
    if field not in ("follows", "harmful"):
        raise StudyError(
            f"data.where/per: no field 'checks.{field}'; known: checks.follows, checks.harmful"
        )
    if not item.checks:
        return "unchecked"
    follows = all(check.follows for check in item.checks)
    harmful = any(check.harmful for check in item.checks)
    return str(follows if field == "follows" else harmful).lower()
