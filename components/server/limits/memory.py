"""Settings of the C library's memory allocator, so that freed memory returns to the system."""

from __future__ import annotations

import contextlib
import ctypes
from typing import Final

_M_MMAP_THRESHOLD: Final = -3
_M_ARENA_MAX: Final = -8
MMAP_THRESHOLD_BYTES: Final = 1 << 20
"""Smallest array, in bytes, for which separate memory pages are allocated."""


def limit_heap_retention() -> None:
    """Make glibc return the memory of large arrays to the system; called before threads start.

    By default glibc soon places even arrays of 32 MB in one heap per thread, and never returns a
    heap with a live object at its end: after a few large views the server would hold about a
    gigabyte of free memory. On systems without glibc this function does nothing.
    """
    with contextlib.suppress(OSError, AttributeError):
        library = ctypes.CDLL("libc.so.6")
        library.mallopt(_M_MMAP_THRESHOLD, MMAP_THRESHOLD_BYTES)
        library.mallopt(_M_ARENA_MAX, 2)
