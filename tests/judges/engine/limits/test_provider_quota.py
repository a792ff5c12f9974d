"""Requests left by the headers of replies."""

from __future__ import annotations

import math

import pytest

from judges.engine.limits.provider_quota import QuotaBucket
from judges.models.interface import RequestQuota

ONE_A_SECOND = RequestQuota(60, 2, 58)
"""Two requests left; the other 58 come back in 58 seconds."""


def test_the_used_requests_come_back_until_the_reset():
    assert ONE_A_SECOND.refill_rate == 1.0
    assert RequestQuota(60, 30, 60).refill_rate == 0.5
    assert RequestQuota(60, 60, 60).refill_rate == math.inf
    assert RequestQuota(60, 30, 0).refill_rate == math.inf


def test_without_a_quota_and_with_an_unused_one_nothing_waits():
    bucket = QuotaBucket()
    bucket.record_start(5.0)
    assert bucket.next_start(5.0) == 0.0
    bucket.update(RequestQuota(60, 60, 0), 5.0, 6.0)
    for _ in range(100):
        bucket.record_start(6.0)
        assert bucket.next_start(6.0) == 0.0


def test_started_calls_use_the_quota_up_and_time_gives_it_back():
    bucket = QuotaBucket()
    bucket.update(ONE_A_SECOND, 10.0, 10.0)
    assert bucket.next_start(10.0) == 0.0
    bucket.record_start(10.0)
    assert bucket.next_start(10.0) == 0.0, "one is left"
    bucket.record_start(10.0)
    assert bucket.next_start(10.0) == 11.0
    assert bucket.next_start(10.25) == pytest.approx(11.0)
    assert bucket.next_start(11.0) == 0.0
    bucket.record_start(11.5)  # half of one is left
    assert bucket.next_start(11.5) == pytest.approx(12.0)


def test_calls_that_started_after_the_answered_one_are_taken_off():
    bucket = QuotaBucket()
    for start in (1.0, 2.0, 3.0):
        bucket.record_start(start)
    bucket.update(ONE_A_SECOND, 2.0, 4.0)  # 2 left, and the call of second 3: 1 left
    assert bucket.next_start(4.0) == 0.0
    bucket.record_start(4.0)
    assert bucket.next_start(4.0) == 5.0


def test_headers_hold_a_call_for_a_minute_at_most():
    bucket = QuotaBucket()
    bucket.update(RequestQuota(10, 0, 86_400), 0.0, 0.0)
    assert bucket.next_start(0.0) == 60.0


def test_starts_are_counted_over_any_number_of_calls():
    bucket = QuotaBucket()
    for n in range(5000):
        bucket.record_start(float(n))
    bucket.update(RequestQuota(60, 10, 50), 4994.0, 5000.0)  # 5 calls started later: 5 left
    for _ in range(4):
        bucket.record_start(5000.0)
    assert bucket.next_start(5000.0) == 0.0
    bucket.record_start(5000.0)
    assert bucket.next_start(5000.0) == 5001.0
