"""Parse text typed into the form into the types of the study file."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from components.study.file.lenient_study import LenientStudy

_INTEGER_FIELDS: Final = (
    "reference_games",
    "repeats",
    "concurrency",
    "data.count",
    "data.seed",
    "data.options",
)
_NUMBER_FIELDS: Final = ("noise_floor", "budget_usd")
_LIST_FIELDS: Final = ("contestants", "data.categories")
_TYPE_WORDS: Final = {"whole": "a whole number", "number": "a number"}


def parse_field(field: str, raw: Any) -> Any:
    """Parse the value of a field into its type in the study file; None if empty."""
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
    """Parse filters of the form `field=value,value; field=value`."""
    made = {}
    for part in words.split(";"):
        if not part.strip():
            continue
        field, equals, values = part.partition("=")
        accepted = [value.strip() for value in values.split(",") if value.strip()]
        if not equals or not accepted:
            raise ValueError(f"data.where: expected field=value, found {part.strip()!r}")
        made[field.strip()] = accepted
    return made


def parse_strata(_: LenientStudy, words: str) -> dict[str, int]:
    """Parse numbers of items per field value, of the form `category: 2, meta.task: 1`."""
    made = {}
    for part in words.split(","):
        if not part.strip():
            continue
        field, colon, number = part.rpartition(":")
        if not colon or not field.strip() or not number.strip().isdigit():
            raise ValueError(f"data.per: expected field: number, found {part.strip()!r}")
        made[field.strip()] = int(number)
    return made


def add_answer_file(study: LenientStudy, words: str) -> dict[str, str]:
    """The answer files of a study with one more, typed as `model = file`."""
    values = study.raw("data", "files")
    made = dict(values) if isinstance(values, Mapping) else {}
    if not words.strip():
        return made
    name, equals, path = (part.strip() for part in words.partition("="))
    if not equals or not name or not path:
        raise ValueError(f"data.files: expected model = file, found {words.strip()!r}")
    return {**made, name: path}
