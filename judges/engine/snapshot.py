"""A run as the page sees it at one moment, and the counters behind it.

Nothing here reads the store: a look at a run costs microseconds and never waits for the engine.
"""

from __future__ import annotations

import time
from collections import Counter, deque
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final, Literal, NamedTuple

from judges.engine.run_state import JudgeState, RunState
from studies.domain import Judgement

RunStatus = Literal["running", "paused", "stopped", "done", "failed"]
RATE_WINDOW_SECONDS: Final = 30.0
"""The rate is that of the last so many seconds."""


class FailureSummary(NamedTuple):
    """One kind of fault of one judge in this run, retried ones included."""

    judge: str
    reason: str
    times: int
    example: str


class JudgeWait(NamedTuple):
    """Why one judge is not being asked right now, or not as fast as it might be."""

    judge: str
    kind: Literal["stopped", "budget", "cooling", "paced", "retry", "elsewhere"]
    why: str
    """In few words: "cooling down 12 s: rate limit", "retry 3 of 5: HTTP 500"."""
    asks: int = 0
    """Asks that failed and go again."""
    max_attempts_made: int = 0
    """Attempts that the unluckiest of them has behind it."""
    seconds: float = 0.0
    allowed_in_flight: int = 0
    """Calls that will be in flight at most, after what the endpoint has shown."""
    ceiling: int = 0


@dataclass(frozen=True, slots=True)
class RunSnapshot:
    """A run as the page sees it at one moment."""

    id: str
    study: str
    state: RunStatus
    reason: str
    counts: Mapping[str, int]
    """planned, pending, and a number by status"""
    rate: float
    eta: float | None
    in_flight: int
    waits: tuple[JudgeWait, ...]
    spent: float
    """Dollars of this run."""
    unpriced: int
    """Calls of this run at an unknown price."""
    budget: float | None
    started: float
    ended: float | None
    spent_before: float = 0.0
    """Dollars that earlier runs of the study have spent; they count against its budget."""
    unknown_usage: int = 0
    """Calls of this run that may have been billed without telling what they used."""
    expected_dollars: float | None = None
    """Dollars of this run when it is through, from what its judgements have cost so far."""
    extractions: int = 0
    """Asks of the extraction judge in this run."""
    failures: tuple[FailureSummary, ...] = ()
    judges: tuple[str, ...] = ()
    possibly_paid_twice: int = 0
    """Calls for this study that were in flight when their process was killed."""
    longest_pause: float | None = None
    """Seconds after which a paused run is stopped; None: never."""

    @property
    def waiting(self) -> tuple[str, ...]:
        return tuple(f"{wait.judge}: {wait.why}" for wait in self.waits)

    @property
    def done(self) -> int:
        return self.counts.get("planned", 0) - self.counts.get("pending", 0)


@dataclass(slots=True)
class RunTally:
    """Counters kept while asking, so that a look costs no scan of the plan."""

    counts: Counter[str]
    planned_by_judge: dict[str, int]
    """Asks to be made by this run, by judge."""
    settled: Counter[str] = field(default_factory=Counter)
    cost: dict[str, float] = field(default_factory=dict)
    extractions: int = 0
    settled_times: dict[str, deque[float]] = field(default_factory=dict)

    def count(self, judgement: Judgement) -> None:
        judge = judgement.ask.judge
        self.counts[judgement.status] += 1
        self.counts["pending"] -= 1
        self.settled[judge] += 1
        self.cost[judge] = self.cost.get(judge, 0.0) + (judgement.cost or 0.0)
        self.settled_times.setdefault(judge, deque(maxlen=4096)).append(time.monotonic())

    def count_extraction(self, found: bool) -> None:
        self.extractions += 1
        if found:
            self.counts["unreadable"] -= 1
            self.counts["extracted"] += 1

    def rate(self) -> float:
        now = time.monotonic()
        return sum(rate_of(times, now) for times in list(self.settled_times.values()))

    def eta(self, stopped: set[str]) -> float | None:
        """Seconds; the slowest judge decides, for judges are asked side by side."""
        now = time.monotonic()
        needed = [
            (left, rate_of(self.settled_times.get(name, ()), now))
            for name, planned in self.planned_by_judge.items()
            if name not in stopped and (left := planned - self.settled[name]) > 0
        ]
        if not needed or any(rate <= 0 for _, rate in needed):
            return None
        return max(left / rate for left, rate in needed)

    def expected_dollars(self) -> float | None:
        """Dollars in the end, if what is left costs what was settled cost on average."""
        if any(
            planned and not self.settled[name] for name, planned in self.planned_by_judge.items()
        ):
            return None
        return sum(
            self.cost.get(name, 0.0) * max(planned, self.settled[name]) / self.settled[name]
            for name, planned in self.planned_by_judge.items()
            if self.settled[name]
        )


def rate_of(times: deque[float] | tuple[()], now: float) -> float:
    """Settled per second over the window; a few are needed before a rate means anything."""
    recent = [t for t in tuple(times) if now - t <= RATE_WINDOW_SECONDS]
    if len(recent) < 3:
        return 0.0
    return (len(recent) - 1) / max(now - recent[0], 1e-3)


def judge_waits(desk: RunState | None) -> tuple[JudgeWait, ...]:
    """The reason for waiting, judge by judge; nothing for a judge that is asked at full pace."""
    if desk is None:
        return ()
    found = (_judge_wait(state) for state in desk.judges.values())
    return tuple(wait for wait in found if wait is not None)


def _judge_wait(state: JudgeState) -> JudgeWait | None:
    name, retrying = state.name, list(state.retrying.values())
    if state.stop_reason:
        return JudgeWait(name, "stopped", f"stopped: {state.stop_reason}")
    if state.budget_reached:
        return JudgeWait(name, "budget", "budget reached")
    if (seconds := state.limiter.cooldown_left) > 0:
        why = f"cooling down {max(1, round(seconds))} s: rate limit"
        at_once = min(int(state.limiter.limit), state.workers)
        return JudgeWait(
            name, "cooling", why, len(retrying), seconds=seconds, allowed_in_flight=at_once,
            ceiling=state.workers,
        )  # fmt: skip
    if (rate := state.limiter.throttled_rate) is not None:
        why = f"at most {rate:.2g} calls a second after a rate limit, more while none is refused"
        return JudgeWait(name, "paced", why, len(retrying))
    if retrying:
        worst = max(retrying)
        others = f" ({len(retrying)} asks)" if len(retrying) > 1 else ""
        return JudgeWait(name, "retry", f"{worst}{others}", len(retrying), worst.attempts_made)
    return JudgeWait(name, "elsewhere", state.wait_reason) if state.wait_reason else None


def summarise_failures(desk: RunState | None) -> tuple[FailureSummary, ...]:
    if desk is None:
        return ()
    return tuple(
        FailureSummary(state.name, reason, mishap.count, mishap.example)
        for state in desk.judges.values()
        for reason, mishap in list(state.failures.items())
    )
