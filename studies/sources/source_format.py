"""Declaration of a source format: a reader with its name, its description and the function that
recognises the format."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from studies.errors import SourceError
from studies.files.tables import SourceTable, is_table_file, read_table
from studies.sources.building.builder import SourceBuilder
from studies.sources.cells import RowCells, cells_of
from studies.spec import records_folder, study

Signs = Mapping[str, str]
"""Columns of a table, separated by commas -> the reason why a table with all of them has a format;
the first match counts."""


@dataclass(frozen=True, slots=True)
class OpenedSource:
    """An opened data source: the table of a file, or a folder."""

    spec: study.DataSpec
    path: Path
    folder: Path
    """Base folder of the paths in `data.files`."""
    table: SourceTable | None = None
    paths: tuple[Path, ...] = ()
    """Paths of all files, if the source is a list of Inspect's log files."""
    files_read: set[str] = field(default_factory=set)
    """Paths in `data.files` that the format reader has read."""

    def read_other_file(self, path: str) -> SourceTable:
        """Read another file of the source, given by its path in `data.files`."""
        self.files_read.add(path)
        records_folder.check_source_variable(path)
        return read_table(self.folder / records_folder.expand_records_variable(path))

    def read_other_files(self) -> dict[str, SourceTable]:
        """Read all files in `data.files`; return name -> table."""
        return {name: self.read_other_file(path) for name, path in self.spec.files.items()}

    @property
    def rows(self) -> SourceTable:
        """Table of the source; SourceError if it is a folder."""
        if self.table is None:
            raise SourceError(
                f"{self.path.name}: expected a file, found a folder; name a file in it"
            )
        return self.table

    def cells(self) -> Iterator[RowCells]:
        """Yield the cells of each row of the table."""
        return cells_of(self.rows)


Reader = Callable[[OpenedSource], SourceBuilder]


def match_nothing(source: object) -> str:
    """Return "", which means no match. It stands for the missing function of a format that is
    not detected by tables, or not by folders."""
    return ""


@dataclass(frozen=True, slots=True)
class SourceFormat:
    """A file format of items or verdicts.

    `matches_table` and `matches_folder` return the reason for a match, or "" if there is no match.
    """

    name: str
    description: str
    gives: str
    matches_table: Callable[[SourceTable], str]
    read: Reader
    matches_folder: Callable[[Path], str] = match_nothing


DECLARED: Final[dict[str, SourceFormat]] = {}
"""Formats declared so far, by name; `studies.sources.registry` puts them into the order of
detection."""


def reads(
    name: str,
    description: str,
    gives: str,
    table: Signs | Callable[[SourceTable], str] = match_nothing,
    folder: Callable[[Path], str] = match_nothing,
) -> Callable[[Reader], Reader]:
    """Return a decorator that declares a function as the reader of the format `name`.

    `gives` states what a study gets from the format, such as "pairs". `table` and `folder`
    recognise it. The reader's docstring is shown in docs/formats.md: its first paragraph
    states the input, the rest are notes."""

    def register_format(read: Reader) -> Reader:
        matches = table if callable(table) else make_column_matcher(table)
        DECLARED[name] = SourceFormat(name, description, gives, matches, read, folder)
        return read

    return register_format


def make_column_matcher(signs: Signs) -> Callable[[SourceTable], str]:
    """Return a function that recognises a table by its columns. `signs` maps column names, such
    as "model_a, winner", to the reason to give if the table has all of them; the function
    returns the first reason that applies, or ""."""
    columns = {tuple(names.split(", ")): why for names, why in signs.items()}
    return lambda table: next(
        (why for names, why in columns.items() if table.has_columns(*names)), ""
    )


def table_files_in(folder: Path) -> list[Path]:
    """List the table files directly in a folder, without subfolders, sorted by name."""
    return sorted(path for path in folder.iterdir() if path.is_file() and is_table_file(path))
