"""The rate limiter alone and against a rate-limited server: calls in flight, rate, cool-downs."""

import asyncio
import contextlib
import itertools
from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

import pytest

from judges.engine.limits.rate_estimate import RateEstimate
from judges.engine.limits.rate_limit import START_LIMIT, EndpointLimiter
from judges.engine.limits.turn_queue import MAX_REMEMBERED_RUNS, TurnQueue
from judges.engine.run_state import RunSettings
from judges.planning.plan import save_plan
from tests.judge_server import Fault, JudgeServer, Limiter, at
from tests.judges.engine.virtual_time import run_virtual
from tests.judges.small_studies import endpoint, engine, run_through, study_plan

T = TypeVar("T")


class Clock:
    """A clock that moves when told."""

    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


def in_loop(act: Callable[[], Awaitable[T]]) -> T:
    async def main() -> T:
        return await act()

    return run_virtual(main)


def never() -> bool:
    return False


async def window(gate: EndpointLimiter, clock: Clock, **how: bool) -> None:
    """As many calls as the gate lets in at once, all ending alike."""
    clock.now += 1
    began = [await gate.acquire(never) for _ in range(int(gate.limit))]
    clock.now += 0.1
    for start in began:
        assert start is not None
        gate.release(start, **how)


def test_the_number_in_flight_doubles_per_clean_window_up_to_the_ceiling():
    async def act() -> list[int]:
        clock = Clock()
        gate = EndpointLimiter(256, clock)
        limits = [int(gate.limit)]
        for _ in range(5):
            await window(gate, clock)
            limits.append(int(gate.limit))
        return limits

    assert in_loop(act) == [20, 40, 80, 160, 256, 256]


def test_it_starts_at_the_ceiling_if_that_is_small():
    assert EndpointLimiter(4).limit == 4
    assert EndpointLimiter(4096).limit == START_LIMIT


def test_a_window_of_congestion_counts_once_and_growth_is_slow_afterwards():
    async def act() -> list[int]:
        clock = Clock()
        gate = EndpointLimiter(256, clock)
        limits = []
        await window(gate, clock, congested=True)  # 20 calls, one episode: 20 x 0.7
        limits.append(int(gate.limit))
        for _ in range(2):
            await window(gate, clock)
            limits.append(int(gate.limit))
        await window(gate, clock, congested=True)  # 16 x 0.7 = 11.2
        limits.append(int(gate.limit))
        return limits

    assert in_loop(act) == [14, 15, 16, 11]


def test_faults_that_are_nobodys_congestion_teach_nothing():
    async def act() -> float:
        clock = Clock()
        gate = EndpointLimiter(256, clock)
        await window(gate, clock, neutral=True)
        return gate.limit

    assert in_loop(act) == START_LIMIT


async def refuse_twice(gate: EndpointLimiter, wait: float) -> None:
    """Two refused calls in a row, the second of them a trial: then no call starts."""
    for _ in range(2):
        began = await gate.acquire(never)
        assert began is not None
        gate.release(began, congested=True, neutral=True, limited=True, wait=wait)


def test_nobody_enters_while_the_endpoint_cools_down_and_a_stop_need_not_wait_for_it():
    async def act() -> None:
        gate = EndpointLimiter(8, asyncio.get_running_loop().time)
        await refuse_twice(gate, 60)
        assert gate.cooldown_left == 60
        stopped = False
        waiting = [asyncio.create_task(gate.acquire(lambda: stopped)) for _ in range(3)]
        await asyncio.sleep(0.02)
        assert not any(task.done() for task in waiting)
        stopped = True
        gate.wake_waiters()
        assert await asyncio.wait_for(asyncio.gather(*waiting), 1) == [None] * 3

    in_loop(act)


