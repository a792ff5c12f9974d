"""Read several files as one table: a list of files, a pattern, or a folder of files."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final

from studies.errors import SourceError
from studies.files.read_limits import current_limits
from studies.files.table_formats.parquet import read_arrow
from studies.files.tables import SourceTable, is_table_file, read_table
from studies.settings import is_public
from studies.sources.formats import benchmarks, labelled_pairs, pair_annotations, preference_sets
from studies.sources.source_format import table_files_in
from studies.texts.counts import count

FOLDER_FORMATS: Final = {
    "alpaca-eval": pair_annotations.matches_annotations,
    "arena-hard": benchmarks.matches_arena_hard,
    "judgebench": labelled_pairs.matches_judgebench,
    "themis": preference_sets.matches_themis,
}
"""Formats whose files in a folder are joined into one table -> function that recognises such a
file. Of AlpacaEval's files only annotations are joined, which contain the outputs."""
_PATTERNS: Final = ("*", "*/*", "*/*/*")
MAX_FILES: Final = 5_000


def read_folder_tables(folder: Path, format: str = "") -> tuple[str, SourceTable] | None:
    """Join all files of one format in a folder and its subfolders to one table; return the name
    of the format and the table. None if no file has one of FOLDER_FORMATS, SourceError if the
    files have several of them. With `format`, files of other formats are left out."""
    found: dict[str, list[SourceTable]] = {}
    other: list[str] = []
    for path in _check_file_count(list(filter(is_table_file, _files_below(folder))), folder.name):
        table = read_table(path)
        name = next((name for name, matches in FOLDER_FORMATS.items() if matches(table)), "")
        if name and format in ("", name):
            found.setdefault(name, []).append(table)
        else:
            other.append(path.name)
    if len(found) > 1:
        kinds = "; ".join(f"{name}: {count(len(tables), 'file')}" for name, tables in found.items())
        raise SourceError(
            f"{folder.name}: files of several formats ({kinds}). Set one of them in data.format"
        )
    return next(
        ((one, _concatenate_tables(folder, held, other)) for one, held in found.items()), None
    )


def read_dataset_folder(folder: Path) -> SourceTable | None:
    """Return the joined rows of a folder written by Hugging Face's library `datasets`; None for
    any other folder. These are the rows of all its Parquet files or, if it was written by
    `save_to_disk`, of its Arrow files, which are not read in public mode."""
    arrow = find_arrow_files(folder)
    if arrow and not is_public():  # compressed Arrow files have no limit on their unpacked size
        limits = current_limits()
        tables = []
        for path in _check_file_count(arrow, folder.name):
            columns, rows = read_arrow(path, limits)
            tables.append(SourceTable(path.name, "arrow", columns, rows))
        return _concatenate_tables(folder, tables, [])
    files = [path for path in _files_below(folder) if path.suffix.casefold() == ".parquet"]
    if not files:
        return None
    return _concatenate_tables(
        folder, [read_table(p) for p in _check_file_count(files, folder.name)], []
    )


def find_arrow_files(folder: Path) -> list[Path]:
    """List the Arrow files that `datasets.save_to_disk` wrote into a folder or its subfolders, two
    levels deep; empty if there are none."""
    found = (path for path in _files_below(folder) if path.suffix == ".arrow")
    return [path for path in found if (path.parent / "state.json").is_file()]


def find_files_by_pattern(source: str, folder: Path) -> list[Path]:
    """List the files that match a pattern such as `runs/*.jsonl`; empty if `source` has no
    wildcard. SourceError if none or too many match."""
    if not any(sign in source for sign in "*?["):
        return []
    base = Path(source)
    root = Path(base.anchor) if base.anchor else folder
    pattern = str(base.relative_to(base.anchor)) if base.anchor else source
    found = sorted(path for path in root.glob(pattern) if path.is_file())
    if not found:
        raise SourceError(f"data.source: no file matches {source!r}; check folder and pattern")
    return _check_file_count(found, source)


def read_files_as_one_table(
    paths: Sequence[Path], find_format: Callable[[SourceTable, Path], str]
) -> tuple[str, SourceTable]:
    """Read several files of one format as one table; return the name of the format and the table.
    `find_format` returns the format of a file. SourceError if the formats differ, or if a file
    is a single JSON object."""
    tables = [read_table(path) for path in paths]
    formats: dict[str, str] = {}
    for table, path in zip(tables, paths, strict=True):
        if table.json_object is not None:
            raise SourceError(
                f"{path.name}: holds one JSON object and cannot be read together with other "
                "files; import it alone"
            )
        formats.setdefault(find_format(table, path), path.name)
    if len(formats) > 1:
        kinds = "; ".join(f"{name}: {format}" for format, name in formats.items())
        raise SourceError(
            f"files of several formats cannot be one study ({kinds}). Import each format on its "
            "own, or name the files of questions and answers in data.files"
        )
    return next(iter(formats)), _concatenate_tables(paths[0].parent, tables, [])


def list_table_files_within_limit(folder: Path) -> list[Path]:
    """List the table files directly in a folder, without subfolders; SourceError if there are more
    than MAX_FILES."""
    return _check_file_count(table_files_in(folder), folder.name)


def _files_below(folder: Path) -> list[Path]:
    """List the files of a folder and of its subfolders, two levels deep, without links."""
    found = (path for pattern in _PATTERNS for path in folder.glob(pattern))
    return sorted(path for path in found if path.is_file() and not path.is_symlink())


def _check_file_count(paths: list[Path], name: str) -> list[Path]:
    """Return the paths; SourceError, which names the source `name`, if they are too many."""
    if len(paths) > MAX_FILES:
        raise SourceError(
            f"{name}: {len(paths):,} files, more than {MAX_FILES:,}; import a part of them"
        )
    return paths


def _concatenate_tables(folder: Path, tables: list[SourceTable], other: list[str]) -> SourceTable:
    """Join the rows of several files of a folder to one table; a note of the table names the files
    `other`, which were left out."""
    rows = [row for table in tables for row in table.rows]
    current_limits().check_rows(len(rows), folder.name)
    of_files = [f"{table.name}: {note}" for table in tables for note in table.notes]
    together = [f"{len(tables):,} files were read as one study"] if len(tables) > 1 else []
    notes = [*together, *dict.fromkeys(of_files)]
    if other:
        named = ", ".join(other[:3]) + (", …" if len(other) > 3 else "")
        notes.append(f"{count(len(other), 'file')} of other kinds left out: {named}")
    columns = tuple(dict.fromkeys(name for table in tables for name in table.columns))
    places = [table.row_place(index) for table in tables for index in range(len(table.rows))]
    kind, listed = tables[0].kind, tuple(notes)
    return SourceTable(folder.name, kind, columns, rows, notes=listed, places=places)
