"""Comparison of prompts on held-out items: hand-worked tables, sentences, looks."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from metrics.summary.alignment.alignment_section import (
    AlignmentInputs,
    LookResult,
    candidate_as_json,
    compare_latest_candidates,
)
from metrics.summary.alignment.alignment_text import render_candidate_comparison
from metrics.summary.alignment.candidate_table import compare_candidates
from metrics.summary.alignment.learn_mistakes import judge_mistakes
from metrics.summary.alignment.prompt_advice import advise, items_needed
from metrics.twins.twin_effects import twin_effects
from studies.domain import Estimate
from studies.people.label_split import CandidateRecord, LabelSplit, Look
from studies.people.study_labels import LabelledComparison, StudyLabels
from studies.texts.twin_families import CONTROLS
from tests.metrics.frames import build
from tests.metrics.twins.simulated_twins import duel_frame
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
         "known_answer": shown.index("x"), "length": (9, 3) if shown[0] == "x" else (3, 9), **more}
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


def twins_of(prompts: dict[str, dict[str, float]], items: int = 60) -> pd.DataFrame:
    """Duels with twins of one judge: prompt -> family -> preference in logits."""
    parts = [
        duel_frame(items, pulls, np.random.default_rng(k))
        .assign(prompt=name)
        .astype({"prompt": str})
        for k, (name, pulls) in enumerate(prompts.items())
    ]
    return pd.concat(parts, ignore_index=True).astype({"prompt": "category"})


def test_a_candidate_whose_twin_effect_grows_is_not_adopted_and_the_twin_is_named() -> None:
    """p1 gains agreement and loses flips in both; only growing effects of twins decide."""
    frame = hold_out_frame([WEAK, CURED], 60, seed=1)
    for pulls, advice in (
        ({"p0": {}, "p1": {"longer-3": 2.5}}, "do not adopt"),
        ({"p0": {"longer-3": 2.5}, "p1": {"longer-3": 2.5}}, "adopt"),
        ({"p0": {"longer-3": 2.5}, "p1": {}}, "adopt"),
        ({"p0": {}, "p1": {"cut": 2.5}}, "adopt"),  # a control is no bias
    ):
        table = compare_candidates(frame, "j", "p0", ["p1"], twins=twins_of(pulls))
        assert table is not None
        found = advise(table)
        assert (found.advice, found.prompt) == (advice, "p1")
        named = "twins.longer-3" in table.candidates[0].worsened_effects
        assert named == (advice == "do not adopt") == ("the twin longer-3" in found.sentence
                                                       and "but" in found.sentence)  # fmt: skip
        if named:
            change = table.candidates[0].changes["twins.longer-3"]
            now, was = (
                f"{100 * share:+.0f}".replace("-", "−") for share in (change.now, change.was)
            )
            assert was.lstrip("+−") not in ("0", now.lstrip("+−"))
            assert says(found.sentence, f"by {now} point", f"instead of {was} point")
    plain = compare_candidates(frame, "j", "p0", ["p1"])
    assert plain is not None and not any("twins" in key for key in plain.candidates[0].changes)


def test_the_change_of_a_twin_effect_is_the_difference_of_both_effects() -> None:
    """Oracle: the effects as estimated for each prompt alone."""
    frame = hold_out_frame([WEAK, CURED], 60, seed=1)
    twins = twins_of({"p0": {"citation": 0.5}, "p1": {"longer-3": 1.5}})
    effects = {
        (one.prompt, one.family): one.beyond_floor.value for one in twin_effects(twins, frame)
    }
    table = compare_candidates(frame, "j", "p0", ["p1"], twins=twins)
    assert table is not None
    changes = table.candidates[0].changes
    for family in ("longer-3", "citation", "crowd", "markdown", "confident"):
        gap = effects["p1", family] - effects["p0", family]
        one = changes[f"twins.{family}"]
        assert one.change.value == pytest.approx(gap)
        assert (one.now, one.was) == pytest.approx((effects["p1", family], effects["p0", family]))


def test_twins_and_calls_stand_in_the_printed_table_and_in_the_json() -> None:
    looks = (Look("j", "p0", (CandidateRecord("p1", "rules", "s"),)),)
    frame, twins = (
        hold_out_frame([WEAK, CURED], 60, seed=1),
        twins_of({"p0": {}, "p1": {"crowd": 2.5}}),
    )
    effects = twin_effects(twins, frame)
    by_prompt = {p: [one for one in effects if one.prompt == p] for p in ("p0", "p1")}
    result = LookResult(looks[0], frame, {("j", "p1"): 88.0}, by_prompt, twins)
    inputs = AlignmentInputs(LabelSplit(7, (), (), looks), {}, (result,))
    found = compare_latest_candidates(inputs, "j", "p0")
    assert found is not None
    _, table, advice = found
    assert table is not None and advice.advice == "do not adopt"
    printed = render_candidate_comparison(inputs, *found)
    assert (
        says(printed, "calls", "tokens", "largest twin effect") and "adds twins (crowd)" in printed
    )
    for number, words in ((1, "once"), (2, "twice"), (3, "3 times")):
        looked = replace(inputs, split=replace(inputs.split, looks=looks * number))
        assert f" {words}." in render_candidate_comparison(looked, *found)
    assert "largest twin" not in render_candidate_comparison(
        inputs, replace(result, twins={}), table, advice
    )
    section = candidate_as_json(table.lines[1], result)
    assert section["calls"] == 120 and section["worse"] == ["twins.crowd"]
    assert set(section["twin_changes"]) == set(section["twins"]) - set(CONTROLS)
    assert "twin_changes" not in candidate_as_json(table.lines[0], result)


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


def test_without_a_candidate_more_labels_are_advised_without_a_number() -> None:
    table = compare_candidates(build(verdicts(range(40), "old", "01")), "j", "old", [])
    assert table is not None and table.items == 40
    advice = advise(table)
    assert (advice.advice, advice.prompt) == ("not enough labels", None)
    assert (advice.others, advice.needed) == ("", None)


def test_items_needed_follow_the_square_of_the_gain() -> None:
    """Reach 0.1 at 100 items: n = 100 · ((0.1 + 0.8416 · 0.1/1.984)/gain)²."""
    got = Estimate(0.05, -0.05, 0.15, 100, 100)
    assert items_needed(got, 0.1) == 203
    assert items_needed(got, 0.05) == 812


def test_mistakes_are_counted_by_position_and_category_against_the_labels() -> None:
    rows = verdicts(range(3), "p", "00", category="art") + verdicts(range(3, 4), "p", "11")
    frame: pd.DataFrame = build(rows)
    labels = StudyLabels(
        tuple(LabelledComparison(f"q{k}", "x", "y", "x") for k in range(4)), disputed=()
    )
    got = judge_mistakes(frame, "j", "p", labels)
    assert got is not None
    assert got.all.value == pytest.approx(4 / 8)
    assert got.by_category["art"].value == pytest.approx(3 / 6)
    assert got.by_position["first"].value == pytest.approx(1 / 4)
    assert got.by_position["second"].value == pytest.approx(3 / 4)
    assert judge_mistakes(frame, "j", "p", StudyLabels((), ())) is None
    assert set(got.as_json()) == {"all", "by_category", "by_position"}
