"""An attempt at one ask: what it leaves behind when its call is not made, and its retries."""

from __future__ import annotations

import random
from types import SimpleNamespace
from typing import Any

import pytest

from judges.engine.attempt import AskAttempts
from judges.engine.limits.rate_limit import EndpointLimiter
from judges.engine.run_state import JudgeState, PendingRetry, RunSettings, RunState
from judges.judge_errors import JudgeStopped
from judges.models.failures import CallFailure
from judges.models.interface import JudgeCall, JudgeReply
from judges.money.costs import Ledger
from judges.rendering.messages import PromptInputs
from judges.rendering.prompt import load_prompt
from studies.domain import NO_USAGE, Ask, Item, JudgeSpec, Price, Usage


def test_a_call_that_is_not_made_counts_neither_as_success_nor_as_cost():
    ended: list[Any] = []
    settled: list[Any] = []
    limiter = SimpleNamespace(release=lambda *given, **named: ended.append((given, named)))
    ledger = SimpleNamespace(settle=lambda *given, **named: settled.append((given, named)))
    attempts: Any = SimpleNamespace(
        state=SimpleNamespace(limiter=limiter, name="j", price=None),
        run_state=SimpleNamespace(ledger=ledger),
    )
    AskAttempts._release_unsent_call(attempts, 3.0, 0.5)
    assert ended == [((3.0,), {"neutral": True})]
    assert settled == [(("j", 0.5, NO_USAGE, None), {"maybe_billed": False})]
    assert "neutral" in EndpointLimiter.release.__annotations__


# --- retries ------------------------------------------------------------------------------------


def attempts_of(
    parameters: dict[str, Any] | None = None, *, attempts: int | None = None, cap: int = 50
) -> AskAttempts:
    """The attempts at one ask, none of them made yet; the store and the model are not used."""
    unused: Any = None
    state = JudgeState("j", unused, None, EndpointLimiter(4, lambda: 0.0))
    settings = RunSettings(attempts=attempts, first_backoff=0.5, wall_clock=lambda: 77.0)
    run_state = RunState(settings, unused, Ledger(), {"j": state})
    run_state.rng = random.Random(1)
    item = Item("q", "hello", {"x": "one", "y": "two"})
    inputs = PromptInputs(item, ("x", "y"), ("one", "two"), ("A", "B"))
    judge = JudgeSpec("j", "m", "https://host.example/v1", max_tokens=cap, max_attempts=3)
    prompt = load_prompt("brief-letters")
    call = JudgeCall("key", judge, prompt, inputs, [], parameters or {})
    return AskAttempts(run_state, state, call)


CUT = JudgeReply("Let me think about", finish="length")


@pytest.mark.parametrize(
    ("reply", "cap", "cut"),
    [
        (CUT, 50, True),
        (CUT, 2, True),
        (CUT, 1, False),  # one token by design
        (JudgeReply("Let me think about", finish="stop"), 50, False),
        (JudgeReply("", finish="length"), 50, True),
        (
            JudgeReply("Overall, Response A is better.", finish="length"),
            50,
            False,
        ),  # cut off after the verdict
        (JudgeReply("", refusal="no", finish="length"), 50, False),
    ],
)
def test_a_reply_is_truncated_if_its_limit_came_before_its_verdict(reply, cap, cut):
    assert attempts_of({"max_tokens": cap})._is_truncated(reply) == cut


@pytest.mark.parametrize("name", ["max_tokens", "max_completion_tokens"])
def test_a_truncated_reply_is_asked_for_once_more_with_twice_the_limit(name):
    made = attempts_of({name: 40, "seed": 1})
    assert made._prepare_retry_and_get_reason(CUT) == "truncated"
    assert dict(made.call.parameters) == {name: 80, "seed": 1}
    assert made.truncated_reply is CUT
    assert made._prepare_retry_and_get_reason(CUT) == "", "not a third time"
    assert dict(made.call.parameters) == {name: 80, "seed": 1}
    assert made.state.successes == 2


def test_a_limit_of_the_judge_alone_is_doubled_too():
    made = attempts_of()
    assert made._prepare_retry_and_get_reason(CUT) == "truncated"
    assert dict(made.call.parameters) == {"max_tokens": 100}
    assert attempts_of()._prepare_retry_and_get_reason(JudgeReply("A")) == ""


def failure(action: Any, reason: str = "HTTP 500", **more: Any) -> CallFailure:
    return CallFailure(action, "error", reason, "the detail", **more)


@pytest.mark.parametrize(("most", "retried"), [(None, 2), (5, 4), (1, 0)])
def test_a_failed_call_is_repeated_up_to_the_runs_or_the_judges_number_of_attempts(most, retried):
    made = attempts_of(attempts=most)
    reasons = []
    for _ in range(retried + 1):
        made.attempts_made += 1
        reasons.append(made._prepare_retry_and_get_reason(failure("retry")))
    assert reasons == ["HTTP 500"] * retried + [""]
    assert made.state.failed_in_a_row == 1
    if retried:
        assert made.state.retrying["key"] == PendingRetry(retried, most or 3, "HTTP 500")
        assert str(made.state.retrying["key"]) == f"retry {retried} of {retried}: HTTP 500"


def test_five_asks_in_a_row_that_failed_in_every_attempt_stop_the_judge():
    made = attempts_of(attempts=1)
    made.attempts_made = 1
    for _ in range(4):
        assert made._prepare_retry_and_get_reason(failure("retry")) == ""
    made.state.count_success()
    for _ in range(4):
        assert made._prepare_retry_and_get_reason(failure("retry")) == ""
    with pytest.raises(JudgeStopped, match="the detail"):
        made._prepare_retry_and_get_reason(failure("retry"))


