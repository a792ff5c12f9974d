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

RECORDS: Final = "EVENHAND_RECORDS"
_VARIABLE: Final = re.compile(r"\$\{([^}]*)(\}?)")
"""Matches an unclosed `${` too, up to the end: searched again from each one, a text of many would
take quadratic time."""


def expanded(source: str) -> str:
    """A source with its variable put in; one that is not set stays as it is written."""
    folder = os.environ.get(RECORDS, "")
    return _VARIABLE.sub(lambda m: folder if m[1] == RECORDS and m[2] and folder else m[0], source)


def check_place(source: str) -> None:
    """Raises where a source names a folder that this machine has not told."""
    for name in (name for name, closed in _VARIABLE.findall(source) if closed):
        if name != RECORDS:
            raise SourceError(
                f"data.source: ${{{name}}} is not known here; only ${{{RECORDS}}} can stand in it"
            )
        if not os.environ.get(RECORDS):
            raise SourceError(
                f"data.source: {source!r} needs the folder of your records; "
                f"run: export {RECORDS}=/path/to/records"
            )
