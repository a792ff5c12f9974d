"""Congestion, rate limits and single failures are told apart."""

from __future__ import annotations

import pytest
from scipy.stats import binom

from judges.engine.limits.congestion import (
    REFUSAL_WINDOW,
    CongestionWindow,
    RefusalWindow,
    TrialCalls,
    _max_share_if_decrease_helped,
    _min_refusals_for_rate_limit,
)


@pytest.mark.parametrize(
    ("limit", "failures", "lowered"),
    [
        (20.0, 12, 14.0),  # 30 % of 40 calls
        (4.0, 5, 2.8),  # 30 % of 16 calls, the smallest window
        (100.0, 20, 70.0),  # 30 % of 64 calls, the largest window
        (1.0, 5, 1.0),  # one call in flight is the least
    ],
)
def test_the_limit_falls_at_30_percent_failures_of_a_window(limit, failures, lowered):
    window = CongestionWindow()
    for _ in range(failures - 1):
        assert window.record(True, limit) == limit
    assert window.record(False, limit) == limit, "a success lowers nothing"
    assert window.record(True, limit) == pytest.approx(lowered)


def test_after_a_decrease_only_an_overload_lowers_the_limit_again_at_once():
    window, limit = CongestionWindow(), 20.0
    for _ in range(12):
        limit = window.record(True, limit)
    assert limit == 14
    for _ in range(16):  # 60 % of a window of 28 are 16.8
        assert window.record(True, limit) == 14
    assert window.record(True, limit) == pytest.approx(9.8)


def test_old_outcomes_leave_the_window():
    window = CongestionWindow()
    for n in range(200):  # 10 of any 40 calls fail: below 30 %
        assert window.record(n % 4 == 0, 20.0) == 20
    assert window.noise_share == 0.0


@pytest.mark.parametrize(
    ("share", "useful"), [(1.0, 1.0), (0.65, (0.65 + 0.5) / 2), (0.3, 0.15), (0.2, 0.1), (0.0, 0.0)]
)
def test_a_decrease_is_useful_if_failures_fall_half_as_far_as_load_explains(share, useful):
    # At 65 % failures, 35 of 100 pass: of the 70 calls that remain, half.
    assert _max_share_if_decrease_helped(share) == pytest.approx(useful)


@pytest.mark.parametrize("share", [0.0, 0.01, 0.02, 0.05, 0.1, 0.15, 0.2, 0.3, 0.5, 0.9, 1.0])
def test_so_many_refusals_show_a_limit_as_are_improbable_without_one(share):
    improbable = next(k for k in range(34) if binom.sf(k - 1, REFUSAL_WINDOW, share) < 1e-6)
    assert _min_refusals_for_rate_limit(share) == min(max(improbable, 10), 24)


def test_ten_refusals_among_the_latest_32_calls_are_persistent():
    window = RefusalWindow()
    for _ in range(9):
        window.record(True)
    assert not window.shows_rate_limit
    window.record(True)
    assert window.shows_rate_limit
    for _ in range(22):
        window.record(False)
    assert window.shows_rate_limit
    window.record(False)
    assert not window.shows_rate_limit, "the first refusal is 33 calls ago"


def test_after_a_rate_was_measured_refusals_are_counted_anew():
    window = RefusalWindow()
    for _ in range(10):
        window.record(True)
    assert window.shows_rate_limit
    window.clear()
    assert not window.shows_rate_limit


def test_a_call_counts_as_earlier_once_it_leaves_the_window():
    window = RefusalWindow()
    window.record(True)
    for _ in range(31):
        window.record(False)
    assert (window._calls_before, window._refusals_before) == (50, 1), "only the assumed ones"
    window.record(False)
    assert (window._calls_before, window._refusals_before) == (51, 2)
    window.record(False)
    assert (window._calls_before, window._refusals_before) == (52, 2)


def test_where_refusals_are_usual_more_of_them_are_needed():
    window = RefusalWindow()
    for n in range(400):
        window.record(n % 5 == 0)  # a fifth is usual here
    for _ in range(REFUSAL_WINDOW):
        window.record(False)
    first = 0
    while not window.shows_rate_limit:
        window.record(True)
        first += 1
    # 81 of the 450 + 18 earlier calls, the assumed ones included: 17 refusals may be chance.
    assert binom.sf(16, REFUSAL_WINDOW, 81 / 468) > 1e-6 > binom.sf(17, REFUSAL_WINDOW, 81 / 468)
    assert first == 18


def test_trial_calls_are_made_one_at_a_time_until_four_were_accepted():
    trials = TrialCalls()
    assert not trials.active and not trials.may_start
    trials.start()
    ended = []
    for now in range(5):
        assert trials.may_start
        trials.record_start(float(now))
        assert not trials.may_start, "one at a time"
        assert not trials.record_trial_call_end(-1.0, accepted=True), "a call from before"
        ended.append(trials.record_trial_call_end(float(now), accepted=now != 1))
    assert ended == [False, False, False, False, True]
    assert not trials.active and not trials.may_start
    trials.record_start(9.0)
    assert not trials.record_trial_call_end(9.0, accepted=True), "no trial is under way"
    trials.start()
    trials.stop()
    assert not trials.may_start


def window_after_a_useless_decrease() -> CongestionWindow:
    """A window after 5 of 16 calls failed at a limit of 4, and then again at 2.8."""
    window = CongestionWindow()
    limits = [window.record(failed, 4.0) for failed in [False] * 11 + [True] * 5]
    assert limits[-1] == pytest.approx(2.8)
    limits = [window.record(failed, 2.8) for failed in [True] * 5 + [False] * 11]
    assert limits == [2.8] * 15 + [4.0], "restored after 16 calls"
    assert window.noise_share == 5 / 16
    return window


def test_failures_that_stay_after_a_decrease_are_expected_from_then_on():
    window = window_after_a_useless_decrease()
    for _ in range(9):  # 30 % and 31 % of 16 calls are 9.8: the calls before no longer count
        assert window.record(True, 4.0) == 4
    assert window.record(True, 4.0) == pytest.approx(2.8)


def test_expected_failures_become_fewer_by_an_eighth_of_the_difference():
    window = window_after_a_useless_decrease()
    for windows in (1, 2):
        for _ in range(16):
            assert window.noise_share == pytest.approx(5 / 16 * (7 / 8) ** (windows - 1))
            window.record(False, 4.0)
    assert window.noise_share == pytest.approx(5 / 16 * (7 / 8) ** 2)
