"""API keys in memory: kept for a limited time, and masked in everything this process prints.

A typed key is kept from the start of a run to its end, and deleted earlier after a period without
use, so that a paused and abandoned run does not keep it. This module never writes a key to a file,
sends it or puts it into the environment. `redact_keys` masks all active keys in a text, including
the encoded forms in which providers and libraries repeat them.
"""

import base64
import contextlib
import logging
import re
import sys
import threading
import time
import weakref
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Final, NoReturn, TextIO
from urllib.parse import quote

from judges.judge_errors import KeyExpired, KeyRefused
from studies import settings

EXPIRED_MESSAGE: Final = "its key expired"
"""Start of the stop reason of a judge whose key expired; the page recognises it and asks for the
key."""

KEY_MASK: Final = "[key]"
MIN_KEY_LENGTH: Final = 4
"""Minimum length of a key that is masked; a shorter key would match ordinary words."""
PIECE_LENGTH: Final = 8
"""Any part of an API key with at least this many characters is masked too."""
PLACEHOLDERS: Final = (
    "dummy-key", "fake-key", "lm-studio", "no-api-key", "no-key-needed", "no-key-required",
    "not-needed", "not-required", "not-used", "placeholder", "sk-no-key-required", "your-api-key",
)  # fmt: skip
"""Texts that stand for a key where a local server needs none; a reply may contain them as words."""
LONGEST: Final = 512
"""Maximum length of a typed key; longer ones are refused, because all output is searched for each
key."""


def key_idle_seconds() -> float:
    """Return the seconds for which a typed key is kept without use."""
    return 60.0 * settings.KEY_MINUTES.read()


class SecretKey:
    """One API key; `redact_keys` masks it in texts as long as this object exists and until
    `discard`. Its repr hides the value, and the object cannot be pickled or copied."""

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
        """`idle` is the number of seconds without use after which the key is deleted; None if the
        key is kept until `discard`."""
        self._value: str | None = value
        self._idle, self._clock = idle, clock
        self._last = clock()
        self._wholes = key_forms(value)
        self._pieces = frozenset(
            form[start : start + PIECE_LENGTH]
            for form in self._wholes
            for start in range(max(1, len(form) - PIECE_LENGTH + 1))
        )
        self._sizes = frozenset(map(len, self._pieces))
        if self._wholes:
            with _ACTIVE_KEYS_LOCK:
                _ACTIVE_KEYS.add(self)

    def read_and_keep_alive(self) -> str:
        """Return the key's value for one call, and restart its idle time; raise KeyExpired if the
        key was deleted."""
        if self.expire_if_idle():
            raise KeyExpired(
                f"{EXPIRED_MESSAGE}: keys are kept in memory only, and deleted after "
                f"{(self._idle or 0) / 60:g} minutes without use. Type the key again to continue"
            )
        self._last = self._clock()
        assert self._value is not None
        return self._value

    def expire_if_idle(self) -> bool:
        """Return whether the key has been deleted; delete it now if its idle time is over."""
        if self._value is not None and self.seconds_left() <= 0:
            self.discard()
        return self._value is None

    def seconds_left(self) -> float:
        """Return the seconds until the key is deleted if it is not used; infinite for a key without
        an idle time."""
        if self._idle is None:
            return float("inf")
        return self._last + self._idle - self._clock()

    def discard(self) -> None:
        self._value = None
        self._wholes, self._pieces = (), frozenset()

    def forms_of_whole_key(self) -> tuple[str, ...]:
        """Return the texts under which the key may occur: as it is and encoded (see `key_forms`).
        Empty after `discard`."""
        return self._wholes

    def forms_to_mask_in_replies(self) -> tuple[str, ...]:
        """Return the texts, as in `forms_of_whole_key`, that are masked in replies of a judge; none
        for a key that is short or a placeholder, because it may occur in a reply as an ordinary
        word."""
        value = self._value or ""
        if len(value) < PIECE_LENGTH or value.lower() in PLACEHOLDERS:
            return ()
        return self._wholes

    def mask_whole_key_in_reply(self, text: str) -> str:
        """Mask this API key in a text that an endpoint returned, such as a reply. A key that may be
        an ordinary word (short or a placeholder) is not masked, and neither are parts of a key."""
        for form in self.forms_to_mask_in_replies():
            text = text.replace(form, KEY_MASK)
        return text

    def redact(self, text: str) -> str:
        """Mask this API key in a text, with its encoded forms and any part of PIECE_LENGTH or more
        characters."""
        for whole in self._wholes:
            text = text.replace(whole, KEY_MASK)
        present = _find_pieces(self._pieces, self._sizes, text)
        return _mask_pieces(text, present) if present else text

    def __repr__(self) -> str:
        return "SecretKey(…)"

    def __reduce__(self) -> NoReturn:
        raise TypeError("a key cannot be pickled or copied")


_ACTIVE_KEYS: Final[weakref.WeakSet[SecretKey]] = weakref.WeakSet()
_ACTIVE_KEYS_LOCK: Final = threading.Lock()
"""Lock of _ACTIVE_KEYS, the keys in use in this process, which are masked in all output. The set
holds weak references, so that a key is freed with its run."""


def active_keys() -> list[SecretKey]:
    with _ACTIVE_KEYS_LOCK:
        return list(_ACTIVE_KEYS)


def make_expiring_secret_key(value: str) -> SecretKey:
    """Make a SecretKey from typed text, with the configured idle time."""
    return SecretKey(strip_and_check_typed_key(value), key_idle_seconds())


