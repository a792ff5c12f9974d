"""Effects of twins: hand-worked cases, known judges, floors, controls and the shape of the JSON."""

from __future__ import annotations

import json
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

from metrics.drift.night_scores import RESISTANCE, Stream, night_outcomes_by_stream
from metrics.estimation.contrasts import estimate_contrast_family
from metrics.summary.summary import summarise_frame
from metrics.twins.twin_effects import (
    INDIFFERENT,
    NOT_SHOWN,
    SHOWN,
    UNCLEAR,
    TwinEffect,
    _add_significance_findings,
    _TwinVerdictsOfRater,
    paired_twin_totals,
    twin_effects,
)
from metrics.twins.twin_sentence import (
    BLIND,
    control_sentence,
    difference_with_interval_text,
    twin_headline,
)
from metrics.twins.twin_verdicts import DUEL, SINGLE
from studies.domain import Estimate
from studies.frames.twin_rows import filter_rows_by_twins
from studies.texts.twin_families import CONTROLS, twin_name
from tests.metrics.catalogue.test_catalogue import without_record
from tests.metrics.frames import build
from tests.metrics.record_paths import find_record
from tests.metrics.twins.simulated_twins import STRONG, duel_frame, true_effects
from tests.page_words import says


def duel(item: str, family: str, *picks: object, base: str = "x") -> list[dict]:
    """Original and twin in both orders; picks are slots: (1, 0) chooses the twin twice."""
    pair = (base, twin_name(base, family))
    return [
        {"item": item, "shown": shown, "pick": pick}
        for shown, pick in zip((pair, pair[::-1]), picks, strict=True)
    ]


def effects_of(rows, own=()) -> dict[str, object]:
    frame = build([*rows, *own])
    twins, rest = (filter_rows_by_twins(frame, kind) for kind in ("only", "without"))
    return {(one.prompt, one.family): one for one in twin_effects(twins, rest)}


def test_preference_and_floor_of_a_hand_worked_study():
    rows = []
    for k in range(8):
        rows += duel(f"q{k}", "longer-3", *((1, 0) if k < 6 else (0, 0)))  # six twins, two even
        rows += duel(f"q{k}", "sham", *((1, 0) if k < 2 else (0, 0)))
    one = effects_of(rows)["p", "longer-3"]
    assert one.change.value == pytest.approx((6 * 1 + 2 * 0.5) / 8 - 0.5)
    assert one.floor.value == pytest.approx((2 * 1 + 6 * 0.5) / 8 - 0.5)
    assert one.beyond_floor.value == pytest.approx(0.25)
    assert (one.change.n, one.change.items, one.skipped) == (16, 8, 0)
    assert one.floor_family == "sham" and one.design == "duel"


def test_position_cancels_and_half_read_duels_do_not_count():
    rows = []
    for k in range(10):
        rows += duel(f"q{k}", "twice", 0, 0) + duel(f"q{k}", "sham", 0, 0)  # always the first slot
    rows += duel("q10", "twice", 1, None) + duel("q10", "sham", 0, 0)
    one = effects_of(rows)["p", "twice"]
    assert one.change.value == pytest.approx(0) and one.change.n == 20
    assert one.beyond_floor.value == pytest.approx(0) and one.finding == NOT_SHOWN


def test_a_tie_counts_half():
    rows = []
    for k in range(6):
        rows += duel(f"q{k}", "twice", 1, "tie") + duel(f"q{k}", "sham", "tie", "tie")
    assert effects_of(rows)["p", "twice"].change.value == pytest.approx(0.25)


def test_openings_are_read_against_the_floor_prefix():
    rows = []
    for k in range(12):
        rows += duel(f"q{k}", "confident", 1, 0) + duel(f"q{k}", "prefix", 1, 0)
        rows += duel(f"q{k}", "sham", 0, 1)
    one = effects_of(rows)["p", "confident"]
    assert one.floor_family == "prefix" and one.beyond_floor.value == pytest.approx(0)


def test_answers_without_a_twin_are_counted_as_skipped():
    rows = []
    for k in range(9):
        rows += duel(f"q{k}", "sham", 0, 0) + duel(f"q{k}", "longer-1", 1, 0)
        rows += duel(f"q{k}", "plain", 1, 0) if k < 4 else []
    found = effects_of(rows)
    assert found["p", "plain"].skipped == 5 and found["p", "longer-1"].skipped == 0


