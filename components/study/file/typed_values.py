"""What is typed into a field of the form, in the types that a study file has there."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from components.study.file.lenient_study import LenientStudy

_INTEGER_FIELDS: Final = ("reference_games", "repeats", "concurrency", "data.count", "data.seed",
                 "data.options")  # fmt: skip
_NUMBER_FIELDS: Final = ("noise_floor", "budget_usd")
_LIST_FIELDS: Final = ("contestants", "data.categories")
_TYPE_WORDS: Final = {"whole": "a whole number", "number": "a number"}


def parse_field(field: str, raw: Any) -> Any:
    """A field's value in the type that a study file has there; empty is None."""
    if field in _LIST_FIELDS:
        return [str(name) for name in raw]
    words = str(raw).strip()
    if field == "data.join":
        return [part.strip() for part in words.split(",") if part.strip()]
    if not words:
        return None
    try:
        if field in _INTEGER_FIELDS:
            return int(words)
        return float(words) if field in _NUMBER_FIELDS else words
    except ValueError:
        wanted = _TYPE_WORDS["whole" if field in _INTEGER_FIELDS else "number"]
        raise ValueError(f"{field}: expected {wanted}, found {words!r}") from None


def parse_filters(_: LenientStudy, words: str) -> dict[str, list[str]]:
    """field=value,value; field=value"""
    made = {}
    for part in words.split(";"):
        if not part.strip():
            continue
        field, equals, values = part.partition("=")
        kept = [value.strip() for value in values.split(",") if value.strip()]
        if not equals or not kept:
            raise ValueError(f"data.where: expected field=value, found {part.strip()!r}")
        made[field.strip()] = kept
    return made


def parse_strata(_: LenientStudy, words: str) -> dict[str, int]:
    """category: 2, meta.task: 1"""
    made = {}
    for part in words.split(","):
        if not part.strip():
            continue
        field, _, number = part.rpartition(":")
        if not field.strip() or not number.strip().isdigit():
            raise ValueError(f"data.per: expected field: number, found {part.strip()!r}")
        made[field.strip()] = int(number)
    return made


def add_answer_file(sheet: LenientStudy, words: str) -> dict[str, str]:
    values = sheet.raw("data", "files")
    made = dict(values) if isinstance(values, Mapping) else {}
    if not words.strip():
        return made
    name, equals, path = (part.strip() for part in words.partition("="))
    if not equals or not name or not path:
        raise ValueError(f"data.files: expected model = file, found {words.strip()!r}")
    return {**made, name: path}
