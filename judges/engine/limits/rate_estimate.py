"""Estimate of the calls per second that an endpoint accepts, from the calls it refuses.

A limit on the calls in flight cannot keep a rate of 10 calls per second when a call takes 20 ms. At
each refusal the provider's allowance is empty. Therefore the number of calls accepted between two
refusals, divided by the time between the refusals, is the provider's rate limit, even if the
provider allows bursts.
"""

import math
from collections.abc import Sequence
from typing import Final

MIN_RATE: Final = 0.05
MAX_RATE: Final = 1000.0
"""Calls per second; if the estimated limit exceeds this value, the rate is no longer limited."""
FIRST_DECREASE: Final = 0.85
"""Factor by which a refusal lowers a rate that was guessed, not measured."""
DECREASE: Final = 0.97
"""After a refusal, the rate is this multiple of the measured limit."""
TRIAL_AFTER: Final = 10
"""Minimum number of refusals at a limited rate before a much higher rate is tried: 70 % of the rate
before the limit. Each trial doubles the number for the next one."""
DOUBTFUL_SHARE: Final = 0.1
"""Minimum share of refused calls at which the limited rate counts as doubtful: the refusals may
have another cause than the rate."""
TRIAL_FACTOR: Final = 0.7
MIN_TRIAL_REFUSALS: Final = 4
MIN_TRIAL_CALLS: Final = 32
"""Number of accepted calls that show that the endpoint accepts the rate at which they came."""
MIN_MEASURED_CALLS: Final = 5
"""Number of accepted calls between two refusals that are needed to measure a rate."""
OLD_CALLS: Final = 20
GROWTH_FACTOR: Final = 6
"""A rate that was measured precisely with n calls doubles within about GROWTH_FACTOR × n accepted
calls."""
MIN_GROWTH_CALLS: Final = 10
MAX_GROWTH_CALLS: Final = 160
GROWTH_SECONDS: Final = 90.0
PRECISE_RATIO: Final = 1.1
"""A measured limit is precise if the rate allowed before the refusal is below this multiple of the
rate of accepted calls."""