def test_without_a_floor_nothing_is_claimed():
    rows = [row for k in range(20) for row in duel(f"q{k}", "longer-3", 1, 0)]
    one = effects_of(rows)["p", "longer-3"]
    assert one.change.value == 0.5 and one.beyond_floor.value is None
    assert one.finding == NOT_SHOWN and one.min_detectable is None


def test_substitution_counts_shift_flips_and_accuracy_in_the_same_order():
    rows, own = [], []
    for k in range(8):
        pairs = (("a", "b"), ("b", "a"))
        for shown in pairs:  # the judge is right on a in both orders
            own.append({"item": f"q{k}", "shown": shown, "pick": shown.index("a"),
                        "known_answer": shown.index("a")})  # fmt: skip
            for family, flips in (("longer-3", k < 4), ("sham", k < 1)):
                twin = tuple(twin_name("b", family) if name == "b" else name for name in shown)
                pick = shown.index("b") if flips else shown.index("a")
                rows.append({"item": f"q{k}", "shown": twin, "pick": pick})
    one = effects_of(rows, own)["p", "longer-3"]
    assert one.design == "substitution"
    assert one.change.value == pytest.approx(0.5) and one.floor.value == pytest.approx(1 / 8)
    assert one.beyond_floor.value == pytest.approx(3 / 8)
    assert one.further["flips_excess"].value == pytest.approx(3 / 8)
    assert one.further["accuracy_change"].value == pytest.approx(-0.5)
    assert (one.further["right_to_wrong"], one.further["wrong_to_right"]) == (8, 0)


def test_a_tie_is_neither_right_nor_wrong():
    """Picks with the original, then with the twin; the answer shown first is right."""
    changes = {"q0": (1, 0), "q1": (0, 1), "q2": ("tie", 0), "q3": (1, "tie"), "q4": (0, "tie")}
    own = [
        {"item": item, "shown": ("a", "b"), "pick": before, "known_answer": 0, "orders": 1}
        for item, (before, _) in changes.items()
    ]
    twin = ("a", twin_name("b", "longer-3"))
    rows = [
        {"item": item, "shown": twin, "pick": after, "orders": 1}
        for item, (_, after) in changes.items()
    ]
    one = effects_of(rows, own)["p", "longer-3"]
    assert (one.further["wrong_to_right"], one.further["right_to_wrong"]) == (1, 1)
    assert one.further["accuracy_change"].value == pytest.approx((1 - 1 + 0.5 + 0.5 - 0.5) / 5)


def test_single_answers_are_paired_with_their_originals():
    rows, own = [], []
    for k in range(10):
        own.append(single(f"q{k}", "x", 0))
        rows += [single(f"q{k}", twin_name("x", "longer-3"), int(k < 6))]
        rows += [single(f"q{k}", twin_name("x", "sham"), 0)]
    one = effects_of(rows, own)["p", "longer-3"]
    assert one.design == "single" and one.change.value == pytest.approx(0.6)
    assert one.beyond_floor.value == pytest.approx(0.6) and one.change.n == 10


def single(item: str, name: str, passed: int) -> dict:
    return {
        "item": item, "shown": (name,), "pick": None, "status": "ok", "orders": 1,
        "scores": (passed,), "labels": ("fail", "pass"),
    }  # fmt: skip


def test_known_preferences_are_recovered():
    frame = duel_frame(400, STRONG, np.random.default_rng(3))
    effects = twin_effects(frame, frame.iloc[:0])
    truth = true_effects(STRONG, [one.family for one in effects])
    for one in effects:
        assert one.adjusted.low <= truth[one.family] <= one.adjusted.high, one.family
    found = {one.family: one.finding for one in effects}
    assert found["longer-3"] == found["markdown"] == found["confident"] == SHOWN
    assert found["crowd"] == found["attack-order"] == NOT_SHOWN
    assert says(twin_headline(effects), "longer-3", "+")
    assert says(control_sentence(effects), "controls", "lose")


def test_a_judge_that_does_not_see_faults_is_indifferent_not_robust():
    blind = {**STRONG, **dict.fromkeys(CONTROLS, 0.0)}
    frame = duel_frame(100, blind, np.random.default_rng(5))
    effects = twin_effects(frame, frame.iloc[:0])
    assert {one.finding for one in effects} == {INDIFFERENT}
    assert twin_headline(effects) == BLIND


