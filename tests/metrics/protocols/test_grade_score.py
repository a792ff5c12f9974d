"""Grade Score: worked values and exact expectations of canonical judges."""

from __future__ import annotations

from functools import cache
from itertools import permutations

import pytest

from metrics.protocols import grade_score as g
from tests.metrics.frames import build, pair, rotated
from tests.page_words import says

WORKED = {
    "consistent": ([1, 2, 3, 0], (1, 1, 1)),
    "always first": ([0, 0, 0, 0], (0, 0, 0.25)),
    "slots 0,0,1,3": ([0, 0, 1, 3], (0.6, 0.75, 0.5)),
}


def parts(frame, rule="default"):
    got = g.estimate_grade_score_measures(frame, rule)
    return tuple(got[name].value for name in ("grade", "entropy", "choice"))


@pytest.mark.parametrize(("slots", "want"), WORKED.values(), ids=WORKED)
def test_worked_items_of_four_options(slots, want):
    frame = build(rotated("q", slots))
    assert parts(frame) == pytest.approx(want)
    assert parts(frame, "gradelab") == pytest.approx(want)


def test_slots_0013_are_options_3223():
    frame = build(rotated("q", [0, 0, 1, 3]))
    from metrics.estimation.row_selection import chosen_contestants

    assert chosen_contestants(frame, ["o0", "o1", "o2", "o3"]).tolist() == [3, 2, 2, 3]


def test_an_unread_trial_leaves_the_item_out_unless_gradelab():
    frame = build(rotated("q", [1, None, 3, 0]))
    got = g.estimate_grade_score_measures(frame)
    assert got["grade"].value is None and says(got["grade"].note, "left out", ": 1;")
    # log2 3 / log2 4 = .7924813; choice 3/3; harmonic mean .8842282.
    assert parts(frame, "gradelab") == pytest.approx((0.8842282, 0.7924813, 1), abs=1e-7)
    assert parts(build(rotated("q", [None] * 4)), "gradelab") == (0, 0, 0)


def test_the_grade_of_a_dataset_is_the_mean_of_item_grades():
    # (1, 1, 1) and (.6, .75, .5): mean grade .8, while the means' harmonic mean is .8076.
    frame = build([*rotated("q1", [1, 2, 3, 0]), *rotated("q2", [0, 0, 1, 3])])
    assert parts(frame) == pytest.approx((0.8, 0.875, 0.75))


def test_mixed_n_has_a_line_per_n_and_one_correction():
    # N = 2 perfect: G 1, g .5. N = 4 (.6): g .570961. Corrected (.5 + .029039)/(.5 + .429039).
    frame = build([*rotated("q1", [1, 0]), *rotated("q2", [0, 0, 1, 3])])
    got = g.estimate_grade_score_measures(frame)
    assert got["grade"].value == pytest.approx(0.8)
    assert (got["grade_2"].value, got["grade_4"].value) == (pytest.approx(1), pytest.approx(0.6))
    assert got["corrected"].value == pytest.approx((0.5 + 0.029039) / (0.5 + 0.429039))


def test_what_has_no_grade_says_why():
    for frame in (build([]), build([{"item": "q", "shown": "xy", "pick": 0, "orders": 1}])):
        for got in g.estimate_grade_score_measures(frame).values():
            assert got.value is None and got.note
    with pytest.raises(ValueError, match="gradelabs"):
        g.estimate_grade_score_measures(build([]), "gradelabs")


def test_pairs_in_both_orders_are_rotations_of_two():
    frame = build([*pair("q1", 0, 1), *pair("q2", 0, 0), *pair("q3", "tie", 0)])
    got = g.estimate_grade_score_measures(frame)
    assert (got["grade"].value, got["grade"].n) == (pytest.approx(0.5), 2)


def test_rotation_is_to_the_right_by_one_two_three():
    assert g.rotated_options(3).tolist() == [[2, 0, 1], [1, 2, 0], [0, 1, 2]]


