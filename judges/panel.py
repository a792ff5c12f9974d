"""The engine: many asks, few workers. One gate per endpoint, nothing asked that is stored.

Whatever goes wrong in one worker, what others have in flight is paid for: it is waited for and
stored before the run ends over it.
"""

from __future__ import annotations

import asyncio
import contextlib
import sqlite3
import time
from collections import deque
from collections.abc import Callable, Coroutine
from dataclasses import dataclass, field
from typing import Any, Final, TypeVar

from judges.attempts import Attempts
from judges.desk import Desk, JudgeState
from judges.errors import JudgeStopped
from judges.models.answers import Call
from studies.errors import EvenhandError, StoreUnusable
from studies.records import Ask, Judgement

T = TypeVar("T")

PAGE: Final = 64
"""Asks read from the plan at once. Nothing is claimed by that: a lease comes with its call."""

LOOK_AGAIN: Final = 0.2
"""Seconds between looks at asks that another process is making."""


@dataclass(slots=True)
class Seat:
    """One judge at work: where its asks come from and where its judgements go."""

    state: JudgeState
    page: Callable[[int], list[Ask]]
    """The next asks, at most so many; empty when there are none now."""
    call_for: Callable[[Ask], Call]
    settle: Callable[[Judgement, Attempts], Coroutine[Any, Any, None]]
    more: asyncio.Event | None = None
    """Set when asks may have come up: for a seat whose asks depend on others' replies."""
    feeds: list[Seat] = field(default_factory=list)
    """The seats whose replies this one waits for."""
    elsewhere: deque[Ask] = field(default_factory=deque)
    """Asks that somebody else is making: looked at until they are settled."""
    done: bool = False


class Panel:
    """Asks what is pending, judges side by side, and settles every ask in a typed outcome."""

    def __init__(self, desk: Desk, seats: list[Seat]) -> None:
        self.desk, self.seats = desk, seats
        self.fault: Exception | None = None
        """What ends the run although nobody stopped it."""

    async def run(self) -> None:
        """Returns when no judge has an ask left, or all that have were stopped."""
        async with asyncio.TaskGroup() as seats:
            for seat in self.seats:
                seats.create_task(self._occupy(seat))
        if self.fault is not None:
            raise self.fault

    def _end_over(self, fault: Exception) -> None:
        """No further call; what is in flight comes home."""
        self.fault = self.fault or fault
        self.desk.stop = True
        self.desk.steered()

    async def _occupy(self, seat: Seat) -> None:
        """A feeder that reads ahead, and a fixed pool of workers."""
        workers = seat.state.workers
        queue: asyncio.Queue[Ask | None] = asyncio.Queue(maxsize=workers)
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(self._feed(seat, queue, workers))
            for _ in range(workers):
                tasks.create_task(self._worker(seat, queue, tasks))
        seat.done = True
        for other in self.seats:
            if other.more is not None:
                other.more.set()

    async def _feed(self, seat: Seat, queue: asyncio.Queue[Ask | None], workers: int) -> None:
        try:
            await self._feed_all(seat, queue, workers)
        except Exception as fault:
            self._end_over(fault)
        for _ in range(workers):
            await queue.put(None)

    async def _feed_all(self, seat: Seat, queue: asyncio.Queue[Ask | None], workers: int) -> None:
        """All that is pending; what others are making is looked at until it is settled."""
        while await self.desk.may_go_on(seat.state):
            last = self._fed(seat)  # asked before the look: what came after it is not missed
            if page := await self._read(lambda: seat.page(min(PAGE, workers))):
                await self._put(seat, queue, page)
            elif seat.elsewhere:
                await self._look_again(seat, queue, workers)
            else:
                await queue.join()  # a worker may still find its ask made elsewhere
                if last and not seat.elsewhere:
                    break
                if not last:
                    await self._more(seat)

    async def _read(self, look: Callable[[], T]) -> T:
        """A store that cannot be read pauses the run, as one that cannot be written."""
        while True:
            began = time.monotonic()
            try:
                return look()
            except (StoreUnusable, sqlite3.Error) as error:
                if not await self.desk.repaired(error, began):
                    raise

    async def _put(self, seat: Seat, queue: asyncio.Queue[Ask | None], page: list[Ask]) -> None:
        made = await self._read(lambda: self.desk.journal.being_made([ask.key for ask in page]))
        seat.elsewhere.extend(ask for ask in page if ask.key in made)
        for ask in page:
            if ask.key not in made:
                await queue.put(ask)

    async def _look_again(self, seat: Seat, queue: asyncio.Queue[Ask | None], most: int) -> None:
        self.desk.shared = True
        seat.state.waiting = f"{len(seat.elsewhere)} being asked by another run"
        await self.desk.sleep(seat.state, LOOK_AGAIN)
        seat.state.waiting = ""
        some = min(PAGE, most, len(seat.elsewhere))
        await self._put(seat, queue, [seat.elsewhere.popleft() for _ in range(some)])

    def _fed(self, seat: Seat) -> bool:
        """No reply of another seat can bring asks to this one any more."""
        return seat.more is None or all(other.done for other in seat.feeds)

    async def _more(self, seat: Seat) -> None:
        """Waits for asks that others' replies may bring."""
        assert seat.more is not None
        with contextlib.suppress(TimeoutError):  # it also looks for a stop
            async with asyncio.timeout(LOOK_AGAIN):
                await seat.more.wait()
        seat.more.clear()

    async def _worker(
        self, seat: Seat, queue: asyncio.Queue[Ask | None], tasks: asyncio.TaskGroup
    ) -> None:
        """One ask after the other. The write of a judgement goes on while the next ask is made
        ready, so that both share a commit; the next call is not sent before it is through."""
        settling: asyncio.Task[None] | None = None
        while (ask := await queue.get()) is not None:
            try:
                if await self.desk.may_go_on(seat.state) and (call := self._call(seat, ask)):
                    attempts = Attempts(self.desk, seat.state, call, settling)
                    if (judgement := await self._make(seat, ask, attempts)) is not None:
                        settling = tasks.create_task(self._settle(seat, judgement, attempts))
                        await asyncio.sleep(0)  # its write is queued before that of the next intent
            except Exception as fault:
                self._end_over(fault)
            queue.task_done()

    async def _settle(self, seat: Seat, judgement: Judgement, attempts: Attempts) -> None:
        try:
            await seat.settle(judgement, attempts)
        except Exception as fault:
            self._end_over(fault)

    def _call(self, seat: Seat, ask: Ask) -> Call | None:
        """An ask that cannot be put together (its image is gone) stops its judge: the same would
        be wrong with others, and all of them stay pending."""
        try:
            return seat.call_for(ask)
        except EvenhandError as error:
            seat.state.halt(str(error))
            return None

    async def _make(self, seat: Seat, ask: Ask, attempts: Attempts) -> Judgement | None:
        """The ask's typed outcome; None if it was not made, or its judge was stopped over it."""
        journal = self.desk.journal
        try:
            outcome = await attempts.run()
        except JudgeStopped as stop:
            assert attempts.attempt is not None
            seat.state.halt(str(stop))
            await journal.give_up(
                ask.key, attempts.attempt, "stopped", attempts.usage, attempts.cost
            )
            return None
        if outcome is not None:
            return attempts.judgement(ask, outcome)
        if attempts.not_ours:
            self.desk.shared = True
        if attempts.not_ours == "elsewhere":
            seat.elsewhere.append(ask)
        elif attempts.leased:
            await journal.release(ask.key)
        return None
