"""Intervals of samples without spread: published and hand-worked score limits, no zero widths."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from metrics.agreement.pairwise_agreement import agreement_matrix
from metrics.estimation.contrasts import paired_contrasts
from metrics.estimation.intervals import mean_estimate, modified_wilson_bounds, wilson_bounds
from metrics.estimation.rare_events import Z95, tango_bounds, upper_limit_of_unseen_share
from metrics.position.position_measures import (
    CONSISTENCY,
    CONSISTENCY_KAPPA,
    EXPECTED_CONSISTENCY,
    FAIRNESS,
    FIRST_SHARE,
)
from metrics.protocols.grade_score import estimate_grade_score_measures, grade_measure
from tests.metrics.frames import build, pair, rotated


def rng():
    return np.random.default_rng(11)


def two_judges(items: int):
    """Judge a: the same winner in both orders. Judge b: always the first slot."""
    return build(
        [
            row
            for k in range(items)
            for judge, second in (("a", 1), ("b", 0))
            for row in pair(f"q{k}", 0, second, judge=judge)
        ]
    )


def test_ten_pairs_without_discordance():
    assert tango_bounds(0, 0, 10) == pytest.approx((-0.27753, 0.27753), abs=1e-5)
    assert upper_limit_of_unseen_share(10) == pytest.approx(Z95**2 / (10 + Z95**2))


def test_score_limits_invert_the_score_test():
    # At its limits the constrained score statistic is z: with the ML share of the second kind.
    more, less, n = 9, 3, 32
    for delta in tango_bounds(more, less, n):
        b = -more - less + (2 * n - more + less) * delta
        q = (np.sqrt(b * b + 8 * n * less * delta * (1 - delta)) - b) / (4 * n)
        score = (more - less - n * delta) / np.sqrt(n * (2 * q + delta * (1 - delta)))
        assert abs(score) == pytest.approx(Z95)


def test_score_limits_mirror_and_stay_inside_one():
    low, high = tango_bounds(7, 2, 20)
    assert tango_bounds(2, 7, 20) == pytest.approx((-high, -low))
    assert tango_bounds(5, 0, 5)[1] == 1
    assert tango_bounds(0, 5, 5)[0] == -1


@pytest.mark.parametrize("items", [2, 3, 5])
def test_a_difference_without_spread_has_an_interval(items):
    measures = [CONSISTENCY, FIRST_SHARE, CONSISTENCY_KAPPA, FAIRNESS]
    for one in paired_contrasts(two_judges(items), ["judge"], measures, rng()):
        assert one.raw.high - one.raw.low > upper_limit_of_unseen_share(items) / 2, one.measure
        assert one.adjusted.low < one.raw.low


def test_judges_who_never_differ_may_differ_by_the_score_limit():
    frame = build([r for k in range(10) for j in "ab" for r in pair(f"q{k}", 0, 1, judge=j)])
    (got,) = paired_contrasts(frame, ["judge"], [CONSISTENCY], rng())
    assert (got.raw.value, got.raw.low, got.raw.high) == pytest.approx(
        (0, -0.27753, 0.27753), abs=1e-5
    )


def test_one_differing_item_of_forty_keeps_the_score_limit():
    rows = [r for k in range(40) for r in pair(f"q{k}", 0, 1, judge="a")]
    rows += [r for k in range(40) for r in pair(f"q{k}", 0, int(k > 0), judge="b")]
    (got,) = paired_contrasts(build(rows), ["judge"], [CONSISTENCY], rng())
    low, high = tango_bounds(1, 0, 40)
    assert (got.raw.low, got.raw.high) == pytest.approx((low, high))


@pytest.mark.parametrize("measure", [CONSISTENCY_KAPPA, EXPECTED_CONSISTENCY, FAIRNESS])
def test_position_measures_without_spread_have_an_interval(measure):
    frame = two_judges(3)
    for judge in "ab":
        got = measure.estimate(frame.loc[(frame["judge"] == judge).to_numpy()])
        assert got.high - got.low > 0.3


def test_a_perfect_kappa_falls_as_far_as_the_unseen_flips():
    # Chance of a judge with half its picks in each slot is ½: each unseen flip costs 2.
    frame = build([row for k in range(10) for row in pair(f"q{k}", 0, 1)])
    got = CONSISTENCY_KAPPA.estimate(frame)
    assert (got.value, got.low, got.high) == pytest.approx((1, 1 - 2 * 0.27753, 1), abs=1e-4)


def test_raters_who_always_agree_may_still_disagree_elsewhere():
    rows = [
        r for k in range(3) for j in "ab" for r in pair(f"q{k}", int(k == 0), int(k > 0), judge=j)
    ]
    got = agreement_matrix(build(rows))["a"]["b"]
    for one in (got.kappa, got.alpha):
        assert (one.value, one.high) == (1, 1)
        assert one.low < 0.1


def test_a_perfect_grade_has_an_interval():
    frame = build([row for k in range(2) for row in rotated(f"q{k}", (1, 2, 0))])
    for name, one in estimate_grade_score_measures(frame).items():
        assert (one.value, one.high) == (pytest.approx(1), pytest.approx(1)), name
        assert one.low < 0.5, name
    assert grade_measure().estimate(frame).low == pytest.approx(1 - upper_limit_of_unseen_share(2))


def test_the_modified_wilson_limits_are_the_published_ones():
    # Brown, Cai and DasGupta (2001): for one success ½χ²(.05; 2)/n = −ln(.95)/n; else Wilson's.
    low, high = modified_wilson_bounds(0.1, 10)
    assert (low, high) == pytest.approx((-np.log(0.95) / 10, float(wilson_bounds(1, 10)[1])))
    assert modified_wilson_bounds(0.9, 10) == pytest.approx((1 - high, 1 - low))
    assert modified_wilson_bounds(0.5, 10) == pytest.approx(tuple(map(float, wilson_bounds(5, 10))))


@pytest.mark.parametrize("n", [4, 8, 15, 30])
def test_near_one_the_modified_limits_cover_where_wilson_s_do_not(n):
    seen = np.arange(n + 1)
    shares = np.linspace(0.95, 0.995, 40)
    inside = [
        sum(
            stats.binom.pmf(k, n, p)
            for k, (low, high) in zip(seen, limits, strict=True)
            if low <= p <= high
        )
        for limits in [[modified_wilson_bounds(k / n, n) for k in seen]]
        for p in shares
    ]
    assert min(inside) >= 0.925


def test_one_value_that_differs_widens_a_mean_as_its_share():
    # 19 of 20 answers have 0, one has 2: Wilson's upper limit of 1 in 20, times 2.
    got = mean_estimate([2.0] + [0.0] * 19, range(20), bounds=(0, 4))
    assert got.high == pytest.approx(2 * float(wilson_bounds(1, 20)[1]), rel=1e-5)
    mirrored = mean_estimate([-2.0] + [0.0] * 19, range(20), bounds=(-4, 0))
    assert mirrored.low == pytest.approx(-got.high)


def test_an_unbounded_mean_has_no_width_to_assume():
    got = mean_estimate([3.0, 3.0], [0, 1])
    assert (got.value, got.low, got.high) == (3, None, None)
    assert "scale is unknown" in got.note


def test_tango_reaches_the_limits_for_tiny_effective_samples():
    for more, less, n in ((0.4, 0.0, 0.4), (0.39, 0.0, 0.4), (0.0, 0.2, 0.21), (0.1, 0.1, 0.2)):
        low, high = tango_bounds(more, less, n)
        assert -1 <= low <= (more - less) / n <= high <= 1
