"""Settings of the C library's memory allocator, so that freed memory returns to the system."""

import contextlib
import ctypes
from typing import Final

_M_MMAP_THRESHOLD: Final = -3
_M_ARENA_MAX: Final = -8
MMAP_THRESHOLD_BYTES: Final = 1 << 20
"""Minimum bytes of an array that gets memory of its own, returned when the array is deleted."""


def limit_heap_retention() -> None:
    """Make glibc return the memory of deleted large arrays; called before threads start.

    Otherwise the server would hold about a gigabyte of unused memory after a few large views. On
    systems without glibc this function does nothing.
    """
    with contextlib.suppress(OSError, AttributeError):
        library = ctypes.CDLL("libc.so.6")
        library.mallopt(_M_MMAP_THRESHOLD, MMAP_THRESHOLD_BYTES)
        library.mallopt(_M_ARENA_MAX, 2)
