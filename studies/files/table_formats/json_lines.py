"""Strict JSON parsing: duplicate keys, lone surrogates and deep nesting are errors.

A lenient parser would silently lose data in the first two cases; only JSON texts inside cells are
parsed without these two checks. Rows, keys and values are counted before they are parsed, because
each takes ten times the memory of its text.
"""

import json
import re
from collections import Counter
from collections.abc import Iterator
from typing import Any, Final

from studies.errors import SourceError
from studies.files.read_limits import MEGABYTE, ReadLimits, current_limits

_MARKS: Final = b'[]{},"'
_OTHER_BYTES: Final = bytes(byte for byte in range(256) if byte not in _MARKS)
_INNERMOST: Final = re.compile(rb"[\[{],*[\]}]")
"""Pattern of a list or object that contains no other one, in a text reduced to its brackets and
commas."""


def count_values_within_limits(content: bytes, where: str, limits: ReadLimits) -> int:
    """Return the number of values in a JSON text, without parsing it. For a text with few
    brackets and commas, the result is only an upper bound, which is faster to compute.

    SourceError is raised if there are too many values, if one list or object has more entries
    than a file may have rows, or if lists and objects are nested too deeply. `where` (file and
    line) begins every error message."""
    openings = _count_opening_brackets(content)
    if openings <= limits.depth and (bound := content.count(b",") + openings) <= limits.columns:
        return bound
    parts, values = [], 0
    for part in _brackets_and_commas(content):
        parts.append(part)
        values += part.count(b",") + _count_opening_brackets(part)
        limits.check_values(values, where)
    structure = b"".join(parts)
    for _ in range(limits.depth):
        if b"," * limits.rows in structure:
            raise limits.too_many_entries_error(where)
        structure, removed = _INNERMOST.subn(b"", structure)
        if not removed and _count_opening_brackets(structure) <= limits.depth:  # those never closed
            return values
    raise limits.nesting_error(where)


def _count_opening_brackets(content: bytes) -> int:
    """Return the number of opening brackets, [ and {. Added to the number of commas, it is an
    upper bound of the number of values in lists and objects. The sum is exact if no list or
    object is empty and no string contains a bracket or comma."""
    return content.count(b"[") + content.count(b"{")


def _brackets_and_commas(content: bytes) -> Iterator[bytes]:
    """Yield the brackets and commas outside of strings, a megabyte of text at a time."""
    plain = content.replace(b"\\\\", b"").replace(b'\\"', b"")
    in_string = False
    for start in range(0, len(plain), MEGABYTE):
        marks = plain[start : start + MEGABYTE].translate(None, _OTHER_BYTES)
        pieces = marks.split(b'"')
        yield b"".join(pieces[int(in_string) :: 2])
        in_string ^= len(pieces) % 2 == 0


def decode_utf8(content: bytes, where: str) -> str:
    """Decode UTF-8; SourceError, whose message begins with `where` (file and line), for other
    bytes."""
    try:
        return content.decode("utf-8")
    except UnicodeDecodeError as error:
        raise SourceError(
            f"{where}: not UTF-8 at byte {error.start} of the line; save the file as UTF-8"
        ) from None


def parse_object(line: bytes, where: str) -> dict[str, Any]:
    """Parse one line as a JSON object; SourceError if it is none. `where` begins every error
    message."""
    values = parse_json(decode_utf8(line, where).removeprefix("\ufeff"), where)
    if not isinstance(values, dict):
        raise SourceError(
            f"{where}: expected a JSON object, found {type(values).__name__}; write one "
            "object per line"
        )
    return values


def parse_json(text: str, where: str) -> Any:
    """Parse a JSON text whose values were counted before. SourceError if it is invalid, if an
    object has a key twice, or if a string contains half of a surrogate pair, which is no
    character. `where` (file and line) begins every error message."""
    try:
        value = _DECODER.decode(text)
    except ValueError as error:
        raise SourceError(f"{where}: not valid JSON: {error}; correct it") from None
    if "\\ud" in text or "\\uD" in text:
        _refuse_lone_surrogates(value, where)
    return value


def parse_cell_if_json(value: Any, brackets: str = "[{") -> Any:
    """Parse the text of a cell as JSON if it begins with one of the characters `brackets`. Any
    other cell, and a text that is not valid JSON, is returned unchanged. SourceError if the
    text has too many values or is nested too deeply."""
    if not isinstance(value, str) or not value.lstrip().startswith(tuple(brackets)):
        return value
    try:
        return parse_json_cell_or_raise(value)
    except ValueError:
        return value


def parse_json_cell_or_raise(text: str) -> Any:
    """Parse the JSON text of a cell, without the check for duplicate keys; SourceError if it has
    too many values or is nested too deeply, ValueError if it is no JSON."""
    count_values_within_limits(
        text.encode("utf-8", "replace"), "JSON inside a cell", current_limits()
    )
    return json.loads(text)


def _dict_with_unique_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Build a dict from (key, value) pairs; raise ValueError for duplicate keys, of which json
    would keep the last."""
    values = dict(pairs)
    if len(values) < len(pairs):
        twice, _ = Counter(name for name, _ in pairs).most_common(1)[0]
        raise ValueError(f"the key {twice!r} is written twice")
    return values


_DECODER: Final = json.JSONDecoder(object_pairs_hook=_dict_with_unique_keys)


def _refuse_lone_surrogates(value: Any, where: str) -> None:
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
