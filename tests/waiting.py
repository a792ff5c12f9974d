"""Waiting for what another thread, process or page does."""

from __future__ import annotations

import socket
import time
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")


SHORTEST_PAUSE, LONGEST_PAUSE = 0.01, 0.2


def until(check: Callable[[], T], seconds: float = 120.0) -> T:
    """The first true value of `check`; without one in time, the test fails.

    The pause between two checks is a tenth of the time waited: on a page, a check takes
    milliseconds of three processes."""
    start = time.monotonic()
    while not (found := check()):
        waited = time.monotonic() - start
        assert waited < seconds, f"waited {seconds:g} s in vain"
        time.sleep(min(max(waited / 10, SHORTEST_PAUSE), LONGEST_PAUSE))
    return found


def settled(read: Callable[[], T], pause: float = 0.3) -> T:
    """The value that two readings in a row have in common."""
    values = [read()]

    def same() -> bool:
        time.sleep(pause)
        values.append(read())
        return values[-1] == values[-2]

    until(same)
    return values[-1]


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
