"""Tests that position does not matter, against published values and full enumeration."""

from __future__ import annotations

from itertools import permutations

import numpy as np
import pytest
from scipy import stats

from metrics.position import order_tests as t
from tests.metrics.frames import build, pair, patterns, rotated

ORACLE = {"AA": 12, "AB": 40, "BA": 30, "BB": 5, "CC": 6, "AC": 4, "BC": 3}


def test_sixteen_flips_against_eight():
    got = t.flip_tests(patterns(ORACLE))
    assert got["sign"].p == pytest.approx(0.151590, abs=1e-6)
    assert got["mcnemar"].statistic == pytest.approx(2.66667, abs=1e-5)
    assert got["mcnemar"].p == pytest.approx(0.102470, abs=1e-6)
    assert got["mcnemar_corrected"].statistic == pytest.approx(2.04167, abs=1e-5)
    assert got["mcnemar_corrected"].p == pytest.approx(0.153042, abs=1e-6)


def test_a_flip_between_an_answer_and_a_tie_has_a_side_too():
    got = t.flip_tests(patterns({"AC": 6, "CB": 1}))
    assert got["sign"].n == 7
    assert got["sign"].p == pytest.approx(stats.binomtest(6, 7).pvalue)


def test_symmetry_of_a_three_by_three_table():
    table = [[40, 4, 12], [2, 6, 3], [5, 1, 27]]
    stuart, bowker = t.stuart_maxwell_test(table), t.bowker_test(table)
    assert (stuart.statistic, stuart.df) == (pytest.approx(4.17526, abs=1e-5), 2)
    assert stuart.p == pytest.approx(0.123981, abs=1e-6)
    assert (bowker.statistic, bowker.df) == (pytest.approx(4.54902, abs=1e-5), 3)
    assert bowker.p == pytest.approx(0.207959, abs=1e-6)


def test_the_outcome_table_counts_winners_not_slots():
    # x is the sorted first. AB: x with x first, x with y first. AA: x, then y. CB: tie, then x.
    frame = patterns({"AB": 3, "AA": 2, "CB": 1, "BA": 4})
    assert t.both_orders_table(frame).tolist() == [[3, 0, 2], [1, 0, 0], [0, 0, 4]]


def test_no_flips_or_no_pairs_is_no_evidence():
    assert t.sign_test(0, 0).p == 1
    for first, second in [(0, 1), (7, 2), (5, 5), (5, 6), (0, 40), (900, 1_024), (3, 20_000)]:
        exact = stats.binomtest(first, first + second).pvalue
        assert t.sign_test(first, second).p == pytest.approx(exact, rel=1e-9, abs=1e-300)
    assert t.mcnemar_test(0, 0).p == 1
    assert t.stuart_maxwell_test(np.zeros((3, 3))).p == 1
    assert t.bowker_test(np.zeros((3, 3))).p == 1
    assert t.flip_tests(build([]))["sign"].p is None
    assert t.permutation_test(build([]), 3).p is None
    assert t.entropy_null_band(build([]), np.random.default_rng(0)) is None


def chosen(*options_by_prompt: list[int]):
    """Rotations of three options; a row holds the *option* chosen in each rotation."""
    shown = [[2, 0, 1], [1, 2, 0], [0, 1, 2]]
    rows = []
    for k, options in enumerate(options_by_prompt):
        slots = [turn.index(option) for turn, option in zip(shown, options, strict=True)]
        rows += rotated(f"q{k}", slots)
    return build(rows)


@pytest.mark.parametrize(
    ("rows", "statistic", "p"),
    [
        ([[2, 1, 0]] * 3, 18, 0.0138889),  # always the first slot
        ([[0, 0, 0]] * 3, 0, 1),  # always option 0
        ([[2, 1, 0], [0, 0, 0], [2, 1, 1]], 4.666667, 0.1666667),
    ],
)
def test_exact_permutation_over_216_arrangements(rows, statistic, p):
    got = t.permutation_test(chosen(*rows), 3)
    assert (got.statistic, got.p) == (
        pytest.approx(statistic, abs=1e-6),
        pytest.approx(p, abs=1e-6),
    )
    assert got.note == "exact"


