"""Salvage of a damaged store: copy every readable row into a new store, and count the lost rows.

Python's SQLite has no `.recover`, so the pages are read one by one. A table's pages are followed
from its first page; a page to which no readable page refers is assigned to the one damaged table
that its rows fit. Deleted rows (the free list) are not copied. The damaged files are only read.
"""

import contextlib
import sqlite3
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from errno import EDQUOT, ENOSPC
from itertools import islice
from pathlib import Path
from typing import Any, Final

from studies.errors import StoreUnusable
from studies.files.partial_files import replace_when_written
from studies.spec.study import Study, dump_study
from studies.store import database
from studies.store.recovery.damage import find_page_fault
from studies.store.recovery.file_header import read_header
from studies.store.recovery.page_reader import PageFile, Row
from studies.store.recovery.page_trees import PageTrees
from studies.store.recovery.table_shapes import MASTER, SEQUENCE, TableShape, parse_table_shapes
from studies.store.recovery.wal_check import Wal, read_wal, wal_path, why_wal_is_foreign

LEFT_OUT: Final = frozenset(("leases", SEQUENCE))
"""Tables that are not copied row by row: leases, which end with their process, and SQLite's table
of sequence numbers, which is merged into that of the new store."""
_BATCH_ROWS: Final = 500
_STUDY_TABLES: Final = ("shares", "study_items", "plan", "ballots")


@dataclass(slots=True)
class TableResult:
    """Numbers of rows of one table that were copied and that were lost."""

    name: str
    kept: int = 0
    lost: int = 0
    exact: bool = True
    """Whether `lost` is exact, counted with an index of the table; otherwise it is an estimate."""
    dropped: int = 0
    """Number of copied rows that were deleted again because the row to which they refer is lost."""

    def describe(self) -> str:
        text = f"{self.name}: {self.kept:,} rows copied"
        if self.lost:
            text += f", {'' if self.exact else 'about '}{self.lost:,} lost"
        if self.dropped:
            text += f", {self.dropped:,} left out (what they refer to is lost)"
        return text


@dataclass(frozen=True, slots=True)
class RepairReport:
    target: Path
    tables: tuple[TableResult, ...]
    notes: tuple[str, ...]

    @property
    def lost_rows(self) -> int:
        return sum(table.lost + table.dropped for table in self.tables)


def find_usable_log(source: Path) -> tuple[Wal | None, str]:
    """Return the write-ahead log of a store to be repaired, and a note for the report. The log is
    None if it has no committed pages, is missing, or belongs to another store. The note is empty
    except for the log of another store."""
    wal = read_wal(wal_path(source), verify=True)
    if wal is None:
        return None, ""
    header = read_header(source)
    reason = why_wal_is_foreign(source, header) if header else ""
    if not reason and header and find_page_fault(source):
        reason = "" if find_page_fault(source, use_log=False) else "the file is whole without it"
    if not reason:
        return wal, ""
    return None, f"{wal.path.name} was not used: it belongs to another store ({reason})"


def repair_store(source: Path, target: Path) -> RepairReport:
    """Copy the readable rows of a damaged store into a new store at `target`.

    `source` and the files beside it are not changed. StoreUnusable if `target` exists, the disk is
    full, SQLite fails or the new store fails its check; OSError if `source` cannot be read, or
    `target` cannot be written for another reason than a full disk.
    """
    if target.exists():
        raise StoreUnusable(f"{target} exists; name another file with --out")
    wal, note = find_usable_log(source)
    notes = [note] if note else []
    try:
        with replace_when_written(target) as partial:
            database.create_store(partial)
            with (
                PageFile(source, wal) as pages,
                contextlib.closing(database.connect(partial)) as connection,
            ):
                connection.execute("PRAGMA foreign_keys=OFF")
                tables = _copy_tables(pages, connection, notes)
                notes += _repair_references(connection, tables)
            _check_new_store(partial, target)
    except (sqlite3.Error, OSError) as error:
        if isinstance(error, OSError) and error.errno not in (ENOSPC, EDQUOT):
            raise  # the damaged file cannot be read
        raise StoreUnusable(
            f"cannot write the repaired copy {target}: {error}; make room, or name a file on "
            f"another disk with --out. {source} is unchanged, and no copy was left"
        ) from error
    return RepairReport(target, tuple(tables.values()), tuple(notes))


