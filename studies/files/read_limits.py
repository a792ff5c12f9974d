"""How much of a file is read: one table for one's own machine and one for a page of strangers.

Every cap is checked before what it bounds is in memory: the size before the first byte, rows and
values of a Parquet file from its footer, lines while they are read, columns when the first line is
known. On one's own machine the caps are generous, but there: a file that was made to burst is a
file that somebody sent.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from typing import Any, Final

from studies.errors import SourceError
from studies.public_mode import is_public

MEGABYTE: Final = 1 << 20
FILE_SIZE_VARIABLE: Final = "EVENHAND_MAX_FILE_MB"
MAX_BLANK_LINES: Final = 100_000
_RATIO_FREE_BYTES: Final = 16 * MEGABYTE
"""A small text of blanks packs a thousandfold, and harms nobody."""


@dataclass(frozen=True, slots=True)
class ReadLimits:
    """The most of everything."""

    file_bytes: int
    """A file beyond this is refused before it is read; EVENHAND_MAX_FILE_MB sets it."""
    unpacked_bytes: int
    """What a packed file may come to."""
    ratio: int
    """How many times its size a gzip may unpack to, once that is more than a few megabytes."""
    rows: int
    columns: int
    values: int
    """Cells of a Parquet file, those inside lists counted each."""
    nested_texts: int
    """Texts inside lists in one row group of a Parquet file, where they cannot be measured before
    they are read."""
    line_bytes: int
    """One line or cell: a picture in base64 has room, a bomb has not."""
    depth: int
    """Lists and objects inside each other in JSON."""
    pixels: int
    """Width times height of a picture."""
    picture_bytes: int
    contestants: int
    """Of one study: who meets whom is a table of all against all."""
    judges: int
    """With their prompts, people not counted: who agrees with whom is one too."""
    categories: int
    """Columns of a table that has a row for each judge."""

    def check_bytes(self, size: int, name: str) -> None:
        if size > self.file_bytes:
            raise SourceError(
                f"{name}: {size / MEGABYTE:,.0f} MB; at most {self.file_bytes / MEGABYTE:,.0f} MB "
                f"are read. Cut it into parts, drop columns that are not needed, or raise {FILE_SIZE_VARIABLE}"
            )

    def check_unpacked(self, size: int, packed: int, name: str) -> None:
        """While a gzip is read: `packed` is its size on disk, 0 for a file that is not packed."""
        if size > max(self.unpacked_bytes, self.file_bytes):
            raise SourceError(f"{name}: unpacks to more than can be read")
        if packed and size > _RATIO_FREE_BYTES and size > packed * self.ratio:
            raise SourceError(
                f"{name}: unpacks to more than {self.ratio} times its size; unpack it yourself if "
                "it is really so"
            )

    def check_rows(self, count: int, name: str) -> None:
        if count > self.rows:
            raise SourceError(f"{name}: more than {self.rows:,} rows; cut it into parts")

    def check_blank(self, count: int, name: str) -> None:
        if count > MAX_BLANK_LINES:
            raise SourceError(f"{name}: more than {MAX_BLANK_LINES:,} blank lines; take them out")

    def check_columns(self, count: int, name: str) -> None:
        if count > self.columns:
            raise SourceError(f"{name}: {count:,} columns; at most {self.columns:,} can be read")

    def check_values(self, count: int, name: str) -> None:
        if count > self.values:
            raise SourceError(
                f"{name}: {count:,} values in its cells; at most {self.values:,} can be read. Cut "
                "it into parts, or drop columns that are not needed"
            )

    def check_participants(self, contestants: int, judges: int, name: str) -> None:
        if contestants > self.contestants:
            raise SourceError(
                f"{name}: {contestants:,} contestants; at most {self.contestants:,} are compared "
                "here. Keep the rows of those that matter, or check which column names them"
            )
        if judges > self.judges:
            raise SourceError(
                f"{name}: {judges:,} judges with their prompts; at most {self.judges:,} are "
                "compared here. Keep the rows of those that matter, or check which column names "
                "them"
            )

    def check_categories(self, count: int, name: str) -> None:
        if count > self.categories:
            raise SourceError(
                f"{name}: {count:,} categories; at most {self.categories:,} are told apart here. "
                "Check which column names them"
            )

    def check_depth(self, value: Any, text: str, where: str) -> None:
        """JSON that is nested beyond any sense is refused: what walks it later would not come back.

        Only a text with that many brackets is looked through.
        """
        if text.count("[") + text.count("{") <= self.depth:
            return
        level, depth = [value], 0
        while level:
            depth += 1
            if depth > self.depth:
                raise SourceError(f"{where}: lists and objects more than {self.depth} deep")
            level = [inner for outer in level for inner in _nested_values(outer)]


LOCAL_LIMITS: Final = ReadLimits(
    file_bytes=300 * MEGABYTE, unpacked_bytes=1024 * MEGABYTE, ratio=100, rows=2_000_000,
    columns=2_000, values=40_000_000, nested_texts=1_000_000, line_bytes=64 * MEGABYTE, depth=100,
    pixels=100_000_000, picture_bytes=40 * MEGABYTE, contestants=100_000, judges=100_000,
    categories=100_000,
)  # fmt: skip
PUBLIC_LIMITS: Final = ReadLimits(
    file_bytes=50 * MEGABYTE, unpacked_bytes=200 * MEGABYTE, ratio=50, rows=200_000,
    columns=500, values=4_000_000, nested_texts=20_000, line_bytes=8 * MEGABYTE, depth=32,
    pixels=40_000_000, picture_bytes=8 * MEGABYTE, contestants=100, judges=100,
    categories=500,
)  # fmt: skip


def current_limits() -> ReadLimits:
    """What holds in this process; the owner of the machine may set the size of a file."""
    caps = PUBLIC_LIMITS if is_public() else LOCAL_LIMITS
    named = os.environ.get(FILE_SIZE_VARIABLE, "")
    return replace(caps, file_bytes=int(named) * MEGABYTE) if named.isdigit() else caps


def _nested_values(value: Any) -> list[Any]:
    held = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return [inner for inner in held if isinstance(inner, (dict, list))]