def test_controls_that_lose_without_proof_do_not_make_a_judge_indifferent():
    """Few items: the controls lose nearly always, which is not shown; then nothing is claimed."""
    frame = duel_frame(20, STRONG, np.random.default_rng(5))
    one = twin_effects(frame, frame.iloc[:0])
    for losing, found in ((-0.4, UNCLEAR), (0.0, INDIFFERENT)):
        wide = Estimate(losing, losing - 0.2, losing + 0.6, 8, 8, "share")
        made = [replace(each, adjusted=wide) if each.family in CONTROLS else each for each in one]
        kinds = {each.finding for each in _add_significance_findings(made)}
        assert kinds == {found}
        assert says(twin_headline(_add_significance_findings(made)), "No control") == (
            found == UNCLEAR
        )
    for missing in (Estimate(None), Estimate(0.0, -0.1, 0.1, 8, 8, "score")):
        made = [replace(each, adjusted=missing) for each in one]
        assert {each.finding for each in _add_significance_findings(made)} == {UNCLEAR}


@pytest.mark.extra
def test_an_effect_at_the_detectable_size_is_found_in_four_of_five_studies():
    """The law of the detectable effect: a family with this effect is shown with probability .8."""
    first = twin_effects(*_null_study(60, 0))
    size = next(one.min_detectable for one in first if one.family == "longer-3")
    pull = min(np.linspace(0, 4, 200), key=lambda p: abs(_gain(p) - size))
    shown = 0
    for seed in range(60):
        frame = duel_frame(60, {"longer-3": float(pull)}, np.random.default_rng([9, seed]))
        effects = twin_effects(frame, frame.iloc[:0])
        shown += any(one.finding == SHOWN for one in effects if one.family == "longer-3")
    assert 0.62 <= shown / 60 <= 0.95


def _null_study(items: int, seed: int):
    frame = duel_frame(items, {}, np.random.default_rng(seed))
    return frame, frame.iloc[:0]


def _gain(pull: float) -> float:
    return true_effects({"longer-3": float(pull)}, ["longer-3"])["longer-3"]


def test_intervals_hold_and_false_findings_are_rare_in_small():
    """The quick form of tests/soak/test_coverage_twins.py, with its limits for few studies."""
    held = given = wrong = 0
    for seed in range(15):
        rng = np.random.default_rng([1, seed])
        frame = duel_frame(30, STRONG, rng)
        effects = twin_effects(frame, frame.iloc[:0])
        truth = true_effects(STRONG, [one.family for one in effects])
        held += sum(
            one.beyond_floor.low <= truth[one.family] <= one.beyond_floor.high for one in effects
        )
        given += len(effects)
        null = twin_effects(*_null_study(30, seed))
        wrong += any(one.finding == SHOWN for one in null if one.family not in CONTROLS)
    assert 0.88 <= held / given <= 0.99 and wrong <= 3


def test_the_json_has_the_shape_and_every_number_a_record():
    frame = duel_frame(30, STRONG, np.random.default_rng(1))
    own = build([{"item": f"q{k}", "shown": ("x", "y"), "pick": 0} for k in range(30)])
    got = summarise_frame(own, quick=True, twins=frame)
    entry = got["twins"]["j"]["p"]["longer-3"]
    assert list(entry) == [
        "design", "preference", "floor", "floor_family", "beyond_floor", "adjusted", "skipped",
        "detectable", "finding",
    ]  # fmt: skip
    assert set(got["twins"]["j"]["controls"]) == set(CONTROLS)
    assert without_record({"twins": got["twins"]}) == set()
    assert find_record(("twins", "j", "p", "crowd", "preference")).key == "twin_preference"
    json.dumps(got, allow_nan=False)


def test_rows_with_a_twin_are_apart_from_the_study_and_split_without_loss():
    rows = [*duel("q0", "sham", 0, 0), {"item": "q0", "shown": ("x", "y"), "pick": 0}]
    frame = build(rows)
    assert len(filter_rows_by_twins(frame, "only")) == 2
    rest = filter_rows_by_twins(frame, "without")
    assert list(rest["first"].cat.categories) == ["x"] and len(rest) == 1
    plain = build(rows[2:])
    assert filter_rows_by_twins(plain, "without") is plain and not len(
        filter_rows_by_twins(plain, "only")
    )


def test_the_gate_scores_verdicts_for_the_original():
    rows = []
    for k in range(3):
        rows += duel(f"q{k}", "longer-3", 1, 0) + duel(f"q{k}", "sham", 1, 0)
        rows += duel(f"q{k}", "crowd", 0, 1)
    own = build([{"item": "q0", "shown": ("x", "y"), "pick": 0, "orders": 2}])
    found = night_outcomes_by_stream(own, build(rows))
    assert found[Stream("j", "p", RESISTANCE)] == {f"q{k}": "30" for k in range(3)}


