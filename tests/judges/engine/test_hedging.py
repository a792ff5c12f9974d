"""Second calls for slow ones: at most 2 % more, the first answer counts, both are billed."""

import asyncio

import pytest

from judges.engine.limits import stragglers
from judges.engine.limits.hedging import HedgeBudget, race_with_hedge
from judges.engine.run_state import RunSettings
from studies.store.queries.run_costs import attempt_totals
from tests.judge_server import Fault, JudgeServer, at
from tests.judges.engine.virtual_time import run_virtual
from tests.judges.small_studies import endpoint, judgements, run_through, study_plan

CALLS = 160


def run(server, store, tmp_path, *, hedge: bool):
    judge = endpoint(server.base_url, hedge=hedge)
    plan = study_plan(tmp_path, [judge], items=CALLS, concurrency=4)
    ended = run_through(plan, store, settings=RunSettings())
    assert ended.state == "done"


def hung(*indexes: int, seconds: float):
    return at(Fault("timeout", seconds=seconds), *indexes)


def test_a_hung_call_is_made_a_second_time_and_its_ask_stored_once(store, tmp_path, monkeypatch):
    monkeypatch.setattr(stragglers, "MIN_SLOW_SECONDS", 5.0)  # a busy machine holds none up so long
    with JudgeServer(latency=0.02, rules=[hung(120, 121, seconds=900)]) as server:
        run(server, store, tmp_path, hedge=True)
        calls = server.bill.totals.calls
        assert sorted(server.bill.paid_twice.values()) == [2, 2]
    assert calls == CALLS + 2
    assert store.status_counts("small") == {"planned": CALLS, "ok": CALLS}
    totals = {t.outcome: t for t in attempt_totals(store, "small")}
    assert (totals["ok"].calls, totals["hedged"].calls) == (CALLS, 2)
    assert totals["hedged"].unknown == 2, "given up at the end of the run: billed, cost unknown"


def test_the_bill_of_the_slower_call_is_counted_when_it_arrives(store, tmp_path, monkeypatch):
    monkeypatch.setattr(stragglers.CallDurations, "slow_after_seconds", lambda *_: 1.0)
    with JudgeServer(latency=0.05, rules=[hung(60, seconds=3.0)]) as server:
        run(server, store, tmp_path, hedge=True)
        dollars = float(server.bill.totals.dollars)
        more = server.bill.totals.calls - CALLS
    totals = {t.outcome: t for t in attempt_totals(store, "small")}
    assert 1 <= more == totals["hedged"].calls <= 3, "one hung; a busy machine may hold up others"
    if not totals["hedged"].unknown:  # the run lasted longer than the slow call
        assert sum(t.cost for t in totals.values()) == pytest.approx(dollars)


@pytest.mark.extra
def test_at_most_2_percent_more_calls_are_made(store, tmp_path):
    many = hung(*range(60, 70), seconds=3.5)
    with JudgeServer(latency=0.02, rules=[many]) as server:
        run(server, store, tmp_path, hedge=True)
        assert server.bill.totals.calls <= 1.02 * CALLS
    assert len(judgements(store)) == CALLS


def test_without_hedge_no_call_is_made_twice(store, tmp_path):
    with JudgeServer(latency=0.02, rules=[hung(60, seconds=3.0)]) as server:
        run(server, store, tmp_path, hedge=False)
        assert server.bill.totals.calls == CALLS


# --- the race alone -----------------------------------------------------------------------------


class TimedCall:
    """A call that ends after so many seconds, with an outcome."""

    def __init__(
        self, seconds: float, outcome: str | None, slow_after_seconds: float = 0.01
    ) -> None:
        self.seconds, self.outcome, self.slow_after_seconds = seconds, outcome, slow_after_seconds
        self.slow_event = asyncio.Event()
        self.attempt: int | None = 1
        self.abandoned = self.lost = self.ended = False

    async def run(self):
        asyncio.get_running_loop().call_later(self.slow_after_seconds, self.slow_event.set)
        await asyncio.sleep(self.seconds)
        self.ended = True
        return self.outcome

    run_hedge = run

    def abandon(self) -> None:
        self.abandoned = True

    async def record_unused_attempt(self) -> None:
        self.lost = True


def run_race(first: TimedCall, second: TimedCall, calls: int = 100):
    left = []

    async def main():
        budget = HedgeBudget(calls)
        won, outcome = await race_with_hedge(first, lambda: second, budget, left.append)
        await asyncio.gather(*left, return_exceptions=True)
        await asyncio.sleep(0)
        assert len(asyncio.all_tasks()) == 1, "nothing is left waiting"
        return won, outcome, budget.hedges

    return (*run_virtual(main), len(left))


def test_the_first_answer_wins():
    slow, quick = TimedCall(0.5, "slow"), TimedCall(0.05, "quick")
    assert run_race(slow, quick) == (quick, "quick", 1, 1)
    assert slow.abandoned and slow.ended, "it is billed, so its answer is awaited"
    slow, slower = TimedCall(0.1, "slow"), TimedCall(0.5, "slower")
    assert run_race(slow, slower) == (slow, "slow", 1, 1)
    assert slower.abandoned


def test_a_second_call_that_fails_does_not_end_the_first():
    slow, failing = TimedCall(0.3, "slow"), TimedCall(0.02, None)
    failing.attempt = None
    assert run_race(slow, failing) == (slow, "slow", 1, 0)


def test_a_quick_call_or_an_empty_budget_starts_no_second_one():
    quick, never = TimedCall(0.05, "quick", slow_after_seconds=5.0), TimedCall(0.0, "never")
    assert run_race(quick, never) == (quick, "quick", 0, 0)
    slow = TimedCall(0.2, "slow")
    assert run_race(slow, never, calls=49) == (slow, "slow", 0, 0)


@pytest.mark.parametrize("loser", ["first", "second"])
def test_a_loser_that_was_not_sent_is_cancelled(loser):
    first = TimedCall(0.5 if loser == "first" else 0.1, "one")
    second = TimedCall(0.05 if loser == "first" else 0.5, "two")
    lost = first if loser == "first" else second
    lost.attempt = None
    run_race(first, second)
    assert lost.abandoned and not lost.ended


@pytest.mark.parametrize("attempt", [1, None])
def test_of_two_answers_at_the_same_moment_the_first_counts_and_a_sent_second_is_recorded(attempt):
    slow, second = TimedCall(0.5, "slow"), TimedCall(0.49, "second")
    second.attempt = attempt
    assert run_race(slow, second) == (slow, "slow", 1, 0)
    assert slow.ended and second.ended and not second.abandoned
    assert second.lost == (attempt is not None)


@pytest.mark.parametrize(("calls", "after"), [(100, 0.005), (100, 0.1), (0, 0.1)])
def test_a_race_that_is_cancelled_cancels_its_calls(calls, after):
    """Before the first call is slow, with two calls under way, and with a slow call alone."""
    first, second = TimedCall(0.5, "one"), TimedCall(0.5, "two")

    async def main() -> None:
        race = race_with_hedge(first, lambda: second, HedgeBudget(calls), pytest.fail)
        task = asyncio.create_task(race)
        await asyncio.sleep(after)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        await asyncio.sleep(1)

    run_virtual(main)
    assert not first.ended and not second.ended


def test_of_fifty_calls_one_may_be_made_twice():
    budget = HedgeBudget(49)
    assert not budget.count_hedge_if_allowed() and budget.hedges == 0
    taken = []
    for _ in range(101):
        budget.calls += 1
        taken += [budget.calls] * budget.count_hedge_if_allowed()
    assert taken == [50, 100, 150] and budget.hedges == 3
