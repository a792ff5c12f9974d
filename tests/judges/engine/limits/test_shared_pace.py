"""Several clients of one endpoint with a request limit: each gets its share."""

import asyncio
import subprocess
import sys
from itertools import product
from pathlib import Path
from types import SimpleNamespace

import pytest

from judges.engine.limits.pace_file import RateRecord, open_rate_record
from judges.engine.limits.paced_starts import STALE_SECONDS, PacedStarts
from judges.engine.limits.rate_limit import EndpointLimiter
from judges.engine.limits.slow_call import SlowCallWatch
from judges.engine.limits.turn_queue import TurnQueue
from tests.judge_server import Limiter
from tests.judges.engine.virtual_time import (
    SimulatedEndpoint,
    jain_index,
    run_virtual,
    use_endpoint,
    use_together,
)
from tests.samples import sample

MINUTES = 10
LIMITS = [(60, 1), (60, 10), (600, 1), (600, 10)]


def use_shared(tmp_path: Path, limited: SimulatedEndpoint, starts: tuple[float, ...]) -> list[int]:
    """Accepted calls of processes that use one store."""

    def make_limiter() -> EndpointLimiter:
        slot = open_rate_record(tmp_path / "pace", "endpoint key")
        assert slot is not None
        return EndpointLimiter(16, asyncio.get_running_loop().time, slot)

    return use_together(limited, 60.0 * MINUTES, starts=starts, make_limiter=make_limiter)


STARTS = [(0.0, 0.0), (0.0, 20.0), (0.0, 5.0, 50.0)]
SHARED = [
    (*limit, style, starts) for limit, style, starts in product(LIMITS, ["seconds", "ms"], STARTS)
]
EACH_ONCE = [(60, 1, "ms", STARTS[2]), (60, 10, "seconds", STARTS[0]),
             (600, 1, "seconds", STARTS[1]), (600, 10, "ms", STARTS[0])]  # fmt: skip
"""Each limit, style and way to start at least once."""


@pytest.mark.parametrize(("per_minute", "burst", "style", "starts"), sample(SHARED, *EACH_ONCE))
def test_processes_of_one_store_share_a_request_limit(per_minute, burst, style, starts, tmp_path):
    limited = SimulatedEndpoint(limiter=Limiter(per_minute / 60, burst=burst, style=style), seed=2)
    accepted = use_shared(tmp_path, limited, starts)
    assert jain_index(accepted) >= 0.99, accepted
    assert sum(accepted) >= 0.95 * (MINUTES - 1) * per_minute
    refused = sum(60 < t <= 60 * MINUTES for t in limited.refusals)
    assert refused <= 0.025 * sum(accepted)


@pytest.mark.parametrize("second_starts", [0.0, 20.0])
@pytest.mark.parametrize("per_minute", sample([60, 600], 60))
def test_two_machines_share_a_request_limit_that_allows_bursts(per_minute, second_starts):
    limited = SimulatedEndpoint(limiter=Limiter(per_minute / 60, burst=10), seed=2)
    accepted = use_together(limited, 60.0 * MINUTES, starts=(0.0, second_starts))
    assert jain_index(accepted) >= 0.9, accepted
    assert sum(accepted) >= 0.95 * (MINUTES - 1) * per_minute


def test_runs_in_one_process_take_turns_however_many_workers_they_have():
    limited = SimulatedEndpoint(limiter=Limiter(10, burst=1), seed=2)
    calls = {"few": 0, "many": 0}

    async def main() -> None:
        limiter = EndpointLimiter(20, asyncio.get_running_loop().time)

        async def worker(run: str) -> None:
            while asyncio.get_running_loop().time() < 300:
                started = await limiter.acquire(lambda: False, run)
                assert started is not None
                outcome = await limited.call()
                limiter.release(started, **outcome)
                calls[run] += not outcome.get("neutral")

        names = ["few"] * 4 + ["many"] * 16
        await asyncio.gather(*(worker(name) for name in names))

    run_virtual(main)
    assert jain_index(list(calls.values())) >= 0.99, calls


def test_a_cancelled_call_in_the_queue_is_skipped():
    async def main() -> list[bool]:
        queue = TurnQueue()
        first, second = queue.add("one"), queue.add("two")
        first.cancel()
        return [queue.wake_next(), queue.wake_next(), bool(queue), second.done()]

    assert run_virtual(main) == [False, True, False, True]


