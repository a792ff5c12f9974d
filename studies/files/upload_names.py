"""Names of uploaded files, which are stored under the hash of their content."""

import re
from pathlib import PurePath
from typing import Final

UPLOADS_FOLDER: Final = "uploads"
"""Folder beside the store for uploaded files."""
_HASHED: Final = re.compile(r"[0-9a-f]{8}-(?=.)")
_HASHED_FILE: Final = re.compile(r"(?<![\w/.-])[0-9a-f]{8}-(?=[\w+-][\w.+-]{0,254}\.[a-z]+\b)")


def original_name(path: str | PurePath) -> str:
    """Return the file name of a source; for an uploaded file, its name before the upload."""
    found = PurePath(path)
    if UPLOADS_FOLDER not in found.parts[:-1]:
        return found.name
    return _HASHED.sub("", found.name, count=1)


def name_without_ending(path: str | PurePath) -> str:
    """Return the name of a file, as `original_name`, without its ending (also that before ".gz");
    other dots stay, as in "gpt-4.1.jsonl"."""
    return PurePath(original_name(path).removesuffix(".gz")).stem


def hide_hashes(text: str) -> str:
    """Return a message without the hashes that uploads put before the names of files."""
    return _HASHED_FILE.sub("", text)
