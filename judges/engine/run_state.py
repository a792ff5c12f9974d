"""State shared by all workers of a run: settings, judges, and whether calls may start."""

from __future__ import annotations

import asyncio
import contextlib
import random
import time
from collections import Counter
from collections.abc import Callable, Collection
from dataclasses import dataclass, field
from typing import NamedTuple, Protocol

from judges.engine.limits.hedging import HedgeBudget
from judges.engine.limits.rate_limit import EndpointLimiter
from judges.engine.limits.stragglers import CallDurations
from judges.models.failures import CallFailure
from judges.models.interface import JudgeModel
from judges.money.costs import Ledger
from judges.money.host_key import RunAllowance
from studies.domain import Price, Usage
from studies.errors import TRY_AGAIN
from studies.store.run_journal import NotStarted


@dataclass(frozen=True, slots=True)
class RunSettings:
    """Concurrency, retries and time limits of a run."""

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
    """Number of failed calls of one judge in this run with one reason, and the latest detail."""

    count: int = 0
    example: str = ""


@dataclass(slots=True)
class JudgeState:
    """The client, limits and failures of one judge during a run."""

    name: str
    model: JudgeModel
    price: Price | None
    limiter: EndpointLimiter
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
    missing_parameters: set[str] = field(default_factory=set)
    """Dropped parameters without which replies may differ from those of the planned call."""
    failures: dict[str, FailureTally] = field(default_factory=dict)
    hedge_budget: HedgeBudget = field(default_factory=HedgeBudget)
    durations: CallDurations = field(default_factory=CallDurations)
    slow_calls: dict[str, float] = field(default_factory=dict)
    """Name of an attempt (see SlowCallWatch) -> its start time, for the attempts that take far
    longer than usual and are not counted as in flight."""
    blocked_event: asyncio.Event = field(default_factory=asyncio.Event)
    """Event that is set while no call of this judge may start; it ends waits before retries."""

    def note(self, fault: CallFailure) -> None:
        tally = self.failures.setdefault(fault.reason, FailureTally())
        tally.count += 1
        tally.example = fault.detail

    def note_success(self) -> None:
        self.successes += 1
        self.failed_in_a_row = 0

    def stop_judge(self, reason: str = "") -> None:
        """Start no further call of this judge, and wake the tasks that wait to start a call."""
        self.stop_reason = self.stop_reason or reason
        self.blocked_event.set()
        self.limiter.wake_waiters()


class AttemptJournal(Protocol):
    """Interface for recording attempts: the store's journal, or a cluster worker's log in
    memory."""

    async def begin(self, key: str, *, leased: bool = False) -> int | NotStarted: ...
    async def withdraw(self, key: str, attempt: int, *, keep_lease: bool = False) -> None: ...
    async def end(self, attempt: int, outcome: str, usage: Usage, cost: float | None) -> None: ...
    async def release(self, key: str) -> None: ...
    async def give_up(
        self, key: str, attempt: int, outcome: str, usage: Usage, cost: float | None
    ) -> None: ...
    def find_in_progress(self, keys: Collection[str]) -> set[str]: ...


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
        """Wait while paused; return False once the run or this judge is stopped."""
        while self.paused and not self.stop:
            self.resume_event.clear()  # another thread may just have set the pause
            await self.resume_event.wait()
        return not self.is_blocked(state)

    async def sleep(self, state: JudgeState, seconds: float) -> None:
        """Sleep until the time is over, the run is paused or stopped, or the judge is stopped."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await state.blocked_event.wait()

    async def wait_for_repair(self, error: Exception, submitted: float) -> bool:
        """After a store error, pause the run until the user resumes or stops it; no pause if the
        user has resumed it since `submitted`, the time of the failed query or write.

        Returns whether to try again. While the run is paused, unwritten replies stay in memory.
        """
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
