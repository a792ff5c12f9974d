"""The engine: many asks, few workers. One gate per endpoint, nothing asked that is stored."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Callable
from typing import Final, Protocol

from judges.attempts import Attempts, Desk
from judges.errors import JudgeStopped
from judges.models.answers import Call
from studies.journal import Claim
from studies.records import Ask, Judgement

CLAIM: Final = 64
"""Leases and intents are written ahead, so many at once: a worker does not wait for a commit."""

LOOK_AGAIN: Final = 0.2
"""Seconds between looks at asks that another process is making."""

Work = tuple[Ask, Claim]


class Pending(Protocol):
    """The asks of one judge that nothing stored satisfies, a page at a time in plan order."""

    def __call__(self, judge: str, after: int, limit: int) -> list[tuple[int, Ask]]: ...


class Panel:
    """Asks what is pending, judges side by side, and settles every ask in a typed outcome."""

    def __init__(
        self,
        desk: Desk,
        pending: Pending,
        call_for: Callable[[Ask], Call],
        settled: Callable[[Judgement], None],
    ) -> None:
        self.desk, self.settled = desk, settled
        self._pending, self._call_for = pending, call_for

    async def run(self) -> None:
        """Returns when no judge has an ask left, or all that have were stopped."""
        async with asyncio.TaskGroup() as judges:
            for name in self.desk.judges:
                judges.create_task(self._ask_judge(name))

    async def _ask_judge(self, name: str) -> None:
        """A feeder that claims ahead, and a fixed pool of workers."""
        workers = self.desk.judges[name].workers
        queue: asyncio.Queue[Work | None] = asyncio.Queue(maxsize=workers)
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(self._feed(name, queue, workers))
            for _ in range(workers):
                tasks.create_task(self._worker(name, queue))

    async def _feed(self, name: str, queue: asyncio.Queue[Work | None], workers: int) -> None:
        async for work in self._claims(name, min(CLAIM, workers)):
            await queue.put(work)
        for _ in range(workers):
            await queue.put(None)

    async def _claims(self, name: str, ahead: int) -> AsyncIterator[Work]:
        """Pending asks with their leases; those leased elsewhere are looked at until settled."""
        after = -1
        elsewhere: deque[tuple[int, Ask]] = deque()
        while await self.desk.may_go_on(name):
            page = self._pending(name, after, ahead)
            if page:
                after = page[-1][0]
            elif elsewhere:
                self.desk.judges[name].waiting = f"{len(elsewhere)} being asked by another run"
                await asyncio.sleep(LOOK_AGAIN)
                page = [elsewhere.popleft() for _ in range(min(ahead, len(elsewhere)))]
            else:
                return
            by_key = {ask.key: (position, ask) for position, ask in page}
            claimed = await self.desk.journal.claim(list(by_key))
            elsewhere.extend(by_key[key] for key in claimed.elsewhere)
            for claim in claimed.ours:
                yield by_key[claim.key][1], claim

    async def _worker(self, name: str, queue: asyncio.Queue[Work | None]) -> None:
        while (work := await queue.get()) is not None:
            ask, claim = work
            if await self.desk.may_go_on(name):
                await self._settle(ask, claim)
            else:
                await self.desk.journal.release([claim])

    async def _settle(self, ask: Ask, claim: Claim) -> None:
        journal = self.desk.journal
        attempts = Attempts(self.desk, self._call_for(ask), claim.attempt)
        try:
            outcome = await attempts.run()
        except JudgeStopped as stop:
            self.desk.judges[ask.judge].stopped = str(stop)
            await journal.ended(attempts.attempt, "stopped", attempts.usage, attempts.cost)
            await journal.release([Claim(ask.key, 0)])
            return
        if outcome is None:
            await journal.release([Claim(ask.key, attempts.attempt)])
            return
        judgement = attempts.judgement(ask, outcome)
        await journal.settle(judgement, attempts.attempt, attempts.usage, attempts.cost)
        self.settled(judgement)
