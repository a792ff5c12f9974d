"""The ask queues of a run: one for each judge of the study, and one for the extraction judge."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, field

from judges.engine.attempt import AskAttempts
from judges.engine.extraction import Extractor, apply_extraction
from judges.engine.pending_asks import PendingPages
from judges.engine.run_state import JudgeState
from judges.engine.snapshot import RunTally
from judges.engine.worker_pool import JudgeQueue
from judges.models.interface import JudgeCall
from judges.planning.plan import Plan, render_call
from studies.domain import Ask, Item, Judgement
from studies.store.run_journal import RunJournal
from studies.store.store import Store


@dataclass(frozen=True, slots=True)
class QueueBuilder:
    """Builds the queues; each contains functions that read a judge's pending asks and store its
    judgements."""

    plan: Plan
    store: Store
    journal: RunJournal
    tally: RunTally
    extraction: Extractor | None
    plan_sha: str
    """The hash of the plan that was stored when the run started."""

    def build(self, judges: Mapping[str, JudgeState]) -> list[JudgeQueue]:
        items = {item.id: item for item in self.plan.items}
        queues = [
            JudgeQueue(
                judges[judge.name],
                PendingPages(self.store, self.plan, judge.name, self.journal, self.plan_sha),
                lambda ask: render_call(self.plan, ask, items),
                self._settle,
            )
            for judge in self.plan.study.judges
        ]
        if self.extraction is not None:
            asks = ExtractionAsks(self.extraction, self.store, self.journal, self.tally, items)
            queues.append(asks.queue(judges[self.extraction.judge.name], list(queues)))
        return queues

    async def _settle(self, judgement: Judgement, attempts: AskAttempts) -> None:
        assert attempts.attempt is not None
        await self.journal.settle(
            judgement, attempts.attempt, attempts.usage, attempts.cost, without=attempts.without
        )
        self.tally.count(judgement)


@dataclass(slots=True)
class ExtractionAsks:
    """The asks of the extraction judge: one for each unreadable reply, made while the other judges
    are still being called."""

    extraction: Extractor
    store: Store
    journal: RunJournal
    tally: RunTally
    items: Mapping[str, Item]
    _unreadable: dict[str, Judgement] = field(default_factory=dict)
    """Key of an extraction ask -> the judgement with the unreadable reply that this ask reads."""
    _after: int = 0

    def queue(self, state: JudgeState, sources: list[JudgeQueue]) -> JudgeQueue:
        return JudgeQueue(
            state,
            self.next_asks,
            self.call_for,
            self.settle,
            more_event=asyncio.Event(),
            sources=sources,
        )

    def next_asks(self, limit: int) -> list[Ask]:
        asks: list[Ask] = []
        while not asks and (found := self.extraction.pending(self.store, self._after, limit)):
            self._after = found[-1][0]
            for _, judgement in found:
                if self.extraction.includes(judgement, self.items):
                    ask, _ = self.extraction.ask(judgement, self.items)
                    self._unreadable[ask.key] = judgement
                    asks.append(ask)
        return asks

    def call_for(self, ask: Ask) -> JudgeCall:
        return self.extraction.ask(self._unreadable[ask.key], self.items)[1]

    async def settle(self, judgement: Judgement, attempts: AskAttempts) -> None:
        assert attempts.attempt is not None
        extracted = apply_extraction(self._unreadable.pop(judgement.ask.key), judgement)
        await self.journal.settle_extraction(
            judgement,
            extracted,
            self.extraction.request_rows(attempts.call),
            attempts.attempt,
            attempts.usage,
            attempts.cost,
        )
        self.tally.count_extraction(extracted is not None)
