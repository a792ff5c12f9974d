"""Which format a file is in: says what it saw; two that fit are an error, never a guess."""

from __future__ import annotations

import difflib
from pathlib import Path

from studies.errors import SourceError, StudyError
from studies.sources.formats import FORMATS, Format
from studies.sources.guess import guess_mapping
from studies.sources.tables import Table

AUTO = "auto"


def chosen(name: str, table: Table | None, path: Path) -> tuple[Format, str]:
    """The format that a study names, or the one its file looks like, and why."""
    if name != AUTO:
        return named(name), f"the study says format: {name}"
    found = looks_like(table, path)
    if len(found) == 1:
        return found[0]
    if found:
        listed = "; ".join(f"{form.name} ({why})" for form, why in found)
        raise SourceError(
            f"{path.name}: could be several formats: {listed}. Name one in data.format"
        )
    raise SourceError(f"{path.name}: {_nothing(table, path)}")


def named(name: str) -> Format:
    if name not in FORMATS:
        known = [AUTO, *FORMATS]
        near = difflib.get_close_matches(name, known, n=1)
        hint = f" (did you mean {near[0]!r}?)" if near else ""
        raise StudyError(f"data.format: {name!r} is not one of {', '.join(known)}{hint}")
    return FORMATS[name]


def looks_like(table: Table | None, path: Path) -> list[tuple[Format, str]]:
    """Every format that fits, with what was seen of it."""
    if table is None:
        return [(form, why) for form in FORMATS.values() if (why := form.holds(path))]
    return [(form, why) for form in FORMATS.values() if (why := form.sees(table))]


def _nothing(table: Table | None, path: Path) -> str:
    known = ", ".join(FORMATS)
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
