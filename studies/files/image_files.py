"""Kind and size of images from their first bytes, and the limits on images that come with data.

No image is decoded here: the header gives width and height, so that an oversized image is refused
before memory is allocated for it.
"""

import base64
import binascii
import re
import struct
from pathlib import Path
from typing import Final, NamedTuple

from studies.errors import SourceError
from studies.files.read_limits import current_limits
from studies.settings import is_public

HEADER_BYTES: Final = 1 << 18
"""Number of bytes read to find width and height, which a JPEG states after its metadata."""


class ImageSize(NamedTuple):
    kind: str
    """Subtype of the media type: image/<kind>."""
    width: int
    height: int


def image_size(head: bytes) -> ImageSize | None:
    """Read type (such as png), width and height from an image's first bytes. None if they are not
    the bytes of a PNG, GIF, WebP or JPEG, or do not contain its size. Bytes after HEADER_BYTES are
    not read."""
    head = head[:HEADER_BYTES]
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


_FILL_BYTES: Final = re.compile(rb"\xff+(?=\xff)")


def _jpeg_size(head: bytes) -> ImageSize | None:
    """Read the size of a JPEG from its frame header, found by skipping the segments before it; None
    if the bytes end before it."""
    at = 2
    while at + 9 <= len(head) and head[at] == 0xFF:
        if fill := _FILL_BYTES.match(head, at):
            at = fill.end()
            continue
        mark, length = head[at + 1], struct.unpack(">H", head[at + 2 : at + 4])[0]
        if 0xC0 <= mark <= 0xCF and mark not in (0xC4, 0xC8, 0xCC):
            height, width = struct.unpack(">HH", head[at + 5 : at + 9])
            return ImageSize("jpeg", width, height)
        at += 2 + max(length, 2)
    return None


def why_image_refused(head: bytes, length: int) -> str:
    """Return the reason why an image is neither shown nor sent; empty if it is accepted. `head` has
    its first bytes, `length` is the size of the whole image in bytes.

    Image types other than PNG, JPEG, GIF and WebP are refused only in public mode.
    """
    limits = current_limits()
    size = image_size(head)
    if size is None and is_public():
        return "not a PNG, JPEG, GIF or WebP image"
    if size is not None and size.width * size.height > limits.pixels:
        millions = limits.pixels // 1_000_000
        return f"{size.width:,} × {size.height:,} pixels; at most {millions} million are shown"
    if length > limits.picture_bytes:
        return f"{length / 2**20:,.0f} MB; at most {limits.picture_bytes / 2**20:,.0f} are read"
    return ""


def why_data_url_refused(url: str) -> str:
    """Return the reason why an image given as a data: URL is refused; empty if it is accepted."""
    head, _, coded = url.partition(",")
    if not head.endswith(";base64"):
        return "not in base64"
    start = coded[: HEADER_BYTES - HEADER_BYTES % 4]
    try:
        return why_image_refused(base64.b64decode(start), len(coded) * 3 // 4)
    except (binascii.Error, ValueError):
        return "not in base64"


def read_image(path: str, folder: Path) -> bytes:
    """Read an image file named in the data; raise SourceError if it is unreadable or has too many
    pixels or bytes.

    In public mode the file must be an image below the folder of the data, since the path comes from
    an upload.
    """
    file = (folder / path).resolve()
    if is_public() and not file.is_relative_to(folder.resolve()):
        raise SourceError(f"image {path!r} is outside the folder of its data; move it there")
    try:
        with file.open("rb") as stream:
            if reason := why_image_refused(stream.read(HEADER_BYTES), file.stat().st_size):
                raise SourceError(f"image {path!r}: {reason}; replace it or remove it")
            stream.seek(0)
            return stream.read()
    except OSError as error:
        raise SourceError(
            f"image {path!r} cannot be read: {error.strerror}; check its path in the data"
        ) from None
