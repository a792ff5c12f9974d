"""Distribution, criteria order, letters, repeats, reliability and contradictions by hand."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from metrics.labels.compared_points import MEAN_LEVEL, NEAR_LABEL, PASS_RATE, RIGHT_BY_LABEL
from metrics.labels.label_sections import scores_section
from metrics.labels.labelled_rows import confusion_cell_mask
from metrics.labels.option_order import option_order_effects
from metrics.labels.point_table import answer_verdicts, chosen_options, table_scale
from metrics.labels.reliability import reliability_curves
from metrics.labels.scores import score_distribution
from metrics.labels.scores.criteria_order import _level_gap_at_place, criteria_order_effects
from metrics.labels.scores.score_contradictions import score_contradictions
from metrics.labels.scores.score_distribution import repeat_variation, score_distributions
from studies.domain import Estimate
from studies.frames.arrangement import Arrangement
from studies.frames.frame import SEP, frame_from_rows

UP, DOWN = Arrangement(("1", "2", "3")), Arrangement(("3", "2", "1"))
AB, BA = (Arrangement(("1", "2"), (), order) for order in (("a", "b"), ("b", "a")))


def frame_of(
    rows: list[tuple[str, str, Arrangement | None, object, bool]],
    labels: dict[str, object] | None = None,
    probabilities: str | None = None,
    scale: tuple[str, ...] = (),
) -> pd.DataFrame:
    """Frame of (item, shown, arrangement, scores or pick, noise); no arrangement: a pair."""
    made = [
        (k, item, "j", "p" if one else "pair", shown, SEP.join(one.labels if one else "AB"),
         int(noise), noise, 2, "ok" if value is not None else "unreadable",
         None if one else value, None if one else 1,
         str(value) if one and value is not None else None, probabilities, k)
        for k, (item, shown, one, value, noise) in enumerate(rows)
    ]  # fmt: skip
    facts = {item: {"labels": {"m": value}} for item, value in (labels or {}).items()}
    return frame_from_rows(made, facts, study="s", scale_of=lambda _: scale)


def test_distribution_by_arrangement_leaves_unusable_replies_out() -> None:
    rows = [("q1", "m", UP, [1.0], False), ("q2", "m", UP, [1.0], False),
            ("q3", "m", UP, None, False), ("q1", "m", DOWN, [3.0], False),
            ("q2", "m", DOWN, [1.0], False), ("q2", "m", DOWN, [2.0], True)]  # fmt: skip
    found = score_distributions(frame_of(rows))["j", "p"]
    assert found.values == (1.0, 3.0)
    up, down = found.arrangements
    assert (up.name, down.name) == ("1 2 3", "3 2 1")
    assert (up.mean.value, up.mean.n) == (1.0, 2)
    assert down.mean.value == 2.0 and down.shares[3.0].value == 0.5
    entropy = -(0.75 * math.log(0.75) + 0.25 * math.log(0.25))
    assert found.effective_values == pytest.approx(math.exp(entropy))


def test_a_rubric_is_distributed_by_the_levels_of_all_criteria() -> None:
    found = score_distributions(frame_of([("q", "m", AB, [1.5, 1.0, 2.0], False)]))["j", "p"]
    assert found.mean.value == 1.5
    assert {value: one.value for value, one in found.arrangements[0].shares.items()} == {
        1.0: 0.5, 2.0: 0.5
    }  # fmt: skip


def test_level_of_a_criterion_by_its_place() -> None:
    # Criterion a: level 2 when listed first, 1 when second; b: always 2. The mean is 2 or 1.5.
    rows = [(f"q{k}", "m", one, scores, False) for k in range(6)
            for one, scores in ((AB, [2.0, 2.0, 2.0]), (BA, [1.5, 2.0, 1.0]))]  # fmt: skip
    found = criteria_order_effects(frame_of(rows))["j", "p"]
    assert found.overall.changed.value == 1.0
    assert not found.is_shown, "nothing was repeated, and the interval of 0.5 includes 0"
    assert replace(found, first=Estimate(0.5, 0.1, 1.1)).is_shown
    noisy = replace(found.overall, noise_floor=Estimate(0.3, 0.1, 0.6))
    assert replace(found, overall=noisy).is_shown
    assert found.overall.shift["a b"].value == pytest.approx(0.5)
    assert [one.value for one in found.by_place["a"]] == pytest.approx([1.0, -1.0])
    assert [one.value for one in found.by_place["b"]] == pytest.approx([0.0, 0.0])
    assert found.first.value == pytest.approx(0.5)
    assert option_order_effects(frame_of(rows)) == {}, "the options were in one order"
    one_order = [row for row in rows if row[2] is AB]
    assert criteria_order_effects(frame_of(one_order)) == {}
    bare = [(item, name, one, scores[:1], noise) for item, name, one, scores, noise in rows]
    assert criteria_order_effects(frame_of(bare)) == {}  # no levels are stored


def test_crossed_letters_tell_a_taste_for_a_letter_from_one_for_a_place() -> None:
    offered = [Arrangement(options, letters) for options in (("1", "2"), ("2", "1"))
               for letters in (("A", "B"), ("B", "A"))]  # fmt: skip
    rows = [(f"q{k}", "m", one, [one.option_scores[one.letters.index("A")]], False)
            for k in range(10) for one in offered]  # fmt: skip
    found = option_order_effects(frame_of(rows))["j", "p"]
    assert found.letter is not None
    assert (found.letter.share.value, found.letter.expected.value) == (1.0, 0.5)
    assert found.first_place.value == 0.5 and found.place_entropy == pytest.approx(1.0)
    placed = [(item, who, one, [one.option_scores[0]], noise) for item, who, one, _, noise in rows]
    found = option_order_effects(frame_of(placed))["j", "p"]
    assert found.letter is not None
    assert found.letter.share.value == 0.5 and found.first_place.value == 1.0
    assert found.place_entropy == 0.0


def test_repeats_in_the_same_arrangement() -> None:
    rows = [("q1", "m", UP, [1.0], False), ("q1", "m", UP, [3.0], True),
            ("q2", "m", UP, [2.0], False), ("q2", "m", UP, [2.0], True),
            ("q3", "m", DOWN, [2.0], False),
            ("q4", "m", DOWN, [2.0], False), ("q4", "m", DOWN, [2.0], True)]  # fmt: skip
    found = repeat_variation(frame_of(rows))["j", "p"]
    assert found.several.value == pytest.approx(1 / 3)
    assert found.deviation.value == pytest.approx(math.sqrt(2) / 3)


def test_reliability_is_the_mean_label_by_score() -> None:
    rows = [(f"q{k}", "m", UP, [score], False) for k, score in enumerate((1.0, 1.0, 3.0, 3.0))]
    frame = frame_of(rows, {"q0": 1, "q1": 2, "q2": 3})
    first, second = reliability_curves(frame)["j", "p"]
    assert (first.value, first.label.value) == (1.0, 1.5)
    assert (second.value, second.label.value, second.label.n) == (3.0, 3.0, 1)


def test_reliability_of_pass_uses_the_probability_of_a_pass() -> None:
    offered = Arrangement(("fail", "pass"))
    rows = [(f"q{k}", "m", offered, [1.0], False) for k in range(4)]
    labels = {"q0": "pass", "q1": "pass", "q2": "pass", "q3": "fail"}
    (point,) = reliability_curves(frame_of(rows, labels, "[0.3, 0.7]"))["j", "p"]
    assert point.value == pytest.approx(0.7) and point.label.value == 0.75
    assert point.by_probability


def test_reliability_without_probabilities_is_by_the_share_of_passes() -> None:
    """Shares 0, 1/2, 4/5 and 1: the fifth bin starts at 4/5. Noise does not count."""
    shares = {"q0": "0", "q1": "10", "q2": "11110", "q3": "1"}
    offered = Arrangement(("fail", "pass"))
    rows = [(item, "m", offered, [float(one)], False) for item, said in shares.items()
            for one in said]  # fmt: skip
    rows.append(("q0", "m", offered, [1.0], True))
    frame = frame_of(rows, {"q0": "fail", "q1": "pass", "q2": "pass", "q3": "fail"})
    found = reliability_curves(frame)["j", "p"]
    assert [one.value for one in found] == pytest.approx([0, 0.5, 0.9])
    assert [(one.label.value, one.label.n) for one in found] == [(0, 1), (1, 1), (0.5, 2)]
    assert not any(one.by_probability for one in found)


def test_contradictions_leave_ties_and_equal_scores_apart() -> None:
    pair = f"m{SEP}n"
    scores = {"q1": (3, 1), "q2": (1, 3), "q3": (2, 2), "q4": (3, 1)}
    rows = [(item, who, UP, [float(value)], False) for item, both in scores.items()
            for who, value in zip("mn", both, strict=True)]  # fmt: skip
    # m wins q1 and q2 and q3; q4 is won once by each, which is a tie.
    picks = [("q1", pair, 0), ("q2", pair, 0), ("q3", pair, 0), ("q4", pair, 0), ("q4", pair, 1)]
    rows += [(item, shown, None, pick, False) for item, shown, pick in picks]
    found = score_contradictions(frame_of(rows))["j"]
    assert (found.share.value, found.share.n) == (0.5, 2)
    assert (found.equal_scores, found.ties) == (1, 1)
    assert score_contradictions(frame_of(rows[:8])) == {}
    # A call repeated to measure noise changes nothing.
    assert score_contradictions(frame_of([("q1", "m", UP, [1.0], True), *rows]))["j"] == found


def named(options: tuple[str, ...], letters: tuple[str, ...] = ()) -> Arrangement:
    return Arrangement(options, letters)


def test_named_levels_have_shares_by_place_if_the_scale_is_known() -> None:
    # Always the level offered first, whichever it is: rank 1 poor, 2 fair, 3 good.
    scale = ("poor", "fair", "good")
    orders = [named(scale[k:] + scale[:k]) for k in range(3)]
    rows = [(f"q{k}", "m", one, [float(scale.index(one.options[0]) + 1)], False)
            for k in range(8) for one in orders]  # fmt: skip
    made = frame_of(rows, scale=scale)
    found = option_order_effects(made)["j", "p"]
    assert [one.share.value for one in found.places] == [1.0, 0.0, 0.0]
    assert [one.expected.value for one in found.places] == pytest.approx([1 / 3] * 3)
    assert found.place_entropy == 0.0
    assert set(found.shift) == {" ".join(one.options) for one in orders}, "names without ranks"
    unknown = option_order_effects(frame_of(rows))["j", "p"]
    assert unknown.places == () and unknown.first_place.value is None
    assert unknown.changed.value == found.changed.value == 1.0


def test_named_levels_with_letters_keep_both() -> None:
    scale = ("poor", "good")
    offered = [named(options, letters) for options in (scale, scale[::-1])
               for letters in (("A", "B"), ("B", "A"))]  # fmt: skip
    rows = [(f"q{k}", "m", one, [float(scale.index(one.options[one.letters.index("A")]) + 1)],
             False) for k in range(6) for one in offered]  # fmt: skip
    found = option_order_effects(frame_of(rows, scale=scale))["j", "p"]
    assert found.letter is not None and found.letter.share.value == 1.0
    assert [one.share.value for one in found.places] == [0.5, 0.5]


def test_spread_of_the_expected_score() -> None:
    # 1 and 3 with probability 1/4 and 3/4: expected 2.5, standard deviation √0.75.
    frame = frame_of([("q", "m", UP, [3.0], False)], probabilities="[0.25, 0.0, 0.75]")
    found = score_distributions(frame)["j", "p"].expected
    assert found is not None
    assert found.mean.value == pytest.approx(2.5)
    assert found.spread.value == pytest.approx(math.sqrt(0.75))
    assert score_distributions(frame_of([("q", "m", UP, [3.0], False)]))["j", "p"].expected is None


def test_the_scale_of_a_table_has_the_step_of_its_options() -> None:
    wide = Arrangement(("0", "5", "10"), (), ("a", "b"))
    frame = frame_of([("q", "m", wide, [5.0, 5.0, 5.0], False)], {"q": 10.0})
    for table in (answer_verdicts(frame), chosen_options(frame)):
        scale = table_scale(table)
        assert (scale.low, scale.high, scale.step) == (0, 10, 5)
        assert scale.within_one_step(np.array([5.0, -5.0, 10.0])).tolist() == [True, True, False]


@pytest.mark.parametrize("whole", [0, 90])
def test_neighbours_on_a_scale_of_tenths_are_one_step_apart(whole: int) -> None:
    tenths = [f"{whole + k / 10:g}" for k in range(11)]
    rows = [(f"q{k}", "m", Arrangement(tuple(tenths)), [float(tenths[k + 1])], False)
            for k in range(10)]  # fmt: skip
    frame = frame_of(rows, {f"q{k}": float(tenths[k]) for k in range(10)})
    assert scores_section(frame)["j"]["p"]["within_one"].value == 1.0
    assert NEAR_LABEL.estimate(frame).value == 1.0


def test_measures_of_single_answers_by_hand() -> None:
    # 2 of 1 to 5 is a quarter of the way, 3 of 1 to 3 all of it; a pair and a repeat do not count.
    wide = Arrangement(("1", "2", "3", "4", "5"))
    rows = [("q1", "m", wide, [2.0], False), ("q2", "m", UP, [3.0], False),
            ("q2", "m", UP, [1.0], True), ("q3", "x\x1fy", None, 0, False)]  # fmt: skip
    assert MEAN_LEVEL.estimate(frame_of(rows)).value == pytest.approx((1 / 4 + 1) / 2)
    assert MEAN_LEVEL.estimate(frame_of(rows[2:3])).value is None
    verdict = Arrangement(("fail", "pass"))
    passes = [(f"q{k}", "m", verdict, [score], False) for k, score in enumerate((1.0, 1, 0, 1))]
    frame = frame_of(passes, {"q0": "pass", "q1": "fail", "q2": "fail"})
    assert (PASS_RATE.estimate(frame).value, MEAN_LEVEL.estimate(frame).value) == (0.75, None)
    assert (RIGHT_BY_LABEL.estimate(frame).value, RIGHT_BY_LABEL.estimate(frame).n) == (
        pytest.approx(2 / 3),
        3,
    )
    cells = {
        cell: frame["item"][confusion_cell_mask(frame, cell)].tolist()
        for cell in ("pass_good", "pass_bad", "fail_good", "fail_bad", "pass_", "all_good")
    }
    assert cells == {
        "pass_good": ["q0"], "pass_bad": ["q1"], "fail_good": [], "fail_bad": ["q2"],
        "pass_": [], "all_good": [],
    }  # fmt: skip


def test_more_values_than_can_be_listed_leave_their_shares_out(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    frame = frame_of([(f"q{k}", "m", UP, [float(k)], False) for k in (1, 2, 2, 3)])
    monkeypatch.setattr(score_distribution, "MAX_VALUES", 3)
    listed = score_distributions(frame)["j", "p"]
    assert listed.values == (1.0, 2.0, 3.0) and len(listed.arrangements[0].shares) == 3
    monkeypatch.setattr(score_distribution, "MAX_VALUES", 2)
    found = score_distributions(frame)["j", "p"]
    assert found.values == () and found.arrangements[0].shares == {}
    assert found.mean == listed.mean and found.mean.value == 2.0
    # shares 1/4, 1/2, 1/4: exp(½ ln 2 + ½ ln 4) = 2^1.5
    assert found.effective_values == pytest.approx(2**1.5)


def test_a_criterion_at_one_place_of_each_answer_has_no_level_to_compare() -> None:
    """q1 was judged with a first only, q2 with b first only: no answer has both."""
    rows = [("q1", "m", AB, [1.5, 1.0, 2.0], False), ("q2", "m", BA, [1.5, 2.0, 1.0], False)]
    found = criteria_order_effects(frame_of(rows))["j", "p"]
    for places in found.by_place.values():
        assert [one.value for one in places] == [None, None]
    levels = chosen_options(frame_of(rows[:1]))
    for place in (0, 1, 2):
        alone = _level_gap_at_place(levels[levels["criterion"] == "a"], place)
        assert (alone.value, alone.unit) == (None, "score")
    one_answer = [*rows, ("q1", "m", BA, [2.0, 1.0, 3.0], False)]
    a, b = criteria_order_effects(frame_of(one_answer))["j", "p"].by_place.values()
    # q1: a has 1 at place 1 and 3 at place 2; b has 2 at place 2 and 1 at place 1.
    assert [one.value for one in (*a, *b)] == [-2.0, 2.0, -1.0, 1.0]
