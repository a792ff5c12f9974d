"""Snapshots of a run for the page, the counters they are made from, and the final status of a run.

This module does not read the store: a snapshot takes microseconds and does not wait for the engine.
"""

import time
from collections import Counter, deque
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final, Literal, NamedTuple

from judges.engine.limits.stragglers import describe_slow_calls
from judges.engine.run_state import JudgeState, RunState
from judges.money.costs import Ledger
from studies.domain import Judgement, count_stored_replies

RunStatus = Literal["running", "paused", "stopped", "done", "failed"]
RATE_WINDOW_SECONDS: Final = 30.0
"""Length in seconds of the most recent period over which the rate of completed asks is measured."""


class FailureSummary(NamedTuple):
    """Failed calls of one judge in this run that have the same reason; `times` counts each failed
    attempt, even if its retry succeeded."""

    judge: str
    reason: str
    times: int
    example: str


class JudgeWait(NamedTuple):
    """The reason why one judge is not called now, or is called more slowly than its settings
    allow."""

    judge: str
    kind: Literal["stopped", "budget", "cooling", "paced", "retry", "slow", "elsewhere"]
    """`stopped`: no further call is made; `budget`: too small for another call; `cooling`: all
    calls wait after a refusal; `paced`: the calls per second are limited; `retry`: failed asks
    wait; `slow`: calls take far longer than usual; `elsewhere`: another run makes the asks."""
    why: str
    """Short reason for the wait, such as "cooling down 12 s: rate limit" or "retry 3 of 5: HTTP
    500"."""
    asks: int = 0
    """Number of failed asks that wait for a retry."""
    max_attempts_made: int = 0
    """Largest number of attempts made so far for one of the asks that wait for a retry."""
    seconds: float = 0.0
    allowed_in_flight: int = 0
    """Current maximum of this judge's calls in flight, if `kind` is "cooling" (calls wait after a
    refusal); without failures it grows to `ceiling`."""
    ceiling: int = 0
    limiter: int = 0
    """Number of the judge's rate limiter in this run; judges of one endpoint share a limiter."""


@dataclass(frozen=True, slots=True)
class RunSnapshot:
    """State of a run at one moment, as the page shows it."""

    id: str
    study: str
    state: RunStatus
    reason: str
    counts: Mapping[str, int]
    """Number of asks planned, pending, and by status."""
    rate: float
    eta: float | None
    in_flight: int
    waits: tuple[JudgeWait, ...]
    spent: float
    """Dollars spent by this run."""
    unpriced: int
    """Number of calls of this run at an unknown price."""
    budget: float | None
    started: float
    ended: float | None
    spent_before: float = 0.0
    """Dollars spent by other runs of the study, which count against its budget."""
    unknown_usage: int = 0
    """Number of calls of this run that may have been billed but returned no token counts."""
    expected_dollars: float | None = None
    """Expected dollars of the whole run, from the mean cost of its judgements so far."""
    extractions: int = 0
    """Number of asks of the extraction judge in this run."""
    failures: tuple[FailureSummary, ...] = ()
    judges: tuple[str, ...] = ()
    dropped_reply_parameters: tuple[tuple[str, str], ...] = ()
    """(judge, parameters) for judges whose endpoint refuses planned parameters
    (comma-separated)."""
    possibly_paid_twice: int = 0
    """Number of this study's calls that were in flight when their process was killed: each may have
    been billed, and costs again if it is made again."""
    longest_pause: float | None = None
    """Seconds after which a paused run is stopped; None if it is never stopped."""

    @property
    def wait_texts(self) -> tuple[str, ...]:
        return tuple(f"{wait.judge}: {wait.why}" for wait in self.waits)

    @property
    def done(self) -> int:
        """Number of calls with a stored reply; a failed call has none and is made again by the next
        run."""
        return count_stored_replies(self.counts)


@dataclass(slots=True)
class RunTally:
    """Counters updated during a run, so that a snapshot needs no query of the store."""

    counts: Counter[str]
    planned_by_judge: dict[str, int]
    """Judge -> number of asks of this run."""
    settled: Counter[str] = field(default_factory=Counter)
    cost: dict[str, float] = field(default_factory=dict)
    extractions: int = 0
    settled_times: dict[str, deque[float]] = field(default_factory=dict)

    def count_judgement(self, judgement: Judgement) -> None:
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

    def asks_per_second(self) -> float:
        """Asks (planned calls) completed per second by all judges together in the last
        RATE_WINDOW_SECONDS; a judge with fewer than three counts 0."""
        now = time.monotonic()
        return sum(completed_per_second(times, now) for times in list(self.settled_times.values()))

    def seconds_left(self, stopped: set[str]) -> float | None:
        """Seconds until the slowest judge is done (judges work in parallel), without the judges
        named in `stopped`. None if no ask is left, or if a judge with asks left has completed fewer
        than three in the last RATE_WINDOW_SECONDS."""
        now = time.monotonic()
        needed = [
            (left, completed_per_second(self.settled_times.get(name, ()), now))
            for name, planned in self.planned_by_judge.items()
            if name not in stopped and (left := planned - self.settled[name]) > 0
        ]
        if not needed or any(rate <= 0 for _, rate in needed):
            return None
        return max(left / rate for left, rate in needed)

    def expected_dollars(self) -> float | None:
        """Expected dollars of the whole run: each judge's number of asks times the mean cost of its
        completed asks (an unknown cost counts 0). None while a judge has no completed ask."""
        if any(
            planned and not self.settled[name] for name, planned in self.planned_by_judge.items()
        ):
            return None
        return sum(
            self.cost.get(name, 0.0) * max(planned, self.settled[name]) / self.settled[name]
            for name, planned in self.planned_by_judge.items()
            if self.settled[name]
        )