def test_a_trial_that_is_refused_ends_the_trials_of_its_cool_down():
    async def act() -> tuple[int, int]:
        gate = EndpointLimiter(8, asyncio.get_running_loop().time)
        for _ in range(2):  # the second starts after the cool-down began, so it is a trial
            began = await gate.acquire(never)
            assert began is not None
            gate.release(began, congested=True, neutral=True, limited=True, wait=60)
            await asyncio.sleep(0.01)
        waiting = [asyncio.create_task(gate.acquire(never)) for _ in range(3)]
        await asyncio.sleep(50)
        early = sum(task.done() for task in waiting)
        await asyncio.sleep(60)
        return early, sum(task.done() for task in waiting)

    assert in_loop(act) == (0, 3)


def test_calls_refused_together_lower_a_known_rate_once():
    async def act() -> float:
        gate = EndpointLimiter(8, asyncio.get_running_loop().time)
        began = [await gate.acquire(never) for _ in range(3)]
        gate.rate_estimate.rate = 2.0
        for one in began:
            assert one is not None
            gate.release(one, congested=True, neutral=True, limited=True, wait=10)
        return gate._pace._refusals

    assert in_loop(act) == 1


def test_after_a_single_refusal_four_accepted_trials_open_the_endpoint_again():
    async def act() -> list[int]:
        gate = EndpointLimiter(8, asyncio.get_running_loop().time)
        refused = await gate.acquire(never)
        assert refused is not None
        gate.release(refused, congested=True, neutral=True, limited=True, wait=60)
        waiting = [asyncio.create_task(gate.acquire(never)) for _ in range(12)]
        started = []
        for _ in range(5):
            await asyncio.sleep(0.01)
            started.append(sum(task.done() for task in waiting))
            last = max(task.result() or 0.0 for task in waiting if task.done())
            gate.release(last)
        return started

    assert in_loop(act) == [1, 2, 3, 4, 12]


def test_after_a_refusal_calls_are_paced_not_sent_in_a_burst():
    async def act() -> list[float]:
        gate = EndpointLimiter(8, asyncio.get_running_loop().time)
        await refuse_twice(gate, 0.05)
        gate.rate_estimate.rate = 50.0
        tasks = [asyncio.create_task(gate.acquire(never)) for _ in range(4)]
        return sorted(start or 0.0 for start in await asyncio.gather(*tasks))

    starts = in_loop(act)
    gaps = [b - a for a, b in itertools.pairwise(starts)]
    assert all(gap >= 0.019 for gap in gaps), gaps


def test_an_endpoint_that_refused_for_a_while_is_at_full_pace_again_within_two_minutes():
    # Four refusals in a row, each "in 25 s", while nothing passed: the pace is down to half a call
    # a second. Grown by 1 % a window of ten calls it would stay there for ten minutes.
    pace, now = RateEstimate(), 0.0
    pace.start_measuring(now)
    for _ in range(4):
        pace.record_refusal(now, guessed_rate=20 / 25)
        now += 25
    assert pace.rate is not None and pace.rate < 0.6
    ended = now
    while pace.rate is not None and pace.rate < 20:
        now += 1 / pace.rate
        pace.record_success(now)
    assert now - ended < 120


def test_at_a_limit_that_stays_a_bold_pace_costs_few_refusals():
    # A limiter of one call a second, for ten minutes: refused calls stay below a tenth.
    pace, now, passed, refused, last = RateEstimate(), 0.0, 0, 0, -1.0
    pace.start_measuring(now)
    pace.record_refusal(now, guessed_rate=2.0)
    now += 1
    while now < 600:
        if now - last >= 1:
            passed, last = passed + 1, now
            pace.record_success(now)
        else:
            refused += 1
            pace.record_refusal(now, guessed_rate=2.0)
            now += 1
        now += 1 / (pace.rate or 1000)
    assert passed > 300
    assert refused < 0.1 * passed, (refused, passed)


def test_a_waiter_that_is_cancelled_does_not_swallow_the_turn_of_the_next():
    async def act() -> None:
        gate = EndpointLimiter(1, asyncio.get_running_loop().time)
        began = await gate.acquire(never)
        assert began is not None
        first = asyncio.create_task(gate.acquire(never))
        second = asyncio.create_task(gate.acquire(never))
        await asyncio.sleep(0)
        gate.release(began)
        first.cancel()
        assert await asyncio.wait_for(second, 1) is not None

    in_loop(act)


