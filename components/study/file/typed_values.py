"""Parse text typed into the form into the types of the study file."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from components.study.file.lenient_study import LenientStudy
from studies.spec.keys import DATA, StudyKey, find_key


def parse_field(field: str, raw: Any) -> Any:
    """Parse the typed value of a field into its type in the study file; None if empty."""
    key = find_key(field)
    kind = key.base_type if key else str
    if kind is tuple:
        names = raw.split(",") if isinstance(raw, str) else raw
        return [str(name).strip() for name in names if str(name).strip()]
    words = str(raw).strip()
    if not words:
        return None
    return parse_number(key, words) if key and kind in (int, float) else words


def parse_number(key: StudyKey, words: str) -> float:
    """Parse a typed number; an error names the key and the expected range."""
    try:
        return int(words) if key.type is int else float(words)
    except ValueError:
        raise ValueError(f"{key}: expected {key.expected}, found {words!r}") from None


def parse_filters(_: LenientStudy, words: str) -> dict[str, list[str]]:
    """Parse filters: "field=a,b; other=c" -> {"field": ["a", "b"], "other": ["c"]}."""
    made = {}
    for part in words.split(";"):
        if not part.strip():
            continue
        field, equals, values = part.partition("=")
        accepted = [value.strip() for value in values.split(",") if value.strip()]
        if not equals or not accepted:
            raise ValueError(f"{DATA.where}: expected field=value, found {part.strip()!r}")
        made[field.strip()] = accepted
    return made


def parse_strata(_: LenientStudy, words: str) -> dict[str, int]:
    """Parse numbers of items per value of a field: "category: 2" -> {"category": 2}."""
    made = {}
    for part in words.split(","):
        if not part.strip():
            continue
        field, colon, number = part.rpartition(":")
        if not colon or not field.strip() or not number.strip().isdigit():
            raise ValueError(f"{DATA.per}: expected field: number, found {part.strip()!r}")
        made[field.strip()] = int(number)
    return made


def add_answer_file(study: LenientStudy, words: str) -> dict[str, str]:
    """Answer files of the study (model -> file), with the one typed as "model = file" added."""
    values = study.raw(*DATA.files)
    made = dict(values) if isinstance(values, Mapping) else {}
    if not words.strip():
        return made
    name, equals, path = (part.strip() for part in words.partition("="))
    if not equals or not name or not path:
        raise ValueError(f"{DATA.files}: expected model = file, found {words.strip()!r}")
    return {**made, name: path}
