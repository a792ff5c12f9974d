"""Read the entries of a zip archive within limits, also entries compressed with Zstandard.

The sizes in an archive's table of contents can be false, so each entry is also limited while it is
unpacked.
"""

import struct
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO, Final, cast

from studies.errors import SourceError
from studies.files.read_limits import ReadLimits

ZSTANDARD: Final = 93
"""Compression method of zip entries that Inspect writes and Python 3.11 cannot read."""
_PIECE: Final = 1 << 20
_LOCAL_HEADER: Final = struct.Struct("<4s22xHH")


class ZipArchive:
    """An open zip archive, whose entries are read one at a time."""

    def __init__(self, archive: zipfile.ZipFile, file: BinaryIO, limits: ReadLimits) -> None:
        self._archive = archive
        self._file = file
        self._limits = limits
        self._name = Path(archive.filename or "archive").name
        self.entries = {entry.filename: entry for entry in archive.infolist()}

    def read(self, name: str) -> bytes:
        """Unpack one entry; SourceError if it is damaged, or larger than the limit or than its
        stated size."""
        entry = self.entries[name]
        most = min(entry.file_size, self._limits.entry_bytes)
        if entry.file_size > self._limits.entry_bytes:
            raise self._entry_too_large_error(name)
        try:
            with self._open_entry(entry) as stream:
                pieces: list[bytes] = []
                size = 0
                while piece := stream.read(_PIECE):
                    size += len(piece)
                    if size > most:
                        raise self._entry_too_large_error(name)
                    pieces.append(piece)
                return b"".join(pieces)
        except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, OSError) as error:
            raise SourceError(
                f"{self._name}: the entry {name!r} is damaged or packed in an unknown way "
                f"({error}); copy the file again"
            ) from None

    def _entry_too_large_error(self, name: str) -> SourceError:
        return SourceError(
            f"{self._name}: the entry {name!r} unpacks to more than can be read; remove it from "
            "the archive, or log less in a sample"
        )

    @contextmanager
    def _open_entry(self, entry: zipfile.ZipInfo) -> Iterator[BinaryIO]:
        if entry.compress_type != ZSTANDARD:
            with self._archive.open(entry) as stream:
                yield cast(BinaryIO, stream)
            return
        import pyarrow as pa  # not needed for other archives

        self._file.seek(entry.header_offset)
        mark, name_length, extra_length = _LOCAL_HEADER.unpack(self._file.read(30))
        if mark != b"PK\x03\x04":
            raise zipfile.BadZipFile("no local header")
        self._file.seek(name_length + extra_length, 1)
        packed = pa.BufferReader(self._file.read(entry.compress_size))
        yield cast(BinaryIO, pa.CompressedInputStream(packed, "zstd"))


@contextmanager
def open_archive(path: Path, limits: ReadLimits) -> Iterator[ZipArchive]:
    """Context with an open zip archive; SourceError if it is damaged, or if its stated sizes exceed
    the limits (a zip bomb)."""
    try:
        with path.open("rb") as file, zipfile.ZipFile(path) as archive:
            check_sizes(archive.infolist(), path.name, limits)
            yield ZipArchive(archive, file, limits)
    except (zipfile.BadZipFile, OSError) as error:
        raise SourceError(
            f"{path.name}: incomplete or damaged zip archive ({error}); copy or save it again"
        ) from None


def check_sizes(entries: list[zipfile.ZipInfo], name: str, limits: ReadLimits) -> None:
    """Raise SourceError if the stated unpacked size, or its ratio to the packed size, is too
    high."""
    packed = max(sum(entry.compress_size for entry in entries), 1)
    unpacked = sum(entry.file_size for entry in entries)
    limits.check_archive(unpacked, packed, name)