# --- against a server that counts ---------------------------------------------------------------


@pytest.mark.extra
def test_at_ten_requests_a_second_there_is_no_storm(store, tmp_path):
    """The promise: attempts / successes <= 1.2. 19 of the first 20 calls are refused, by design."""
    with JudgeServer(latency=0.02, limiter=Limiter(10, burst=10)) as server:
        plan = study_plan(tmp_path, [endpoint(server.base_url)], items=120, concurrency=64)
        save_plan(plan, store)
        with engine() as made:
            run = made.start(plan, store, settings=RunSettings())
            told = set()
            while not run.wait(0.1):
                told |= {wait.kind for wait in run.snapshot().waits}
        totals, books = server.bill.totals, server.books()
    assert run.state == "done"
    assert {"cooling", "paced"} <= told, "the reason for waiting is always shown"
    assert totals.billed == 120
    assert totals.calls / totals.billed <= 1.2, totals
    # 110 calls beyond the burst take 11 s at the very least; pacing may cost as much again.
    assert books["seconds"] < 30


UNDER_WAY = 16 + 4
"""Calls that may arrive in a cool-down: as many as were under way, and four trials."""


def test_in_a_cool_down_of_a_second_nobody_calls(store, tmp_path):
    """Three endpoints at once, each with its own way to name the second."""
    with contextlib.ExitStack() as opened:
        servers = {
            style: opened.enter_context(
                JudgeServer(
                    latency=0.01,
                    rules=[at(Fault(f"rate_limit_{style}", retry_after=1.0), *range(5, 16))],
                )
            )
            for style in ("seconds", "date", "ms")
        }
        judges = [endpoint(server.base_url, style) for style, server in servers.items()]
        plan = study_plan(tmp_path, judges, items=60, concurrency=16)
        run = run_through(plan, store)
        cooldowns = {style: server.books()["cooldowns"] for style, server in servers.items()}
    assert run.state == "done"
    for style, found in cooldowns.items():
        assert found and all(each["received"] <= UNDER_WAY for each in found), (style, found)


def test_two_judges_at_one_endpoint_share_a_cool_down_and_another_endpoint_does_not(
    store, tmp_path
):
    refusal = Fault("rate_limit_seconds", retry_after=1.0)
    with (
        JudgeServer(latency=0.01, rules=[at(refusal, *range(3, 8))]) as busy,
        JudgeServer(latency=0.01) as free,
    ):
        judges = [
            endpoint(busy.base_url, "one", model="a"),
            endpoint(busy.base_url, "two", model="b"),
            endpoint(free.base_url, "three"),
        ]
        plan = study_plan(tmp_path, judges, items=30, concurrency=8)
        run = run_through(plan, store)
        cooldowns = busy.books()["cooldowns"]
        free_calls = [call.arrived for call in free.bill.calls]
    assert run.state == "done"
    assert cooldowns and all(each["received"] <= UNDER_WAY for each in cooldowns), cooldowns
    assert len(free_calls) == 30


# --- single rules -------------------------------------------------------------------------------


def test_cool_downs_without_a_stated_wait_double_up_to_half_a_minute_until_a_success():
    gate = EndpointLimiter(8)
    assert [gate._count_refusal_and_get_cooldown() for _ in range(8)] == [
        0.5,
        1,
        2,
        4,
        8,
        16,
        30,
        30,
    ]
    gate._record_success(-5.0)
    assert gate._count_refusal_and_get_cooldown() == 0.5


