"""Names of import settings: `data.mapping` in a study file, `--mapping` on the command line.

Messages of the sources use the keys of a study file. The import command translates them, so that a
message names the option that can be typed.
"""

from __future__ import annotations

import re
import shlex
from typing import Final

_EXAMPLE: Final = re.compile(r"data\.mapping, for instance \{([^{}]*)\}")
_OPTION_KEY: Final = re.compile(r"\bdata\.(mapping|files|format|split|read)\b")


def example_mapping(mapping: dict[str, str]) -> str:
    """Return "data.mapping", with an example as in a study file if `mapping` is not empty."""
    if not mapping:
        return "data.mapping"
    listed = ", ".join(f"{column}: {field}" for column, field in mapping.items())
    return f"data.mapping, for instance {{{listed}}}"


def use_option_names(message: str) -> str:
    """Replace study-file keys in a message by the options of the import command."""
    message = _EXAMPLE.sub(lambda found: f"options: {_as_options(found[1])}", message)
    message = message.replace("data.source: ", "").replace("data.join", "data.join of a study file")
    return _OPTION_KEY.sub(r"--\1", message)


def _as_options(example: str) -> str:
    pairs = (pair.rpartition(": ") for pair in example.split(", "))
    return " ".join(f"--mapping {shlex.quote(f'{column}={field}')}" for column, _, field in pairs)
