"""Rate limit of one endpoint: calls in flight, calls per second, cool-downs after a refusal."""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import Callable
from typing import Final

START_LIMIT: Final = 20
"""Maximum calls in flight at the start."""
DECREASE_FACTOR: Final = 0.7
"""Factor by which congestion lowers the maximum number of calls in flight."""
RATE_DECREASE_FACTOR: Final = 0.85
FIRST_COOLDOWN: Final = 0.5
MAX_COOLDOWN: Final = 30.0
MIN_WINDOW_CALLS: Final = 10
MIN_MEASURED_CALLS: Final = 5
"""Successful calls needed to measure a rate."""
CALM_SECONDS: Final = 30.0
"""Seconds without a refusal after which the rate grows fast again."""
MIN_RATE: Final = 0.05
MAX_RATE: Final = 1000.0
"""Calls per second above which the rate is no longer limited."""


class RateEstimate:
    """Estimate of the calls per second that an endpoint accepts, from its refusals.

    Limiting the calls in flight cannot keep a limit of 10 per second when a call takes 20 ms. After
    the first refusal the rate doubles per second until the next refusal. From then on it grows by
    10 % per second, and by 1 % near the refused rate. After half a minute without a refusal it
    doubles again, because the refusal may have been caused by other clients. At rates below
    MIN_WINDOW_CALLS the growth is per MIN_WINDOW_CALLS successful calls instead of per second.
    """

    def __init__(self) -> None:
        self.rate: float | None = None
        """Calls per second; None: no refusal so far, or the limit was lifted."""
        self._refused_rate = 0.0
        self._confirmed = False
        self._window_start = -1.0
        self._window_successes = 0

    def start_window(self, now: float) -> None:
        if self._window_start < 0:
            self._window_start = now

    def record_success(self, now: float) -> None:
        self._window_successes += 1
        if self.rate is None:
            return
        self.rate *= 1 + self._growth_rate(now) / max(MIN_WINDOW_CALLS, self.rate)
        if self.rate > MAX_RATE:
            self.rate, self._confirmed = None, False

    def record_refusal(self, now: float, guess: float, resume_at: float) -> None:
        """Lower the rate to 85 % of the current one (`guess` if there is none), or to 85 % of the
        rate measured since the last refusal if that is lower."""
        measured = self._window_successes / max(now - self._window_start, 1e-3)
        rates = [
            self.rate or guess,
            *([measured] if self._window_successes >= MIN_MEASURED_CALLS else []),
        ]
        self._confirmed = self.rate is not None
        self._refused_rate = min(rates)
        self.rate = max(MIN_RATE, RATE_DECREASE_FACTOR * self._refused_rate)
        self._window_start, self._window_successes = resume_at, 0

    def _growth_rate(self, now: float) -> float:
        assert self.rate is not None
        ratio = self.rate / self._refused_rate
        if not self._confirmed or ratio > 1.5 or now - self._window_start > CALM_SECONDS:
            return 1.0
        return 0.01 if 0.9 < ratio < 1.1 else 0.1


