"""Differences between two judges or prompts on the same items."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from metrics.estimation.contrasts import (
    contrast_families,
    max_t_of_all_pairs,
    paired_contrasts,
)
from metrics.estimation.intervals import paired_difference
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
    critical = max_t_of_all_pairs(frame, ["judge"], [CONSISTENCY], rng)
    assert 2.5 < critical < 3.5  # the studentised range of eight: about 3.03
    pairs = [(("a",), ("b",))]
    (alone,) = paired_contrasts(frame, ["judge"], [CONSISTENCY], rng, pairs)
    (chosen,) = paired_contrasts(frame, ["judge"], [CONSISTENCY], rng, pairs, critical=critical)
    assert chosen.raw == alone.raw
    width = chosen.adjusted.high - chosen.adjusted.low
    assert width > 1.3 * (alone.adjusted.high - alone.adjusted.low)
