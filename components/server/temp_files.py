"""Room for files that pass through: uploads on their way in, exports on their way out.

Gradio removes what it knows of a day later. It does not know of an upload that broke off, nor of a
file we made, and it sets no end to their sum: where strangers come, that is a way to fill the disk.
"""

from __future__ import annotations

import contextlib
import logging
import os
import shutil
import tempfile
import threading
import time
from pathlib import Path
from typing import Final, NamedTuple

TEMP_DIR_VARIABLE: Final = "GRADIO_TEMP_DIR"
SWEEP_SECONDS: Final = 10.0
"""Seconds between two looks."""
MAX_AGE_SECONDS: Final = 3_600.0
"""Seconds for which a file may be fetched, or taken into a study, unless room is needed sooner."""
IN_USE_SECONDS: Final = 120.0
"""Seconds for which nothing is removed: somebody is at it."""
MAX_FILES: Final = 20_000

_log: Final = logging.getLogger(__name__)


def temp_folder() -> Path:
    """Where Gradio keeps its files, and we those that it hands out."""
    return Path(os.environ.get(TEMP_DIR_VARIABLE) or Path(tempfile.gettempdir()) / "gradio")


class TempFile(NamedTuple):
    path: Path
    bytes: int
    modified: float


def list_temp_files(at: Path) -> list[TempFile]:
    """Every file, the oldest first."""
    found = []
    for parent, _, names in os.walk(at):
        for name in names:
            with contextlib.suppress(OSError):  # it may be gone by now
                path = Path(parent, name)
                facts = path.lstat()
                found.append(TempFile(path, facts.st_size, facts.st_mtime))
    return sorted(found, key=lambda one: one.modified)


def delete_old_files(at: Path, most: int, now: float) -> int:
    """Removes what is old, and more from the oldest on until at most so many bytes are left;
    returns how many there are then."""
    files = list_temp_files(at)
    left, number = sum(one.bytes for one in files), len(files)
    for one in files:
        age = now - one.modified
        if age < IN_USE_SECONDS or (age < MAX_AGE_SECONDS and left <= most and number <= MAX_FILES):
            break
        with contextlib.suppress(OSError):
            one.path.unlink()
            left, number = left - one.bytes, number - 1
            one.path.parent.rmdir()  # if it was the last there
    return left


class TempFileQuota:
    """How much may pass through, kept by a thread of its own; `take` asks for more."""

    def __init__(self, most: int, every: float = SWEEP_SECONDS) -> None:
        """In a folder of our own, unless the environment names one: others' files are not ours to
        remove."""
        self._own_folder = ""
        if not os.environ.get(TEMP_DIR_VARIABLE):
            self._own_folder = os.environ[TEMP_DIR_VARIABLE] = tempfile.mkdtemp(prefix="evenhand-")
        self._folder, self._most, self._every = temp_folder(), most, every
        self._free_bytes = most
        self.refresh()
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._refresh_loop, name="room", daemon=True)
        self._thread.start()

    def reserve(self, size: int) -> bool:
        """Whether there is room for so many bytes; they count as taken until the next look."""
        if size > self._free_bytes:
            return False
        self._free_bytes -= size
        return True

    def close(self) -> None:
        self._stop.set()
        self._thread.join(10)
        if self._own_folder:
            os.environ.pop(TEMP_DIR_VARIABLE, None)
            shutil.rmtree(self._own_folder, ignore_errors=True)

    def refresh(self) -> None:
        """Sweeps, and counts what is there."""
        try:
            self._free_bytes = self._most - delete_old_files(
                self._folder, self._most // 2, time.time()
            )
        except OSError as error:
            _log.warning("nothing was swept: %s", error)

    def _refresh_loop(self) -> None:
        while not self._stop.wait(self._every):
            self.refresh()
