"""API keys while they are needed: in memory, for a limited time, and known to whatever is printed.

A key that a visitor typed is held here from the click to the end of the run, and forgotten earlier
if nobody used it for a while: a run that was paused and left must not keep it. Nothing here is
written, sent or put into the environment. What is held is also what `redacted` takes out of every
message, in the forms in which providers and libraries repeat keys.
"""

from __future__ import annotations

import base64
import os
import re
import threading
import time
import weakref
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Final, NoReturn
from urllib.parse import quote

from judges.judge_errors import KeyExpired, KeyRefused

KEY_MINUTES_VARIABLE: Final = "EVENHAND_KEY_MINUTES"
DEFAULT_IDLE_MINUTES: Final = 30.0
EXPIRED_MESSAGE: Final = "its key expired"
"""The words by which the page knows that a key has to be typed again."""

KEY_MASK: Final = "[key]"
MIN_KEY_LENGTH: Final = 4
"""A shorter 'key' is a word that stands everywhere."""
PIECE_LENGTH: Final = 8
"""So many characters in a row of a key are a part of it, and go too."""
LONGEST: Final = 512
"""Characters of a typed key. Every line this process prints is searched for every held key."""


def idle_seconds() -> float:
    """How long a typed key is held without being used."""
    said = os.environ.get(KEY_MINUTES_VARIABLE, "")
    try:
        minutes = float(said) if said else DEFAULT_IDLE_MINUTES
    except ValueError:
        minutes = DEFAULT_IDLE_MINUTES
    return 60.0 * min(max(minutes, 0.01), 24 * 60.0)


class SecretKey:
    """One key. It has no repr, no copy and no pickle that shows it."""

    __slots__ = (
        "__weakref__",
        "_clock",
        "_idle",
        "_last",
        "_pieces",
        "_sizes",
        "_value",
        "_wholes",
    )

    def __init__(
        self, value: str, idle: float | None = None, clock: Callable[[], float] = time.monotonic
    ) -> None:
        """`idle`: seconds without use after which it is forgotten; None: held until `forget`."""
        self._value: str | None = value
        self._idle, self._clock = idle, clock
        self._last = clock()
        self._wholes = key_forms(value)
        self._pieces = key_pieces(self._wholes)
        self._sizes = frozenset(map(len, self._pieces))
        if self._wholes:
            with _ACTIVE_KEYS_LOCK:
                _ACTIVE_KEYS.add(self)

    def use(self) -> str:
        """The key, for one call; every use holds it for another while."""
        if self.is_expired():
            raise KeyExpired(
                f"{EXPIRED_MESSAGE}: keys are held in memory only, and forgotten after "
                f"{(self._idle or 0) / 60:g} minutes without use. Type it again to go on"
            )
        self._last = self._clock()
        assert self._value is not None
        return self._value

    def is_expired(self) -> bool:
        """Whether it is gone; one whose time is over goes now."""
        if self._value is not None and self.seconds_left() <= 0:
            self.discard()
        return self._value is None

    def seconds_left(self) -> float:
        """Seconds until it would be forgotten."""
        if self._idle is None:
            return float("inf")
        return self._last + self._idle - self._clock()

    def discard(self) -> None:
        self._value = None
        self._wholes, self._pieces = (), frozenset()

    def whole_forms(self) -> tuple[str, ...]:
        return self._wholes

    def found_in(self, text: str) -> bool:
        return bool(_present(self._pieces, self._sizes, text))

    def redact(self, text: str) -> str:
        """The text without the key, its encoded forms, and longer pieces of either."""
        for whole in self._wholes:
            text = text.replace(whole, KEY_MASK)
        present = _present(self._pieces, self._sizes, text)
        return _mask_pieces(text, present) if present else text

    def __repr__(self) -> str:
        return "Held(…)"

    def __reduce__(self) -> NoReturn:
        raise TypeError("a key is not written down")


_ACTIVE_KEYS: Final[weakref.WeakSet[SecretKey]] = weakref.WeakSet()
_ACTIVE_KEYS_LOCK: Final = threading.Lock()
"""All keys of this process that are held now: what is printed anywhere must know them all. Weak, so
that a key lives no longer than the run that has it."""


