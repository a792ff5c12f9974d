"""Parser and writer of the labels of answers in item files. A label has a contestant, value,
source, time and policy: the name of the rules by which it was given."""

import math
from collections.abc import Set
from typing import Any, Final

from studies.domain import FAIL, GOLD, PASS, AnswerLabel
from studies.errors import SourceError

_FIELDS: Final = {"contestant", "value", "source", "time", "policy"}


def parse_label(value: Any, where: str, contestants: Set[str] | None = None) -> AnswerLabel:
    """Parse one label; its contestant must be one of `contestants` (None: any name is allowed).
    SourceError for an invalid label; `where` (file, line and field) begins its message."""
    if not isinstance(value, dict):
        raise SourceError(f"{where}: expected a list of objects, found {value!r}"[:400])
    if unknown := sorted(set(value) - _FIELDS):
        raise SourceError(
            f"{where}: unknown field {unknown[0]!r}. Known fields: {', '.join(sorted(_FIELDS))}"
        )
    contestant, source = value.get("contestant"), value.get("source", GOLD)
    if not isinstance(contestant, str) or (
        contestants is not None and contestant not in contestants
    ):
        raise field_error(where, "contestant", "a model of this item", contestant)
    if not isinstance(source, str) or not source.strip():
        raise field_error(where, "source", "the name of the labeller", source)
    policy = value.get("policy", "")
    if not isinstance(policy, str):
        raise field_error(where, "policy", "text", policy)
    given: Any = value.get("value")
    levels = _parse_levels(given, where) if isinstance(given, dict) else ()
    if levels:
        given = sum(level for _, level in levels) / len(levels)
    if given not in (PASS, FAIL) and not _is_number(given):
        raise field_error(where, "value", "'pass', 'fail', a number or levels by criterion", given)
    time = value.get("time", 0.0)
    if not _is_number(time):
        raise field_error(where, "time", "seconds since 1970", time)
    known = given if given in (PASS, FAIL) else float(given)
    return AnswerLabel(contestant, known, source, float(time), policy, levels)


def _parse_levels(given: dict[Any, Any], where: str) -> tuple[tuple[str, float], ...]:
    """Parse the levels of a rubric (criterion -> number) to (criterion, level) pairs; SourceError,
    which names the place `where`, if a level is not a number."""
    if not given or not all(_is_number(level) for level in given.values()):
        raise field_error(where, "value", "a number for each criterion", given)
    return tuple((str(name), float(level)) for name, level in given.items())


def dump_label(label: AnswerLabel) -> dict[str, Any]:
    """Convert a label to the file format; time and policy are written only if known."""
    values: dict[str, Any] = {
        "contestant": label.contestant,
        "value": dict(label.levels) or label.value,
        "source": label.source,
    }
    return values | {
        name: known for name, known in (("time", label.time), ("policy", label.policy)) if known
    }


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


def field_error(where: str, field: str, expected: str, found: object) -> SourceError:
    return SourceError(f"{where}: field {field!r}: expected {expected}, found {found!r}"[:400])
