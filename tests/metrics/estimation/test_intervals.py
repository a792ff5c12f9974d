"""Intervals by item clusters, against published and hand-worked values."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from metrics.estimation.intervals import (
    draw_item_weights,
    jackknife_estimate,
    mean_estimate,
    paired_difference,
    proportion,
    unknown_estimate,
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
        draws = first_over_last(draw_item_weights(200, 400, rng) @ sums)
        ratios.append(draws.var(ddof=1) / (y.mean() * (1 - y.mean()) / 2000))
    assert np.mean(ratios) == pytest.approx(2.34, abs=0.35)


def test_every_bootstrap_round_draws_as_many_items_as_there_are():
    weights = draw_item_weights(7, 50, np.random.default_rng(0))
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