JUDGES = {
    "perfect": {},
    "always first": {"first": 1.0},
    "uniform": {"best": None},
    "last .1 else best": {"last": 0.1},
    "last .25 else best": {"last": 0.25},
    "last .5 else best": {"last": 0.5},
    "last .75 else best": {"last": 0.75},
    "last .9 else best": {"last": 0.9},
    "last .25 else uniform": {"last": 0.25, "best": None},
    "last .5 else uniform": {"last": 0.5, "best": None},
    "last .75 else uniform": {"last": 0.75, "best": None},
    "best .8 else other": {"best": 0.8},
}
EXPECTED = {
    "grade": """1.000000 1.000000 1.000000 1.000000 1.000000
        0.000000 0.000000 0.000000 0.000000 0.000000
        0.500000 0.579977 0.570961 0.539487 0.505432
        0.900000 0.921594 0.923343 0.923539 0.923585
        0.750000 0.794987 0.801268 0.801602 0.800867
        0.500000 0.559983 0.574214 0.576569 0.575305
        0.250000 0.294987 0.310053 0.315195 0.316298
        0.100000 0.121594 0.130091 0.133979 0.135805
        0.468750 0.547478 0.541188 0.512462 0.480790
        0.375000 0.444980 0.447139 0.428894 0.406442
        0.218750 0.264987 0.274625 0.271672 0.264514
        0.680000 0.797545 0.815679 0.824369 0.830397""",
    "entropy": """1.000000 1.000000 1.000000 1.000000 1.000000
        0.000000 0.000000 0.000000 0.000000 0.000000
        0.500000 0.608476 0.661995 0.695096 0.718077
        0.900000 0.914288 0.922202 0.927280 0.930824
        0.750000 0.779768 0.795324 0.804724 0.810888
        0.500000 0.539690 0.558365 0.568575 0.574650
        0.250000 0.279768 0.292223 0.298420 0.301806
        0.100000 0.114288 0.119820 0.122439 0.123809
        0.468750 0.567718 0.614187 0.641540 0.659647
        0.375000 0.449083 0.480599 0.497609 0.508053
        0.218750 0.258025 0.273152 0.280672 0.284936
        0.680000 0.791769 0.833376 0.855796 0.870106""",
    "choice": """1.000000 1.000000 1.000000 1.000000 1.000000
        0.500000 0.333333 0.250000 0.200000 0.166667
        0.750000 0.629630 0.531250 0.457280 0.401363
        0.950000 0.933333 0.925000 0.920000 0.916667
        0.875000 0.833333 0.812500 0.800000 0.791667
        0.750000 0.666667 0.625000 0.600000 0.583333
        0.625000 0.500000 0.437500 0.400000 0.375000
        0.550000 0.400000 0.325000 0.280000 0.250000
        0.734375 0.614583 0.519165 0.446716 0.391619
        0.687500 0.564815 0.478516 0.413240 0.362692
        0.609375 0.473380 0.396118 0.343239 0.303609
        0.840000 0.822000 0.806637 0.802239 0.800725""",
    "pooled": """1.000000 1.000000 1.000000 1.000000 1.000000
        0.000000 0.000000 0.000000 0.000000 0.000000
        1.000000 1.000000 1.000000 1.000000 1.000000
        0.992774 0.991159 0.989793 0.988597 0.987529
        0.954434 0.946395 0.940120 0.934978 0.930628
        0.811278 0.789690 0.774397 0.762707 0.753333
        0.543564 0.515273 0.496696 0.483188 0.472742
        0.286397 0.265007 0.251592 0.242117 0.234940
        0.954434 0.946395 0.940120 0.934978 0.930628
        0.811278 0.789690 0.774397 0.762707 0.753333
        0.543564 0.515273 0.496696 0.483188 0.472742
        1.000000 1.000000 1.000000 1.000000 1.000000""",
}


@cache
def enumerated(n, **settings):
    """All four parts come from one enumeration of Nᴺ outcomes."""
    return g.expected_grade_scores(g.simulated_slot_probabilities(n, **settings))


