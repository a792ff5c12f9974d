"""Terminal commands: exit codes, error lines and the escaping of control characters."""

import gc
import os
import sqlite3
import sys
from collections.abc import Callable
from typing import Final

from studies.errors import EvenhandError, file_error_advice

INTERRUPTED_CODE: Final = 130
"""Exit code after Ctrl-C, as a shell reports it."""
GARBAGE_COLLECTION: Final = (50_000, 20, 100)
"""Thresholds of the garbage collector in a command. With Python's own, reading many judgements
takes a fifth longer."""


def run_command(work: Callable[[], int], *known: type[Exception]) -> int:
    """Run a command and return its exit code.

    Errors that the user can correct (those of Evenhand, of files and of SQLite, and the further
    types `known`) are printed as one line and give exit code 2; Ctrl-C gives INTERRUPTED_CODE, an
    output that its reader has closed (`… | head`) gives 0. Any other exception is a bug and is
    raised with its traceback.
    """
    expected: tuple[type[Exception], ...] = (EvenhandError, *known)
    gc.set_threshold(*GARBAGE_COLLECTION)
    try:
        code = work()
        sys.stdout.flush()
        return code
    except BrokenPipeError:  # `… | head`: the reader closed the pipe
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except KeyboardInterrupt:
        print("stopped", file=sys.stderr)
        return INTERRUPTED_CODE
    except expected as error:
        message = str(error)
    except OSError as error:
        where = f"{error.filename}: " if error.filename else ""
        message = f"{where}{error.strerror or error}; {file_error_advice(error)}"
    except sqlite3.Error as error:
        message = (
            f"the store cannot be used: {error}; choose another file, or a backup of it, or copy "
            "what is readable: python -m studies repair PATH"
        )
    print(f"error: {escape_control(message)}", file=sys.stderr)
    return 2


def escape_control(text: str) -> str:
    """Replace characters that cannot be printed, such as control characters, by their escape
    sequences; line feeds and tabs stay."""
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() or c in "\n\t" else ascii(c)[1:-1] for c in text)
