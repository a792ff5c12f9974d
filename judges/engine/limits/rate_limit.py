"""Rate limit of one endpoint: calls in flight, calls per second, cool-downs after a refusal."""

import asyncio
import time
from collections.abc import Callable
from typing import Final

from judges.engine.limits import congestion, pace_file, paced_starts, provider_quota, turn_queue
from judges.engine.limits.rate_estimate import RateEstimate
from judges.models.interface import RequestQuota

START_LIMIT: Final = 20
"""Initial limit on the calls in flight to an endpoint; it grows with successful calls."""
FIRST_COOLDOWN: Final = 0.5
MAX_COOLDOWN: Final = 30.0
QUIET_SECONDS: Final = 600.0
"""If this many seconds have passed since a refusal (HTTP 429) last made all calls wait, the next
refusal makes them wait again, even if refusals are rare."""


class EndpointLimiter:
    """Limits the calls to one endpoint; shared by all workers and runs that call this endpoint.

    Calls in flight: while the limit is in use, it doubles each time that as many calls have
    succeeded as the limit allows at once, up to `ceiling`. If failures grow with the load
    (congestion), it is multiplied by 0.7. From then on it doubles only up to the highest limit
    at which calls succeeded, and then grows by 1. Failures at a constant share do not count as
    congestion.

    Refused calls (HTTP 429): after the first one all calls wait, except trial calls, made one at
    a time. The wait ends early if four trial calls are accepted; if one is refused, no call
    starts before the end of the wait. Rare later refusals delay only the refused call. Frequent
    refusals mean a rate limit: each then makes all calls wait, and the calls per second are
    limited."""

    def __init__(
        self,
        ceiling: int,
        clock: Callable[[], float] = time.monotonic,
        rate_record: pace_file.RateRecord | None = None,
    ) -> None:
        self.ceiling = ceiling
        self.limit = float(min(START_LIMIT, ceiling))
        self.in_flight = 0
        self.uncounted = 0
        """Number of open calls not counted as in flight, because they take very long."""
        self._clock = clock
        self._doubling = True
        self._clean_calls = 0
        self._limit_reached = False
        self._clean_limit = self.limit
        self._congestion = congestion.CongestionWindow()
        self._refusals = congestion.RefusalWindow()
        self._trials = congestion.TrialCalls()
        self._refusals_in_a_row = 0
        self._last_refusal = -QUIET_SECONDS
        self._quota = provider_quota.QuotaBucket()
        self._episode_start = -1.0
        self._pace = paced_starts.PacedStarts(rate_record)
        self._waiters = turn_queue.TurnQueue()
        self._timer: asyncio.TimerHandle | None = None

    @property
    def rate_estimate(self) -> RateEstimate:
        return self._pace.estimate

    @property
    def cooldown_left(self) -> float:
        """Seconds until calls other than trial calls may start again."""
        return max(0.0, self._pace.cooldown_end - self._clock())

    def is_before_cooldown(self, started: float) -> bool:
        """Whether all calls are on hold now because of a refusal that came at or after the time
        `started`. A call with this start time that was not sent yet must then wait too."""
        return self.cooldown_left > 0 and started <= self._pace.cooldown_start

    @property
    def makes_all_calls_wait(self) -> bool:
        """Whether all calls are on hold now because of a rate limit; the retry of a refused call
        then needs no wait of its own."""
        return self.rate_estimate.rate is not None and self.cooldown_left > 0

    @property
    def throttled_rate(self) -> float | None:
        """The limit in calls per second, if it is the reason why calls wait now; None if no call
        waits, if calls wait because too many are in flight, or if no such limit is known."""
        waiting = bool(self._waiters) and self.in_flight < int(self.limit)
        return self.rate_estimate.rate if waiting else None

    async def acquire(self, closed: Callable[[], bool], run: object = None) -> float | None:
        """Wait until a call may start; return its start time, to be passed to `release`. Waiting
        calls of different runs (`run` identifies the run) take turns.

        Returns None as soon as `closed()` is true, so that a cool-down of minutes does not delay a
        stop or a pause.
        """
        while not closed():
            if (started := self._try_acquire()) is not None:
                self._waiters.record_turn(run)
                return started
            await self._wait_turn(run)
        self._wake_startable_calls()  # pass the unused turn to the next waiter
        return None

    def close(self) -> None:
        """Stop sharing the rate with other processes."""
        self._pace.close()

    def raise_ceiling(self, ceiling: int) -> None:
        """Allow up to `ceiling` calls in flight, if that is more than before, because another run
        uses this endpoint too."""
        self.ceiling = max(self.ceiling, ceiling)
        self.limit = (
            max(self.limit, float(min(START_LIMIT, self.ceiling))) if self._doubling else self.limit
        )

    def lower_ceiling(self, ceiling: int) -> None:
        """Set a lower maximum of calls in flight, chosen by the user. The next run at this endpoint
        may raise the maximum again."""
        self.ceiling = max(1, min(self.ceiling, ceiling))
        self.limit = min(self.limit, float(self.ceiling))

    def stop_counting_slow_call(self) -> bool:
        """Stop counting one slow call as in flight, so that another call may start. Returns False
        if too many open calls are uncounted already."""
        if self.uncounted >= self.ceiling - 1:
            return False
        self.in_flight -= 1
        self.uncounted += 1
        self._wake_startable_calls()
        return True

    def release(
        self,
        started: float,
        *,
        congested: bool = False,
        neutral: bool = False,
        limited: bool = False,
        wait: float | None = None,
        quota: RequestQuota | None = None,
        uncounted: bool = False,
    ) -> None:
        """Record the end of a call that `acquire` let start at `started`, and adapt the limits.

        `neutral`: the call does not count as a success. `congested`: it failed, possibly because
        of the load. `limited`: the endpoint refused it by its rate limit (429). `wait`: seconds
        that the endpoint demands before the next call. `quota`: requests left, from the headers
        of the reply. `uncounted`: the call was slow and is no longer counted as in flight
        (`stop_counting_slow_call`)."""
        self.in_flight -= not uncounted
        self.uncounted -= uncounted
        if quota is not None:
            self._quota.update(quota, started, self._clock())
        refused = limited or bool(wait)
        if refused or not neutral:
            self._refusals.record(refused)
        if self._trials.record_trial_call_end(started, accepted=not (refused or neutral)):
            self._pace.cooldown_end = self._clock()
        if refused:
            self._record_refusal(started, limited, wait)
        if congested:
            self._record_outcome(started, failed=True)
        elif not neutral:
            self._record_success(started)
        self._wake_startable_calls()

    def wake_waiters(self) -> None:
        """Wake all waiting calls to check again whether their run was stopped or paused."""
        while self._waiters:
            self._waiters.wake_next()

    def _try_acquire(self) -> float | None:
        now = self._clock()
        self._pace.load_shared_changes(now)
        if self.in_flight >= int(self.limit) or now < self._reserve_earliest_start(now):
            return None
        self.in_flight += 1
        if now < self._pace.cooldown_end:
            self._trials.record_start(now)
        self._limit_reached |= self.in_flight >= int(self.limit)
        self._quota.record_start(now)
        self._pace.record_start(now)
        if self.rate_estimate.rate is not None:
            self._wake_startable_calls()
        return now

    def _reserve_earliest_start(self, now: float) -> float:
        cooldown_end = 0.0 if self._trials.may_start else self._pace.cooldown_end
        return max(cooldown_end, self._pace.reserve_next_start(now), self._quota.next_start(now))

    def _record_success(self, started: float) -> None:
        self._clean_calls += 1
        self._refusals_in_a_row = 0
        self._pace.record_success(self._clock())
        self._record_outcome(started, failed=False)
        grows = self._limit_reached and self.limit < self.ceiling  # an unused limit proves nothing
        if self._clean_calls >= self.limit and grows:
            self._clean_calls, self._limit_reached = 0, False
            # After an outage the limit doubles up to the last one at which calls succeeded.
            doubling = self._doubling or self.limit * 2 <= self._clean_limit
            self.limit = min(self.ceiling, self.limit * 2 if doubling else self.limit + 1)
            self._clean_limit = max(self._clean_limit, self.limit)

    def _record_outcome(self, started: float, *, failed: bool) -> None:
        """Record success or failure of a call; lower the limit at congestion, or restore it if the
        last decrease did not reduce the failures. Calls started before the last decrease are
        ignored, because they were made at the higher limit."""
        if started <= self._episode_start:
            return
        limit = self._congestion.record(failed, self.limit)
        if limit < self.limit:
            self._doubling, self._clean_calls = False, 0
            self._episode_start = self._clock()
        self.limit = min(limit, float(self.ceiling))

    def _record_refusal(self, started: float, limited: bool, wait: float | None) -> None:
        """Decide whether a refusal makes all calls wait, for `wait` seconds (None: a time that
        doubles with each refusal). It does if it is the first in QUIET_SECONDS, if refusals are
        frequent, if it comes during trial calls, or if the call was sent before the present wait
        began. Other refusals are ignored. If the endpoint refused by its rate limit (`limited`),
        the estimated rate is adapted too, when refusals are frequent or a higher rate is being
        tried."""
        now = self._clock()
        estimate = self.rate_estimate
        if limited and estimate.probing:
            self._pace.record_refusal(now, self.limit)
        persistent = not estimate.probing and (
            estimate.rate is not None or self._refusals.shows_rate_limit
        )
        first = now - self._last_refusal >= QUIET_SECONDS
        same_burst = started <= self._pace.cooldown_start
        in_trial = self._trials.active and now < self._pace.cooldown_end
        if not (persistent or first or same_burst or in_trial):
            return
        self._last_refusal = now
        if first and not persistent:
            self._trials.start()
        else:
            self._trials.stop()
        if not same_burst:
            self._pace.cooldown_start = now
            wait = self._count_refusal_and_get_cooldown() if wait is None else wait
        if limited and persistent and (not same_burst or estimate.rate is None):
            wait = wait or 0.0
            self._pace.record_refusal(now, self.limit / max(wait, 1.0), wait)
            self._refusals.clear()
        self._pace.cooldown_end = max(self._pace.cooldown_end, now + (wait or 0.0))

    def _count_refusal_and_get_cooldown(self) -> float:
        """Count a refusal (HTTP 429) without a waiting time, and return its cool-down in seconds:
        half a second, doubled (up to MAX_COOLDOWN) at each refusal until a call succeeds."""
        self._refusals_in_a_row += 1
        return float(min(MAX_COOLDOWN, FIRST_COOLDOWN * 2 ** (self._refusals_in_a_row - 1)))

    async def _wait_turn(self, run: object) -> None:
        future = self._waiters.add(run)
        now = self._clock()
        if now < self._reserve_earliest_start(now):
            self._wake_startable_calls()
        try:
            await future
        except asyncio.CancelledError:
            if future.done():
                self._wake_startable_calls()  # cancelled after its turn came
            raise

    def _wake_startable_calls(self) -> None:
        """Wake as many waiting calls as may start now; under a rate limit, one call at a time. If
        none may start yet, wake them later."""
        if not self._waiters:
            return
        now = self._clock()
        wait = self._reserve_earliest_start(now) - now
        if wait > 0:
            self._wake_later(wait)
            return
        free = int(self.limit) - self.in_flight
        if self.rate_estimate.rate is not None or now < self._pace.cooldown_end:
            free = min(free, 1)
        while free > 0 and self._waiters:
            free -= self._waiters.wake_next()

    def _wake_later(self, seconds: float) -> None:
        loop = asyncio.get_running_loop()
        if self._timer is not None and self._timer.when() <= loop.time() + seconds:
            return
        if self._timer is not None:
            self._timer.cancel()
        self._timer = loop.call_later(seconds, self._wake_on_timer)

    def _wake_on_timer(self) -> None:
        self._timer = None
        self._wake_startable_calls()
