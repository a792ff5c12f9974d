"""Asking for pass/fail and scores: arrangements of the options, and simulated judges recovered."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import pytest

from judges.judge_errors import PromptError
from judges.planning.plan import asks_of, make_plan
from judges.rendering.prompt import load_prompt, parse_prompt
from metrics.labels.label_sections import pass_fail_results, scores_section
from studies.domain import Estimate
from studies.spec.study import parse_study
from studies.store.store import Store
from tests.judges.small_studies import run_text

SENSITIVITY, SPECIFICITY, SEVERITY = 0.85, 0.65, 0.6


def write_items(folder: Path, count: int = 300) -> None:
    lines = []
    for k in range(count):
        value: object = ("pass" if k % 3 else "fail") if k % 2 else 2 + k % 3
        lines.append({
            "id": f"q{k}", "instruction": f"question {k}", "responses": {"m": f"answer {k}"},
            "reference": "so", "labels": [{"contestant": "m", "value": value}],
        })  # fmt: skip
    text = "\n".join(json.dumps(line) for line in lines)
    (folder / "items.jsonl").write_text(text, encoding="utf-8")


def study_text(prompts: str, judge: str = "", more: str = "") -> str:
    return (
        "name: s\ndata: {source: items.jsonl}\n"
        f"judges: [{{name: sim, model: simulated, seed: 5{judge}}}]\n"
        f"prompts: [{prompts}]\n{more}"
    )


def run(folder: Path, text: str) -> Store:
    store = Store(folder / "store.db")
    run_text(store, text, folder)
    return store


def test_each_arrangement_of_the_options_is_one_ask(tmp_path: Path) -> None:
    write_items(tmp_path, 4)
    text = study_text("pass-fail, score-scale", more="options: rotations\ncriteria: It is short.\n")
    asks = list(asks_of(make_plan(parse_study(text, "test", tmp_path))))
    found = Counter((one.ask.prompt, one.ask.labels) for one in asks)
    assert set(found.values()) == {4}
    assert {labels for name, labels in found if name == "pass-fail"} == {
        ("fail", "pass"), ("pass", "fail")
    }  # fmt: skip
    scales = {labels for name, labels in found if name == "score-scale"}
    assert len(scales) == 5 and {labels[0] for labels in scales} == set("12345")
    assert len({one.ask.key for one in asks}) == len(asks) == 28
    for one in asks:
        system = one.call.messages[0]["content"]
        assert "It is short." in system
        places = [system.rindex(f"Verdict: {name.upper()}") for name in one.ask.labels
                  if one.ask.prompt == "pass-fail"]  # fmt: skip
        assert places == sorted(places)


@pytest.mark.parametrize(
    ("arrangement", "first"), [("", "1"), ("options: descending\n", "5")]
)  # fmt: skip
def test_one_arrangement_is_one_call_per_answer(
    arrangement: str, first: str, tmp_path: Path
) -> None:
    write_items(tmp_path, 3)
    plan = make_plan(parse_study(study_text("score-scale", more=arrangement), "t", tmp_path))
    assert [one.ask.labels[0] for one in asks_of(plan)] == [first] * 3


def test_simulated_parameters_are_recovered(tmp_path: Path) -> None:
    write_items(tmp_path)
    judge = (
        f", sensitivity: {SENSITIVITY}, specificity: {SPECIFICITY}, severity: {SEVERITY}, "
        "score_noise: 0.3, unreadable_rate: 0.1"
    )
    store = run(tmp_path, study_text("pass-fail, score-scale", judge))
    frame = store.frame("s")
    result = pass_fail_results(frame)["sim", "pass-fail"]

    def covers(estimate: Estimate, value: float) -> bool:
        assert estimate.low is not None and estimate.high is not None
        return estimate.low <= value <= estimate.high

    assert covers(result.rates.sensitivity, SENSITIVITY)
    assert covers(result.rates.specificity, SPECIFICITY)
    assert result.rates.unusable > 10
    usable = result.rates.confusion.total + result.rates.unusable
    assert usable <= 300, "an unusable reply is no verdict"
    assert covers(scores_section(frame)["sim"]["score-scale"]["bias"], -SEVERITY)
    store.close()


def test_prompts_show_the_reference_and_refuse_a_wrong_scale() -> None:
    assert "reference" in load_prompt("pass-fail-reference").variables
    assert load_prompt("score-scale").options == ("1", "2", "3", "4", "5")
    text = load_prompt("score-scale").yaml
    for scale in ("[5, 4, 3]", "[1]", "[a, A]", "[1, true]", '["x\\ny", b]'):
        with pytest.raises(PromptError, match="scale"):
            parse_prompt(text.replace("[1, 2, 3, 4, 5]", scale))
    with pytest.raises(PromptError, match="scale: needed"):
        parse_prompt(text.replace("scale: [1, 2, 3, 4, 5]\n", ""))