def test_a_failure_that_settles_is_final_and_one_that_stops_stops():
    made = attempts_of()
    assert made._prepare_retry_and_get_reason(failure("settle", "too long")) == ""
    assert made.state.failed_in_a_row == 0 and made.state.retrying == {}
    with pytest.raises(JudgeStopped, match="the detail"):
        made._prepare_retry_and_get_reason(failure("stop", "wrong key"))


@pytest.mark.parametrize("reason", ["bad request", "no images", "no logprobs"])
def test_the_same_refusal_five_times_without_a_success_stops_the_judge(reason):
    made = attempts_of()
    for _ in range(4):
        assert made._prepare_retry_and_get_reason(failure("settle", reason)) == ""
    other = CallFailure("settle", "error", reason, "another detail")
    assert made._prepare_retry_and_get_reason(other) == "", "each detail is counted for itself"
    with pytest.raises(JudgeStopped, match="no attempt succeeded"):
        made._prepare_retry_and_get_reason(failure("settle", reason))
    worked = attempts_of()
    worked.state.count_success()
    for _ in range(9):
        assert worked._prepare_retry_and_get_reason(failure("settle", reason)) == ""


def test_an_unreachable_server_counts_from_the_third_attempt_on():
    made = attempts_of(attempts=100)
    for n in (1, 2, 1, 2, 1, 2, 3, 4, 5, 6):
        made.attempts_made = n
        assert made._prepare_retry_and_get_reason(failure("retry", "unreachable")) == "unreachable"
    with pytest.raises(JudgeStopped):
        made._prepare_retry_and_get_reason(failure("retry", "unreachable"))


def test_a_refused_parameter_is_dropped_for_the_whole_judge_and_named_in_the_judgement():
    made = attempts_of({"temperature": 0.0, "max_tokens": 9})
    refused = failure("without", "no temperature", parameter="temperature")
    assert made._prepare_retry_and_get_reason(refused) == "no temperature"
    assert dict(made.call.parameters) == {"max_tokens": 9}
    assert made.state.dropped_parameters == made.state.dropped_reply_parameters == {"temperature"}
    assert made._prepare_retry_and_get_reason(refused) == "", "it is not sent any more: final"
    ask = Ask("key", "q", "j", "brief-letters", ("x", "y"), ("A", "B"))
    reply = JudgeReply("Overall, Response A is better.", usage=Usage(3, 1))
    stored = made.build_judgement(ask, reply)
    assert (stored.status, stored.time, stored.usage) == ("ok", 77.0, Usage(3, 1))
    assert stored.detail.startswith("asked without temp")
    later = AskAttempts(made.run_state, made.state, attempts_of({"temperature": 0.0}).call)
    assert dict(later.call.parameters) == {} and later.dropped_reply_parameters == ["temperature"]


def test_the_judgement_of_a_failure_has_its_status_reason_and_detail():
    made = attempts_of()
    made.total, made.seconds = 0.25, 1.5
    ask = Ask("key", "q", "j", "brief-letters", ("x", "y"), ("A", "B"))
    stored = made.build_judgement(ask, CallFailure("settle", "too_long", "too long", "9 tokens"))
    assert (stored.status, stored.rule, stored.detail) == ("too_long", "too long", "9 tokens")
    assert (stored.cost, stored.seconds, stored.verdict) == (0.25, 1.5, None)


def test_waits_before_a_retry_double_up_to_half_a_minute_and_vary():
    made = attempts_of()
    for n, longest in ((1, 0.5), (2, 1.0), (3, 2.0), (7, 30.0), (12, 30.0)):
        made.attempts_made = n
        waits = [made._retry_delay(failure("retry")) for _ in range(50)]
        assert longest / 2 <= min(waits) < 0.6 * longest
        assert 0.9 * longest < max(waits) <= longest
    demanded = [made._retry_delay(failure("retry", wait=20.0)) for _ in range(50)]
    assert 20 <= min(demanded) < 20.5 and 21.5 < max(demanded) <= 22


def test_where_a_rate_limit_makes_all_calls_wait_a_refused_call_waits_no_longer():
    made = attempts_of()
    limited = failure("retry", "rate limit", rate_limited=True, wait=5.0)
    assert made._retry_delay(limited) >= 5.0, "no limit is known yet"
    made.state.limiter.rate_estimate.rate = 1.0
    assert made._retry_delay(limited) >= 5.0, "no call waits"
    made.state.limiter._pace.cooldown_end = 0.5
    assert made._retry_delay(limited) == 0.0
    assert made._retry_delay(failure("retry", wait=5.0)) >= 5.0


def test_the_cost_of_all_attempts_adds_up_and_an_unknown_one_is_not_zero():
    made = attempts_of()
    made.state.price = Price(2.0, 8.0)
    made._record_cost(failure("retry"), 0.1)
    assert made.cost is None and made.total is None
    made._record_cost(JudgeReply("A", usage=Usage(100, 10)), 0.1)
    made._record_cost(JudgeReply("A", usage=Usage(100, 10)), 0.1)
    assert made.cost == pytest.approx(280e-6) and made.total == pytest.approx(560e-6)
    assert made.run_state.ledger.unknown_usage["j"] == 0
    made._record_cost(failure("retry", maybe_billed=True), 0.1)
    assert made.run_state.ledger.unknown_usage["j"] == 1
    assert made.usage == NO_USAGE and made.total == pytest.approx(560e-6)
