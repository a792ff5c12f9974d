"""Read CSV, TSV, JSONL and JSON files (gzipped or not), Parquet and Excel files as rows of a table.

An error names the file and, if it is about one line or row, its number. Sizes are limited before
and while reading (studies/files/read_limits.py), so that an upload cannot exhaust the memory.
"""

from __future__ import annotations

import csv
import gzip
import json
import zlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from operator import methodcaller
from pathlib import Path
from typing import Any, BinaryIO, Final, cast

from studies.errors import SourceError
from studies.files.read_limits import MEGABYTE, ReadLimits, current_limits
from studies.files.table_formats import json_lines, parquet, spreadsheet_guard, spreadsheets
from studies.settings import is_public

KIND_BY_SUFFIX: Final = {
    ".csv": "csv",
    ".tsv": "tsv",
    ".tab": "tsv",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".json": "json",
    ".parquet": "parquet",
    ".xlsx": "xlsx",
}
_PACKED_KINDS: Final = ("parquet", "xlsx")
"""File types that are already compressed and therefore not accepted inside a gzip file."""
Row = dict[str, Any]


@dataclass(frozen=True, slots=True)
class SourceTable:
    """Rows of one file, of one split of a Hub dataset, or of all files of a folder, with their
    locations for error messages."""

    name: str
    kind: str
    columns: tuple[str, ...]
    rows: list[Row]
    lines: list[int] = field(default_factory=list)
    json_object: Mapping[str, Any] | None = None
    """Content of a JSON file that is a single object instead of a list of rows."""

    notes: tuple[str, ...] = ()
    places: list[str] = field(default_factory=list)
    """File and line of each row, if the rows come from several files; else empty."""

    def row_place(self, index: int) -> str:
        """Return the location of a row for error messages: file, and line or row number."""
        if self.places:
            return self.places[index]
        if self.lines:
            return f"{self.name}, line {self.lines[index]}"
        return f"{self.name}, row {index + 1}"

    def has_columns(self, *names: str) -> bool:
        return set(names) <= set(self.columns)


def text_of(value: Any) -> str:
    """Convert a cell to text; null and NaN become "", and a whole number has no decimal point."""
    if value is None or value != value:  # NaN differs from itself
        return ""
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return value if isinstance(value, str) else str(value)


def rename_columns(table: SourceTable, names: Mapping[str, str]) -> SourceTable:
    """Return the table with columns renamed as in `names` (old -> new); SourceError for an unknown
    column, or if two columns would have the same name."""
    for column in names:
        if column not in table.columns:
            raise SourceError(
                f"data.mapping: {table.name} has no column {column!r}; its columns: "
                f"{', '.join(table.columns)[:300]}"
            )
    columns = tuple(names.get(name, name) for name in table.columns)
    if twice := [name for name in names.values() if columns.count(name) > 1]:
        raise SourceError(
            f"data.mapping: {table.name} would have two columns {twice[0]!r}; map only one column "
            "to this name, and the column that has it to another name"
        )
    rows = [{names.get(name, name): value for name, value in row.items()} for row in table.rows]
    return replace(table, columns=columns, rows=rows)


def is_table_file(path: Path) -> bool:
    return _file_kind(path) is not None


def read_table(path: Path) -> SourceTable:
    """Read all rows of a file; its suffix determines the file type. SourceError if the type is not
    supported, or the file is unreadable or too large."""
    kind = _file_kind(path)
    if kind is None:
        known = ", ".join(KIND_BY_SUFFIX)
        hint = "; unpack it first" if path.suffix.lower() in (".zip", ".tar", ".7z") else ""
        raise SourceError(
            f"{path.name}: not a supported file type ({known}, or these with .gz){hint}"
        )
    check_file_size(path)
    limits = current_limits()
    try:
        table = _READERS[kind](path, limits)
    except OSError as error:
        raise SourceError(
            f"cannot read {_display_path(path)}: {error.strerror or error}; check the file"
        ) from None
    limits.check_columns(len(table.columns), path.name)
    return table


def _display_path(path: Path) -> str:
    """Return the path for an error message; in public mode only the file name."""
    return path.name if is_public() else str(path)


def check_file_size(path: Path) -> None:
    """Raise SourceError, before reading it, for a file that is missing or too large."""
    try:
        size = path.stat().st_size
    except OSError as error:
        raise SourceError(
            f"cannot read {_display_path(path)}: {error.strerror}; check the path"
        ) from None
    current_limits().check_bytes(size, path.name)


def _file_kind(path: Path) -> str | None:
    """Return the file type by the suffix, such as "csv", also before .gz; None if unsupported."""
    zipped = path.suffix.lower() == ".gz"
    suffix = Path(path.stem).suffix if zipped else path.suffix
    kind = KIND_BY_SUFFIX.get(suffix.lower())
    return None if zipped and kind in _PACKED_KINDS else kind


# ---- text files ----------------------------------------------------------------------------


