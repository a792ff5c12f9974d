"""Files as rows: CSV, TSV, JSONL, JSON and Parquet, also gzipped. Errors name file and line.

Everything is bounded before it is read: what a stranger uploads must not fill the memory.
"""

from __future__ import annotations

import csv
import gzip
import os
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final

from studies.errors import SourceError
from studies.sources.json_lines import object_of, parsed, utf8

MEGABYTE: Final = 1 << 20
MOST_BYTES: Final = 300 * MEGABYTE
"""A file beyond this is refused before it is read; EVENHAND_MAX_FILE_MB raises it."""

MOST_UNPACKED: Final = 1024 * MEGABYTE
MOST_ROWS: Final = 2_000_000
MOST_COLUMNS: Final = 2_000
MOST_LINE: Final = 64 * MEGABYTE
"""One line or cell: a picture in base64 has room, a bomb has not."""

ENDINGS: Final = {
    ".csv": "csv",
    ".tsv": "tsv",
    ".tab": "tsv",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".json": "json",
    ".parquet": "parquet",
}
Row = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Table:
    """The rows of one file (or of one split on the Hub), with where each of them stands."""

    name: str
    kind: str
    columns: tuple[str, ...]
    rows: list[Row]
    lines: list[int] = field(default_factory=list)
    whole: Mapping[str, Any] | None = None
    """The object a JSON file holds, where it is not a list of rows."""

    notes: tuple[str, ...] = ()

    def where(self, index: int) -> str:
        """File and line (or row) of a row, as errors say it."""
        if self.lines:
            return f"{self.name}, line {self.lines[index]}"
        return f"{self.name}, row {index + 1}"

    def has(self, *names: str) -> bool:
        return set(names) <= set(self.columns)


def text_of(value: Any) -> str:
    """A cell as text: null is nothing, a whole number is written without a point."""
    if value is None or value != value:  # nan is not itself
        return ""
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return value if isinstance(value, str) else str(value)


def renamed(table: Table, names: Mapping[str, str]) -> Table:
    """The same table with other names for some columns."""
    for column in names:
        if column not in table.columns:
            raise SourceError(
                f"data.mapping: {table.name} has no column {column!r}; its columns: "
                f"{', '.join(table.columns)[:300]}"
            )
    rows = [{names.get(name, name): value for name, value in row.items()} for row in table.rows]
    columns = tuple(names.get(name, name) for name in table.columns)
    return replace(table, columns=columns, rows=rows)


def is_table(path: Path) -> bool:
    return _kind_of(path) is not None


def read_table(path: Path) -> Table:
    """All rows of a file."""
    kind = _kind_of(path)
    if kind is None:
        known = ", ".join(ENDINGS)
        hint = "; unpack it first" if path.suffix.lower() in (".zip", ".tar", ".7z") else ""
        raise SourceError(f"{path.name}: files end in {known} (or these with .gz after them){hint}")
    check_size(path)
    try:
        table = _READERS[kind](path)
    except OSError as error:
        raise SourceError(f"cannot read {path}: {error.strerror or error}") from None
    if len(table.columns) > MOST_COLUMNS:
        raise SourceError(
            f"{path.name}: {len(table.columns):,} columns; at most {MOST_COLUMNS:,} can be read"
        )
    return table


def check_size(path: Path) -> None:
    """Refuses what is too large before a byte of it is read."""
    try:
        size = path.stat().st_size
    except OSError as error:
        raise SourceError(f"cannot read {path}: {error.strerror}") from None
    check_bytes(size, path.name)


def check_bytes(size: int, name: str) -> None:
    most = most_bytes()
    if size > most:
        raise SourceError(
            f"{name}: {size / MEGABYTE:,.0f} MB; at most {most / MEGABYTE:,.0f} MB are read. "
            "Cut it into parts, drop columns that are not needed, or raise EVENHAND_MAX_FILE_MB"
        )