def test_four_options_by_listing_every_arrangement_of_the_choices():
    """Two items in four rotations: all 24² ways to give an item's choices to its orders, counted
    without the code under test. Repeats of a call add no evidence."""
    shown = [["o3", "o0", "o1", "o2"], ["o2", "o3", "o0", "o1"], ["o1", "o2", "o3", "o0"],
             ["o0", "o1", "o2", "o3"]]  # fmt: skip
    picks = ([0, 0, 0, 1], [0, 2, 0, 0])
    rows = [row for k, slots in enumerate(picks) for row in rotated(f"q{k}", slots)]
    options = [[turn[slot] for turn, slot in zip(shown, slots, strict=True)] for slots in picks]

    def distance(*choices: tuple[str, ...]) -> float:
        slots = [turn.index(who) for one in choices for turn, who in zip(shown, one, strict=True)]
        return sum((slots.count(slot) - 2) ** 2 / 2 for slot in range(4))

    least = distance(*map(tuple, options))
    every = [distance(a, b) for a in permutations(options[0]) for b in permutations(options[1])]
    wanted = np.mean([one >= least - 1e-9 for one in every])
    repeated = [row | {"repeat": repeat} for row in rows for repeat in range(3)]
    for frame in (build(rows), build(repeated)):
        got = t.permutation_test(frame, 4)
        assert (got.statistic, got.p) == (pytest.approx(least), pytest.approx(wanted))
    assert 0.01 < wanted < 0.2


def test_the_exact_test_is_used_up_to_its_number_of_possible_counts(monkeypatch):
    """The counts are listed here by adding up every choice of one histogram per item."""
    rng = np.random.default_rng(4)
    frame = build([row for k in range(5) for row in rotated(f"q{k}", rng.integers(0, 4, 4))])
    sums = {(0, 0, 0, 0)}
    for histograms, _ in t._histograms_by_set(t.arrange_order_sets(frame, 4), 4):
        sums = {
            tuple(a + b for a, b in zip(one, more, strict=True))
            for one in sums
            for more in histograms.tolist()
        }
    assert len(sums) > 100
    for most, exact in ((len(sums), True), (len(sums) - 1, False)):
        monkeypatch.setattr(t, "MAX_EXACT_STATES", most)
        found = [one for one, _ in t._histograms_by_set(t.arrange_order_sets(frame, 4), 4)]
        assert t._exceed_exact_limit(found) is not exact
        for first_sets in (1, 200):  # the number counted beforehand changes no answer
            monkeypatch.setattr(t, "MAX_FIRST_SETS", first_sets)
            assert (t.permutation_test(frame, 4).note == "exact") is exact


@pytest.mark.parametrize("sets", [1, 2, 3])
@pytest.mark.parametrize("orders", [list(permutations("ab")), ["abc", "bca", "cab"],
                                    list(permutations("abc"))])  # fmt: skip
def test_the_smallest_p_value_is_that_of_choices_which_all_go_to_one_slot(sets, orders):
    rows = [
        {"item": f"q{k}", "shown": tuple(shown), "pick": 1, "orders": len(orders)}
        for k in range(sets)
        for shown in orders
    ]
    options = len(orders[0])
    p = t.permutation_test(build(rows), options).p
    assert t.least_permutation_p(sets, len(orders), options) == pytest.approx(p)


def test_for_pairs_the_permutation_test_is_the_sign_test():
    # AA 7, BB 2 and consistent pairs: only the nine flips can move, each fair: 2·P(Bin(9,½) ≥ 7).
    frame = patterns({"AA": 7, "BB": 2, "AB": 5})
    assert t.permutation_test(frame, 2).p == pytest.approx(t.sign_test(7, 2).p)


def test_random_arrangements_agree_with_the_exact_test():
    rng = np.random.default_rng(5)
    frame = build([row for k in range(12) for row in rotated(f"q{k}", rng.integers(0, 3, 3))])
    exact = t.permutation_test(frame, 3)
    sets = t.arrange_order_sets(frame, 3)
    drawn = t._chi_square_distance(t.permuted_slot_histograms(sets, 3, rng, 4000))
    assert (drawn >= exact.statistic - 1e-9).mean() == pytest.approx(exact.p, abs=0.03)


