"""Differences between two judges or prompts on the same items."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from metrics.estimation import contrasts as contrasts_module
from metrics.estimation.contrasts import (
    PairedTotals,
    contrast_families,
    critical_value_for_all_pairs,
    estimate_contrast_family,
    largest_possible_difference,
    paired_contrasts,
)
from metrics.estimation.frame_stacking import stack_frames
from metrics.estimation.intervals import paired_difference
from metrics.estimation.measures import first_over_last
from metrics.estimation.rare_events import TANGO_METHOD, tango_bounds
from metrics.position.position_measures import (
    CONSISTENCY,
    CONSISTENCY_KAPPA,
    FIRST_SHARE,
    SLOT_ENTROPY,
)
from metrics.protocols.grade_score import grade_measure
from metrics.win_rates.win_rates import win_rate_measure
from tests.metrics.frames import build, pair, rotated

J, K = ("j",), ("k",)


def rng():
    return np.random.default_rng(11)


def test_a_difference_is_taken_over_the_items_both_have():
    # Common q1, q2. j: kept, flipped → ½. k: flipped, flipped → 0. q3 is j's alone.
    rows = [
        *pair("q1", 0, 1), *pair("q2", 0, 0), *pair("q3", 0, 1),
        *pair("q1", 0, 0, judge="k"), *pair("q2", 0, 0, judge="k"),
    ]  # fmt: skip
    (got,) = paired_contrasts(build(rows), ["judge"], [CONSISTENCY], rng())
    assert (got.left, got.right) == (J, K)
    assert (got.left_value, got.right_value, got.raw.value) == (0.5, 0, 0.5)
    assert (got.raw.items, got.raw.n) == (2, 2)


def test_with_one_unit_per_item_it_is_the_paired_t_interval():
    # Twelve items differ: with fewer than ten, Tango's score interval may be the wider one.
    kept = {"j": [1, 1, 0, 1, 0, 1, 1] * 4, "k": [0, 1, 0, 0, 0, 1, 0] * 4}
    rows = [
        row
        for judge, values in kept.items()
        for k, value in enumerate(values)
        for row in pair(f"q{k}", 0, value, judge=judge)
    ]
    (got,) = paired_contrasts(build(rows), ["judge"], [CONSISTENCY], rng())
    want = paired_difference(kept["j"], kept["k"], range(28))
    assert (got.raw.value, got.raw.low, got.raw.high) == pytest.approx(
        (want.value, want.low, want.high)
    )


def many(seed: int = 3, judges: str = "abcd", items: int = 30):
    draw = np.random.default_rng(seed)
    return build(
        [
            row
            for q in range(items)
            for judge in judges
            for row in pair(f"q{q}", *draw.integers(0, 2, 2).tolist(), judge=judge)
        ]
    )


def test_a_family_is_wider_than_its_members_and_has_the_same_middle():
    got = paired_contrasts(many(), ["judge"], [CONSISTENCY, FIRST_SHARE], rng())
    assert len(got) == 12
    for one in got:
        assert one.adjusted.value == one.raw.value
        assert one.adjusted.low <= one.raw.low and one.raw.high <= one.adjusted.high
    widths = [(o.adjusted.high - o.adjusted.low) / (o.raw.high - o.raw.low) for o in got]
    assert min(widths) == pytest.approx(max(widths))
    # Six differences of four judges: the studentised range, about 2.6/1.96; two measures: more.
    assert 1.25 < widths[0] < 1.7


def test_families_are_adjusted_each_by_itself():
    names = [(name,) for name in "abcd"]
    groups = [[(names[0], names[1])], [(names[0], names[2]), (names[1], names[3])]]
    got = contrast_families(many(), ["judge"], [CONSISTENCY], rng(), groups)
    assert [len(family) for family in got] == [1, 2]
    (alone,) = got[0]
    assert (alone.adjusted.low, alone.adjusted.high) == pytest.approx(
        (alone.raw.low, alone.raw.high)
    )
    assert all(one.adjusted.low < one.raw.low for one in got[1])
    together = paired_contrasts(many(), ["judge"], [CONSISTENCY], rng(), groups[1])
    assert [one.raw for one in got[1]] == [one.raw for one in together]
    assert contrast_families(many(), ["judge"], [CONSISTENCY], rng(), []) == []


def test_one_contrast_needs_no_adjustment():
    (got,) = paired_contrasts(many(judges="ab"), ["judge"], [CONSISTENCY], rng())
    width = (got.adjusted.high - got.adjusted.low) / (got.raw.high - got.raw.low)
    assert width == pytest.approx(1)


def test_limits_of_a_difference_stay_in_its_range():
    # One judge always keeps its verdict, the others never: differences of 1 in three small items.
    rows = [row for k in range(3) for row in pair(f"q{k}", 0, 1, judge="a")]
    rows += [row for j in "bcd" for k in range(3) for row in pair(f"q{k}", 0, k % 2, judge=j)]
    found = paired_contrasts(build(rows), ["judge"], [CONSISTENCY, SLOT_ENTROPY], rng())
    ends = [end for one in found for end in (one.raw, one.adjusted) if end.low is not None]
    assert ends and all(-1 <= one.low <= one.value <= one.high <= 1 for one in ends)
    assert any(one.high == 1 for one in ends), "an end that would lie outside"


def test_any_measure_can_be_contrasted_and_pairs_can_be_named():
    got = paired_contrasts(
        many(),
        ["judge"],
        [SLOT_ENTROPY, CONSISTENCY_KAPPA, win_rate_measure("x")],
        rng(),
        [(("a",), ("c",))],
    )
    assert [one.measure for one in got] == ["entropy", "kappa", "win_rate:x"]
    rows = [*rotated("q", [1, 2, 0], judge="j"), *rotated("q", [0, 0, 0], judge="k")]
    (grade,) = paired_contrasts(build(rows), ["judge"], [grade_measure()], rng())
    assert grade.raw.value == pytest.approx(1)


def test_nothing_in_common_is_unknown_and_a_wrong_name_is_an_error():
    rows = [*pair("q1", 0, 1), *pair("q2", 0, 1, judge="k")]
    (got,) = paired_contrasts(build(rows), ["judge"], [CONSISTENCY], rng())
    assert got.raw.value is None and "no item" in got.raw.note
    assert paired_contrasts(build([]), ["judge"], [CONSISTENCY], rng()) == []
    with pytest.raises(ValueError, match="Known: j, k"):
        paired_contrasts(build(rows), ["judge"], [CONSISTENCY], rng(), [(J, ("z",))])


@given(st.lists(st.tuples(*[st.sampled_from([0, 1, "tie"])] * 4), min_size=1, max_size=8))
def test_swapping_the_two_judges_turns_the_sign(picks):
    rows = [
        row
        for k, (a, b, c, d) in enumerate(picks)
        for row in [*pair(f"q{k}", a, b), *pair(f"q{k}", c, d, judge="k")]
    ]
    (one,) = paired_contrasts(build(rows), ["judge"], [CONSISTENCY], rng(), [(J, K)], rounds=20)
    (two,) = paired_contrasts(build(rows), ["judge"], [CONSISTENCY], rng(), [(K, J)], rounds=20)
    assert one.raw.value == pytest.approx(-two.raw.value)
    if one.raw.low is not None:
        assert one.raw.low == pytest.approx(-two.raw.high)


def test_two_judges_chosen_from_eight_get_a_wider_interval():
    # Eight equal judges: the highest and the lowest differ by luck.
    draw = np.random.default_rng(3)
    rows = [
        row
        for k in range(20)
        for judge in "abcdefgh"
        for row in pair(f"q{k}", *draw.integers(0, 2, 2).tolist(), judge=judge)
    ]
    frame, rng = build(rows), np.random.default_rng(1)
    critical = critical_value_for_all_pairs(frame, ["judge"], [CONSISTENCY], rng)
    assert 2.5 < critical < 3.5  # the studentised range of eight: about 3.03
    pairs = [(("a",), ("b",))]
    (alone,) = paired_contrasts(frame, ["judge"], [CONSISTENCY], rng, pairs)
    (chosen,) = paired_contrasts(frame, ["judge"], [CONSISTENCY], rng, pairs, critical=critical)
    assert chosen.raw == alone.raw
    width = chosen.adjusted.high - chosen.adjusted.low
    assert width > 1.3 * (alone.adjusted.high - alone.adjusted.low)


def totals(rows: list[tuple[float, float, float, float]], step: float = 1.0) -> PairedTotals:
    """Items with (successes, units) of the left and of the right cell."""
    sums = np.array(rows, np.float64)
    return PairedTotals(CONSISTENCY, J, K, np.arange(len(rows)), sums, first_over_last, step)


def raw_of(one: PairedTotals):
    (got,) = estimate_contrast_family([one], rng())
    return got.raw


def test_few_differing_units_get_tangos_limits_at_the_effective_number_of_pairs():
    # 20 items of 2 units: in 4 the left has one more success, in 2 the right. Discordance 6·½/20,
    # difference 2·½/20; the standard error is that of 20 item differences.
    rows = [(2.0, 2.0, 1.0, 2.0)] * 4 + [(1.0, 2.0, 2.0, 2.0)] * 2 + [(1.0, 2.0, 1.0, 2.0)] * 14
    gaps = np.array([0.5] * 4 + [-0.5] * 2 + [0.0] * 14)
    error = stats.sem(gaps)
    t = stats.t.ppf(0.975, 19)
    pairs = (0.15 - 0.05**2) / error**2 * (1.959964 / t) ** 2
    assert pairs < 40
    more, less = (0.15 + 0.05) / 2 * pairs, (0.15 - 0.05) / 2 * pairs
    low, high = tango_bounds(more, less, pairs)
    got = raw_of(totals(rows))
    assert (got.value, got.n, got.items) == (pytest.approx(0.05), 40, 20)
    assert got.method == TANGO_METHOD
    assert (got.low, got.high) == pytest.approx(
        (min(low, 0.05 - t * error), max(high, 0.05 + t * error)), abs=1e-6
    )


def test_uneven_items_are_weighted_by_their_units():
    # Shares by item: left 3/4, 1/1, 0/1, 1/2; right 1/2, 0/1, 1/1, 1/2.
    rows = [(3.0, 4.0, 1.0, 2.0), (1, 1, 0, 1), (0, 1, 1, 1), (1, 2, 1, 2)]
    sums = np.array(rows)
    left, right = sums[:, 0] / sums[:, 1], sums[:, 2] / sums[:, 3]
    weight = (sums[:, 1] / 8 + sums[:, 3] / 6) / 2
    discordance = float((abs(left - right) * weight).sum())
    value = 5 / 8 - 3 / 6
    rest = [(5 - a) / (8 - n) - (3 - b) / (6 - m) for a, n, b, m in rows]
    error = np.sqrt(3 / 4 * ((np.array(rest) - np.mean(rest)) ** 2).sum())
    t = stats.t.ppf(0.975, 3)
    pairs = min((discordance - value**2) / error**2, 6) * (1.959964 / t) ** 2
    low, high = tango_bounds(
        (discordance + value) / 2 * pairs, (discordance - value) / 2 * pairs, pairs
    )
    got = raw_of(totals(rows))
    wanted = (min(low, value - t * error), max(high, value + t * error))
    assert (got.low, got.high) == pytest.approx((max(wanted[0], -1), min(wanted[1], 1)), abs=1e-6)
    assert (got.value, got.n) == (pytest.approx(value), 6)


def test_half_credits_have_half_the_interval():
    rows = [(2.0, 2.0, 1.0, 2.0)] * 4 + [(1.0, 2.0, 2.0, 2.0)] + [(1.0, 2.0, 1.0, 2.0)] * 9
    half = [(a / 2, n, b / 2, m) for a, n, b, m in rows]
    whole, halved = raw_of(totals(rows)), raw_of(totals(half, step=0.5))
    assert whole.method == halved.method == TANGO_METHOD
    assert (halved.value, halved.low, halved.high) == pytest.approx(
        (whole.value / 2, whole.low / 2, whole.high / 2), abs=1e-6
    )


def test_ten_differing_units_are_enough_for_the_t_interval():
    # One unit per item: 10 items of 40 differ, all to one side.
    def one_sided(differing: int):
        rows = [(1.0, 1.0, 0.0, 1.0)] * differing + [(1.0, 1.0, 1.0, 1.0)] * (40 - differing)
        gaps = np.array([1.0] * differing + [0.0] * (40 - differing))
        return raw_of(totals(rows)), stats.t.interval(0.95, 39, gaps.mean(), stats.sem(gaps))

    got, plain = one_sided(10)
    assert (got.low, got.high) == pytest.approx(plain)
    got, plain = one_sided(9)
    low, high = tango_bounds(9, 0, 40)
    assert (got.low, got.high) == pytest.approx((min(plain[0], low), max(plain[1], high)))
    assert got.method == TANGO_METHOD


def test_values_of_both_sides_and_the_range_of_a_difference():
    (got,) = estimate_contrast_family([totals([(1.0, 2.0, 0.0, 2.0), (2.0, 2.0, 1.0, 2.0)])], rng())
    assert (got.left_value, got.right_value) == (0.75, 0.25)
    assert (got.measure, got.left, got.right) == ("consistency", J, K)
    (none,) = estimate_contrast_family(
        [PairedTotals(CONSISTENCY, J, K, np.zeros(0, int), np.zeros((0, 4)), first_over_last)],
        rng(),
    )
    assert (none.raw.value, none.left_value, none.right_value) == (None, None, None)
    assert none.adjusted.value is None
    assert largest_possible_difference(CONSISTENCY) == 1
    rated = replace(CONSISTENCY, kind="mean", value_range=(1.0, 5.0))
    assert largest_possible_difference(rated) == 4
    assert estimate_contrast_family([], rng()) == []


def test_a_larger_critical_value_widens_by_the_ratio_of_quantiles():
    rows = [(1.0, 1.0, 0.0, 1.0)] * 12 + [(1.0, 1.0, 1.0, 1.0)] * 28
    (got,) = estimate_contrast_family([totals(rows)], rng(), min_critical=3.0)
    # The t quantile with the tail of z = 3, over that of 2.5 %, with 39 degrees of freedom.
    ratio = stats.t.isf(stats.norm.sf(3.0), 39) / stats.t.isf(0.025, 39)
    assert got.adjusted.high - 0.3 == pytest.approx(ratio * (got.raw.high - 0.3))
    assert 0.3 - got.adjusted.low == pytest.approx(ratio * (0.3 - got.raw.low))


def test_large_families_use_bonferronis_quantile(monkeypatch):
    monkeypatch.setattr(contrasts_module, "MAX_BOOTSTRAP_FAMILY", 5)
    got = critical_value_for_all_pairs(many(), ["judge"], [CONSISTENCY], rng())
    assert got == pytest.approx(stats.norm.isf(0.025 / 6))
    two = critical_value_for_all_pairs(
        many(), ["judge"], [CONSISTENCY, FIRST_SHARE], rng(), [("a",), ("b",)]
    )
    assert 1.96 < two < 2.4  # two differences: bootstrapped
    one = critical_value_for_all_pairs(many(), ["judge"], [CONSISTENCY], rng(), [("a",), ("b",)])
    assert one == pytest.approx(1.959964)
    apart = build([*pair("q1", 0, 1), *pair("q2", 0, 1, judge="k")])
    assert critical_value_for_all_pairs(apart, ["judge"], [CONSISTENCY], rng()) == pytest.approx(
        1.959964
    )


def test_an_item_has_its_question_in_every_frame_of_a_stack():
    # The second frame has one item of each question, so it lacks the column.
    turns = build([row for k in range(6) for row in pair(f"t{k}", 0, k % 2)])
    question = [f"q{int(name[1]) // 2}" for name in turns["item"].astype(str)]
    other = build([row for k in (0, 2, 4) for row in pair(f"t{k}", 0, 1, prompt="other")])
    both = stack_frames({"one": turns.assign(question=pd.Categorical(question)), "two": other}, "s")
    (got,) = paired_contrasts(both, ["s"], [CONSISTENCY], rng())
    assert (got.raw.value, got.raw.items) == (-0.5, 3)
