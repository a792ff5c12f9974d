"""State shared by all workers of a run (settings, judges, and whether calls may start), and the
budget of a study, which earlier and simultaneous runs share, also those of other processes.

Every call is recorded in a transaction before it is sent, and only one transaction writes at a
time. A query in this transaction therefore sees the calls of all other runs, so that all runs
together stay within the budget."""

import asyncio
import contextlib
import random
import sqlite3
import time
from collections import Counter
from collections.abc import Callable, Collection
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, NamedTuple, Protocol

from judges.engine.limits import hedging, rate_limit, stragglers
from judges.models.failures import CallFailure
from judges.models.interface import JudgeModel
from judges.money.costs import Ledger, price_of
from judges.money.host_key import RunAllowance
from judges.planning.plan import Plan
from studies.domain import Price, Usage
from studies.errors import TRY_AGAIN
from studies.store.queries.run_costs import OtherRunSpending, spending_of_other_runs
from studies.store.queries.run_queries import overlapping_runs
from studies.store.run_journal import NotStarted
from studies.store.run_owners import is_owner_alive_else_clean_up
from studies.store.store import Store


@dataclass(frozen=True, slots=True)
class RunSettings:
    """Concurrency, parsing rule, retries and time limits of a run."""

    concurrency: int | None = None
    """Maximum calls in flight; None for the study's setting."""
    reading: str | None = None
    """Rule for parsing replies; None for the study's setting."""
    attempts: int | None = None
    """Maximum number of attempts at one ask; None for the judge's setting."""
    deadline: float | None = None
    """Seconds after which a call is given up; None for the judge's setting."""
    first_backoff: float = 0.5
    retry_statuses: frozenset[str] = frozenset({"error"})
    """Statuses of stored judgements whose asks this run makes again."""
    wall_clock: Callable[[], float] = time.time
    """Function that returns the current time for timestamps; waits and leases do not use it."""
    longest_pause: float | None = None
    """Seconds after which a paused run is stopped; None if it is never stopped."""


class PendingRetry(NamedTuple):
    attempts_made: int
    max_attempts: int
    reason: str

    def __str__(self) -> str:
        return f"retry {self.attempts_made} of {self.max_attempts - 1}: {self.reason}"


@dataclass(slots=True)
class FailureTally:
    """How often calls of one judge failed for one reason in this run, and the latest error
    message."""

    count: int = 0
    example: str = ""


@dataclass(slots=True)
class JudgeState:
    """The client, limits and failures of one judge during a run."""

    name: str
    model: JudgeModel
    price: Price | None
    limiter: rate_limit.EndpointLimiter
    workers: int = 1
    allowance: RunAllowance | None = None
    """Spending allowance of the API key of the page's host, if this key pays for the calls. It is
    checked before each call, in addition to the run's budget."""
    wait_reason: str = ""
    retrying: dict[str, PendingRetry] = field(default_factory=dict)
    """Key of an ask that waits for a retry -> attempts made, maximum attempts, reason."""
    stop_reason: str = ""
    left_out: bool = False
    """Whether the user continued the run without this judge."""
    budget_reached: bool = False
    """Whether the budget is too small for one more call of this judge."""
    successes: int = 0
    failed_in_a_row: int = 0
    refusals: Counter[str] = field(default_factory=Counter)
    dropped_parameters: set[str] = field(default_factory=set)
    """Parameters that are no longer sent, because the endpoint refuses them."""
    dropped_reply_parameters: set[str] = field(default_factory=set)
    """Dropped parameters without which replies may differ from those of the planned call."""
    failures: dict[str, FailureTally] = field(default_factory=dict)
    hedge_budget: hedging.HedgeBudget = field(default_factory=hedging.HedgeBudget)
    durations: stragglers.CallDurations = field(default_factory=stragglers.CallDurations)
    slow_calls: dict[str, float] = field(default_factory=dict)
    """Name of an attempt (see SlowCallWatch) -> its start time, for the attempts that take far
    longer than usual and are not counted as in flight."""
    blocked_event: asyncio.Event = field(default_factory=asyncio.Event)
    """Event that is set while no call of this judge may start; it ends waits before retries."""

    def tally_failure_reason(self, fault: CallFailure) -> None:
        tally = self.failures.setdefault(fault.reason, FailureTally())
        tally.count += 1
        tally.example = fault.detail

    def count_success(self) -> None:
        self.successes += 1
        self.failed_in_a_row = 0

    def stop_judge(self, reason: str = "") -> None:
        """Start no further call of this judge, and wake the tasks that wait to start one. If the
        judge was stopped before, the first reason is kept. If the budget is the reason, `reason`
        stays empty and the attribute `budget_reached` must be set before."""
        self.stop_reason = self.stop_reason or reason
        self.blocked_event.set()
        self.limiter.wake_waiters()


class AttemptJournal(Protocol):
    """Interface for recording attempts: the store's journal, or a cluster worker's log in
    memory."""

    async def begin_attempt(self, key: str, *, leased: bool = False) -> int | NotStarted: ...
    async def undo_attempt(self, key: str, attempt: int, *, keep_lease: bool = False) -> None: ...
    async def end_attempt(
        self, attempt: int, outcome: str, usage: Usage, cost: float | None
    ) -> None: ...
    async def release_lease(self, key: str) -> None: ...
    async def end_attempt_and_release(
        self, key: str, attempt: int, outcome: str, usage: Usage, cost: float | None
    ) -> None: ...
    def find_leased_keys(self, keys: Collection[str]) -> set[str]: ...


