"""Cost of work as a comparison, so that no test depends on the speed of the machine."""

from __future__ import annotations

import signal
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Final

CHECKED_ROUNDS: Final = 15
STEP: Final = 8
"""Ratio of the two inputs of `is_linear`: linear work costs 8 times, quadratic 64 times as much, so
that no load of the machine makes one look like the other."""
MOST_OF_STEP, CLEAR_OF_STEP = 22.0, 40.0
"""The first is halfway between 8 and 64; beyond the second, one round is enough."""
MIN_LIMIT: Final = 0.05
"""Seconds of CPU below which no work is stopped: the clock is coarse."""


def cpu_seconds(work: Callable[[], object]) -> float:
    """Seconds of CPU that the work takes this thread."""
    began = time.thread_time()
    work()
    return time.thread_time() - began


class TooSlow(Exception):
    """An expression used up its time."""


@contextmanager
def cpu_limit(seconds: float) -> Iterator[None]:
    """Raise after so many seconds of CPU: the expression engine checks for signals."""

    def stop(*_: object) -> None:
        raise TooSlow

    before = signal.signal(signal.SIGVTALRM, stop)
    signal.setitimer(signal.ITIMER_VIRTUAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)


def is_linear(small: Callable[[], object], large: Callable[[], object]) -> bool:
    """Whether work on `STEP` times the input grows like the input and not like its square. The
    large work is stopped where it has clearly taken too long."""
    best_small = best_large = float("inf")
    for _ in range(CHECKED_ROUNDS):
        best_small = min(best_small, cpu_seconds(small))
        try:
            with cpu_limit(max(MIN_LIMIT, CLEAR_OF_STEP * best_small)):
                best_large = min(best_large, cpu_seconds(large))
        except TooSlow:
            return False
        if best_large <= MOST_OF_STEP * best_small:
            return True
    return False


def count_calls(work: Callable[[], object]) -> int:
    """Number of function calls of the work in this thread, calls of C functions included."""
    calls = 0

    def count(frame: FrameType, event: str, argument: object) -> None:
        nonlocal calls
        calls += event in ("call", "c_call")

    before = sys.getprofile()
    sys.setprofile(count)
    try:
        work()
    finally:
        sys.setprofile(before)
    return calls
