"""Calls of a study that a run has still to make: those without a stored judgement, and those whose
judgement is to be replaced. Counts them, estimates their cost, reads them from the store in
portions, and builds the queues of a run. (In the code a planned call is an ask.)"""

import asyncio
from collections import Counter
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from judges.engine.attempt import AskAttempts
from judges.engine.outcome import Extractor, apply_extraction
from judges.engine.run_state import JudgeState, RunSettings
from judges.engine.snapshot import RunTally
from judges.engine.worker_pool import JudgeQueue
from judges.models.interface import JudgeCall
from judges.money.costs import price_of
from judges.planning.forecast import estimate_tokens, min_cached_tokens, sort_asks_for_cache
from judges.planning.plan import (
    Plan,
    load_stored_plan,
    plan_includes,
    render_call,
    render_call_to_send,
)
from studies import domain, errors
from studies.store.queries import plan_queries
from studies.store.run_journal import RunJournal
from studies.store.store import Store

MIN_COSTED_JUDGEMENTS: Final = 5
"""If a judge has at least this many judgements of known cost, their mean cost is the estimate for
an ask; otherwise the estimate is made from the tokens of pending asks."""
FEW_USABLE_SHARE: Final = 0.2
"""If all calls are done and the share of usable replies is below this, a retry repeats every call
without a verdict."""
MIN_BLOCK_ASKS: Final = 64
"""Minimum size of the blocks of consecutive asks that are reordered for a provider's cache."""
SAMPLE_ASKS: Final = 50
"""Number of pending asks whose tokens are estimated to get the mean cost of an ask."""


class PendingAskPages:
    """The pending calls of one judge, read in portions in the order of the plan; an instance is
    called with the size of the next portion.

    If the provider charges less for a prompt that begins like an earlier one, calls are
    reordered within blocks of consecutive calls. The plan lists items in random order, so the
    replies of an unfinished run are still a random sample of the items, except in the last
    block.

    If the study is saved with another plan during the run, only calls in both plans are
    returned."""

    def __init__(self, store: Store, plan: Plan, judge: str, journal: RunJournal, sha: str) -> None:
        """`store` has the study, its stored plan and its judgements; `plan` is the plan of the run.
        `judge` is the name of the judge whose calls are read. `journal` records the run and states
        which stored judgements are to be replaced. `sha` is the hash of the plan that was stored
        when the run started."""
        self._store, self._plan, self._judge, self._journal = store, plan, judge, journal
        self._sha = sha
        self._items = {item.id: item for item in plan.items}
        self._after = -1
        self._reorders = min_cached_tokens(plan.judge(judge)) is not None
        self._block: list[domain.Ask] = []
        self._block_sha = ""
        self._block_start = -1

    def __call__(self, limit: int) -> list[domain.Ask]:
        while self._block or self._read_block(limit):
            # Read after the page, so that a plan saved between the two reads is noticed.
            sha = self._store.plan_sha(self._plan.study.name)
            if sha != self._block_sha:  # the new plan may not contain the asks of the block
                self._block, self._after = [], self._block_start
                continue
            asks, self._block = self._block[:limit], self._block[limit:]
            if sha != self._sha:
                asks = [ask for ask in asks if plan_includes(self._plan, ask, self._items)]
            if asks:
                return asks
        return []

    def _read_block(self, limit: int) -> bool:
        self._block_sha = self._store.plan_sha(self._plan.study.name)
        self._block_start = self._after
        size = max(MIN_BLOCK_ASKS, 4 * limit) if self._reorders else limit
        page = self._store.pending_asks(
            self._plan.study.name,
            self._judge,
            self._after,
            size,
            again=self._journal.retry_statuses,
            began=self._journal.start_seq,
        )
        if not page:
            return False
        self._after = page[-1][0]
        asks = [ask for _, ask in page]
        self._block = sort_asks_for_cache(asks) if self._reorders else asks
        return True


def count_asks_by_status_for_run(
    store: Store, study: str, settings: RunSettings, start_seq: int | None = None
) -> Counter[str]:
    """Count the calls of a study by status, as a run with `settings` shows them: a call that the
    run makes again counts as pending until its new result is stored. New results are those
    stored after the sequence number `start_seq`; None if the run has not started, so that none
    is new."""
    counts = Counter({"pending": 0} | store.status_counts(study))
    until = 2**62 if start_seq is None else start_seq
    repeated = plan_queries.count_asks_by_status(store, study, settings.retry_statuses, until)
    for status, count in repeated.items():
        counts[status] -= count
        counts["pending"] += count
    return counts


