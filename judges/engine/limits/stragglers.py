"""Detection of calls that take far longer than usual for their judge and prompt length.

A slow call stays open but no longer counts as in flight. Otherwise it would, until its deadline,
take the place of one of the few calls allowed at once.
"""

import statistics
from collections import deque
from dataclasses import dataclass, field
from typing import Final

MIN_CALLS: Final = 10
"""Number of successful calls needed before a call can count as slow."""
RECENT_CALLS: Final = 100
SLOW_FACTOR: Final = 4.0
"""A call is slow if it takes longer than this multiple of the 90 % quantile of the durations, and
longer than MIN_SLOW_SECONDS."""
MIN_SLOW_SECONDS: Final = 2.0


@dataclass(slots=True)
class CallDurations:
    """Durations of the most recent successful calls of one judge, by the length of their prompts.
    Lengths are grouped by powers of four: prompts of 2,048 to 8,191 characters are one group."""

    _seconds: deque[float] = field(default_factory=lambda: deque(maxlen=RECENT_CALLS))
    _by_length: dict[int, deque[float]] = field(default_factory=dict)

    def record(self, seconds: float, length: int = 0) -> None:
        self._seconds.append(seconds)
        group = self._by_length.setdefault(_prompt_length_group(length), deque(maxlen=RECENT_CALLS))
        group.append(seconds)

    @property
    def median_duration_seconds(self) -> float:
        """The median duration in seconds; 0 if no call was recorded."""
        return statistics.median(tuple(self._seconds)) if self._seconds else 0.0

    def slow_after_seconds(self, length: int = 0) -> float | None:
        """Return the seconds after which a call of this prompt length counts as slow; None after
        too few calls. With few calls of this length, calls of all lengths are used."""
        seconds = self._by_length.get(_prompt_length_group(length), self._seconds)
        if len(seconds) < MIN_CALLS:
            seconds = self._seconds
        if len(seconds) < MIN_CALLS:
            return None
        nine_of_ten = sorted(seconds)[int(0.9 * len(seconds))]
        return max(MIN_SLOW_SECONDS, SLOW_FACTOR * nine_of_ten)


def _prompt_length_group(length: int) -> int:
    return length.bit_length() // 2


def describe_slow_calls(ages: list[float], usual: float) -> str:
    """Return a line such as "2 calls are slow: 95 s, usual 4 s". `ages`: seconds since the start of
    each slow call, of which the largest is shown; `usual`: the median duration in seconds."""
    count = "1 call is" if len(ages) == 1 else f"{len(ages)} calls are"
    return f"{count} slow: {max(ages):.0f} s, usual {usual:.2g} s"
