"""Reads of a store's file without SQLite, which must not disturb the connections of this process.

POSIX drops all locks of a process on a file when the process closes any descriptor of that file.
A read without SQLite would therefore drop the locks of this process's open connections. Another
process that closes the store could then delete the write-ahead log into which this process still
writes, and all further writes would be lost.
"""

import os
import threading
from pathlib import Path
from typing import Final

PLAIN_READ: Final = threading.RLock()
"""Lock for a read without SQLite and for opening a connection, which would lose its locks if it
were opened during such a read."""
_DESCRIPTORS: Final = Path("/dev/fd")


def is_open_here(path: Path) -> bool:
    """Whether this process has the file open, so that the file must not be read without SQLite."""
    try:
        wanted = path.stat()
        numbers = [int(one.name) for one in _DESCRIPTORS.iterdir()]
    except OSError:  # no such file, or Windows, whose locks belong to a descriptor
        return False
    return any(_is_same_file(number, wanted) for number in numbers)


def _is_same_file(descriptor: int, wanted: os.stat_result) -> bool:
    try:
        return os.path.samestat(os.fstat(descriptor), wanted)
    except OSError:  # closed since it was listed
        return False
