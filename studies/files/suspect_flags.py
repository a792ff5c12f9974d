"""Names of the columns with injection flags in exported judgements; an import ignores them and
computes the flags again."""

from typing import Final

from studies.frames.frame_codes import SUSPECT_COLUMN

SUSPECTS_FIELD: Final = "suspects"
FLAG_FIELDS: Final = frozenset({SUSPECT_COLUMN, SUSPECTS_FIELD})
"""Columns with injection flags, which are not part of the judgement itself."""
