"""The attempts at one ask: the only place that decides whether to try again."""

from __future__ import annotations

import asyncio
import random
import time
from collections import Counter
from dataclasses import dataclass, field, replace
from typing import Final

from judges.cost import Ledger
from judges.errors import JudgeStopped
from judges.faults import Fault, fault_of
from judges.limits import NAP, Gate
from judges.models.answers import Answer, Call, Model
from judges.reading import read_answer
from studies.journal import Journal
from studies.records import NO_USAGE, Ask, Judgement, Price, Usage

LONGEST_BACKOFF: Final = 30.0
HOPELESS: Final = 5
"""So many identical refusals without one success, and the judge is stopped."""
_HOPELESS_REASONS: Final = ("bad request", "unreachable", "no images")


@dataclass(frozen=True, slots=True)
class Settings:
    concurrency: int = 16
    reading: str = "default"
    attempts: int = 6
    deadline: float = 180.0
    first_backoff: float = 0.5


@dataclass(slots=True)
class JudgeState:
    """What is known about one judge while it is asked; the page shows it."""

    name: str
    model: Model
    price: Price | None
    gate: Gate
    workers: int = 1
    waiting: str = ""
    stopped: str = ""
    successes: int = 0
    refusals: Counter[str] = field(default_factory=Counter)


@dataclass(slots=True)
class Desk:
    """What all workers of a run share."""

    settings: Settings
    journal: Journal
    ledger: Ledger
    judges: dict[str, JudgeState]
    go: asyncio.Event = field(default_factory=asyncio.Event)
    stop: bool = False
    budget_reached: bool = False
    rng: random.Random = field(default_factory=random.Random)
    """For jitter only: nothing that is asked or read depends on it."""

    async def may_go_on(self, judge: str) -> bool:
        """Waits while paused; False once the run or this judge is stopped."""
        if not self.go.is_set():
            await self.go.wait()
        return not (self.stop or self.judges[judge].stopped or self.budget_reached)

    async def sleep(self, seconds: float) -> None:
        """Sleeps unless the run is stopped meanwhile."""
        until = time.monotonic() + seconds
        while not self.stop and (left := until - time.monotonic()) > 0:
            await asyncio.sleep(min(left, NAP))


