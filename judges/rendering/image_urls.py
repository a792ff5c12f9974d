"""Images of a request: as data URLs in the messages, as hashes in the request's key."""

from __future__ import annotations

import base64
import hashlib
import mimetypes
from functools import lru_cache
from pathlib import Path
from typing import Any

from judges.judge_errors import PlanError
from studies.errors import SourceError
from studies.files.image_files import read_image


@lru_cache(maxsize=256)
def image_url(path: str, folder: Path) -> str:
    """Return a data URL of a local image; return an https or data URL unchanged, not fetched."""
    if path.startswith(("https://", "data:")):
        return path
    kind = mimetypes.guess_type(path)[0] or "image/png"
    try:
        content = read_image(path, folder)
    except SourceError as error:
        raise PlanError(str(error)) from None
    return f"data:{kind};base64,{base64.b64encode(content).decode()}"


def replace_images_by_hash(messages: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Replace images by their hashes, so that a key does not need megabytes of base64 as JSON."""
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
