"""The Grade Score heatmap: cells, contradictions, the unrelated option, two readings."""

from __future__ import annotations

import numpy as np
import pytest

from metrics.estimation.contrasts import paired_contrasts
from metrics.protocols.grade_score import grade_measure
from metrics.protocols.grade_table import (
    grade_cells,
    mark_unrelated,
    reply_reading_differences,
    share_of_choices_against_own_grades,
    unrelated_option_choice_share,
)
from studies.frames.frame import NO_PICK
from tests.metrics.frames import build, rotated


def with_unrelated(item: str, picks, **more):
    """The same three rotations with the last option an unrelated one."""
    return [
        {**row, "shown": ["@unrelated" if name == "o2" else name for name in row["shown"]]}
        for row in rotated(item, picks, **more)
    ]


# Rotations of three: o2 o0 o1 | o1 o2 o0 | o0 o1 o2. Always o0: slots 1, 2, 0.
PERFECT, FIRST = (1, 2, 0), (0, 0, 0)


def test_a_cell_has_the_grade_and_what_stands_beside_it():
    rows = [
        *rotated("q1", PERFECT, known_answer=0),
        *rotated("q2", FIRST, known_answer=0),
        *with_unrelated("q1", PERFECT),
        *rotated("q1", PERFECT, judge="k"),
    ]
    for row in rows:
        if "known_answer" in row:
            row["known_answer"] = row["shown"].index("o0")
    got = {(c.judge, c.prompt, c.unrelated): c for c in grade_cells(build(rows))}
    assert {(judge, unrelated) for judge, _, unrelated in got} == {
        ("j", "none"), ("j", "unrelated"), ("k", "none")
    }  # fmt: skip
    cell = got["j", "choice", "none"]
    # Grades 1 and 0; entropies 1 and 0; choices 1 and 1/3.
    assert (cell.grade.value, cell.entropy.value) == pytest.approx((0.5, 0.5))
    assert cell.choice.value == pytest.approx(2 / 3)
    assert cell.corrected.value == pytest.approx((0.5 - 0.579977) / (1 - 0.579977))
    # Slots 1, 2, 0, 0, 0, 0: counts 4, 1, 1.
    p = np.array([4, 1, 1]) / 6
    assert cell.pooled_entropy.value == pytest.approx(-(p * np.log(p)).sum() / np.log(3))
    # q1: three right; q2 always the first slot: o0 stands there once. 4 of 6.
    assert (cell.accuracy.value, cell.accuracy.n) == (pytest.approx(4 / 6), 6)
    assert cell.options == (3,)
    assert cell.unrelated_share.value is None and cell.contradictions.value is None
    assert got["j", "choice", "unrelated"].unrelated_share.value == 0


def test_the_share_of_the_unrelated_option_counts_where_it_was_shown():
    # o2 is the unrelated one; first slots are o2, o1, o0: taken once in three.
    got = unrelated_option_choice_share(
        build([*with_unrelated("q1", FIRST), *rotated("q2", FIRST)])
    )
    assert (got.value, got.n) == (pytest.approx(1 / 3), 3)
    assert "1/3" in got.note
    assert unrelated_option_choice_share(build(rotated("q", FIRST))).value is None


def test_a_selection_below_the_top_grade_contradicts_it():
    graded = rotated("q1", (0, 0, 0))
    graded[0]["scores"] = [5, 3, 1]  # the best chosen
    graded[1]["scores"] = [2, 4, 1]  # a worse one chosen
    graded[2]["scores"] = [4, 4, 0]  # a shared top: no contradiction
    ungraded = {**rotated("q2", (0, 0, 0))[0], "scores": [1, np.nan, 5]}
    got = share_of_choices_against_own_grades(build([*graded, ungraded]))
    assert (got.value, got.n) == (pytest.approx(1 / 3), 3)
    assert (
        share_of_choices_against_own_grades(build(rotated("q", FIRST))).note
        == "the prompt asks for no grades"
    )


def test_two_readings_are_compared_ask_by_ask():
    first = build([*rotated("q1", (0, 1, None)), *rotated("q2", (0, 0, 0))])
    second = build([*rotated("q2", (0, 0, None)), *rotated("q1", (0, 2, 1))])
    got = reply_reading_differences(first, second)[("j", "choice")]
    # q1: same, 1 against 2, unread against 1; q2: same, same, 0 against unread.
    assert (got.differ, got.both_read, got.only_first, got.only_second) == (3, 1, 1, 1)
    assert (got.share.value, got.share.n) == (0.5, 6)
    assert reply_reading_differences(first, first)[("j", "choice")].differ == 0


def test_an_ask_that_one_reading_lacks_is_left_out():
    first = build([*rotated("q1", (0, 1, 2)), *rotated("q2", (0, 0, 0))])
    got = reply_reading_differences(first, build(rotated("q1", (0, 1, 1))))[("j", "choice")]
    assert (got.differ, got.share.n) == (1, 3)
    assert reply_reading_differences(first, build([])) == {}


def test_the_effect_of_the_unrelated_option_is_a_contrast_at_equal_n():
    rows = []
    for k in range(6):
        rows += rotated(f"q{k}", PERFECT) + with_unrelated(f"q{k}", FIRST if k % 2 else PERFECT)
    frame = mark_unrelated(build(rows))
    (got,) = paired_contrasts(frame, ["unrelated"], [grade_measure()], np.random.default_rng(0))
    assert got.raw.value == pytest.approx(0.5)
    assert (got.left, got.right) == (("none",), ("unrelated",))


def test_nothing_read_is_a_reason_in_every_part():
    assert grade_cells(build([])) == []
    (cell,) = grade_cells(build(rotated("q", (None, None, None))))
    for part in ("grade", "entropy", "choice", "corrected", "pooled_entropy", "accuracy",
                 "contradictions", "unrelated_share"):  # fmt: skip
        assert getattr(cell, part).value is None and getattr(cell, part).note, part
    frame = build(rotated("q", (None, None, None)))
    assert (frame["pick"] == NO_PICK).all()
    (one,) = grade_cells(build([{**rotated("q", PERFECT)[0], "orders": 1}]))
    assert one.grade.value is None and one.pooled_entropy.value == 0
