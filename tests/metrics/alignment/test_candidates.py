"""Comparison of prompts on held-out items: hand-worked tables, sentences, looks."""

from __future__ import annotations

from dataclasses import replace

import pandas as pd
import pytest

from metrics.summary.alignment.alignment_section import (
    AlignmentInputs,
    LookResult,
    candidate_data,
    candidate_result,
)
from metrics.summary.alignment.alignment_text import render_result
from metrics.summary.alignment.candidate_table import compare_candidates
from metrics.summary.alignment.learn_mistakes import judge_mistakes
from metrics.summary.alignment.prompt_advice import advise, items_needed
from metrics.twins.twin_effects import NOT_SHOWN, SHOWN, TwinEffect
from studies.domain import Estimate
from studies.people.label_split import CandidateRecord, LabelSplit, Look
from studies.people.study_labels import LabelledComparison, StudyLabels
from tests.metrics.frames import build
from tests.page_words import says
from tests.soak.alignment_studies import (
    BLUNT,
    CURED,
    FAIR,
    LEANING,
    SHARP_BUT_LEANING,
    WEAK,
    advice_on,
    hold_out_frame,
)


def verdicts(items: range, prompt: str, picks: str, **more: object) -> list[dict[str, object]]:
    """Rows of a prompt on items whose better answer is x; picks "00" is the first slot twice."""
    return [
        {"item": f"q{item}", "shown": shown, "pick": int(pick), "prompt": prompt,
         "truth": shown.index("x"), "length": (9, 3) if shown[0] == "x" else (3, 9), **more}
        for item in items
        for shown, pick in zip((("x", "y"), ("y", "x")), picks, strict=True)
    ]  # fmt: skip


def test_agreement_flips_and_length_are_those_of_the_hand_worked_table() -> None:
    rows = verdicts(range(8), "old", "00") + verdicts(range(8, 40), "old", "01")
    rows += verdicts(range(40), "new", "01")
    table = compare_candidates(build(rows), "j", "old", ["new"])
    assert table is not None
    (new,) = table.candidates
    assert table.today.agreement.value == pytest.approx((8 * 0.5 + 32) / 40)
    assert new.difference is not None
    assert new.difference.value == pytest.approx(0.1)
    assert table.today.effects["flips"].value == pytest.approx(8 / 40)
    assert new.effects["flips"].value == 0
    assert table.today.effects["first_share"].value == pytest.approx(48 / 80)
    # x is longer and better: only the eight wrong verdicts are for the shorter answer
    assert table.today.effects["length_excess"].value == pytest.approx(-8 / 80)
    assert new.effects["length_excess"].value == 0
    assert (table.items, table.looks) == (40, 1)


def test_adopt_names_the_gain_and_what_became_better() -> None:
    advice = advice_on([WEAK, CURED], 60, seed=1)
    assert (advice.advice, advice.prompt) == ("adopt", "p1")
    assert advice.sentence.startswith("Adopt p1: +")
    assert says(advice.sentence, "not seen", "fewer flips")


def twin_effect(prompt: str, family: str, value: float, finding: str = SHOWN) -> TwinEffect:
    none = Estimate(0.0, -0.1, 0.1, 60, 30, "share")
    effect = Estimate(value, value - 0.1, value + 0.1, 60, 30, "share")
    return TwinEffect("j", prompt, family, "duel", effect, none, effect, effect, 0, finding)


def test_twins_that_move_only_the_recommended_prompt_are_named() -> None:
    looks = (Look("j", "p0", (CandidateRecord("p1", "rules", "s"),)),)
    twins = {
        "p0": [twin_effect("p0", "citation", 0.2), twin_effect("p0", "crowd", 0.05, NOT_SHOWN)],
        "p1": [twin_effect("p1", "crowd", 0.31), twin_effect("p1", "citation", 0.25)],
    }
    frame = hold_out_frame([WEAK, CURED], 60, seed=1)
    result = LookResult(looks[0], frame, {("j", "p1"): 88.0}, twins)
    inputs = AlignmentInputs(LabelSplit(7, (), (), looks), StudyLabels((), ()), (result,))
    found = candidate_result(inputs, "j", "p0")
    assert found is not None
    _, table, advice = found
    assert advice.advice == "adopt" and table is not None
    assert says(advice.others, "not shown", "today: crowd (+31 points [21, 41])")
    assert "citation" not in advice.others
    printed = render_result(inputs, *found)
    assert says(printed, "citation", "+20 points [10, 30]") and says(printed, "crowd", "+31 points")
    assert "largest twin" not in render_result(inputs, replace(result, twins={}), table, advice)
    section = candidate_data(table.lines[1], result)
    assert {family: one.value for family, one in section["twins"].items()} == {
        "crowd": 0.31, "citation": 0.25,
    }  # fmt: skip


