"""Separate congestion (failures that become more frequent with more calls in flight) from failures
that occur at any load."""

from __future__ import annotations

from collections import deque
from typing import Final

DECREASE_FACTOR: Final = 0.7
"""Factor by which the limit on calls in flight is multiplied at congestion."""
MIN_WINDOW: Final = 16
MAX_WINDOW: Final = 64
CONGESTED_SHARE: Final = 0.3
"""Share of failed calls that counts as congestion, in addition to the share that lower load did not
reduce."""
OVERLOAD_SHARE: Final = 0.6
"""Share of failed calls that counts as congestion in any case."""
MANY_REFUSALS: Final = 6
MAX_MANY_REFUSALS: Final = 12
REFUSAL_WINDOW: Final = 16
"""Number of last calls examined for refusals: from MANY_REFUSALS on they mean a rate limit; fewer
are transient."""


class CongestionWindow:
    """Outcomes of the last calls at the current limit on calls in flight, and their share of
    failures.

    Each decrease of the limit is tested: if the share of failures stays the same at the lower
    limit, the failures do not depend on the load, and the old limit is restored.
    """

    def __init__(self) -> None:
        self.noise_share = 0.0
        """Share of failures that lower load did not reduce."""
        self._outcomes: deque[bool] = deque(maxlen=MAX_WINDOW)
        self._since_check = 0
        self._before: tuple[float, float] | None = None

    def record(self, failed: bool, limit: float) -> float:
        """Record the outcome of a call and return the new limit on calls in flight: lowered after
        congestion, restored if the last decrease did not reduce the failures."""
        self._outcomes.append(failed)
        self._since_check += 1
        size = int(min(max(2 * limit, MIN_WINDOW), MAX_WINDOW))
        recent = list(self._outcomes)[-size:]
        failures = sum(recent)
        if self._since_check >= size and (restored := self._check_window(failures / size)):
            return restored
        threshold = min(CONGESTED_SHARE + self.noise_share, OVERLOAD_SHARE)
        if self._before is not None:  # wait for the result of the last decrease
            threshold = OVERLOAD_SHARE
        if failed and failures >= threshold * size:
            self._before = (failures / len(recent), limit)
            self._clear()
            return max(1.0, limit * DECREASE_FACTOR)
        return limit

    def _check_window(self, share: float) -> float | None:
        """Compare a full window of outcomes with the window before the last decrease of the limit.
        Return the limit before that decrease if the share of failures did not fall, else None."""
        before, self._before = self._before, None
        self._since_check = 0
        self.noise_share += min(0.0, share - self.noise_share) / 8
        if before is None or share >= OVERLOAD_SHARE or share <= _share_between(before[0]):
            return None
        self.noise_share = max(self.noise_share, share)
        self._clear()
        return before[1]

    def _clear(self) -> None:
        self._outcomes.clear()
        self._since_check = 0


def _share_between(share: float) -> float:
    """Return the share of failures above which a decrease of the limit counts as useless.

    It is midway between `share`, observed before the decrease, and the share expected after it if
    every failure was caused by load.
    """
    expected = max(0.0, 1 - (1 - share) / DECREASE_FACTOR)
    return (share + expected) / 2


class RefusalWindow:
    """Refusals (HTTP 429) among the last calls. Few refusals count as transient, many as a rate
    limit."""

    def __init__(self) -> None:
        self.threshold = MANY_REFUSALS
        self._outcomes: deque[bool] = deque(maxlen=REFUSAL_WINDOW)

    def record(self, refused: bool) -> None:
        self._outcomes.append(refused)

    def raise_threshold(self) -> None:
        """Require more refusals before they count as a rate limit, after transient refusals were
        taken for one."""
        self.threshold = min(self.threshold + 3, MAX_MANY_REFUSALS)

    def clear(self) -> None:
        self._outcomes.clear()

    @property
    def is_persistent(self) -> bool:
        return sum(self._outcomes) >= self.threshold