class EndpointLimiter:
    """Limits the calls to one endpoint; shared by all workers and runs that use it.

    The limit is the maximum number of calls in flight. Until the first congestion it doubles after
    as many successful calls as the limit; then it grows by 1 instead, and each episode of
    congestion multiplies it by 0.7. After an HTTP 429 with Retry-After no call starts until that
    time is over.
    """

    def __init__(self, ceiling: int, clock: Callable[[], float] = time.monotonic) -> None:
        self.ceiling = ceiling
        self.limit = float(min(START_LIMIT, ceiling))
        self.in_flight = 0
        self.rate_estimate = RateEstimate()
        self._clock = clock
        self._doubling = True
        self._clean_calls = 0
        self._refusals = 0
        self._episode_start = -1.0
        self._cooldown_end = 0.0
        self._next_start = 0.0
        self._waiters: deque[asyncio.Future[None]] = deque()
        self._timer: asyncio.TimerHandle | None = None

    @property
    def cooldown_left(self) -> float:
        """Seconds until a call may start again."""
        return max(0.0, self._cooldown_end - self._clock())

    @property
    def throttled_rate(self) -> float | None:
        """The rate in calls per second, if calls wait because of the rate alone; else None."""
        waiting = bool(self._waiters) and self.in_flight < int(self.limit)
        return self.rate_estimate.rate if waiting else None

    async def acquire(self, closed: Callable[[], bool]) -> float | None:
        """Wait until a call may start; return its start time, to be passed to `release`.

        Returns None once `closed` is true: a cool-down of minutes must not delay a stop or a pause.
        """
        while not closed():
            if (started := self._try_acquire()) is not None:
                return started
            await self._wait_turn()
        self._wake_next()  # pass the unused turn to the next waiter
        return None

    def raise_ceiling(self, ceiling: int) -> None:
        """Allow more calls in flight, for another run at this endpoint."""
        self.ceiling = max(self.ceiling, ceiling)
        self.limit = (
            max(self.limit, float(min(START_LIMIT, self.ceiling))) if self._doubling else self.limit
        )

    def lower(self, ceiling: int) -> None:
        """Allow fewer calls in flight than the endpoint accepts, as the user asked; the next run at
        this endpoint may raise the ceiling again."""
        self.ceiling = max(1, min(self.ceiling, ceiling))
        self.limit = min(self.limit, float(self.ceiling))

    def release(
        self,
        started: float,
        *,
        congested: bool = False,
        neutral: bool = False,
        limited: bool = False,
        wait: float | None = None,
    ) -> None:
        """End a call and adapt the limits to its outcome; a `neutral` outcome changes none.

        `limited`: the endpoint refused by its rate limit (HTTP 429). `wait`: the seconds it demands
        before the next call.
        """
        self.in_flight -= 1
        new_episode = congested and started > self._episode_start
        if congested:
            self._record_congestion(new_episode)
        elif not neutral:
            self._record_success()
        if limited and new_episode:
            wait = self._default_cooldown() if wait is None else wait
            self.rate_estimate.record_refusal(
                self._clock(), self.limit / max(wait, 1.0), self._clock() + wait
            )
        if wait:
            self._cooldown_end = max(self._cooldown_end, self._clock() + wait)
        self._wake_next()

    def wake_waiters(self) -> None:
        """Wake all waiting calls to check again whether their run was stopped or paused."""
        while self._waiters:
            _wake_waiter(self._waiters.popleft())

    def _try_acquire(self) -> float | None:
        now = self._clock()
        if now < self._opens_at() or self.in_flight >= int(self.limit):
            return None
        self.in_flight += 1
        self.rate_estimate.start_window(now)
        if self.rate_estimate.rate is not None:
            self._next_start = max(now, self._next_start) + 1 / self.rate_estimate.rate
            self._wake_next()
        return now

    def _opens_at(self) -> float:
        next_start = self._next_start if self.rate_estimate.rate is not None else 0.0
        return max(self._cooldown_end, next_start)

    def _record_success(self) -> None:
        self._clean_calls += 1
        self._refusals = 0
        self.rate_estimate.record_success(self._clock())
        if self._clean_calls >= self.limit and self.limit < self.ceiling:
            self._clean_calls = 0
            self.limit = min(self.ceiling, self.limit * 2 if self._doubling else self.limit + 1)

    def _record_congestion(self, new_episode: bool) -> None:
        """Lower the limit once per episode of congestion: calls that started before the last
        decrease belong to the same episode."""
        self._doubling, self._clean_calls = False, 0
        if new_episode:
            self.limit = max(1.0, self.limit * DECREASE_FACTOR)
            self._episode_start = self._clock()

    def _default_cooldown(self) -> float:
        """Return the cool-down after an HTTP 429 that states no time: half a second, doubled until
        a call succeeds."""
        self._refusals += 1
        return float(min(MAX_COOLDOWN, FIRST_COOLDOWN * 2 ** (self._refusals - 1)))

    async def _wait_turn(self) -> None:
        future = asyncio.get_running_loop().create_future()
        self._waiters.append(future)
        if self._clock() < self._opens_at():
            self._wake_next()
        try:
            await future
        except asyncio.CancelledError:
            if future.done():
                self._wake_next()  # cancelled after its turn came
            raise

    def _wake_next(self) -> None:
        """Wake as many waiting calls as may start now; one at a time under a rate limit."""
        if not self._waiters:
            return
        wait = self._opens_at() - self._clock()
        if wait > 0:
            self._wake_later(wait)
            return
        free = int(self.limit) - self.in_flight
        if self.rate_estimate.rate is not None:
            free = min(free, 1)
        while free > 0 and self._waiters:
            free -= _wake_waiter(self._waiters.popleft())

    def _wake_later(self, seconds: float) -> None:
        loop = asyncio.get_running_loop()
        if self._timer is not None and self._timer.when() <= loop.time() + seconds:
            return
        if self._timer is not None:
            self._timer.cancel()
        self._timer = loop.call_later(seconds, self._on_timer)

    def _on_timer(self) -> None:
        self._timer = None
        self._wake_next()


def _wake_waiter(future: asyncio.Future[None]) -> bool:
    if future.done():  # cancelled meanwhile
        return False
    future.set_result(None)
    return True