class RateEstimate:
    """The current limit in calls per second: lowered by refusals, raised by accepted calls.

    The rate grows along a cubic curve, as in TCP CUBIC: slowly near the measured limit, so that
    refusals stay rare, and faster above this limit, because the limit may have been lifted or may
    have been caused by other clients.
    """

    def __init__(self) -> None:
        self.rate: float | None = None
        """Limit in calls per second; None if no limit was found, or if it was lifted."""
        self.probing = False
        """Whether a much higher rate is being tried; single refusals are then ignored."""
        self._base = 0.0
        self._growth_calls = float(MIN_GROWTH_CALLS)
        self._unlimited_rate = 0.0
        self._accepted = 0
        self._refused = 0
        self._trial_after = TRIAL_AFTER
        self._measured_calls = 0.0
        self._measured_seconds = 0.0
        self._idle_seconds = 0.0
        self._cooldown = 0.0
        self._window_start = -1.0
        self._window_successes = 0

    def to_numbers(self) -> list[float]:
        """Return all attributes as numbers (None as NaN), to be shared with other processes."""
        return [math.nan if value is None else float(value) for value in vars(self).values()]

    def set_from_numbers(self, values: Sequence[float]) -> None:
        """Replace all attributes by the numbers that `to_numbers` returned in another process."""
        for name, value in zip(vars(self), values, strict=False):
            setattr(self, name, value)
        self.rate = None if math.isnan(values[0]) else values[0]
        self.probing = bool(values[1])

    def start_measuring(self, now: float) -> None:
        """Begin to count accepted calls and seconds, unless that has begun since the last
        refusal."""
        if self._window_start < 0:
            self._window_start = now

    def record_success(self, now: float) -> None:
        self._window_successes += 1
        if self.rate is None:
            return
        if self.probing:
            if self._window_successes >= MIN_TRIAL_CALLS:
                self._remove_limit()
            return
        flat_part = (1 - DECREASE) ** (1 / 3)
        ahead = self._window_successes / self._growth_calls - flat_part
        self.rate = max(MIN_RATE, self._base * (1 + ahead**3))
        if self.rate > MAX_RATE:
            self._remove_limit()

    def record_refusal(self, now: float, guessed_rate: float, *, wait: float = 0.0) -> None:
        """Lower the rate after a refused call. `wait`: seconds for which all calls are now held
        back. `guessed_rate`: calls per second to assume if no rate was measured yet.

        The first refusal sets the rate to at most 85 % of `guessed_rate`. A later one sets it to
        97 % of the measured limit; if too few calls were accepted to measure a limit, to at most
        85 % of the current rate. If calls are often refused even at a much lower rate, the limit
        is in doubt, and a much higher rate is tried instead. During such a trial refusals are only
        counted; it ends when they outnumber the accepted calls and are MIN_TRIAL_REFUSALS or
        more."""
        calls, seconds = self._window_successes, max(now - self._window_start, 1e-3)
        if self.probing:
            self._refused += 1
            if self._refused >= MIN_TRIAL_REFUSALS and self._refused > calls:
                self._end_trial(now)
            return
        self._window_start, self._window_successes = now, 0
        if self.rate is None:
            self._unlimited_rate = calls / seconds if calls >= MIN_TRIAL_CALLS else guessed_rate
            measured = calls / seconds if calls >= MIN_MEASURED_CALLS else guessed_rate
            self._set_guessed_rate(min(guessed_rate, math.sqrt(guessed_rate * measured)))
            self._cooldown = wait
            return
        self._refused += 1
        self._accepted += calls
        if self._refusals_may_have_other_cause():
            self._start_trial()
            return
        self._add_interval(calls, seconds)
        self._cooldown = wait
        if self._measured_calls < MIN_MEASURED_CALLS:
            self._set_guessed_rate(min(self.rate, (calls + 1) / seconds if calls else self.rate))
        else:
            self._set_measured_rate()

    def _add_interval(self, calls: int, seconds: float) -> None:
        """Add the accepted calls and the seconds between two refusals to the measurement. Once
        enough calls are measured, older intervals count half, because limits change."""
        weight = 0.5 if self._measured_calls >= OLD_CALLS else 1.0
        self._measured_calls = weight * self._measured_calls + calls
        self._measured_seconds = weight * self._measured_seconds + seconds
        self._idle_seconds = weight * self._idle_seconds + min(self._cooldown, seconds)

    def _refusals_may_have_other_cause(self) -> bool:
        """Whether the refusals may have another cause than the rate of calls: many calls are
        refused, although the rate is less than half of the rate before the first refusal."""
        assert self.rate is not None
        calls = self._accepted + self._refused
        often = self._refused >= max(self._trial_after, DOUBTFUL_SHARE * calls)
        return often and self.rate < self._unlimited_rate / 2

    def _start_trial(self) -> None:
        """Try 70 % of the rate that was used before the first refusal. Double the number of
        refusals after which the next trial starts."""
        self._accepted, self._refused, self._trial_after = 0, 0, 2 * self._trial_after
        self.probing, self.rate = True, TRIAL_FACTOR * self._unlimited_rate

    def _end_trial(self, now: float) -> None:
        """Return to 97 % of the limit assumed before the trial, because calls at the higher rate
        were refused."""
        self.probing, self.rate = False, DECREASE * self._base
        self._window_start, self._window_successes, self._refused = now, 0, 0

    def _set_guessed_rate(self, rate: float) -> None:
        self._base = self.rate = max(MIN_RATE, FIRST_DECREASE * rate)
        self._growth_calls = float(MIN_GROWTH_CALLS)

    def _set_measured_rate(self) -> None:
        """Estimate the provider's limit from the measured calls, and set the rate to 97 % of it.

        The limit lies between two values: accepted calls divided by the whole time, and (about)
        accepted calls divided by the time in which calls were not held back after a refusal. A
        value between the two is used."""
        assert self.rate is not None
        accepted = self._measured_calls / self._measured_seconds
        idle_share = self._idle_seconds / self._measured_seconds
        precise = self.rate < PRECISE_RATIO * accepted
        # At a fast rate too high an estimate costs a small share of the calls. An imprecise one is
        # too low if the calls were slow for most of the interval.
        fast = accepted > 1
        reach, part = (1.5 if fast else 1.2), (0.8 if fast and not precise else 0.5)
        highest = max(accepted, min(self.rate, reach * accepted / max(1 - idle_share, 0.1)))
        self._base = max(MIN_RATE, accepted + part * (highest - accepted))
        precision = GROWTH_FACTOR if precise else 2
        longest = max(MAX_GROWTH_CALLS, GROWTH_SECONDS * accepted)
        self._growth_calls = min(max(precision * self._measured_calls, MIN_GROWTH_CALLS), longest)
        self.rate = DECREASE * self._base

    def _remove_limit(self) -> None:
        self.rate, self.probing = None, False
        self._accepted, self._refused, self._trial_after = 0, 0, TRIAL_AFTER
        self._measured_calls = self._measured_seconds = self._idle_seconds = 0.0
