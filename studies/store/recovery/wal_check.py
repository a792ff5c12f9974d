"""Write-ahead log beside a store: its committed pages, and the check that it belongs to the store.

SQLite applies any complete log beside a file, also that of another store, and writes its pages into
the file. This happens when a backup is copied over a store whose log was left behind by a crash. A
log does not name its store, so these properties are compared:

- the identity in the first page (`application_id`), random for each store and each backup. The
  writer puts the first page into every transaction, so that each log contains the identity;
- the change counter in the first page, which rises with every change of this page: the file's
  counter must be one of the log's counters, or precede them directly;
- if the log has no first page (logs of older versions): the number of pages, and the kind of
  each page in the log, which must be those of the file.

A store that this version has not opened yet may have no identity. Then a log of another store whose
change counters, or number and kinds of pages, fit by chance is not detected.
"""

import struct
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, Final

from studies.store.recovery.file_header import FileHeader, parse_header

WAL_HEADER_BYTES: Final = 32
FRAME_HEADER_BYTES: Final = 24
BTREE_KINDS: Final = frozenset((2, 5, 10, 13))
_MAGICS: Final = {0x377F0682: "<", 0x377F0683: ">"}
"""Number at the start of a write-ahead log -> byte order of its checksums."""


@dataclass(frozen=True, slots=True)
class WalFrame:
    """One page in a write-ahead log; SQLite calls it a frame."""

    page: int
    database_page_count: int
    """Database size in pages after the transaction, if this is its last page; else 0."""
    offset: int
    """Offset in the log file of the page's first byte."""


@dataclass(frozen=True, slots=True)
class Wal:
    """A write-ahead log with its committed pages (`frames`)."""

    path: Path
    page_size: int
    frames: tuple[WalFrame, ...]

    @property
    def database_page_count(self) -> int:
        return self.frames[-1].database_page_count

    def latest_offsets_by_page(self) -> dict[int, int]:
        """Return page number -> offset in the log of the newest version of the page."""
        return {frame.page: frame.offset for frame in self.frames}


def wal_path(store: Path) -> Path:
    return store.with_name(store.name + "-wal")


def read_wal(path: Path, *, verify: bool = False) -> Wal | None:
    """Read the list of committed pages of a write-ahead log; None if there are none.

    With `verify` the list ends before the first page with a wrong checksum, as in SQLite. This
    takes about a second for 4,000 pages."""
    try:
        with path.open("rb") as file:
            head = file.read(WAL_HEADER_BYTES)
            if len(head) < WAL_HEADER_BYTES:
                return None
            magic, _, page_size = struct.unpack(">III", head[:12])
            if magic not in _MAGICS or not 512 <= page_size <= 65_536:
                return None
            found = list(_read_frames(file, page_size, head[16:24]))
            if verify:
                found = found[: _count_valid_frames(file, head, found, page_size, _MAGICS[magic])]
    except OSError:
        return None
    last = max((n for n, frame in enumerate(found, 1) if frame.database_page_count), default=0)
    return Wal(path, page_size, tuple(found[:last])) if last else None


def _read_frames(file: BinaryIO, page_size: int, salts: bytes) -> Iterator[WalFrame]:
    """Yield the pages of a log that belong to its present use. SQLite reuses a log from its
    start, so pages of an earlier use can follow: their salts (random numbers) differ from
    those in the log's header."""
    offset = WAL_HEADER_BYTES
    while True:
        file.seek(offset)
        head = file.read(FRAME_HEADER_BYTES)
        if len(head) < FRAME_HEADER_BYTES or head[8:16] != salts:
            return
        page, committed = struct.unpack(">II", head[:8])
        if not page:
            return
        yield WalFrame(page, committed, offset + FRAME_HEADER_BYTES)
        offset += FRAME_HEADER_BYTES + page_size