def most_bytes() -> int:
    named = os.environ.get("EVENHAND_MAX_FILE_MB", "")
    return int(named) * MEGABYTE if named.isdigit() else MOST_BYTES


def _kind_of(path: Path) -> str | None:
    endings = [ending.lower() for ending in path.suffixes[-2:]]
    if endings and endings[-1] == ".gz":
        endings.pop()
        return None if ENDINGS.get("".join(endings[-1:])) == "parquet" else _ending(endings)
    return _ending(endings)


def _ending(endings: list[str]) -> str | None:
    return ENDINGS.get(endings[-1]) if endings else None


# ---- text files ----------------------------------------------------------------------------


def _lines(path: Path) -> Iterator[bytes]:
    """The lines of a file that may be gzipped, each and all of them bounded."""
    total = 0
    with gzip.open(path, "rb") if path.suffix.lower() == ".gz" else path.open("rb") as stream:
        try:
            while line := stream.readline(MOST_LINE + 1):
                total += len(line)
                if len(line) > MOST_LINE:
                    raise SourceError(
                        f"{path.name}: a line longer than {MOST_LINE / MEGABYTE:.0f} MB"
                    )
                if total > max(MOST_UNPACKED, most_bytes()):
                    raise SourceError(f"{path.name}: unpacks to more than can be read")
                yield line
        except (gzip.BadGzipFile, EOFError):
            raise SourceError(f"{path.name}: not a whole gzip file; pack it again") from None


def _texts(path: Path) -> Iterator[tuple[int, str]]:
    for number, line in enumerate(_lines(path), 1):
        if number == 1 and line[:2] in (b"\xff\xfe", b"\xfe\xff"):
            raise SourceError(f"{path.name}: this is UTF-16; save the file as UTF-8")
        text = utf8(line, f"{path.name}, line {number}")
        if "\0" in text:
            raise SourceError(
                f"{path.name}, line {number}: holds a zero byte: no text file; save it as UTF-8"
            )
        yield number, text.removeprefix("\ufeff") if number == 1 else text


def _read_delimited(path: Path, delimiter: str) -> Table:
    numbers: list[int] = []
    header: list[str] = []
    rows: list[Row] = []
    notes: list[str] = []
    source = _Counted(_texts(path))
    first = next(source, "")
    if delimiter == "," and "," not in first and ";" in first:
        delimiter = ";"
        notes.append("columns are separated by semicolons")
    csv.field_size_limit(MOST_LINE)
    reader = csv.reader(_chain(first, source), delimiter=delimiter, strict=True)
    try:
        for cells in reader:
            line = source.began
            source.began = source.number + 1
            if not cells:
                continue
            if not header:
                header = _header(cells, path.name)
                continue
            if len(cells) != len(header):
                raise SourceError(
                    f"{path.name}, line {line}: {len(cells)} cells where the header has "
                    f"{len(header)} columns ({', '.join(header)[:200]}); a text that holds a "
                    "separator, a quote or a line break must stand in double quotes"
                )
            rows.append(dict(zip(header, cells, strict=True)))
            numbers.append(line)
            _check_rows(path, len(rows))
    except csv.Error as error:
        raise SourceError(
            f"{path.name}, line {source.began}: {error}; a quote inside a quoted text is written "
            "twice"
        ) from None
    if not header:
        raise SourceError(f"{path.name}: empty; expected a line of column names and rows")
    kind = "tsv" if delimiter == "\t" else "csv"
    return Table(path.name, kind, tuple(header), rows, numbers, notes=tuple(notes))


class _Counted:
    """Lines, counted, so that a row that spans several is named by its first."""

    def __init__(self, lines: Iterator[tuple[int, str]]) -> None:
        self._lines = lines
        self.number = 0
        self.began = 1

    def __iter__(self) -> _Counted:
        return self

    def __next__(self) -> str:
        self.number, text = next(self._lines)
        return text


def _chain(first: str, rest: _Counted) -> Iterator[str]:
    if first:
        yield first
    yield from rest


