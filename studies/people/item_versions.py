"""Files of items collected on the page: images named by content hash, item files by version.

Existing files are never overwritten.
"""

import hashlib
import json
import re
import secrets
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path, PurePosixPath
from typing import Final

from studies.domain import Item
from studies.errors import SourceError
from studies.files import image_files, partial_files
from studies.files.items import dump_item
from studies.files.upload_names import UPLOADS_FOLDER as UPLOADS_FOLDER
from studies.settings import is_public

IMAGES_FOLDER: Final = "images"
DEFAULT_FILE_NAME: Final = "collected"
"""Base name of a data file that was started on the page."""
MAX_IMAGE_BYTES: Final = 10_000_000
_VERSION_SUFFIX: Final = re.compile(r"\.v(\d+)$")


# ------------------------------------------------------------------------------------- images


def copy_image_to_uploads(path: Path, uploads: Path) -> str:
    """Copy an image to the uploads folder under its content hash; return its path within the
    folder. SourceError if it is unreadable, too large or of an unsupported type."""
    try:
        content = path.read_bytes() if path.stat().st_size <= MAX_IMAGE_BYTES else None
    except OSError as error:
        raise SourceError(
            f"image {path.name!r} cannot be read: {error.strerror}; upload it again"
        ) from None
    if content is None:
        raise SourceError(
            f"image {path.name!r} is larger than {MAX_IMAGE_BYTES // 10**6} MB; make it smaller"
        )
    name = f"{hashlib.sha256(content).hexdigest()[:16]}.{_image_ending(content, path)}"
    stored = uploads / IMAGES_FOLDER / name
    if not stored.exists():
        stored.parent.mkdir(parents=True, exist_ok=True)
        partial = stored.with_name(f".{name}.{secrets.token_hex(4)}")
        partial.write_bytes(content)
        partial.replace(stored)
    return f"{IMAGES_FOLDER}/{name}"


def _image_ending(content: bytes, path: Path) -> str:
    """Return the ending (png, jpg, gif or webp) of an image file by its first bytes; SourceError
    for other content, which names the file `path`."""
    if (found := image_files.image_size(content)) is None:
        raise SourceError(f"image {path.name!r} is not a PNG, JPEG, GIF or WebP; convert it to one")
    return "jpg" if found.kind == "jpeg" else found.kind


def relocate_images(items: Iterable[Item], data_folder: Path | None, uploads: Path) -> list[Item]:
    """Copy the items' image files from the folder `data_folder` to the uploads folder; return the
    items with the new paths. Addresses, missing files and, in public mode, files outside
    `data_folder` are kept as they are. If the folder is None or the uploads folder itself, nothing
    is copied."""
    if data_folder is None or data_folder.resolve() == uploads.resolve():
        return list(items)
    return [
        replace(
            one, images=tuple(_relocate_image(image, data_folder, uploads) for image in one.images)
        )
        for one in items
    ]


def _relocate_image(image: str, data_folder: Path, uploads: Path) -> str:
    if image.startswith(("https://", "data:")) or not (data_folder / image).is_file():
        return image
    if is_public() and not (data_folder / image).resolve().is_relative_to(data_folder.resolve()):
        return image  # a file of the machine, named by foreign data
    return copy_image_to_uploads(data_folder / image, uploads)


# ------------------------------------------------------------------------------------ versions


def version_number(source: str) -> int:
    """Return the version number in a file's name: 2 for `items.v2.jsonl`; 1 for a name without
    one, 0 for an empty name."""
    found = _VERSION_SUFFIX.search(_file_stem(source))
    return int(found[1]) if found else 1 if source else 0


def list_versions(source: str, folder: Path) -> list[str]:
    """List the paths of all versions of a file in the uploads folder, oldest first."""
    base = _name_without_version(source)
    found = [
        f"{UPLOADS_FOLDER}/{path.name}"
        for path in (folder / UPLOADS_FOLDER).glob("*.jsonl")
        if path.is_file() and _name_without_version(path.name) == base
    ]
    return sorted(found, key=version_number)


def _file_stem(source: str) -> str:
    """Return a text that is safe as a file name: the name of a file without folder and suffix,
    or of a Hub dataset without owner and revision."""
    name = source.partition("@")[0] if source.startswith("hub:") else source
    name = PurePosixPath(name.removeprefix("hub:").replace(":", "-")).name
    for ending in (".gz", ".jsonl", ".ndjson", ".json", ".csv", ".tsv", ".parquet", ".xlsx"):
        name = name.removesuffix(ending)
    return re.sub(r"[^\w.-]+", "-", name).strip(".-")


def _name_without_version(source: str) -> str:
    """Return the name of a data file without folder, suffix and version; DEFAULT_FILE_NAME if
    nothing is left."""
    return _VERSION_SUFFIX.sub("", _file_stem(source)) or DEFAULT_FILE_NAME


def save_version(items: Sequence[Item], source: str, uploads: Path) -> str:
    """Write the items as the next version of the data file `source` (if empty, of a new one);
    return the path of the version for a study's `data.source`. SourceError if it cannot be written.

    Of two saves at the same time, the second takes the following version number.
    """
    base = (
        _name_without_version(source) if source else f"{secrets.token_hex(4)}-{DEFAULT_FILE_NAME}"
    )
    text = "".join(json.dumps(dump_item(one), ensure_ascii=False) + "\n" for one in items)
    uploads.mkdir(parents=True, exist_ok=True)
    partial = uploads / f".{base}.{secrets.token_hex(6)}"
    version = version_number(source) + 1
    try:
        partial.write_text(text, encoding="utf-8")
        while not partial_files.assign_name_if_free(partial, uploads / f"{base}.v{version}.jsonl"):
            version += 1
    except UnicodeEncodeError:
        raise SourceError("a text contains half a character (a cut emoji?); remove it") from None
    except OSError as error:
        raise SourceError(
            f"cannot save {base}: {error.strerror or error}; earlier versions are unchanged"
        ) from None
    finally:
        partial.unlink(missing_ok=True)
    return f"{UPLOADS_FOLDER}/{base}.v{version}.jsonl"