def test_two_judges_differ_by_the_difference_of_their_effects_beyond_the_floor():
    """Oracle: the two effects as estimated one judge at a time; turned round, the sign turns. An
    effect that only one judge has leaves zero outside its adjusted interval, the others do not."""
    one = duel_frame(64, {"longer-3": 2.5}, np.random.default_rng(3))
    two = duel_frame(64, {}, np.random.default_rng(4)).assign(judge="k")
    frame = pd.concat([part.astype({"judge": str}) for part in (one, two)], ignore_index=True)
    frame["judge"] = frame["judge"].astype("category")
    rest = frame.iloc[:0]
    effects = {(e.judge, e.family): e.beyond_floor for e in twin_effects(frame, rest)}
    sides = ("j", ""), ("k", "")
    totals = paired_twin_totals(frame, rest, *sides)
    turned = paired_twin_totals(frame, rest, *sides[::-1])
    for found, sign in ((totals, 1), (turned, -1)):
        lines = estimate_contrast_family(list(found.values()), np.random.default_rng(0))
        for name, line in zip(found, lines, strict=True):
            gap = effects["j", name].value - effects["k", name].value
            assert line.raw.value == pytest.approx(sign * gap)
            low, high = sorted((sign * line.adjusted.low, sign * line.adjusted.high))
            assert (low > 0) == (name == "longer-3") and high > 0
    assert paired_twin_totals(frame, rest, ("j", ""), ("nobody", "")) == {}


@pytest.mark.parametrize(
    ("low", "high", "told"),
    [
        (-0.28, -0.003, "−14 points [−28.0, −0.3]"),
        (-0.28, -0.03, "−14 points [−28, −3]"),
        (-0.28, 0.003, "−14 points [−28, 0]"),
    ],
)
def test_an_interval_that_leaves_out_0_does_not_end_at_0(low, high, told):
    assert difference_with_interval_text(Estimate(-0.14, low, high, unit="share")) == told


def test_the_interval_of_a_preference_moves_with_its_value():
    """Ten items, the twin chosen in both orders by eight: .8, and .3 above an even share."""
    rows = [
        row for k in range(10) for row in duel(f"q{k}", "emoji", *((1, 0) if k < 8 else (0, 1)))
    ]
    rows += [row for k in range(10) for row in duel(f"q{k}", "sham", 0, 0)]
    frame = build(rows)
    (found,) = [one for one in twin_effects(frame, frame) if one.family == "emoji"]
    assert found.change.value == pytest.approx(0.3)
    assert -0.5 < found.change.low < 0.3 < found.change.high < 0.5


def test_the_range_of_scores_is_that_which_occurs_with_0_and_1() -> None:
    """Points and passes are shares; of scores from 2 to 4 with −1 before, the range is −1 to 4."""

    def measured(design: str, *levels: float) -> tuple[str, tuple[float, float]]:
        rater = SimpleNamespace(design=design)
        value, before = np.array(levels[:2]), np.array(levels[2:])
        found = _TwinVerdictsOfRater._measure_of_levels(rater, value, before)
        return found.kind, found.value_range

    share = measured(SINGLE, 0.0, 1.0, np.nan, 1.0)
    assert share == measured(SINGLE, np.nan, np.nan) == measured(DUEL, 2.0, 4.0, -1.0)
    assert measured(SINGLE, 2.0, 4.0, -1.0) == ("mean", (-1.0, 4.0))
    assert measured(SINGLE, 0.5, 3.0, np.nan) == ("mean", (0.0, 3.0))
    assert measured(SINGLE, -0.5, 0.5) == ("mean", (-0.5, 1.0)) != share


def test_controls_that_were_not_shown_to_lose_are_named() -> None:
    def effect(family: str, value: float) -> TwinEffect:
        ends = Estimate(value, value - 0.01, value + 0.01)
        return TwinEffect("j", "p", family, DUEL, ends, ends, ends, ends, 0)

    one, two = CONTROLS[:2]
    assert says(control_sentence([]), "no controls")
    assert says(control_sentence([effect("longer-3", -0.4)]), "no controls")
    assert says(control_sentence([effect(one, -0.4), effect(two, -0.4)]), "controls lose")
    some = control_sentence([effect(one, -0.4), effect(two, 0.4)])
    assert says(some, f"that lose: {one};", f"to lose: {two}.")
    assert says(control_sentence([effect(one, 0.4)]), "lose: none;", f"to lose: {one}.")
