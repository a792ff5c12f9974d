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

from judges.engine.attempt import AskAttempts
from judges.engine.run_state import JudgeState, RunState
from judges.judge_errors import JudgeStopped
from judges.models.interface import JudgeCall
from studies.domain import Ask, Judgement
from studies.errors import EvenhandError, StoreUnusable

T = TypeVar("T")

MAX_PAGE_ASKS: Final = 64
"""Asks read from the plan at once. Nothing is claimed by that: a lease comes with its call."""

RECHECK_SECONDS: Final = 0.2
"""Seconds between looks at asks that another process is making."""


@dataclass(slots=True)
class JudgeQueue:
    """One judge at work: where its asks come from and where its judgements go."""

    state: JudgeState
    next_asks: Callable[[int], list[Ask]]
    """The next asks, at most so many; empty when there are none now."""
    call_for: Callable[[Ask], JudgeCall]
    settle: Callable[[Judgement, AskAttempts], Coroutine[Any, Any, None]]
    more_event: asyncio.Event | None = None
    """Set when asks may have come up: for a seat whose asks depend on others' replies."""
    sources: list[JudgeQueue] = field(default_factory=list)
    """The seats whose replies this one waits for."""
    asked_elsewhere: deque[Ask] = field(default_factory=deque)
    """Asks that somebody else is making: looked at until they are settled."""
    done: bool = False