def strip_and_check_typed_key(value: str) -> str:
    """Return a typed key without surrounding white space; raise KeyRefused if the key is malformed.

    The error message never quotes the key, because the message is shown on the page and written to
    the log.
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


@contextmanager
def mask_keys_in_output(values: Iterable[str]) -> Iterator[None]:
    """Context manager: while its `with` block runs, these keys are masked by `redact_keys`, and
    thereby, if `install_redaction` was called, in all output of the process."""
    keys = [SecretKey(value) for value in values]
    try:
        yield
    finally:
        for key in keys:
            key.discard()


def key_forms(value: str) -> tuple[str, ...]:
    """Return the texts under which a key may occur, longest first: as it is, percent-encoded, and
    with ASCII escapes. A key of PIECE_LENGTH characters or more also as hex and as base64, in
    the three forms that depend on where the key starts in the encoded text. Empty for a key
    shorter than MIN_KEY_LENGTH."""
    if len(value) < MIN_KEY_LENGTH:
        return ()
    raw = value.encode("utf-8", "replace")
    found = {value, quote(value, safe=""), quote(value), ascii(value)[1:-1]}
    if len(value) >= PIECE_LENGTH:
        found |= {raw.hex(), raw.hex().upper()}
        for shift in range(3):
            coded = base64.b64encode(b"\0" * shift + raw).decode()
            inner = coded[(0, 2, 3)[shift] :].rstrip("=")
            inner = inner[: len(inner) - (0, 1, 1)[(len(raw) + shift) % 3]]
            found |= {inner, inner.replace("+", "-").replace("/", "_")}
    return tuple(sorted(found, key=lambda form: (-len(form), form)))


def _find_pieces(pieces: frozenset[str], sizes: frozenset[int], text: str) -> list[str]:
    """Return those of `pieces` (parts of a key) that occur in a text. `sizes` are the lengths of
    the pieces."""
    if len(pieces) <= len(text):
        return [piece for piece in pieces if piece in text]
    windows = {
        text[start : start + size]
        for size in sizes
        for start in range(max(0, len(text) - size + 1))
    }
    return list(windows & pieces)


def _mask_pieces(text: str, pieces: list[str]) -> str:
    """Return a text without the given pieces; where pieces overlap or touch, one mask replaces them
    all."""
    masked = bytearray(len(text))
    for piece in pieces:
        start = text.find(piece)
        while start >= 0:
            masked[start : start + len(piece)] = b"\1" * len(piece)
            start = text.find(piece, start + 1)
    parts: list[str] = []
    for index, character in enumerate(text):
        if not masked[index]:
            parts.append(character)
        elif not index or not masked[index - 1]:
            parts.append(KEY_MASK)
    return "".join(parts)


_KEY_PATTERN: Final = re.compile(
    r"\b(sk|hf|gsk|key|pk|rk|xai|nvapi|csk|pplx|fw|AIza)[-_][A-Za-z0-9_\-*.]{6,}"
    r"|\bAIza[A-Za-z0-9_\-*.]{12,}|Bearer\s+\S+"
)


def redact_keys(text: str) -> str:
    """Mask every active key in a text, and everything that looks like an API key."""
    for key in active_keys():
        text = key.redact(text)
    return _KEY_PATTERN.sub(KEY_MASK, text)


_PLAIN_FORMATTER: Final = logging.Formatter()


def install_redaction(*, lossy: bool = False) -> Callable[[], None]:
    """Mask keys in log records, standard output and standard error; return a function that undoes
    this. With `lossy`, a text that cannot be written (a full disk) is dropped without an error."""
    factory, out, err = logging.getLogRecordFactory(), sys.stdout, sys.stderr
    logging.setLogRecordFactory(lambda *values, **named: redact_record(factory(*values, **named)))
    sys.stdout, sys.stderr = RedactingStream(out, lossy), RedactingStream(err, lossy)

    def undo_redaction() -> None:
        logging.setLogRecordFactory(factory)
        sys.stdout, sys.stderr = out, err

    return undo_redaction


def redact_record(record: logging.LogRecord) -> logging.LogRecord:
    """Mask keys in a record's message, arguments, traceback and stack; return the changed
    record."""
    if record.exc_info and record.exc_info[0] is not None:
        record.exc_text = redact_keys(_PLAIN_FORMATTER.formatException(record.exc_info))
        record.exc_info = None  # a handler that formats it itself would show unmasked text
    if record.stack_info:
        record.stack_info = redact_keys(record.stack_info)
    if isinstance(record.args, Mapping):
        record.args = {name: _redact_value(value) for name, value in record.args.items()}
    elif record.args:
        record.args = tuple(_redact_value(value) for value in record.args)
    record.msg = _redact_value(record.msg)
    return record


def _redact_value(value: Any) -> Any:
    """Return the value if neither its text nor its repr contains a key, else its text with the keys
    masked. Numbers stay numbers, because `%d` needs them."""
    if value is None or isinstance(value, (int, float)):
        return value
    text = str(value)
    redacted = redact_keys(text)
    if redacted != text:
        return redacted
    return value if redact_keys(repr(value)) == repr(value) else redacted


class RedactingStream:
    """A text stream that masks keys in the text written to it; all other methods are those of the
    wrapped stream. If it is `lossy`, text that cannot be written is dropped."""

    def __init__(self, stream: TextIO, lossy: bool = False) -> None:
        self._stream = stream
        self._ignored = (OSError,) if lossy else ()

    def write(self, text: str) -> int:
        with contextlib.suppress(*self._ignored):
            self._stream.write(redact_keys(text))
        return len(text)

    def flush(self) -> None:
        with contextlib.suppress(*self._ignored):
            self._stream.flush()

    def writelines(self, lines: list[str]) -> None:
        for line in lines:
            self.write(line)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)
