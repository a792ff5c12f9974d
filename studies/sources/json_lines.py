"""JSON as everybody's files hold it: strict where a lenient reader would lose something."""

from __future__ import annotations

import json
from typing import Any

from studies.errors import SourceError


def utf8(content: bytes, where: str) -> str:
    """The text of some bytes; `where` (file and line) opens the error."""
    try:
        return content.decode("utf-8")
    except UnicodeDecodeError as error:
        raise SourceError(
            f"{where}: not UTF-8 at byte {error.start} of the line; save the file as UTF-8"
        ) from None


def object_of(line: bytes, where: str) -> dict[str, Any]:
    """The object of one line."""
    values = parsed(utf8(line, where).removeprefix("\ufeff"), where)
    if not isinstance(values, dict):
        raise SourceError(f"{where}: expected a JSON object, found {type(values).__name__}")
    return values


def parsed(text: str, where: str) -> Any:
    """The value of a JSON text."""
    try:
        value = json.loads(text, object_pairs_hook=_no_key_twice)
    except (ValueError, RecursionError) as error:
        raise SourceError(f"{where}: not valid JSON: {error}") from None
    if "\\ud" in text or "\\uD" in text:
        _refuse_half_characters(value, where)
    return value


def _no_key_twice(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """JSON readers keep the last of two equal keys: one answer would vanish."""
    values = dict(pairs)
    if len(values) < len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise ValueError(f"the key {twice!r} is written twice")
    return values


def _refuse_half_characters(value: Any, where: str) -> None:
    """A surrogate without its other half is no character: it can be neither stored nor sent."""
    fields = value.items() if isinstance(value, dict) else [("(text)", value)]
    for field, held in fields:
        try:
            json.dumps(held, ensure_ascii=False).encode()
        except UnicodeEncodeError as error:
            half = f"\\u{ord(error.object[error.start]):04x}"
            raise SourceError(
                f"{where}: field {field!r}: {half} is half a character (a cut emoji?); remove it"
            ) from None
