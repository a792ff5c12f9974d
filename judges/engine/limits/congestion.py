"""Distinguish congestion (failures that become more frequent with more calls in flight) from
failures that occur at any load, and a rate limit from single refusals (HTTP 429)."""

import math
from collections import deque
from typing import Final

DECREASE_FACTOR: Final = 0.7
"""Factor by which the limit on calls in flight is multiplied at congestion."""
MIN_WINDOW: Final = 16
MAX_WINDOW: Final = 64
CONGESTED_SHARE: Final = 0.3
"""Failures count as congestion if the share of failed calls reaches this value plus `noise_share`,
the share of calls that fail at any load."""
OVERLOAD_SHARE: Final = 0.6
"""If the share of failed calls reaches this value, failures always count as congestion."""
MANY_REFUSALS: Final = 10
MAX_MANY_REFUSALS: Final = 24
REFUSAL_WINDOW: Final = 32
"""Number of latest calls among which refusals are counted; many refusals mean a rate limit, a few
are transient."""
CHANCE: Final = 1e-6
"""Refusals mean a rate limit if so many or more of them have a probability below this value, given
the share of refusals among earlier calls."""
MIN_ACCEPTED: Final = 4
"""Number of accepted trial calls (TrialCalls) after which all other calls may start again."""
PRIOR_CALLS: Final = 50.0
PRIOR_SHARE: Final = 0.02
"""Share of refusals assumed at the start, with the weight of PRIOR_CALLS observed calls."""


class CongestionWindow:
    """Outcomes (success or failure) of the latest calls, from which congestion is detected and the
    limit on calls in flight is lowered.

    Each decrease is tested: if calls fail about as often at the lower limit, the failures do not
    depend on the load, and the limit before the decrease is restored.
    """

    def __init__(self) -> None:
        self.noise_share = 0.0
        """Estimated share of calls that fail at any load, however few calls are in flight."""
        self._outcomes: deque[bool] = deque(maxlen=MAX_WINDOW)
        self._since_check = 0
        self._before: tuple[float, float] | None = None

    def record(self, failed: bool, limit: float) -> float:
        """Record the outcome of a call and return the new limit on calls in flight: the present
        `limit`, lowered after congestion, or restored if the last decrease did not reduce the
        failures."""
        self._outcomes.append(failed)
        self._since_check += 1
        size = int(min(max(2 * limit, MIN_WINDOW), MAX_WINDOW))
        recent = list(self._outcomes)[-size:]
        failures = sum(recent)
        if self._since_check >= size and (restored := self._limit_to_restore(failures / size)):
            return restored
        threshold = min(CONGESTED_SHARE + self.noise_share, OVERLOAD_SHARE)
        if self._before is not None:  # wait for the result of the last decrease
            threshold = OVERLOAD_SHARE
        if failed and failures >= threshold * size:
            self._before = (failures / len(recent), limit)
            self._clear()
            return max(1.0, limit * DECREASE_FACTOR)
        return limit

    def _limit_to_restore(self, share: float) -> float | None:
        """Test whether the last decrease of the limit helped. `share` is the share of calls that
        failed since that decrease. If this is hardly lower than before, and below OVERLOAD_SHARE,
        return the limit before the decrease, to be restored; else None. Also update the
        estimated share of failures that do not depend on the load."""
        before, self._before = self._before, None
        self._since_check = 0
        self.noise_share += min(0.0, share - self.noise_share) / 8
        if (
            before is None
            or share >= OVERLOAD_SHARE
            or share <= _max_share_if_decrease_helped(before[0])
        ):
            return None
        self.noise_share = max(self.noise_share, share)
        self._clear()
        return before[1]

    def _clear(self) -> None:
        self._outcomes.clear()
        self._since_check = 0


def _max_share_if_decrease_helped(share: float) -> float:
    """Return a threshold: lowering the limit on calls in flight counts as useful if the share of
    failed calls is at most this value afterwards.

    It is midway between `share`, the share of failures before, and the share expected afterwards
    if every failure was caused by load."""
    expected = max(0.0, 1 - (1 - share) / DECREASE_FACTOR)
    return (share + expected) / 2


class RefusalWindow:
    """The latest calls and which of them were refused (HTTP 429). A few refusals are transient.
    Many, compared with the share of refusals among earlier calls, mean a rate limit."""

    def __init__(self) -> None:
        self._outcomes: deque[bool] = deque(maxlen=REFUSAL_WINDOW)
        self._calls_before = PRIOR_CALLS
        self._refusals_before = PRIOR_CALLS * PRIOR_SHARE

    def record(self, refused: bool) -> None:
        if len(self._outcomes) == REFUSAL_WINDOW:
            self._calls_before += 1
            self._refusals_before += self._outcomes[0]
        self._outcomes.append(refused)

    def clear(self) -> None:
        """Delete the recorded outcomes, after a rate limit was measured from them."""
        self._outcomes.clear()

    @property
    def shows_rate_limit(self) -> bool:
        """Whether there are so many refusals that they mean a rate limit."""
        return sum(self._outcomes) >= _min_refusals_for_rate_limit(
            self._refusals_before / self._calls_before
        )


def _min_refusals_for_rate_limit(share: float) -> int:
    """Return the number of refusals, among the latest REFUSAL_WINDOW calls, that shows a rate
    limit. It is the smallest number reached by chance with a probability below CHANCE if each
    call is refused with probability `share`; at least MANY_REFUSALS, at most MAX_MANY_REFUSALS."""
    tail, count = 0.0, REFUSAL_WINDOW + 1
    while count > MANY_REFUSALS and tail < CHANCE:
        count -= 1
        chosen = math.comb(REFUSAL_WINDOW, count)
        tail += chosen * share**count * (1 - share) ** (REFUSAL_WINDOW - count)
    return min(count + (tail >= CHANCE), MAX_MANY_REFUSALS)


class TrialCalls:
    """Trial calls, made one at a time after a first refusal (HTTP 429), while all other calls wait.

    If the endpoint accepts them, it has no rate limit, and only the refused call has to wait
    longer.
    """

    def __init__(self) -> None:
        self.active = False
        self._in_flight: float | None = None
        self._accepted = 0

    @property
    def may_start(self) -> bool:
        return self.active and self._in_flight is None

    def start(self) -> None:
        """Begin trial calls, after the first refusal in a long time."""
        self.active, self._in_flight, self._accepted = True, None, 0

    def stop(self) -> None:
        self.active = False

    def record_start(self, started: float) -> None:
        self._in_flight = started

    def record_trial_call_end(self, started: float, *, accepted: bool) -> bool:
        """Record the end of a trial call. Return True if enough trial calls were accepted now, so
        that all other calls may start again. False otherwise, also if the call that started at
        `started` is not the trial call in flight."""
        if not self.active or started != self._in_flight:
            return False
        self._in_flight = None
        self._accepted += accepted
        self.active = self._accepted < MIN_ACCEPTED
        return not self.active
