"""Expansion of ${EVENHAND_RECORDS} in the data source of a study file.

`source: ${EVENHAND_RECORDS}/visit` is the same line on every machine, and the path of the folder is
not stored with the study. No other variable is expanded, because a study file from another person
must not read the environment.
"""

import re
from typing import Final

from studies.errors import SourceError
from studies.settings import RECORDS

RECORDS_VARIABLE: Final = RECORDS.name
_VARIABLE_PATTERN: Final = re.compile(r"\$\{([^}]*)(\}?)")
"""Pattern of a variable. It also matches an unclosed `${` up to the end of the text, because
otherwise a text with many unclosed `${` would take quadratic time."""


def expand_records_variable(source: str) -> str:
    """Replace ${EVENHAND_RECORDS} in a data source by its value; other or unset variables stay as
    written."""
    folder = RECORDS.read()
    return _VARIABLE_PATTERN.sub(
        lambda m: folder if m[1] == RECORDS_VARIABLE and m[2] and folder else m[0], source
    )


def check_source_variable(source: str) -> None:
    """Raise SourceError if a source uses a variable other than EVENHAND_RECORDS, or this variable
    while it is unset."""
    for name in (name for name, closed in _VARIABLE_PATTERN.findall(source) if closed):
        if name != RECORDS_VARIABLE:
            raise SourceError(
                f"data.source: ${{{name}}} is not supported; "
                f"the only variable is ${{{RECORDS_VARIABLE}}}"
            )
        if not RECORDS.read():
            raise SourceError(
                f"data.source: {source!r} needs the folder of your records; "
                f"run: export {RECORDS_VARIABLE}=/path/to/records"
            )
