"""Order effects of the options, on hand-made frames and on a simulated judge tied to a place."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from metrics.labels.option_order import option_order_effects, option_order_section
from metrics.labels.pass_by_order import (
    group_pass_rates_by_order,
    pass_by_order_section,
    pass_rates_by_order,
)
from studies.domain import Estimate
from studies.frames.arrangement import Arrangement
from studies.frames.frame import SEP, frame_from_rows

UP, DOWN, MIXED = SEP.join("123"), SEP.join("321"), SEP.join("231")


def frame_of(rows: list[tuple[str, str, float, bool]]) -> pd.DataFrame:
    """Frame of (item, arrangement, score, noise)."""
    return frame_from_rows(
        [
            (k, item, "j", "p", "m", labels, int(noise), noise, 2, "ok", None, None,
             f"[{score}]", None, k)
            for k, (item, labels, score, noise) in enumerate(rows)
        ],
        {},
        study="s",
    )  # fmt: skip


def test_shift_and_changed_share_by_hand() -> None:
    rows = [("a", UP, 1, False), ("a", DOWN, 3, False), ("b", UP, 2, False), ("b", DOWN, 2, False),
            ("c", UP, 3, False), ("c", DOWN, 3, False), ("d", UP, 1, False),
            ("a", UP, 1, True), ("b", UP, 3, True)]  # fmt: skip
    found = option_order_effects(frame_of([(i, a, float(s), n) for i, a, s, n in rows]))["j", "p"]
    assert found.changed.value == pytest.approx(1 / 3)
    assert found.noise_floor.value == pytest.approx(1 / 2)
    assert found.shift["3 2 1"].value == pytest.approx((2 + 0 + 0) / 3)
    assert found.shift["1 2 3"].value == pytest.approx(-2 / 3)
    # Offered first and chosen: a up (1), a down (3), c down (3), d up (1) of seven verdicts.
    assert found.first_place.value == pytest.approx(4 / 7)
    # a: one of its two verdicts is 1, one is 3; b: none; c: both are 3; d: its only verdict is 1.
    assert found.expected_first.value == pytest.approx((0.5 + 0.5 + 0 + 0 + 0 + 1 + 1) / 7)


def test_changes_are_counted_by_pairs_of_orders_and_of_repeats() -> None:
    """First scores of a: 1, 1, 2 in three orders (two of three pairs differ), of b: 2, 2; of c: 1,
    3. The means of a are 2, 1, 2. Repeats: one of three differs."""
    rows = [("a", UP, 1.0, False), ("a", DOWN, 1.0, False), ("a", MIXED, 2.0, False),
            ("a", UP, 3.0, False), ("b", UP, 2.0, False), ("b", DOWN, 2.0, False),
            ("b", DOWN, 2.0, False), ("b", DOWN, 2.0, True), ("c", UP, 1.0, False),
            ("c", MIXED, 3.0, False), ("d", UP, 1.0, False)]  # fmt: skip
    found = option_order_effects(frame_of(rows))["j", "p"]
    assert found.changed.value == pytest.approx((2 / 3 + 0 + 1) / 3) and found.changed.n == 3
    assert found.noise_floor.value == pytest.approx(1 / 3) and found.noise_floor.n == 3


def noisy_study(seed: int, first_bias: float, repeats: int = 3) -> pd.DataFrame:
    """24 answers in three orders; with probability `first_bias` the option listed first is chosen,
    else one drawn from a distribution of the answer's own."""
    draw = np.random.default_rng([seed, repeats])
    rows = []
    for k in range(24):
        own = draw.dirichlet([1.0, 1.0, 1.0])
        for labels in (UP, DOWN, MIXED) * repeats:
            biased = draw.random() < first_bias
            score = float(labels[0]) if biased else float(draw.choice([1, 2, 3], p=own))
            rows.append((f"q{k}", labels, score, False))
    return frame_of(rows)


