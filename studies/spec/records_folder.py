"""Where records lie that are no part of the project: named in study files, found at loading.

`source: ${EVENHAND_RECORDS}/visit` is the same line on every machine; the folder itself is in no
stored study. This one variable is known and no other: a study file comes from anybody, and must not
be able to read out what else is set here.
"""

from __future__ import annotations

import os
import re
from typing import Final

from studies.errors import SourceError

RECORDS_VARIABLE: Final = "EVENHAND_RECORDS"
_VARIABLE_PATTERN: Final = re.compile(r"\$\{([^}]*)(\}?)")
"""Matches an unclosed `${` too, up to the end: searched again from each one, a text of many would
take quadratic time."""


def expand_source(source: str) -> str:
    """A source with its variable put in; one that is not set stays as it is written."""
    folder = os.environ.get(RECORDS_VARIABLE, "")
    return _VARIABLE_PATTERN.sub(
        lambda m: folder if m[1] == RECORDS_VARIABLE and m[2] and folder else m[0], source
    )


def check_source_variable(source: str) -> None:
    """Raises where a source names a folder that this machine has not told."""
    for name in (name for name, closed in _VARIABLE_PATTERN.findall(source) if closed):
        if name != RECORDS_VARIABLE:
            raise SourceError(
                f"data.source: ${{{name}}} is not known here; only ${{{RECORDS_VARIABLE}}} can stand in it"
            )
        if not os.environ.get(RECORDS_VARIABLE):
            raise SourceError(
                f"data.source: {source!r} needs the folder of your records; "
                f"run: export {RECORDS_VARIABLE}=/path/to/records"
            )
