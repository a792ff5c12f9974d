"""Selection of the items that a study uses (its slice): filters, strata and a seeded sample."""

import hashlib
from collections import defaultdict
from collections.abc import Callable
from typing import Final

from studies.domain import Item
from studies.errors import SourceError, StudyError
from studies.spec import field_reader, study


def select_slice(items: list[Item], spec: study.DataSpec) -> list[Item]:
    """Return the items that a study uses (its slice), sorted by id. StudyError for an unknown
    category, SourceError if no item is left.

    First the filters are applied. Then a random sample is drawn, seeded by `spec.seed`: for each
    field in `spec.per` at most the stated number of items with the same value, and from the items
    that remain `spec.count` items. With `take: first` and without `per`, the first items of the
    file are taken instead."""
    _check_categories(items, spec)
    selected = [item for item in items if _passes_filters(item, spec)]
    if spec.take == "first" and spec.count and not spec.per:
        selected = selected[: spec.count]
    selected.sort(key=lambda item: item.id)
    for name, count in spec.per.items():
        selected = _sample_strata(selected, name, count, spec.seed)
    if spec.count and spec.count < len(selected):
        selected = _seeded_sample(selected, spec.count, spec.seed)
    if not selected:
        raise SourceError(f"no item of {spec.source!r} passes the filters of 'data'; relax them")
    return selected


def _check_categories(items: list[Item], spec: study.DataSpec) -> None:
    known = sorted({item.category for item in items})
    for wanted in spec.categories:
        if wanted not in known:
            hint = field_reader.suggest_word(wanted, known)
            raise StudyError(
                f"data.categories: no item is in {wanted!r}{hint}. Found: {', '.join(known)}"
            )


def _passes_filters(item: Item, spec: study.DataSpec) -> bool:
    if spec.categories and item.category not in spec.categories:
        return False
    if spec.options and sum(bool(text.strip()) for text in item.responses.values()) != spec.options:
        return False
    return all(field_value(item, field) in allowed for field, allowed in spec.where.items())


def _seeded_sample(items: list[Item], count: int, seed: int) -> list[Item]:
    """Return `count` items with the lowest hashes of seed and id, sorted by id.

    A larger sample contains every smaller one, so a study whose sample grows can reuse its
    earlier calls."""

    def sort_hash(item: Item) -> bytes:
        return hashlib.sha256(f"slice\x1f{seed}\x1f{item.id}".encode()).digest()

    return sorted(sorted(items, key=sort_hash)[:count], key=lambda item: item.id)


def _sample_strata(items: list[Item], field: str, count: int, seed: int) -> list[Item]:
    """Return at most `count` items for each value of a field, sampled by the seed, sorted by id."""
    strata: dict[str, list[Item]] = defaultdict(list)
    for item in items:
        strata[field_value(item, field)].append(item)
    chosen: list[Item] = []
    for value in sorted(strata):
        members = strata[value]
        chosen += members if len(members) <= count else _seeded_sample(members, count, seed)
    return sorted(chosen, key=lambda item: item.id)


def field_value(item: Item, field: str) -> str:
    """Return the value of an item's field as text; StudyError for an unknown field. The fields are
    named as in a study file: id, category, meta.x, checks.follows, checks.harmful, reference
    (whether the item has one) and images (their number)."""
    if field.startswith("meta."):
        return item.meta.get(field[5:], "")
    if field.startswith("checks."):
        return _verification_field_value(item, field[7:])
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


def _verification_field_value(item: Item, field: str) -> str:
    """Return one text for all checks of an item: "unchecked" without checks, else "true" or
    "false". For `follows` it is "true" if all checks say so, for `harmful` if any check does.
    StudyError for another field."""
    if field not in ("follows", "harmful"):
        raise StudyError(
            f"data.where/per: no field 'checks.{field}'; known: checks.follows, checks.harmful"
        )
    if not item.checks:
        return "unchecked"
    follows = all(check.follows for check in item.checks)
    harmful = any(check.harmful for check in item.checks)
    return str(follows if field == "follows" else harmful).lower()
