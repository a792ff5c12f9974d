"""What all workers of a run share: its settings, its judges, and whether it may go on."""

from __future__ import annotations

import asyncio
import contextlib
import random
import time
from collections import Counter
from collections.abc import Callable, Collection
from dataclasses import dataclass, field
from typing import NamedTuple, Protocol

from judges.engine.rate_limit import EndpointLimiter
from judges.models.failures import CallFailure
from judges.models.interface import JudgeModel
from judges.money.costs import Ledger
from judges.money.host_key import RunAllowance
from studies.domain import Price, Usage
from studies.store.run_journal import NotStarted


@dataclass(frozen=True, slots=True)
class RunSettings:
    """How patient a run is. None: what the study says."""

    concurrency: int | None = None
    reading: str | None = None
    attempts: int = 6
    deadline: float = 180.0
    first_backoff: float = 0.5
    retry_statuses: frozenset[str] = frozenset({"error"})
    """Statuses that do not satisfy this run: such an ask is made once more."""
    wall_clock: Callable[[], float] = time.time
    """For stamps only: no wait and no lease depends on the wall clock."""
    longest_pause: float | None = None
    """Seconds after which a paused run is stopped; None: it may stay paused."""


class PendingRetry(NamedTuple):
    """An ask between two attempts."""

    attempts_made: int
    max_attempts: int
    reason: str

    def __str__(self) -> str:
        return f"retry {self.attempts_made} of {self.max_attempts - 1}: {self.reason}"


@dataclass(slots=True)
class FailureTally:
    """One kind of fault of one judge: how often in this run, and the last example."""

    count: int = 0
    example: str = ""


@dataclass(slots=True)
class JudgeState:
    """What is known about one judge while it is asked; the page shows it."""

    name: str
    model: JudgeModel
    price: Price | None
    limiter: EndpointLimiter
    workers: int = 1
    allowance: RunAllowance | None = None
    """Where the house pays: asked before each call, beside the run's own budget."""
    wait_reason: str = ""
    retrying: dict[str, PendingRetry] = field(default_factory=dict)
    """By key: asks that failed and go again."""
    stop_reason: str = ""
    left_out: bool = False
    """Somebody chose to go on without this judge."""
    budget_reached: bool = False
    """The budget is too small for one more call of this judge."""
    successes: int = 0
    failed_in_a_row: int = 0
    refusals: Counter[str] = field(default_factory=Counter)
    dropped_parameters: set[str] = field(default_factory=set)
    """Parameters this endpoint refused once: not sent again."""
    failures: dict[str, FailureTally] = field(default_factory=dict)
    blocked_event: asyncio.Event = field(default_factory=asyncio.Event)
    """No call may begin: the run is paused or stopped, or this judge is. Wakes who sleeps."""

    def note(self, fault: CallFailure) -> None:
        mishap = self.failures.setdefault(fault.reason, FailureTally())
        mishap.count += 1
        mishap.example = fault.detail

    def stop_judge(self, reason: str = "") -> None:
        """No further call; whoever waits in a backoff or at the gate goes home."""
        self.stop_reason = self.stop_reason or reason
        self.blocked_event.set()
        self.limiter.wake_waiters()


class AttemptJournal(Protocol):
    """Where attempts are written down: the store's journal, or a worker's notebook."""

    async def begin(self, key: str, *, leased: bool = False) -> int | NotStarted: ...
    async def withdraw(self, key: str, attempt: int) -> None: ...
    async def end(self, attempt: int, outcome: str, usage: Usage, cost: float | None) -> None: ...
    async def release(self, key: str) -> None: ...
    async def give_up(
        self, key: str, attempt: int, outcome: str, usage: Usage, cost: float | None
    ) -> None: ...
    def find_in_progress(self, keys: Collection[str]) -> set[str]: ...


@dataclass(slots=True)
class RunState:
    settings: RunSettings
    journal: AttemptJournal
    ledger: Ledger
    judges: dict[str, JudgeState]
    reading: str = "default"
    paused: bool = False
    """Read right before every call, so that a pause holds at once, whoever sets it."""
    stop: bool = False
    store_error: str = ""
    """Why the store cannot be written; the run is paused until somebody resumes it."""
    shares_asks: bool = False
    """Another run is making some of our asks: its judgements count for us too."""
    on_store_error: Callable[[str], None] = print
    resumed_at: float = 0.0
    resume_event: asyncio.Event = field(default_factory=asyncio.Event)
    rng: random.Random = field(default_factory=random.Random)
    """For jitter only: nothing that is asked or read depends on it."""

    def apply_controls(self) -> None:
        """Called in the loop after `paused` or `stop` was set."""
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
        """No call may begin now."""
        return self.paused or self.stop or state.budget_reached or bool(state.stop_reason)

    async def wait_until_allowed(self, state: JudgeState) -> bool:
        """Waits while paused; False once the run or this judge is stopped."""
        while self.paused and not self.stop:
            self.resume_event.clear()  # the pause may have been set by another thread a moment ago
            await self.resume_event.wait()
        return not self.is_blocked(state)

    async def sleep(self, state: JudgeState, seconds: float) -> None:
        """Sleeps unless the run is paused or stopped meanwhile, or the judge is."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await state.blocked_event.wait()

    async def wait_for_repair(self, error: Exception, submitted: float) -> bool:
        """The store refused a write: pause, say why, and wait for somebody to resume the run.

        True: try again; what came back from the judges is still held.
        """
        if self.stop:
            return False
        if self.resumed_at > submitted:
            return True  # the failure is older than the repair
        self.paused, self.store_error = True, str(error)
        self.on_store_error(self.store_error)
        self.apply_controls()
        await self.resume_event.wait()
        return True
