"""Asking for rubrics, crossed options and option probabilities: planned, rendered, stored, read."""

from __future__ import annotations

import json
import math
import re
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from judges.judge_errors import PromptError
from judges.planning.plan import asks_of, make_plan
from judges.rendering.prompt import load_prompt, parse_prompt
from judges.verdicts.verdict import parse_verdict
from metrics.labels.option_order import option_order_effects
from metrics.labels.scores.criteria_order import criteria_order_effects
from metrics.labels.scores.score_distribution import repeat_variation
from studies.domain import Estimate
from studies.frames.arrangement import Arrangement, parse_arrangement
from studies.spec.study import parse_study
from tests.judges.engine.test_asking_points import run, study_text, write_items

NAMES = ("Correctness", "Completeness", "Clarity")
FIRST_BIAS = 0.4


def covers(estimate: Estimate, value: float) -> bool:
    assert estimate.low is not None and estimate.high is not None
    return estimate.low <= value <= estimate.high


def write_scored_items(folder: Path, count: int = 40) -> None:
    lines = [
        {"id": f"q{k}", "instruction": f"question {k}", "responses": {"m": f"answer {k}"},
         "labels": [{"contestant": "m", "value": 1 + k % 3}]}
        for k in range(count)
    ]  # fmt: skip
    text = "\n".join(json.dumps(line) for line in lines)
    (folder / "items.jsonl").write_text(text, encoding="utf-8")


def test_labels_of_an_ask_give_back_its_arrangement() -> None:
    for one in (
        Arrangement(("1", "2", "3")),
        Arrangement(("2", "1"), ("A", "B")),
        Arrangement(("good", "poor"), ("B", "A"), ("Clarity", "Tone of voice")),
    ):
        assert parse_arrangement(one.labels) == one


def test_options_and_criteria_are_rotated_against_each_other(tmp_path: Path) -> None:
    write_scored_items(tmp_path, 2)
    text = study_text("rubric", more="options: rotations\ncriteria_order: rotations\n")
    asks = list(asks_of(make_plan(parse_study(text, "test", tmp_path))))
    assert len({one.ask.key for one in asks}) == len(asks) == 2 * 3 * 3
    first = Counter(
        (offered.options[0], offered.criteria[0])
        for offered in (parse_arrangement(one.ask.labels) for one in asks)
    )
    assert len(first) == 9 and set(first.values()) == {2}
    for one in asks:
        offered, system = parse_arrangement(one.ask.labels), one.call.messages[0]["content"]
        places = [system.index(f"- {name}: ") for name in offered.criteria]
        assert places == sorted(places)
        ends = [system.rindex(f"{name}: X") for name in offered.criteria]
        assert ends == sorted(ends)


def test_criteria_of_the_study_replace_those_of_the_prompt(tmp_path: Path) -> None:
    write_scored_items(tmp_path, 1)
    more = 'criteria: "Tone: it is kind\\nLength: two sentences"\n'
    (one,) = asks_of(make_plan(parse_study(study_text("rubric", more=more), "t", tmp_path)))
    system = one.call.messages[0]["content"]
    assert (
        system.index("- Tone: it is kind") < system.index("- Length: two")
        and NAMES[2] not in system
    )
    assert parse_arrangement(one.ask.labels).criteria == ("Tone", "Length")
    for criteria, why in (("It is short.", "no name"), ("|\n  Tone: a\n  tone: b", "rename")):
        wrong = study_text("rubric", more=f"criteria: {criteria}\n")
        with pytest.raises(PromptError, match=why):
            list(asks_of(make_plan(parse_study(wrong, "t", tmp_path))))


@pytest.mark.parametrize(
    ("prompt", "calls"), [("score-scale", 10), ("pass-fail", 4), ("rubric", 6)]
)
def test_crossed_options_separate_place_and_letter(prompt: str, calls: int, tmp_path: Path) -> None:
    write_scored_items(tmp_path, 1)
    study = parse_study(study_text(prompt, more="options: crossed\n"), "t", tmp_path)
    offered = [parse_arrangement(one.ask.labels) for one in asks_of(make_plan(study))]
    assert len(set(offered)) == len(offered) == calls
    # Each option is at the first place once with the first letter and once with the last.
    firsts = Counter((one.options[0], one.letters[0]) for one in offered)
    assert set(firsts.values()) == {1} and len(firsts) == calls


def test_letters_are_read_as_the_options_they_stand_for(tmp_path: Path) -> None:
    write_scored_items(tmp_path)
    store = run(
        tmp_path, study_text("score-scale, rubric", ", score_noise: 0", "options: crossed\n")
    )
    frame = store.frame("s")
    assert (frame["status"] == "ok").all()
    assert frame["score_0"].to_numpy() == pytest.approx(frame["gold"].to_numpy())
    store.close()


