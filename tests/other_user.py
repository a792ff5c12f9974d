"""Tests as a user without rights: root may read and write anywhere."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

NOBODY = 65534


@contextmanager
def without_rights() -> Iterator[None]:
    """Act as `nobody` for a while, where the tests run as root."""
    if os.geteuid() != 0:
        yield
        return
    os.seteuid(NOBODY)
    try:
        yield
    finally:
        os.seteuid(0)


def let_others_enter(folder: Path) -> None:
    """Let other users enter a temporary folder and those that pytest made around it; no folder
    of the system is changed."""
    for one in (folder, *folder.parents):
        if one == folder or one.name.startswith(("pytest-", "popen-")):
            one.chmod(0o755)
