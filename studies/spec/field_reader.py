"""Read a YAML or JSON mapping field by field; an error about a field names the field."""

import datetime
import difflib
from collections.abc import Callable, Iterable, Mapping
from typing import TypeVar

from studies.errors import StudyError

T = TypeVar("T")


def load_yaml(text: str) -> object:
    """Parse a YAML text; raise a ValueError, which names the line, if it is invalid, or if it is
    too long."""
    from studies.spec import yaml_text  # PyYAML is not needed to measure a table

    return yaml_text.load_yaml(text)


def find_line_of_key(text: str, place: str) -> int:
    """Return the line of the key `place`, such as `judges[0].price.input`, in a valid YAML text; if
    it is absent, the line of its block, or 0 for a key at the top level."""
    from studies.spec import yaml_text

    return yaml_text.find_line_of_key(text, place)


class FieldReader:
    """Reads the fields of a mapping, each with a check of its type; StudyError for a field of
    another type. `refuse_unknown_keys` raises an error if the mapping has a field that was not
    read."""

    def __init__(self, values: object, where: str) -> None:
        if not isinstance(values, Mapping):
            raise StudyError(f"{where}: expected key: value lines, found {describe_value(values)}")
        self._values = {str(k): v for k, v in values.items()}
        self._known: set[str] = set()
        self.where = where

    def key_place(self, key: str) -> str:
        return f"{self.where}: {key}" if ":" not in self.where else f"{self.where}.{key}"

    def field_error(self, key: str, message: str) -> StudyError:
        return StudyError(f"{self.key_place(key)}: {message}")

    def read_field(self, key: str, default: T, convert: Callable[[object], T], expected: str) -> T:
        """Return a field's value, converted by `convert`; the default for an absent or null field.
        If `convert` raises an error, StudyError names the `expected` value."""
        self._known.add(key)
        value = self._values.get(key)
        if value is None:
            return default
        try:
            return convert(value)
        except (TypeError, ValueError):
            raise self.field_error(key, f"expected {expected}, found {value!r}") from None

    def text(self, key: str, default: str = "") -> str:
        return self.read_field(key, default, as_text, "text")

    def whole_number(self, key: str, default: int, low: int = 0, high: int = 10**9) -> int:
        return self.read_field(
            key, default, lambda v: _as_integer(v, low, high), f"a whole number {low}-{high}"
        )

    def choice(self, key: str, default: str, options: Iterable[str]) -> str:
        """Return a field's value, `default` for an absent field; StudyError, which suggests the
        closest option, if it is not one of `options`."""
        known = list(options)
        value = self.text(key, default)
        if value not in known:
            raise self.field_error(
                key, f"{value!r} is not one of {', '.join(known)}{suggest_word(value, known)}"
            )
        return value

    def texts(self, key: str) -> tuple[str, ...]:
        """Return a field's list of texts; a single text becomes a list of one, an absent field
        gives an empty tuple."""
        return self.read_field(key, (), _as_texts, "a list of texts")

    def text_map(self, key: str) -> dict[str, str]:
        return self.read_field(key, {}, _as_text_map, "key: text pairs")

    def list_entries(self, key: str) -> list[object]:
        """Return a field's list; empty for an absent field."""
        return self.read_field(key, [], _as_list, "a list")

    def refuse_unknown_keys(self) -> None:
        """Raise StudyError for the first key that was not read; call this last."""
        for key in self._values:
            if key not in self._known:
                known = sorted(self._known)
                raise self.field_error(
                    key, f"unknown key{suggest_word(key, known)}. Known keys: {', '.join(known)}"
                )


def suggest_word(word: str, known: list[str]) -> str:
    """Return a hint with the closest known word, for error messages; "" if none is close."""
    near = difflib.get_close_matches(word, known, n=1)
    return f" (did you mean {near[0]!r}?)" if near else ""


def describe_value(value: object) -> str:
    return "nothing" if value is None else f"{type(value).__name__} {value!r}"[:80]


def as_text(value: object) -> str:
    """Convert a text, number or date to text; raise ValueError for any other value, also for null
    and booleans."""
    if isinstance(value, bool) or not isinstance(value, (str, int, float, datetime.date)):
        raise ValueError
    return str(value)


def _as_integer(value: object, low: int, high: int) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high:
        raise ValueError
    return value


def _as_texts(value: object) -> tuple[str, ...]:
    return tuple(as_text(v) for v in value) if isinstance(value, list) else (as_text(value),)


def _as_text_map(value: object) -> dict[str, str]:
    return {key: as_text(text) for key, text in _as_mapping(value).items()}


def _as_mapping(value: object) -> dict[str, object]:
    if not isinstance(value, dict):
        raise TypeError
    return {str(k): v for k, v in value.items()}


def _as_list(value: object) -> list[object]:
    if not isinstance(value, list):
        raise TypeError
    return value
