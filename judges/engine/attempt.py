"""Make the attempts at one ask (a planned call of a judge): wait for the rate limit and the budget,
record every attempt, decide whether to retry.

No other module retries a call."""

import asyncio
import time
from dataclasses import dataclass, field, replace
from typing import Final

from judges.engine.limits.slow_call import SlowCallWatch
from judges.engine.outcome import read_outcome
from judges.engine.run_state import JudgeState, PendingRetry, RunState
from judges.judge_errors import JudgeStopped
from judges.models.failures import CallFailure, classify_error
from judges.models.interface import (
    JudgeCall,
    JudgeReply,
    drop_parameter,
    parameters_affecting_reply,
)
from judges.money.costs import CAP_PARAMETERS, reply_token_cap
from judges.money.host_key import CallReservation
from studies.domain import NO_USAGE, Ask, Judgement, Usage
from studies.store.run_journal import NotStarted

STREAM_FACTOR: Final = 4
"""Maximum duration of a stream, as a multiple of the judge's setting `timeout_s`."""
MAX_BACKOFF_SECONDS: Final = 30.0
STOP_AFTER_FAILURES: Final = 5
"""Number of failures after which a judge is stopped: the same permanent error while no call has
succeeded, or consecutive asks that failed in every attempt. Its other asks stay pending."""
_REFUSAL_REASONS: Final = ("bad request", "no images", "no logprobs")
HEDGED: Final = "hedged"
"""Outcome stored for an attempt whose result is not used: a simultaneous attempt at the same ask
was answered first, or this was a second (hedged) attempt without a usable reply."""
_ABANDONED: Final = CallFailure(
    "settle", "error", HEDGED, "another call for this ask was answered first", maybe_billed=True
)


