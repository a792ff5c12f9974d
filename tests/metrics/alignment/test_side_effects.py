"""Side effects of a new prompt: signs of their changes, names, and the excess of length by hand."""

from __future__ import annotations

from typing import Any

import pytest
from scipy import stats

from metrics.estimation.contrasts import Contrast
from metrics.summary.alignment import side_effects as s
from studies.domain import Estimate
from studies.texts.twin_families import CONTROLS, FAMILIES
from tests.metrics.frames import build, pair

PLAIN = next(name for name, one in FAMILIES.items() if not one.must_lose and name not in CONTROLS)
LOST = next(name for name, one in FAMILIES.items() if one.must_lose and name not in CONTROLS)
NEUTRAL = {"flips": None, "first_share": 0.5}


def sign(key: str, was: float | None, now: float | None, low: Any, high: Any) -> int:
    raw = Estimate(None if now is None or was is None else now - was, low, high, 20, 20)
    one = Contrast(key, ("new",), ("today",), raw, raw, now, was)
    return s._build_effect_change(key, one, raw, NEUTRAL).sign


def test_a_change_counts_only_if_its_interval_excludes_zero():
    assert sign("flips", 0.1, 0.3, 0.1, 0.3) == 1
    assert sign("flips", 0.3, 0.1, -0.3, -0.1) == -1
    for low, high in ((-0.1, 0.3), (0.0, 0.3), (-0.3, 0.0), (None, 0.3), (0.1, None)):
        assert sign("flips", 0.1, 0.3, low, high) == 0


def test_a_share_is_worse_farther_from_its_neutral_value():
    assert sign("first_share", 0.55, 0.7, 0.1, 0.2) == 1
    assert sign("first_share", 0.2, 0.45, 0.1, 0.3) == -1
    assert sign("first_share", 0.4, 0.2, -0.3, -0.1) == 1
    assert sign("first_share", None, 0.7, 0.1, 0.2) == 0


def test_twins_are_worse_farther_from_zero_and_lost_content_only_if_preferred():
    assert sign(f"{s.TWIN_KEY}{PLAIN}", 0.0, -0.3, -0.4, -0.2) == 1
    assert sign(f"{s.TWIN_KEY}{PLAIN}", -0.3, 0.0, 0.2, 0.4) == -1
    lost = f"{s.TWIN_KEY}{LOST}"
    assert sign(lost, -0.5, -0.2, 0.2, 0.4) == 0, "it still loses"
    assert sign(lost, -0.1, 0.2, 0.2, 0.4) == 1 and sign(lost, 0.2, -0.1, -0.4, -0.2) == -1


def test_effects_have_names_and_texts():
    assert s.effect_name("flips", s.PAIR_EFFECTS) == "flips"
    assert s.effect_name("first_share", s.PAIR_EFFECTS) == "first position"
    assert PLAIN in s.effect_name(f"{s.TWIN_KEY}{PLAIN}", s.PAIR_EFFECTS)
    assert s.PAIR_EFFECTS[0].format_value(0.374) == "37 %"


def test_intervals_are_widened_for_the_number_of_looks():
    one = Estimate(0.1, 0.0, 0.2, 20, 20)
    assert s.widen_for_looks(one, 1) == s.widen_for_looks(one, 0) == one
    ratio = stats.t.isf(0.0125, 19) / stats.t.isf(0.025, 19)
    assert s.widen_for_looks(one, 2).high == pytest.approx(0.1 + 0.1 * ratio)
    assert s.widen_for_looks(one, 2, 0.15).high == 0.15


def test_the_excess_of_length_is_what_is_chosen_minus_what_is_right():
    # x (long) first, then y: judged x, x; right is x, y. q3 equal lengths, q4 without a truth.
    rows = [*pair("q1", 0, 1, better="x"), *pair("q2", 0, 1, better="y"),
            *pair("q3", 0, 1, better="x"), *pair("q4", 0, 1)]  # fmt: skip
    for row in rows:
        length = {"x": 50, "y": 50 if row["item"] == "q3" else 20}
        row["length"] = [length[name] for name in row["shown"]]
    got = s.PAIR_LENGTH.estimate(build(rows))
    # q1: longer chosen and right, 0. q2: longer chosen and wrong, +1 twice.
    assert (got.value, got.n) == (0.5, 4)
    shorter = [{**row, "length": row["length"][::-1]} for row in rows]
    assert s.PAIR_LENGTH.estimate(build(shorter)).value == -0.5
    unknown = [{**row, "length": [-1, -1]} for row in rows]
    assert s.PAIR_LENGTH.estimate(build(unknown)).value is None
    for side in ([9, -1], [-1, 9]):
        assert (
            s.PAIR_LENGTH.estimate(build([{**row, "length": side} for row in rows])).value is None
        )
    assert s.PAIR_LENGTH.estimate(build(pair("q", 0, 1, better="x"))).value is None


def test_unusable_replies_are_a_share_of_all_calls_without_noise():
    rows = [*pair("q1", 0, None), *pair("q2", None, 1, noise=True)]
    got = s.UNUSABLE.estimate(build(rows))
    assert (got.value, got.n) == (0.5, 2)


def test_the_length_of_a_single_verdict_counts():
    (row, _) = pair("q1", 0, 1, better="y")
    got = s.PAIR_LENGTH.estimate(build([{**row, "length": [50, 20], "orders": 1}]))
    assert (got.value, got.n) == (1.0, 1)


def test_without_lengths_no_answer_is_long():
    one = {"item": "q", "shown": ["m"], "pick": None, "status": "ok", "scores": [3.0], "orders": 1}
    for rows in ([one], []):
        assert s.ANSWER_LENGTH.estimate(build(rows)).value is None
