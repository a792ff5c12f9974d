"""Images of a request: sent as data URLs in the messages, represented by hashes in the call's
key."""

from __future__ import annotations

import base64
import hashlib
import mimetypes
from functools import lru_cache
from pathlib import Path
from typing import Any, Final

from judges.judge_errors import PlanError
from studies.errors import SourceError
from studies.files.image_files import read_image

MAX_CACHED_IMAGES: Final = 8
"""Maximum number of images kept in memory as data URLs; older ones are read again. Few are enough,
because the calls of one item follow each other."""


def image_url(path: str, folder: Path) -> str:
    """Return a local image as a data URL; an https or data URL is returned unchanged and not
    fetched.

    The result is cached by the file's time, size and inode, so a replaced image is read again.
    """
    if path.startswith(("https://", "data:")):
        return path
    try:
        return _encode_image(path, folder, _file_state(folder / path))
    except SourceError as error:
        raise PlanError(str(error)) from None


def _file_state(file: Path) -> tuple[int, ...]:
    try:
        state = file.stat()
    except OSError:
        return ()  # reading reports the error
    return state.st_mtime_ns, state.st_ctime_ns, state.st_size, state.st_ino


@lru_cache(maxsize=MAX_CACHED_IMAGES)
def _encode_image(path: str, folder: Path, state: tuple[int, ...]) -> str:
    kind = mimetypes.guess_type(path)[0] or "image/png"
    return f"data:{kind};base64,{base64.b64encode(read_image(path, folder)).decode()}"


def replace_images_by_hash(messages: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the messages with each image replaced by its hash, so that computing a key does not
    process megabytes of base64."""
    out = []
    for message in messages:
        content = message["content"]
        if isinstance(content, list):
            content = [_hash_image(part) for part in content]
        out.append({"role": message["role"], "content": content})
    return out


def _hash_image(part: dict[str, Any]) -> dict[str, Any]:
    if part.get("type") != "image_url":
        return part
    return {"type": "image", "sha": hashlib.sha256(part["image_url"]["url"].encode()).hexdigest()}