class WorkerPool:
    """Asks what is pending, judges side by side, and settles every ask in a typed outcome."""

    def __init__(self, desk: RunState, seats: list[JudgeQueue]) -> None:
        self.run_state, self.queues = desk, seats
        self.fault: Exception | None = None
        """What ends the run although nobody stopped it."""

    async def run(self) -> None:
        """Returns when no judge has an ask left, or all that have were stopped."""
        async with asyncio.TaskGroup() as seats:
            for seat in self.queues:
                seats.create_task(self._run_queue(seat))
        if self.fault is not None:
            raise self.fault

    def _end_run(self, fault: Exception) -> None:
        """No further call; what is in flight comes home."""
        self.fault = self.fault or fault
        self.run_state.stop = True
        self.run_state.apply_controls()

    async def _run_queue(self, seat: JudgeQueue) -> None:
        """A feeder that reads ahead, and a fixed pool of workers."""
        workers = seat.state.workers
        queue: asyncio.Queue[Ask | None] = asyncio.Queue(maxsize=workers)
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(self._feed_workers(seat, queue, workers))
            for _ in range(workers):
                tasks.create_task(self._worker(seat, queue, tasks))
        seat.done = True
        for other in self.queues:
            if other.more_event is not None:
                other.more_event.set()

    async def _feed_workers(
        self, seat: JudgeQueue, queue: asyncio.Queue[Ask | None], workers: int
    ) -> None:
        try:
            await self._feed_pending(seat, queue, workers)
        except Exception as fault:
            self._end_run(fault)
        for _ in range(workers):
            await queue.put(None)

    async def _feed_pending(
        self, seat: JudgeQueue, queue: asyncio.Queue[Ask | None], workers: int
    ) -> None:
        """All that is pending; what others are making is looked at until it is settled."""
        while await self.run_state.wait_until_allowed(seat.state):
            last = self._sources_done(
                seat
            )  # asked before the look: what came after it is not missed
            if page := await self._read(lambda: seat.next_asks(min(MAX_PAGE_ASKS, workers))):
                await self._enqueue_free(seat, queue, page)
            elif seat.asked_elsewhere:
                await self._recheck_elsewhere(seat, queue, workers)
            else:
                await queue.join()  # a worker may still find its ask made elsewhere
                if last and not seat.asked_elsewhere:
                    break
                if not last:
                    await self._wait_for_more(seat)

    async def _read(self, look: Callable[[], T]) -> T:
        """A store that cannot be read pauses the run, as one that cannot be written."""
        while True:
            began = time.monotonic()
            try:
                return look()
            except (StoreUnusable, sqlite3.Error) as error:
                if not await self.run_state.wait_for_repair(error, began):
                    raise

    async def _enqueue_free(
        self, seat: JudgeQueue, queue: asyncio.Queue[Ask | None], page: list[Ask]
    ) -> None:
        made = await self._read(
            lambda: self.run_state.journal.find_in_progress([ask.key for ask in page])
        )
        seat.asked_elsewhere.extend(ask for ask in page if ask.key in made)
        for ask in page:
            if ask.key not in made:
                await queue.put(ask)

    async def _recheck_elsewhere(
        self, seat: JudgeQueue, queue: asyncio.Queue[Ask | None], most: int
    ) -> None:
        self.run_state.shares_asks = True
        seat.state.wait_reason = f"{len(seat.asked_elsewhere)} being asked by another run"
        await self.run_state.sleep(seat.state, RECHECK_SECONDS)
        seat.state.wait_reason = ""
        some = min(MAX_PAGE_ASKS, most, len(seat.asked_elsewhere))
        await self._enqueue_free(seat, queue, [seat.asked_elsewhere.popleft() for _ in range(some)])

    def _sources_done(self, seat: JudgeQueue) -> bool:
        """No reply of another seat can bring asks to this one any more."""
        return seat.more_event is None or all(other.done for other in seat.sources)

    async def _wait_for_more(self, seat: JudgeQueue) -> None:
        """Waits for asks that others' replies may bring."""
        assert seat.more_event is not None
        with contextlib.suppress(TimeoutError):  # it also looks for a stop
            async with asyncio.timeout(RECHECK_SECONDS):
                await seat.more_event.wait()
        seat.more_event.clear()

    async def _worker(
        self, seat: JudgeQueue, queue: asyncio.Queue[Ask | None], tasks: asyncio.TaskGroup
    ) -> None:
        """One ask after the other. The write of a judgement goes on while the next ask is made
        ready, so that both share a commit; the next call is not sent before it is through."""
        settling: asyncio.Task[None] | None = None
        while (ask := await queue.get()) is not None:
            try:
                if await self.run_state.wait_until_allowed(seat.state) and (
                    call := self._build_call(seat, ask)
                ):
                    attempts = AskAttempts(self.run_state, seat.state, call, settling)
                    if (judgement := await self._attempt_ask(seat, ask, attempts)) is not None:
                        settling = tasks.create_task(self._settle(seat, judgement, attempts))
                        await asyncio.sleep(0)  # its write is queued before that of the next intent
            except Exception as fault:
                self._end_run(fault)
            queue.task_done()

    async def _settle(self, seat: JudgeQueue, judgement: Judgement, attempts: AskAttempts) -> None:
        try:
            await seat.settle(judgement, attempts)
        except Exception as fault:
            self._end_run(fault)

    def _build_call(self, seat: JudgeQueue, ask: Ask) -> JudgeCall | None:
        """An ask that cannot be put together (its image is gone) stops its judge: the same would
        be wrong with others, and all of them stay pending."""
        try:
            return seat.call_for(ask)
        except EvenhandError as error:
            seat.state.stop_judge(str(error))
            return None

    async def _attempt_ask(
        self, seat: JudgeQueue, ask: Ask, attempts: AskAttempts
    ) -> Judgement | None:
        """The ask's typed outcome; None if it was not made, or its judge was stopped over it."""
        journal = self.run_state.journal
        try:
            outcome = await attempts.run()
        except JudgeStopped as stop:
            assert attempts.attempt is not None
            seat.state.stop_judge(str(stop))
            await journal.give_up(
                ask.key, attempts.attempt, "stopped", attempts.usage, attempts.cost
            )
            return None
        if outcome is not None:
            return attempts.judgement(ask, outcome)
        if attempts.lease_refusal:
            self.run_state.shares_asks = True
        if attempts.lease_refusal == "elsewhere":
            seat.asked_elsewhere.append(ask)
        elif attempts.leased:
            await journal.release(ask.key)
        return None