# --- the file -----------------------------------------------------------------------------------

REFUSED = """
import sys
from pathlib import Path
from types import SimpleNamespace
from judges.engine.limits.pace_file import RateRecord
from judges.engine.limits.paced_starts import PacedStarts
pace = PacedStarts(RateRecord(Path(sys.argv[1]), "endpoint key"))
pace.record_refusal(1000.0, 20.0, 5.0)
"""


def test_a_refusal_in_one_process_holds_the_calls_of_another(tmp_path):
    pace = PacedStarts(RateRecord(tmp_path / "pace", "endpoint key"))
    other = PacedStarts(RateRecord(tmp_path / "pace", "another endpoint"))
    subprocess.run([sys.executable, "-c", REFUSED, str(tmp_path / "pace")], check=True, timeout=120)
    for each in (pace, other):
        each.load_shared_changes(1001.0)
    assert pace.cooldown_end == 1005.0
    assert pace.estimate.rate == pytest.approx(17.0)
    assert pace.reserve_next_start(1001.0) == 1005.0
    assert other.estimate.rate is None and other.cooldown_end == 0.0


@pytest.mark.parametrize("later", [-900.0, STALE_SECONDS + 1])
def test_values_of_an_earlier_day_or_from_before_a_restart_are_not_used(later, tmp_path):
    PacedStarts(RateRecord(tmp_path / "pace", "key")).record_refusal(1000.0, 20.0, 5.0)
    pace = PacedStarts(RateRecord(tmp_path / "pace", "key"))
    pace.load_shared_changes(1000.0 + later)
    assert pace.estimate.rate is None and pace.cooldown_end == 0.0


def test_a_process_that_halts_with_the_lock_does_not_stop_the_others(tmp_path):
    halted, pace = (RateRecord(tmp_path / "pace", "key") for _ in range(2))
    with halted.lock() as locked:
        assert locked
        limits = PacedStarts(pace)
        limits.record_refusal(1000.0, 20.0, 5.0)
    assert limits.estimate.rate == pytest.approx(17.0)
    assert pace.change_count == 0, "not stored: the lock was not free"


def test_without_a_writable_folder_each_process_limits_itself(tmp_path):
    assert open_rate_record(tmp_path / "missing" / "pace", "key") is None
    limited = SimulatedEndpoint(limiter=Limiter(1, burst=1))
    limiter = run_virtual(lambda: use_endpoint(limited, workers=4, seconds=60))
    assert limiter.rate_estimate.rate is not None


def test_a_refusal_renews_the_own_reservation_in_its_place():
    """At two calls a second; the start reserved first is replaced, not joined by a second one."""
    starts = PacedStarts()
    assert starts.reserve_next_start(10.0) == 0.0, "no rate is known"
    starts.record_refusal(10.0, 4.0, wait=1.0)
    assert starts.estimate.rate is not None and starts.cooldown_end == 11.0
    gap = 1 / starts.estimate.rate
    assert starts._next_start == 10.0 + gap
    reserved = starts.reserve_next_start(10.0)
    assert reserved == max(10.0 + gap, 11.0) and starts.reserve_next_start(10.5) == reserved
    assert starts._next_start == reserved + gap
    starts.cooldown_end = reserved + 0.25
    again = starts.reserve_next_start(10.5)
    assert again == reserved + 0.25 and starts._next_start == again + gap
    starts.record_start(again + 1)
    assert starts._reserved is None and starts._next_start == again + 1 + gap


def test_a_call_that_cannot_be_left_out_of_the_count_starts_no_worker():
    replaced: list[int] = []
    for stops, times in ((True, 2), (False, 1)):
        limiter = SimpleNamespace(stop_counting_slow_call=lambda stops=stops: stops)
        watch = SlowCallWatch(limiter, None, {}, "a", replace_worker=lambda: replaced.append(1))
        for _ in range(times):
            watch._mark_as_slow(7.0)
        assert watch.slow_event.is_set() and watch.slow_calls == ({"a": 7.0} if stops else {})
        assert watch.replaced is stops and len(replaced) == 1
        assert watch.stop_timer_and_unmark_slow() is stops and watch.slow_calls == {}
