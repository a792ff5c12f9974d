"""Whatever this process prints or logs, no key is in it.

Libraries log requests, print tracebacks and warn in places that are not ours. So the keys are taken
out where all of that passes: in the making of every log record, whatever its logger and handler,
and in what is written to standard output and standard error.
"""

from __future__ import annotations

import logging
import sys
from collections.abc import Callable, Mapping
from typing import Any, Final, TextIO

from judges.security.key_store import redact_keys

_PLAIN_FORMATTER: Final = logging.Formatter()


def install_redaction() -> Callable[[], None]:
    """From now on; returns what takes it back."""
    factory, out, err = logging.getLogRecordFactory(), sys.stdout, sys.stderr
    logging.setLogRecordFactory(lambda *values, **named: redact_record(factory(*values, **named)))
    sys.stdout, sys.stderr = RedactingStream(out), RedactingStream(err)

    def remove() -> None:
        logging.setLogRecordFactory(factory)
        sys.stdout, sys.stderr = out, err

    return remove


def redact_record(record: logging.LogRecord) -> logging.LogRecord:
    """The record without keys: its words, what is put into them, its traceback and its stack."""
    if record.exc_info and record.exc_info[0] is not None:
        record.exc_text = redact_keys(_PLAIN_FORMATTER.formatException(record.exc_info))
        record.exc_info = None  # a handler that draws frames itself would show what they hold
    if record.stack_info:
        record.stack_info = redact_keys(record.stack_info)
    if isinstance(record.args, Mapping):
        record.args = {name: _redact_value(value) for name, value in record.args.items()}
    elif record.args:
        record.args = tuple(_redact_value(value) for value in record.args)
    record.msg = _redact_value(record.msg)
    return record


def _redact_value(value: Any) -> Any:
    """Numbers stay numbers, for %d; anything else stays itself unless its words hold a key."""
    if value is None or isinstance(value, (int, float)):
        return value
    words = str(value)
    told = redact_keys(words)
    if told != words:
        return told
    return value if redact_keys(repr(value)) == repr(value) else told


class RedactingStream:
    """A text stream that writes no key; in all else it is the stream behind it."""

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
