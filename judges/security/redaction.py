"""Removal of API keys from everything this process prints or logs.

Libraries log requests, print tracebacks and issue warnings outside this project's code. Keys are
therefore masked where all of this output passes: when a log record is created, for every logger and
handler, and when text is written to standard output or standard error.
"""

from __future__ import annotations

import logging
import sys
from collections.abc import Callable, Mapping
from typing import Any, Final, TextIO

from judges.security.key_store import redact_keys

_PLAIN_FORMATTER: Final = logging.Formatter()


def install_redaction() -> Callable[[], None]:
    """Mask keys in log records and standard streams; return a function that undoes this."""
    factory, out, err = logging.getLogRecordFactory(), sys.stdout, sys.stderr
    logging.setLogRecordFactory(lambda *values, **named: redact_record(factory(*values, **named)))
    sys.stdout, sys.stderr = RedactingStream(out), RedactingStream(err)

    def remove() -> None:
        logging.setLogRecordFactory(factory)
        sys.stdout, sys.stderr = out, err

    return remove


def redact_record(record: logging.LogRecord) -> logging.LogRecord:
    """Mask keys in a record's message, arguments, traceback and stack."""
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
    """Return the value if its text contains no key, else its text with the keys masked. Numbers
    stay numbers, because `%d` needs them."""
    if value is None or isinstance(value, (int, float)):
        return value
    text = str(value)
    redacted = redact_keys(text)
    if redacted != text:
        return redacted
    return value if redact_keys(repr(value)) == repr(value) else redacted


class RedactingStream:
    """A text stream that masks keys in the text written to it; all other methods are those of the
    wrapped stream."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def write(self, text: str) -> int:
        self._stream.write(redact_keys(text))
        return len(text)

    def writelines(self, lines: list[str]) -> None:
        for line in lines:
            self.write(line)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)