def completed_per_second(times: deque[float] | tuple[()], now: float) -> float:
    """Return the asks completed per second in the last RATE_WINDOW_SECONDS; 0 if fewer than three
    were completed in this time. `times`: the times at which asks were completed, on the monotonic
    clock."""
    recent = [t for t in tuple(times) if now - t <= RATE_WINDOW_SECONDS]
    if len(recent) < 3:
        return 0.0
    return (len(recent) - 1) / max(now - recent[0], 1e-3)


def list_judge_waits(states: Iterable[JudgeState]) -> tuple[JudgeWait, ...]:
    """Return, for each judge that waits, the reason; judges called at full speed are left out."""
    numbers: dict[int, int] = {}
    found = []
    for state in states:
        number = numbers.setdefault(id(state.limiter), len(numbers))
        if (wait := _find_judge_wait(state)) is not None:
            found.append(wait._replace(limiter=number))
    return tuple(found)


def _find_judge_wait(state: JudgeState) -> JudgeWait | None:
    name, retrying = state.name, list(state.retrying.values())
    if state.stop_reason:
        return JudgeWait(name, "stopped", f"stopped: {state.stop_reason}")
    if state.budget_reached:
        return JudgeWait(name, "budget", "budget reached")
    if (seconds := state.limiter.cooldown_left) > 0:
        why = f"cooling down {max(1, round(seconds))} s: rate limit"
        at_once = min(int(state.limiter.limit), state.workers)
        return JudgeWait(
            name,
            "cooling",
            why,
            len(retrying),
            seconds=seconds,
            allowed_in_flight=at_once,
            ceiling=state.workers,
        )
    if (rate := state.limiter.throttled_rate) is not None:
        most = f"at most {rate:.2g} calls a second"
        why = f"{most} after a rate limit, rising until a call is refused"
        return JudgeWait(name, "paced", why, len(retrying))
    if retrying:
        worst = max(retrying)
        others = f" ({len(retrying)} calls)" if len(retrying) > 1 else ""
        return JudgeWait(name, "retry", f"{worst}{others}", len(retrying), worst.attempts_made)
    if started := list(state.slow_calls.values()):
        ages = [time.monotonic() - start for start in started]
        why = describe_slow_calls(ages, state.durations.median_duration_seconds)
        return JudgeWait(name, "slow", why, seconds=max(ages))
    return JudgeWait(name, "elsewhere", state.wait_reason) if state.wait_reason else None


def stopped_judges(states: Iterable[JudgeState]) -> set[str]:
    return {state.name for state in states if state.stop_reason or state.budget_reached}


def list_dropped_reply_parameters(states: Iterable[JudgeState]) -> tuple[tuple[str, str], ...]:
    return tuple(
        (state.name, ", ".join(sorted(state.dropped_reply_parameters)))
        for state in states
        if state.dropped_reply_parameters
    )


def summarise_failures(states: Iterable[JudgeState]) -> tuple[FailureSummary, ...]:
    return tuple(
        FailureSummary(state.name, reason, tally.count, tally.example)
        for state in states
        for reason, tally in list(state.failures.items())
    )


def final_status(run_state: RunState, stop_reason: str) -> tuple[RunStatus, str]:
    """Return status and reason of a run that ended without an error. "stopped": the budget is
    reached, the user stopped the run (`stop_reason`), or the user left out every judge that was
    stopped. "failed": a judge was stopped and not left out. Else "done", with the reason ""."""
    halted = [state for state in run_state.judges.values() if state.stop_reason]
    stopped = [f"{state.name}: {state.stop_reason}" for state in halted]
    if any(state.budget_reached for state in run_state.judges.values()):
        return "stopped", "; ".join([_budget_reason(run_state.ledger), *stopped])
    if halted:
        status: RunStatus = "stopped" if all(judge.left_out for judge in halted) else "failed"
        return status, "; ".join(stopped)
    return ("stopped", stop_reason) if run_state.stop else ("done", "")


def _budget_reason(ledger: Ledger) -> str:
    spent = ledger.spent_by_others + ledger.dollars_spent
    unknown = ledger.unknown_by_others + sum(ledger.unknown_usage.values())
    calls = f"{unknown:,} call{'s' * (unknown != 1)}"
    more = f", {calls} may have been billed without token counts" if unknown else ""
    return (
        f"budget reached: ${spent:.4f} of ${ledger.budget or 0:.2f} spent{more}, and "
        "one more call might exceed it"
    )
