"""Memory that goes back to the system when a large table is done with."""

from __future__ import annotations

import contextlib
import ctypes
from typing import Final

_M_MMAP_THRESHOLD: Final = -3
_M_ARENA_MAX: Final = -8
MMAP_THRESHOLD_BYTES: Final = 1 << 20
"""Bytes from which an array gets pages of its own."""


def limit_heap_retention() -> None:
    """Before threads begin. The C library would learn to take arrays of up to 32 MB from a heap for
    each thread, and a heap with one small thing at its end is never given back: a server that has
    drawn a few large views would hold a gigabyte of nothing. Other systems have other libraries,
    and nothing happens there."""
    with contextlib.suppress(OSError, AttributeError):
        library = ctypes.CDLL("libc.so.6")
        library.mallopt(_M_MMAP_THRESHOLD, MMAP_THRESHOLD_BYTES)
        library.mallopt(_M_ARENA_MAX, 2)
