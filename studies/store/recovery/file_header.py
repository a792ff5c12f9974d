"""The header of an SQLite file: the first 100 bytes of its first page."""

import struct
from pathlib import Path
from typing import Final, NamedTuple

MAGIC: Final = b"SQLite format 3\0"
HEADER_BYTES: Final = 100
DEFAULT_PAGE_SIZE: Final = 4096


class FileHeader(NamedTuple):
    """Fields of a header; their offsets are documented at https://sqlite.org/fileformat2.html."""

    page_size: int
    reserved: int
    """Unused bytes at the end of each page."""
    change_counter: int
    pages: int
    """Number of pages of the database; 0 if the program that last wrote the file did not set it."""
    first_free_page: int
    user_version: int
    application_id: int


def parse_header(start: bytes) -> FileHeader | None:
    """Parse the header at the start of a file or of its first page; None if it is invalid."""
    if len(start) < HEADER_BYTES or start[:16] != MAGIC:
        return None
    (size,) = struct.unpack_from(">H", start, 16)
    page_size = 65_536 if size == 1 else size
    if page_size < 512 or page_size & (page_size - 1) or start[21:24] != b"\x40\x20\x20":
        return None
    counter, pages, first_free = struct.unpack_from(">III", start, 24)
    user_version, application_id = struct.unpack_from(">I4xI", start, 60)
    (valid_for,) = struct.unpack_from(">I", start, 92)
    return FileHeader(
        page_size,
        start[20],
        counter,
        pages if valid_for == counter else 0,
        first_free,
        user_version,
        application_id,
    )


def read_header(path: Path) -> FileHeader | None:
    with path.open("rb") as file:
        return parse_header(file.read(HEADER_BYTES))