def _count_valid_frames(
    file: BinaryIO, head: bytes, frames: list[WalFrame], page_size: int, order: str
) -> int:
    """Return how many of `frames` (pages in the log) come before the first one with a wrong
    checksum; 0 if the checksum of the log's header `head` is wrong. `order` is the byte order
    that the log states."""
    sums = _checksum(head[:24], (0, 0), order)
    if struct.pack(">II", *sums) != head[24:32]:
        return 0
    for number, frame in enumerate(frames):
        file.seek(frame.offset - FRAME_HEADER_BYTES)
        content = file.read(FRAME_HEADER_BYTES + page_size)
        if len(content) < FRAME_HEADER_BYTES + page_size:
            return number
        sums = _checksum(content[:8] + content[FRAME_HEADER_BYTES:], sums, order)
        if struct.pack(">II", *sums) != content[16:24]:
            return number
    return len(frames)


def _checksum(content: bytes, sums: tuple[int, int], order: str) -> tuple[int, int]:
    """Return the two running checksums `sums` of a log, updated with the bytes `content`. `order`
    is the byte order, "<" or ">"."""
    first, second = sums
    words = struct.unpack(f"{order}{len(content) // 4}I", content)
    for even, odd in zip(words[::2], words[1::2], strict=True):
        first = (first + even + second) & 0xFFFFFFFF
        second = (second + odd + first) & 0xFFFFFFFF
    return first, second


def why_wal_is_foreign(store: Path, header: FileHeader) -> str:
    """Return the reason why the write-ahead log beside a store must be another store's; "" if
    nothing shows this. `header` is that of the store's file."""
    log = wal_path(store)
    wal = read_wal(log)
    if wal is None or not _compare_log_with_store(store, header, wal):
        return ""
    wal = read_wal(log, verify=True)  # an incomplete end of the log is no evidence
    return _compare_log_with_store(store, header, wal) if wal else ""


def _compare_log_with_store(store: Path, header: FileHeader, wal: Wal) -> str:
    """Return a difference that shows that a log belongs to another store; "" if there is none."""
    if wal.page_size != header.page_size:
        return f"pages of {wal.page_size} bytes, not {header.page_size}"
    with wal.path.open("rb") as log, store.open("rb") as file:
        firsts = [_header_at(log, frame) for frame in wal.frames if frame.page == 1]
        if firsts:
            return _compare_first_pages(header, firsts)
        return _compare_page_counts(header, wal) or _compare_page_kinds(wal, log, file)


def _header_at(log: BinaryIO, frame: WalFrame) -> FileHeader | None:
    """Return the header in a log's version of the first page; None if it is invalid."""
    log.seek(frame.offset)
    return parse_header(log.read(100))


def _compare_first_pages(header: FileHeader, found: list[FileHeader | None]) -> str:
    firsts = [first for first in found if first is not None]
    if len(firsts) < len(found):
        return "a first page without a header"
    # The log in which a store got its identity also has earlier first pages, without one.
    if header.application_id and header.application_id not in {f.application_id for f in firsts}:
        return f"identity {firsts[0].application_id:08x}, not {header.application_id:08x}"
    low, high = firsts[0].change_counter - 1, firsts[-1].change_counter
    if not low <= header.change_counter <= high:
        return f"changes {low + 1} to {high}, though the file is at change {header.change_counter}"
    return ""


def _compare_page_counts(header: FileHeader, wal: Wal) -> str:
    sizes = {frame.database_page_count for frame in wal.frames if frame.database_page_count}
    if header.pages and sizes != {header.pages}:
        return f"{max(sizes):,} pages, not {header.pages:,}"
    return ""


def _compare_page_kinds(wal: Wal, log: BinaryIO, file: BinaryIO) -> str:
    for page, offset in wal.latest_offsets_by_page().items():
        log.seek(offset)
        file.seek((page - 1) * wal.page_size)
        new, old = log.read(1), file.read(1)
        if old and _btree_page_kind(new) != _btree_page_kind(old):
            return f"page {page} is of another kind"
    return ""


def _btree_page_kind(first_byte: bytes) -> int:
    """Return the kind of a b-tree page, which is its first byte; 0 for other pages."""
    return first_byte[0] if first_byte and first_byte[0] in BTREE_KINDS else 0