def _header(cells: list[str], name: str) -> list[str]:
    header = [cell.strip() or f"(unnamed {place})" for place, cell in enumerate(cells, 1)]
    if twice := sorted({cell for cell in header if header.count(cell) > 1}):
        raise SourceError(f"{name}: two columns are named {twice[0]!r}; rename one of them")
    return header


def _check_rows(path: Path, count: int) -> None:
    if count > MOST_ROWS:
        raise SourceError(f"{path.name}: more than {MOST_ROWS:,} rows; cut it into parts")


def _read_jsonl(path: Path) -> Table:
    rows: list[Row] = []
    numbers: list[int] = []
    for number, line in enumerate(_lines(path), 1):
        if line.strip():
            rows.append(object_of(line, f"{path.name}, line {number}"))
            numbers.append(number)
            _check_rows(path, len(rows))
    return Table(path.name, "jsonl", _columns(rows), rows, numbers)


def _read_json(path: Path) -> Table:
    """A list of objects, or one object that a format knows how to read."""
    text = utf8(b"".join(_lines(path)), path.name).removeprefix("\ufeff")
    value = parsed(text, path.name)
    if isinstance(value, dict):
        return Table(path.name, "json", tuple(value), [], whole=value)
    if not isinstance(value, list) or not all(isinstance(row, dict) for row in value):
        raise SourceError(f"{path.name}: expected a list of JSON objects, or one object")
    return Table(path.name, "json", _columns(value), value)


def _columns(rows: list[Row]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(name for row in rows for name in row))


# ---- Parquet -------------------------------------------------------------------------------


def _read_parquet(path: Path) -> Table:
    """Texts are read as codes into a dictionary, whose size is known before it is multiplied out:
    a file of a few kB may stand for gigabytes."""
    import pyarrow as arrow
    import pyarrow.parquet as parquet

    try:
        schema = parquet.read_schema(path)
        texts = [field.name for field in schema if _is_text(field.type)]
        with parquet.ParquetFile(path, read_dictionary=texts) as file:
            total = file.metadata.num_rows
            _check_parquet(path, total, file.metadata.num_columns)
            rows: list[Row] = []
            size = 0
            for batch in file.iter_batches(batch_size=256):
                size += sum(_unpacked(column) for column in batch.columns)
                left = total / max(len(rows) + batch.num_rows, 1)
                if size > MOST_UNPACKED or size * left > 4 * MOST_UNPACKED:
                    raise SourceError(f"{path.name}: unpacks to more than can be read")
                rows += batch.to_pylist()
    except arrow.ArrowException as error:
        told = str(error).splitlines()[0][:200]
        raise SourceError(f"{path.name}: not a Parquet file that can be read: {told}") from None
    return Table(path.name, "parquet", tuple(schema.names), rows)


def _is_text(kind: Any) -> bool:
    import pyarrow.types as types

    return bool(types.is_string(kind) or types.is_binary(kind) or types.is_dictionary(kind))


def _unpacked(column: Any) -> int:
    """Bytes of a column once every row has its own copy."""
    import pyarrow.compute as compute
    import pyarrow.types as types

    if not types.is_dictionary(column.type):
        return int(column.nbytes)
    if not (types.is_string(column.type.value_type) or types.is_binary(column.type.value_type)):
        return int(column.nbytes) + 8 * len(column)
    lengths = compute.binary_length(column.dictionary)
    return int(compute.sum(compute.take(lengths, column.indices)).as_py() or 0)


def _check_parquet(path: Path, rows: int, columns: int) -> None:
    if columns > MOST_COLUMNS:
        raise SourceError(f"{path.name}: {columns:,} columns; at most {MOST_COLUMNS:,} can be read")
    _check_rows(path, rows)


_READERS: Final[dict[str, Callable[[Path], Table]]] = {
    "csv": lambda path: _read_delimited(path, ","),
    "tsv": lambda path: _read_delimited(path, "\t"),
    "jsonl": _read_jsonl,
    "json": _read_json,
    "parquet": _read_parquet,
}
