"""Estimate of how many more requests a provider accepts now, from its reply headers."""

import math
from bisect import bisect_right
from typing import Final

from judges.models.interface import RequestQuota

MAX_START_TIMES: Final = 4096
MAX_WAIT: Final = 60.0
"""Maximum wait in seconds that reply headers can cause, because headers may be wrong; a refusal can
cause a longer one."""


class QuotaBucket:
    """Estimate of the requests left now: the number last reported, minus calls started since, plus
    the requests that became available again."""

    def __init__(self) -> None:
        self._left = math.inf
        self._refill_rate = math.inf
        self._updated = 0.0
        self._start_times: list[float] = []

    def record_start(self, now: float) -> None:
        self._left -= 1
        self._start_times.append(now)
        if len(self._start_times) > MAX_START_TIMES:
            del self._start_times[: MAX_START_TIMES // 2]

    def update(self, quota: RequestQuota, started: float, now: float) -> None:
        """Store the numbers from the headers of a reply whose call started at `started`. Calls
        started later are subtracted, because the numbers in the headers do not include them."""
        later = len(self._start_times) - bisect_right(self._start_times, started)
        self._left, self._refill_rate = quota.remaining - later, quota.refill_rate
        self._updated = now

    def next_start(self, now: float) -> float:
        """Return the earliest time at which the provider is expected to accept another request, at
        most MAX_WAIT seconds from now; 0 if a request may be sent now."""
        if math.isinf(self._refill_rate):
            return 0.0
        self._left += (now - self._updated) * self._refill_rate
        self._updated = now
        if self._left >= 1:
            return 0.0
        return now + min(MAX_WAIT, (1 - self._left) / self._refill_rate)