def test_many_options_are_drawn_not_listed_and_the_smallest_p_is_a_bound():
    frame = build([row for k in range(4) for row in rotated(f"q{k}", [0] * 7)])
    got, again = t.permutation_test(frame, 7, 999), t.permutation_test(frame, 7, 999)
    assert got.p == pytest.approx(0.001) and got.p_is_bound and got == again
    assert t.permutation_test(frame, 7).p == pytest.approx(1 / 10_000)
    # The same option in all its places: every arrangement is the same.
    same = build([row for k in range(4) for row in rotated(f"q{k}", [1, 2, 3, 4, 5, 6, 0])])
    even = t.permutation_test(same, 7, 999)
    assert even.p == 1 and not even.p_is_bound


def test_the_null_band_holds_a_fair_judge_and_not_a_biased_one():
    rng = np.random.default_rng(2)
    biased = patterns({"AA": 30, "AB": 5, "BA": 5})
    low, high = t.entropy_null_band(biased, rng)
    assert low > 0.9 and high <= 1
    assert t.permutation_test(build(pair("q", "tie", "tie")), 2).p == 1


def item_of_flips(item: str, first: int, second: int):
    """Pairs of one item: so many flip toward first, so many toward second."""
    picks = [0] * first + [1] * second
    return [
        row for k, pick in enumerate(picks) for row in pair(item, pick, pick, x=f"x{k}", y=f"y{k}")
    ]


def test_the_flips_of_one_item_are_not_independent():
    # L = (3, 3, 3, −1): of 16 sign patterns the four with equal signs of the threes reach |8|.
    assert t.item_sign_test([3, 3, 3, -1]).p == pytest.approx(0.25)
    frame = build([*(row for k in range(3) for row in item_of_flips(f"q{k}", 3, 0)),
                   *item_of_flips("q3", 0, 1)])  # fmt: skip
    got = t.flip_tests(frame)
    assert got["items"].p == pytest.approx(0.25)
    assert got["sign"].p == pytest.approx(0.021484, abs=1e-6)


def test_with_one_flip_per_item_it_is_the_sign_test():
    for first, second in ((7, 2), (40, 31), (1, 0), (5, 5)):
        by_items = t.item_sign_test([1] * first + [-1] * second).p
        assert by_items == pytest.approx(t.sign_test(first, second).p)


def test_items_that_lean_both_ways_equally_do_not_count():
    assert t.item_sign_test([0, 0, 0]).p == 1
    assert t.item_sign_test([]).p == 1
    assert t.item_sign_test([2, 2, 2, 0]).n == 3


def test_the_normal_limit_of_many_flips():
    leans = np.array([3, -3] * 2000 + [2] * 100)
    exact = t.item_sign_test(leans[leans != 0][:1500]).p
    assert 0 < exact <= 1
    want = 2 * stats.norm.sf(200 / np.sqrt((leans**2).sum()))
    assert t.item_sign_test(leans).p == pytest.approx(want)


def test_size_by_items_where_items_lean_by_themselves():
    # No mean lean, ten pairs per item that all follow the item's own lean.
    draw = np.random.default_rng(5)
    by_items = by_pairs = 0
    for _ in range(300):
        share = 1 / (1 + np.exp(-2 * draw.normal(size=20)))
        first = draw.binomial(10, share)
        by_items += t.item_sign_test(2 * first - 10).p < 0.05
        by_pairs += t.sign_test(int(first.sum()), int(200 - first.sum())).p < 0.05
    assert by_items / 300 < 0.08
    assert by_pairs / 300 > 0.2


def test_without_an_item_that_leans_the_sign_test_by_items_shows_nothing():
    for leans in ([], [0, 0, 0]):
        got = t.item_sign_test(leans)
        assert (got.statistic, got.p, got.n) == (0.0, 1.0, 0)
    assert t.item_sign_test([0, 2, -1]).p == pytest.approx(1.0)  # |±2 ± 1| >= 1 always
    assert t.item_sign_test([2, 1]).p == pytest.approx(0.5)