@dataclass(slots=True)
class RunState:
    """State that all workers of one run read and change."""

    settings: RunSettings
    journal: AttemptJournal
    ledger: Ledger
    judges: dict[str, JudgeState]
    reading: str = "default"
    paused: bool = False
    """Whether the run is paused; checked before every call, so that a pause has effect at once."""
    stop: bool = False
    store_error: str = ""
    """Reason why the store cannot be written; the run is paused until the user resumes it."""
    shares_asks: bool = False
    """Whether another run makes some of this run's asks; this run counts their judgements too."""
    on_store_error: Callable[[str], None] = print
    resumed_at: float = 0.0
    resume_event: asyncio.Event = field(default_factory=asyncio.Event)
    rng: random.Random = field(default_factory=random.Random)
    """Random generator for the jitter of retries only: no request and no verdict depends on it."""

    def apply_controls(self) -> None:
        """Wake or hold the waiting workers according to `paused` and `stop`. This method is called
        in the event loop after one of them has changed."""
        if self.paused and not self.stop:
            self.resume_event.clear()
        else:
            self.resumed_at = time.monotonic()
            self.resume_event.set()
        self.ledger.wake_waiters()
        for state in self.judges.values():
            if self.is_blocked(state):
                state.blocked_event.set()
            else:
                state.blocked_event.clear()
            state.limiter.wake_waiters()

    def is_blocked(self, state: JudgeState) -> bool:
        """Whether no call of a judge may start now."""
        return self.paused or self.stop or state.budget_reached or bool(state.stop_reason)

    async def wait_until_allowed(self, state: JudgeState) -> bool:
        """Wait while paused; return whether a call of this judge may start then: False once the run
        or the judge is stopped, or the budget is reached."""
        while self.paused and not self.stop:
            self.resume_event.clear()  # another thread may just have set the pause
            await self.resume_event.wait()
        return not self.is_blocked(state)

    async def sleep(self, state: JudgeState, seconds: float) -> None:
        """Sleep until the time is over, the run is paused or stopped, or the judge is stopped."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await state.blocked_event.wait()

    async def pause_until_resumed(self, error: Exception, submitted: float) -> bool:
        """Pause the run because the store failed with `error`, and wait until the user resumes or
        stops it. `submitted` is the time at which the failed query or write began: if the user
        has resumed the run since, it is not paused again.

        Returns whether to try again: False only if the run was being stopped before the error.
        While the run is paused, unwritten replies stay in memory."""
        if self.stop:
            return False
        if self.resumed_at > submitted:
            return True  # the write failed before the last resume
        self.paused = True
        self.store_error = str(error).replace(TRY_AGAIN, "then resume")
        self.on_store_error(self.store_error)
        self.apply_controls()
        await self.resume_event.wait()
        return True


CHECK_SECONDS: Final = 0.1
"""Seconds between two queries of other runs' spending while at least SCARCE_SHARE of the budget is
left; with less, it is queried before every call."""
SCARCE_SHARE: Final = 0.2


class SiblingRuns:
    """The other runs of the same study, which share its budget: their spending is added to this
    run's `ledger` (its account of dollars spent and reserved)."""

    def __init__(
        self,
        store: Store,
        plan: Plan,
        owner: str,
        ledger: Ledger,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._owners: Path = store.run_locks_folder
        self._study, self._owner, self._ledger, self._clock = plan.study.name, owner, ledger, clock
        self._free_judges = [judge.name for judge in plan.study.judges if _is_free(price_of(judge))]
        self._ended_owners: set[str] = set()
        """Ids (`Run.lease_owner_id`) of runs that have ended, so that their spending no longer
        changes."""
        self._checked_at = clock()
        self._update_ledger(self._query_spending(store.read_connection))

    def fits_budget(self, connection: sqlite3.Connection) -> bool:
        """Whether the budget covers all dollars spent or reserved, also by other runs. The dollars
        of other runs are queried at intervals of CHECK_SECONDS, or before each call if little of
        the budget is left."""
        scarce = self._ledger.remaining < SCARCE_SHARE * (self._ledger.budget or 0.0)
        if (scarce or self._clock() - self._checked_at >= CHECK_SECONDS) and self._has_siblings(
            connection
        ):
            self._checked_at = self._clock()
            self._update_ledger(self._query_spending(connection))
        return self._ledger.remaining >= -1e-12

    def _has_siblings(self, connection: sqlite3.Connection) -> bool:
        """Whether another run of this study is active, or has ended since the last query."""
        rows = overlapping_runs(connection, self._study, self._owner)
        new = [(owner, ended) for owner, ended in rows if owner not in self._ended_owners]
        self._ended_owners.update(
            owner
            for owner, ended in new
            if ended is not None or not is_owner_alive_else_clean_up(self._owners, owner)
        )
        return bool(new)

    def _query_spending(self, connection: sqlite3.Connection) -> list[OtherRunSpending]:
        return spending_of_other_runs(connection, self._study, self._owner, self._free_judges)

    def _update_ledger(self, rows: list[OtherRunSpending]) -> None:
        """Copy the other runs' spending to the ledger: dollars, calls in flight, and calls at an
        unknown cost, among them calls lost with their process."""
        open_by = {row.owner: row.in_flight for row in rows if row.in_flight}
        alive = {owner for owner in open_by if is_owner_alive_else_clean_up(self._owners, owner)}
        ledger = self._ledger
        ledger.spent_by_others = sum(row.dollars for row in rows)
        ledger.max_cost_by_others = max((row.highest for row in rows), default=0.0)
        lost = sum(count for owner, count in open_by.items() if owner not in alive)
        ledger.unknown_by_others = lost + sum(row.unknown for row in rows)
        ledger.in_flight_by_others = sum(open_by[owner] for owner in alive)


def _is_free(price: Price | None) -> bool:
    return price is not None and not (price.input or price.output)
