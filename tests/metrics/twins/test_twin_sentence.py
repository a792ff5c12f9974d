"""An interval that leaves out 0 is printed so that it does."""

from __future__ import annotations

from typing import Any

import pytest
from scipy import stats

from metrics.estimation.intervals import decimals_that_show_sign_of_interval
from metrics.twins.twin_effects import INDIFFERENT, NOT_SHOWN, SHOWN, TwinEffect
from metrics.twins.twin_sentence import (
    difference_with_interval_text,
    effects_of_irrelevant_changes,
    more_than_chance_sentence,
    twin_headline,
)
from metrics.twins.twin_verdicts import DUEL
from studies.domain import Estimate
from studies.texts.twin_families import CONTROLS, FAMILIES


@pytest.mark.parametrize(
    ("low", "high", "digits"),
    [(-0.2816, -0.00045, 2), (-0.28, -0.004, 1), (0.11, 0.37, 0), (-0.1, 0.0004, 0), (0, 0.3, 0)],
)
def test_an_end_near_0_is_printed_with_the_decimals_that_tell(low, high, digits) -> None:
    one = Estimate(-0.14, low, high, 78, 39)
    assert decimals_that_show_sign_of_interval(one, 0, 100) == digits


def effect(family: str, value: float | None, finding: str = NOT_SHOWN, **more: Any) -> TwinEffect:
    known = more.get("beyond_floor", Estimate(value, None, None, 40, 20, "share"))
    adjusted = more.get("adjusted", known)
    return TwinEffect("j", "p", family, DUEL, known, known, known, adjusted, 0, finding)


def test_the_detectable_effect_is_the_half_width_and_the_margin_for_power() -> None:
    # Raw ±.1 with t_19: error .1/2.093. Adjusted ±.15, and .8416 of the error.
    one = effect("citation", 0.0, beyond_floor=Estimate(0.0, -0.1, 0.1, 40, 20),
                 adjusted=Estimate(0.0, -0.15, 0.15, 40, 20))  # fmt: skip
    error = 0.1 / stats.t.ppf(0.975, 19)
    assert one.min_detectable == pytest.approx(0.15 + stats.norm.ppf(0.8) * error)
    # An adjusted interval that was cut is at least as wide as the raw one; the middle may be off 0.
    cut = effect("citation", 0.3, beyond_floor=Estimate(0.3, 0.2, 0.4, 40, 20),
                 adjusted=Estimate(0.3, 0.25, 0.35, 40, 20))  # fmt: skip
    assert cut.min_detectable == pytest.approx(0.1 + stats.norm.ppf(0.8) * error)
    for low, high in ((None, 0.1), (-0.1, None)):
        assert effect("citation", 0.0, beyond_floor=Estimate(0.0, low, high),
                      adjusted=Estimate(0.0, -0.1, 0.1, 4, 4)).min_detectable is None  # fmt: skip
        assert effect("citation", 0.0, beyond_floor=Estimate(0.0, -0.1, 0.1, 4, 4),
                      adjusted=Estimate(0.0, low, high)).min_detectable is None  # fmt: skip
    assert one.as_json()["detectable"] == one.min_detectable
    assert one.as_json()["finding"] == NOT_SHOWN and one.as_json()["skipped"] == 0


@pytest.mark.parametrize(
    ("estimate", "text"),
    [
        (Estimate(0.25, 0.19, 0.29, unit="share"), "+25 points [19, 29]"),
        (Estimate(-0.25, -0.29, -0.19, unit="share"), "−25 points [−29, −19]"),
        (Estimate(0.25, None, None, unit="share"), "+25 points"),
        (Estimate(-0.5, -0.75, -0.25, unit="score"), "−0.50 [−0.75, −0.25]"),
        (Estimate(0.1, 0.001, 0.2, unit="share"), "+10 points [0.1, 20.0]"),
        (Estimate(None), "not known"),
    ],
)
def test_points_have_a_sign_an_interval_and_a_true_minus(estimate: Estimate, text: str) -> None:
    assert difference_with_interval_text(estimate) == text


def test_three_more_decimals_are_the_most() -> None:
    tiny = Estimate(1e-9, 1e-10, 1e-8, 78, 39)
    assert decimals_that_show_sign_of_interval(tiny, 0, 100) == 3
    assert decimals_that_show_sign_of_interval(tiny, 1, 100) == 4
    assert decimals_that_show_sign_of_interval(Estimate(0.1, None, 0.2), 0, 100) == 0
    assert decimals_that_show_sign_of_interval(Estimate(0.1, 0.0006, 0.2), 0, 1) == 3


def test_controls_and_lost_content_are_not_counted_among_the_irrelevant() -> None:
    (control, *_), (lost, *_) = sorted(CONTROLS), [
        name for name, one in FAMILIES.items() if one.must_lose and name not in CONTROLS
    ]  # fmt: skip
    plain = [name for name, one in FAMILIES.items() if not one.must_lose and name not in CONTROLS]
    effects = [effect(control, 0.9), effect(lost, -0.8), effect(plain[0], 0.1),
               effect(plain[1], -0.4), effect(plain[2], None)]  # fmt: skip
    named = [one.family for one in effects_of_irrelevant_changes(effects)]
    assert named == [plain[1], plain[0], plain[2]]
    preferred = effects_of_irrelevant_changes([*effects, effect(lost, 0.2)])
    assert [one.family for one in preferred] == [plain[1], lost, plain[0], plain[2]]


def test_the_headline_names_the_largest_effect_shown_or_the_smallest_that_could_be() -> None:
    plain = [name for name, one in FAMILIES.items() if not one.must_lose and name not in CONTROLS]
    wide = Estimate(0.0, -0.1, 0.1, 40, 20, "share")
    known = {"beyond_floor": wide, "adjusted": wide}
    shown = [effect(plain[0], 0.1, SHOWN), effect(plain[1], 0.3, SHOWN), effect(plain[2], 0.5)]
    assert plain[1] in twin_headline(shown) and "+30 points" in twin_headline(shown)
    assert str(len(shown)) in more_than_chance_sentence(shown)
    none = [effect(plain[0], 0.0, **known), effect(sorted(CONTROLS)[0], 0.0, **known)]
    assert "14 points" in twin_headline(none) and more_than_chance_sentence(none) == ""
    assert all(
        "same answer" in one for one in (more_than_chance_sentence(shown), twin_headline(none))
    )
    assert twin_headline([effect(plain[0], 0.0)]) != twin_headline(none)
    assert twin_headline([*shown, effect(plain[2], 0.0, INDIFFERENT)]) == twin_headline(
        [effect(plain[2], 0.0, INDIFFERENT)]
    )


def test_a_score_that_may_have_been_missed_is_not_in_points() -> None:
    plain = next(name for name in FAMILIES if name not in CONTROLS)
    for unit, size in (("score", "0.14 may"), ("share", "14 points may")):
        wide = Estimate(0.0, -0.1, 0.1, 40, 20, unit)
        told = twin_headline([effect(plain, 0.0, beyond_floor=wide, adjusted=wide)])
        assert f"below {size}" in told
