"""Totals that are cut and pooled say what the measure says of the filtered frame."""

from __future__ import annotations

import numpy as np
import pytest
from frames import build, pair, rotated

from metrics.cube import Cube
from metrics.grade import grade, grade_measure
from metrics.position import ACCURACY, CONSISTENCY, ENTROPY, FAIRNESS, FIRST_SHARE, profile

MEASURES = (CONSISTENCY, ENTROPY, FIRST_SHARE, FAIRNESS, ACCURACY)
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
    cube, plain = Cube(frame, BY, MEASURES), profile(frame, BY)
    for measure in MEASURES:
        found = cube.each(measure.name, BY)
        assert found.keys() == plain.keys()
        for cell, estimate in found.items():
            same(estimate, plain[cell][measure.name])


@pytest.mark.parametrize("where", [{}, {"judge": "a"}, {"judge": "b", "category": "d"}])
def test_a_cut_and_pooled_cube_is_the_filtered_frame(frame, where):
    kept = frame
    for column, value in where.items():
        kept = kept[kept[column] == value]
    cube = Cube(frame, BY, MEASURES)
    for measure in MEASURES:
        same(cube.of(measure.name, where), measure.of(kept))
        for cell, estimate in cube.each(measure.name, ("prompt",), where).items():
            same(estimate, measure.of(kept[kept["prompt"] == cell[0]]))
    assert cube.items("consistency", where) <= kept["item"].nunique()


def test_what_nobody_judged_is_unknown_with_its_reason(frame):
    cube = Cube(frame, BY, MEASURES)
    nobody = cube.of("consistency", {"judge": "nobody"})
    assert nobody.value is None
    assert nobody.note == "no comparison was read in all its orders"
    assert cube.each("consistency", ("judge",), {"judge": "nobody"}) == {}
    assert Cube(build([]), BY, MEASURES).each("entropy", BY) == {}
    assert Cube(build([]), BY, MEASURES).of("entropy").value is None


def test_grades_of_options_are_cut_like_the_rest():
    # q0: slots 0,1,2 of three rotations; q1: always slot 0, whose entropy and grade are 0.
    rows = [*rotated("q0", [1, 2, 0], judge="a"), *rotated("q1", [0, 0, 0], judge="b")]
    frame = build(rows)
    cube = Cube(frame, BY, [grade_measure()])
    assert cube.of("grade", {"judge": "b"}).value == 0
    assert cube.of("grade").value == pytest.approx(grade(frame)["grade"].value)