@pytest.mark.parametrize("part", EXPECTED)
@pytest.mark.parametrize("n", [2, 3, 4, 5, 6])
def test_canonical_judges_score_as_enumerated(part, n):
    rows = [[float(x) for x in line.split()] for line in EXPECTED[part].splitlines()]
    for (name, settings), row in zip(JUDGES.items(), rows, strict=True):
        got = enumerated(n, **settings)[part]
        assert got == pytest.approx(row[n - 2], abs=1e-6), name


@pytest.mark.parametrize("n", [2, 3, 4, 5, 6])
def test_the_table_of_chance_is_the_uniform_judge(n):
    exact = enumerated(n, best=None)["grade"]
    assert g.RANDOM_GRADE[n] == pytest.approx(exact, abs=1e-6)


def test_chance_beyond_six_options_is_as_simulated():
    wanted = {7: 0.4737, 8: 0.4458, 9: 0.4210, 10: 0.3994}
    assert {n: g.RANDOM_GRADE[n] for n in wanted} == pytest.approx(wanted, abs=2e-4)


def test_the_correction_does_not_make_different_n_comparable():
    # «last w.p. .5 else best» reads 0, −.048, .008, .081, .141 corrected at N = 2…6.
    got = []
    for n in (2, 3, 4, 5, 6):
        value = enumerated(n, last=0.5)["grade"]
        got.append((value - g.RANDOM_GRADE[n]) / (1 - g.RANDOM_GRADE[n]))
    assert got == pytest.approx([0, -0.048, 0.008, 0.081, 0.141], abs=6e-4)


def test_the_mean_of_row_scores_is_not_the_score_of_mean_parts():
    got = g.expected_grade_scores(g.simulated_slot_probabilities(4, best=None))
    of_means = 2 * got["entropy"] * got["choice"] / (got["entropy"] + got["choice"])
    assert (got["grade"], of_means) == pytest.approx((0.570961, 0.589460), abs=1e-6)


def test_chance_is_known_for_the_rotations_alone():
    # All six orders of three options: the best one is always chosen, so that the grade is 1.
    rows = [
        {"item": "q", "shown": order, "pick": order.index("a"), "orders": 6, "prompt": "choice"}
        for order in permutations("abc")
    ]
    got = g.estimate_grade_score_measures(build(rows))
    assert (got["grade"].value, got["choice"].value) == (pytest.approx(1), 1)
    assert got["corrected"].value is None and "10" in got["corrected"].note
    # Beside rotations, only these are corrected.
    both = g.estimate_grade_score_measures(build([*rows, *rotated("r", [1, 2, 0])]))
    assert (both["corrected"].value, both["corrected"].n) == (pytest.approx(1), 1)
    assert both["grade"].n == 2


def test_eleven_options_have_a_grade_and_no_chance_level():
    got = g.estimate_grade_score_measures(build(rotated("q", [*range(1, 11), 0])))
    assert got["grade"].value == pytest.approx(1) and got["corrected"].value is None
    none = g.estimate_grade_score_measures(build([]))["corrected"]
    assert none.value is None and "10" not in none.note


def test_the_corrected_grade_of_two_sizes_by_hand():
    # N = 2 at grade 0 (chance .5), N = 3 at grade 1 (chance .579977).
    # (−.5 + .420023)/(.5 + .420023).
    rows = [*pair("p", 0, 0), *rotated("q", [1, 2, 0])]
    got = g.estimate_grade_score_measures(build(rows))
    assert got["corrected"].value == pytest.approx((-0.5 + 0.420023) / 0.920023)
    assert got["corrected"].low >= -0.579977 / (0.920023 / 2) - 1e-9
    assert (got["grade_2"].value, got["grade_3"].value) == (0, pytest.approx(1))


def test_the_interval_of_a_grade_stays_between_zero_and_one():
    # One option in all its places: grade 1. One place with all options: grade 0.
    frame = build([*rotated("q1", [1, 2, 0]), *rotated("q2", [0, 0, 0])])
    got = g.estimate_grade_score_measures(frame)["grade"]
    assert (got.value, got.low, got.high) == (pytest.approx(0.5), 0, 1)
