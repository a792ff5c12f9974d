"""How many calls may be in flight to one endpoint, and when none may."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from typing import Final

START: Final = 20
FALL: Final = 0.7
NAP: Final = 0.2
"""The longest sleep between two looks at whether the run was stopped."""


class Gate:
    """Doubles per clean window until the first congestion; then +1 per window, x0.7 per episode.

    After a 429 with Retry-After nobody calls until it is over: all workers share this gate.
    """

    def __init__(self, ceiling: int) -> None:
        self.ceiling = ceiling
        self.limit = float(min(START, ceiling))
        self.in_flight = 0
        self._steep = True
        self._clean = 0
        self._episode_start = -1.0
        self._cool_until = 0.0
        self._waiters: list[asyncio.Future[None]] = []

    @property
    def cooling(self) -> float:
        """Seconds until the endpoint may be called again."""
        return max(0.0, self._cool_until - time.monotonic())

    async def enter(self, stopped: Callable[[], bool]) -> float | None:
        """Waits for a place; returns when the call began, to be handed back to `leave`.

        None once `stopped` says so: a cool-down of minutes must not delay a stop.
        """
        while not stopped():
            if (wait := self.cooling) > 0:
                await asyncio.sleep(min(wait, NAP))
            elif self.in_flight < int(self.limit):
                self.in_flight += 1
                return time.monotonic()
            else:
                await self._place()
        return None

    def raise_ceiling(self, ceiling: int) -> None:
        """Another run shares this gate and may have more in flight."""
        self.ceiling = max(self.ceiling, ceiling)
        self.limit = max(self.limit, float(min(START, self.ceiling))) if self._steep else self.limit

    def leave(
        self,
        began: float,
        *,
        congested: bool = False,
        neutral: bool = False,
        wait: float | None = None,
    ) -> None:
        """Gives the place back and learns from how the call went; `neutral` teaches nothing."""
        self.in_flight -= 1
        if congested:
            self._congestion(began)
        elif not neutral:
            self._success()
        if wait:
            self._cool_until = max(self._cool_until, time.monotonic() + wait)
        self._wake()

    def _success(self) -> None:
        self._clean += 1
        if self._clean >= self.limit and self.limit < self.ceiling:
            self._clean = 0
            self.limit = min(self.ceiling, self.limit * 2 if self._steep else self.limit + 1)

    def _congestion(self, began: float) -> None:
        """Calls that began before the last fall belong to the same episode: they count once."""
        self._steep, self._clean = False, 0
        if began > self._episode_start:
            self.limit = max(1.0, self.limit * FALL)
            self._episode_start = time.monotonic()

    async def _place(self) -> None:
        future = asyncio.get_running_loop().create_future()
        self._waiters.append(future)
        try:
            await asyncio.wait_for(future, NAP)
        except TimeoutError:
            pass  # look again whether the run was stopped
        finally:
            if future in self._waiters:
                self._waiters.remove(future)

    def _wake(self) -> None:
        room = int(self.limit) - self.in_flight
        while room > 0 and self._waiters:
            future = self._waiters.pop(0)
            if not future.done():
                future.set_result(None)
                room -= 1
