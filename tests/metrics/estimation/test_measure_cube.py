"""Filtered and pooled item totals, compared with the measure of the filtered frame."""

from __future__ import annotations

import numpy as np
import pytest

from metrics.catalogue.records import estimate_position_measures
from metrics.estimation.measure_cube import MeasureCube
from metrics.estimation.measures import Measure, build_tally, first_over_last
from metrics.position.label_effect import LABEL_EFFECT, SLOT_EFFECT
from metrics.position.position_measures import (
    ACCURACY,
    CONFLICT,
    CONSISTENCY,
    CONSISTENCY_KAPPA,
    EXPECTED_CONSISTENCY,
    FAIRNESS,
    FIRST_SHARE,
    NOISE_FLOOR,
    PRIMACY,
    RECENCY,
    SLOT_ENTROPY,
    TIE_RATE,
)
from metrics.protocols.grade_score import estimate_grade_score_measures, grade_measure
from tests.metrics.frames import build, pair, rotated
from tests.page_words import says

MEASURES = (CONSISTENCY, SLOT_ENTROPY, FIRST_SHARE, FAIRNESS, ACCURACY)
ALL = (
    *MEASURES,
    CONFLICT,
    TIE_RATE,
    NOISE_FLOOR,
    EXPECTED_CONSISTENCY,
    CONSISTENCY_KAPPA,
    PRIMACY,
    RECENCY,
    SLOT_EFFECT,
    LABEL_EFFECT,
)
BY = ("judge", "prompt", "category")


@pytest.fixture(scope="module")
def frame():
    rng = np.random.default_rng(3)
    rows = []
    for n in range(24):
        for judge in ("a", "b"):
            for prompt in ("p", "q"):
                for x, y in (("x", "y"), ("x", "z")):
                    first, second = rng.choice([0, 1, "tie", None], 2, p=[0.4, 0.3, 0.2, 0.1])
                    picks = [p if p in ("tie", None) else int(p) for p in (first, second)]
                    more = {"judge": judge, "prompt": prompt, "category": "cde"[n % 3]}
                    rows += pair(f"q{n}", *picks, x=x, y=y, better=x, **more)
    return build(rows)


def same(one, two):
    assert (one.n, one.items, one.note) == (two.n, two.items, two.note)
    for name in ("value", "low", "high"):
        assert getattr(one, name) == pytest.approx(getattr(two, name), abs=1e-12)


def test_every_cell_is_what_the_measure_says_of_its_rows(frame):
    cube, plain = MeasureCube(frame, BY, MEASURES), estimate_position_measures(frame, BY)
    for measure in MEASURES:
        found = cube.by_cell(measure.name, BY)
        assert found.keys() == plain.keys()
        for cell, estimate in found.items():
            same(estimate, plain[cell][measure.name])


def uneven(frame):
    """The same with judge b asked in one order only, and q1 of judge a, prompt p, in no known
    order."""
    orders = frame["orders"].mask(frame["judge"] == "b", 1)
    first = (frame["item"] == "q1") & (frame["prompt"] == "p") & (frame["judge"] == "a")
    orders = orders.mask(first, 0)
    keep = (frame["judge"] != "b") | ~frame.duplicated(["item", "judge", "prompt", "comparison"])
    return frame.assign(orders=orders.astype(frame["orders"].dtype))[keep]


@pytest.mark.parametrize("change", [lambda frame: frame, uneven], ids=["both orders", "uneven"])
@pytest.mark.parametrize("where", [{}, {"judge": "a"}, {"judge": "b", "category": "d"}])
def test_a_cut_and_pooled_cube_is_the_filtered_frame(frame, where, change):
    kept = frame = change(frame)
    for column, value in where.items():
        kept = kept[kept[column] == value]
    cube = MeasureCube(frame, BY, ALL)
    for measure in ALL:
        same(cube.pooled_estimate(measure.name, where), measure.estimate(kept))
        for cell, estimate in cube.by_cell(measure.name, ("prompt",), where).items():
            same(estimate, measure.estimate(kept[kept["prompt"] == cell[0]]))
    assert cube.count_items("consistency", where) <= kept["item"].nunique()


