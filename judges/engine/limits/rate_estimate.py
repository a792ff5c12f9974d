"""Estimate of the calls per second that an endpoint accepts, from the calls it refuses.

A limit on the calls in flight cannot keep a rate of 10 calls per second when a call takes 20 ms. At
each refusal the provider's allowance is empty. The calls accepted between two refusals, divided by
the time between them, therefore give its rate limit, whatever bursts it allows.
"""

from __future__ import annotations

import math
from typing import Final

MIN_RATE: Final = 0.05
MAX_RATE: Final = 1000.0
"""Calls per second above which the rate limit is removed."""
FIRST_DECREASE: Final = 0.85
"""Factor by which a refusal lowers a rate that is only a guess so far."""
DECREASE: Final = 0.97
"""Factor by which a refusal lowers a measured rate."""
PROBE_AFTER: Final = 4
"""Higher rates are tried when refusals below the measured rate outnumber those above it by this
many."""
MIN_MEASURED_CALLS: Final = 5
"""Accepted calls between two refusals that are needed to measure a rate."""
OLD_CALLS: Final = 20
GROWTH_FACTOR: Final = 6
"""A rate measured with n calls doubles within this factor times n accepted calls."""
MIN_GROWTH_CALLS: Final = 10
MAX_GROWTH_CALLS: Final = 160
GROWTH_SECONDS: Final = 90.0
PRECISE_RATIO: Final = 1.1
"""A measurement counts as precise if the rate at the refusal is below this multiple of the accepted
rate."""


class RateEstimate:
    """The current limit in calls per second: lowered by refusals, raised by accepted calls.

    The rate grows along a cubic curve, as in TCP CUBIC: slowly near the measured limit, so that
    refusals stay rare, and faster beyond it, because the limit may have been lifted or may have
    been caused by other clients.
    """

    def __init__(self) -> None:
        self.rate: float | None = None
        """Calls per second; None: no limit found so far, or it was lifted."""
        self.probing = False
        """Whether single refusals are ignored, because they also occurred at rates below the
        measured limit and so do not depend on the rate."""
        self._base = 0.0
        self._growth_calls = float(MIN_GROWTH_CALLS)
        self._low_refusals = 0
        self._measured_calls = 0.0
        self._measured_seconds = 0.0
        self._idle_seconds = 0.0
        self._cooldown = 0.0
        self._window_start = -1.0
        self._window_successes = 0

    def start_window(self, now: float) -> None:
        if self._window_start < 0:
            self._window_start = now

    def record_success(self, now: float) -> None:
        self._window_successes += 1
        if self.rate is None:
            return
        flat_part = (1 - DECREASE) ** (1 / 3)
        ahead = self._window_successes / self._growth_calls - flat_part
        self.rate = max(MIN_RATE, self._base * (1 + ahead**3))
        if self.rate > MAX_RATE:
            self.rate, self.probing = None, False
            self._clear_measurement()

    def record_refusal(
        self, now: float, guess: float, *, wait: float = 0.0, isolated: bool = False
    ) -> None:
        """Lower the rate after a refusal: to 97 % of the measured limit, or to 85 % of the lowest
        guess if too few calls were accepted to measure it.

        `wait`: the cool-down that follows, in seconds. `isolated`: few of the last calls were
        refused.
        """
        calls, seconds = self._window_successes, max(now - self._window_start, 1e-3)
        if isolated and self._is_independent_of_rate():
            return
        self._window_start, self._window_successes, self.probing = now, 0, False
        if self.rate is None:
            measured = calls / seconds if calls >= MIN_MEASURED_CALLS else guess
            self._set_guess(min(guess, math.sqrt(guess * measured)))
            self._cooldown = wait
            return
        self._add_interval(calls, seconds)
        self._cooldown = wait
        if self._measured_calls < MIN_MEASURED_CALLS:
            self._set_guess(min(self.rate, (calls + 1) / seconds if calls else self.rate))
        else:
            self._set_measured()

    def _add_interval(self, calls: int, seconds: float) -> None:
        """Add the accepted calls and the seconds between two refusals. Once enough calls are
        measured, older intervals count half, because limits change."""
        weight = 0.5 if self._measured_calls >= OLD_CALLS else 1.0
        self._measured_calls = weight * self._measured_calls + calls
        self._measured_seconds = weight * self._measured_seconds + seconds
        self._idle_seconds = weight * self._idle_seconds + min(self._cooldown, seconds)

    def _is_independent_of_rate(self) -> bool:
        """Return whether refusals seem not to depend on the rate: most came below the measured
        limit. If so, start to try higher rates instead of lower ones."""
        if self.probing:
            return True
        measured = self._measured_calls >= MIN_MEASURED_CALLS
        below = measured and self.rate is not None and self.rate < self._base
        self._low_refusals = max(0, self._low_refusals + (1 if below else -1))
        if self._low_refusals < PROBE_AFTER:
            return False
        self._low_refusals, self.probing = 0, True
        self._base, self._growth_calls = 2 * self._base, float(MIN_GROWTH_CALLS)
        self._window_successes = 0
        self._clear_measurement()
        return True

    def _set_guess(self, rate: float) -> None:
        self._base = self.rate = max(MIN_RATE, FIRST_DECREASE * rate)
        self._growth_calls = float(MIN_GROWTH_CALLS)

    def _set_measured(self) -> None:
        """Set the limit midway between the lowest and the highest rate that would explain the
        refusals.

        The lowest is the rate of accepted calls. The highest is that rate outside cool-downs, which
        is the limit of an endpoint without bursts: it accepts no extra calls after a cool-down.
        """
        assert self.rate is not None
        accepted = self._measured_calls / self._measured_seconds
        idle_share = self._idle_seconds / self._measured_seconds
        # At fast rates an estimate that is too high costs only a small share of the calls.
        reach = 1.5 if accepted > 1 else 1.2
        highest = max(accepted, min(self.rate, reach * accepted / max(1 - idle_share, 0.1)))
        self._base = max(MIN_RATE, (accepted + highest) / 2)
        precision = GROWTH_FACTOR if self.rate < PRECISE_RATIO * accepted else 2
        longest = max(MAX_GROWTH_CALLS, GROWTH_SECONDS * accepted)
        self._growth_calls = min(max(precision * self._measured_calls, MIN_GROWTH_CALLS), longest)
        self.rate = DECREASE * self._base

    def _clear_measurement(self) -> None:
        self._measured_calls = self._measured_seconds = self._idle_seconds = 0.0
