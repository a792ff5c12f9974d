"""Pictures that came with data: known by their first bytes, and measured before anybody draws them.

Nothing here decodes a picture. A few bytes at its beginning say how large it would become.
"""

from __future__ import annotations

import base64
import binascii
import struct
from pathlib import Path
from typing import Final, NamedTuple

from studies.errors import SourceError
from studies.files.read_limits import current_limits
from studies.public_mode import is_public

HEADER_BYTES: Final = 1 << 18
"""Bytes in which the size stands; in a JPEG it comes after whatever a camera put before it."""


class ImageSize(NamedTuple):
    kind: str
    """As in image/<kind>."""
    width: int
    height: int


def image_size(head: bytes) -> ImageSize | None:
    """Kind, width and height from the beginning of a picture; None for anything else."""
    try:
        if head.startswith(b"\x89PNG\r\n\x1a\n"):
            return ImageSize("png", *struct.unpack(">II", head[16:24]))
        if head[:6] in (b"GIF87a", b"GIF89a"):
            return ImageSize("gif", *struct.unpack("<HH", head[6:10]))
        if head[:4] == b"RIFF" and head[8:12] == b"WEBP":
            return _webp_size(head)
        if head.startswith(b"\xff\xd8\xff"):
            return _jpeg_size(head)
    except struct.error:
        return None
    return None


def _webp_size(head: bytes) -> ImageSize | None:
    form = head[12:16]
    if form == b"VP8X":
        width, height = (int.from_bytes(head[at : at + 3], "little") + 1 for at in (24, 27))
        return ImageSize("webp", width, height)
    if form == b"VP8L":
        bits = struct.unpack("<I", head[21:25])[0]
        return ImageSize("webp", (bits & 0x3FFF) + 1, (bits >> 14 & 0x3FFF) + 1)
    if form == b"VP8 ":
        width, height = struct.unpack("<HH", head[26:30])
        return ImageSize("webp", width & 0x3FFF, height & 0x3FFF)
    return None


def _jpeg_size(head: bytes) -> ImageSize | None:
    """The frame header is one of the segments; the others say how long they are."""
    at = 2
    while at + 9 <= len(head) and head[at] == 0xFF:
        mark, length = head[at + 1], struct.unpack(">H", head[at + 2 : at + 4])[0]
        if 0xC0 <= mark <= 0xCF and mark not in (0xC4, 0xC8, 0xCC):
            height, width = struct.unpack(">HH", head[at + 5 : at + 9])
            return ImageSize("jpeg", width, height)
        at += 2 + max(length, 2)
    return None


def why_image_refused(head: bytes, length: int) -> str:
    """Why a picture is neither drawn nor sent; empty if it is one of a bearable size.

    On one's own machine there may be kinds of picture that only one's own judge knows.
    """
    caps = current_limits()
    size = image_size(head)
    if size is None and is_public():
        return "not a PNG, JPEG, GIF or WebP picture"
    if size is not None and size.width * size.height > caps.pixels:
        most = caps.pixels // 1_000_000
        return f"{size.width:,} × {size.height:,} pixels; at most {most} million are shown"
    if length > caps.picture_bytes:
        return f"{length / 2**20:,.0f} MB; at most {caps.picture_bytes / 2**20:,.0f} are read"
    return ""


def why_data_url_refused(url: str) -> str:
    """The same for a picture that is written in the data as a data: URL."""
    head, _, coded = url.partition(",")
    if not head.endswith(";base64"):
        return "not in base64"
    start = coded[: HEADER_BYTES - HEADER_BYTES % 4]
    try:
        return why_image_refused(base64.b64decode(start), len(coded) * 3 // 4)
    except (binascii.Error, ValueError):
        return "not in base64"


def read_image(path: str, folder: Path) -> bytes:
    """A picture beside the data, whole. The path came with the data: for a stranger it leads to
    nothing but pictures, and nowhere but below the data's folder."""
    file = (folder / path).resolve()
    if is_public() and not file.is_relative_to(folder.resolve()):
        raise SourceError(f"image {path!r} is not below the folder of its data")
    try:
        with file.open("rb") as stream:
            if told := why_image_refused(stream.read(HEADER_BYTES), file.stat().st_size):
                raise SourceError(f"image {path!r}: {told}")
            stream.seek(0)
            return stream.read()
    except OSError as error:
        raise SourceError(f"image {path!r} cannot be read: {error.strerror}") from None
