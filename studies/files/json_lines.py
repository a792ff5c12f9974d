"""JSON as everybody's files hold it: strict where a lenient reader would lose something."""

from __future__ import annotations

import json
from collections import Counter
from typing import Any

from studies.errors import SourceError
from studies.files.read_limits import ReadLimits, current_limits


def decode_utf8(content: bytes, where: str) -> str:
    """The text of some bytes; `where` (file and line) opens the error."""
    try:
        return content.decode("utf-8")
    except UnicodeDecodeError as error:
        raise SourceError(
            f"{where}: not UTF-8 at byte {error.start} of the line; save the file as UTF-8"
        ) from None


def parse_object(line: bytes, where: str, caps: ReadLimits | None = None) -> dict[str, Any]:
    """The object of one line."""
    values = parse_json(decode_utf8(line, where).removeprefix("\ufeff"), where, caps)
    if not isinstance(values, dict):
        raise SourceError(f"{where}: expected a JSON object, found {type(values).__name__}")
    return values


def parse_json(text: str, where: str, caps: ReadLimits | None = None) -> Any:
    """The value of a JSON text; `caps` are those of this process, looked up once by who reads many
    lines."""
    try:
        value = json.loads(text, object_pairs_hook=_unique_keys)
    except (ValueError, RecursionError) as error:
        raise SourceError(f"{where}: not valid JSON: {error}") from None
    (caps or current_limits()).check_depth(value, text, where)
    if "\\ud" in text or "\\uD" in text:
        _refuse_half_characters(value, where)
    return value


def _unique_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """JSON readers keep the last of two equal keys: one answer would vanish."""
    values = dict(pairs)
    if len(values) < len(pairs):
        twice, _ = Counter(name for name, _ in pairs).most_common(1)[0]
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
