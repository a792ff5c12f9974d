"""Files that are written under a temporary name beside their final path, and renamed when they are
complete."""

import contextlib
import errno
import os
import re
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from secrets import token_hex
from typing import Final

_TAILS: Final = ("", "-journal", "-wal", "-shm")
_PARTIAL_NAME: Final = re.compile(r".+\.(\d+)\.part(?:-journal|-wal|-shm)?")
_UNKNOWN_OWNER_SECONDS: Final = 86_400.0
"""Age in seconds from which a partial file counts as left over on Windows, where its process cannot
be checked."""
_open_here: Final[set[str]] = set()
"""Names of the files that this process is writing."""


@contextlib.contextmanager
def replace_when_written(target: Path) -> Iterator[Path]:
    """Yield a path beside `target` to write to, and rename the file to `target` at the end of the
    block. After an error the file is deleted; if the process is killed, the next call in this
    folder deletes it.
    """
    target.parent.mkdir(parents=True, exist_ok=True)
    delete_abandoned_partial_files(target.parent)
    partial = target.with_name(f"{target.name}.{token_hex(4)}.{os.getpid()}.part")
    _open_here.add(partial.name)
    try:
        yield partial
        partial.replace(target)
    finally:
        for tail in _TAILS:
            partial.with_name(partial.name + tail).unlink(missing_ok=True)
        _open_here.discard(partial.name)


def assign_name_if_free(partial: Path, wanted: Path) -> bool:
    """Give the finished file `partial` the name `wanted`; return False if a file has this name
    already. No other process can take the name in between. On a disk with hard links, the
    name `partial` is kept too."""
    try:
        os.link(partial, wanted)
    except FileExistsError:
        return False
    except OSError as error:
        if error.errno not in (errno.EPERM, errno.ENOTSUP, errno.EMLINK, errno.EXDEV):
            raise
        return _reserve_name_and_rename(partial, wanted)
    return True


def _reserve_name_and_rename(partial: Path, wanted: Path) -> bool:
    """Rename the finished file `partial` to `wanted`, on a disk without hard links; return False
    if the name is taken. An empty file of this name is created first, so that no other
    process takes the name."""
    try:
        wanted.open("x").close()
    except FileExistsError:
        return False
    partial.replace(wanted)
    return True


def delete_abandoned_partial_files(folder: Path) -> None:
    """Delete the partial files in a folder whose processes have ended; on Windows, those older than
    a day."""
    for path in folder.glob("*.part*"):
        name = _PARTIAL_NAME.fullmatch(path.name)
        if name and not _is_being_written(path, int(name[1])):
            with contextlib.suppress(OSError):
                path.unlink()


def _is_being_written(path: Path, process: int) -> bool:
    """Whether the process with the number `process`, which created the file, still writes it; on
    Windows, whether the file is less than a day old."""
    if process == os.getpid():  # in a container an earlier process often had the same number
        return path.name.split(".part")[0] + ".part" in _open_here
    try:
        if sys.platform == "win32":  # os.kill would end the process
            return time.time() - path.stat().st_mtime < _UNKNOWN_OWNER_SECONDS
        os.kill(process, 0)
    except (ProcessLookupError, FileNotFoundError, OverflowError):
        return False
    except OSError:
        return True
    return True