def test_a_candidate_that_only_adds_bias_is_not_adopted_and_its_bias_is_named() -> None:
    advice = advice_on([FAIR, LEANING], 60, seed=1)
    assert advice.advice == "do not adopt"
    assert says(advice.sentence, "flips 63 %", "23 %")


def test_a_gain_with_more_bias_is_not_adopted_without_naming_the_bias() -> None:
    advice = advice_on([BLUNT, SHARP_BUT_LEANING], 150, seed=2)
    assert advice.advice == "do not adopt"
    assert says(advice.sentence, "p1: +", "but", "first position")


def test_equal_prompts_are_not_adopted_and_the_number_of_labels_needed_is_stated() -> None:
    advice = advice_on([FAIR, FAIR], 60, seed=0)
    assert advice.advice == "not enough labels"
    assert advice.needed is not None and advice.needed > 60
    assert says(advice.sentence, f"about {advice.needed:,}")


def test_below_thirty_items_nothing_is_recommended() -> None:
    assert advice_on([WEAK, CURED], 30, seed=1).needed != 30
    advice = advice_on([WEAK, CURED], 29, seed=1)
    assert (advice.advice, advice.prompt) == ("not enough labels", None)
    assert says(advice.sentence, "29 items", "1 fewer", "30")


def test_every_further_look_widens_the_intervals() -> None:
    """Bonferroni: at k looks the arms grow by t(0.05/2k) / t(0.05/2) with 59 degrees of freedom."""
    frame = hold_out_frame([WEAK, CURED], 60, seed=1)
    arms = {}
    for looks in (1, 2, 5):
        table = compare_candidates(frame, "j", "p0", ["p1"], looks)
        assert table is not None
        difference = table.candidates[0].difference
        assert (
            difference is not None and difference.value is not None and difference.low is not None
        )
        arms[looks] = difference.value - difference.low
    assert arms[2] / arms[1] == pytest.approx(2.3009 / 2.0010, abs=2e-3)
    assert arms[5] / arms[1] == pytest.approx(2.6618 / 2.0010, abs=2e-3)


def test_a_candidate_without_usable_replies_is_named_and_never_evidence() -> None:
    rows = verdicts(range(40), "old", "01")
    mute = [{**row, "prompt": "mute", "pick": None} for row in rows]
    table = compare_candidates(build(rows + mute), "j", "old", ["mute"])
    assert table is not None
    advice = advise(table)
    assert advice.advice == "do not adopt"
    assert "usable replies" in advice.sentence
    assert table.candidates[0].agreement.value is None


def test_items_needed_follow_the_square_of_the_gain() -> None:
    """Reach 0.1 at 100 items: n = 100 · ((0.1 + 0.8416 · 0.1/1.984)/gain)²."""
    got = Estimate(0.05, -0.05, 0.15, 100, 100)
    assert items_needed(got, 0.1) == 203
    assert items_needed(got, 0.05) == 812


def test_mistakes_are_counted_by_position_and_category_against_the_labels() -> None:
    rows = verdicts(range(3), "p", "00", category="art") + verdicts(range(3, 4), "p", "11")
    frame: pd.DataFrame = build(rows)
    labels = [LabelledComparison(f"q{k}", "x", "y", "x") for k in range(4)]
    got = judge_mistakes(frame, "j", "p", labels)
    assert got is not None
    assert got.all.value == pytest.approx(4 / 8)
    assert got.by_category["art"].value == pytest.approx(3 / 6)
    assert got.by_position["first"].value == pytest.approx(1 / 4)
    assert got.by_position["second"].value == pytest.approx(3 / 4)
    assert judge_mistakes(frame, "j", "p", []) is None
