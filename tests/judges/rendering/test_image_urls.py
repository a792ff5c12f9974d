"""Images of a request: read from their files, again after a change, a few kept in memory."""

from __future__ import annotations

import base64
from pathlib import Path

import pytest

from judges.judge_errors import PlanError
from judges.rendering import messages
from judges.rendering.messages import MAX_CACHED_IMAGES, image_url

PNG = b"\x89PNG\r\n\x1a\n" + b"\0" * 40


def picture(url: str) -> bytes:
    return base64.b64decode(url.partition(",")[2])


def test_a_replaced_picture_is_sent_as_the_new_one(tmp_path: Path) -> None:
    file = tmp_path / "a.png"
    file.write_bytes(PNG + b"old")
    assert picture(image_url("a.png", tmp_path)) == PNG + b"old"
    file.write_bytes(PNG + b"new")
    assert picture(image_url("a.png", tmp_path)) == PNG + b"new"


def test_few_pictures_are_kept_in_memory(tmp_path: Path) -> None:
    for number in range(MAX_CACHED_IMAGES + 5):
        (tmp_path / f"{number}.png").write_bytes(PNG + bytes([number]))
        image_url(f"{number}.png", tmp_path)
    assert messages._encode_image.cache_info().currsize <= MAX_CACHED_IMAGES


def test_a_missing_picture_is_a_plan_error_that_names_it(tmp_path: Path) -> None:
    with pytest.raises(PlanError, match=r"gone\.png"):
        image_url("gone.png", tmp_path)


def test_addresses_are_returned_unchanged(tmp_path: Path) -> None:
    for url in ("https://example.org/a.png", "data:image/png;base64,AAAA"):
        assert image_url(url, tmp_path) == url
