"""An opened data source, as it is passed to a format reader."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from studies.errors import SourceError
from studies.files.tables import SourceTable, read_table
from studies.spec.records_folder import check_source_variable, expand_source
from studies.spec.study import DataSpec


@dataclass(frozen=True, slots=True)
class OpenSource:
    """An opened data source: the table of a file, or a folder."""

    spec: DataSpec
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
        check_source_variable(path)
        return read_table(self.folder / expand_source(path))

    @property
    def rows(self) -> SourceTable:
        if self.table is None:
            raise SourceError(
                f"{self.path.name}: expected a file, found a folder; name a file in it"
            )
        return self.table
