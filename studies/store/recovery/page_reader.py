"""Read the pages of a damaged SQLite file without SQLite, which stops at the first damaged page.

The format is documented at https://sqlite.org/fileformat2.html. Each cell
(SQLite's term for the bytes of one row) is checked separately, so that only damaged rows are lost.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from pathlib import Path
from types import TracebackType
from typing import Any, Final, NamedTuple

from studies.store.recovery.file_header import DEFAULT_PAGE_SIZE, HEADER_BYTES, parse_header
from studies.store.recovery.wal_check import Wal

INDEX_NODE, TABLE_NODE, INDEX_LEAF, TABLE_LEAF = 2, 5, 10, 13
_INTEGER_BYTES: Final = (0, 1, 2, 3, 4, 6, 8)


class Unreadable(Exception):
    """Raised for a page or a row whose bytes do not follow the file format."""


class Row(NamedTuple):
    """The values of one row; `rowid` is None in an index or a table without row ids."""

    rowid: int | None
    values: tuple[Any, ...]


class BTreePage(NamedTuple):
    """One parsed page of a table or of an index: its kind, the numbers of its child pages, its
    readable rows, and the number of its cells (stored rows) that could not be read."""

    kind: int
    children: tuple[int, ...]
    rows: tuple[Row, ...]
    bad_cells: int

    @property
    def is_table_page(self) -> bool:
        """Whether the page belongs to a table with row ids, not to an index."""
        return self.kind in (TABLE_NODE, TABLE_LEAF)


class PageFile:
    """The pages of a database file; a page in the write-ahead log replaces that in the file."""

    def __init__(self, path: Path, wal: Wal | None) -> None:
        self._file = path.open("rb")
        self._log = wal.path.open("rb") if wal else None
        self._logged = wal.latest_offsets_by_page() if wal else {}
        start = self._read_header_bytes()
        self.header = parse_header(start)
        self.page_size = (
            self.header.page_size if self.header else wal.page_size if wal else DEFAULT_PAGE_SIZE
        )
        self._usable = self.page_size - (self.header.reserved if self.header else 0)
        in_file = -(-path.stat().st_size // self.page_size)
        self.count = wal.database_page_count if wal else in_file

    def _read_header_bytes(self) -> bytes:
        if self._log and 1 in self._logged:
            self._log.seek(self._logged[1])
            return self._log.read(HEADER_BYTES)
        return self._file.read(HEADER_BYTES)

    def __enter__(self) -> PageFile:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        at: TracebackType | None,
    ) -> None:
        self._file.close()
        if self._log:
            self._log.close()

    def page(self, number: int) -> bytes:
        """Return the bytes of a page; raise Unreadable if the file is too short for it."""
        if not 1 <= number <= self.count:
            raise Unreadable(f"no page {number}")
        if self._log and number in self._logged:
            self._log.seek(self._logged[number])
            content = self._log.read(self.page_size)
        else:
            self._file.seek((number - 1) * self.page_size)
            content = self._file.read(self.page_size)
        if len(content) < self.page_size:
            raise Unreadable(f"page {number} of the database file is cut off")
        return content

    def free_pages(self) -> set[int]:
        """Return the numbers of the pages on the free list, which contain deleted rows; if the list
        is damaged, those that can be read."""
        found: set[int] = set()
        trunk = self.header.first_free_page if self.header else 0
        while trunk and trunk not in found:
            try:
                content = self.page(trunk)
            except Unreadable:
                break
            found.add(trunk)
            following, leaves = struct.unpack_from(">II", content)
            if leaves <= self._usable // 4 - 2:
                found.update(struct.unpack_from(f">{leaves}I", content, 8))
            trunk = following
        return found

    def btree_page(self, number: int) -> BTreePage:
        """Parse a page of a table or an index; raise Unreadable for any other page."""
        content = self.page(number)
        start = HEADER_BYTES if number == 1 else 0
        kind = content[start]
        if kind not in (INDEX_NODE, TABLE_NODE, INDEX_LEAF, TABLE_LEAF):
            raise Unreadable(f"page {number} of the database file is no page of a table")
        (cells,) = struct.unpack_from(">H", content, start + 3)
        is_node = kind in (INDEX_NODE, TABLE_NODE)
        pointers_at = start + (12 if is_node else 8)
        if pointers_at + 2 * cells > self._usable:
            raise Unreadable(f"page {number} of the database file has too many cells")
        pointers = struct.unpack_from(f">{cells}H", content, pointers_at)
        children: list[int] = []
        if is_node:
            children = [
                struct.unpack_from(">I", content, at)[0]
                for at in pointers
                if pointers_at <= at <= self._usable - 4
            ]
            children.append(struct.unpack_from(">I", content, start + 8)[0])
        found: list[Row] = []
        if kind != TABLE_NODE:
            found = list(self._read_rows_of_page(content, kind, pointers, pointers_at + 2 * cells))
        bad = cells - len(found) if kind != TABLE_NODE else 0
        return BTreePage(kind, tuple(children), tuple(found), bad)

    def _read_rows_of_page(
        self, content: bytes, kind: int, pointers: tuple[int, ...], content_at: int
    ) -> Iterator[Row]:
        """Yield the readable rows of a page. `kind` is the page's type; `pointers` are the
        offsets of its cells (stored rows); those before `content_at`, where cells begin,
        are invalid."""
        for at in pointers:
            if not content_at <= at < self._usable:
                continue
            try:
                yield self._read_row_at(content, kind, at)
            except (Unreadable, IndexError, struct.error, UnicodeDecodeError):
                continue

    def _read_row_at(self, content: bytes, kind: int, at: int) -> Row:
        """Read the row stored at the offset `at` of a page; `kind` is the page's type. If
        its bytes do not follow the format, raise Unreadable, IndexError, struct.error
        or UnicodeDecodeError."""
        if kind == INDEX_NODE:
            at += 4
        size, at = _read_varint(content, at)
        rowid: int | None = None
        if kind == TABLE_LEAF:
            unsigned, at = _read_varint(content, at)
            rowid = unsigned - (1 << 64) if unsigned >> 63 else unsigned
        local = self._payload_bytes_on_page(size, kind)
        if at + local > self._usable or size > self.count * self.page_size:
            raise Unreadable("a cell of the database file crosses the end of its page")
        payload = content[at : at + local]
        if local < size:
            (following,) = struct.unpack_from(">I", content, at + local)
            payload += self._read_overflow_pages(following, size - local)
        return Row(rowid, _parse_record_values(payload))

    def _payload_bytes_on_page(self, size: int, kind: int) -> int:
        """Return how many of the `size` bytes of a row's content are on the page itself; the others
        are on overflow pages."""
        usable = self._usable
        most = usable - 35 if kind == TABLE_LEAF else (usable - 12) * 64 // 255 - 23
        if size <= most:
            return size
        least = (usable - 12) * 32 // 255 - 23
        fitting = least + (size - least) % (usable - 4)
        return fitting if fitting <= most else least

    def _read_overflow_pages(self, number: int, size: int) -> bytes:
        """Read the `size` bytes of a row's content that are on a chain of overflow pages; the chain
        starts at page `number`."""
        parts: list[bytes] = []
        while size > 0:
            content = self.page(number)
            parts.append(content[4 : 4 + min(size, self._usable - 4)])
            size -= len(parts[-1])
            (number,) = struct.unpack_from(">I", content)
        return b"".join(parts)


def _read_varint(content: bytes, at: int) -> tuple[int, int]:
    """Read the variable-length integer at the offset `at`; return the integer and the offset after
    it."""
    value = 0
    for place in range(at, at + 8):
        byte = content[place]
        value = value << 7 | byte & 0x7F
        if byte < 0x80:
            return value, place + 1
    return value << 8 | content[at + 8], at + 9


def _parse_record_values(payload: bytes) -> tuple[Any, ...]:
    """Return the values of a record; raise Unreadable if their lengths do not fit its size."""
    header_size, at = _read_varint(payload, 0)
    body = header_size
    values: list[Any] = []
    if header_size > len(payload):
        raise Unreadable("a record of the database file is shorter than its header")
    while at < header_size:
        code, at = _read_varint(payload, at)
        value, length = _parse_record_value(payload, body, code)
        values.append(value)
        body += length
    if at != header_size or body != len(payload):
        raise Unreadable("a record of the database file has another length than its header states")
    return tuple(values)


def _parse_record_value(payload: bytes, at: int, code: int) -> tuple[Any, int]:
    """Return the value at the offset `at` of a record, and its length in bytes; `code` is SQLite's
    serial type of the value. Unreadable if the type is unknown or the record is too short."""
    if code >= 12:
        length = (code - 12) // 2
        content = payload[at : at + length]
        if len(content) < length:
            raise Unreadable("a value in the database file crosses the end of its record")
        return (content.decode("utf-8") if code & 1 else content), length
    if code == 0:
        return None, 0
    if code in (8, 9):
        return code - 8, 0
    if code == 7:
        return struct.unpack_from(">d", payload, at)[0], 8
    if code > 9:
        raise Unreadable("a value in the database file has a type that SQLite does not use")
    length = _INTEGER_BYTES[code]
    content = payload[at : at + length]
    if len(content) < length:
        raise Unreadable("a value in the database file crosses the end of its record")
    return int.from_bytes(content, "big", signed=True), length
