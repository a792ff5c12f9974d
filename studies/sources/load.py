"""From a study's `data` block to items: the built-in set or a file, then the slice."""

from __future__ import annotations

import difflib
import hashlib
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path
from typing import Final

from studies.errors import SourceError, StudyError
from studies.records import Item
from studies.sources.native import read_items
from studies.study import DataSpec

ASSETS: Final = Path(__file__).resolve().parents[2] / "assets"
BUILT_IN: Final = {"probe": ASSETS / "probe" / "items.jsonl"}
FORMATS: Final = ("auto", "evenhand")


def source_path(spec: DataSpec, folder: Path) -> Path:
    """Where the records lie: a built-in name, or a path relative to the study file."""
    if spec.source in BUILT_IN:
        return BUILT_IN[spec.source]
    try:
        return folder / Path(spec.source).expanduser()
    except RuntimeError:
        raise SourceError(f"data.source: {spec.source!r} names the folder of nobody here") from None


def load_items(spec: DataSpec, folder: Path) -> list[Item]:
    """The items of the slice, sorted by id, sampled by seed."""
    return cut(load_all(spec, folder), spec)


def load_all(spec: DataSpec, folder: Path) -> list[Item]:
    """Every item of the source, before the slice."""
    if spec.format not in FORMATS:
        raise StudyError(f"data.format: {spec.format!r} is not one of {', '.join(FORMATS)}")
    for name in ("files", "join", "mapping", "split"):
        if getattr(spec, name):
            raise StudyError(f"data.{name}: means nothing for items in Evenhand's own format")
    path = source_path(spec, folder)
    if path.suffix.lower() not in (".jsonl", ".ndjson"):
        raise SourceError(
            f"data.source: {spec.source!r} is neither a built-in set ({', '.join(BUILT_IN)}) "
            "nor a .jsonl file of items"
        )
    return read_items(path)


def cut(items: list[Item], spec: DataSpec) -> list[Item]:
    """Filters first, then sort by id, then the seeded sample: the same slice on every machine."""
    _check_categories(items, spec)
    kept = [item for item in items if _kept(item, spec)]
    kept.sort(key=lambda item: item.id)
    for field, count in spec.per.items():
        kept = _stratified(kept, field, count, spec.seed)
    if spec.count and spec.count < len(kept):
        kept = _sample(kept, spec.count, spec.seed)
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


def _kept(item: Item, spec: DataSpec) -> bool:
    if spec.categories and item.category not in spec.categories:
        return False
    if spec.options and sum(bool(text.strip()) for text in item.responses.values()) != spec.options:
        return False
    return all(value_of(item, field) in allowed for field, allowed in spec.where.items())


def _sample(items: list[Item], count: int, seed: int) -> list[Item]:
    """Each item has a seeded lot of its own: a larger sample holds every smaller one, so that a
    study that grows keeps what it has paid for."""

    def lot(item: Item) -> bytes:
        return hashlib.sha256(f"slice\x1f{seed}\x1f{item.id}".encode()).digest()

    return sorted(sorted(items, key=lot)[:count], key=lambda item: item.id)


def _stratified(items: list[Item], field: str, count: int, seed: int) -> list[Item]:
    strata: dict[str, list[Item]] = defaultdict(list)
    for item in items:
        strata[value_of(item, field)].append(item)
    chosen: list[Item] = []
    for value in sorted(strata):
        members = strata[value]
        chosen += members if len(members) <= count else _sample(members, count, seed)
    return sorted(chosen, key=lambda item: item.id)


def value_of(item: Item, field: str) -> str:
    """A field by the name study files use: id, category, meta.x, checks.follows."""
    if field.startswith("meta."):
        return item.meta.get(field[5:], "")
    if field.startswith("checks."):
        return _checked(item, field[7:])
    if field not in _FIELDS:
        known = ", ".join([*_FIELDS, "meta.<name>", "checks.follows", "checks.harmful"])
        raise StudyError(f"data.where/per: no field {field!r}; known: {known}")
    return _FIELDS[field](item)


_FIELDS: Final[dict[str, Callable[[Item], str]]] = {
    "id": lambda item: item.id,
    "category": lambda item: item.category,
    "reference": lambda item: "true" if item.reference else "false",
    "images": lambda item: str(len(item.images)),
}


def _checked(item: Item, field: str) -> str:
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
