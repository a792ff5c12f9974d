"""Rates estimated from refusals, worked by hand."""

from __future__ import annotations

import math

import pytest

from judges.engine.limits.rate_estimate import MAX_RATE, MIN_RATE, RateEstimate


def refused_at_start(guess: float, wait: float = 0.0) -> RateEstimate:
    """An estimate whose first call was refused at once."""
    pace = RateEstimate()
    pace.start_measuring(0.0)
    pace.record_refusal(0.0, guess, wait=wait)
    return pace


def accept(pace: RateEstimate, calls: int) -> None:
    for _ in range(calls):
        pace.record_success(0.0)


@pytest.mark.parametrize(
    ("accepted", "seconds", "guess", "rate"),
    [
        (0, 1.0, 20.0, 17.0),  # 85 % of the guess
        (4, 2.0, 8.0, 6.8),  # four calls measure nothing
        (10, 5.0, 8.0, 3.4),  # measured 2 a second: 85 % of the geometric mean of 2 and 8
        (5, 2.5, 8.0, 3.4),
        (10, 1.0, 2.0, 1.7),  # never above the guess
        (0, 1.0, 0.01, MIN_RATE),
    ],
)
def test_the_first_refusal_sets_85_percent_of_the_guess_and_of_what_was_accepted(
    accepted, seconds, guess, rate
):
    pace = RateEstimate()
    assert pace.rate is None
    pace.start_measuring(100.0)
    pace.start_measuring(104.0)  # the window has begun
    accept(pace, accepted)
    assert pace.rate is None, "no refusal, no limit"
    pace.record_refusal(100.0 + seconds, guess)
    assert pace.rate == pytest.approx(rate)


def test_further_refusals_without_an_accepted_call_lower_the_guess_again():
    pace = refused_at_start(20.0)
    pace.record_refusal(1.0, 20.0)
    assert pace.rate == pytest.approx(17 * 0.85)
    pace.record_refusal(2.0, 20.0)
    assert pace.rate == pytest.approx(17 * 0.85**2)


def test_few_accepted_calls_bound_the_guess():
    pace = refused_at_start(20.0)
    accept(pace, 2)
    pace.record_refusal(1.0, 20.0)  # two in a second, and the one refused
    assert pace.rate == pytest.approx(0.85 * 3)


def test_a_guessed_rate_is_flat_at_first_and_doubles_after_about_thirteen_calls():
    pace = refused_at_start(20.0)
    accept(pace, 1)
    assert pace.rate is not None and 0.97 * 17 < pace.rate < 17
    accept(pace, 2)
    assert pace.rate == pytest.approx(17, rel=1e-4)
    accept(pace, 10)
    assert pace.rate < 34
    accept(pace, 1)
    assert pace.rate > 34


def test_a_rate_above_the_highest_is_no_limit():
    pace = refused_at_start(1.1 * MAX_RATE)
    assert pace.rate == pytest.approx(0.935 * MAX_RATE)
    accept(pace, 3)
    assert pace.rate is not None
    accept(pace, 7)
    assert pace.rate is None


def test_a_slow_limit_is_measured_from_the_calls_between_refusals():
    pace = refused_at_start(2.0)
    accept(pace, 10)
    pace.record_refusal(10.0, 2.0)
    # One call a second; the true limit may be 20 % higher: 97 % of the middle, 1.1.
    assert pace.rate == pytest.approx(0.97 * 1.1)
    accept(pace, 20)
    pace.record_refusal(20.0, 2.0)
    # 30 calls in 20 seconds, about the rate that was allowed: 97 % of 1.5.
    assert pace.rate == pytest.approx(0.97 * 1.5)
    accept(pace, 5)
    pace.record_refusal(30.0, 2.0)
    # The older 30 calls count half: 15 + 5 in 10 + 10 seconds.
    assert pace.rate == pytest.approx(0.97 * 1.1)