def test_a_rubric_is_stored_as_its_mean_and_the_level_of_each_place(tmp_path: Path) -> None:
    write_scored_items(tmp_path)
    judge = ", score_noise: 0, first_points: -1, unreadable_rate: 0.2"
    store = run(tmp_path, study_text("rubric", judge, "criteria_order: rotations\n"))
    frame = store.frame("s")
    usable = (frame["status"] == "ok").to_numpy()
    assert 10 < (~usable).sum() < len(frame) / 2
    assert frame.loc[~usable, "score_0"].isna().all(), "an unusable reply has no score"
    rows = frame[usable]
    levels = rows[["level_0", "level_1", "level_2"]].to_numpy()
    assert rows["score_0"].to_numpy() == pytest.approx(levels.mean(axis=1))
    gold = rows["gold"].to_numpy()
    assert levels[:, 0] == pytest.approx(np.maximum(1, gold - 1))
    assert levels[:, 1] == pytest.approx(gold)
    store.close()


def test_option_probabilities_give_an_expected_score(tmp_path: Path) -> None:
    write_items(tmp_path, 60)
    judge = ", score_noise: 0, read: probabilities"
    store = run(tmp_path, study_text("score-scale, pass-fail", judge, "options: rotations\n"))
    frame = store.frame("s")
    assert (frame["status"] == "ok").all()
    scale = frame[frame["prompt"] == "score-scale"]
    assert scale["expected"].between(1, 5).all()
    chosen, expected = scale["score_0"].to_numpy(), scale["expected"].to_numpy()
    # The chosen option has at least half of the probability, the others the rest.
    assert (np.abs(chosen - expected) <= 2).all() and np.corrcoef(chosen, expected)[0, 1] > 0.7
    passed = frame[frame["prompt"] == "pass-fail"]
    assert ((passed["expected"] >= 0.5) == (passed["score_0"] == 1)).all()
    assert frame["p_0"].isna().all()
    store.close()


@pytest.mark.parametrize(
    ("reply", "scores"),
    [
        ("Correctness: 3\nCompleteness: 2\nClarity: 1", (2.0, 3.0, 2.0, 1.0)),
        ("Clarity: 1\n**Completeness**: 2\nCorrectness: 3/3", (2.0, 3.0, 2.0, 1.0)),
        ("Correctness: it holds.\nCorrectness: 1\nCompleteness: 1\nClarity: 1.", (1.0,) * 4),
        ("Correctness: 3\nCompleteness: 2", None),
        ("Correctness: 3\nCompleteness: 2 or 3\nClarity: 1", None),
        ("Correctness: 3\nCompleteness: 4\nClarity: 1", None),
        ("Correctness: high\nCompleteness: 2\nClarity: 1", None),
        ("All criteria: 3", None),
        ("", None),
    ],
)
def test_reading_of_rubrics(reply: str, scores: tuple[float, ...] | None) -> None:
    labels = Arrangement(("3", "1", "2"), (), NAMES).labels
    verdict = parse_verdict("rubric", reply, 1, "default", ("1", "2", "3"), labels).verdict
    assert (verdict.scores if verdict else None) == scores


def test_prompts_with_a_wrong_rubric_are_refused() -> None:
    prompt = load_prompt("rubric")
    assert tuple(name for name, _ in prompt.rubric) == NAMES
    head, _, _ = prompt.yaml.partition("criteria:\n")
    for wrong in ("", "[Clarity]", "[{a=b: x}]", "[{A: x}, {a: y}]"):
        with pytest.raises(PromptError, match="criteria"):
            parse_prompt(f"{head}criteria: {wrong}")


def test_the_grammar_of_a_rubric_has_one_line_for_each_criterion() -> None:
    labels = Arrangement(("3", "1", "2"), ("A", "B", "C"), NAMES[::-1]).labels
    grammar = load_prompt("rubric").grammar_for(1, labels)
    assert grammar is not None
    root, level = grammar.split("\n")
    assert re.findall(r"(\w+): ", root) == [*NAMES[::-1]] and root.count(" level ") == 3
    assert re.findall(r'"(\w)"', level) == ["A", "B", "C"]


def test_simulated_order_effects_are_recovered(tmp_path: Path) -> None:
    write_scored_items(tmp_path, 60)
    judge = f", first_bias: {FIRST_BIAS}, score_noise: 0.4"
    store = run(tmp_path, study_text("score-scale", judge, "options: rotations\n"))
    found = option_order_effects(store.frame("s"))["sim", "score-scale"]
    # A verdict by content is at the first place in one of five rotations.
    assert covers(found.first_place, FIRST_BIAS + (1 - FIRST_BIAS) / 5)
    assert found.expected_first.value == pytest.approx(0.2, abs=0.02)
    assert found.place_entropy is not None and 0.5 < found.place_entropy < 0.98
    store.close()


