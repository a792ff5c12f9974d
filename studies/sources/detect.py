"""Which format a file is in: says what it saw; two that fit are an error, never a guess."""

from __future__ import annotations

import difflib
from pathlib import Path

from studies.errors import SourceError, StudyError
from studies.files.tables import SourceTable
from studies.sources.mapping_guess import guess_mapping
from studies.sources.registry import SOURCE_FORMATS, SourceFormat

AUTO_FORMAT = "auto"


def choose_format(name: str, table: SourceTable | None, path: Path) -> tuple[SourceFormat, str]:
    """The format that a study names, or the one its file looks like, and why."""
    if name != AUTO_FORMAT:
        return format_by_name(name), f"the study says format: {name}"
    found = matching_formats(table, path)
    if len(found) == 1:
        return found[0]
    if found:
        listed = "; ".join(f"{form.name} ({why})" for form, why in found)
        raise SourceError(
            f"{path.name}: could be several formats: {listed}. Name one in data.format"
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
    """Every format that fits, with what was seen of it."""
    if table is None:
        return [
            (form, why) for form in SOURCE_FORMATS.values() if (why := form.matches_folder(path))
        ]
    return [(form, why) for form in SOURCE_FORMATS.values() if (why := form.matches_table(table))]


def _no_format_message(table: SourceTable | None, path: Path) -> str:
    known = ", ".join(SOURCE_FORMATS)
    if table is None:
        files = sorted(entry.name for entry in path.iterdir())[:8]
        return (
            f"no format knows a folder with {', '.join(files) or 'nothing in it'}. Name a file, "
            f"or data.format ({known})"
        )
    columns = ", ".join(table.columns)[:300] or "no columns"
    guess = guess_mapping(table.columns, table.rows)
    listed = ", ".join(f"{column}: {field}" for column, field in guess.items())
    like = f", for instance {{{listed}}}" if guess else ""
    return (
        f"looks like none of the known formats. It has: {columns}. Say what they are in "
        f"data.mapping{like}; or name data.format ({known})"
    )