def test_tests_without_flips_have_a_p_value_of_one_and_count_nothing():
    items = t.item_sign_test([0, 0])
    assert (items.statistic, items.p, items.n) == (0, 1, 0) and items.note
    none = t.item_sign_test([])
    assert (none.p, none.n) == (1, 0)
    sign = t.sign_test(0, 0)
    assert (sign.statistic, sign.p, sign.n) == (0, 1, 0) and sign.note
    mcnemar = t.mcnemar_test(0, 0)
    assert (mcnemar.statistic, mcnemar.p, mcnemar.df, mcnemar.n) == (0, 1, 1, 0)
    empty = t.stuart_maxwell_test(np.zeros((3, 3)))
    assert (empty.statistic, empty.p, empty.df, empty.n) == (0, 1, 0, 0)
    assert t.bowker_test(np.diag([3, 4, 5])).p == 1


def test_the_sign_test_is_scipys_and_symmetric():
    for first, second in ((3, 0), (5, 5), (9, 2)):
        wanted = stats.binomtest(first, first + second).pvalue
        for got in (t.sign_test(first, second), t.sign_test(second, first)):
            assert (got.p, got.n) == (pytest.approx(wanted), first + second)
    assert t.sign_test(9, 2).statistic == 9
    corrected = t.mcnemar_test(3, 2, continuity=True)
    assert (corrected.statistic, corrected.n) == (0, 5)


def test_signs_of_items_by_enumeration():
    # Leans 3, 1, 1, −2: |sum| 3. Signed sums of 3, 2, 1, 1 of at least 3 in size: 10 of 16.
    leans = [3, 1, 1, -2]
    sums = [sum(sign * size for sign, size in zip(signs, (3, 2, 1, 1), strict=True))
            for signs in np.ndindex(2, 2, 2, 2)
            for signs in [[1 if one else -1 for one in signs]]]  # fmt: skip
    wanted = np.mean([abs(one) >= 3 for one in sums])
    got = t.item_sign_test(leans)
    assert (got.p, got.n, got.statistic) == (pytest.approx(wanted), 4, 3)
    assert t.item_sign_test([-one for one in leans]).p == got.p


def test_very_many_flips_use_the_normal_distribution():
    leans = np.repeat([101, -101], [60, 41])  # 10,201 flips
    got = t.item_sign_test(leans)
    z = 19 * 101 / (101 * 101**0.5)
    assert (got.p, got.note, got.n) == (pytest.approx(2 * stats.norm.sf(z)), "normal", 101)
    assert t.item_sign_test(leans[:-3]).note == "exact"


def test_a_two_by_two_table_has_mcnemars_test():
    table = [[10, 7], [2, 4]]
    for got in (t.stuart_maxwell_test(table), t.bowker_test(table)):
        assert (got.statistic, got.df, got.n) == (pytest.approx(25 / 9), 1, 23)
        assert got.p == pytest.approx(stats.chi2.sf(25 / 9, 1))


def test_states_are_listed_up_to_the_limits_and_sampled_above(monkeypatch):
    """One set of two orders, forward and backward, with choices 0 and 1: they lie in slots 0 and 37
    of 39, or 1 and 38. Counts 0 to 2 of 40 options no longer fit into an integer: 3⁴⁰ > 2⁶²."""

    def sets(options):
        forward = np.arange(options)
        return t.OrderSetArrays(np.array([[0, 1]]), np.array([[forward, forward[::-1]]]))

    counts, mass = t._possible_slot_histograms(sets(39), 39)
    assert mass.tolist() == [0.5, 0.5]
    assert sorted(np.flatnonzero(one).tolist() for one in counts) == [[0, 37], [1, 38]]
    assert t._possible_slot_histograms(sets(40), 40) is None
    monkeypatch.setattr(t, "MAX_LISTED_ORDERS", 2)
    assert t._possible_slot_histograms(sets(39), 39) is not None
    monkeypatch.setattr(t, "MAX_LISTED_ORDERS", 1)
    assert t._possible_slot_histograms(sets(39), 39) is None
    sampled = t.permutation_test(patterns({"AA": 3}), 2, 99)
    assert sampled.note.startswith("99 ") and sampled.n == 3 and sampled.statistic == 6 * 0.5 * 2


def test_ties_alone_have_no_entropy():
    assert t.entropy_null_band(patterns({"CC": 3}), np.random.default_rng(0)) is None
    low, high = t.entropy_null_band(patterns({"AA": 3}), np.random.default_rng(0))
    assert 0 <= low < high <= 1
