"""Transient faults, rate limits, overload and hung calls: throughput and refused calls."""

import asyncio
import threading
import time

import pytest

from judges.engine.limits.congestion import CongestionWindow
from judges.engine.limits.rate_limit import EndpointLimiter
from judges.engine.limits.stragglers import CallDurations, describe_slow_calls
from judges.engine.run_state import RunSettings
from judges.models.interface import RequestQuota, parse_duration, parse_request_quota
from judges.planning.plan import save_plan
from tests.judge_server import Fault, JudgeServer, Limiter, Rule, at
from tests.judges.engine.virtual_time import SimulatedEndpoint, Unlimited, run_virtual, use_endpoint
from tests.judges.small_studies import endpoint, engine, run_through, study_plan
from tests.page_words import says
from tests.samples import sample


def seconds_for(
    calls: int, fault_share: float, limiter: EndpointLimiter | None, seed: int
) -> float:
    """Virtual seconds of so many calls of 60 ms with 16 workers."""

    async def main() -> float:
        faulty = SimulatedEndpoint(fault_share=fault_share, seed=seed)
        await use_endpoint(faulty, workers=16, calls=calls, limiter=limiter, max_attempts=6)
        return asyncio.get_running_loop().time()

    return run_virtual(main)


@pytest.mark.parametrize("calls", sample([400, 2000], 400))
@pytest.mark.parametrize("share", [0.0, 0.02, 0.05, 0.15, 0.3])
def test_faults_on_every_attempt_cost_little_more_than_in_a_loop_that_only_retries(share, calls):
    seeds = range(5)  # a single unlucky call decides how long one run takes
    bare = sum(seconds_for(calls, share, Unlimited(), seed) for seed in seeds)
    assert bare >= 0.8 * sum(seconds_for(calls, share, None, seed) for seed in seeds)


def use_limited(per_minute: float, burst: float, seconds: float, *, reports: bool = False):
    """Share of the limit used and share of calls refused, both after the first minute."""
    limited = SimulatedEndpoint(
        limiter=Limiter(per_minute / 60, burst=burst, reports=reports), seed=2
    )
    run_virtual(lambda: use_endpoint(limited, workers=16, seconds=seconds))
    started = sum(60 < t <= seconds for t in limited.starts)
    refused = sum(60 < t <= seconds for t in limited.refusals)
    used = (started - refused) / ((seconds - 60) * per_minute / 60)
    return used, refused / started


@pytest.mark.parametrize(
    ("per_minute", "burst", "minutes"),
    sample(
        [(10, 1, 60), (10, 10, 60), (60, 1, 30), (60, 10, 30), (600, 1, 10), (600, 10, 10),
         (600, 600, 10)],
        (10, 1, 60), (60, 10, 30), (600, 600, 10),
    ),
)  # fmt: skip
def test_a_request_limit_is_used_to_95_percent_with_at_most_2_percent_refused(
    per_minute, burst, minutes
):
    used, refused = use_limited(per_minute, burst, 60 * minutes)
    assert used >= 0.95
    assert refused <= 0.02


def test_reported_quotas_prevent_refusals():
    _, refused = use_limited(60, 10, 600, reports=True)
    assert refused == 0


def test_an_overloaded_endpoint_gets_fewer_calls_in_flight():
    overloaded = SimulatedEndpoint(latency=0.5, capacity=8)
    limiter = run_virtual(lambda: use_endpoint(overloaded, workers=64, seconds=300))
    assert limiter.limit < 20
    assert len(overloaded.successes) >= 0.9 * 300 * 8 / 0.5
    assert len(overloaded.starts) <= 1.3 * len(overloaded.successes)


def test_a_share_of_failures_that_does_not_fall_with_the_load_restores_the_limit():
    window, limit = CongestionWindow(), 20.0
    limits = set()
    for n in range(400):
        limit = window.record(failed=n % 5 < 2, limit=limit)  # 40 % at every load
        limits.add(round(limit))
    assert limits == {20, 14}
    assert limit == 20


