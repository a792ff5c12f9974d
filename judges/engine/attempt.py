"""The attempts at one ask: the only place that decides whether to try again."""

from __future__ import annotations

import asyncio
import time
from dataclasses import dataclass, field, replace
from typing import Final

from judges.engine.outcome import read_outcome
from judges.engine.run_state import JudgeState as JudgeState
from judges.engine.run_state import PendingRetry
from judges.engine.run_state import RunSettings as RunSettings
from judges.engine.run_state import RunState as RunState
from judges.judge_errors import JudgeStopped
from judges.models.failures import CallFailure, classify_error
from judges.models.interface import JudgeCall, JudgeReply
from judges.money.costs import CAP_PARAMETERS, reply_token_cap
from judges.money.host_key import CallReservation
from studies.domain import NO_USAGE, Ask, Judgement, Usage
from studies.store.run_journal import NotStarted

MAX_BACKOFF_SECONDS: Final = 30.0
STOP_AFTER_FAILURES: Final = 5
"""So many identical refusals without one success, or so many asks in a row that failed in every
attempt, and the judge is stopped: the rest stays pending instead of turning into errors."""
_REFUSAL_REASONS: Final = ("bad request", "no images", "no logprobs")


@dataclass(slots=True)
class AskAttempts:
    run_state: RunState
    state: JudgeState
    call: JudgeCall
    previous_write: asyncio.Task[None] | None = None
    """The write of this worker's last judgement. It shares a commit with the intent of the next
    call, and that call waits for both: a worker never has two results at stake."""
    attempt: int | None = None
    """The id of the intent on disk, from right before a call to its outcome."""
    leased: bool = False
    """The ask is ours until it is settled, or until a pause."""
    reservation: CallReservation = field(default_factory=CallReservation)
    lease_refusal: NotStarted | None = None
    usage: Usage = NO_USAGE
    cost: float | None = None
    total: float | None = None
    seconds: float = 0.0
    attempts_made: int = 0
    dropped_parameters: set[str] = field(default_factory=set)
    truncated_reply: JudgeReply | None = None
    """The reply that ran into its cap, kept while a doubled cap is tried."""

    def __post_init__(self) -> None:
        for parameter in self.state.dropped_parameters:
            self._drop_parameter(parameter)

    async def run(self) -> JudgeReply | CallFailure | None:
        """An answer, the fault that settles the ask, or None if no call could be made: the run was
        stopped, or the ask is not ours."""
        try:
            while (outcome := await self._attempt_once()) is not None:
                why = self._retry_reason(outcome)
                if not why:
                    return self._final_outcome(outcome)
                await self._record_end(why)
                if (
                    isinstance(outcome, CallFailure)
                    and outcome.action == "retry"
                    and not outcome.rate_limited
                ):
                    await self.run_state.sleep(self.state, self._backoff_seconds())
        finally:
            self.state.retrying.pop(self.call.key, None)
        return None

    def judgement(self, ask: Ask, outcome: JudgeReply | CallFailure) -> Judgement:
        """The typed outcome, with what all attempts cost together."""
        if isinstance(outcome, CallFailure):
            settled = Judgement(ask, outcome.status, rule=outcome.reason, detail=outcome.detail)
        else:
            settled = read_outcome(self.call, outcome, self.run_state.reading).judgement(
                ask, outcome
            )
        if without := sorted(self.dropped_parameters - {"max_tokens"}):  # that one has another name
            told = f"asked without {', '.join(without)}"
            settled = replace(settled, detail=f"{settled.detail}; {told}".strip("; "))
        now = self.run_state.settings.wall_clock()
        return replace(settled, cost=self.total, seconds=self.seconds, time=now)

    async def _attempt_once(self) -> JudgeReply | CallFailure | None:
        """One call behind the gate, within its deadline, its worst case reserved, its intent on
        disk."""
        ready = await self._wait_until_ready()
        if ready is None:
            return None
        began, reserved = ready
        self.attempts_made += 1
        self.state.retrying.pop(self.call.key, None)
        sent = time.monotonic()
        try:
            outcome = await self._send_call()
        except BaseException:  # cancelled: the gate is shared with other runs
            self.state.limiter.release(began, neutral=True)
            raise
        self.seconds = time.monotonic() - sent
        fault = outcome if isinstance(outcome, CallFailure) else None
        if fault is None:
            self.state.limiter.release(began)
        else:
            self.state.note(fault)
            self.state.limiter.release(
                began, congested=fault.congestion, neutral=True, limited=fault.rate_limited,
                wait=fault.wait,
            )  # fmt: skip
        self._record_cost(outcome, reserved)
        billed = isinstance(outcome, JudgeReply) or outcome.maybe_billed or self.cost is not None
        await self.reservation.settle(self.state.allowance, self.cost, billed=billed)
        return outcome

    async def _wait_until_ready(self) -> tuple[float, float] | None:
        """Waits until a call may be made: neither paused nor stopped, a place behind the gate, the
        worst case within the budget, and the ask ours, all at one moment. None: not by us."""
        while await self._wait_until_allowed():
            place = await self._enter_limiter()
            if place is None:
                continue
            try:
                begun = await self._reserve_allowance() and await self._record_start()
            except BaseException:
                self._leave_limiter(*place)
                raise
            if begun:
                return place
            self._leave_limiter(*place)
            await self.reservation.release_unused(self.state.allowance)
            if self.lease_refusal:
                break
        return None

    async def _wait_until_allowed(self) -> bool:
        """A pause gives the lease back: whoever else wants the ask need not wait for us."""
        if self.leased and self.run_state.paused and not self.run_state.stop:
            self.leased = False
            await self.run_state.journal.release(self.call.key)
        return await self.run_state.wait_until_allowed(self.state)

    async def _enter_limiter(self) -> tuple[float, float] | None:
        """A place behind the gate and the worst case of the call set aside."""
        desk, state, ledger = self.run_state, self.state, self.run_state.ledger
        began = await state.limiter.acquire(lambda: desk.is_blocked(state))
        if began is None:
            return None
        reserved = ledger.reserve(self.call, state.price)
        if reserved is not None:
            return began, reserved
        state.limiter.release(began, neutral=True)
        if ledger.has_no_open_calls:
            state.budget_reached = True
            state.stop_judge()
        else:  # a call in flight may cost less than its worst case
            await ledger.wait_for_change()
        return None

    async def _reserve_allowance(self) -> bool:
        """The worst case of a call that the house pays for is on disk before it is made."""
        if refused := await self.reservation.reserve_from(self.state.allowance, self.call):
            self.state.stop_judge(refused)
        return self.state.allowance is None or self.reservation.is_reserved

    async def _record_start(self) -> bool:
        """Writes that the call is about to be sent; a pause or a cool-down that came meanwhile
        takes it back."""
        journal = self.run_state.journal
        begun = await journal.begin(self.call.key, leased=self.leased)
        if self.previous_write is not None:
            await self.previous_write
            self.previous_write = None
        if not isinstance(begun, int):
            self.lease_refusal = None if begun == "too dear" else begun
            return False
        if self.run_state.is_blocked(self.state) or self.state.limiter.cooldown_left:
            self.leased = False
            await journal.withdraw(self.call.key, begun)
            return False
        self.attempt, self.leased = begun, True
        return True

    def _leave_limiter(self, began: float, reserved: float) -> None:
        """No call was made: the gate learns nothing, the ledger books nothing."""
        self.state.limiter.release(began, neutral=True)
        self.run_state.ledger.settle(
            self.state.name, reserved, NO_USAGE, self.state.price, maybe_billed=False
        )

    async def _send_call(self) -> JudgeReply | CallFailure:
        try:
            async with asyncio.timeout(self.run_state.settings.deadline):
                return await self.state.model.complete(self.call)
        except Exception as error:
            judge = self.call.judge
            return classify_error(error, judge.endpoint or judge.name)

    def _record_cost(self, outcome: JudgeReply | CallFailure, reserved: float) -> None:
        """Every attempt is paid for, the failed but billed ones too."""
        answered = isinstance(outcome, JudgeReply)
        self.usage = outcome.usage if isinstance(outcome, JudgeReply) else NO_USAGE
        ledger = self.run_state.ledger
        self.cost = ledger.settle(
            self.state.name, reserved, self.usage, self.state.price,
            maybe_billed=answered or (isinstance(outcome, CallFailure) and outcome.maybe_billed),
        )  # fmt: skip
        ledger.calibrate(self.call, self.usage)
        if self.cost is not None:
            self.total = (self.total or 0.0) + self.cost

    async def _record_end(self, why: str) -> None:
        assert self.attempt is not None
        await self.run_state.journal.end(self.attempt, why, self.usage, self.cost)
        self.attempt, self.usage, self.cost = None, NO_USAGE, None

    def _retry_reason(self, outcome: JudgeReply | CallFailure) -> str:
        """Why to try again, empty if the ask is settled; prepares the next call."""
        if isinstance(outcome, CallFailure):
            return self._retry_reason_after(outcome)
        self.state.successes += 1
        self.state.failed_in_a_row = 0
        if self.truncated_reply is not None or not self._is_truncated(outcome):
            return ""
        self.truncated_reply = outcome
        name = next((cap for cap in CAP_PARAMETERS if cap in self.call.parameters), "max_tokens")
        self._set_parameters({**self.call.parameters, name: 2 * reply_token_cap(self.call)})
        return "truncated"

    def _final_outcome(self, outcome: JudgeReply | CallFailure) -> JudgeReply | CallFailure:
        """An endpoint may refuse the doubled cap: then the reply that was cut short is it."""
        refused = isinstance(outcome, CallFailure) and outcome.action in ("settle", "without")
        return self.truncated_reply if self.truncated_reply is not None and refused else outcome

    def _is_truncated(self, answer: JudgeReply) -> bool:
        """A judge that thinks may use up its cap; a one-token label ask ends so by design."""
        if answer.finish != "length" or reply_token_cap(self.call) <= 1:
            return False
        return read_outcome(self.call, answer, self.run_state.reading).status == "truncated"

    def _retry_reason_after(self, fault: CallFailure) -> str:
        self._stop_if_hopeless(fault)
        if fault.action == "without" and self._drop_parameter(fault.parameter):
            self.state.dropped_parameters.add(fault.parameter)
            return fault.reason
        most = self.run_state.settings.attempts
        if fault.action != "retry" or self.attempts_made >= most:
            self._count_failure(fault)
            return ""
        self.state.retrying[self.call.key] = PendingRetry(self.attempts_made, most, fault.reason)
        return fault.reason

    def _stop_if_hopeless(self, fault: CallFailure) -> None:
        if fault.action == "stop":
            raise JudgeStopped(fault.detail)
        if self.state.successes == 0 and self._is_permanent(fault):
            said = f"{fault.reason}: {fault.detail}"
            self.state.refusals[said] += 1
            if self.state.refusals[said] >= STOP_AFTER_FAILURES:
                raise JudgeStopped(f"{fault.detail} ({STOP_AFTER_FAILURES} times, no success)")

    def _is_permanent(self, fault: CallFailure) -> bool:
        """A server that is just starting is given a moment."""
        return fault.reason in _REFUSAL_REASONS or (
            fault.reason == "unreachable" and self.attempts_made >= 3
        )

    def _count_failure(self, fault: CallFailure) -> None:
        if fault.action != "retry":
            return
        self.state.failed_in_a_row += 1
        if self.state.failed_in_a_row >= STOP_AFTER_FAILURES:
            raise JudgeStopped(
                f"{fault.reason}: {fault.detail} ({STOP_AFTER_FAILURES} asks in a row failed, "
                f"{self.attempts_made} attempts each)"
            )

    def _drop_parameter(self, parameter: str) -> bool:
        """Leaves a parameter out of the call; False if it is not in it."""
        values = dict(self.call.parameters)
        if parameter not in values:
            return False
        value = values.pop(parameter)
        if parameter == "max_tokens":
            values["max_completion_tokens"] = value  # what reasoning models call it
        self.dropped_parameters.add(parameter)
        self._set_parameters(values)
        return True

    def _set_parameters(self, parameters: dict[str, object]) -> None:
        self.call = replace(self.call, parameters=parameters)

    def _backoff_seconds(self) -> float:
        """Doubling with jitter, so that workers do not come back in step."""
        most = min(
            MAX_BACKOFF_SECONDS,
            self.run_state.settings.first_backoff * 2 ** (self.attempts_made - 1),
        )
        return float(most * (0.5 + self.run_state.rng.random() / 2))