@pytest.mark.parametrize("repeats", [1, 3])
def test_only_a_judge_that_favours_a_place_is_said_to_be_moved_by_the_order(repeats: int) -> None:
    null = [option_order_effects(noisy_study(seed, 0.0, repeats))["j", "p"] for seed in range(8)]
    assert not any(one.is_shown for one in null)
    moved = [option_order_effects(noisy_study(seed, 0.7, repeats))["j", "p"] for seed in range(8)]
    assert all(one.is_shown for one in moved)
    if repeats == 1:
        assert all(one.noise_floor.value is None for one in null)
    else:  # without an order effect, another order changes as much as a repeat
        gaps = [one.changed.value - one.noise_floor.value for one in null]
        assert np.mean(gaps) == pytest.approx(0, abs=0.04)
        assert all(one.exceeds_noise for one in moved)


def test_a_changed_share_is_shown_only_above_the_noise_and_with_a_known_one() -> None:
    rows = [(f"q{k}", labels, float(labels[0]), False) for k in range(30) for labels in (UP, DOWN)]
    tied = option_order_effects(frame_of(rows))["j", "p"]
    assert tied.is_shown and not tied.exceeds_noise, "no repeat, but always the first place"
    known = replace(tied, noise_floor=Estimate(0.1, 0.0, 0.3))
    assert known.exceeds_noise
    for floor in (Estimate(1.0, 0.9, 1.0), Estimate(None)):
        even = replace(tied, noise_floor=floor, first_place=tied.expected_first)
        assert not even.exceeds_noise and not even.is_shown


def test_a_judge_tied_to_the_first_place_changes_every_score() -> None:
    rows = [(f"q{k}", labels, float(labels[0]), False) for k in range(30) for labels in (UP, DOWN)]
    found = option_order_effects(frame_of(rows))["j", "p"]
    assert found.changed.value == 1.0 and found.first_place.value == 1.0
    assert found.expected_first.value == pytest.approx(0.5)
    assert found.shift["3 2 1"].value == pytest.approx(2.0)


def test_a_judge_tied_to_a_score_of_a_decimal_scale_is_tied_to_no_place() -> None:
    tenths = [".1", ".2", ".3"]
    orders = (SEP.join(tenths), SEP.join(tenths[::-1]))
    rows = [(f"q{k}", labels, 0.1, False) for k in range(6) for labels in orders]
    found = option_order_effects(frame_of(rows))["j", "p"]
    assert found.first_place.value == found.expected_first.value == 0.5


def test_one_arrangement_has_no_order_effect_to_measure() -> None:
    assert option_order_effects(frame_of([("a", UP, 1.0, False), ("b", UP, 2.0, False)])) == {}


PASS_FIRST, FAIL_FIRST = SEP.join(("pass", "fail")), SEP.join(("fail", "pass"))
BY_HAND = [
    # item, order, score: a and b change with the order, c does not, d was judged in one order only
    ("a", PASS_FIRST, 1.0, False), ("a", FAIL_FIRST, 0.0, False),
    ("b", PASS_FIRST, 1.0, False), ("b", PASS_FIRST, 0.0, False), ("b", FAIL_FIRST, 0.0, False),
    ("c", PASS_FIRST, 0.0, False), ("c", FAIL_FIRST, 0.0, False),
    ("d", PASS_FIRST, 1.0, False),
    ("a", FAIL_FIRST, 1.0, True),
]  # fmt: skip


def test_pass_rates_by_order_by_hand() -> None:
    found = pass_rates_by_order(frame_of(BY_HAND), ("j", "p"))
    assert found.pass_first.value == pytest.approx((1 + 0.5 + 0) / 3)  # without d and the noise
    assert found.fail_first.value == 0.0
    assert found.shift.value == pytest.approx(0.5) and found.shift.n == 3


def random_passes(seed: int) -> pd.DataFrame:
    draw = np.random.default_rng(seed)
    rows = [
        (f"q{k}", order, float(draw.random() < rate), False)
        for k in range(60)
        for order, rate in ((PASS_FIRST, 0.7), (FAIL_FIRST, 0.5))
        if draw.random() < 0.9
    ]
    return frame_of(rows)


def test_the_shift_is_the_difference_of_the_rates_and_changes_sign_with_the_names() -> None:
    frame = random_passes(3)
    found = pass_rates_by_order(frame, ("j", "p"))
    assert found.shift.value == pytest.approx(found.pass_first.value - found.fail_first.value)
    # A fail is a pass of the opposite judge, whose options stand in the opposite order.
    mirrored = frame.assign(score_0=1 - frame["score_0"])
    other = pass_rates_by_order(mirrored, ("j", "p"))
    assert other.shift.value == pytest.approx(-found.shift.value)
    assert (other.shift.low, other.shift.high) == pytest.approx(
        (-found.shift.high, -found.shift.low)
    )