@dataclass(slots=True)
class Attempts:
    desk: Desk
    call: Call
    attempt: int
    """The id of the intent on disk."""
    usage: Usage = NO_USAGE
    cost: float | None = None
    total: float | None = None
    seconds: float = 0.0
    tried: int = 0
    doubled: bool = False
    dropped: set[str] = field(default_factory=set)

    @property
    def state(self) -> JudgeState:
        return self.desk.judges[self.call.judge.name]

    async def run(self) -> Answer | Fault | None:
        """An answer, the fault that settles the ask, or None if no call could be made."""
        while (outcome := await self._once()) is not None:
            again = self._again(outcome)
            if not again:
                self.state.waiting = ""
                return outcome
            await self.desk.journal.ended(self.attempt, again, self.usage, self.cost)
            self.attempt = await self.desk.journal.again(self.call.key)
            self.usage, self.cost = NO_USAGE, None
            if isinstance(outcome, Fault) and outcome.action == "retry":
                await self.desk.sleep(self._backoff())
        return None

    def judgement(self, ask: Ask, outcome: Answer | Fault) -> Judgement:
        """The typed outcome, with what all attempts cost together."""
        if isinstance(outcome, Fault):
            settled = Judgement(ask, outcome.status, rule=outcome.reason, detail=outcome.detail)
        else:
            read = read_answer(self.call, outcome, self.desk.settings.reading)
            settled = read.judgement(ask, outcome)
        return replace(settled, cost=self.total, seconds=self.seconds, time=time.time())

    async def _once(self) -> Answer | Fault | None:
        """One call behind the gate, within its deadline, its worst case reserved."""
        gate = self.state.gate
        began = await self._enter(gate)
        reserved = None if began is None else await self._reserve()
        if began is None or reserved is None:
            if began is not None:
                gate.leave(began, neutral=True)
            return None
        self.tried += 1
        outcome = await self._ask()
        self.seconds = time.monotonic() - began
        fault = outcome if isinstance(outcome, Fault) else None
        gate.leave(
            began,
            congested=fault is not None and fault.congestion,
            neutral=fault is not None,
            wait=fault.wait if fault else None,
        )
        self._book(outcome, reserved)
        return outcome

    async def _enter(self, gate: Gate) -> float | None:
        if gate.cooling:
            self.state.waiting = f"cooling down {gate.cooling:.0f} s: rate limit"
        began = await gate.enter(lambda: self.desk.stop)
        if began is None or await self.desk.may_go_on(self.state.name):
            return began
        gate.leave(began, neutral=True)
        return None

    async def _reserve(self) -> float | None:
        """Dollars for the worst case; waits for calls in flight to give back what they spared."""
        ledger = self.desk.ledger
        while (reserved := ledger.reserve(self.call, self.state.price)) is None:
            if ledger.idle or self.desk.stop:
                self.desk.budget_reached = True
                return None
            await asyncio.sleep(0.02)
        return reserved

    async def _ask(self) -> Answer | Fault:
        try:
            async with asyncio.timeout(self.desk.settings.deadline):
                return await self.state.model.complete(self.call)
        except Exception as error:
            return fault_of(error, self.call.judge.endpoint or self.call.judge.name)

    def _book(self, outcome: Answer | Fault, reserved: float) -> None:
        """Every attempt is paid for, the failed but billed ones too."""
        self.usage = outcome.usage if isinstance(outcome, Answer) else NO_USAGE
        ledger = self.desk.ledger
        self.cost = ledger.settle(self.state.name, reserved, self.usage, self.state.price)
        ledger.calibrate(self.call, self.usage)
        if self.cost is not None:
            self.total = (self.total or 0.0) + self.cost

    def _again(self, outcome: Answer | Fault) -> str:
        """Why to try again, empty if the ask is settled; prepares the next call."""
        if isinstance(outcome, Fault):
            return self._again_after(outcome)
        self.state.successes += 1
        if self.doubled or not self._cut_short(outcome):
            return ""
        self.doubled = True
        self._change(max_tokens=2 * int(self.call.parameters["max_tokens"]))
        return "truncated"

    def _cut_short(self, answer: Answer) -> bool:
        """A judge that thinks may use up its cap; a one-token label ask ends so by design."""
        if answer.finish != "length" or int(self.call.parameters.get("max_tokens", 0)) <= 1:
            return False
        return read_answer(self.call, answer, self.desk.settings.reading).status == "truncated"

    def _again_after(self, fault: Fault) -> str:
        self._maybe_stop(fault)
        if fault.action == "without" and fault.parameter not in self.dropped:
            self.dropped.add(fault.parameter)
            self._drop(fault.parameter)
            return fault.reason
        most = self.desk.settings.attempts
        if fault.action != "retry" or self.tried >= most:
            return ""
        self.state.waiting = f"retry {self.tried} of {most - 1}: {fault.reason}"
        return fault.reason

    def _maybe_stop(self, fault: Fault) -> None:
        if fault.action == "stop":
            raise JudgeStopped(fault.detail)
        if self.state.successes == 0 and fault.reason in _HOPELESS_REASONS:
            self.state.refusals[fault.reason] += 1
            if self.state.refusals[fault.reason] >= HOPELESS:
                raise JudgeStopped(f"{fault.detail} ({HOPELESS} times, no success)")

    def _drop(self, parameter: str) -> None:
        values = dict(self.call.parameters)
        value = values.pop(parameter, None)
        if parameter == "max_tokens" and value is not None:
            values["max_completion_tokens"] = value  # what reasoning models call it
        if parameter == "logprobs":
            values.pop("top_logprobs", None)
        self.call = replace(self.call, parameters=values)

    def _change(self, **values: object) -> None:
        self.call = replace(self.call, parameters={**self.call.parameters, **values})

    def _backoff(self) -> float:
        """Doubling with full jitter, so that workers do not come back in step."""
        most = min(LONGEST_BACKOFF, self.desk.settings.first_backoff * 2 ** (self.tried - 1))
        return float(most * (0.5 + self.desk.rng.random() / 2))
