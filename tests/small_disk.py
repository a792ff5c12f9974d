"""A small file system in memory, to be filled."""

from __future__ import annotations

import contextlib
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest


@contextlib.contextmanager
def mounted(folder: Path) -> Iterator[Path]:
    """64 MB in memory; only root may mount them."""
    folder.mkdir(exist_ok=True)
    command = ["mount", "-t", "tmpfs", "-o", "size=64m", "tmpfs", str(folder)]
    try:
        subprocess.run(command, check=True, capture_output=True)
    except (OSError, subprocess.CalledProcessError) as error:
        pytest.skip(f"NO MOUNT HERE: a full file system is not tested ({error})")
    try:
        yield folder
    finally:
        subprocess.run(["umount", "-l", str(folder)], check=True)


@contextlib.contextmanager
def filled(folder: Path) -> Iterator[None]:
    """Not a block is left, until it ends."""
    ballast = folder / "ballast"
    for piece in (bytes(65536), b"x"):
        with contextlib.suppress(OSError), ballast.open("ab", buffering=0) as out:
            while out.write(piece):
                pass
    try:
        yield
    finally:
        ballast.unlink()
