"""Detection of a source's format, with the reason; a match of several formats is an error.

Messages of the sources use the keys of a study file, such as `data.mapping`. The import command
translates them, so that a message names the option that can be typed (`--mapping`).
"""

import re
import shlex
from pathlib import Path
from typing import Final

from studies.errors import SourceError, StudyError
from studies.files.tables import SourceTable
from studies.sources.detection.mapping_guess import first_rows_under_mapping, guess_mapping
from studies.sources.registry import SOURCE_FORMATS
from studies.sources.source_format import SourceFormat
from studies.spec.field_reader import suggest_word

AUTO_FORMAT: Final = "auto"
_EXAMPLE: Final = re.compile(r"data\.mapping, for instance \{([^{}]*)\}")
_OPTION_KEY: Final = re.compile(r"\bdata\.(mapping|files|format|split|read)\b")


def choose_format(name: str, table: SourceTable | None, path: Path) -> tuple[SourceFormat, str]:
    """Return the format `name`, or for "auto" the only format that matches the source (a table, or
    the folder `path`), and the reason for the choice; raise SourceError if none or several
    match."""
    if name != AUTO_FORMAT:
        return format_by_name(name), f"the study sets format: {name}"
    found = matching_formats(table, path)
    if len(found) == 1:
        return found[0]
    if found:
        listed = "; ".join(f"{source_format.name} ({reason})" for source_format, reason in found)
        raise SourceError(
            f"{path.name}: could be several formats: {listed}. Set one in data.format"
        )
    raise SourceError(f"{path.name}: {_no_format_message(table, path)}")


def format_by_name(name: str) -> SourceFormat:
    if name not in SOURCE_FORMATS:
        known = [AUTO_FORMAT, *SOURCE_FORMATS]
        raise StudyError(
            f"data.format: {name!r} is not one of {', '.join(known)}{suggest_word(name, known)}"
        )
    return SOURCE_FORMATS[name]


def matching_formats(table: SourceTable | None, path: Path) -> list[tuple[SourceFormat, str]]:
    """List the formats that match a table or folder, each with the reason."""
    reasons = (
        (one, one.matches_folder(path) if table is None else one.matches_table(table))
        for one in SOURCE_FORMATS.values()
    )
    return [(source_format, reason) for source_format, reason in reasons if reason]


def _no_format_message(table: SourceTable | None, path: Path) -> str:
    known = ", ".join(SOURCE_FORMATS)
    if table is None:
        files = sorted(entry.name for entry in path.iterdir())[:8]
        return (
            f"no known format for a folder with {', '.join(files) or 'no files'}. Name a file, "
            f"or set data.format ({known})"
        )
    columns = ", ".join(table.columns)[:300]
    if not table.rows and not table.json_object:
        only = f", only column names ({columns})" if columns else ""
        return f"no rows in it{only}; add rows, or choose another file"
    guess = guess_mapping(table.columns, table.rows)
    return (
        f"matches no known format. Its columns: {columns}. Map them to fields in "
        f"{_mapping_example_text(guess)}; the fields are listed in docs/formats.md. "
        f"{_describe_example_rows(guess, table)}"
        f"Or set data.format ({known})"
    )


def _mapping_example_text(mapping: dict[str, str]) -> str:
    """Return "data.mapping", with an example as in a study file if `mapping` is not empty."""
    if not mapping:
        return "data.mapping"
    listed = ", ".join(f"{column}: {field}" for column, field in mapping.items())
    return f"data.mapping, for instance {{{listed}}}"


def _describe_example_rows(guess: dict[str, str], table: SourceTable) -> str:
    """Return a sentence that shows which texts of the first rows the guessed mapping `guess`
    (column -> field) would read; "" without a guess or without rows."""
    if not guess or not table.rows:
        return ""
    return f"This would read {first_rows_under_mapping(guess, table.rows)}. "


def study_keys_to_command_options(message: str) -> str:
    """Return a message in which keys of a study file, such as `data.mapping`, are replaced by the
    options of the import command, such as `--mapping`."""
    message = _EXAMPLE.sub(lambda found: f"options: {_mapping_as_command_line(found[1])}", message)
    message = message.replace("data.source: ", "").replace("data.join", "data.join of a study file")
    return _OPTION_KEY.sub(r"--\1", message)


def _mapping_as_command_line(example: str) -> str:
    """Convert "column: field, …" to options of the import command: --mapping column=field …"""
    pairs = (pair.rpartition(": ") for pair in example.split(", "))
    return " ".join(f"--mapping {shlex.quote(f'{column}={field}')}" for column, _, field in pairs)
