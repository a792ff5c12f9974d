"""Disk quota and clean-up of temporary files: uploads not yet stored, and exports to download.

Gradio deletes only files that it has registered, after a day. It registers neither interrupted
uploads nor exports, and does not limit the total size, so visitors could fill the disk.
"""

import contextlib
import logging
import os
import shutil
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Final, NamedTuple

from studies import errors, settings

SWEEP_SECONDS: Final = 10.0
"""Seconds between two clean-ups."""
MAX_AGE_SECONDS: Final = 3_600.0
"""Age in seconds at which a file is deleted; earlier if more than half of the quota is used."""
IN_USE_SECONDS: Final = 120.0
"""Age in seconds before which no file is deleted, since it may be in use."""
MAX_FILES: Final = 20_000

_log: Final = logging.getLogger(__name__)


def temp_folder() -> Path:
    """The folder of Gradio's temporary files, which also contains the exports."""
    return Path(settings.TEMP_FOLDER.read() or Path(tempfile.gettempdir()) / "gradio")


class TempFile(NamedTuple):
    path: Path
    bytes: int
    modified: float


def list_temp_files(folder: Path) -> list[TempFile]:
    """All files in a folder and its subfolders, the oldest first."""
    found = []
    for parent, _, names in os.walk(folder):
        for name in names:
            with contextlib.suppress(OSError):  # the file may be deleted by now
                path = Path(parent, name)
                facts = path.lstat()
                found.append(TempFile(path, facts.st_size, facts.st_mtime))
    return sorted(found, key=lambda one: one.modified)


def delete_old_and_sum_bytes(folder: Path, max_bytes: int, now: float) -> int:
    """Delete files of a folder, the oldest first, as long as one of three conditions holds: the
    file is older than MAX_AGE_SECONDS; more than `max_bytes` bytes are left; more than MAX_FILES
    files are left. Files younger than IN_USE_SECONDS always stay. Return the number of bytes left.
    `now`: the present time, in seconds since 1970."""
    files = list_temp_files(folder)
    left, number = sum(one.bytes for one in files), len(files)
    for one in files:
        age = now - one.modified
        if age < IN_USE_SECONDS or (
            age < MAX_AGE_SECONDS and left <= max_bytes and number <= MAX_FILES
        ):
            break
        with contextlib.suppress(OSError):
            one.path.unlink()
            left, number = left - one.bytes, number - 1
            one.path.parent.rmdir()  # only succeeds if the folder is empty
    return left


class TempFileQuota:
    """Limit of `max_bytes` bytes on all temporary files together; a thread deletes old files."""

    def __init__(
        self,
        max_bytes: int,
        every: float = SWEEP_SECONDS,
        has_room: Callable[[], bool] = lambda: True,
    ) -> None:
        """Start the thread, which deletes old files every `every` seconds. `has_room`: function
        that returns whether the store can take further files. If the environment variable for the
        temporary folder is not set, a new folder is made, so that no files of other programs are
        deleted."""
        self._own_folder = ""
        if not settings.TEMP_FOLDER.read():
            self._own_folder = tempfile.mkdtemp(prefix="evenhand-")
            settings.set_environment_value(settings.TEMP_FOLDER, self._own_folder)
        self._folder, self._max_bytes, self._every = temp_folder(), max_bytes, every
        self._free_bytes, self._has_room, self._has_room_now = max_bytes, has_room, True
        self.clean_up()
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._clean_up_loop, name="temp-files", daemon=True)
        self._thread.start()

    def reserve(self, size: int) -> bool:
        """Count `size` bytes as used, until the next clean-up counts the real files; return False,
        and count nothing, if they are not free or the store has no room for further files."""
        if size > self._free_bytes or not self._has_room_now:
            return False
        self._free_bytes -= size
        return True

    def close(self) -> None:
        self._stop.set()
        self._thread.join(10)
        if self._own_folder:
            settings.set_environment_value(settings.TEMP_FOLDER, None)
            shutil.rmtree(self._own_folder, ignore_errors=True)

    def clean_up(self) -> None:
        """Delete expired files and, if more than half of the quota is used or there are more than
        MAX_FILES, the oldest files; count the free bytes anew."""
        try:
            self._has_room_now = self._has_room()
            self._free_bytes = self._max_bytes - delete_old_and_sum_bytes(
                self._folder, self._max_bytes // 2, time.time()
            )
        except (OSError, errors.EvenhandError) as error:
            _log.warning("temporary files could not be deleted: %s", error)

    def _clean_up_loop(self) -> None:
        while not self._stop.wait(self._every):
            self.clean_up()
