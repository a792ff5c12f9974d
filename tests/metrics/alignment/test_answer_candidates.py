"""Comparison of prompts that judge one answer: hand-worked tables, length at equal labels."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from metrics.labels.compared_points import NEAR_LABEL
from metrics.summary.alignment.alignment_section import (
    AlignmentInputs,
    LookResult,
    alignment_section,
    candidate_as_json,
)
from metrics.summary.alignment.alignment_text import render_candidate_comparison
from metrics.summary.alignment.candidate_table import compare_candidates
from metrics.summary.alignment.learn_mistakes import judge_mistakes
from metrics.summary.alignment.prompt_advice import advise
from metrics.summary.alignment.side_effects import ANSWER_LENGTH
from studies.people.label_split import CandidateRecord, LabelSplit, Look
from studies.people.study_labels import LabelledAnswer, StudyLabels
from tests.metrics.frames import build
from tests.page_words import says
from tests.soak.alignment_studies import (
    DULL,
    EVEN,
    LENIENT,
    STRICT_ENOUGH,
    WORDY,
    advice_on,
    answer_frame,
)

PASS_OPTIONS, SCALE = ("fail", "pass"), tuple("12345")


def verdicts(
    prompt: str,
    scores: list[float | None],
    gold: list[float],
    options: tuple[str, ...] = PASS_OPTIONS,
) -> pd.DataFrame:
    """One answer for each item, with its label; None is an unusable reply."""
    rows = [
        {"item": f"q{k}", "shown": ("x",), "pick": None, "prompt": prompt, "labels": options,
         "status": "unreadable" if score is None else "ok", "length": (10 + k,),
         "scores": (np.nan if score is None else score,), "category": "art" if k < 4 else "maths"}
        for k, score in enumerate(scores)
    ]  # fmt: skip
    return build(rows).assign(gold=np.array(gold, np.float32))


def joined(*frames: pd.DataFrame) -> pd.DataFrame:
    names = ("item", "prompt", "judge", "shown", "labels", "first", "second", "comparison",
             "category", "study", "status")  # fmt: skip
    plain = [frame.astype(dict.fromkeys(names, object)) for frame in frames]
    found = pd.concat(plain, ignore_index=True)
    return found.astype(dict.fromkeys(names, "category"))


def test_agreement_and_difference_are_those_of_the_hand_worked_table() -> None:
    """Labels pass and fail in turn; today all pass, so that half are right; the candidate is wrong
    on four of 40."""
    gold = [float(k % 2) for k in range(40)]
    new = [1 - g if k < 4 else g for k, g in enumerate(gold)]
    frame = joined(verdicts("old", [1.0] * 40, gold), verdicts("new", new, gold))
    table = compare_candidates(frame, "j", "old", ["new"])
    assert table is not None and (table.kind, table.items) == ("pass", 40)
    (line,) = table.candidates
    assert table.today.agreement.value == pytest.approx(0.5)
    assert line.agreement.value == pytest.approx(0.9)
    assert line.difference is not None and line.difference.value == pytest.approx(0.4)
    assert line.status == "gains" and advise(table).advice == "adopt"
    assert set(line.effects) == {"length_excess", "unusable"}, "no flips, no positions"


def test_scores_agree_if_they_are_at_most_one_step_from_the_label() -> None:
    gold = [1.0, 2.0, 3.0, 4.0, 5.0] * 8
    old = [5.0] * 40  # within one step of 4 and 5
    new = [min(g + 1, 5.0) for g in gold]
    frame = joined(verdicts("old", old, gold, SCALE), verdicts("new", new, gold, SCALE))
    table = compare_candidates(frame, "j", "old", ["new"])
    assert table is not None and table.kind == "score"
    assert table.today.agreement.value == pytest.approx(2 / 5)
    assert table.candidates[0].agreement.value == pytest.approx(1.0)
    assert table.today.effects["distance"].value == pytest.approx((4 + 3 + 2 + 1 + 0) / 5)
    assert table.candidates[0].effects["distance"].value == pytest.approx(4 / 5)
    assert "distance" in table.candidates[0].improved_effects


def test_only_answers_with_usable_replies_to_all_prompts_are_compared() -> None:
    gold = [float(k % 2) for k in range(40)]
    new = [None if k < 8 else g for k, g in enumerate(gold)]
    mute = [None if k < 25 else g for k, g in enumerate(gold)]
    frame = joined(
        verdicts("old", gold, gold), verdicts("new", new, gold), verdicts("mute", mute, gold)
    )
    table = compare_candidates(frame, "j", "old", ["new", "mute"])
    assert table is not None and table.items == 32
    line, silent = table.candidates
    assert (
        line.effects["unusable"].value == pytest.approx(8 / 40)
        and "unusable" in line.worsened_effects
    )
    assert silent.status == "no replies" and "labelled answers" in silent.agreement.note
    none = verdicts("old", [None] * 40, gold)
    assert (
        compare_candidates(joined(none, verdicts("new", gold, gold)), "j", "old", ["new"]) is None
    )


def test_length_is_measured_at_equal_labels() -> None:
    """Oracle: least squares by numpy on label and "longer than the median"; and a judge that
    repeats labels that go with length shows no effect of length."""
    frame = answer_frame([WORDY], 200, seed=4)
    long = frame["length_0"] > frame["length_0"].median()
    design = np.column_stack([np.ones(len(frame)), frame["gold"], long])
    coefficients = np.linalg.lstsq(design, frame["score_0"].to_numpy(), rcond=None)[0]
    assert ANSWER_LENGTH.estimate(frame).value == pytest.approx(coefficients[2], abs=1e-6)
    assert coefficients[2] > 0.4
    gold = [float(k >= 20) if k % 10 else float(k < 20) for k in range(40)]  # long ones mostly pass
    assert ANSWER_LENGTH.estimate(verdicts("p", list(gold), gold)).value == pytest.approx(
        0, abs=1e-9
    )
    frame = verdicts("p", list(gold), gold)
    assert ANSWER_LENGTH.estimate(frame.assign(length_0=7)).value is None
    short = frame.assign(length_0=[3] * 10 + [7] * 30)  # most have the greatest length
    assert ANSWER_LENGTH.estimate(short).value == pytest.approx(0, abs=1e-9)


def test_a_lenient_judge_s_cure_is_adopted_and_length_is_named() -> None:
    cured = advice_on([LENIENT, STRICT_ENOUGH], 60, seed=1)
    assert (cured.advice, cured.prompt) == ("adopt", "p1")
    wordy = advice_on([DULL, WORDY], 150, seed=2)
    assert wordy.advice == "do not adopt"
    assert says(wordy.sentence, "p1: +", "but length", "by +", "instead of")
    assert says(advice_on([EVEN, WORDY], 60, seed=1).sentence, "no gain", "but length")


def test_below_thirty_items_nothing_is_recommended() -> None:
    advice = advice_on([LENIENT, STRICT_ENOUGH], 29, seed=1)
    assert (advice.advice, advice.prompt) == ("not enough labels", None)
    assert says(advice.sentence, "29 items", "1 fewer", "30")


def test_columns_that_do_not_apply_are_absent() -> None:
    looks = (Look("j", "p0", (CandidateRecord("p1", "rules", "s"),)),)
    frame = answer_frame([LENIENT, STRICT_ENOUGH], 60, seed=1)
    result = LookResult(looks[0], frame)
    labels = StudyLabels(tuple(LabelledAnswer(f"q{k}", "x", 1.0) for k in range(60)), (), "pass")
    split = LabelSplit(7, tuple(f"q{k}" for k in range(30)), (), looks)
    inputs = AlignmentInputs(split, {"pass": labels}, (result,))
    table = compare_candidates(frame, "j", "p0", ["p1"])
    assert table is not None
    head = render_candidate_comparison(inputs, result, table, advise(table)).splitlines()[0]
    assert head.split("  ")[0] == "prompt" and says(head, "length", "calls", "tokens")
    assert "flips" not in head and "first" not in head and "twin" not in head
    data = candidate_as_json(table.lines[1], result)
    assert not {"flips", "first_share", "twins", "twin_changes", "distance"} & set(data)
    section = alignment_section(frame, inputs)["judges"]["j"]["p0"]
    assert "by_position" not in section["mistakes"] and section["mistakes"]["by_label"]


def test_mistakes_on_single_answers_are_counted_by_label_and_category() -> None:
    gold = [1.0, 0.0] * 4
    said = [1.0, 1.0, 1.0, 1.0, 0.0, 0.0, 1.0, None]
    labels = StudyLabels(
        tuple(LabelledAnswer(f"q{k}", "x", g) for k, g in enumerate(gold)), (), "pass"
    )
    got = judge_mistakes(verdicts("p", said, gold), "j", "p", labels)
    assert got is not None
    assert got.all.value == pytest.approx(3 / 7)
    assert got.by_label["pass"].value == pytest.approx(1 / 4)
    assert got.by_label["fail"].value == pytest.approx(2 / 3)
    assert got.by_category["art"].value == pytest.approx(2 / 4)
    assert set(got.as_json()) == {"all", "by_category", "by_label"}
    scored = StudyLabels(tuple(LabelledAnswer(f"q{k}", "x", 3.0) for k in range(4)), (), "score")
    off = verdicts("p", [5.0, 4.0, 2.0, 3.0], [3.0] * 4, SCALE)
    counted = judge_mistakes(off, "j", "p", scored)
    assert counted is not None and counted.all.value == pytest.approx(1 / 4)
    assert judge_mistakes(off, "j", "q", scored) is None


def test_a_score_is_a_mistake_if_it_is_more_than_one_step_of_its_scale_off() -> None:
    """Labels 50 on a scale of quarters: 75 and 25 are next to it, 100 is not."""
    hundred = ("0", "25", "50", "75", "100")
    scored = StudyLabels(tuple(LabelledAnswer(f"q{k}", "x", 50.0) for k in range(4)), (), "score")
    frame = verdicts("p", [75.0, 25.0, 50.0, 100.0], [50.0] * 4, hundred)
    got = judge_mistakes(frame, "j", "p", scored)
    assert got is not None and got.all.value == pytest.approx(1 / 4)
    assert list(got.by_label) == ["50"]
    assert NEAR_LABEL.estimate(frame).value == pytest.approx(3 / 4)
    narrow = verdicts("p", [0.75, 0.5, 0.25, 0.0], [0.5] * 4, ("0", "0.25", "0.5", "0.75", "1"))
    assert NEAR_LABEL.estimate(joined(frame, narrow)).value == pytest.approx(6 / 8), (
        "each by its scale"
    )
