"""Calls that take too long: such a call stays open but no longer counts as in flight."""

import asyncio
import time
from collections.abc import Callable
from dataclasses import dataclass, field

from judges.engine.limits import rate_limit, stragglers


@dataclass(slots=True)
class SlowCallWatch:
    """Watches the attempts at one ask: a slow one stays open, but is not counted as in flight."""

    limiter: rate_limit.EndpointLimiter
    durations: stragglers.CallDurations
    slow_calls: dict[str, float]
    """Name of an attempt -> its start time, for the judge's slow attempts. The name is the call's
    key, followed by " hedge" for a second attempt."""
    name: str
    slow_event: asyncio.Event = field(default_factory=asyncio.Event)
    """Event that is set once a call takes far longer than usual."""
    replace_worker: Callable[[], None] | None = None
    """Function that starts another worker in place of the one that waits for the slow call."""
    replaced: bool = False
    _timer: asyncio.TimerHandle | None = None

    def start(self, prompt_length: int) -> None:
        """Start a timer for a call that is sent now. Once the call takes far longer than usual, it
        is no longer counted as in flight, so that another call can start."""
        self._timer = None
        if (seconds := self.durations.slow_after_seconds(prompt_length)) is not None:
            loop = asyncio.get_running_loop()
            self._timer = loop.call_later(seconds, self._mark_as_slow, time.monotonic())

    def stop_timer_and_unmark_slow(self) -> bool:
        """Cancel the timer and remove the call from the slow calls; return whether it had been
        excluded from the calls in flight."""
        if self._timer is not None:
            self._timer.cancel()
        return self.slow_calls.pop(self.name, None) is not None

    def _mark_as_slow(self, sent: float) -> None:
        self.slow_event.set()
        if self.limiter.stop_counting_slow_call():
            self.slow_calls[self.name] = sent
            if self.replace_worker is not None and not self.replaced:
                self.replaced = True
                self.replace_worker()
