"""How many calls may be in flight to one endpoint, how fast, and when none may."""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import Callable
from typing import Final

START_LIMIT: Final = 20
DECREASE_FACTOR: Final = 0.7
RATE_DECREASE_FACTOR: Final = 0.85
FIRST_COOLDOWN: Final = 0.5
MAX_COOLDOWN: Final = 30.0
MIN_WINDOW_CALLS: Final = 10
MIN_MEASURED_CALLS: Final = 5
"""Calls that must have passed before their rate means anything."""
CALM_SECONDS: Final = 30.0
"""Seconds without a refusal after which the last one says little."""
MIN_RATE: Final = 0.05
MAX_RATE: Final = 1000.0
"""A pace of so many calls a second holds nobody back: it is forgotten."""


class RateEstimate:
    """Calls a second that a rate limiter lets through, learned from its refusals.

    A number in flight alone cannot keep a limit of 10 a second when a call takes 20 ms. After the
    first refusal the pace doubles per window until the next; from then on it grows by 10 % a
    window, and by 1 % just below the pace that was refused. After half a minute without a refusal
    it doubles again: what was refused then may have been somebody else's rush.
    """

    def __init__(self) -> None:
        self.rate: float | None = None
        """None: nobody has complained yet."""
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
        """A new refusal: what passed since the last one says what the endpoint takes."""
        measured = self._window_successes / max(now - self._window_start, 1e-3)
        known = [
            self.rate or guess,
            *([measured] if self._window_successes >= MIN_MEASURED_CALLS else []),
        ]
        self._confirmed = self.rate is not None
        self._refused_rate = min(known)
        self.rate = max(MIN_RATE, RATE_DECREASE_FACTOR * self._refused_rate)
        self._window_start, self._window_successes = resume_at, 0

    def _growth_rate(self, now: float) -> float:
        assert self.rate is not None
        times = self.rate / self._refused_rate
        if not self._confirmed or times > 1.5 or now - self._window_start > CALM_SECONDS:
            return 1.0
        return 0.01 if 0.9 < times < 1.1 else 0.1


class EndpointLimiter:
    """Doubles per clean window until the first congestion; then +1 per window, x0.7 per episode.

    After a 429 with Retry-After nobody calls until it is over: all workers share this gate.
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
        """Seconds until the endpoint may be called again."""
        return max(0.0, self._cooldown_end - self._clock())

    @property
    def throttled_rate(self) -> float | None:
        """Calls a second while only the pace keeps others in the line waiting."""
        held = bool(self._waiters) and self.in_flight < int(self.limit)
        return self.rate_estimate.rate if held else None

    async def acquire(self, closed: Callable[[], bool]) -> float | None:
        """Waits for a place; returns when the call began, to be handed back to `leave`.

        None once `closed` says so: a cool-down of minutes must not delay a stop or a pause.
        """
        while not closed():
            if (began := self._try_acquire()) is not None:
                return began
            await self._wait_turn()
        self._wake_next()  # a turn that is not taken goes to the next in the line
        return None

    def raise_ceiling(self, ceiling: int) -> None:
        """Another run shares this gate and may have more in flight."""
        self.ceiling = max(self.ceiling, ceiling)
        self.limit = (
            max(self.limit, float(min(START_LIMIT, self.ceiling))) if self._doubling else self.limit
        )

    def lower(self, ceiling: int) -> None:
        """Somebody wants fewer calls at once than the endpoint would take; the next run that
        shares this gate may want more again."""
        self.ceiling = max(1, min(self.ceiling, ceiling))
        self.limit = min(self.limit, float(self.ceiling))

    def release(
        self,
        began: float,
        *,
        congested: bool = False,
        neutral: bool = False,
        limited: bool = False,
        wait: float | None = None,
    ) -> None:
        """Gives the place back and learns from how the call went; `neutral` teaches nothing.

        `limited`: the endpoint counts calls (429). `wait`: how long it wants to be left alone.
        """
        self.in_flight -= 1
        new_episode = congested and began > self._episode_start
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
        """Everybody in the line looks again whether to stay: the run was stopped or paused."""
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
        paced = self._next_start if self.rate_estimate.rate is not None else 0.0
        return max(self._cooldown_end, paced)

    def _record_success(self) -> None:
        self._clean_calls += 1
        self._refusals = 0
        self.rate_estimate.record_success(self._clock())
        if self._clean_calls >= self.limit and self.limit < self.ceiling:
            self._clean_calls = 0
            self.limit = min(self.ceiling, self.limit * 2 if self._doubling else self.limit + 1)

    def _record_congestion(self, new_episode: bool) -> None:
        """Calls that began before the last fall belong to the same episode: they count once."""
        self._doubling, self._clean_calls = False, 0
        if new_episode:
            self.limit = max(1.0, self.limit * DECREASE_FACTOR)
            self._episode_start = self._clock()

    def _default_cooldown(self) -> float:
        """A 429 that names no time: half a second, doubling while nothing gets through."""
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
                self._wake_next()  # the turn was given and cannot be taken
            raise

    def _wake_next(self) -> None:
        """As many as there is room for; with a pace one, when its time has come."""
        if not self._waiters:
            return
        wait = self._opens_at() - self._clock()
        if wait > 0:
            self._wake_later(wait)
            return
        room = int(self.limit) - self.in_flight
        if self.rate_estimate.rate is not None:
            room = min(room, 1)
        while room > 0 and self._waiters:
            room -= _wake_waiter(self._waiters.popleft())

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
    if future.done():  # gone meanwhile
        return False
    future.set_result(None)
    return True
