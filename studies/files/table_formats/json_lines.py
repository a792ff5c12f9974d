"""Strict JSON parsing: duplicate keys, lone surrogates and deep nesting are errors.

A lenient parser would silently lose data in the first two cases.
"""

from __future__ import annotations

import json
from collections import Counter
from typing import Any

from studies.errors import SourceError
from studies.files.read_limits import ReadLimits, current_limits


def decode_utf8(content: bytes, where: str) -> str:
    """Decode UTF-8; `where` (file and line) begins the error message."""
    try:
        return content.decode("utf-8")
    except UnicodeDecodeError as error:
        raise SourceError(
            f"{where}: not UTF-8 at byte {error.start} of the line; save the file as UTF-8"
        ) from None


def parse_object(line: bytes, where: str, limits: ReadLimits | None = None) -> dict[str, Any]:
    """Parse one line that must be a JSON object."""
    values = parse_json(decode_utf8(line, where).removeprefix("\ufeff"), where, limits)
    if not isinstance(values, dict):
        raise SourceError(
            f"{where}: expected a JSON object, found {type(values).__name__}; write one "
            "object per line"
        )
    return values


def parse_json(text: str, where: str, limits: ReadLimits | None = None) -> Any:
    """Parse a JSON text; `where` (file and line) begins every error message.

    Callers that parse many lines pass `limits`, so that the limits are determined only once.
    """
    try:
        value = json.loads(text, object_pairs_hook=_unique_keys)
    except (ValueError, RecursionError) as error:
        raise SourceError(f"{where}: not valid JSON: {error}; correct it") from None
    (limits or current_limits()).check_depth(value, text, where)
    if "\\ud" in text or "\\uD" in text:
        _refuse_half_characters(value, where)
    return value


def _unique_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Build a dict; raise ValueError for duplicate keys, of which json would keep the last."""
    values = dict(pairs)
    if len(values) < len(pairs):
        twice, _ = Counter(name for name, _ in pairs).most_common(1)[0]
        raise ValueError(f"the key {twice!r} is written twice")
    return values


def _refuse_half_characters(value: Any, where: str) -> None:
    """Raise SourceError for a lone surrogate, which cannot be encoded as UTF-8."""
    fields = value.items() if isinstance(value, dict) else [("(text)", value)]
    for field, content in fields:
        try:
            json.dumps(content, ensure_ascii=False).encode()
        except UnicodeEncodeError as error:
            half = f"\\u{ord(error.object[error.start]):04x}"
            raise SourceError(
                f"{where}: field {field!r}: {half} is half a character (a cut emoji?); remove it"
            ) from None