def _copy_tables(
    pages: PageFile, connection: sqlite3.Connection, notes: list[str]
) -> dict[str, TableResult]:
    """Copy the readable rows of all tables in `pages` to the new store; return table -> counts. A
    note is added to `notes` if the file's list of tables is damaged."""
    shapes = parse_table_shapes(database.schema_statements())
    trees = PageTrees(pages, shapes)
    trees.find_roots()
    if trees.losses[MASTER].has_losses:
        notes.append("the list of tables was damaged: rows deleted earlier may be back")
    names = [name for name, shape in shapes.items() if not shape.is_index]
    results = {name: TableResult(name) for name in names if name not in LEFT_OUT}
    version = pages.header.user_version if pages.header else database.SCHEMA_VERSION
    for name, result in results.items():
        if name not in trees.roots and version < database.SCHEMA_VERSION:
            continue  # a table that later versions have added
        result.kept = _insert_rows(connection, shapes[name], trees.rows(name))
    damaged = [name for name in results if name in trees.losses and trees.losses[name].has_losses]
    for name, row in trees.orphaned_rows(damaged):
        results[name].kept += _insert_rows(connection, shapes[name], [row])
    for name in damaged:
        _count_lost_rows(trees, results[name])
    _copy_last_sequence_number(trees, connection)
    return results


def _insert_rows(connection: sqlite3.Connection, shape: TableShape, rows: Iterable[Row]) -> int:
    """Insert rows (only the first of several with the same key, and none with an invalid value);
    return the number inserted."""
    kept = 0
    records = (shape.row_as_dict(row) for row in rows)
    while batch := list(islice(records, _BATCH_ROWS)):
        connection.execute("BEGIN")
        for record in batch:
            kept += _insert_row(connection, shape.name, record)
        connection.execute("COMMIT")
    return kept


def _insert_row(connection: sqlite3.Connection, table: str, record: dict[str, Any]) -> int:
    """Insert a row (column -> value); return 1, or 0 if its key exists or a value is invalid."""
    marks = ",".join("?" * len(record))
    columns = ",".join(record)
    try:
        return connection.execute(
            f"INSERT OR IGNORE INTO {table}({columns}) VALUES ({marks})", tuple(record.values())
        ).rowcount
    except (sqlite3.IntegrityError, OverflowError):
        return 0


def _count_lost_rows(trees: PageTrees, result: TableResult) -> None:
    """Set the number of a table's lost rows in `result`. It is exact if one of the table's
    indexes is undamaged, because an index has an entry for each row; otherwise it is an
    estimate from the number of lost pages."""
    for shape in trees.shapes.values():
        if shape.table == result.name and shape.is_index and not shape.partial:
            entries = sum(1 for _ in trees.rows(shape.name))
            if not trees.losses[shape.name].has_losses:
                result.lost, result.exact = max(0, entries - result.kept), True
                return
    result.lost, result.exact = trees.losses[result.name].estimate_lost_rows(), False


def _copy_last_sequence_number(trees: PageTrees, connection: sqlite3.Connection) -> None:
    """Copy the last sequence number (seq) that the damaged store has used, so that the numbers
    of deleted judgements are not used again."""
    for row in trees.rows(SEQUENCE):
        name, last = row.values
        found = connection.execute(
            "UPDATE sqlite_sequence SET seq=max(seq, ?) WHERE name=?", (last, name)
        )
        if not found.rowcount:
            connection.execute("INSERT INTO sqlite_sequence VALUES (?,?)", (name, last))


def _repair_references(
    connection: sqlite3.Connection, tables: dict[str, TableResult]
) -> Iterator[str]:
    """Make the new store consistent: for each plan whose study is lost, add a study with a new
    name; then delete the rows that refer to lost rows. Yield a note for each added study."""
    connection.execute("BEGIN")
    rows = connection.execute(
        "SELECT study, min(origin='recorded'), count(*) FROM plan "
        "WHERE study NOT IN (SELECT id FROM studies) GROUP BY study"
    ).fetchall()
    for study, recorded, asks in rows:
        name = f"recovered study {study}"
        connection.execute(
            "INSERT OR IGNORE INTO studies(id, name, yaml, recorded, created, updated) "
            "VALUES (?,?,?,?,?,?)",
            (study, name, dump_study(Study(name)), recorded, time.time(), time.time()),
        )
        yield f"{name!r}: its study file is lost, its {asks:,} asks are kept; save the file again"
    for table in _STUDY_TABLES:
        tables[table].dropped += connection.execute(
            f"DELETE FROM {table} WHERE study NOT IN (SELECT id FROM studies)"
        ).rowcount
    tables["study_items"].dropped += connection.execute(
        "DELETE FROM study_items WHERE sha NOT IN (SELECT sha FROM items)"
    ).rowcount
    if any(tables[name].lost or tables[name].dropped for name in ("items", "study_items")):
        tables["plan"].dropped += connection.execute(
            "DELETE FROM plan WHERE (study, item) NOT IN (SELECT study, item FROM study_items)"
        ).rowcount
    connection.execute("COMMIT")


def _check_new_store(partial: Path, target: Path) -> None:
    """Raise StoreUnusable if the new store, still under its partial name, is damaged."""
    with contextlib.closing(database.connect(partial)) as connection:
        (result,) = connection.execute("PRAGMA integrity_check(1)").fetchone()
        dangling = connection.execute("PRAGMA foreign_key_check").fetchone()
    if result != "ok" or dangling:
        raise StoreUnusable(
            f"the new store {target} failed its check: {result}; this copy was deleted"
        )