def test_a_simulated_effect_of_the_criteria_order_is_recovered(tmp_path: Path) -> None:
    write_scored_items(tmp_path, 60)
    lines = (tmp_path / "items.jsonl").read_text(encoding="utf-8").splitlines()
    middle = [json.loads(line) for line in lines]
    for item in middle:
        item["labels"][0]["value"] = 2  # neither end of the scale cuts the effect off
    text = "\n".join(json.dumps(item) for item in middle)
    (tmp_path / "items.jsonl").write_text(text, encoding="utf-8")
    judge = ", first_points: -1, score_noise: 0.1"
    store = run(tmp_path, study_text("rubric", judge, "criteria_order: rotations\n"))
    found = criteria_order_effects(store.frame("s"))["sim", "rubric"]
    assert covers(found.first, -1.0) and found.overall.changed.value is not None
    assert found.overall.changed.value < 0.05, "one criterion in three is lowered in each order"
    for places in found.by_place.values():
        assert covers(places[0], -1.0)
    store.close()


WEIGHTS = (0.1, 0.2, 0.7)
NAMED_PROMPT = """
name: named
version: 1
source: ours
protocol: single
messages:
  - system: |
      Judge by these criteria: $criteria
      The options are: $options
      $closing
  - user: |
      $instruction
      $first
verdict: score-scale
scale: [poor, fair, good]
"""


@pytest.mark.parametrize("prompt", ["rubric", "named"])
def test_simulated_slot_weights_are_recovered(prompt: str, tmp_path: Path) -> None:
    """With probability `first_bias` the judge takes the option at a place drawn by its weights;
    otherwise the content decides, whose option is at each place in one of three rotations."""
    write_scored_items(tmp_path, 80)
    (tmp_path / "named.yaml").write_text(NAMED_PROMPT, encoding="utf-8")
    judge = f", first_bias: {FIRST_BIAS}, slot_weights: {list(WEIGHTS)}, score_noise: 0.2"
    store = run(
        tmp_path,
        study_text("rubric" if prompt == "rubric" else "named.yaml", judge, "options: rotations\n"),
    )
    (found,) = option_order_effects(store.frame("s")).values()
    assert len(found.places) == 3
    for place, weight in zip(found.places, WEIGHTS, strict=True):
        assert covers(place.share, FIRST_BIAS * weight + (1 - FIRST_BIAS) / 3)
        assert place.expected.value == pytest.approx(1 / 3, abs=0.03)
    store.close()


def test_simulated_slot_weights_of_pass_and_fail_are_recovered(tmp_path: Path) -> None:
    write_items(tmp_path, 200)
    judge = f", first_bias: {FIRST_BIAS}, slot_weights: [0.1, 0.9]"
    store = run(tmp_path, study_text("pass-fail", judge, "options: rotations\n"))
    found = option_order_effects(store.frame("s"))["sim", "pass-fail"]
    first, second = found.places
    assert covers(first.share, FIRST_BIAS * 0.1 + (1 - FIRST_BIAS) / 2)
    assert covers(second.share, FIRST_BIAS * 0.9 + (1 - FIRST_BIAS) / 2)
    store.close()


def test_the_expected_score_has_its_spread(tmp_path: Path) -> None:
    write_items(tmp_path, 40)
    store = run(tmp_path, study_text("score-scale", ", read: probabilities"))
    frame = store.frame("s")
    assert frame["expected_spread"].between(0, 2).all() and frame["expected_spread"].max() > 0
    store.close()


def test_simulated_noise_is_recovered_from_repeats(tmp_path: Path) -> None:
    """Steps of a fine scale have the variance noise² + 1/12 (rounding); two repeats give
    √(2/π) of a standard deviation on average."""
    write_scored_items(tmp_path, 1)
    lines = [
        {"id": f"q{k}", "instruction": f"question {k}", "responses": {"m": f"answer {k}"},
         "labels": [{"contestant": "m", "value": 10}]}
        for k in range(150)
    ]  # fmt: skip
    text = "\n".join(json.dumps(line) for line in lines)
    (tmp_path / "items.jsonl").write_text(text, encoding="utf-8")
    fine = NAMED_PROMPT.replace("[poor, fair, good]", str(list(range(1, 20))))
    (tmp_path / "named.yaml").write_text(fine, encoding="utf-8")
    store = run(tmp_path, study_text("named.yaml", ", score_noise: 1.5", "repeats: 2\n"))
    (found,) = repeat_variation(store.frame("s")).values()
    assert covers(found.deviation, math.sqrt(2 / math.pi * (1.5**2 + 1 / 12)))
    store.close()