class CostQuote(NamedTuple):
    """Number of asks that a run would make, and their estimated cost."""

    asks: int
    dollars: float | None
    """Estimated cost; None if it cannot be estimated, for example because a price is unknown."""


def quote_cost(
    store: Store, study: str, statuses: Collection[str], *, pending: bool = True
) -> CostQuote:
    """Return the number and estimated cost of the calls of a study with a status in `statuses` and,
    if `pending`, of those without a judgement.

    Each call counts at the mean cost of its judge's earlier calls; with fewer of them than
    MIN_COSTED_JUDGEMENTS, at a cost estimated from the prompts. The cost is None if it is
    unknown for one of the judges."""
    rows = plan_queries.count_asks_to_repeat(store, study, statuses, pending=pending)
    if not rows:
        return CostQuote(0, 0.0)
    judges = {judge.name: judge for judge in store.study(study).judges}
    mean_costs = [
        _mean_ask_cost(store, study, judges[name]) if name in judges else None for name, _ in rows
    ]
    known = [
        cost * count for cost, (_, count) in zip(mean_costs, rows, strict=True) if cost is not None
    ]
    dollars = sum(known) if len(known) == len(rows) else None
    return CostQuote(sum(count for _, count in rows), dollars)


def statuses_to_retry(counts: Mapping[str, int]) -> frozenset[domain.Status]:
    """Return the statuses of the calls that the page's button Retry makes again; `counts` is the
    number of calls by status.

    Unreadable replies, refusals and filtered replies are normally not repeated: repeating calls
    until a verdict can be read would favour the pairs on which the judge decides easily. They are
    repeated if all calls are done and few replies are usable, because there is then almost no
    result that this could distort.
    """
    usable = sum(counts.get(status, 0) for status in domain.USABLE_STATUSES)
    done = sum(counts.get(status, 0) for status in domain.STATUSES)
    if counts.get("pending", 0) or usable >= FEW_USABLE_SHARE * done:
        return domain.RETRYABLE_STATUSES
    return frozenset(domain.STATUSES) - domain.USABLE_STATUSES


def quote_cost_if_possible(
    store: Store, study: str, statuses: Collection[str], *, pending: bool = True
) -> CostQuote:
    """Like `quote_cost`, but without an error if a prompt or item of the study is missing: the
    result then has the number of calls, and None as cost."""
    try:
        return quote_cost(store, study, statuses, pending=pending)
    except errors.EvenhandError:
        left = store.status_counts(study)
        asks = sum(left.get(status, 0) for status in statuses) + pending * left.get("pending", 0)
        return CostQuote(asks, None)


class QuoteCache:
    """Number and estimated cost of the calls of studies, kept so that they are computed again only
    after a study has changed. `forecast` is a function of the study's name that computes them for
    the whole study, as if no call had been made; it returns None if it cannot."""

    def __init__(
        self, store: Store, forecast: Callable[[str], CostQuote | None] = lambda _: None
    ) -> None:
        self._store, self._forecast = store, forecast

    def whole_study_quote(self, study: str) -> CostQuote | None:
        """Number and cost of all calls of a study, as if none had been made; None if unknown."""
        return self._store.memoised(
            study, ("forecast",), lambda: self._try_forecast(study), self._store.plan_sha(study)
        )

    def _try_forecast(self, study: str) -> CostQuote | None:
        try:
            return self._forecast(study)
        except errors.EvenhandError:  # a prompt or an item is missing
            return None

    def quotes_for_run_and_retry(self, study: str) -> tuple[CostQuote, CostQuote]:
        """Number and estimated cost of the calls that the page's button Run would make, and of
        those that its button Retry would make."""
        return self._store.memoised(
            study,
            ("cost quotes",),
            lambda: (
                quote_cost_if_possible(self._store, study, domain.ERROR_STATUSES),
                quote_cost_if_possible(
                    self._store,
                    study,
                    statuses_to_retry(self._store.status_counts(study)),
                    pending=False,
                ),
            ),
        )


