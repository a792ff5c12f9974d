"""Numbers of a run's snapshot: rate, time left, expected cost, waits and the final state."""

from __future__ import annotations

import time
from collections import Counter, deque
from typing import Any

import pytest

from judges.engine.limits.rate_limit import EndpointLimiter
from judges.engine.run_state import JudgeState, PendingRetry, RunSettings, RunState
from judges.engine.snapshot import (
    RunTally,
    completed_per_second,
    final_status,
    list_dropped_reply_parameters,
    list_judge_waits,
    stopped_judges,
    summarise_failures,
)
from judges.models.failures import CallFailure
from judges.money.costs import Ledger
from studies.domain import Ask, Judgement, Status, count_stored_replies
from tests.page_words import says

UNUSED: Any = None


def state_of(name: str = "j", limiter: EndpointLimiter | None = None) -> JudgeState:
    made = limiter or EndpointLimiter(8, lambda: 0.0)
    return JudgeState(name, UNUSED, None, made, workers=6)


def settled(judge: str, status: Status = "ok", cost: float | None = None) -> Judgement:
    ask = Ask("key", "q", judge, "p", ("x", "y"), ("A", "B"))
    return Judgement(ask, status, cost=cost)


def test_stored_replies_are_neither_pending_nor_failed():
    assert count_stored_replies({"planned": 10, "pending": 3, "error": 2, "ok": 5}) == 5
    assert count_stored_replies({}) == 0


def test_a_judgement_moves_from_pending_to_its_status():
    tally = RunTally(Counter(pending=3, planned=3), {"j": 3})
    tally.count_judgement(settled("j"))
    tally.count_judgement(settled("j", "unreadable"))
    assert tally.counts == {"pending": 1, "planned": 3, "ok": 1, "unreadable": 1}
    tally.count_extraction(False)
    assert tally.counts["unreadable"] == 1 and tally.extractions == 1
    tally.count_extraction(True)
    assert tally.counts["unreadable"] == 0 and tally.counts["extracted"] == 1
    assert tally.extractions == 2 and tally.settled["j"] == 2


@pytest.mark.parametrize(
    ("times", "rate"),
    [
        ((), 0.0),
        ((90.0, 100.0), 0.0),  # two are too few
        ((90.0, 95.0, 100.0), 0.2),  # two more in ten seconds
        ((10.0, 20.0, 90.0, 95.0, 100.0), 0.2),  # older ones do not count
        ((70.0, 80.0, 100.0), 2 / 30),  # the oldest that counts
        ((69.0, 80.0, 100.0), 0.0),
        ((100.0, 100.0, 100.0), 2000.0),  # at the same moment: a millisecond
    ],
)
def test_the_rate_is_that_of_the_last_half_minute(times, rate):
    assert completed_per_second(deque(times), 100.0) == pytest.approx(rate)


def test_the_slowest_judge_that_goes_on_sets_the_time_left(monkeypatch):
    monkeypatch.setattr(time, "monotonic", lambda: 100.0)
    tally = RunTally(Counter(), {"fast": 20, "slow": 20, "done": 3})
    assert tally.asks_per_second() == 0.0 and tally.seconds_left(set()) is None
    tally.settled_times["fast"] = deque([90.0, 95.0, 100.0])  # 0.2 a second
    tally.settled_times["slow"] = deque([80.0, 90.0, 100.0])  # 0.1 a second
    tally.settled.update(fast=10, slow=15, done=3)
    assert tally.asks_per_second() == pytest.approx(0.3)
    assert tally.seconds_left(set()) == pytest.approx(50.0)
    tally.settled["slow"] = 10
    assert tally.seconds_left(set()) == pytest.approx(100.0)
    assert tally.seconds_left({"slow"}) == pytest.approx(50.0)
    assert tally.seconds_left({"slow", "fast"}) is None
    tally.settled_times["fast"].clear()
    assert tally.seconds_left(set()) is None, "no rate is known"


def test_the_expected_cost_is_each_judges_mean_times_its_asks():
    tally = RunTally(Counter(), {"a": 10, "b": 4, "none": 0})
    tally.count_judgement(settled("a", cost=0.25))
    assert tally.expected_dollars() is None, "nothing of b is known"
    tally.count_judgement(settled("a", cost=None))
    tally.count_judgement(settled("b", cost=1.0))
    # a: 0.25 for two, 10 asks: 1.25; b: 4.
    assert tally.expected_dollars() == pytest.approx(5.25)
    for _ in range(4):
        tally.count_judgement(settled("b", cost=1.0))
    assert tally.expected_dollars() == pytest.approx(6.25), "b made five, one more than planned"


# --- waits --------------------------------------------------------------------------------------


def test_a_judge_at_full_speed_does_not_wait():
    assert list_judge_waits([state_of()]) == ()


def test_a_stopped_judge_and_one_without_budget_say_so_before_anything_else():
    stopped, broke, elsewhere = state_of("s"), state_of("b"), state_of("e")
    stopped.stop_judge("no key")
    stopped.budget_reached = broke.budget_reached = True
    broke.retrying["key"] = PendingRetry(1, 3, "HTTP 500")
    elsewhere.wait_reason = "another run asks"
    waits = list_judge_waits([stopped, broke, elsewhere])
    assert [(wait.judge, wait.kind) for wait in waits] == [
        ("s", "stopped"), ("b", "budget"), ("e", "elsewhere"),
    ]  # fmt: skip
    assert waits[0].why == "stopped: no key" and waits[2].why == "another run asks"
    assert [wait.limiter for wait in waits] == [0, 1, 2]
    assert stopped_judges([stopped, broke, elsewhere]) == {"s", "b"}