@dataclass(slots=True)
class AskAttempts:
    """The attempts at one planned call (`call`), made one after another until one gives a result: a
    reply, or a failure that is final."""

    run_state: RunState
    state: JudgeState
    call: JudgeCall
    previous_write: asyncio.Task[None] | None = None
    """Pending write of this worker's previous judgement, committed together with the start record
    of this call. The call is sent after that commit: a crash loses at most one result per
    worker."""
    attempt: int | None = None
    """The id of the stored start record while an attempt is being made."""
    leased: bool = False
    """Whether this run holds the lease of the ask, so that no other run calls the judge for it. The
    lease ends when the outcome is stored, or at a pause."""
    reservation: CallReservation = field(default_factory=CallReservation)
    lease_refusal: NotStarted | None = None
    usage: Usage = NO_USAGE
    cost: float | None = None
    """Dollars of the latest attempt; 0 if it was refused or reached no server, None if unknown."""
    total: float | None = None
    seconds: float = 0.0
    attempts_made: int = 0
    dropped_parameters: set[str] = field(default_factory=set)
    hedges: bool = False
    """Whether this is a second (hedged) attempt, made while the first is slow; the first holds the
    lease."""
    abandoned: bool = False
    """Whether a simultaneous attempt at the ask was answered first."""
    truncated_reply: JudgeReply | None = None
    """A reply cut off at its token limit, kept while the call is repeated with twice the limit."""
    slow_watch: SlowCallWatch = field(init=False)

    def __post_init__(self) -> None:
        state = self.state
        name = f"{self.call.key} hedge" if self.hedges else self.call.key
        self.slow_watch = SlowCallWatch(state.limiter, state.durations, state.slow_calls, name)
        for parameter in self.state.dropped_parameters:
            self._drop_parameter(parameter)

    async def run(self) -> JudgeReply | CallFailure | None:
        """Make attempts until one gives a result; return the reply, or the failure that is final.

        Returns None if there is no result: the run or the judge was stopped (also by the
        budget), another run makes or has made this call, or a second attempt made at the same
        time was answered first. Raises JudgeStopped if further calls of the judge would fail
        too."""
        try:
            while (outcome := await self._attempt_once()) is not None:
                if self.abandoned:
                    await self.record_unused_attempt()
                    break
                reason = self._prepare_retry_and_get_reason(outcome)
                if not reason:
                    refused = isinstance(outcome, CallFailure) and outcome.action != "retry"
                    cut = self.truncated_reply  # kept if its retry with twice the limit is refused
                    return cut if refused and cut is not None else outcome
                await self._record_attempt_end(reason)
                if isinstance(outcome, CallFailure) and outcome.action == "retry":
                    await self.run_state.sleep(self.state, self._retry_delay(outcome))
        finally:
            self.state.retrying.pop(self.call.key, None)
        return None

    async def run_hedge(self) -> JudgeReply | None:
        """Make one attempt at a call whose first attempt, made by another object, is still open but
        slow. Return its reply; None if it fails, is cut off at the token limit, or the first
        attempt is answered earlier."""
        outcome = await self._attempt_once()
        if (
            isinstance(outcome, JudgeReply)
            and not self.abandoned
            and not self._is_truncated(outcome)
        ):
            self.state.count_success()
            return outcome
        await self.record_unused_attempt()
        return None

    def abandon(self) -> None:
        """Make no further attempt, because a simultaneous one at this ask was answered first."""
        self.abandoned = True

    async def record_unused_attempt(self) -> None:
        """If an attempt was made, store its cost and the outcome `hedged`: its result is not used.
        Either a simultaneous attempt at the same call was answered first, or this was a second
        (hedged) attempt without a usable reply."""
        if self.attempt is not None:
            await self._record_attempt_end(HEDGED)

    @property
    def slow_event(self) -> asyncio.Event:
        """Event that is set once a call takes far longer than usual."""
        return self.slow_watch.slow_event

    @property
    def dropped_reply_parameters(self) -> list[str]:
        """Names of the parameters that the plan sets but the endpoint refuses, and that are
        therefore not sent; only those whose absence can change the reply."""
        return parameters_affecting_reply(self.dropped_parameters)

    def build_judgement(self, ask: Ask, outcome: JudgeReply | CallFailure) -> Judgement:
        """Build the judgement to store for an outcome (the reply to a call, or its failure); its
        cost is the sum of the known costs of all attempts, None if none is known."""
        if isinstance(outcome, CallFailure):
            settled = Judgement(ask, outcome.status, rule=outcome.reason, detail=outcome.detail)
        else:
            read = read_outcome(self.call, outcome, self.run_state.reading)
            settled = read.build_judgement(ask, outcome)
        if self.dropped_reply_parameters:
            note = f"asked without {', '.join(self.dropped_reply_parameters)}"
            settled = replace(settled, detail=f"{settled.detail}; {note}".strip("; "))
        now = self.run_state.settings.wall_clock()
        return replace(settled, cost=self.total, seconds=self.seconds, time=now)

    async def _attempt_once(self) -> JudgeReply | CallFailure | None:
        """Wait until the call may be sent, send it, and record its cost; return the reply or the
        failure. None if the call may not be sent."""
        ready = await self._begin_when_allowed()
        if ready is None:
            return None
        started, reserved = ready
        self.attempts_made += 1
        self.state.hedge_budget.calls += not self.hedges
        self.state.retrying.pop(self.call.key, None)
        sent = time.monotonic()
        self.slow_watch.start(self._prompt_length)
        try:
            outcome = await self._send_call()
        except BaseException as error:  # cancelled: other runs share this limiter
            if not (self.abandoned and isinstance(error, asyncio.CancelledError)):
                self.state.limiter.release(
                    started, neutral=True, uncounted=self.slow_watch.stop_timer_and_unmark_slow()
                )
                raise
            outcome = _ABANDONED
        self.seconds = time.monotonic() - sent
        self._release_limiter(
            started, outcome, uncounted=self.slow_watch.stop_timer_and_unmark_slow()
        )
        self._record_cost(outcome, reserved)
        billed = isinstance(outcome, JudgeReply) or outcome.maybe_billed or self.cost is not None
        await self.reservation.settle(self.state.allowance, self.cost, billed=billed)
        self.cost = self.cost if billed else 0.0
        return outcome

    @property
    def _prompt_length(self) -> int:
        return sum(len(str(message["content"])) for message in self.call.messages)

    def _release_limiter(
        self, started: float, outcome: JudgeReply | CallFailure, *, uncounted: bool
    ) -> None:
        if isinstance(outcome, JudgeReply):
            self.state.durations.record(self.seconds, self._prompt_length)
            self.state.limiter.release(started, quota=outcome.quota, uncounted=uncounted)
            return
        if outcome is not _ABANDONED:
            self.state.tally_failure_reason(outcome)
        self.state.limiter.release(
            started,
            congested=outcome.congestion,
            neutral=True,
            limited=outcome.rate_limited,
            wait=outcome.wait,
            quota=outcome.quota,
            uncounted=uncounted,
        )

    async def _begin_when_allowed(self) -> tuple[float, float] | None:
        """Wait until the call may be sent; return its start time and the dollars reserved for it.
        None if the run or the judge was stopped, another run makes or has made this call, or a
        second attempt made at the same time was answered first.

        Four conditions must hold at the same moment: the run is not paused, the rate limit
        allows a call, its maximum cost fits the budget, and this run has reserved the call (its
        lease)."""
        while await self._release_lease_and_wait_if_paused():
            entered = await self._enter_limiter_and_reserve_cost()
            if entered is None:
                continue
            try:
                recorded = await self._reserve_allowance() and await self._record_start(entered[0])
            except BaseException:
                self._release_unsent_call(*entered)
                raise
            if recorded:
                return entered
            self._release_unsent_call(*entered)
            await self.reservation.release_or_await_dollars(self.state.allowance)
            if self.lease_refusal:
                break
        return None

    async def _release_lease_and_wait_if_paused(self) -> bool:
        """Wait while the run is paused; return whether an attempt may be made then. During the
        pause the call is not reserved for this run (its lease is released), so that another run
        can make it."""
        if self.abandoned:
            return False
        if self.leased and not self.hedges and self.run_state.paused and not self.run_state.stop:
            self.leased = False
            await self.run_state.journal.release_lease(self.call.key)
        return await self.run_state.wait_until_allowed(self.state)

    async def _enter_limiter_and_reserve_cost(self) -> tuple[float, float] | None:
        """Wait until the rate limit allows a call, and reserve its maximum cost in the budget;
        return the start time and the reserved dollars. None if the run was paused or stopped, or
        the judge was stopped.

        None also if the rest of the budget is too small. This method then waits until a call in
        flight has ended, because dollars may be free then; if none is in flight, it stops the
        judge."""
        state, ledger = self.state, self.run_state.ledger
        started = await state.limiter.acquire(
            lambda: self.run_state.is_blocked(state), run=id(self.run_state)
        )
        if started is None:
            return None
        if (reserved := ledger.reserve(self.call, state.price)) is not None:
            return started, reserved
        state.limiter.release(started, neutral=True)
        if ledger.has_no_reserved_calls:
            state.budget_reached = True
            state.stop_judge()
        else:  # a call in flight may cost less than its worst case
            await ledger.wait_for_release_or_control()
        return None

    async def _reserve_allowance(self) -> bool:
        """Reserve the call's maximum cost in the store if an API key of the page's host pays for
        it; return whether the call may be made. If another key pays, nothing is reserved and the
        result is True. If the reservation is refused, the judge is stopped, unless calls in
        flight may still free enough dollars."""
        if refusal := await self.reservation.try_reserve(self.state.allowance, self.call):
            self.state.stop_judge(refusal)
        return self.state.allowance is None or self.reservation.is_reserved

    async def _record_start(self, started: float) -> bool:
        """Store that the call is about to be sent; return whether to send it. `started` is the time
        at which the rate limiter let it start.

        False if another run makes or has made the ask, or the spending of other runs leaves too
        little of the budget. If a pause or a cool-down (a wait after a refusal) began while the
        record was stored, the record is deleted and the call is not sent.
        """
        journal = self.run_state.journal
        attempt = await journal.begin_attempt(self.call.key, leased=self.leased)
        if self.previous_write is not None:
            await self.previous_write
            self.previous_write = None
        if not isinstance(attempt, int):
            self.lease_refusal = None if attempt == "too dear" else attempt
            return False
        if self.run_state.is_blocked(self.state) or self.state.limiter.is_before_cooldown(started):
            self.leased = self.hedges
            await journal.undo_attempt(self.call.key, attempt, keep_lease=self.hedges)
            return False
        self.attempt, self.leased = attempt, True
        return True

    def _release_unsent_call(self, started: float, reserved: float) -> None:
        """Release the limiter and the reserved cost of a call that was not made, without recording
        a result or a cost."""
        self.state.limiter.release(started, neutral=True)
        self.run_state.ledger.settle(
            self.state.name, reserved, NO_USAGE, self.state.price, maybe_billed=False
        )

    async def _send_call(self) -> JudgeReply | CallFailure:
        """Send the call and return the reply, or the failure. A reply must be complete within the
        judge's `timeout_s` seconds (or the run's setting `deadline`). For a stream this limit
        applies to the first token; the whole reply has four times as long."""
        judge = self.call.judge
        if deadline := self.run_state.settings.deadline:
            judge = replace(judge, timeout_s=deadline)
        streamed = bool(self.call.stream_parameters)
        longest = judge.timeout_s * (STREAM_FACTOR if streamed else 1)
        try:
            async with asyncio.timeout(longest):
                return await self.state.model.complete(replace(self.call, judge=judge))
        except Exception as error:
            fault = classify_error(error, judge.endpoint or judge.name)
        if fault.reason != "timeout":
            return fault
        wanted = "first token" if streamed else "answer"
        detail = f"no {wanted} within {judge.timeout_s:g} s, the judge's timeout_s"
        if streamed:
            detail += f", or no end within {longest:g} s"
        return replace(fault, detail=detail)

    def _record_cost(self, outcome: JudgeReply | CallFailure, reserved: float) -> None:
        """Record the cost of an attempt in the ledger (the dollars spent and reserved by the run).
        A failed attempt may have been billed too."""
        ledger = self.run_state.ledger
        self.usage = outcome.usage if isinstance(outcome, JudgeReply) else NO_USAGE
        billed = isinstance(outcome, JudgeReply) or outcome.maybe_billed
        self.cost = ledger.settle(
            self.state.name, reserved, self.usage, self.state.price, maybe_billed=billed
        )
        ledger.calibrate_tokens_per_byte(self.call, self.usage)
        if self.cost is not None:
            self.total = (self.total or 0.0) + self.cost

    async def _record_attempt_end(self, reason: str) -> None:
        assert self.attempt is not None
        await self.run_state.journal.end_attempt(self.attempt, reason, self.usage, self.cost)
        self.attempt, self.usage, self.cost = None, NO_USAGE, None

    def _prepare_retry_and_get_reason(self, outcome: JudgeReply | CallFailure) -> str:
        """Return the reason why the call is repeated, and change its parameters if needed; an empty
        text if `outcome` is final. Raise JudgeStopped if further calls of the judge would fail
        too."""
        if isinstance(outcome, CallFailure):
            return self._prepare_failure_retry_and_get_reason(outcome)
        self.state.count_success()
        if self.truncated_reply is not None or not self._is_truncated(outcome):
            return ""
        self.truncated_reply = outcome
        name = next((cap for cap in CAP_PARAMETERS if cap in self.call.parameters), "max_tokens")
        doubled = {**self.call.parameters, name: 2 * reply_token_cap(self.call)}
        self.call = replace(self.call, parameters=doubled)
        return "truncated"

    def _is_truncated(self, answer: JudgeReply) -> bool:
        """Whether a reply ended at its token limit before a verdict, for example in long reasoning.
        A call for label probabilities, with a limit of one token by design, never counts."""
        if answer.finish != "length" or reply_token_cap(self.call) <= 1:
            return False
        return read_outcome(self.call, answer, self.run_state.reading).status == "truncated"

    def _prepare_failure_retry_and_get_reason(self, fault: CallFailure) -> str:
        """Return the reason why the call is repeated after a failure; "" if the failure is final.
        Raise JudgeStopped if further calls of the judge would fail too."""
        self._count_refusal_or_stop_unusable_judge(fault)
        if fault.action == "without" and self._drop_parameter(fault.parameter):
            self.state.dropped_parameters.add(fault.parameter)
            return fault.reason
        max_attempts = self.run_state.settings.attempts or self.call.judge.max_attempts
        if fault.action != "retry":
            return ""
        if self.attempts_made >= max_attempts:
            self.state.failed_in_a_row += 1
            if self.state.failed_in_a_row >= STOP_AFTER_FAILURES:
                raise JudgeStopped(
                    f"{fault.reason}: {fault.detail} ({STOP_AFTER_FAILURES} calls in a row failed, "
                    f"{self.attempts_made} attempts each; the last one stays pending)"
                )
            return ""
        retry = PendingRetry(self.attempts_made, max_attempts, fault.reason)
        self.state.retrying[self.call.key] = retry
        return fault.reason

    def _count_refusal_or_stop_unusable_judge(self, fault: CallFailure) -> None:
        """Raise JudgeStopped if further calls of the judge would fail too: the failure has the
        action "stop", or STOP_AFTER_FAILURES calls were refused for one reason and none succeeded.
        An unreachable server may be starting; its failures count from attempt 3 on."""
        if fault.action == "stop":
            raise JudgeStopped(fault.detail)
        absent = fault.reason == "unreachable" and self.attempts_made >= 3
        if self.state.successes == 0 and (absent or fault.reason in _REFUSAL_REASONS):
            refusal = f"{fault.reason}: {fault.detail}"
            self.state.refusals[refusal] += 1
            if self.state.refusals[refusal] >= STOP_AFTER_FAILURES:
                raise JudgeStopped(f"{fault.detail} (no attempt succeeded)")

    def _retry_delay(self, fault: CallFailure) -> float:
        """Return the seconds before the next attempt: the wait that the endpoint demands, else one
        that doubles with each attempt up to MAX_BACKOFF_SECONDS. Both have a random part, so that
        workers do not retry at the same moment. 0 if a rate limit makes all calls wait, because the
        limiter then delays this one."""
        if fault.rate_limited and self.state.limiter.makes_all_calls_wait:
            return 0.0
        rng = self.run_state.rng
        if fault.wait:
            return fault.wait * (1 + rng.random() / 10)
        doubled = self.run_state.settings.first_backoff * 2 ** (self.attempts_made - 1)
        return float(min(MAX_BACKOFF_SECONDS, doubled) * (0.5 + rng.random() / 2))

    def _drop_parameter(self, parameter: str) -> bool:
        """Remove a parameter from the call; return False if the call does not have it."""
        if (adapted := drop_parameter(self.call, parameter)) is None:
            return False
        self.call = adapted
        self.dropped_parameters.add(parameter)
        self.state.dropped_reply_parameters.update(self.dropped_reply_parameters)
        return True
