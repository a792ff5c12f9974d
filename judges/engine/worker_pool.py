"""The worker pool of a run: for each judge, a fixed number of workers make its pending asks.

Replies in flight are billed even if one worker fails, so they are awaited and stored before the run
ends.
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
from judges.engine.limits.hedging import race_with_hedge
from judges.engine.run_state import JudgeState, RunState
from judges.judge_errors import JudgeStopped
from judges.models.failures import CallFailure
from judges.models.interface import JudgeCall, JudgeReply
from studies.domain import Ask, Judgement
from studies.errors import EvenhandError, StoreUnusable

T = TypeVar("T")

MAX_PAGE_ASKS: Final = 64
"""Maximum number of asks read from the plan at once. Reading does not lease them: an ask is leased
right before its call."""

RECHECK_SECONDS: Final = 0.2
"""Seconds between checks of asks that another run is making."""


@dataclass(slots=True)
class JudgeQueue:
    """The pending calls of one judge, with the functions that read them from the store, render
    them, and store the judgements."""

    state: JudgeState
    next_asks: Callable[[int], list[Ask]]
    """Function that returns the next asks, at most the given number; an empty list if no ask is
    available now."""
    build_call: Callable[[Ask], JudgeCall]
    store_judgement: Callable[[Judgement, AskAttempts], Coroutine[Any, Any, None]]
    more_event: asyncio.Event | None = None
    """Event that is set when another queue has ended; only for a queue whose asks come from replies
    in other queues, such as extractions."""
    sources: list[JudgeQueue] = field(default_factory=list)
    """The queues whose replies add asks to this queue."""
    asked_elsewhere: deque[Ask] = field(default_factory=deque)
    """Asks that another run is making; checked again until that run has released them."""
    hedged: set[asyncio.Task[Any]] = field(default_factory=set)
    """Tasks of attempts that continue although another attempt at their ask was answered first."""
    done: bool = False

    def add_hedged_call(self, task: asyncio.Task[Any]) -> None:
        self.hedged.add(task)
        task.add_done_callback(self.hedged.discard)

    async def cancel_hedged_calls(self) -> None:
        """Cancel the attempts in `hedged`: they are still open, although another attempt at the
        same call was answered. Each that was sent counts as billed at an unknown cost."""
        open_calls = list(self.hedged)
        for task in open_calls:
            task.cancel()
        await asyncio.gather(*open_calls, return_exceptions=True)


class WorkerPool:
    """Makes the pending calls of all judges in parallel and stores the results. A call that is not
    made, because the run is stopped or another run makes it, gets no stored result."""

    def __init__(self, run_state: RunState, queues: list[JudgeQueue]) -> None:
        self.run_state, self.queues = run_state, queues
        self.fault: Exception | None = None
        """Error that ends the run; None while no such error occurred."""

    async def run(self) -> None:
        """Make all asks; return when every judge has no ask left or was stopped. Raise the error
        that ended the run, if one did."""
        async with asyncio.TaskGroup() as tasks:
            for queue in self.queues:
                tasks.create_task(_QueueWorkers(self, queue).run())
        if self.fault is not None:
            raise self.fault

    def end_run(self, fault: Exception) -> None:
        """Record an error and start no further call; replies in flight are still stored."""
        self.fault = self.fault or fault
        self.run_state.stop = True
        self.run_state.apply_controls()


class _QueueWorkers:
    """The tasks of one queue: one that reads asks ahead, and a fixed number of workers."""

    def __init__(self, pool: WorkerPool, queue: JudgeQueue) -> None:
        self.pool, self.queue, self.run_state = pool, queue, pool.run_state
        self.state, self.workers = queue.state, queue.state.workers
        self.buffer: asyncio.Queue[Ask | None] = asyncio.Queue(maxsize=self.workers)
        self.tasks = asyncio.TaskGroup()

    async def run(self) -> None:
        try:
            async with self.tasks:
                self.tasks.create_task(self._feed_workers())
                for _ in range(self.workers):
                    self._start_worker()
        finally:
            await self.queue.cancel_hedged_calls()
        self.queue.done = True
        for other in self.pool.queues:
            if other.more_event is not None:
                other.more_event.set()

    def _start_worker(self) -> None:
        self.tasks.create_task(self._work_on_queue())

    async def _feed_workers(self) -> None:
        try:
            await self._feed_pending_asks()
        except Exception as fault:
            self.pool.end_run(fault)
        await self.buffer.put(None)

    async def _feed_pending_asks(self) -> None:
        """Hand all pending calls to the workers. Calls that another run is making are checked again
        and again, until they have a result or that run has given them up."""
        queue, size = self.queue, min(MAX_PAGE_ASKS, self.workers)
        while await self.run_state.wait_until_allowed(self.state):
            # Before reading the page: an ask added in between is then found in the next round.
            last = queue.more_event is None or all(other.done for other in queue.sources)
            if page := await self._query_store(lambda: queue.next_asks(size)):
                await self._queue_free_asks(page)
            elif queue.asked_elsewhere:
                await self._recheck_asks_of_other_runs(size)
            else:
                await self.buffer.join()  # a worker may still find that another run makes its ask
                if last and not queue.asked_elsewhere:
                    break
                if not last:
                    await self._wait_for_more()

    async def _query_store(self, query: Callable[[], T]) -> T:
        """Return the result of `query`, a function that reads the store. If the store fails, the
        run is paused, and the query is repeated when the user resumes it; if the run is being
        stopped, the error is raised."""
        while True:
            started = time.monotonic()
            try:
                return query()
            except (StoreUnusable, sqlite3.Error) as error:
                if not await self.run_state.pause_until_resumed(error, started):
                    raise

    async def _queue_free_asks(self, page: list[Ask]) -> None:
        keys = [ask.key for ask in page]
        in_progress = await self._query_store(lambda: self.run_state.journal.find_leased_keys(keys))
        self.queue.asked_elsewhere.extend(ask for ask in page if ask.key in in_progress)
        for ask in page:
            if ask.key not in in_progress:
                await self.buffer.put(ask)

    async def _recheck_asks_of_other_runs(self, size: int) -> None:
        self.run_state.shares_asks = True
        elsewhere = self.queue.asked_elsewhere
        self.state.wait_reason = f"{len(elsewhere)} calls being made by another run"
        await self.run_state.sleep(self.state, RECHECK_SECONDS)
        self.state.wait_reason = ""
        await self._queue_free_asks([elsewhere.popleft() for _ in range(min(size, len(elsewhere)))])

    async def _wait_for_more(self) -> None:
        """Wait, for RECHECK_SECONDS at most, until the replies in other queues may have added calls
        to this one: an unreadable reply, for example, adds a call of the extraction judge."""
        assert self.queue.more_event is not None
        with contextlib.suppress(TimeoutError):  # the caller also checks for a stop
            async with asyncio.timeout(RECHECK_SECONDS):
                await self.queue.more_event.wait()
        self.queue.more_event.clear()

    async def _work_on_queue(self) -> None:
        """Work of one worker: make calls of the queue one after another.

        The next call is sent only after the previous judgement is stored. If a call is slow, a
        new worker is started, and this worker ends after the slow call."""
        settling: asyncio.Task[None] | None = None
        replaced = False
        while not replaced:
            if (ask := await self.buffer.get()) is None:
                self.buffer.put_nowait(None)  # for the next worker
                return
            try:
                if await self.run_state.wait_until_allowed(self.state) and (
                    call := self._build_call_or_stop_judge(ask)
                ):
                    attempts = AskAttempts(self.run_state, self.state, call, settling)
                    attempts.slow_watch.replace_worker = self._start_worker
                    if (settled := await self._attempt_ask(ask, attempts)) is not None:
                        settling = self.tasks.create_task(self._store_judgement(*settled))
                        await asyncio.sleep(0)  # queue its write before the next start record
                    replaced = attempts.slow_watch.replaced
            except Exception as fault:
                self.pool.end_run(fault)
            self.buffer.task_done()

    async def _store_judgement(self, judgement: Judgement, attempts: AskAttempts) -> None:
        try:
            await self.queue.store_judgement(judgement, attempts)
        except Exception as fault:
            self.pool.end_run(fault)

    def _build_call_or_stop_judge(self, ask: Ask) -> JudgeCall | None:
        """Render the call of an ask. After an error (such as a missing image) return None and stop
        the judge, because its other asks would fail in the same way; they stay pending."""
        try:
            return self.queue.build_call(ask)
        except EvenhandError as error:
            self.state.stop_judge(str(error))
            return None

    async def _attempt_ask(
        self, ask: Ask, attempts: AskAttempts
    ) -> tuple[Judgement, AskAttempts] | None:
        """Make a planned call; return its judgement, and the attempts that produced it. None if
        there is no result, because the run or the judge was stopped or another run makes or has
        made the call."""
        journal, answered = self.run_state.journal, attempts
        try:
            if attempts.call.judge.hedge:
                answered, outcome = await self._race_with_hedge(attempts)
            else:
                outcome = await attempts.run()
        except JudgeStopped as stop:
            assert attempts.attempt is not None
            self.state.stop_judge(str(stop))
            await journal.end_attempt_and_release(
                ask.key, attempts.attempt, "stopped", attempts.usage, attempts.cost
            )
            return None
        if outcome is not None:
            return answered.build_judgement(ask, outcome), answered
        if attempts.lease_refusal:
            self.run_state.shares_asks = True
        if attempts.lease_refusal == "elsewhere":
            self.queue.asked_elsewhere.append(ask)
        elif attempts.leased:
            await journal.release_lease(ask.key)
        return None

    async def _race_with_hedge(
        self, first: AskAttempts
    ) -> tuple[AskAttempts, JudgeReply | CallFailure | None]:
        """Make the attempts of `first` at a call. If they are far slower than usual, a second
        object makes one attempt at the same time (a hedge), unless the allowed share of hedges
        (MAX_HEDGE_SHARE) is used up. Return the object that is answered earlier, and its reply or
        final failure. None in place of the reply if there is neither, for example because the run
        was stopped. The slower attempt, if it was sent, goes on, and its cost is counted too."""

        def make_second() -> AskAttempts:
            second = AskAttempts(self.run_state, first.state, first.call, hedges=True, leased=True)
            second.total = first.total
            return second

        return await race_with_hedge(
            first, make_second, first.state.hedge_budget, self.queue.add_hedged_call
        )
