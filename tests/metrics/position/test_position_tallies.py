"""Counts behind the position measures, and the interval of the slot entropy, by hand."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

from metrics.estimation.entropy import normalised_entropy
from metrics.estimation.intervals import proportion, wilson_bounds
from metrics.estimation.measures import GroupedFrame
from metrics.position import position_tallies as t
from metrics.position.position_measures import (
    ACCURACY,
    ACCURACY_LEAD,
    CONSISTENCY_KAPPA,
    SLOT_ENTROPY,
)
from studies.frames.frame import RIGHT_COLUMN, RIGHT_OPTIONS_COLUMN
from tests.metrics.frames import build, pair, patterns, rotated


def one_pick_items(*counts: int) -> np.ndarray:
    """Items with one pick each: [item, slot counts and number of picks]."""
    slots = np.repeat(np.eye(len(counts)), counts, axis=0)
    return np.concatenate([slots, np.ones((len(slots), 1))], axis=1)


def entropy_of(sums: np.ndarray) -> float:
    counts = sums[:, :-1].sum(axis=0)
    share = counts[counts > 0] / counts.sum()
    return float(-(share * np.log(share)).sum() / math.log(sums.shape[1] - 1))


def test_the_interval_of_three_slots_is_a_jackknife_on_the_root_of_the_distance():
    sums = one_pick_items(14, 4, 2)
    value = entropy_of(sums)
    left = [math.sqrt(1 - entropy_of(np.delete(sums, k, axis=0))) for k in range(20)]
    error = math.sqrt(19 / 20 * sum((x - np.mean(left)) ** 2 for x in left))
    floor = math.sqrt(1 / (2 * 20 * math.log(3)))
    half = stats.t.ppf(0.975, 19) * max(error, floor)
    centre = math.sqrt(1 - value)
    got = t.estimate_slot_entropy(sums, t.PooledEntropy((3,)), SLOT_ENTROPY)
    assert (got.value, got.n, got.items) == (pytest.approx(value), 20, 20)
    assert (got.low, got.high) == pytest.approx(
        (1 - min(centre + half, 1) ** 2, 1 - max(centre - half, 0) ** 2)
    )


def test_equal_counts_have_the_width_of_random_picks():
    # H = 1 and no deviation by symmetry: half t_11·√(1/(2·12·ln 3)) below.
    got = t.estimate_slot_entropy(one_pick_items(4, 4, 4), t.PooledEntropy((3,)), SLOT_ENTROPY)
    half = stats.t.ppf(0.975, 11) * math.sqrt(1 / (24 * math.log(3)))
    assert (got.value, got.high) == (pytest.approx(1), 1)
    assert got.low == pytest.approx(1 - half**2)


def test_one_slot_alone_counts_its_items_not_its_picks():
    # Five items of four picks, all in one slot: entropy 0 at distance 1, floor by five items.
    sums = np.tile([4.0, 0, 0, 4], (5, 1))
    got = t.estimate_slot_entropy(sums, t.PooledEntropy((3,)), SLOT_ENTROPY)
    half = stats.t.ppf(0.975, 4) * math.sqrt(1 / (2 * 5 * math.log(3)))
    assert (got.value, got.low, got.n, got.items) == (0, 0, 20, 5)
    assert got.high == pytest.approx(1 - max(1 - half, 0) ** 2)
    alone = t.estimate_slot_entropy(sums[:1], t.PooledEntropy((3,)), SLOT_ENTROPY)
    assert (alone.value, alone.low, alone.high) == (0, None, None) and alone.note


def test_a_plain_entropy_has_as_many_slots_as_columns():
    def plain(totals: np.ndarray) -> np.ndarray:
        return normalised_entropy(totals[..., :-1])

    for counts in ((14, 4, 2), (9, 3)):
        sums = one_pick_items(*counts)
        pooled = t.PooledEntropy((len(counts),))
        assert t.estimate_slot_entropy(sums, plain, SLOT_ENTROPY) == t.estimate_slot_entropy(
            sums, pooled, SLOT_ENTROPY
        )


def test_the_entropy_of_pairs_is_that_of_the_limits_of_the_first_share():
    share = proportion([1] * 9 + [0] * 3, range(12))

    def bits(p: float) -> float:
        return -(p * math.log2(p) + (1 - p) * math.log2(1 - p))

    got = t.estimate_slot_entropy(one_pick_items(9, 3), t.PooledEntropy((2,)), SLOT_ENTROPY)
    assert share.low < 0.5 < share.high  # the largest entropy lies inside
    assert (got.value, got.high) == (pytest.approx(bits(0.75)), 1)
    assert got.low == pytest.approx(min(bits(share.low), bits(share.high)))
    far = proportion([1] * 29 + [0], range(30))
    apart = t.estimate_slot_entropy(one_pick_items(29, 1), t.PooledEntropy((2,)), SLOT_ENTROPY)
    assert (apart.low, apart.high) == pytest.approx((bits(far.high), bits(far.low)))


def test_pooled_entropies_know_their_columns():
    pooled = t.PooledEntropy((2, 3))
    assert pooled.column_edges == [0, 2, 5]
    # Pairs 1 : 1 (entropy 1), three options all in one slot (0): weighted 2 and 3 of 5.
    assert float(pooled(np.array([1.0, 1, 3, 0, 0, 5]))) == pytest.approx(2 / 5)
    assert pooled.numbers_of_options_in_use(np.array([1.0, 1, 0, 0, 0, 2])) == [2]
    assert pooled.numbers_of_options_in_use(np.array([0.0, 0, 0, 1, 0, 1])) == [3]


def test_cells_of_pairs_are_estimated_at_once():
    sums = np.concatenate([one_pick_items(9, 3), one_pick_items(2, 2)])
    cell = np.repeat([0, 1], [12, 4])
    got = t.pair_entropy_estimates(sums, cell, 3, SLOT_ENTROPY)
    assert got is not None
    each = [sums[cell == k] for k in (0, 1)]
    pooled = t.PooledEntropy((2,))
    assert got[:2] == [t.estimate_slot_entropy(one, pooled, SLOT_ENTROPY) for one in each]
    assert got[2].value is None and got[2].note == SLOT_ENTROPY.empty
    assert t.pair_entropy_estimates(one_pick_items(1, 1, 1), cell[:3], 1, SLOT_ENTROPY) is None


def test_expected_consistency_of_pairs_and_of_three_options():
    # Two pairs, four picks: first 2, second 1, one tie. (1/4)² + 2·½·¼.
    pairs = np.array([1.0, 2, 1, 1, 4, 2])
    assert float(t.expected_consistency(pairs)) == pytest.approx(1 / 16 + 1 / 4)
    # Two sets of three options: slots 3, 2, 1, no tie of six. 3·(1/2)(1/3)(1/6).
    three = np.array([0.0, 3, 2, 1, 0, 6, 2])
    assert float(t.expected_consistency(three)) == pytest.approx(3 / 36)
    # A pair beside a column for a third slot: the third is not multiplied in.
    beside = np.array([1.0, 2, 1, 0, 1, 4, 2])
    assert float(t.expected_consistency(beside)) == pytest.approx(1 / 16 + 1 / 4)
    assert t.consistency_kappa_range(pairs) == pytest.approx(1 / (1 - 5 / 16))


def test_several_right_options_count_by_their_own_column():
    # Four options, of which the column says how many are right; −1: not known.
    rows = [*rotated("q1", [0, 1, 2, "tie"]), *rotated("q2", [0, 1, 2, 3])]
    frame = build(rows).assign(
        **{RIGHT_COLUMN: [1, 0, 1, 0] + [-1] * 4, RIGHT_OPTIONS_COLUMN: [2] * 4 + [0] * 4}
    )
    assert (ACCURACY.estimate(frame).value, ACCURACY.estimate(frame).n) == (0.5, 4)
    # Right 1 − 2/4, wrong −2/4, tie 0: (½ − ½ + ½ + 0)/4.
    assert ACCURACY_LEAD.estimate(frame).value == pytest.approx(1 / 8)
    known, right = t.picks_with_known_answer(GroupedFrame(frame))
    assert (len(known), right.tolist()) == (4, [True, False, True, False])


def test_known_answers_without_that_column_are_the_true_slots():
    frame = build([*pair("q1", 0, 0, better="x"), *pair("q2", "tie", 1, better="x"),
                   *pair("q3", 0, 0)])  # fmt: skip
    known, right = t.picks_with_known_answer(GroupedFrame(frame))
    assert right.tolist() == [True, False, False, True] and len(known) == 4
    # ½ − ½ + 0 + ½ of four.
    assert ACCURACY_LEAD.estimate(frame).value == pytest.approx(1 / 8)


def test_order_sets_lean_by_hand():
    # q1 both first, q2 both second, q3 consistent, q4 first and a tie, q5 two ties.
    rows = [*pair("q1", 0, 0), *pair("q2", 1, 1), *pair("q3", 0, 1), *pair("q4", 0, "tie"),
            *pair("q5", "tie", "tie")]  # fmt: skip
    evidence = GroupedFrame(build(rows))
    sets = evidence.order_sets
    assert sets["lean"].tolist() == [2, -2, 0, 1, 0]
    assert sets["hard"].tolist() == [True, True, False, False, False]
    assert sets["soft"].tolist() == [False, False, False, True, False]
    assert sets["tied"].tolist() == [0, 0, 0, 1, 2]
    counted = {
        name: getattr(t, f"{name}_tally")(evidence).sums[:, 0].tolist()
        for name in ("primacy", "recency", "fairness", "flip")
    }
    assert counted == {
        "primacy": [1, 0, 0, 1, 0], "recency": [0, 1, 0, 0, 0],
        "fairness": [-1, 1, 0, -1, 0], "flip": [1, 1, 0, 1, 0],
    }  # fmt: skip
    ties = t.tie_tally(evidence)
    assert (ties.sums[:, 0].sum(), ties.sums[:, 1].sum()) == (3, 10)
    first = t.first_slot_tally(evidence)
    assert (first.sums[:, 0].sum(), first.sums[:, 1].sum()) == (4, 7)


def test_repeats_are_compared_within_an_order():
    # Order xy: first three times, second once: 3 of 6 pairs differ, 3 of 4 are alike. yx: once.
    again = (pair("q", pick, 0, repeat=n)[0] for n, pick in enumerate((0, 0, 1), 1))
    rows = [pair("q", 0, 0)[0], *again]
    rows.append(pair("q", 0, 1)[1])
    evidence = GroupedFrame(build(rows))
    noise, stable = t.repeat_noise_tally(evidence), t.modal_share_tally(evidence)
    assert noise.sums.tolist() == [[pytest.approx(1 / 2), 1]]
    assert stable.sums.tolist() == [[pytest.approx(3 / 4), 1]]
    only_noise = [rows[0], {**rows[1], "noise": True}, rows[4]]
    evidence = GroupedFrame(build(only_noise))
    assert t.repeat_noise_tally(evidence).sums.tolist() == [[0, 1]]
    assert len(t.modal_share_tally(evidence).sums) == 0


def test_kappa_of_few_flips_is_widened_by_the_interval_of_their_share():
    """One flip of 40: at most Wilson's share of flips, each of which costs (1 − κ)/(1/40)."""
    got = CONSISTENCY_KAPPA.estimate(patterns({"AB": 20, "BA": 19, "AA": 1}))
    most = wilson_bounds(1, 40)[1]
    assert got.low == pytest.approx(1 - (1 - got.value) * 40 * most)