def test_request_quotas_are_parsed_from_headers():
    headers = {
        "x-ratelimit-limit-requests": "60",
        "x-ratelimit-remaining-requests": "59",
        "x-ratelimit-reset-requests": "1s",
    }
    assert parse_request_quota(headers) == RequestQuota(60, 59, 1.0)
    assert parse_request_quota({**headers, "x-ratelimit-remaining-requests": "many"}) is None
    assert parse_request_quota({}) is None
    assert [parse_duration(t) for t in ("6m0s", "20ms", "1.5", "soon", "")] == [
        360.0, 0.02, 1.5, None, None,
    ]  # fmt: skip


def test_a_call_is_slow_relative_to_the_usual_duration():
    durations = CallDurations()
    for _ in range(9):
        durations.record(1.0)
    assert durations.slow_after_seconds() is None
    durations.record(1.0)
    assert durations.slow_after_seconds() == 4.0
    assert says(describe_slow_calls([95.0, 20.0], 4.0), "2", "slow: 95", "usual 4")


def test_long_prompts_are_compared_with_long_prompts():
    durations = CallDurations()
    for _ in range(10):
        durations.record(1.0, length=2_000)
    assert durations.slow_after_seconds(100_000) == 4.0, "no long prompt yet: all lengths count"
    for _ in range(10):
        durations.record(9.0, length=90_000)
    assert durations.slow_after_seconds(100_000) == 36.0
    assert durations.slow_after_seconds(1_500) == 4.0


def test_prompts_from_2048_to_8191_characters_are_compared_with_each_other():
    durations = CallDurations()
    for length, seconds in ((2_047, 1.0), (2_048, 2.0), (8_191, 2.0), (8_192, 3.0)):
        for _ in range(10):
            durations.record(seconds, length)
    found = [durations.slow_after_seconds(length) for length in (1_000, 3_000, 8_000, 9_000)]
    assert found == [4, 8, 8, 12]


# --- whole runs against the loopback server -----------------------------------------------------


TRANSIENT = (
    Fault("rate_limit_seconds", retry_after=1.0),
    Fault("server_error"),
    Fault("unavailable"),
    Fault("connection_reset"),
)


def test_a_run_with_15_percent_transient_faults_stays_wide_and_pays_once(store, tmp_path):
    rules = [Rule(fault, chance=0.04, attempts=frozenset({1})) for fault in TRANSIENT]
    with JudgeServer(latency=0.15, rules=rules) as server:
        plan = study_plan(tmp_path, [endpoint(server.base_url)], items=300, concurrency=16)
        run = run_through(plan, store, settings=RunSettings())
        peak = server.peak_in_flight
        failed = sum(server.bill.by_fault.values())
        assert server.bill.paid_twice == {}
    assert run.state == "done"
    assert store.status_counts("small") == {"planned": 300, "ok": 300}
    assert failed >= 20
    assert peak > 8, "calls are made side by side"


@pytest.mark.extra
def test_hung_calls_do_not_hold_up_the_others_and_are_not_made_twice(store, tmp_path):
    hung = at(Fault("timeout", seconds=9.0), 20, 21, 22)
    with JudgeServer(latency=0.02, rules=[hung]) as server, engine() as made:
        plan = study_plan(tmp_path, [endpoint(server.base_url)], items=120, concurrency=4)
        save_plan(plan, store)
        run = made.start(plan, store, settings=RunSettings())
        waits = set()
        started = time.monotonic()
        while run.snapshot().done < 117 and time.monotonic() - started < 30:
            waits |= {(wait.kind, wait.why[:17]) for wait in run.snapshot().waits}
            threading.Event().wait(0.05)
        early = time.monotonic() - started
        assert run.wait(120)
        calls, peak = server.bill.totals.calls, server.peak_in_flight
    assert early < 8, "all others end before the hung calls do"
    assert ("slow", "3 calls are slow:") in waits
    assert run.state == "done"
    assert calls == 120
    assert peak <= 4 + 3


def test_a_judge_sets_its_own_timeout_and_number_of_attempts(store, tmp_path):
    hung = at(Fault("timeout", seconds=900.0), 0)
    with JudgeServer(rules=[hung]) as server:
        judge = endpoint(server.base_url, timeout_s=1, max_attempts=1)
        plan = study_plan(tmp_path, [judge], items=1)
        run_through(plan, store, settings=RunSettings())
        assert server.bill.totals.calls == 1
    (judgement,) = store.judgements("small")
    assert judgement.status == "error"
    assert says(judgement.detail, "no answer within 1")