def test_the_numbers_of_a_filter_do_not_depend_on_the_filters_before_it(frame):
    wheres = [{"judge": "a"}, {"prompt": "q"}, {"category": "d", "judge": "b"}, {}]
    used = MeasureCube(frame, BY, MEASURES)
    for where in wheres:
        for by in ((), ("judge",), ("prompt", "category"), BY):
            fresh = MeasureCube(frame, BY, MEASURES).by_cell("consistency", by, where)
            assert used.by_cell("consistency", by, where) == fresh
            assert list(used.by_cell("consistency", by, where)) == list(fresh)


@pytest.mark.parametrize("block", [90, 200])
@pytest.mark.parametrize("change", [lambda frame: frame, uneven])
def test_a_frame_counted_some_items_at_a_time_has_the_same_totals(
    frame, monkeypatch, block, change
):
    """What is decided by cell (were several orders asked at all?) is decided by all of it."""
    rows = change(frame)
    whole = MeasureCube(rows, BY, ALL)
    monkeypatch.setattr("metrics.estimation.measure_cube.BLOCK_ROWS", block)
    parts = MeasureCube(rows, BY, ALL)
    for measure in ALL:
        for by in ((), ("judge",), BY):
            one, two = whole.by_cell(measure.name, by), parts.by_cell(measure.name, by)
            assert one == two, measure.name


def test_the_mean_of_a_cell_has_the_t_interval_of_its_items():
    # Sums 3 of 4 and 1 of 4: mean ½, error √(2/1 · (1² + 1²)) / 8 = ¼; t of one degree is 12.7062.
    # A single item has no interval, and an item without units is none. Equal items 2 and 2 are at
    # most 12 from a bound; Wilson's upper limit for none of two is z²/(2 + z²).
    mean = Measure("m", "points", tally=build_tally, kind="mean", value_range=(-10, 10), empty="-")
    sums = np.array([[3, 4], [1, 4], [5, 1], [0, 0], [2, 1], [4, 2]], float)
    cell = np.array([0, 0, 1, 1, 3, 3])
    two, one, none, equal = mean.estimate_cells(sums, cell, 4, first_over_last)
    assert (two.value, two.n, two.items) == (0.5, 8, 2)
    assert (two.low, two.high) == pytest.approx((0.5 - 3.17655, 0.5 + 3.17655), abs=1e-5)
    assert (one.value, one.low, one.high, one.n, one.items) == (5, None, None, 1, 1)
    assert (none.value, none.n, none.note) == (None, 0, "-")
    z = 1.959964
    assert (equal.value, equal.high) == (2, pytest.approx(2 + 12 * z**2 / (2 + z**2), abs=1e-5))
    assert equal.low == pytest.approx(2 - 12 * z**2 / (2 + z**2), abs=1e-5)


def test_what_nobody_judged_is_unknown_with_its_reason(frame):
    cube = MeasureCube(frame, BY, MEASURES)
    nobody = cube.pooled_estimate("consistency", {"judge": "nobody"})
    assert nobody.value is None
    assert says(nobody.note, "no comparison", "all its orders")
    assert cube.by_cell("consistency", ("judge",), {"judge": "nobody"}) == {}
    assert MeasureCube(build([]), BY, MEASURES).by_cell("entropy", BY) == {}
    assert MeasureCube(build([]), BY, MEASURES).pooled_estimate("entropy").value is None


def test_a_judge_without_a_verdict_does_not_hide_that_the_order_is_unknown():
    rows = [{**row, "judge": "a", "orders": 0} for row in pair("q0", 0, 1)]
    frame = build([*rows, *({**row, "judge": "b"} for row in pair("q0", None, None))])
    cube = MeasureCube(frame, BY, MEASURES)
    for measure in MEASURES:
        same(cube.pooled_estimate(measure.name), measure.estimate(frame))
    assert says(cube.pooled_estimate("consistency").note, "do not say", "shown first")


def test_grades_of_options_are_cut_like_the_rest():
    # q0: slots 0,1,2 of three rotations; q1: always slot 0, whose entropy and grade are 0.
    rows = [*rotated("q0", [1, 2, 0], judge="a"), *rotated("q1", [0, 0, 0], judge="b")]
    frame = build(rows)
    cube = MeasureCube(frame, BY, [grade_measure()])
    assert cube.pooled_estimate("grade", {"judge": "b"}).value == 0
    assert cube.pooled_estimate("grade").value == pytest.approx(
        estimate_grade_score_measures(frame)["grade"].value
    )
