"""Choice among N options: hand-worked values, slots and labels, refusals, invariances."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given

from metrics.ratings.choice_model import ORDER_UNKNOWN_NOTE, fit_choice_model
from metrics.ratings.position_term import fit_position_model
from tests.metrics.battle_frames import all_finite, duels, fought, some_battles
from tests.metrics.frames import build, rotated

# Verdicts per rotation (rows: options 3012, 2301, 1230, 0123) and slot (columns).
ROTATIONS = [[44, 301, 123, 32], [103, 26, 271, 100], [222, 76, 24, 178], [360, 100, 32, 8]]


def rotation_counts(counts: list[list[int]]) -> pd.DataFrame:
    names = [f"o{k}" for k in range(len(counts))]
    turned = [names[-k:] + names[:-k] for k in range(1, len(names))] + [names]
    rows: list[dict[str, Any]] = []
    for shown, picks in zip(turned, counts, strict=True):
        for slot, times in enumerate(picks):
            rows += [
                {"item": f"{len(rows) + k}", "shown": shown, "pick": slot} for k in range(times)
            ]
    return build(rows)


def test_two_thousand_choices_among_four_give_the_effects_worked_out_elsewhere():
    model = fit_choice_model(rotation_counts(ROTATIONS))
    theta = [model.strength[f"o{k}"].value for k in range(4)]
    assert theta == pytest.approx([1.20498, 0.44910, -0.39229, -1.26179], abs=1e-5)
    gamma = [effect.value for effect in model.slots[4]]
    assert gamma == pytest.approx([0.52835, 0.07724, -0.12649, -0.47910], abs=1e-5)
    assert model.log_likelihood == pytest.approx(-2070.68786, abs=1e-5)


def test_the_share_of_each_place_among_equals_is_the_softmax_of_its_effect():
    model = fit_choice_model(rotation_counts(ROTATIONS))
    raised = [math.exp(effect.value or 0.0) for effect in model.slots[4]]
    shares = [share.value for share in model.share_if_equal[4]]
    assert shares == pytest.approx([x / sum(raised) for x in raised])
    assert sum(shares) == pytest.approx(1)
    for share in model.share_if_equal[4]:
        assert 0 < share.low < share.value < share.high < 1


def test_two_options_are_the_position_term():
    # A pair is a choice with two options: γ₀ − γ₁ is the term of Bradley–Terry.
    frame = duels([("A", "B", 8, 2), ("B", "A", 5, 5)])
    first, second = fit_choice_model(frame).slots[2]
    term = fit_position_model(frame).gamma["all"]
    assert first.value - second.value == pytest.approx(term.value)
    assert 2 * first.high == pytest.approx(term.high)


def crossed(counts: dict[tuple[str, str], tuple[int, int]]) -> pd.DataFrame:
    """Picks of slot 0 and 1 for each (shown, labels), both written as two letters."""
    rows: list[dict[str, Any]] = []
    for (shown, labels), picks in counts.items():
        for slot, times in enumerate(picks):
            rows += [
                {"item": f"{len(rows) + k}", "shown": shown, "labels": labels, "pick": slot}
                for k in range(times)
            ]
    return build(rows)


def test_crossed_labels_tell_the_name_from_the_place():
    # Log-odds of slot 0: content ±c, place p, label ±l in the four settings. Odds 8:1 … chosen so
    # that c = 0, p = ln 4 /2 and l = ln 4 /2: 4:1 where A is first (p + l = ln 4), 1:1 where B is.
    frame = crossed(
        {
            ("xy", "AB"): (16, 4),
            ("yx", "AB"): (16, 4),
            ("xy", "BA"): (10, 10),
            ("yx", "BA"): (10, 10),
        }
    )
    model = fit_choice_model(frame)
    assert model.slots[2][0].value == pytest.approx(math.log(4) / 4)
    assert model.labels["A"].value == pytest.approx(math.log(4) / 4)
    assert model.strength["x"].value == pytest.approx(0, abs=1e-9)
    assert model.note == ""


def test_labels_that_go_with_places_are_not_told_apart():
    model = fit_choice_model(crossed({("xy", "AB"): (8, 2), ("yx", "AB"): (5, 5)}))
    assert model.labels == {}
    assert "cross the labels" in model.note
    assert model.slots[2][0].value is not None


def test_one_order_leaves_the_place_open():
    frame = build({"item": str(k), "shown": "xyz", "pick": k % 3} for k in range(9))
    model = fit_choice_model(frame)
    assert model.slots == {}
    assert "run rotations" in model.note


def test_always_the_first_of_three_is_regularised():
    frame = build(row for k in range(10) for row in rotated(str(k), [0, 0, 0]))
    model = fit_choice_model(frame)
    assert model.regularised
    first = model.slots[3][0]
    assert first.low is None and "no finite fit" in first.note
    assert all_finite(model)


def test_numbers_of_options_have_their_own_place_effects_and_common_strengths():
    rows = [row for k in range(20) for row in rotated(f"t{k}", [k % 3, 0, (k + 1) % 3])]
    rows += [row for k in range(20) for row in rotated(f"p{k}", [k % 2, (k // 2) % 2])]
    model = fit_choice_model(build(rows))
    assert {size: len(effects) for size, effects in model.slots.items()} == {2: 2, 3: 3}
    assert sum(effect.value for effect in model.slots[3]) == pytest.approx(0, abs=1e-9)
    assert fit_choice_model(build(rows), min_options=3).slots.keys() == {3}


def test_a_verdict_that_names_no_option_is_left_out_and_said():
    rows = [row for k in range(8) for row in rotated(f"t{k}", [k % 3, 0, 1])]
    with_ties = [*rows, *rotated("tied", ["tie", "tie", "tie"])]
    plain, told = fit_choice_model(build(rows)), fit_choice_model(build(with_ties))
    assert told.strength == plain.strength
    assert "left out" in told.note


@given(some_battles())
def test_whatever_comes_every_number_is_finite(rows):
    assert all_finite(fit_choice_model(fought(rows)))


@given(some_battles(readable=True))
def test_unreadable_rows_change_nothing(rows):
    padded = fought([*rows, *((9, a, b, None) for _, a, b, _ in rows)])
    assert fit_choice_model(padded) == fit_choice_model(fought(rows))


def test_nothing_to_read_is_a_note():
    for frame in (duels([]), fought([(0, "A", "B", None)]), fought([(0, "A", "B", "tie")])):
        model = fit_choice_model(frame)
        assert model.strength == {}
        assert "no readable choice" in model.note


def test_the_interval_of_a_place_effect_is_by_items():
    # Twenty items, three rotations each, the first place picked in two of three on average.
    rng = np.random.default_rng(2)
    rows = [
        row
        for k in range(20)
        for row in rotated(str(k), [int(rng.choice(3, p=[0.6, 0.2, 0.2])) for _ in range(3)])
    ]
    first = fit_choice_model(build(rows)).slots[3][0]
    assert first.low < first.value < first.high
    assert (first.n, first.items) == (60, 20)


def test_of_two_options_the_share_has_the_interval_of_the_log_odds():
    # The log-odds of the first share are γ₀ − γ₁ = 2·γ₀.
    model = fit_choice_model(duels([("A", "B", 8, 2), ("B", "A", 5, 5)]))
    (effect, _), (share, other) = model.slots[2], model.share_if_equal[2]
    for end in ("value", "low", "high"):
        assert getattr(share, end) == pytest.approx(1 / (1 + math.exp(-2 * getattr(effect, end))))
    assert (other.low, other.high) == pytest.approx((1 - share.high, 1 - share.low))


def test_each_label_counts_the_choices_in_which_it_was_shown():
    found = fit_choice_model(
        crossed({(shown, labels): (4 + n, 5) for n, labels in enumerate(("AB", "BA", "BC", "CB"))
                 for shown in ("xy", "yx")})
    ).labels  # fmt: skip
    # In both orders 9 + 10 choices with A and B, 11 + 12 with B and C.
    assert {label: one.n for label, one in found.items()} == {"A": 38, "B": 84, "C": 46}


def test_picks_of_unknown_order_give_strengths_alone():
    """Of four battles a wins three: a difference of ln 3, whatever the position."""
    rows = [
        {"item": f"{k}", "shown": ("a", "b"), "pick": int(k == 3), "orders": 0} for k in range(4)
    ]
    model = fit_choice_model(build(rows))
    assert model.note == ORDER_UNKNOWN_NOTE and model.slots == {} and model.labels == {}
    gap = model.strength["a"].value - model.strength["b"].value
    assert gap == pytest.approx(math.log(3), abs=1e-9)
    assert model.log_likelihood == pytest.approx(3 * math.log(0.75) + math.log(0.25), abs=1e-9)
