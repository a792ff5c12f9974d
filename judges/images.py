"""Images on their way to a judge: as data URLs in the request, as hashes in its key."""

from __future__ import annotations

import base64
import hashlib
import mimetypes
from functools import lru_cache
from pathlib import Path
from typing import Any

from judges.errors import PlanError
from studies.errors import SourceError
from studies.pictures import read_picture


@lru_cache(maxsize=256)
def image_url(path: str, folder: Path) -> str:
    """A data URL of a local image; addresses are passed on as they are, never fetched by us."""
    if path.startswith(("https://", "data:")):
        return path
    kind = mimetypes.guess_type(path)[0] or "image/png"
    try:
        content = read_picture(path, folder)
    except SourceError as error:
        raise PlanError(str(error)) from None
    return f"data:{kind};base64,{base64.b64encode(content).decode()}"


def without_image_bytes(messages: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Images by their hash: a key need not hash megabytes of base64 as JSON."""
    out = []
    for message in messages:
        content = message["content"]
        if isinstance(content, list):
            content = [_image_sha(part) for part in content]
        out.append({"role": message["role"], "content": content})
    return out


def _image_sha(part: dict[str, Any]) -> dict[str, Any]:
    if part.get("type") != "image_url":
        return part
    return {"type": "image", "sha": hashlib.sha256(part["image_url"]["url"].encode()).hexdigest()}