@pytest.mark.parametrize("left", [0.25, 1.0, 60.0])
def test_a_call_is_before_a_cool_down_that_began_after_it_and_has_not_ended(left):
    clock = Clock()
    gate = EndpointLimiter(8, clock)
    began = clock.now
    assert not gate.is_before_cooldown(began)
    gate._pace.cooldown_start, gate._pace.cooldown_end = began, began + left
    assert gate.cooldown_left == pytest.approx(left)
    assert gate.is_before_cooldown(began) and gate.is_before_cooldown(began - 1)
    assert not gate.is_before_cooldown(began + 0.1)
    assert not gate.makes_all_calls_wait, "no rate is known"
    gate.rate_estimate.rate = 2.0
    assert gate.makes_all_calls_wait
    clock.now += left
    assert gate.cooldown_left == 0.0
    assert not gate.is_before_cooldown(began) and not gate.makes_all_calls_wait


def test_a_ceiling_is_raised_for_another_run_and_lowered_by_the_user():
    gate = EndpointLimiter(4)
    gate.raise_ceiling(2)
    assert (gate.ceiling, gate.limit) == (4, 4)
    gate.raise_ceiling(100)
    assert (gate.ceiling, gate.limit) == (100, START_LIMIT)
    gate.lower_ceiling(7)
    assert (gate.ceiling, gate.limit) == (7, 7)
    gate.lower_ceiling(9)
    assert gate.ceiling == 7
    gate.lower_ceiling(0)
    assert (gate.ceiling, gate.limit) == (1, 1), "one call is the least"
    gate._doubling = False
    gate.raise_ceiling(100)
    assert (gate.ceiling, gate.limit) == (100, 1), "after a congestion the limit grows by itself"


def test_all_but_one_of_the_calls_may_be_slow_and_uncounted():
    async def act() -> list[Any]:
        gate = EndpointLimiter(3, Clock())
        starts = [await gate.acquire(never) for _ in range(3)]
        found: list[Any] = [
            gate.stop_counting_slow_call(),
            gate.stop_counting_slow_call(),
            gate.stop_counting_slow_call(),
        ]
        found += [(gate.in_flight, gate.uncounted)]
        for start, uncounted in zip(starts, (True, True, False), strict=True):
            assert start is not None
            gate.release(start, uncounted=uncounted)
        return [*found, (gate.in_flight, gate.uncounted)]

    assert in_loop(act) == [True, True, False, (1, 2), (0, 0)]


def test_a_limit_that_is_not_used_does_not_grow():
    async def act() -> float:
        clock = Clock()
        gate = EndpointLimiter(64, clock)
        for _ in range(100):
            clock.now += 1
            start = await gate.acquire(never)
            assert start is not None
            gate.release(start)
        return gate.limit

    assert in_loop(act) == START_LIMIT


def test_the_rate_is_told_only_while_calls_wait_for_it():
    async def act() -> list[Any]:
        gate = EndpointLimiter(8, asyncio.get_running_loop().time)
        gate.rate_estimate.rate = gate.rate_estimate._base = 2.0
        found: list[Any] = [gate.throttled_rate]
        waiting = [asyncio.create_task(gate.acquire(never)) for _ in range(3)]
        await asyncio.sleep(0.01)
        found.append(gate.throttled_rate)
        await asyncio.gather(*waiting)
        return [*found, gate.throttled_rate]

    assert in_loop(act) == [None, 2.0, None]


def test_runs_that_wait_take_turns_and_within_a_run_the_first_comes_first():
    async def act() -> list[str]:
        queue = TurnQueue()
        woken: list[str] = []
        assert not queue
        for name in ("a1", "a2", "a3", "b1", "c1"):
            future = queue.add(name[0])
            future.add_done_callback(lambda _, name=name: woken.append(name))
        queue.record_turn("a")
        while queue:
            assert queue.wake_next()
            await asyncio.sleep(0)
        return woken

    assert in_loop(act) == ["b1", "c1", "a1", "a2", "a3"]


def test_a_run_that_was_just_woken_waits_for_the_others():
    async def act() -> list[str]:
        queue = TurnQueue()
        waiting = {name: queue.add(name[0]) for name in ("a1", "a2", "b1", "b2")}
        woken = []
        while queue:
            queue.wake_next()
            woken += [name for name, one in waiting.items() if one.done() and name not in woken]
        return woken

    assert in_loop(act) == ["a1", "b1", "a2", "b2"]


