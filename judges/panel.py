"""The engine: many asks, few workers. One gate per endpoint, nothing asked that is stored."""

from __future__ import annotations

import asyncio
import contextlib
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass, field
from typing import Final

from judges.attempts import Attempts
from judges.desk import Desk, JudgeState
from judges.errors import JudgeStopped
from judges.models.answers import Call
from studies.journal import Claim
from studies.records import Ask, Judgement

CLAIM: Final = 64
"""Leases and intents are written ahead, so many at once: a worker does not wait for a commit."""

LOOK_AGAIN: Final = 0.2
"""Seconds between looks at asks that another process is making."""

Work = tuple[Ask, Claim]


@dataclass(slots=True)
class Seat:
    """One judge at work: where its asks come from and where its judgements go."""

    state: JudgeState
    page: Callable[[int], list[Ask]]
    """The next asks, at most so many; empty when there are none now."""
    call_for: Callable[[Ask], Call]
    settle: Callable[[Judgement, Attempts], Awaitable[None]]
    more: asyncio.Event | None = None
    """Set when asks may have come up: for a seat whose asks depend on others' replies."""
    feeds: list[Seat] = field(default_factory=list)
    """The seats whose replies this one waits for."""
    done: bool = False


class Panel:
    """Asks what is pending, judges side by side, and settles every ask in a typed outcome."""

    def __init__(self, desk: Desk, seats: list[Seat]) -> None:
        self.desk, self.seats = desk, seats

    async def run(self) -> None:
        """Returns when no judge has an ask left, or all that have were stopped."""
        async with asyncio.TaskGroup() as seats:
            for seat in self.seats:
                seats.create_task(self._occupy(seat))

    async def _occupy(self, seat: Seat) -> None:
        """A feeder that claims ahead, and a fixed pool of workers."""
        workers = seat.state.workers
        queue: asyncio.Queue[Work | None] = asyncio.Queue(maxsize=workers)
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(self._feed(seat, queue, workers))
            for _ in range(workers):
                tasks.create_task(self._worker(seat, queue))
        seat.done = True
        for other in self.seats:
            if other.more is not None:
                other.more.set()

    async def _feed(self, seat: Seat, queue: asyncio.Queue[Work | None], workers: int) -> None:
        async for work in self._claims(seat, min(CLAIM, workers)):
            await queue.put(work)
        for _ in range(workers):
            await queue.put(None)

    async def _claims(self, seat: Seat, ahead: int) -> AsyncIterator[Work]:
        """Pending asks with their leases; those leased elsewhere are looked at until settled."""
        elsewhere: deque[Ask] = deque()
        while await self.desk.may_go_on(seat.state):
            page = seat.page(ahead)
            if not page and elsewhere:
                page = await self._look_again(seat, elsewhere, ahead)
            elif not page:
                if not await self._more(seat):
                    return
                continue
            by_key = {ask.key: ask for ask in page}
            claimed = await self.desk.journal.claim(list(by_key))
            elsewhere.extend(by_key[key] for key in claimed.elsewhere)
            for claim in claimed.ours:
                seat.state.waiting = ""
                yield by_key[claim.key], claim

    async def _look_again(self, seat: Seat, elsewhere: deque[Ask], ahead: int) -> list[Ask]:
        self.desk.shared = True
        seat.state.waiting = f"{len(elsewhere)} being asked by another run"
        await self.desk.sleep(seat.state, LOOK_AGAIN)
        seat.state.waiting = ""
        return [elsewhere.popleft() for _ in range(min(ahead, len(elsewhere)))]

    async def _more(self, seat: Seat) -> bool:
        """Waits for asks that others' replies may bring; False when none can come any more."""
        if seat.more is None or all(other.done for other in seat.feeds):
            return False
        seat.more.clear()
        with contextlib.suppress(TimeoutError):  # it also looks for a stop
            async with asyncio.timeout(LOOK_AGAIN):
                await seat.more.wait()
        return True

    async def _worker(self, seat: Seat, queue: asyncio.Queue[Work | None]) -> None:
        while (work := await queue.get()) is not None:
            ask, claim = work
            if await self.desk.may_go_on(seat.state):
                await self._make(seat, ask, claim)
            else:
                await self.desk.journal.release([claim])

    async def _make(self, seat: Seat, ask: Ask, claim: Claim) -> None:
        journal = self.desk.journal
        attempts = Attempts(self.desk, seat.state, seat.call_for(ask), claim.attempt)
        try:
            outcome = await attempts.run()
        except JudgeStopped as stop:
            seat.state.halt(str(stop))
            await journal.give_up(
                ask.key, attempts.attempt, "stopped", attempts.usage, attempts.cost
            )
            return
        if outcome is None:
            await journal.release([Claim(ask.key, attempts.attempt)])
        else:
            await seat.settle(attempts.judgement(ask, outcome), attempts)
