"""A run as the page sees it at one moment, and the counters behind it.

Nothing here reads the store: a look at a run costs microseconds and never waits for the engine.
"""

from __future__ import annotations

import time
from collections import Counter, deque
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final, Literal, NamedTuple

from judges.desk import Desk, JudgeState
from studies.records import Judgement

State = Literal["running", "paused", "stopped", "done", "failed"]
WINDOW: Final = 30.0
"""The rate is that of the last so many seconds."""


class Failure(NamedTuple):
    """One kind of fault of one judge in this run, retried ones included."""

    judge: str
    reason: str
    times: int
    example: str


@dataclass(frozen=True, slots=True)
class Snapshot:
    """A run as the page sees it at one moment."""

    id: str
    study: str
    state: State
    reason: str
    counts: Mapping[str, int]
    """planned, pending, and a number by status"""
    rate: float
    eta: float | None
    in_flight: int
    waiting: tuple[str, ...]
    spent: float
    """Dollars of this run."""
    unpriced: int
    """Calls of this run at an unknown price."""
    budget: float | None
    started: float
    ended: float | None
    spent_before: float = 0.0
    """Dollars that earlier runs of the study have spent; they count against its budget."""
    untold: int = 0
    """Calls of this run that may have been billed without telling what they used."""
    expected: float | None = None
    """Dollars of this run when it is through, from what its judgements have cost so far."""
    extractions: int = 0
    """Asks of the extraction judge in this run."""
    failures: tuple[Failure, ...] = ()
    possibly_paid_twice: int = 0
    """Calls that a killed process had begun, or was about to begin, for this study."""

    @property
    def done(self) -> int:
        return self.counts.get("planned", 0) - self.counts.get("pending", 0)


@dataclass(slots=True)
class Tally:
    """Counters kept while asking, so that a look costs no scan of the plan."""

    counts: Counter[str]
    left: dict[str, int]
    """Asks to be made by this run, by judge."""
    settled: Counter[str] = field(default_factory=Counter)
    cost: dict[str, float] = field(default_factory=dict)
    extractions: int = 0
    times: dict[str, deque[float]] = field(default_factory=dict)

    def count(self, judgement: Judgement) -> None:
        judge = judgement.ask.judge
        self.counts[judgement.status] += 1
        self.counts["pending"] -= 1
        self.settled[judge] += 1
        self.cost[judge] = self.cost.get(judge, 0.0) + (judgement.cost or 0.0)
        self.times.setdefault(judge, deque(maxlen=4096)).append(time.monotonic())

    def count_extraction(self, found: bool) -> None:
        self.extractions += 1
        if found:
            self.counts["unreadable"] -= 1
            self.counts["extracted"] += 1

    def rate(self) -> float:
        now = time.monotonic()
        return sum(rate_of(times, now) for times in list(self.times.values()))

    def eta(self, stopped: set[str]) -> float | None:
        """Seconds; the slowest judge decides, for judges are asked side by side."""
        now = time.monotonic()
        needed = [
            (left, rate_of(self.times.get(name, ()), now))
            for name, planned in self.left.items()
            if name not in stopped and (left := planned - self.settled[name]) > 0
        ]
        if not needed or any(rate <= 0 for _, rate in needed):
            return None
        return max(left / rate for left, rate in needed)

    def expected(self) -> float | None:
        """Dollars in the end, if what is left costs what was settled cost on average."""
        if any(planned and not self.settled[name] for name, planned in self.left.items()):
            return None
        return sum(
            self.cost.get(name, 0.0) * max(planned, self.settled[name]) / self.settled[name]
            for name, planned in self.left.items()
            if self.settled[name]
        )


def rate_of(times: deque[float] | tuple[()], now: float) -> float:
    """Settled per second over the window; a few are needed before a rate means anything."""
    recent = [t for t in tuple(times) if now - t <= WINDOW]
    if len(recent) < 3:
        return 0.0
    return (len(recent) - 1) / max(now - recent[0], 1e-3)


def waiting(desk: Desk | None) -> tuple[str, ...]:
    """Why a judge is not being asked right now, or not as fast as it might be."""
    if desk is None:
        return ()
    told = ((state.name, _why(state)) for state in desk.judges.values())
    return tuple(f"{name}: {why}" for name, why in told if why)


def _why(state: JudgeState) -> str:
    if state.stopped:
        return f"stopped: {state.stopped}"
    if state.broke:
        return "budget reached"
    if (seconds := state.gate.cooling) > 0:
        return f"cooling down {max(1, round(seconds))} s: rate limit"
    if retrying := list(state.retrying.values()):
        others = f" ({len(retrying)} asks)" if len(retrying) > 1 else ""
        return f"{retrying[-1]}{others}"
    return state.waiting


def failures(desk: Desk | None) -> tuple[Failure, ...]:
    if desk is None:
        return ()
    return tuple(
        Failure(state.name, reason, mishap.count, mishap.example)
        for state in desk.judges.values()
        for reason, mishap in list(state.mishaps.items())
    )