def _read_lines(path: Path, limits: ReadLimits) -> Iterator[bytes]:
    """Yield the lines of a file, gzipped or not; SourceError if a line or the whole file is too
    large."""
    max_bytes = limits.line_bytes
    for line in _read_with_size_limit(path, limits, methodcaller("readline", max_bytes + 1)):
        if len(line) > max_bytes:
            raise SourceError(
                f"{path.name}: a line longer than {max_bytes / MEGABYTE:.0f} MB; "
                "shorten it or remove it"
            )
        yield line


def _read_with_size_limit(
    path: Path, limits: ReadLimits, read_piece: Callable[[BinaryIO], bytes]
) -> Iterator[bytes]:
    """Yield the pieces (such as lines) that `read_piece` reads from a file, gzipped or not; raise
    SourceError when their total size exceeds the limit, or if the gzip file is damaged."""
    total, name = 0, path.name
    zipped = path.suffix.lower() == ".gz"
    packed = path.stat().st_size if zipped else 0
    with gzip.open(path, "rb") if zipped else path.open("rb") as stream:
        try:
            while piece := read_piece(cast(BinaryIO, stream)):
                total += len(piece)
                limits.check_unpacked(total, packed, name)
                yield piece
        except (gzip.BadGzipFile, EOFError, zlib.error):
            raise SourceError(
                f"{path.name}: incomplete or damaged gzip file; compress it again"
            ) from None


def _read_text_lines(path: Path, limits: ReadLimits) -> Iterator[tuple[int, str]]:
    for number, line in enumerate(_read_lines(path, limits), 1):
        if number == 1 and line[:2] in (b"\xff\xfe", b"\xfe\xff"):
            raise SourceError(f"{path.name}: the file is UTF-16; save it as UTF-8")
        text = json_lines.decode_utf8(line, f"{path.name}, line {number}")
        if "\0" in text:
            raise SourceError(
                f"{path.name}, line {number}: zero byte, so this is not a text file; "
                "save it as UTF-8"
            )
        yield number, text.removeprefix("\ufeff") if number == 1 else text


def _read_delimited(path: Path, limits: ReadLimits, delimiter: str) -> SourceTable:
    numbers: list[int] = []
    header: list[str] = []
    rows: list[Row] = []
    notes: list[str] = []
    blank, own_export = 0, False
    source = _NumberedLines(_read_text_lines(path, limits))
    first = next(source, "")
    if delimiter == "," and "," not in first and ";" in first:
        delimiter = ";"
        notes.append("columns are separated by semicolons")
    csv.field_size_limit(limits.line_bytes)
    reader = csv.reader(_prepend_line(first, source), delimiter=delimiter, strict=True)
    try:
        for cells in reader:
            line = source.row_start
            source.row_start = source.number + 1
            if not cells:
                blank += 1
                limits.check_blank_lines(blank, path.name)
                continue
            if not header:
                header = _parse_header(cells, path.name, limits)
                own_export = tuple(header) in spreadsheet_guard.OWN_CSV_HEADERS
                continue
            if len(cells) != len(header):
                raise SourceError(
                    f"{path.name}, line {line}: {len(cells)} cells where the header has "
                    f"{len(header)} columns ({', '.join(header)[:200]}); a text that contains a "
                    "separator, a quote or a line break must be in double quotes"
                )
            if own_export:
                cells = [spreadsheet_guard.unguard_formula(cell) for cell in cells]
            rows.append(dict(zip(header, cells, strict=True)))
            numbers.append(line)
            limits.check_rows(len(rows), path.name)
            limits.check_values(len(rows) * len(header), path.name)
    except csv.Error as error:
        advice = "write a quote inside a quoted text twice"
        if "new-line" in str(error):
            error, advice = csv.Error("its lines end in CR"), "save the file with LF line ends"
        raise SourceError(f"{path.name}, line {source.row_start}: {error}; {advice}") from None
    if not header:
        raise SourceError(
            f"{path.name}: the file is empty; expected a line of column names and rows"
        )
    kind = "tsv" if delimiter == "\t" else "csv"
    return SourceTable(path.name, kind, tuple(header), rows, numbers, notes=tuple(notes))


class _NumberedLines:
    """Iterator over the lines of a CSV file that counts them. A row can have several lines:
    `number` is the line read last, `row_start` the first line of the current row."""

    def __init__(self, lines: Iterator[tuple[int, str]]) -> None:
        self._lines = lines
        self.number = 0
        self.row_start = 1

    def __iter__(self) -> _NumberedLines:
        return self

    def __next__(self) -> str:
        self.number, text = next(self._lines)
        return text


def _prepend_line(first: str, rest: _NumberedLines) -> Iterator[str]:
    if first:
        yield first
    yield from rest


def _parse_header(cells: list[str], name: str, limits: ReadLimits) -> list[str]:
    limits.check_columns(len(cells), name)
    header = [cell.strip() or f"(unnamed {place})" for place, cell in enumerate(cells, 1)]
    if twice := sorted({cell for cell in header if header.count(cell) > 1}):
        raise SourceError(f"{name}: two columns are named {twice[0]!r}; rename one of them")
    return header