def test_of_many_runs_those_with_the_latest_turns_are_remembered():
    async def act() -> list[bool]:
        queue = TurnQueue()
        for run in (0, *range(1, MAX_REMEMBERED_RUNS), 0, "new"):
            queue.record_turn(run)  # run 1 is forgotten, so that its next turn is its first
        waiting = [queue.add(0), queue.add(2), queue.add(1)]
        queue.wake_next()
        queue.wake_next()
        return [one.done() for one in waiting]

    assert in_loop(act) == [False, True, True]


@pytest.mark.parametrize(
    ("wait", "rate", "cooldown"),
    [(None, 0.85 * 16, 0.5), (0.25, 0.85 * 16, 0.25), (1.6, 0.85 * 10, 1.6), (4.0, 0.85 * 4, 4.0)],
)
def test_ten_refusals_limit_the_rate_to_85_percent_of_all_calls_in_one_wait(wait, rate, cooldown):
    async def act() -> EndpointLimiter:
        gate = EndpointLimiter(16, Clock())
        began = [await gate.acquire(never) for _ in range(10)]
        for start in began:
            assert start is not None and gate.rate_estimate.rate is None
            gate.release(start, neutral=True, limited=True, wait=wait)
        return gate

    gate = in_loop(act)
    assert gate.rate_estimate.rate == pytest.approx(rate)
    assert gate.cooldown_left == pytest.approx(cooldown), "one wait, though ten were told to wait"
    assert not gate._refusals.shows_rate_limit, "counted anew"


@pytest.mark.parametrize(
    ("started", "last", "ends", "trial", "waits"),
    [
        (99.5, 99.0, 105.0, False, False),  # rare, and of no trial: only this call waits
        (99.5, 99.0, 105.0, True, True),  # a refused trial
        (99.5, 99.0, 100.0, True, False),  # the wait is over
        (99.0, 99.0, 105.0, False, True),  # of the burst in which the wait began
        (99.5, -499.9, 105.0, False, False),
        (99.5, -500.0, 105.0, False, True),  # the first in ten minutes
    ],
)
def test_all_calls_wait_for_a_first_refusal_its_burst_and_a_refused_trial(
    started, last, ends, trial, waits
):
    gate = EndpointLimiter(8, Clock())
    gate._last_refusal, gate._pace.cooldown_start, gate._pace.cooldown_end = last, 99.0, ends
    if trial:
        gate._trials.start()
    gate._record_refusal(started, True, 50.0)
    assert gate.cooldown_left == (50 if waits else ends - 100)
    assert gate._trials.active == (last == -500 or (trial and not waits))


@pytest.mark.parametrize(
    ("in_flight", "rate", "cooling", "woken"),
    [(0, None, False, 4), (3, None, False, 1), (4, None, False, 0), (0, 50.0, False, 1),
     (0, None, True, 1)],
)  # fmt: skip
def test_no_more_calls_are_woken_than_may_start(in_flight, rate, cooling, woken):
    async def act() -> int:
        gate = EndpointLimiter(4, Clock())
        gate.in_flight, gate.rate_estimate.rate = in_flight, rate
        if cooling:
            gate._trials.start()
            gate._pace.cooldown_end = 105.0
        waiting = [gate._waiters.add(None) for _ in range(6)]
        gate._wake_startable_calls()
        return sum(one.done() for one in waiting)

    assert in_loop(act) == woken


def test_the_timer_stands_at_the_earliest_time_asked_for():
    async def act() -> list[float]:
        gate, loop, timers = EndpointLimiter(4), asyncio.get_running_loop(), []
        for seconds in (5.0, 9.0, 2.0):
            gate._wake_later(seconds)
            assert gate._timer is not None
            timers.append(gate._timer)
        assert [timer.cancelled() for timer in timers] == [True, True, False]
        await asyncio.sleep(3)
        assert gate._timer is None
        return [timer.when() - loop.time() for timer in timers]

    assert in_loop(act) == pytest.approx([2.0, 2.0, -1.0])
