"""The capacity page: equal to the script's output, and its arithmetic."""

from __future__ import annotations

import pytest

from judges.bulk.capacity import (
    ORDINARY_ACCOUNT,
    AccountLimits,
    AskTokens,
    build_capacity_page,
    compare_call_methods,
    estimate_ask_tokens,
    max_call_rate_and_limit,
    simulate_run_hours,
)
from tests.conftest import ROOT
from tests.page_words import says

LOAD = AskTokens("a test", 900, 100)


def test_the_page_is_what_the_script_prints() -> None:
    written = (ROOT / "docs" / "capacity.md").read_text(encoding="utf-8")
    assert written == build_capacity_page(), "run python -m judges.bulk.capacity > docs/capacity.md"


def test_the_tightest_limit_holds() -> None:
    # 1,000 tokens an ask: 800,000 a minute are 13.3 asks/s; 10,000 requests would be 167.
    rate, why = max_call_rate_and_limit(LOAD, 256, ORDINARY_ACCOUNT)
    assert rate == pytest.approx(800 / 60)
    assert says(why, "0.8 M tokens", "minute")
    assert max_call_rate_and_limit(LOAD, 30, AccountLimits(1e9, 1e12)) == (
        10.0,
        "30 calls in flight",
    )  # 30 / 3 s
    assert max_call_rate_and_limit(LOAD, 9999, AccountLimits(60, 1e12))[0] == 1.0
    # one core a process at 1.84 ms a call
    assert max_call_rate_and_limit(LOAD, 10**6, AccountLimits(1e9, 1e12), 2)[0] == pytest.approx(
        2 / 0.00184
    )


def test_dollars_of_every_way() -> None:
    # gpt-4o: 900 in at $2.50 and 100 out at $10 a million are $0.00325; a batch costs half.
    # 32 GPUs at $3 an hour handle 160,000 tokens/s, 160 asks: $96/h over 576,000 asks.
    live, batch, ray, weights = compare_call_methods(LOAD)
    assert live.dollars == ray.dollars == pytest.approx(0.00325)
    assert batch.dollars == pytest.approx(0.001625)
    assert weights.dollars == pytest.approx(96 / 576_000)
    assert weights.hours(576_000) == pytest.approx(1.0)


def test_a_batch_takes_its_window_and_then_one_for_each_queue() -> None:
    # 80 M tokens queued hold 88,889 asks of 900.
    batch = compare_call_methods(LOAD)[1]
    assert batch.hours(1) == 24.0
    assert batch.hours(88_889) == pytest.approx(24.0, rel=1e-4)
    assert batch.hours(177_778) == pytest.approx(48.0, rel=1e-4)


def test_the_simulation_ends_a_little_after_the_arithmetic() -> None:
    for in_flight, limits in ((256, ORDINARY_ACCOUNT), (8, AccountLimits(1e6, 1e9))):
        hours = simulate_run_hours(LOAD, 3_000, in_flight, limits)
        sums = 3_000 / max_call_rate_and_limit(LOAD, in_flight, limits)[0] / 3600
        assert sums * 0.97 < hours < sums * 1.03 + 20 / 3600


def test_own_words_are_counted_from_the_prompt() -> None:
    short, long = (
        estimate_ask_tokens("brief-letters", 1, ""),
        estimate_ask_tokens("visit-reference-free", 250, ""),
    )
    assert 560 + 20 < short.sent < 560 + 150
    assert short.sent < long.sent
