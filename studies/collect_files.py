"""Where collected items go: images by their content, files by version, none ever overwritten."""

from __future__ import annotations

import errno
import hashlib
import json
import os
import re
import secrets
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path, PurePosixPath
from typing import Final

from studies.errors import SourceError
from studies.records import Item
from studies.sources.native import item_to

UPLOADS: Final = "uploads"
IMAGES: Final = "images"
COLLECTED: Final = "collected"
"""The name of a file that starts with its first item."""
MOST_BYTES: Final = 10_000_000
_KINDS: Final = (
    (b"\x89PNG\r\n\x1a\n", "png"), (b"\xff\xd8\xff", "jpg"), (b"GIF87a", "gif"), (b"GIF89a", "gif"),
)  # fmt: skip
_VERSION: Final = re.compile(r"\.v(\d+)$")


# ------------------------------------------------------------------------------------- images


def kept_image(path: Path, uploads: Path) -> str:
    """An image by its content in the images folder of the uploads; its path beside the file."""
    try:
        content = path.read_bytes() if path.stat().st_size <= MOST_BYTES else None
    except OSError as error:
        raise SourceError(f"image {path.name!r} cannot be read: {error.strerror}") from None
    if content is None:
        raise SourceError(
            f"image {path.name!r} is larger than {MOST_BYTES // 10**6} MB; make it smaller"
        )
    kept = uploads / IMAGES / f"{hashlib.sha256(content).hexdigest()[:16]}.{_kind(content, path)}"
    if not kept.exists():
        kept.parent.mkdir(parents=True, exist_ok=True)
        partial = kept.with_name(f".{kept.name}.{secrets.token_hex(4)}")
        partial.write_bytes(content)
        partial.replace(kept)
    return f"{IMAGES}/{kept.name}"


def _kind(content: bytes, path: Path) -> str:
    """What the bytes are, whatever the name says."""
    if content[:4] == b"RIFF" and content[8:12] == b"WEBP":
        return "webp"
    for start, kind in _KINDS:
        if content.startswith(start):
            return kind
    raise SourceError(f"image {path.name!r} is no PNG, JPEG, GIF or WebP; save it as one of these")


def moved(items: Iterable[Item], beside: Path | None, uploads: Path) -> list[Item]:
    """The items with their images as the new file can name them."""
    if beside is None or beside.resolve() == uploads.resolve():
        return list(items)
    return [
        replace(one, images=tuple(_moved_image(image, beside, uploads) for image in one.images))
        for one in items
    ]


def _moved_image(image: str, beside: Path, uploads: Path) -> str:
    if image.startswith(("https://", "data:")) or not (beside / image).is_file():
        return image
    return kept_image(beside / image, uploads)


# ------------------------------------------------------------------------------------ versions


def version_of(source: str) -> int:
    """1 for a file as it came, 2 for `items.v2.jsonl`, …; 0 where there is none."""
    found = _VERSION.search(_stem(source))
    return int(found[1]) if found else 1 if source else 0


def versions_in(source: str, folder: Path) -> list[str]:
    """Every version of a file among the uploads, the oldest first."""
    base = _base(source)
    found = [
        f"{UPLOADS}/{path.name}"
        for path in (folder / UPLOADS).glob("*.jsonl")
        if path.is_file() and _base(path.name) == base
    ]
    return sorted(found, key=version_of)


def _stem(source: str) -> str:
    """The name without its folder and ending; of a Hub dataset its name, fit for a file."""
    name = source.partition("@")[0] if source.startswith("hub:") else source
    name = PurePosixPath(name.removeprefix("hub:").replace(":", "-")).name
    for ending in (".gz", ".jsonl", ".ndjson", ".json", ".csv", ".tsv", ".parquet"):
        name = name.removesuffix(ending)
    return re.sub(r"[^\w.-]+", "-", name).strip(".-")


def _base(source: str) -> str:
    return _VERSION.sub("", _stem(source)) or COLLECTED


def save_version(items: Sequence[Item], source: str, uploads: Path) -> str:
    """The items whole, under a name that nobody has: who comes second takes the next version.

    Returns what a study names to read it.
    """
    base = _base(source) if source else f"{secrets.token_hex(4)}-{COLLECTED}"
    text = "".join(json.dumps(item_to(one), ensure_ascii=False) + "\n" for one in items)
    uploads.mkdir(parents=True, exist_ok=True)
    partial = uploads / f".{base}.{secrets.token_hex(6)}"
    version = version_of(source) + 1
    try:
        partial.write_text(text, encoding="utf-8")
        while not _put(partial, uploads / f"{base}.v{version}.jsonl"):
            version += 1
    except UnicodeEncodeError:
        raise SourceError("a text holds half a character (a cut emoji?); remove it") from None
    except OSError as error:
        raise SourceError(
            f"cannot save {base}: {error.strerror or error}; the versions before are as they were"
        ) from None
    finally:
        partial.unlink(missing_ok=True)
    return f"{UPLOADS}/{base}.v{version}.jsonl"


def _put(partial: Path, wanted: Path) -> bool:
    """The finished file under its name, in one step; False where that name is taken."""
    try:
        os.link(partial, wanted)
    except FileExistsError:
        return False
    except OSError as error:
        if error.errno not in (errno.EPERM, errno.ENOTSUP, errno.EMLINK, errno.EXDEV):
            raise
        return _put_without_links(partial, wanted)
    return True


def _put_without_links(partial: Path, wanted: Path) -> bool:
    """Where a disk knows no links: the name is taken first, then filled."""
    try:
        wanted.open("x").close()
    except FileExistsError:
        return False
    partial.replace(wanted)
    return True
