"""Detection of a source's format, with the reason; a match of several formats is an error."""

from __future__ import annotations

import difflib
from pathlib import Path

from studies.errors import SourceError, StudyError
from studies.files.tables import SourceTable
from studies.sources.detection.mapping_guess import guess_mapping
from studies.sources.detection.option_names import example_mapping
from studies.sources.registry import SOURCE_FORMATS, SourceFormat

AUTO_FORMAT = "auto"


def choose_format(name: str, table: SourceTable | None, path: Path) -> tuple[SourceFormat, str]:
    """Return the format `name`, or for "auto" the format that matches the source, and the reason
    for the choice."""
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
        near = difflib.get_close_matches(name, known, n=1)
        hint = f" (did you mean {near[0]!r}?)" if near else ""
        raise StudyError(f"data.format: {name!r} is not one of {', '.join(known)}{hint}")
    return SOURCE_FORMATS[name]


def matching_formats(table: SourceTable | None, path: Path) -> list[tuple[SourceFormat, str]]:
    """List the formats that match a table or folder, each with the reason."""
    if table is None:
        return [
            (source_format, reason)
            for source_format in SOURCE_FORMATS.values()
            if (reason := source_format.matches_folder(path))
        ]
    return [
        (source_format, reason)
        for source_format in SOURCE_FORMATS.values()
        if (reason := source_format.matches_table(table))
    ]


def _no_format_message(table: SourceTable | None, path: Path) -> str:
    known = ", ".join(SOURCE_FORMATS)
    if table is None:
        files = sorted(entry.name for entry in path.iterdir())[:8]
        return (
            f"no known format for a folder with {', '.join(files) or 'no files'}. Name a file, "
            f"or set data.format ({known})"
        )
    columns = ", ".join(table.columns)[:300] or "no columns"
    guess = guess_mapping(table.columns, table.rows)
    return (
        f"matches no known format. Its columns: {columns}. Map them to fields in "
        f"{example_mapping(guess)}; the fields are listed in docs/formats.md. "
        f"Or set data.format ({known})"
    )
