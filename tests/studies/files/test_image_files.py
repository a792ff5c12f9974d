"""Sizes in image headers, and the images that are refused."""

from __future__ import annotations

import base64
import struct

import pytest

from studies.errors import SourceError
from studies.files.image_files import (
    HEADER_BYTES,
    ImageSize,
    image_size,
    read_image,
    why_data_url_refused,
    why_image_refused,
)
from studies.files.read_limits import LOCAL_LIMITS, PUBLIC_LIMITS
from tests.page_words import says


def png(width: int, height: int) -> bytes:
    return b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR" + struct.pack(">II", width, height) + b"\x08\x02\0\0\0"


def webp(form: bytes, rest: bytes) -> bytes:
    return b"RIFF\0\0\0\0WEBP" + form + b"\0\0\0\0" + rest


def jpeg(*segments: tuple[int, bytes]) -> bytes:
    parts = (b"\xff" + bytes([mark]) + struct.pack(">H", len(c) + 2) + c for mark, c in segments)
    return b"\xff\xd8" + b"".join(parts)


FRAME = b"\x08" + struct.pack(">HH", 480, 640) + b"\x03"
"""The content of a JPEG's frame header: 640 wide, 480 high."""


@pytest.mark.parametrize(
    ("head", "size"),
    [
        (png(640, 480), ("png", 640, 480)),
        (png(70_000, 3), ("png", 70_000, 3)),
        (b"GIF87a" + struct.pack("<HH", 640, 480), ("gif", 640, 480)),
        (b"GIF89a" + struct.pack("<HH", 1, 2) + b"\0", ("gif", 1, 2)),
        # VP8X: three bytes each, one less than the size; the byte after them is not read.
        (webp(b"VP8X", b"\0" * 4 + b"\x7f\x02\0" + b"\xdf\x01\0" + b"\xff"), ("webp", 640, 480)),
        (webp(b"VP8X", b"\0" * 4 + b"\0\0\x01" + b"\x01\0\0"), ("webp", 65_537, 2)),
        # VP8L: fourteen bits each, one less than the size; version bits above.
        (webp(b"VP8L", b"\x2f" + struct.pack("<I", 639 | 479 << 14)), ("webp", 640, 480)),
        (webp(b"VP8L", b"\x2f" + struct.pack("<I", 0x3FFF | 1 << 28)), ("webp", 16_384, 1)),
        # VP8: fourteen bits each; two bits of scale above.
        (webp(b"VP8 ", b"\0" * 6 + struct.pack("<HH", 640, 480)), ("webp", 640, 480)),
        (
            webp(b"VP8 ", b"\0" * 6 + struct.pack("<HH", 640 | 0x4000, 480 | 0x8000)),
            ("webp", 640, 480),
        ),
        (webp(b"ALPH", b"\0" * 20), None),
        (jpeg((0xC0, FRAME)), ("jpeg", 640, 480)),
        (jpeg((0xE0, b"JFIF" * 5), (0xC4, b"tables"), (0xC2, FRAME)), ("jpeg", 640, 480)),
        (jpeg((0xC8, FRAME), (0xCC, FRAME), (0xCF, FRAME)), ("jpeg", 640, 480)),
        (jpeg((0xE0, FRAME), (0xDB, FRAME)), None),
        (jpeg((0xC0, FRAME)).replace(b"\xff\xc0", b"\xff\xff\xff\xc0"), ("jpeg", 640, 480)),
        (png(1, 1)[:20], None),
        (b"GIF89a\x01", None),
        (b"<svg xmlns='http://www.w3.org/2000/svg'/>", None),
        (b"", None),
    ],
)
def test_the_header_states_kind_width_and_height(head, size):
    assert image_size(head) == (None if size is None else ImageSize(*size))


@pytest.mark.parametrize(("fill", "size"), [(9, ImageSize("jpeg", 640, 480)), (HEADER_BYTES, None)])
def test_a_size_behind_the_bytes_that_are_read_is_unknown_everywhere(fill, size):
    content = jpeg((0xC0, FRAME)).replace(b"\xff\xc0", b"\xff" * fill + b"\xc0")
    assert image_size(content) == image_size(content[:HEADER_BYTES]) == size


@pytest.mark.parametrize("public", [False, True])
def test_an_image_is_refused_for_its_pixels_its_bytes_and_in_public_its_kind(public, monkeypatch):
    if public:
        monkeypatch.setenv("EVENHAND_PUBLIC", "1")
    limits = PUBLIC_LIMITS if public else LOCAL_LIMITS
    widest, most = limits.pixels // 1000, limits.picture_bytes
    assert why_image_refused(png(widest, 1000), most) == ""
    assert f"{widest + 1:,}" in why_image_refused(png(widest + 1, 1000), 10)
    assert why_image_refused(png(1, 1), most + 1)
    mega = [f"{size / 2**20:,.0f}" for size in (2 * most, most)]
    assert says(why_image_refused(png(1, 1), 2 * most), *mega)
    assert bool(why_image_refused(b"<svg/>", 10)) == public
    assert ("MB" in why_image_refused(b"<svg/>", most + 1)) is not public


def data_url(content: bytes) -> str:
    return "data:image/png;base64," + base64.b64encode(content).decode()


def test_a_data_url_is_read_like_a_file():
    assert why_data_url_refused(data_url(png(2, 2))) == ""
    assert "pixels" in why_data_url_refused(data_url(png(100_001, 1000)))
    for broken in ("data:image/png,abc", "data:image/png;base64,abc", "data:image/png;base64,é"):
        assert "base64" in why_data_url_refused(broken)
    big = LOCAL_LIMITS.picture_bytes // 3 * 4 + 8
    assert "MB" in why_data_url_refused(data_url(png(2, 2)) + "A" * big)


def test_an_image_file_is_read_whole_or_named_in_the_error(tmp_path, monkeypatch):
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "p.png").write_bytes(png(2, 2) + b"rest")
    (tmp_path / "outside.png").write_bytes(png(2, 2))
    (tmp_path / "data" / "wide.png").write_bytes(png(100_001, 1000))
    folder = tmp_path / "data"
    assert read_image("p.png", folder) == png(2, 2) + b"rest"
    assert read_image("../outside.png", folder) == png(2, 2)
    for name, why in (("wide.png", "pixels"), ("none.png", "none.png")):
        with pytest.raises(SourceError, match=why):
            read_image(name, folder)
    monkeypatch.setenv("EVENHAND_PUBLIC", "1")
    assert read_image("p.png", folder) == png(2, 2) + b"rest"
    with pytest.raises(SourceError, match="outside"):
        read_image("../outside.png", folder)
