"""Reading a YAML or JSON mapping field by field: every error names the field and what would fit."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterable, Mapping
from typing import TypeVar

from studies.errors import StudyError

T = TypeVar("T")


class Fields:
    """A mapping that must be used up: what nobody asked for is an unknown key, hence an error."""

    def __init__(self, values: object, where: str) -> None:
        if not isinstance(values, Mapping):
            raise StudyError(f"{where}: expected key: value lines, found {_kind(values)}")
        self._values = {str(k): v for k, v in values.items()}
        self._known: set[str] = set()
        self.where = where

    def at(self, key: str) -> str:
        return f"{self.where}: {key}" if ":" not in self.where else f"{self.where}.{key}"

    def fail(self, key: str, message: str) -> StudyError:
        return StudyError(f"{self.at(key)}: {message}")

    def has(self, key: str) -> bool:
        self._known.add(key)
        return self._values.get(key) is not None

    def take(self, key: str, default: T, accept: Callable[[object], T], expected: str) -> T:
        """The field's value, or the default where it is absent or empty."""
        self._known.add(key)
        value = self._values.get(key)
        if value is None:
            return default
        try:
            return accept(value)
        except (TypeError, ValueError):
            raise self.fail(key, f"expected {expected}, found {value!r}") from None

    def text(self, key: str, default: str = "") -> str:
        return self.take(key, default, _text, "text")

    def maybe_text(self, key: str) -> str | None:
        return self.take(key, None, _text, "text")

    def whole(self, key: str, default: int, low: int = 0, high: int = 10**9) -> int:
        return self.take(
            key, default, lambda v: _whole(v, low, high), f"a whole number {low}-{high}"
        )

    def number(self, key: str, default: float, low: float, high: float) -> float:
        expected = f"a number from {low:g} to {high:g}"
        return self.take(key, default, lambda v: _number(v, low, high), expected)

    def maybe_number(self, key: str, low: float, high: float) -> float | None:
        expected = f"a number from {low:g} to {high:g}"
        return self.take(key, None, lambda v: _number(v, low, high), expected)

    def flag(self, key: str, default: bool) -> bool:
        return self.take(key, default, _flag, "true or false")

    def choice(self, key: str, default: str, options: Iterable[str]) -> str:
        """One word out of a list; the message offers the nearest."""
        known = list(options)
        value = self.text(key, default)
        if value not in known:
            raise self.fail(
                key, f"{value!r} is not one of {', '.join(known)}{_nearest(value, known)}"
            )
        return value

    def texts(self, key: str) -> tuple[str, ...]:
        """A list of texts; a single text counts as a list of one."""
        return self.take(key, (), _texts, "a list of texts")

    def mapping(self, key: str) -> dict[str, object]:
        return self.take(key, {}, _mapping, "key: value pairs")

    def items(self, key: str) -> list[object]:
        return self.take(key, [], _items, "a list")

    def done(self) -> None:
        """Called last: names the first key that nothing asked for."""
        for key in self._values:
            if key not in self._known:
                known = sorted(self._known)
                raise self.fail(
                    key, f"unknown key{_nearest(key, known)}. Known keys: {', '.join(known)}"
                )


def _nearest(word: str, known: list[str]) -> str:
    near = difflib.get_close_matches(word, known, n=1)
    return f" (did you mean {near[0]!r}?)" if near else ""


def _kind(value: object) -> str:
    return "nothing" if value is None else f"{type(value).__name__} {value!r}"[:80]


def _text(value: object) -> str:
    if isinstance(value, (dict, list, bool)):
        raise TypeError
    return str(value)


def _whole(value: object, low: int, high: int) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high:
        raise ValueError
    return value


def _number(value: object, low: float, high: float) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not low <= value <= high:
        raise ValueError
    return float(value)


def _flag(value: object) -> bool:
    if not isinstance(value, bool):
        raise TypeError
    return value


def _texts(value: object) -> tuple[str, ...]:
    return tuple(_text(v) for v in value) if isinstance(value, list) else (_text(value),)


def _mapping(value: object) -> dict[str, object]:
    if not isinstance(value, dict):
        raise TypeError
    return {str(k): v for k, v in value.items()}


def _items(value: object) -> list[object]:
    if not isinstance(value, list):
        raise TypeError
    return value
