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

VARIABLE: Final = "GRADIO_TEMP_DIR"
EVERY: Final = 10.0
"""Seconds between two looks."""
KEPT: Final = 3_600.0
"""Seconds for which a file may be fetched, or taken into a study, unless room is needed sooner."""
USED: Final = 120.0
"""Seconds for which nothing is removed: somebody is at it."""
MOST_FILES: Final = 20_000

_log: Final = logging.getLogger(__name__)


def folder() -> Path:
    """Where Gradio keeps its files, and we those that it hands out."""
    return Path(os.environ.get(VARIABLE) or Path(tempfile.gettempdir()) / "gradio")


class Held(NamedTuple):
    path: Path
    bytes: int
    changed: float


def held(at: Path) -> list[Held]:
    """Every file, the oldest first."""
    found = []
    for parent, _, names in os.walk(at):
        for name in names:
            with contextlib.suppress(OSError):  # it may be gone by now
                path = Path(parent, name)
                facts = path.lstat()
                found.append(Held(path, facts.st_size, facts.st_mtime))
    return sorted(found, key=lambda one: one.changed)


def sweep(at: Path, most: int, now: float) -> int:
    """Removes what is old, and more from the oldest on until at most so many bytes are left;
    returns how many there are then."""
    files = held(at)
    left, number = sum(one.bytes for one in files), len(files)
    for one in files:
        age = now - one.changed
        if age < USED or (age < KEPT and left <= most and number <= MOST_FILES):
            break
        with contextlib.suppress(OSError):
            one.path.unlink()
            left, number = left - one.bytes, number - 1
            one.path.parent.rmdir()  # if it was the last there
    return left


class Room:
    """How much may pass through, kept by a thread of its own; `take` asks for more."""

    def __init__(self, most: int, every: float = EVERY) -> None:
        """In a folder of our own, unless the environment names one: others' files are not ours to
        remove."""
        self._made = ""
        if not os.environ.get(VARIABLE):
            self._made = os.environ[VARIABLE] = tempfile.mkdtemp(prefix="evenhand-")
        self._folder, self._most, self._every = folder(), most, every
        self._left = most
        self.look()
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._go_on, name="room", daemon=True)
        self._thread.start()

    def take(self, size: int) -> bool:
        """Whether there is room for so many bytes; they count as taken until the next look."""
        if size > self._left:
            return False
        self._left -= size
        return True

    def close(self) -> None:
        self._stop.set()
        self._thread.join(10)
        if self._made:
            os.environ.pop(VARIABLE, None)
            shutil.rmtree(self._made, ignore_errors=True)

    def look(self) -> None:
        """Sweeps, and counts what is there."""
        try:
            self._left = self._most - sweep(self._folder, self._most // 2, time.time())
        except OSError as error:
            _log.warning("nothing was swept: %s", error)

    def _go_on(self) -> None:
        while not self._stop.wait(self._every):
            self.look()
