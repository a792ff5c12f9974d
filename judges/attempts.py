"""The attempts at one ask: the only place that decides whether to try again."""

from __future__ import annotations

import asyncio
import time
from dataclasses import dataclass, field, replace
from typing import Final

from judges.allowance import Loan
from judges.cost import CAPS, cap_of
from judges.desk import Desk as Desk
from judges.desk import JudgeState as JudgeState
from judges.desk import Retry
from judges.desk import Settings as Settings
from judges.errors import JudgeStopped
from judges.faults import Fault, fault_of
from judges.models.answers import Answer, Call
from judges.reading import read_answer
from studies.journal import NotOurs
from studies.records import NO_USAGE, Ask, Judgement, Usage

LONGEST_BACKOFF: Final = 30.0
HOPELESS: Final = 5
"""So many identical refusals without one success, or so many asks in a row that failed in every
attempt, and the judge is stopped: the rest stays pending instead of turning into errors."""
_REFUSALS: Final = ("bad request", "no images", "no logprobs")


@dataclass(slots=True)
class Attempts:
    desk: Desk
    state: JudgeState
    call: Call
    after: asyncio.Task[None] | None = None
    """The write of this worker's last judgement. It shares a commit with the intent of the next
    call, and that call waits for both: a worker never has two results at stake."""
    attempt: int | None = None
    """The id of the intent on disk, from right before a call to its outcome."""
    leased: bool = False
    """The ask is ours until it is settled, or until a pause."""
    loan: Loan = field(default_factory=Loan)
    not_ours: NotOurs | None = None
    usage: Usage = NO_USAGE
    cost: float | None = None
    total: float | None = None
    seconds: float = 0.0
    tried: int = 0
    dropped: set[str] = field(default_factory=set)
    cut_short: Answer | None = None
    """The reply that ran into its cap, kept while a doubled cap is tried."""

    def __post_init__(self) -> None:
        for parameter in self.state.dropped:
            self._drop(parameter)

    async def run(self) -> Answer | Fault | None:
        """An answer, the fault that settles the ask, or None if no call could be made: the run was
        stopped, or the ask is not ours."""
        try:
            while (outcome := await self._once()) is not None:
                why = self._again(outcome)
                if not why:
                    return self._settling(outcome)
                await self._end(why)
                if isinstance(outcome, Fault) and outcome.action == "retry" and not outcome.limited:
                    await self.desk.sleep(self.state, self._backoff())
        finally:
            self.state.retrying.pop(self.call.key, None)
        return None

    def judgement(self, ask: Ask, outcome: Answer | Fault) -> Judgement:
        """The typed outcome, with what all attempts cost together."""
        if isinstance(outcome, Fault):
            settled = Judgement(ask, outcome.status, rule=outcome.reason, detail=outcome.detail)
        else:
            settled = read_answer(self.call, outcome, self.desk.reading).judgement(ask, outcome)
        if without := sorted(self.dropped - {"max_tokens"}):  # that one has another name
            told = f"asked without {', '.join(without)}"
            settled = replace(settled, detail=f"{settled.detail}; {told}".strip("; "))
        now = self.desk.settings.wall()
        return replace(settled, cost=self.total, seconds=self.seconds, time=now)

    async def _once(self) -> Answer | Fault | None:
        """One call behind the gate, within its deadline, its worst case reserved, its intent on
        disk."""
        ready = await self._ready()
        if ready is None:
            return None
        began, reserved = ready
        self.tried += 1
        self.state.retrying.pop(self.call.key, None)
        sent = time.monotonic()
        try:
            outcome = await self._ask()
        except BaseException:  # cancelled: the gate is shared with other runs
            self.state.gate.leave(began, neutral=True)
            raise
        self.seconds = time.monotonic() - sent
        fault = outcome if isinstance(outcome, Fault) else None
        if fault is None:
            self.state.gate.leave(began)
        else:
            self.state.note(fault)
            self.state.gate.leave(
                began, congested=fault.congestion, neutral=True, limited=fault.limited,
                wait=fault.wait,
            )  # fmt: skip
        self._book(outcome, reserved)
        billed = isinstance(outcome, Answer) or outcome.maybe_billed or self.cost is not None
        await self.loan.settle(self.state.purse, self.cost, billed=billed)
        return outcome

    async def _ready(self) -> tuple[float, float] | None:
        """Waits until a call may be made: neither paused nor stopped, a place behind the gate, the
        worst case within the budget, and the ask ours, all at one moment. None: not by us."""
        while await self._may_go_on():
            place = await self._place()
            if place is None:
                continue
            try:
                begun = await self._afford() and await self._begin()
            except BaseException:
                self._give_back(*place)
                raise
            if begun:
                return place
            self._give_back(*place)
            await self.loan.give_back(self.state.purse)
            if self.not_ours:
                break
        return None

    async def _may_go_on(self) -> bool:
        """A pause gives the lease back: whoever else wants the ask need not wait for us."""
        if self.leased and self.desk.paused and not self.desk.stop:
            self.leased = False
            await self.desk.journal.release(self.call.key)
        return await self.desk.may_go_on(self.state)

    async def _place(self) -> tuple[float, float] | None:
        """A place behind the gate and the worst case of the call set aside."""
        desk, state, ledger = self.desk, self.state, self.desk.ledger
        began = await state.gate.enter(lambda: desk.closed(state))
        if began is None:
            return None
        reserved = ledger.reserve(self.call, state.price)
        if reserved is not None:
            return began, reserved
        state.gate.leave(began, neutral=True)
        if ledger.idle:
            state.broke = True
            state.halt()
        else:  # a call in flight may cost less than its worst case
            await ledger.changed()
        return None

    async def _afford(self) -> bool:
        """The worst case of a call that the house pays for is on disk before it is made."""
        if refused := await self.loan.take(self.state.purse, self.call):
            self.state.halt(refused)
        return self.state.purse is None or self.loan.taken

    async def _begin(self) -> bool:
        """Writes that the call is about to be sent; a pause or a cool-down that came meanwhile
        takes it back."""
        journal = self.desk.journal
        begun = await journal.begin(self.call.key, leased=self.leased)
        if self.after is not None:
            await self.after
            self.after = None
        if not isinstance(begun, int):
            self.not_ours = None if begun == "too dear" else begun
            return False
        if self.desk.closed(self.state) or self.state.gate.cooling:
            self.leased = False
            await journal.withdraw(self.call.key, begun)
            return False
        self.attempt, self.leased = begun, True
        return True

    def _give_back(self, began: float, reserved: float) -> None:
        """No call was made: the gate learns nothing, the ledger books nothing."""
        self.state.gate.leave(began, neutral=True)
        self.desk.ledger.settle(
            self.state.name, reserved, NO_USAGE, self.state.price, maybe_billed=False
        )

    async def _ask(self) -> Answer | Fault:
        try:
            async with asyncio.timeout(self.desk.settings.deadline):
                return await self.state.model.complete(self.call)
        except Exception as error:
            judge = self.call.judge
            return fault_of(error, judge.endpoint or judge.name)

    def _book(self, outcome: Answer | Fault, reserved: float) -> None:
        """Every attempt is paid for, the failed but billed ones too."""
        answered = isinstance(outcome, Answer)
        self.usage = outcome.usage if isinstance(outcome, Answer) else NO_USAGE
        ledger = self.desk.ledger
        self.cost = ledger.settle(
            self.state.name, reserved, self.usage, self.state.price,
            maybe_billed=answered or (isinstance(outcome, Fault) and outcome.maybe_billed),
        )  # fmt: skip
        ledger.calibrate(self.call, self.usage)
        if self.cost is not None:
            self.total = (self.total or 0.0) + self.cost

    async def _end(self, why: str) -> None:
        assert self.attempt is not None
        await self.desk.journal.end(self.attempt, why, self.usage, self.cost)
        self.attempt, self.usage, self.cost = None, NO_USAGE, None

    def _again(self, outcome: Answer | Fault) -> str:
        """Why to try again, empty if the ask is settled; prepares the next call."""
        if isinstance(outcome, Fault):
            return self._again_after(outcome)
        self.state.successes += 1
        self.state.failed_in_a_row = 0
        if self.cut_short is not None or not self._ran_into_cap(outcome):
            return ""
        self.cut_short = outcome
        name = next((cap for cap in CAPS if cap in self.call.parameters), "max_tokens")
        self._set({**self.call.parameters, name: 2 * cap_of(self.call)})
        return "truncated"

    def _settling(self, outcome: Answer | Fault) -> Answer | Fault:
        """An endpoint may refuse the doubled cap: then the reply that was cut short is it."""
        refused = isinstance(outcome, Fault) and outcome.action in ("settle", "without")
        return self.cut_short if self.cut_short is not None and refused else outcome

    def _ran_into_cap(self, answer: Answer) -> bool:
        """A judge that thinks may use up its cap; a one-token label ask ends so by design."""
        if answer.finish != "length" or cap_of(self.call) <= 1:
            return False
        return read_answer(self.call, answer, self.desk.reading).status == "truncated"

    def _again_after(self, fault: Fault) -> str:
        self._maybe_stop(fault)
        if fault.action == "without" and self._drop(fault.parameter):
            self.state.dropped.add(fault.parameter)
            return fault.reason
        most = self.desk.settings.attempts
        if fault.action != "retry" or self.tried >= most:
            self._count_failure(fault)
            return ""
        self.state.retrying[self.call.key] = Retry(self.tried, most, fault.reason)
        return fault.reason

    def _maybe_stop(self, fault: Fault) -> None:
        if fault.action == "stop":
            raise JudgeStopped(fault.detail)
        if self.state.successes == 0 and self._hopeless(fault):
            said = f"{fault.reason}: {fault.detail}"
            self.state.refusals[said] += 1
            if self.state.refusals[said] >= HOPELESS:
                raise JudgeStopped(f"{fault.detail} ({HOPELESS} times, no success)")

    def _hopeless(self, fault: Fault) -> bool:
        """A server that is just starting is given a moment."""
        return fault.reason in _REFUSALS or (fault.reason == "unreachable" and self.tried >= 3)

    def _count_failure(self, fault: Fault) -> None:
        if fault.action != "retry":
            return
        self.state.failed_in_a_row += 1
        if self.state.failed_in_a_row >= HOPELESS:
            raise JudgeStopped(
                f"{fault.reason}: {fault.detail} ({HOPELESS} asks in a row failed, "
                f"{self.tried} attempts each)"
            )

    def _drop(self, parameter: str) -> bool:
        """Leaves a parameter out of the call; False if it is not in it."""
        values = dict(self.call.parameters)
        if parameter not in values:
            return False
        value = values.pop(parameter)
        if parameter == "max_tokens":
            values["max_completion_tokens"] = value  # what reasoning models call it
        self.dropped.add(parameter)
        self._set(values)
        return True

    def _set(self, parameters: dict[str, object]) -> None:
        self.call = replace(self.call, parameters=parameters)

    def _backoff(self) -> float:
        """Doubling with jitter, so that workers do not come back in step."""
        most = min(LONGEST_BACKOFF, self.desk.settings.first_backoff * 2 ** (self.tried - 1))
        return float(most * (0.5 + self.desk.rng.random() / 2))
