"""Cost of work as a comparison, so that no test depends on the speed of the machine."""

from __future__ import annotations

import signal
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Final

TWICE: Final = 2.5
"""The most that twice the input may cost: linear work costs twice, quadratic four times as much."""
CLEAR: Final = 3.0
"""A ratio that needs no long check."""
LEAST_ROUNDS, CHECKED_ROUNDS = 2, 15
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


def growth(small: Callable[[], object], large: Callable[[], object]) -> float:
    """CPU time of the large work divided by that of the small work, each the best of several
    rounds. Load adds time and never takes any away: above `TWICE` the rounds go on for 10 s of CPU,
    or for 2 s if the ratio is clear."""
    best_small = best_large = ratio = float("inf")
    rounds, spent = 0, 0.0
    while rounds < LEAST_ROUNDS or (
        ratio > TWICE and (rounds < CHECKED_ROUNDS or spent < (2 if ratio > CLEAR else 10))
    ):
        times = cpu_seconds(small), cpu_seconds(large)
        best_small, best_large = min(best_small, times[0]), min(best_large, times[1])
        rounds, spent, ratio = rounds + 1, spent + sum(times), best_large / best_small
    return ratio


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
