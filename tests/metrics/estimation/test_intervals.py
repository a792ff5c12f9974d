"""Intervals by item clusters, against published and hand-worked values."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from metrics.catalogue.answer_records import UNUSABLE
from metrics.estimation.intervals import (
    draw_bootstrap_item_weights,
    equal_items_half_width,
    jackknife_error,
    jackknife_estimate,
    join_notes,
    leave_one_out_deviations,
    mean_estimate,
    paired_difference,
    pooled_judges_note,
    proportion,
    proportions,
    proportions_of_failures,
    rare_proportion,
    safe_divide,
    share_and_effective_sample_size,
    student_t_quantile,
    sum_by_item,
    unknown_estimate,
    widen_for_rare_events,
    wilson_bounds,
)
from metrics.estimation.measures import first_over_last
from metrics.estimation.multiple_comparisons import (
    holm_adjust,
    max_t_quantile,
    simultaneous_interval,
    t_quantile_from_normal,
)
from metrics.estimation.rare_events import upper_limit_of_unseen_share
from studies.domain import Estimate


@pytest.mark.parametrize(
    ("successes", "n", "low", "high"),
    [(7, 10, 0.396778, 0.892209), (0, 10, 0, 0.277533), (60, 100, 0.502003, 0.690599)],
)
def test_plain_wilson_gives_the_published_bounds(successes, n, low, high):
    assert wilson_bounds(successes, n) == pytest.approx((low, high), abs=1e-6)


def bounds(share: float, n: float) -> tuple[float, float]:
    low, high = wilson_bounds(share * n, n)
    return float(low), float(high)


@pytest.mark.parametrize(
    ("successes", "n", "low", "high"),
    [(7, 10, 0.396778, 0.892209), (0, 10, 0, 0.277533), (60, 100, 0.502003, 0.690599)],
)
def test_one_verdict_per_item_is_plain_wilson(successes, n, low, high):
    # Σ of squared delete-one residuals·(G−1)/G = G/(G−1)·n·p(1−p); over 1 + a/n that is 1, and the
    # degrees of freedom of a variance that follows from p have no end.
    got = proportion([1] * successes + [0] * (n - successes), range(n))
    assert (got.value, got.n, got.items) == (successes / n, n, n)
    assert (got.low, got.high) == pytest.approx((low, high), abs=1e-5)


def test_verdicts_of_one_item_that_agree_count_as_fewer():
    # 5 items of 4 equal verdicts, 3 of them all 1: p = .6, item sums of y − p are ±: 3·(4·.4)² +
    # 2·(4·.6)² = 7.68 + 11.52 = 19.2; n·p(1−p) = 4.8; a = 5/4·19.2/4.8 = 5; deff = 5/(1 + 5/20) = 4
    # and t has (5 − 1)·4/3 = 5⅓ degrees of freedom.
    y = [1] * 12 + [0] * 8
    got = proportion(y, np.repeat(range(5), 4))
    n_eff = 20 / 4 * (1.959964 / stats.t.ppf(0.975, 16 / 3)) ** 2
    assert (got.low, got.high) == pytest.approx(bounds(0.6, n_eff), abs=1e-6)


def test_an_item_that_holds_most_verdicts_leaves_few_degrees_of_freedom():
    # Items of 6, 1, 1: all six 1, then 0, 1. n 8, p 7/8. Shares of the others: ½, 1, 6/7; residuals
    # 6 − 3 = 3, 0 − 1 = −1, 1 − 6/7 = 1/7: Σ² = 10.0204; ·2/3/(8·7/64) = 7.6346 = a;
    # deff = a/(1 + a/8) = 3.9064. n²/Σn_i² − 1 = 64/38 − 1 = .684, times (8/3)/(8/3 − 1): 1.0947.
    got = proportion([1] * 6 + [0, 1], [0] * 6 + [1, 2])
    n_eff = 8 / 3.906436 * (1.959964 / stats.t.ppf(0.975, 1.094737)) ** 2
    assert (got.low, got.high) == pytest.approx(bounds(7 / 8, n_eff), abs=1e-5)


def test_items_that_cancel_count_for_more_but_not_without_end():
    # Every item holds a 1 and a 0: the item sums vanish, deff is held at .3; t has 19·2 degrees.
    got = proportion([1, 0] * 20, np.repeat(range(20), 2))
    n_eff = 40 / 0.3 * (1.959964 / stats.t.ppf(0.975, 38)) ** 2
    assert (got.low, got.high) == pytest.approx(bounds(0.5, n_eff), abs=1e-6)


def test_a_share_of_one_has_as_many_verdicts_as_items():
    # 30 verdicts of 10 items, all 1: deff = n/G = 3, t has 9·3/2 degrees.
    got = proportion([1] * 30, np.repeat(range(10), 3))
    n_eff = 10 * (1.959964 / stats.t.ppf(0.975, 13.5)) ** 2
    assert got.high == 1
    assert got.low == pytest.approx(bounds(1, n_eff)[0], abs=1e-6)


def test_values_between_0_and_1_have_their_variance_estimated():
    # Ten items of one value each, none of them 0 or 1: t_9, and deff below 1 as they vary little.
    y = np.linspace(0.05, 0.95, 10)
    got = proportion(y, range(10))
    a = 10 / 9 * ((y - 0.5) ** 2).sum() / (10 * 0.25)
    n_eff = 10 / (a / (1 + a / 10)) * (1.959964 / stats.t.ppf(0.975, 9)) ** 2
    assert (got.low, got.high) == pytest.approx(bounds(0.5, n_eff), abs=1e-6)


def test_fewer_than_five_items_are_noted():
    got = proportion([1, 0, 1, 1], range(4))
    assert got.note == "few items"
    assert proportion([1, 0, 1, 1, 0], range(5)).note == ""


def test_one_item_has_a_value_and_no_interval():
    got = proportion([1, 0, 1], ["q"] * 3)
    assert (got.value, got.low, got.high, got.items) == (pytest.approx(2 / 3), None, None, 1)
    assert "one item" in got.note


def test_nothing_is_unknown_and_says_why():
    assert proportion([], []).value is None
    assert proportion([], []).note == "no verdicts"
    assert mean_estimate([], []).value is None
    assert paired_difference([], [], []).note == "no rows in common"
    assert unknown_estimate("because", "share").note == "because"


def test_the_mean_of_independent_values_has_the_t_interval():
    values = np.array([1.0, 2.0, 4.0, 7.0])
    got = mean_estimate(values, range(4))
    low, high = stats.t.interval(0.95, 3, loc=3.5, scale=stats.sem(values))
    assert (got.value, got.low, got.high) == pytest.approx((3.5, low, high))


def test_a_paired_difference_keeps_what_both_share_out_of_the_interval():
    # Both differ by exactly 1 on each item, whatever the item: no spread is left.
    got = paired_difference([5, 3, 9], [4, 2, 8], list("abc"), bounds=(-10, 10))
    half = 11 * upper_limit_of_unseen_share(3)
    assert (got.value, got.low, got.high) == pytest.approx((1, 1 - half, 1 + half))


def test_the_jackknife_of_a_mean_is_its_t_interval():
    values = np.array([1.0, 2.0, 4.0, 7.0])
    sums = np.stack([values, np.ones(4)], axis=1)
    got, plain = jackknife_estimate(sums, first_over_last, 4), mean_estimate(values, range(4))
    assert (got.low, got.high) == pytest.approx((plain.low, plain.high))


def test_simulated_clusters_show_the_design_effect_of_the_reference():
    # Simulated: 200 prompts × 10 verdicts, prompt sd 1: naive SE .01114, cluster .01704.
    rng = np.random.default_rng(3)
    ratios = []
    for _ in range(40):
        p = 1 / (1 + np.exp(-rng.normal(0, 1, 200)))
        y = rng.random((200, 10)) < p[:, None]
        sums = np.stack([y.sum(axis=1), np.full(200, 10.0)], axis=1)
        draws = first_over_last(draw_bootstrap_item_weights(200, 400, rng) @ sums)
        ratios.append(draws.var(ddof=1) / (y.mean() * (1 - y.mean()) / 2000))
    assert np.mean(ratios) == pytest.approx(2.34, abs=0.35)


def test_every_bootstrap_round_draws_as_many_items_as_there_are():
    weights = draw_bootstrap_item_weights(7, 50, np.random.default_rng(0))
    assert (weights.sum(axis=1) == 7).all()


@pytest.mark.extra
def test_the_largest_t_of_a_family_needs_more_than_one_t():
    # Ten independent normals: P(max |z| < c) = .95 at c = Φ⁻¹((1 + .95^(1/10))/2) = 2.80.
    draws = np.random.default_rng(1).normal(size=(2_000, 10))
    critical = max_t_quantile(draws, np.random.default_rng(2), rounds=20_000)
    assert critical == pytest.approx(2.80, abs=0.05)


def test_members_of_a_family_that_move_together_need_no_more_than_one():
    # Ten copies of one contrast over 400 items: nearly one t, the 1/400 of independence apart.
    one = np.random.default_rng(3).normal(size=(400, 1))
    critical = max_t_quantile(np.repeat(one, 10, axis=1), np.random.default_rng(4), rounds=20_000)
    assert critical == pytest.approx(1.96, abs=0.13)
    assert max_t_quantile(one, np.random.default_rng(0)) == pytest.approx(1.959964)


def test_members_without_variation_count_as_independent_ones():
    # Three independent normals: Φ⁻¹((1 + .95^(1/3))/2) = 2.39.
    critical = max_t_quantile(np.zeros((5, 3)), np.random.default_rng(0), rounds=20_000)
    assert critical == pytest.approx(2.39, abs=0.05)


def test_a_normal_quantile_has_its_like_in_students_t():
    # 1.959964 leaves 2.5 % on each side: with 8 items that is t_7 = 2.364624.
    assert t_quantile_from_normal(1.959964, 8) == pytest.approx(2.364624, abs=1e-5)
    assert t_quantile_from_normal(2.8, 10**7) == pytest.approx(2.8, abs=1e-4)


@given(st.lists(st.tuples(st.booleans(), st.integers(0, 5)), min_size=1, max_size=40))
def test_swapping_success_and_failure_mirrors_the_interval(rows):
    y, items = np.array([row[0] for row in rows]), [row[1] for row in rows]
    got, mirrored = proportion(y, items), proportion(~y, items)
    assert got.value == pytest.approx(1 - mirrored.value)
    if got.low is not None:
        assert got.low == pytest.approx(1 - mirrored.high, abs=1e-9)
        assert 0 <= got.low <= got.value <= got.high <= 1


@given(st.lists(st.tuples(st.floats(0, 1), st.integers(0, 5)), min_size=1, max_size=40))
def test_an_interval_holds_its_value_and_is_never_nan(rows):
    for got in (
        proportion([row[0] for row in rows], [row[1] for row in rows]),
        mean_estimate([row[0] for row in rows], [row[1] for row in rows], bounds=(0, 1)),
    ):
        assert math.isfinite(got.value)
        if got.low is not None:
            assert got.low <= got.value + 1e-12 and got.value <= got.high + 1e-12


def test_a_family_that_may_use_half_of_the_error_rate_has_twice_the_p_values():
    assert holm_adjust([0.01, 0.02, None]) == [0.02, 0.02, None]
    assert holm_adjust([0.01, 0.02, None], error_share=0.5) == [0.04, 0.04, None]
    assert holm_adjust([0.3], 10, 0.1) == [1.0]


def test_tests_with_a_part_of_the_error_rate_have_wider_intervals():
    # Two tests with half of the rate are four tests with all of it: z of 1.25 % over z of 2.5 %.
    one = proportion([1, 0] * 200, range(400))
    assert simultaneous_interval(one, 2 / 0.5) == simultaneous_interval(one, 4)
    ratio = (simultaneous_interval(one, 4).high - 0.5) / (one.high - 0.5)
    assert ratio == pytest.approx(stats.t.isf(0.00625, 399) / stats.t.isf(0.025, 399))


# -- pieces of the intervals -----------------------------------------------------------------------


def test_students_quantile_needs_two_items():
    assert student_t_quantile([0, 1, 2, 10]).tolist() == pytest.approx(
        [math.inf, math.inf, 12.706205, 2.262157], abs=1e-6
    )


def test_a_quotient_by_nothing_is_not_a_number():
    got = safe_divide([[1, 2], [3, 4]], [2, 0])
    assert got[:, 0].tolist() == [0.5, 1.5]
    assert np.isnan(got[:, 1]).all()
    assert np.isnan(safe_divide(1, -2)) and np.isnan(safe_divide(0, 0))
    assert safe_divide(3, 4) == 0.75


def test_rows_are_added_up_by_item():
    values, items = np.array([[1.0, 10], [2, 20], [4, 40]]), np.array([7, 3, 7])
    present, sums = sum_by_item(values, items)
    assert (present.tolist(), sums.tolist()) == ([3, 7], [[2, 20], [5, 50]])
    names, one = sum_by_item(values[:, 0], np.array(["b", "a", "b"]))  # type: ignore[arg-type]
    assert (names.tolist(), one.tolist()) == (["a", "b"], [[2], [5]])
    assert sum_by_item(np.zeros((3, 0)), items)[1].shape == (2, 0)


def test_wilson_limits_of_other_levels_and_fractional_samples():
    # z = 1, n = 4, p = 1/2: centre ½, half √(1/16 + 1/64)/(1 + 1/4) = 1/√20.
    low, high = wilson_bounds(2, 4, 1.0)
    assert (low, high) == pytest.approx((0.5 - 20**-0.5, 0.5 + 20**-0.5))
    # All of 2.5 draws: 1 − z²/(n + z²).
    low, high = wilson_bounds(2.5, 2.5)
    assert (low, high) == pytest.approx((2.5 / (2.5 + 1.959964**2), 1), abs=1e-6)


def test_the_parts_of_the_effective_sample_size_of_each_group():
    # Group 0: 5 items of 4 equal verdicts (as above). Group 1: ten items of one. Group 2: none.
    successes = np.array([4.0, 4, 4, 0, 0, *[1] * 4, *[0] * 6, 9])
    counts = np.array([4.0] * 5 + [1] * 10 + [0])
    group = np.repeat([0, 1, 2], [5, 10, 1])
    p, n, items, effective = share_and_effective_sample_size(successes, counts, group, 3)
    assert p[:2].tolist() == pytest.approx([0.6, 0.4]) and np.isnan(p[2])
    assert (n.tolist(), items.tolist()) == ([20, 10, 0], [5, 10, 0])
    first = 20 / 4 * (1.959964 / stats.t.ppf(0.975, 16 / 3)) ** 2
    assert effective[:2].tolist() == pytest.approx([first, 10], rel=1e-4)


def test_shares_of_many_groups_are_those_of_each_alone():
    y = np.array([1.0, 0, 1, 1, 0, 0, 1, 0.5, 0, 1])
    items = np.array([0, 0, 1, 2, 2, 3, 3, 4, 5, 5])
    group = (items > 2).astype(np.int64)
    totals, counts = np.bincount(items, y), np.bincount(items).astype(np.float64)
    both = proportions(totals, counts, (np.arange(6) > 2).astype(np.int64), 3, "unit", "why")
    for g in (0, 1):
        assert both[g] == proportion(y[group == g], items[group == g], "unit", "why")
    assert (both[2].value, both[2].note, both[2].unit) == (None, "why", "unit")
    assert both[0].note == "why; few items"


def test_a_rare_share_has_the_limits_of_a_poisson_count():
    # One of ten: −ln(.95)/10 below; upper limit as Wilson's. Nine of ten: its mirror.
    plain = proportion([1] + [0] * 9, range(10))
    got = rare_proportion([1] + [0] * 9, range(10))
    assert got.low == pytest.approx(-math.log(0.95) / 10, rel=1e-4)
    assert got.high == plain.high and got.value == plain.value
    mirror = rare_proportion([0] + [1] * 9, range(10))
    assert (mirror.low, mirror.high) == pytest.approx((1 - got.high, 1 - got.low))
    # Three of forty: ½χ²(.05; 6)/40. Four and more: Wilson's own.
    three = rare_proportion([1] * 3 + [0] * 37, range(40))
    assert three.low == pytest.approx(stats.chi2.ppf(0.05, 6) / 2 / 40, rel=1e-4)
    four = [1] * 4 + [0] * 36
    assert rare_proportion(four, range(40)).low == pytest.approx(proportion(four, range(40)).low)
    assert rare_proportion([0] * 5, range(5)) == proportion([0] * 5, range(5))
    assert rare_proportion([], []).value is None
    assert rare_proportion([1, 0], ["q", "q"]).low is None


def test_one_failure_more_does_not_lower_the_upper_limit():
    """64 items with 12 calls each. No failure: z²/(n + z²) at n = 64·(z/t)², t(68.7 df)."""
    z, t = stats.norm.ppf(0.975), stats.t.ppf(0.975, 63 / (1 - 1 / 12))
    cells = np.full(64, 12.0), np.zeros(64, np.int64), 1
    shares = [np.repeat([1.0, 0.0], [failed, 64 - failed]) for failed in range(64)]
    highs = [proportions_of_failures(one, *cells, "share")[0].high for one in shares]
    assert highs[0] == highs[2] == pytest.approx(z**2 / (64 * (z / t) ** 2 + z**2))
    assert highs == sorted(highs) and highs[-1] == proportions(shares[-1], *cells)[0].high
    assert UNUSABLE.measure.kind == "failures"


def test_notes_are_joined_and_several_judges_are_named():
    assert join_notes("a", "", "b") == "a; b"
    assert join_notes("", "") == ""
    assert pooled_judges_note(1) == pooled_judges_note(0) == ""
    assert "2 judges" in pooled_judges_note(2)


def test_the_mean_of_clustered_values_by_hand():
    # Items {1, 3} and {5, 7}: mean 4, residual sums ∓4, error √(2/1·32)/4 = 2, t_1 = 12.706.
    got = mean_estimate([1, 3, 5, 7], [0, 0, 1, 1])
    assert (got.value, got.n, got.items) == (4, 4, 2)
    assert (got.low, got.high) == pytest.approx((4 - 25.41241, 4 + 25.41241), abs=1e-4)
    cut = mean_estimate([1, 3, 5, 7], [0, 0, 1, 1], bounds=(0, 10))
    assert (cut.low, cut.high) == (0, 10)
    alone = mean_estimate([1, 3], [5, 5], note="mine")
    assert (alone.value, alone.low, alone.high, alone.n, alone.items) == (2, None, None, 2, 1)
    assert alone.note.startswith("mine; ")


def test_equal_values_are_as_wide_as_the_effect_of_unseen_ones():
    # Five items of 3 on a scale from 0 to 10: the farther bound is 7 away.
    share = 1.959964**2 / (5 + 1.959964**2)
    assert equal_items_half_width(5, 2.0) == pytest.approx(2 * share, abs=1e-6)
    got = mean_estimate([3.0] * 5, range(5), bounds=(0, 10))
    assert (got.low, got.high) == pytest.approx((max(3 - 7 * share, 0), 3 + 7 * share), abs=1e-6)
    stated = mean_estimate([3.0] * 5, range(5), effect=2.0)
    assert (stated.low, stated.high) == pytest.approx((3 - 2 * share, 3 + 2 * share), abs=1e-6)
    half_open = mean_estimate([3.0] * 5, range(5), bounds=(0, math.inf))
    assert half_open.low is None


def test_few_values_on_both_sides_widen_a_mean_by_both():
    # 38 of 40 are 0, one is 1 and one −2. Distances of Wilson's limits of 1 in 40, times size;
    # below: the smaller values may be more and the larger fewer, √(a² + b²).
    values = np.array([1.0, -2.0] + [0.0] * 38)
    low, high = (float(limit) for limit in wilson_bounds(1, 40))
    less, more = 1 / 40 - low, high - 1 / 40
    t_half = stats.t.ppf(0.975, 39) * stats.sem(values)
    got = mean_estimate(values, range(40))
    assert got.value - got.low == pytest.approx(max(math.hypot(less, 2 * more), t_half), rel=1e-4)
    assert got.high - got.value == pytest.approx(max(math.hypot(more, 2 * less), t_half), rel=1e-4)


@pytest.mark.parametrize(("events", "widened"), [(11, True), (12, False)])
def test_twelve_deviating_values_are_enough_for_a_t_interval(events, widened):
    values = np.array([1.0] * events + [0.0] * (100 - events))
    plain = values.mean() + stats.t.ppf(0.975, 99) * stats.sem(values)
    got = mean_estimate(values, range(100)).high
    assert (got > plain + 0.005) == widened
    assert widened or got == pytest.approx(plain)


def test_few_events_widen_a_coefficient_by_their_share():
    # 2 of 20 differ: share .1, coefficient .8 = 1 − 2·.1, so the limits are 1 − 2·Wilson's.
    events, counts = np.array([1.0, 1] + [0] * 18), np.ones(20)
    low, high = (float(limit) for limit in wilson_bounds(2, 20))
    one = Estimate(0.8, 0.75, 0.85, 20, 20)
    got = widen_for_rare_events(one, events, counts, 3)
    assert (got.low, got.high) == pytest.approx((1 - 2 * high, 1 - 2 * low), abs=1e-4)
    wide = Estimate(0.8, -1.0, 1.0, 20, 20)
    assert widen_for_rare_events(wide, events, counts, 3) == wide
    assert widen_for_rare_events(one, events, counts, 2) == one
    assert widen_for_rare_events(one, 0 * events, counts, 3) == one
    for unknown in (Estimate(None), Estimate(0.8, None, 0.9), Estimate(0.8, 0.1, None)):
        assert widen_for_rare_events(unknown, events, counts, 3) == unknown
    assert widen_for_rare_events(one, np.array([2.0]), np.array([20.0]), 3) == one  # one item


def test_a_jackknife_without_an_interval_says_why():
    one = jackknife_estimate(np.array([[1.0, 2.0]]), first_over_last, 2)
    assert (one.value, one.low, one.items) == (0.5, None, 1) and "one item" in one.note
    nothing = jackknife_estimate(np.zeros((0, 2)), first_over_last, 0, "unit")
    assert (nothing.value, nothing.note, nothing.unit) == (None, "no verdicts", "unit")
    assert jackknife_estimate(np.zeros((2, 2)), first_over_last, 0, note="why").note == "why"
    # All verdicts are on one of the two items: without it nothing is left to divide by.
    sums = np.array([[1.0, 2.0], [0.0, 0.0]])
    lost = jackknife_estimate(sums, first_over_last, 2)
    assert (lost.value, lost.low, lost.high) == (0.5, None, None) and "left out" in lost.note
    assert math.isnan(jackknife_error(sums, first_over_last))
    assert math.isnan(jackknife_error(sums[:1], first_over_last))
    assert np.isnan(leave_one_out_deviations(sums, first_over_last)).all()


def test_a_jackknife_by_hand_and_its_limits():
    # Values 0, 1, 2 of one unit each: left out 1.5, 1, .5; error √(2/3·.5) = 1/√3 = sd/√3.
    sums = np.array([[0.0, 1], [1, 1], [2, 1]])
    assert leave_one_out_deviations(sums, first_over_last).tolist() == [0.5, 0, -0.5]
    assert jackknife_error(sums, first_over_last) == pytest.approx(3**-0.5)
    got = jackknife_estimate(sums, first_over_last, 3, bounds=(0, 2))
    assert (got.value, got.low, got.high, got.n, got.items) == (1, 0, 2, 3, 3)
    free = jackknife_estimate(sums, first_over_last, 3)
    assert free.high - 1 == pytest.approx(4.302653 / 3**0.5, abs=1e-6)
    # Equal items: the farther bound 0 is 1.5 away; a stated effect replaces it.
    same = np.array([[1.5, 1]] * 4)
    share = 1.959964**2 / (4 + 1.959964**2)
    got = jackknife_estimate(same, first_over_last, 4, bounds=(0, 2))
    assert (got.low, got.high) == pytest.approx((1.5 - 1.5 * share, 2), abs=1e-6)
    stated = jackknife_estimate(same, first_over_last, 4, effect=0.5)
    assert stated.high == pytest.approx(1.5 + 0.5 * share, abs=1e-6)


# -- several comparisons ---------------------------------------------------------------------------


def test_holm_multiplies_the_smallest_by_all_and_never_falls():
    # Sorted .01·3, .02·2, .03·1 → .03, .04, .04 (not below the one before).
    assert holm_adjust([0.03, 0.01, 0.02]) == pytest.approx([0.04, 0.03, 0.04])
    # A family of five: ·5, ·4, ·3.
    assert holm_adjust([0.03, 0.01, 0.02], 5) == pytest.approx([0.09, 0.05, 0.08])
    assert holm_adjust([0.03, 0.01, 0.02], 2) == pytest.approx([0.04, 0.03, 0.04])
    assert holm_adjust([0.9, None, 0.6]) == [1.0, None, 1.0]
    assert holm_adjust([]) == [] and holm_adjust([None]) == [None]
    assert holm_adjust([0.0, 0.5]) == [0.0, 0.5]


def test_simultaneous_intervals_by_hand():
    # Ten items, two tests: t_9 at 1.25 % over t_9 at 2.5 % = 2.685011/2.262157.
    one = Estimate(0.5, 0.4, 0.7, 10, 10)
    got = simultaneous_interval(one, 2)
    ratio = 2.685011 / 2.262157
    assert (got.low, got.high) == pytest.approx((0.5 - 0.1 * ratio, 0.5 + 0.2 * ratio), abs=1e-6)
    assert got.level == pytest.approx(0.975)
    cut = simultaneous_interval(one, 2, bounds=(0.39, 0.72))
    assert (cut.low, cut.high) == (0.39, 0.72)
    same = simultaneous_interval(one, 1)
    assert (same.low, same.high, same.level) == pytest.approx((0.4, 0.7, 0.95))
    # 90 %: t_9 at 5 % = 1.833113, narrower.
    narrow = simultaneous_interval(one, 1, 0.9)
    assert narrow.high == pytest.approx(0.5 + 0.2 * 1.833113 / 2.262157, abs=1e-6)
    # One item counts as one degree of freedom: t_1 at 1.25 % over 2.5 %.
    few = simultaneous_interval(Estimate(0.5, 0.4, 0.6, 1, 1), 2)
    assert few.high == pytest.approx(0.5 + 0.1 * 25.451700 / 12.706205, abs=1e-5)
    for unknown in (Estimate(None), Estimate(0.5, None, 0.6), Estimate(0.5, 0.4, None)):
        assert simultaneous_interval(unknown, 2) == unknown


def test_two_independent_members_need_the_quantile_of_two():
    # P(both |z| < c) = .95 at Φ⁻¹((1 + √.95)/2) = 2.236; a family of one or none needs 1.96.
    draws = np.random.default_rng(5).normal(size=(400, 2))
    wanted = stats.norm.ppf((1 + 0.95**0.5) / 2)
    assert max_t_quantile(draws, np.random.default_rng(6), 20_000) == pytest.approx(
        wanted, abs=0.05
    )
    assert max_t_quantile(np.zeros((4, 1)), np.random.default_rng(0)) == pytest.approx(1.959964)
    # Above 2,000 items the sums are drawn from their own distribution: the same quantile.
    many = np.random.default_rng(7).normal(size=(2_001, 2))
    assert max_t_quantile(many, np.random.default_rng(8), 20_000) == pytest.approx(wanted, abs=0.05)
    copies = np.repeat(many[:, :1], 2, axis=1)
    assert max_t_quantile(copies, np.random.default_rng(9), 20_000) < 2.05


def test_with_few_items_members_count_as_partly_independent():
    # Two items and two equal members: correlation ½ (1 − 1/2), the quantile of |z| is 2.21.
    copies = np.array([[1.0, 1.0], [-1.0, -1.0]])
    got = max_t_quantile(copies, np.random.default_rng(1), 40_000)
    drawn = np.abs(
        np.random.default_rng(2).multivariate_normal([0, 0], [[1, 0.5], [0.5, 1]], 200_000)
    ).max(axis=1)
    assert got == pytest.approx(np.quantile(drawn, 0.95), abs=0.03)


def test_a_normal_quantile_of_one_item_has_one_degree_of_freedom():
    assert t_quantile_from_normal(1.959964, [1, 2]).tolist() == pytest.approx(
        [12.7062, 12.7062], abs=1e-3
    )


def test_of_two_items_half_of_the_variation_counts_as_independent():
    # Two estimates that vary together have a correlation of ½ then: P(|z₁|, |z₂| < q) = .95.
    critical = max_t_quantile(
        np.array([[1.0, 1], [-1, -1]]), np.random.default_rng(1), rounds=400_000
    )
    normal = stats.multivariate_normal(cov=[[1, 0.5], [0.5, 1]])
    q = np.full(2, critical)
    assert normal.cdf(q, lower_limit=-q) == pytest.approx(0.95, abs=0.0015)
