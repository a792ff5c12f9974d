"""Limits on reading files, which are generous on a local machine and strict in public mode.

Sizes are checked before the data is in memory: the file size before the first byte, rows and values
of a Parquet file from its footer, lines while they are read, columns after the first line. The
numbers of contestants, judges and categories are checked after reading. Local files are limited
too, because a malicious file may have been downloaded.
"""

from dataclasses import dataclass, replace
from typing import Final

from studies.errors import SourceError
from studies.settings import MAX_FILE_MB, is_public

MEGABYTE: Final = 1 << 20
MAX_BLANK_LINES: Final = 100_000
_RATIO_FREE_BYTES: Final = 16 * MEGABYTE
"""Unpacked size in bytes up to which the compression ratio is not limited, because even a harmless
text of blanks can shrink to a thousandth."""


@dataclass(frozen=True, slots=True)
class ReadLimits:
    """Maximum sizes and counts of data that is read."""

    file_bytes: int
    """Maximum size of a file, checked before the file is read; EVENHAND_MAX_FILE_MB sets it."""
    unpacked_bytes: int
    """Maximum size of a compressed file once it is unpacked."""
    ratio: int
    """Maximum ratio of unpacked to packed size of a gzip file or zip archive; not checked if the
    unpacked size is at most 16 MB."""
    rows: int
    columns: int
    values: int
    """Maximum number of values in a file; each element of a list counts."""
    nested_texts: int
    """Maximum number of texts inside the lists of one column, in one row group of a Parquet file;
    checked only if the size of the texts is unknown before reading."""
    archive_bytes: int
    """Maximum size of all entries of a zip archive together, once unpacked."""
    entry_bytes: int
    """Maximum size of one entry of a zip archive once unpacked."""
    line_bytes: int
    """Maximum size of one line or cell; large enough for an image in base64."""
    depth: int
    """Maximum nesting depth of lists and objects in JSON."""
    pixels: int
    """Maximum width times height of an image."""
    picture_bytes: int
    contestants: int
    """Maximum number of contestants of a study; the head-to-head table grows with its square."""
    judges: int
    """Maximum number of combinations of judge and prompt, people not counted; the agreement table
    grows with its square."""
    categories: int
    """Maximum number of categories of one study; each is a column of the tables by judge."""

    def check_bytes(self, size: int, name: str) -> None:
        if size > self.file_bytes:
            raise SourceError(
                f"{name}: {size / MEGABYTE:,.0f} MB; at most {self.file_bytes / MEGABYTE:,.0f} MB "
                f"are read. Split the file, drop unneeded columns, or raise {MAX_FILE_MB.name}"
            )

    def check_unpacked(self, size: int, packed_size: int, name: str) -> None:
        """Raise SourceError if `size`, the bytes unpacked so far, is above a limit; `packed_size`
        is the size of the gzip file, 0 without gzip."""
        if size > max(self.unpacked_bytes, self.file_bytes):
            raise unpacked_size_error(name)
        if packed_size:
            self._check_ratio(size, packed_size, name)

    def check_archive(self, size: int, packed_size: int, name: str) -> None:
        """Raise SourceError if `size`, the stated unpacked size of all entries of a zip archive, or
        its ratio to `packed_size` is too high."""
        if size > self.archive_bytes:
            raise unpacked_size_error(name)
        self._check_ratio(size, packed_size, name)

    def _check_ratio(self, size: int, packed_size: int, name: str) -> None:
        if size > _RATIO_FREE_BYTES and size > packed_size * self.ratio:
            raise SourceError(
                f"{name}: unpacks to more than {self.ratio} times its size; if that is expected, "
                "unpack it first"
            )

    def check_rows(self, count: int, name: str) -> None:
        if count > self.rows:
            raise SourceError(f"{name}: more than {self.rows:,} rows; split the file")

    def too_many_entries_error(self, name: str) -> SourceError:
        return SourceError(
            f"{name}: a list or an object has more than {self.rows:,} rows; split the file"
        )

    def check_blank_lines(self, count: int, name: str) -> None:
        if count > MAX_BLANK_LINES:
            raise SourceError(f"{name}: more than {MAX_BLANK_LINES:,} blank lines; remove them")

    def check_columns(self, count: int, name: str) -> None:
        if count > self.columns:
            raise SourceError(
                f"{name}: {count:,} columns; at most {self.columns:,} can be read. Drop unneeded "
                "ones"
            )

    def check_values(self, count: int, name: str) -> None:
        if count > self.values:
            raise SourceError(
                f"{name}: {count:,} values in its cells; at most {self.values:,} can be read. "
                "Split the file, or drop unneeded columns"
            )

    def check_participants(self, contestants: int, judges: int, name: str) -> None:
        if contestants > self.contestants:
            raise SourceError(
                f"{name}: {contestants:,} models; at most {self.contestants:,} can be "
                "compared. Keep fewer of them, or check the column with their names"
            )
        if judges > self.judges:
            raise SourceError(
                f"{name}: {judges:,} judges with their prompts; at most {self.judges:,} can be "
                "compared. Keep fewer of them, or check the column with their names"
            )

    def check_categories(self, count: int, name: str) -> None:
        if count > self.categories:
            raise SourceError(
                f"{name}: {count:,} categories; at most {self.categories:,} are supported. "
                "Check the column with their names"
            )

    def nesting_error(self, where: str) -> SourceError:
        return SourceError(
            f"{where}: lists and objects are nested more than {self.depth} deep; save the data "
            "with less nesting"
        )


LOCAL_LIMITS: Final = ReadLimits(
    file_bytes=300 * MEGABYTE, unpacked_bytes=1024 * MEGABYTE, ratio=100, rows=2_000_000,
    columns=2_000, values=40_000_000, nested_texts=1_000_000, archive_bytes=16 * 1024 * MEGABYTE,
    entry_bytes=256 * MEGABYTE, line_bytes=64 * MEGABYTE, depth=100,
    pixels=100_000_000, picture_bytes=40 * MEGABYTE, contestants=100_000, judges=100_000,
    categories=100_000,
)  # fmt: skip
PUBLIC_LIMITS: Final = ReadLimits(
    file_bytes=50 * MEGABYTE, unpacked_bytes=200 * MEGABYTE, ratio=50, rows=200_000,
    columns=500, values=4_000_000, nested_texts=20_000, archive_bytes=400 * MEGABYTE,
    entry_bytes=32 * MEGABYTE, line_bytes=8 * MEGABYTE, depth=32,
    pixels=40_000_000, picture_bytes=8 * MEGABYTE, contestants=100, judges=100,
    categories=500,
)  # fmt: skip


def current_limits() -> ReadLimits:
    """Return the limits of this process; EVENHAND_MAX_FILE_MB overrides the file size."""
    limits = PUBLIC_LIMITS if is_public() else LOCAL_LIMITS
    megabytes = MAX_FILE_MB.read()
    return replace(limits, file_bytes=megabytes * MEGABYTE) if megabytes else limits


def unpacked_size_error(name: str) -> SourceError:
    return SourceError(f"{name}: unpacks to more than can be read; split it into smaller files")
