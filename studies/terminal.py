"""Commands in a terminal: how they end, and texts from data that cannot move the cursor."""

from __future__ import annotations

import os
import sqlite3
import sys
from collections.abc import Callable
from typing import Final

from studies.errors import EvenhandError, file_error_advice

INTERRUPTED_CODE: Final = 130
"""As a shell says of what Ctrl-C has ended."""


def run_command(work: Callable[[], int], *known: type[Exception]) -> int:
    """Does a command and returns its exit code. Whatever a person can mend is one line that says
    what, where and what to do, and the code 2; a traceback is for faults of ours."""
    told: tuple[type[Exception], ...] = (EvenhandError, *known)
    try:
        code = work()
        sys.stdout.flush()
        return code
    except BrokenPipeError:  # `… | head`: the reader has what it wanted
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except KeyboardInterrupt:
        print("stopped", file=sys.stderr)
        return INTERRUPTED_CODE
    except told as error:
        said = str(error)
    except OSError as error:
        where = f"{error.filename}: " if error.filename else ""
        said = f"{where}{error.strerror or error}; {file_error_advice(error)}"
    except sqlite3.Error as error:
        said = f"the store cannot be used: {error}; choose another file, or a copy of it"
    print(f"error: {escape_control(said)}", file=sys.stderr)
    return 2


def escape_control(text: str) -> str:
    """Control characters as they are written in source; line ends and tabs stay."""
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() or c in "\n\t" else ascii(c)[1:-1] for c in text)