def test_a_fast_limit_may_be_half_as_high_again():
    pace = refused_at_start(20.0)
    accept(pace, 10)
    pace.record_refusal(5.0, 20.0)
    # Two calls a second, up to three: 2 and four fifths of the way.
    assert pace.rate == pytest.approx(0.97 * 2.8)


def test_the_seconds_of_a_cool_down_are_no_time_in_which_calls_could_pass():
    pace = refused_at_start(2.0, wait=5.0)
    accept(pace, 10)
    before = pace.rate
    assert before is not None and 1.2 / 0.5 > before > 2
    pace.record_refusal(10.0, 2.0)
    # 10 calls in 10 seconds, 5 of them held: between 1 and the rate allowed before.
    assert pace.rate == pytest.approx(0.97 * (1 + before) / 2)
    accept(pace, 10)
    pace.record_refusal(20.0, 2.0)
    # 20 calls in 20 seconds; only the first cool-down held calls: a quarter of the time.
    assert pace.rate == pytest.approx(0.97 * (1 + 1.2 / 0.75) / 2)


def test_a_limit_that_refuses_too_often_is_doubted_and_tried_at_70_percent():
    pace = refused_at_start(20.0)
    for n in range(9):
        pace.record_refusal(n + 1.0, 20.0)
    lowered = 17 * 0.85**9
    assert not pace.probing and pace.rate == pytest.approx(lowered)
    pace.record_refusal(10.0, 20.0)
    assert pace.probing and pace.rate == pytest.approx(14)
    accept(pace, 4)
    for n in range(4):
        pace.record_refusal(11.0 + n, 20.0)
    assert pace.probing, "as many accepted as refused"
    pace.record_refusal(15.0, 20.0)
    assert not pace.probing and pace.rate == pytest.approx(0.97 * lowered)
    for n in range(19):
        pace.record_refusal(16.0 + n, 20.0)
    assert not pace.probing, "the second trial needs twice as many refusals"
    pace.record_refusal(40.0, 20.0)
    assert pace.probing


def test_a_trial_ends_after_four_refusals_and_lifts_the_limit_after_32_accepted_calls():
    ended, lifted = refused_at_start(20.0), refused_at_start(20.0)
    for pace in (ended, lifted):
        for n in range(10):
            pace.record_refusal(n + 1.0, 20.0)
        assert pace.probing
    for _ in range(3):
        ended.record_refusal(12.0, 20.0)
    assert ended.probing
    ended.record_refusal(12.0, 20.0)
    assert not ended.probing and ended.rate is not None
    accept(lifted, 31)
    assert lifted.probing and lifted.rate == pytest.approx(14)
    accept(lifted, 1)
    assert lifted.rate is None and not lifted.probing


def test_the_rate_before_the_limit_is_measured_if_32_calls_were_accepted():
    pace = RateEstimate()
    pace.start_measuring(0.0)
    accept(pace, 32)
    pace.record_refusal(8.0, 2.0)  # 4 a second were accepted
    for n in range(10):
        pace.record_refusal(9.0 + n, 2.0)
    assert pace.probing and pace.rate == pytest.approx(0.7 * 4)


def test_rare_refusals_are_no_reason_for_doubt():
    pace, now = refused_at_start(100.0), 0.0
    for _ in range(40):  # refused: one call in eleven, below a tenth
        accept(pace, 10)
        now += 10.0
        pace.record_refusal(now, 100.0)
        assert not pace.probing
    assert pace.rate is not None and 0.9 < pace.rate < 1.3


def test_another_process_continues_with_the_same_values():
    for pace in (RateEstimate(), refused_at_start(2.0, wait=3.0)):
        accept(pace, 7)
        copy = RateEstimate()
        copy.set_from_numbers(pace.to_numbers())
        assert vars(copy) == vars(pace)
        assert all(isinstance(value, float) for value in pace.to_numbers())
    assert math.isnan(RateEstimate().to_numbers()[0])
    assert copy.probing is False