def test_the_groups_together_are_the_whole() -> None:
    frame = random_passes(5)
    category = np.where(frame["item"].cat.codes.to_numpy() % 3 == 0, "x", "y")
    frame = frame.assign(category=pd.Categorical(category))
    whole = pass_rates_by_order(frame, ("j", "p"))
    groups = group_pass_rates_by_order(frame, ("j", "p"), "category")
    assert set(groups) == {"x", "y"}
    assert sum(one.shift.n for one in groups.values()) == whole.shift.n
    mean = sum(one.shift.n * one.shift.value for one in groups.values()) / whole.shift.n
    assert mean == pytest.approx(whole.shift.value)
    section = pass_by_order_section(frame)["j"]["p"]
    assert section["shift"] == whole.shift
    assert section["by_category"]["x"]["shift"] == groups["x"].shift
    assert "by_contestant" not in section  # there is one


def test_groups_are_those_of_one_judge_with_a_name() -> None:
    """Item a has no category, b and c have; b changes by a half, c does not."""
    frame = frame_of(BY_HAND)
    category = frame["item"].astype(str).map({"a": "", "b": "x", "c": "y", "d": "y"})
    frame = frame.assign(category=pd.Categorical(category))
    groups = group_pass_rates_by_order(frame, ("j", "p"), "category")
    assert {name: one.shift.value for name, one in groups.items()} == {"x": 0.5, "y": 0.0}
    for rater in (("other", "p"), ("j", "other")):
        assert pass_rates_by_order(frame, rater).shift.value is None
        assert group_pass_rates_by_order(frame, rater, "category") == {}


def test_an_order_without_its_counterpart_has_no_shift() -> None:
    one = frame_of([("a", PASS_FIRST, 1.0, False), ("b", PASS_FIRST, 0.0, False)])
    assert pass_rates_by_order(one, ("j", "p")).shift.value is None
    assert pass_by_order_section(one) == {}
    assert pass_by_order_section(frame_of([("a", UP, 1.0, False), ("a", DOWN, 2.0, False)])) == {}


@pytest.mark.extra
def test_its_interval_covers_the_true_shift() -> None:
    covered = sum(
        (one := pass_rates_by_order(random_passes(seed), ("j", "p")).shift).low <= 0.2 <= one.high
        for seed in range(200)
    )
    assert covered >= 181  # 190 expected; below 181 in less than 1 of 200 runs of 95 %


def test_the_section_numbers_the_places_from_one() -> None:
    rows = [(f"q{k}", labels, float(labels[0]), False) for k in range(6) for labels in (UP, DOWN)]
    found = option_order_section(frame_of(rows))["j"]["p"]
    shares = {place: one["share"].value for place, one in found["places"].items()}
    assert shares == {"1": 1.0, "2": 0.0, "3": 0.0}
    assert found["changed"].value == 1.0 and "first_letter" not in found


def test_the_section_has_the_numbers_of_the_effects() -> None:
    rows = [(f"q{k}", labels, float(labels[0]), False) for k in range(4) for labels in (UP, DOWN)]
    frame = frame_of(rows)
    effects, section = option_order_effects(frame)["j", "p"], option_order_section(frame)
    cell = section["j"]["p"]
    assert list(section) == ["j"] and list(section["j"]) == ["p"]
    for name in ("changed", "noise_floor", "first_place", "expected_first", "shift"):
        assert cell[name] == getattr(effects, name)
    assert (
        list(cell["places"]) == ["1", "2", "3"] and cell["place_entropy"] == effects.place_entropy
    )
    assert effects.letter is None and "first_letter" not in cell
    # With letters: the option A is chosen in the first order, B in the other.
    ab, ba = (SEP.join(Arrangement(names, ("A", "B")).labels) for names in ("12", "21"))
    lettered = frame_of([(f"q{k}", labels, 1.0, False) for k in range(4) for labels in (ab, ba)])
    cell = option_order_section(lettered)["j"]["p"]
    assert cell["first_letter"]["share"].value == cell["first_letter"]["expected"].value == 0.5