def test_judges_of_one_endpoint_share_a_limiter_and_its_cool_down():
    shared = EndpointLimiter(8, lambda: 0.0)
    shared._pace.cooldown_end = 12.4
    one, two = state_of("one", shared), state_of("two", shared)
    one.retrying["key"] = PendingRetry(1, 3, "rate limit")
    waits = list_judge_waits([state_of("free"), one, two])
    assert [(w.judge, w.kind, w.asks, w.limiter) for w in waits] == [
        ("one", "cooling", 1, 1), ("two", "cooling", 0, 1),
    ]  # fmt: skip
    assert "12 s" in waits[0].why and waits[0].seconds == 12.4
    assert (waits[0].allowed_in_flight, waits[0].ceiling) == (6, 6)
    shared._pace.cooldown_end, shared.limit = 0.2, 3.9
    (wait,) = list_judge_waits([one])
    assert "1 s" in wait.why and wait.allowed_in_flight == 3


def test_the_retry_with_most_attempts_is_named():
    state = state_of()
    state.retrying["a"] = PendingRetry(1, 5, "HTTP 500")
    (wait,) = list_judge_waits([state])
    assert (wait.kind, wait.why, wait.asks) == ("retry", "retry 1 of 4: HTTP 500", 1)
    state.retrying["b"] = PendingRetry(3, 5, "timeout")
    (wait,) = list_judge_waits([state])
    assert says(wait.why, "retry 3 of 4", "timeout", "2 calls")
    assert (wait.asks, wait.max_attempts_made) == (2, 3)


def test_slow_calls_are_counted_with_their_longest_age(monkeypatch):
    state = state_of()
    monkeypatch.setattr(time, "monotonic", lambda: 100.0)
    state.slow_calls.update(a=40.0, b=5.0)
    (wait,) = list_judge_waits([state])
    assert (wait.kind, wait.seconds) == ("slow", 95.0)


# --- the end of a run ---------------------------------------------------------------------------


def end_of(*states: JudgeState, stop: bool = False, ledger: Ledger | None = None) -> Any:
    judges = {state.name: state for state in states}
    run_state = RunState(RunSettings(), UNUSED, ledger or Ledger(), judges, stop=stop)
    return final_status(run_state, "by the user")


def test_a_run_ends_as_done_stopped_or_failed():
    assert end_of(state_of()) == ("done", "")
    assert end_of(state_of(), stop=True) == ("stopped", "by the user")
    failed, left = state_of("f"), state_of("l")
    failed.stop_judge("no key")
    left.stop_judge("left out")
    left.left_out = True
    assert end_of(state_of(), failed) == ("failed", "f: no key")
    assert end_of(left) == ("stopped", "l: left out")
    state, why = end_of(failed, left, stop=True)
    assert state == "failed" and says(why, "f: no key", "l: left out")


def test_a_reached_budget_states_what_was_spent_and_what_is_unknown():
    broke, failed = state_of("b"), state_of("f")
    broke.budget_reached = True
    failed.stop_judge("no key")
    ledger = Ledger(budget=2.0, spent_by_others=0.5, unknown_by_others=2, spent={"b": 0.25})
    status, reason = end_of(broke, failed, ledger=ledger)
    assert status == "stopped" and reason.endswith("; f: no key")
    assert "$0.7500 of $2.00" in reason and "2 calls" in reason
    ledger.unknown_by_others = 0
    assert "calls" not in end_of(broke, ledger=ledger)[1]
    ledger.unknown_usage["b"] = 1
    assert "1 call may" in end_of(broke, ledger=ledger)[1]


def test_failures_are_counted_by_judge_and_reason_with_the_last_detail():
    state = state_of()
    for detail in ("first", "second"):
        state.tally_failure_reason(CallFailure("retry", "error", "HTTP 500", detail))
    state.tally_failure_reason(CallFailure("retry", "error", "timeout", "late"))
    assert [tuple(one) for one in summarise_failures([state, state_of("fine")])] == [
        ("j", "HTTP 500", 2, "second"), ("j", "timeout", 1, "late"),
    ]  # fmt: skip
    state.dropped_reply_parameters.update({"temperature", "seed"})
    assert list_dropped_reply_parameters([state, state_of("fine")]) == (("j", "seed, temperature"),)


def test_retries_and_slow_calls_are_waits_of_a_judge(monkeypatch):
    monkeypatch.setattr(time, "monotonic", lambda: 100.0)
    one, several, slow = state_of("one"), state_of("several"), state_of("slow")
    one.retrying["a"] = PendingRetry(1, 3, "HTTP 500")
    several.retrying |= {"a": PendingRetry(1, 3, "timeout"), "b": PendingRetry(2, 3, "HTTP 500")}
    slow.slow_calls |= {"a": 70.0, "b": 90.0}
    first, second, third = list_judge_waits([one, several, slow])
    assert (first.kind, first.why, first.asks, first.max_attempts_made) == (
        "retry", f"{one.retrying['a']}", 1, 1,
    )  # fmt: skip
    assert (second.kind, second.why, second.asks, second.max_attempts_made) == (
        "retry", f"{several.retrying['b']} (2 calls)", 2, 2,
    )  # fmt: skip
    assert (third.kind, third.seconds) == ("slow", 30.0)
    one.slow_calls["a"] = 0.0
    assert list_judge_waits([one])[0].kind == "retry", "retries come first"
