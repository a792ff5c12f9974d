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

from judges.allowance import Purse
from judges.cost import Ledger
from judges.faults import Fault
from judges.limits import Gate
from judges.models.answers import Model
from studies.journal import NotOurs
from studies.records import Price, Usage


@dataclass(frozen=True, slots=True)
class Settings:
    """How patient a run is. None: what the study says."""

    concurrency: int | None = None
    reading: str | None = None
    attempts: int = 6
    deadline: float = 180.0
    first_backoff: float = 0.5
    again: frozenset[str] = frozenset({"error"})
    """Statuses that do not satisfy this run: such an ask is made once more."""
    wall: Callable[[], float] = time.time
    """For stamps only: no wait and no lease depends on the wall clock."""
    longest_pause: float | None = None
    """Seconds after which a paused run is stopped; None: it may stay paused."""


class Retry(NamedTuple):
    """An ask between two attempts."""

    tried: int
    most: int
    reason: str

    def __str__(self) -> str:
        return f"retry {self.tried} of {self.most - 1}: {self.reason}"


@dataclass(slots=True)
class Mishap:
    """One kind of fault of one judge: how often in this run, and the last example."""

    count: int = 0
    example: str = ""


@dataclass(slots=True)
class JudgeState:
    """What is known about one judge while it is asked; the page shows it."""

    name: str
    model: Model
    price: Price | None
    gate: Gate
    workers: int = 1
    purse: Purse | None = None
    """Where the house pays: asked before each call, beside the run's own budget."""
    waiting: str = ""
    retrying: dict[str, Retry] = field(default_factory=dict)
    """By key: asks that failed and go again."""
    stopped: str = ""
    left_out: bool = False
    """Somebody chose to go on without this judge."""
    broke: bool = False
    """The budget is too small for one more call of this judge."""
    successes: int = 0
    failed_in_a_row: int = 0
    refusals: Counter[str] = field(default_factory=Counter)
    dropped: set[str] = field(default_factory=set)
    """Parameters this endpoint refused once: not sent again."""
    mishaps: dict[str, Mishap] = field(default_factory=dict)
    held: asyncio.Event = field(default_factory=asyncio.Event)
    """No call may begin: the run is paused or stopped, or this judge is. Wakes who sleeps."""

    def note(self, fault: Fault) -> None:
        mishap = self.mishaps.setdefault(fault.reason, Mishap())
        mishap.count += 1
        mishap.example = fault.detail

    def halt(self, reason: str = "") -> None:
        """No further call; whoever waits in a backoff or at the gate goes home."""
        self.stopped = self.stopped or reason
        self.held.set()
        self.gate.recheck()


class Notes(Protocol):
    """Where attempts are written down: the store's journal, or a worker's notebook."""

    async def begin(self, key: str, *, leased: bool = False) -> int | NotOurs: ...
    async def withdraw(self, key: str, attempt: int) -> None: ...
    async def end(self, attempt: int, outcome: str, usage: Usage, cost: float | None) -> None: ...
    async def release(self, key: str) -> None: ...
    async def give_up(
        self, key: str, attempt: int, outcome: str, usage: Usage, cost: float | None
    ) -> None: ...
    def being_made(self, keys: Collection[str]) -> set[str]: ...


@dataclass(slots=True)
class Desk:
    settings: Settings
    journal: Notes
    ledger: Ledger
    judges: dict[str, JudgeState]
    reading: str = "default"
    paused: bool = False
    """Read right before every call, so that a pause holds at once, whoever sets it."""
    stop: bool = False
    trouble: str = ""
    """Why the store cannot be written; the run is paused until somebody resumes it."""
    shared: bool = False
    """Another run is making some of our asks: its judgements count for us too."""
    on_trouble: Callable[[str], None] = print
    resumed_at: float = 0.0
    go: asyncio.Event = field(default_factory=asyncio.Event)
    rng: random.Random = field(default_factory=random.Random)
    """For jitter only: nothing that is asked or read depends on it."""

    def steered(self) -> None:
        """Called in the loop after `paused` or `stop` was set."""
        if self.paused and not self.stop:
            self.go.clear()
        else:
            self.resumed_at = time.monotonic()
            self.go.set()
        self.ledger.recheck()
        for state in self.judges.values():
            if self.closed(state):
                state.held.set()
            else:
                state.held.clear()
            state.gate.recheck()

    def closed(self, state: JudgeState) -> bool:
        """No call may begin now."""
        return self.paused or self.stop or state.broke or bool(state.stopped)

    async def may_go_on(self, state: JudgeState) -> bool:
        """Waits while paused; False once the run or this judge is stopped."""
        while self.paused and not self.stop:
            self.go.clear()  # the pause may have been set by another thread a moment ago
            await self.go.wait()
        return not self.closed(state)

    async def sleep(self, state: JudgeState, seconds: float) -> None:
        """Sleeps unless the run is paused or stopped meanwhile, or the judge is."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await state.held.wait()

    async def repaired(self, error: Exception, submitted: float) -> bool:
        """The store refused a write: pause, say why, and wait for somebody to resume the run.

        True: try again; what came back from the judges is still held.
        """
        if self.stop:
            return False
        if self.resumed_at > submitted:
            return True  # the failure is older than the repair
        self.paused, self.trouble = True, str(error)
        self.on_trouble(self.trouble)
        self.steered()
        await self.go.wait()
        return True
