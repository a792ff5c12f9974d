"""The record of the measure that a number in the JSON belongs to."""

from __future__ import annotations

from collections.abc import Sequence

from metrics.catalogue.record import MeasureRecord
from metrics.catalogue.records import RECORDS


def matches_path(pattern: str, path: Sequence[str]) -> bool:
    """Whether a JSON path fits a pattern: * is one name, ** any number of names."""
    return _matches_path_parts(pattern.split("."), list(path))


def _matches_path_parts(pattern: list[str], path: list[str]) -> bool:
    if not pattern or not path:
        return not pattern and not path
    if pattern[0] == "**":
        return any(_matches_path_parts(pattern[1:], path[k:]) for k in range(len(path) + 1)) or (
            len(pattern) == 1
        )
    return pattern[0] in ("*", path[0]) and _matches_path_parts(pattern[1:], path[1:])


def find_record(path: Sequence[str]) -> MeasureRecord | None:
    """Record of the measure that a number in the JSON belongs to, by the path of the number; None
    if no measure has this path."""
    fitting = (
        one for one in RECORDS.values() if any(matches_path(where, path) for where in one.paths)
    )
    return next(fitting, None)
