"""Scales of scores, graded scores of pairs, and stacked frames, by hand."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from metrics.estimation.frame_stacking import stack_frames
from metrics.estimation.graded_scores import graded_preference_for_first_slot
from metrics.estimation.intervals import mean_estimate
from metrics.estimation.score_scale import UNKNOWN_SCALE, ScoreScale, scale_of
from studies.frames.arrangement import Arrangement
from tests.metrics.frames import build, pair

ONE_TO_TEN = ScoreScale(1, 10, 9)
NOTHING = np.zeros(0)


def test_a_scale_is_that_of_all_options_offered():
    assert scale_of([Arrangement(("1", "5")), Arrangement(("0", "3"))]) == ScoreScale(0, 5, 5, 3)
    assert scale_of([]) == UNKNOWN_SCALE
    assert scale_of([Arrangement(("1", "5")), Arrangement(())]) == UNKNOWN_SCALE


def test_a_scale_grows_to_contain_what_was_seen():
    seen = np.array([3.0, math.nan, 12.0])
    assert ONE_TO_TEN.extended_to(seen) == ScoreScale(1, 12, 11)
    assert ONE_TO_TEN.extended_to(seen, np.array([-1.0])) == ScoreScale(-1, 12, 13)
    assert ONE_TO_TEN.extended_to(np.array([4.0, 5.0])) == ONE_TO_TEN
    assert ONE_TO_TEN.extended_to(np.array([math.nan]), NOTHING) == ONE_TO_TEN
    unknown = UNKNOWN_SCALE.extended_to(np.array([2.0, 7.0]))
    assert (unknown.span, unknown.low, unknown.high) == (5, -math.inf, math.inf)
    assert unknown.extended_to(np.array([3.0, 4.0])).span == 5
    assert (ONE_TO_TEN.unit, UNKNOWN_SCALE.unit) == ("score, 1 to 10", "score")


@pytest.mark.parametrize(
    ("options", "step", "near", "levels"),
    [
        (("1", "2", "3"), 1, [True, True, False], [1, 2, 3]),
        (("0", "25", "50", "75", "100"), 25, [True, True, True], [0, 0, 0]),
        (("1", "0.75", "0.5", "0.25", "0"), 0.25, [False, False, False], [1.25, 2.0, 3.25]),
        (("1", "3", "7"), 2, [True, True, True], [1, 3, 3]),
        ((), 1, [True, True, False], [1, 2, 3]),
    ],
    ids=["whole numbers", "quarters of 100", "quarters of 1", "uneven", "unknown"],
)
def test_one_step_is_the_smallest_distance_of_two_options(options, step, near, levels):
    scale = scale_of([Arrangement(options)]) if options else UNKNOWN_SCALE
    assert scale.step == step and Arrangement(options).score_step == step
    assert scale.within_one_step(np.array([-0.3, 1.0, 1.1])).tolist() == near
    assert scale.extended_to(np.array([-9.0, 200.0])).step == step
    assert scale.nearest_level(np.array([1.2, 2.1, 3.2])).tolist() == levels


def test_named_options_are_their_ranks_apart():
    assert Arrangement(("good", "bad"), ranks=(3.0, 1.0)).score_step == 2
    assert Arrangement(("pass", "fail")).score_step == 1
    tenths = Arrangement(tuple(f"{k / 10:g}" for k in range(11)))
    gaps = np.diff([float(one) for one in tenths.options])
    assert scale_of([tenths]).within_one_step(gaps).all()


def test_means_distances_and_differences_end_at_the_limits_of_the_scale():
    values, items = np.array([1.0, 10.0, 1.0, 10.0]), np.arange(4)
    mean = ONE_TO_TEN.mean_score(values, items)
    assert (mean.value, mean.low, mean.high, mean.unit) == (5.5, 1, 10, "score, 1 to 10")
    distance = ONE_TO_TEN.mean_distance(np.array([0.0, 9.0]), items[:2])
    assert (distance.low, distance.high) == (0, 9)
    difference = ONE_TO_TEN.mean_difference(np.array([-9.0, 9.0]), items[:2])
    assert (difference.value, difference.low, difference.high) == (0, -9, 9)


def test_on_an_unknown_scale_nothing_is_cut_and_equal_values_use_the_span():
    items = np.arange(2)
    free = UNKNOWN_SCALE.mean_difference(np.array([-9.0, 9.0]), items)
    assert free == mean_estimate([-9.0, 9.0], items)
    assert UNKNOWN_SCALE.mean_distance(np.array([0.0, 9.0]), items).low == 0
    assert UNKNOWN_SCALE.mean_distance(np.array([0.0, 9.0]), items).high > 9
    share = 1.959964**2 / (2 + 1.959964**2)
    seen = UNKNOWN_SCALE.extended_to(np.array([2.0, 7.0]))
    assert seen.mean_score(np.array([3.0, 3.0]), items).high == pytest.approx(
        3 + 5 * share, abs=1e-5
    )
    assert UNKNOWN_SCALE.mean_score(np.array([3.0, 3.0]), items).high is None
    # On the known scale the farther end of it counts: 10 − 3.
    known = ONE_TO_TEN.mean_score(np.array([3.0, 3.0]), items)
    assert known.high == pytest.approx(3 + 7 * share, abs=1e-5)


@pytest.mark.parametrize(
    ("seen", "ends"),
    [
        ((0.2, 0.9), (0, 1)), ((1, 5), (1, 5)), ((2, 4.5), (1, 5)), ((0, 3), (0, 5)),
        ((6, 2), (1, 7)), ((9, 1), (1, 10)), ((0, 8), (0, 10)), ((3, 70), (0, 100)),
        ((-1, 1), (-math.inf, math.inf)), ((0, 101), (-math.inf, math.inf)),
    ],
)  # fmt: skip
def test_an_unknown_scale_ends_where_the_narrowest_usual_one_does(seen, ends):
    scale = UNKNOWN_SCALE.extended_to(np.array(seen[:1]), np.array(seen[1:]))
    assert scale.ends == ends and scale.extended_to(np.array([4.0])).seen == (
        min(*seen, 4), max(*seen, 4)
    )  # fmt: skip
    assert ONE_TO_TEN.ends == (1, 10) and ONE_TO_TEN.largest_distance == 9


def test_the_interval_stays_on_the_scale_and_covers_as_often_near_its_ends():
    """Labels of a good judge's highest score: 5 with probability .8, else 4, on few items. The true
    mean lies on the scale, so an interval without its outside contains it as often."""
    rng, truth = np.random.default_rng(5), 4.8
    scale = UNKNOWN_SCALE.extended_to(np.array([1.0, 5.0]))
    left = covered = before = 0
    for _ in range(400):
        labels, items = np.where(rng.random(6) < 0.8, 5.0, 4.0), np.arange(6)
        cut = scale.mean_score(labels, items)
        free = mean_estimate(labels, items, effect=4)
        assert 1 <= cut.low <= cut.value <= cut.high <= 5
        assert (cut.value, cut.low) == (free.value, max(free.low, 1))
        left += free.high > 5
        covered += cut.low <= truth <= cut.high
        before += free.low <= truth <= free.high
    assert left > 200 and covered == before > 0.9 * 400
    gap = scale.mean_difference(np.array([-4.0, 4.0]), np.arange(2))
    apart = scale.mean_distance(np.array([0.0, 4.0]), np.arange(2))
    assert (gap.low, gap.high, apart.low, apart.high) == (-4, 4, 0, 4)


def scores(rows: list[dict[str, Any]]) -> list[float]:
    return [round(float(one), 6) for one in graded_preference_for_first_slot(build(rows))]


def test_scores_are_divided_by_the_range_that_the_judge_gave():
    rows = pair("q1", None, None, status="ok") + pair("q2", None, None, status="ok")
    for row, both in zip(rows, [(9, 5), (4, 4), (1, 3), None], strict=True):
        row["scores"] = both
    # Of 1 … 9: (9 − 5)/8, 0, (1 − 3)/8; the last reply has none.
    assert scores(rows)[:3] == [0.5, 0, -0.25]
    assert math.isnan(scores(rows)[3])
    # A judge that gave one score only: not divided by 0.
    assert scores([{**rows[0], "scores": (5, 5)}]) == [0]
    # Another judge has its own range: of 4 … 6.
    other = {**rows[0], "judge": "k", "scores": (4, 6)}
    assert scores([*rows[:3], other]) == [0.5, 0, -0.25, -1]


def test_levels_count_a_half_or_one_and_probabilities_their_difference():
    rows = pair("q1", 0, 1, prompt="arena-hard") + pair("q2", "tie", None, prompt="arena-hard")
    rows[0]["margin"] = 2
    assert scores(rows)[:3] == [1, -0.5, 0]
    assert math.isnan(scores(rows)[3])
    # Verdicts without levels have no grade, unless they have probabilities.
    plain = pair("q1", 0, 1)
    assert np.isnan(graded_preference_for_first_slot(build(plain))).all()
    plain[0]["p"] = (0.75, 0.25)
    assert scores(plain)[0] == 0.5 and math.isnan(scores(plain)[1])
    lost = [{**plain[0], "status": "unreadable"}]
    assert math.isnan(scores(lost)[0])


def test_probabilities_come_before_levels_and_levels_before_scores():
    row = {"item": "q", "shown": "xy", "pick": 0, "margin": 2, "scores": (1, 2)}
    assert scores([row]) == [1]
    assert scores([{**row, "p": (0.25, 0.5)}]) == [-0.25]


def test_stacked_frames_name_their_source_and_share_items():
    one, two = build(pair("q1", 0, 1)), build([*pair("q1", 1, 1), *pair("q2", 0, 0, judge="k")])
    got = stack_frames({"first": one, "second": two}, "source")
    assert got["source"].astype(str).tolist() == ["first"] * 2 + ["second"] * 4
    assert got["item"].astype(str).tolist() == ["q1"] * 4 + ["q2"] * 2
    assert got["judge"].astype(str).tolist() == ["j"] * 4 + ["k"] * 2
    assert got["pick"].tolist() == [0, 1, 1, 1, 0, 0]
    assert list(got["item"].cat.categories) == ["q1", "q2"]
    assert list(got.columns) == [*one.columns, "source"]
    with pytest.raises(ValueError, match="one frame"):
        stack_frames({}, "source")


def test_a_column_that_one_frame_lacks_is_missing_there():
    one, two = build(pair("q1", 0, 1)), build(pair("q2", 0, 1, family="f", families=("f", "g")))
    got = stack_frames({"a": one, "b": two}, "source")
    assert got["family"].isna().tolist() == [True, True, False, False]
    assert got["family_1"].astype(object).tolist()[2:] == ["g", "g"]
    asked = one.assign(question=one["item"].cat.rename_categories({"q1": "topic"}))
    both = stack_frames({"a": asked, "b": two}, "source")
    assert both["question"].astype(str).tolist() == ["topic"] * 2 + ["q2"] * 2