def _mean_ask_cost(store: Store, study: str, judge: domain.JudgeSpec) -> float | None:
    """Return the mean cost of one call of a judge, in dollars: the mean over its earlier calls or,
    if there are too few, an estimate from the prompts of pending calls. 0 if the judge is free.
    None if the price is unknown, and also if there are too few earlier and no pending calls."""
    price = price_of(judge)
    if price is None:
        return None
    if not (price.input or price.output):
        return 0.0
    count, mean = plan_queries.ask_cost_count_and_mean(store, study, judge.name)
    if mean is not None and count >= MIN_COSTED_JUDGEMENTS:
        return mean
    plan = load_stored_plan(store, study)
    items = {item.id: item for item in plan.items}
    asks = [ask for _, ask in store.pending_asks(study, judge.name, -1, SAMPLE_ASKS)]
    tokens = [estimate_tokens(render_call(plan, ask, items)) for ask in asks]
    if not tokens:
        return None
    total = sum(sent * price.input + received * price.output for sent, received in tokens)
    return total / len(tokens) / 1e6


@dataclass(frozen=True, slots=True)
class QueueBuilder:
    """Builds the queues of a run: one for each judge, and one for the extraction judge (the model
    that reads unreadable replies), if there is one. A queue has functions that read the judge's
    pending calls, render them, and store the judgements."""

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
                PendingAskPages(self.store, self.plan, judge.name, self.journal, self.plan_sha),
                lambda ask: render_call_to_send(self.plan, ask, items),
                self._store_judgement,
            )
            for judge in self.plan.study.judges
        ]
        if self.extraction is not None:
            asks = ExtractionAsks(self.extraction, self.store, self.journal, self.tally, items)
            queues.append(asks.build_queue(judges[self.extraction.judge.name], list(queues)))
        return queues

    async def _store_judgement(self, judgement: domain.Judgement, attempts: AskAttempts) -> None:
        assert attempts.attempt is not None
        await self.journal.store_judgement(
            judgement,
            attempts.attempt,
            attempts.usage,
            attempts.cost,
            without=attempts.dropped_reply_parameters,
        )
        self.tally.count_judgement(judgement)


@dataclass(slots=True)
class ExtractionAsks:
    """The calls of the extraction judge, a second model that reads verdicts from unreadable
    replies: one call for each such reply, if its prompt has an extraction prompt. They are made
    while the other judges are still being called."""

    extraction: Extractor
    store: Store
    journal: RunJournal
    tally: RunTally
    items: Mapping[str, domain.Item]
    _unreadable: dict[str, domain.Judgement] = field(default_factory=dict)
    """Key of an extraction ask -> the judgement with the unreadable reply that this ask reads."""
    _after: int = 0

    def build_queue(self, state: JudgeState, sources: list[JudgeQueue]) -> JudgeQueue:
        return JudgeQueue(
            state,
            self.next_asks,
            self.build_call,
            self.store_extraction,
            more_event=asyncio.Event(),
            sources=sources,
        )

    def next_asks(self, limit: int) -> list[domain.Ask]:
        asks: list[domain.Ask] = []
        while not asks and (
            found := self.extraction.judgements_awaiting_extraction(self.store, self._after, limit)
        ):
            self._after = found[-1][0]
            for _, judgement in found:
                if self.extraction.is_still_planned(judgement, self.items):
                    ask, _ = self.extraction.build_ask_and_call(judgement, self.items)
                    self._unreadable[ask.key] = judgement
                    asks.append(ask)
        return asks

    def build_call(self, ask: domain.Ask) -> JudgeCall:
        return self.extraction.build_ask_and_call(self._unreadable[ask.key], self.items)[1]

    async def store_extraction(self, judgement: domain.Judgement, attempts: AskAttempts) -> None:
        assert attempts.attempt is not None
        extracted = apply_extraction(self._unreadable.pop(judgement.ask.key), judgement)
        await self.journal.store_extraction(
            judgement,
            extracted,
            self.extraction.build_request_rows(attempts.call),
            attempts.attempt,
            attempts.usage,
            attempts.cost,
        )
        self.tally.count_extraction(extracted is not None)