def _read_jsonl(path: Path, limits: ReadLimits) -> SourceTable:
    rows: list[Row] = []
    numbers: list[int] = []
    columns: dict[str, None] = {}
    values, name = 0, path.name
    for number, line in enumerate(_read_lines(path, limits), 1):
        limits.check_blank_lines(number - len(rows) - 1, name)
        if line.strip():
            if not rows:
                _refuse_json_list(line, name)
            where = f"{name}, line {number}"
            values += json_lines.count_values_within_limits(line, where, limits)
            limits.check_values(values, name)
            rows.append(json_lines.parse_object(line, where))
            numbers.append(number)
            limits.check_rows(len(rows), name)
            _add_columns(columns, rows[-1], name, limits)
    return SourceTable(name, "jsonl", tuple(columns), rows, numbers)


def _refuse_json_list(line: bytes, name: str) -> None:
    """Raise SourceError if a file that should have one JSON object in each line begins with a list.
    `line`: its first line; `name`: its name for the message, which says how to change the file."""
    if not line.lstrip(b"\xef\xbb\xbf \t").startswith(b"["):
        return
    try:
        first = json.loads(line.decode("utf-8-sig"))
    except (ValueError, RecursionError):
        first = None  # a list over several lines
    if isinstance(first, list) and not all(isinstance(row, dict) for row in first):
        raise SourceError(
            f"{name}: each line is a list of values without names; write one object per line, "
            'such as {"question": …, "answer": …}'
        )
    raise SourceError(
        f"{name}: contains a JSON list, not one object per line; if the list is the whole file, "
        "rename it to end in .json, else write one object per line"
    )


def _read_json(path: Path, limits: ReadLimits) -> SourceTable:
    """Read a JSON file: a list of objects, a single object, or JSON lines; SourceError for any
    other content."""
    content = b"".join(_read_with_size_limit(path, limits, lambda stream: stream.read(MEGABYTE)))
    if _is_json_lines(content, path.name, limits):
        del content  # the lines are read again, one at a time
        table = _read_jsonl(path, limits)
        return replace(table, notes=("the file contains JSON lines, one object per line",))
    json_lines.count_values_within_limits(content, path.name, limits)
    text = json_lines.decode_utf8(content, path.name).removeprefix("\ufeff")
    value = json_lines.parse_json(text, path.name)
    if isinstance(value, dict):
        return SourceTable(path.name, "json", tuple(value), [], json_object=value)
    if not isinstance(value, list) or not all(isinstance(row, dict) for row in value):
        raise SourceError(
            f"{path.name}: expected a list of JSON objects, one object, or one object per line; "
            "save the data in one of these forms"
        )
    columns: dict[str, None] = {}
    for row in value:
        _add_columns(columns, row, path.name, limits)
    return SourceTable(path.name, "json", tuple(columns), value)


def _is_json_lines(content: bytes, name: str, limits: ReadLimits) -> bool:
    """Whether the first line is a complete JSON object and more text follows it."""
    first, _, rest = content.lstrip(b"\xef\xbb\xbf \t\r\n").partition(b"\n")
    if not first.startswith(b"{") or not first.rstrip().endswith(b"}") or not rest.strip():
        return False
    json_lines.count_values_within_limits(first, name, limits)
    try:
        json.loads(first)
    except ValueError:
        return False
    return True


def _add_columns(columns: dict[str, None], row: Row, name: str, limits: ReadLimits) -> None:
    """Add the keys of a row to the columns; raise SourceError if they are too many."""
    if not row.keys() <= columns.keys():
        columns.update(dict.fromkeys(row))
        limits.check_columns(len(columns), name)


def _read_parquet(path: Path, limits: ReadLimits) -> SourceTable:
    columns, rows = parquet.read_parquet(path, limits)
    return SourceTable(path.name, "parquet", columns, rows)


def _read_xlsx(path: Path, limits: ReadLimits) -> SourceTable:
    """Read the first visible sheet; its first non-empty row contains the column names. SourceError
    if the sheet is empty."""
    header: list[str] = []
    rows: list[Row] = []
    titles: set[str] = set()
    for title, cells in spreadsheets.read_first_visible_sheet(path, limits):
        titles.add(title)
        if not header:
            while cells and cells[-1] is None:
                cells.pop()
            header = _parse_header([text_of(cell) for cell in cells], path.name, limits)
        else:
            filled = [*cells[: len(header)], *[None] * (len(header) - len(cells))]
            rows.append(dict(zip(header, filled, strict=True)))
    if not header:
        raise SourceError(f"{path.name}: the sheet is empty; expected column names and rows")
    notes = tuple(f"only the sheet {title!r} was read" for title in titles if title)
    return SourceTable(path.name, "xlsx", tuple(header), rows, notes=notes)


_READERS: Final[dict[str, Callable[[Path, ReadLimits], SourceTable]]] = {
    "csv": lambda path, limits: _read_delimited(path, limits, ","),
    "tsv": lambda path, limits: _read_delimited(path, limits, "\t"),
    "jsonl": _read_jsonl,
    "json": _read_json,
    "parquet": _read_parquet,
    "xlsx": _read_xlsx,
}