def active_keys() -> list[SecretKey]:
    with _ACTIVE_KEYS_LOCK:
        return list(_ACTIVE_KEYS)


def make_typed_key(value: str) -> SecretKey:
    """A key that somebody typed, without the blanks that come along when one is pasted."""
    return SecretKey(checked_key(value), idle_seconds())


def checked_key(value: str) -> str:
    """A typed key without the blanks around it; raises where it cannot be one.

    The message never quotes the key: it goes to the page and to the log.
    """
    key = value.strip()
    if len(key) > LONGEST:
        raise KeyRefused(
            f"this key has {len(key):,} characters, and a key has at most {LONGEST}. Paste the key "
            "alone"
        )
    if any(character.isspace() or not character.isprintable() for character in key):
        raise KeyRefused(
            "this key has white space or a control character inside. Paste the key alone, on one "
            "line"
        )
    return key


def make_typed_keys(typed: Mapping[str, str]) -> dict[str, SecretKey]:
    """Typed keys by judge."""
    return {judge: make_typed_key(value) for judge, value in typed.items()}


@contextmanager
def register_keys(values: Iterable[str]) -> Iterator[None]:
    """Keys that are used within a block and nowhere else: until its end no message shows them."""
    keys = [SecretKey(value) for value in values]
    try:
        yield
    finally:
        for key in keys:
            key.discard()


def key_forms(value: str) -> tuple[str, ...]:
    """A key as it may stand in a text: itself, percent-encoded, in base64 and in hex, the longest
    first. Base64 of a longer text that holds the key has one of three shapes inside."""
    if len(value) < MIN_KEY_LENGTH:
        return ()
    raw = value.encode("utf-8", "replace")
    found = {value, quote(value, safe=""), ascii(value)[1:-1]}
    if len(value) >= PIECE_LENGTH:
        found |= {raw.hex(), raw.hex().upper()}
        for shift in range(3):
            coded = base64.b64encode(b"\0" * shift + raw).decode()
            inner = coded[(0, 2, 3)[shift] :].rstrip("=")
            inner = inner[: len(inner) - (0, 1, 1)[(len(raw) + shift) % 3]]
            found |= {inner, inner.replace("+", "-").replace("/", "_")}
    return tuple(sorted(found, key=lambda form: (-len(form), form)))


def key_pieces(forms: Iterable[str]) -> frozenset[str]:
    """Every run of eight characters; of a shorter key the whole."""
    return frozenset(
        form[start : start + PIECE_LENGTH]
        for form in forms
        for start in range(max(1, len(form) - PIECE_LENGTH + 1))
    )


def _present(pieces: frozenset[str], sizes: frozenset[int], text: str) -> list[str]:
    """The pieces that occur in a text, in time that grows with the shorter of the two."""
    if len(pieces) <= len(text):
        return [piece for piece in pieces if piece in text]
    windows = {
        text[start : start + size]
        for size in sizes
        for start in range(max(0, len(text) - size + 1))
    }
    return list(windows & pieces)


def _mask_pieces(text: str, pieces: list[str]) -> str:
    """Each stretch that is covered by pieces becomes one mark."""
    gone = bytearray(len(text))
    for piece in pieces:
        start = text.find(piece)
        while start >= 0:
            gone[start : start + len(piece)] = b"\1" * len(piece)
            start = text.find(piece, start + 1)
    parts: list[str] = []
    for place, character in enumerate(text):
        if not gone[place]:
            parts.append(character)
        elif not place or not gone[place - 1]:
            parts.append(KEY_MASK)
    return "".join(parts)


_KEY_PATTERN: Final = re.compile(
    r"\b(sk|hf|gsk|key|pk|rk|xai|nvapi|csk|pplx|fw|AIza)[-_][A-Za-z0-9_\-*.]{6,}"
    r"|\bAIza[A-Za-z0-9_\-*.]{12,}|Bearer\s+\S+",
)


def redact_keys(text: str) -> str:
    """A text without any key that is held now, and without what looks like one."""
    for key in active_keys():
        text = key.redact(text)
    return _KEY_PATTERN.sub(KEY_MASK, text)
