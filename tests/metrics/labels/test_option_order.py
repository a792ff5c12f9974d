"""Order effects of the options, on hand-made frames and on a simulated judge tied to a place."""

from __future__ import annotations

import pandas as pd
import pytest

from metrics.labels.option_order import option_order_effects
from studies.frames.frame import SEP, frame_from_rows

UP, DOWN = SEP.join("123"), SEP.join("321")


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


def test_a_judge_tied_to_the_first_place_changes_every_score() -> None:
    rows = [(f"q{k}", labels, float(labels[0]), False) for k in range(30) for labels in (UP, DOWN)]
    found = option_order_effects(frame_of(rows))["j", "p"]
    assert found.changed.value == 1.0 and found.first_place.value == 1.0
    assert found.expected_first.value == pytest.approx(0.5)
    assert found.shift["3 2 1"].value == pytest.approx(2.0)


def test_one_arrangement_has_no_order_effect_to_measure() -> None:
    assert option_order_effects(frame_of([("a", UP, 1.0, False), ("b", UP, 2.0, False)])) == {}
