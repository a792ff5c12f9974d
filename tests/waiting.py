"""Waiting for what another thread, process or page does."""

from __future__ import annotations

import socket
import time
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")


def until(check: Callable[[], T], seconds: float = 120.0, pause: float = 0.01) -> T:
    """The first true value of `check`; without one in time, the test fails."""
    end = time.monotonic() + seconds
    while not (found := check()):
        assert time.monotonic() < end, f"waited {seconds:g} s in vain"
        time.sleep(pause)
    return found


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
