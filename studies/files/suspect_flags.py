"""Names of the injection flags in exported judgements, which an import computes again."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from studies.frames.frame import SUSPECT_COLUMN

SUSPECTS_FIELD: Final = "suspects"
FLAG_FIELDS: Final = frozenset({SUSPECT_COLUMN, SUSPECTS_FIELD})
"""Columns that are not part of the judgement; an import computes them again."""


def without_flags(row: Mapping[str, Any]) -> dict[str, Any]:
    """Return the row without the injection flags."""
    return {name: value for name, value in row.items() if name not in FLAG_FIELDS}
