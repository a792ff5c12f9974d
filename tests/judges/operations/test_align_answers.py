"""The command `align` on prompts that judge one answer, at a loopback judge with a known
weakness: pass or fail, scores, rubrics."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest
import yaml

from judges.judge_errors import PlanError
from judges.operations.align_prompt import (
    build_candidate_plan,
    build_candidates,
    split_and_find_mistakes,
)
from judges.operations.learn_cases import (
    LabelledVerdicts,
    LearnCase,
    choose_examples,
    describe_mistaken_cases,
    example_messages,
    write_right_reply,
)
from judges.operations.prompt_candidates import read_rules
from judges.planning.plan import asks_of, load_stored_plan
from judges.rendering.messages import list_arrangement_labels
from judges.rendering.prompt import load_prompt, parse_prompt
from judges.verdicts.verdict import parse_verdict
from studies.domain import Item
from studies.people.study_labels import LabelledAnswer
from studies.spec.study import Study
from studies.store.store import Store
from studies.texts.twin_families import is_twin
from tests.judge_server import Asked, JudgeServer
from tests.judges.operations.test_align import align, assert_no_leak, run_first
from tests.judges.small_studies import PRICE
from tests.page_words import says

RULES = "- A number of q below five is not good enough.\n- The length of an answer says nothing."


@dataclass
class LenientJudge:
    """Passes every answer, or gives it the highest score; with rules it reads the number q."""

    rules: str = RULES
    seen: list[str] = field(default_factory=list)
    """Texts sent to the writer of rules."""
    asked: list[Asked] = field(default_factory=list)
    verdict: Callable[[float], str] = lambda q: f"Verdict: {'PASS' if q >= 5 else 'FAIL'}"

    def __call__(self, asked: Asked) -> str:
        self.asked.append(asked)
        if "The cases stand between" in asked.text:
            self.seen.append(asked.text)
            return self.rules
        ruled = "Rules for this task" in asked.text
        quality = float(re.findall(r"q=(\d)", f"q=9 {asked.last_user}")[-1])
        return f"It is so.\n{self.verdict(quality if ruled else 9.0)}"


@pytest.fixture
def lenient() -> Iterator[tuple[LenientJudge, str]]:
    behaviour = LenientJudge()
    with JudgeServer(behaviour=behaviour) as server:
        yield behaviour, server.base_url


def write_study(
    folder: Path, url: str, label: Callable[[int], object], items: int = 60, **more: object
) -> Path:
    """Items with one answer of quality q = 9 or 1 in turn, and the label of that quality."""
    lines = []
    for k in range(items):
        q = 9 if k % 2 else 1
        text = f"answer MARK{k}END costs $first q={q}"
        labels = [{"contestant": "x", "value": label(q)}]
        lines.append({"id": f"i{k}", "instruction": f"question MARK{k}END",
                      "responses": {"x": text}, "labels": labels})  # fmt: skip
    (folder / "items.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    study = {
        "name": "small", "data": {"source": "items.jsonl"}, "prompts": ["pass-fail"],
        "judges": [{"name": "judge", "model": "judge", "base_url": url, "price": PRICE}], **more,
    }  # fmt: skip
    path = folder / "study.yaml"
    path.write_text(yaml.safe_dump(study), encoding="utf-8")
    return path


def passes(q: int) -> str:
    return "pass" if q >= 5 else "fail"


def test_from_labels_to_an_adopted_version_and_back(
    tmp_path: Path, lenient: tuple[LenientJudge, str], capsys: pytest.CaptureFixture[str]
) -> None:
    behaviour, url = lenient
    study = write_study(tmp_path, url, passes)
    run_first(study)
    capsys.readouterr()
    before = len(behaviour.asked)
    assert before == 60
    assert align(study) == 0
    out = capsys.readouterr().out
    assert says(out, "learn 30", "hold-out 30", "mistakes")
    assert says(out, "mistakes", "of 30", "learn answers", "another verdict")
    assert "90 calls" in out and "Nothing was sent" in out
    assert align(study, "--ask") == 0
    out = capsys.readouterr().out
    assert len(behaviour.asked) == before + 1 + 90  # today's calls are stored already
    assert says(out, "Adopt pass-fail+", "points") and "looked at once" in out
    head = next(line for line in out.splitlines() if line.startswith("prompt"))
    assert not re.search("flips|first", head) and "agreement with labels" in head
    assert align(study, "--adopt", "rules") == 0
    saved = parse_prompt((tmp_path / "pass-fail-v2.yaml").read_text("utf-8"))
    assert (saved.name, saved.version, saved.verdict) == ("pass-fail", 2, "pass-fail")
    assert align(study, "--undo", "rules") == 0
    again = parse_prompt((tmp_path / "pass-fail-v3.yaml").read_text("utf-8"))
    assert again.messages == load_prompt("pass-fail").messages


def test_no_candidate_and_no_writer_sees_a_held_out_answer(
    tmp_path: Path, lenient: tuple[LenientJudge, str]
) -> None:
    behaviour, url = lenient
    assert_no_leak(write_study(tmp_path, url, passes, items=24), behaviour)


def test_below_thirty_labelled_items_nothing_is_recommended(
    tmp_path: Path, lenient: tuple[LenientJudge, str], capsys: pytest.CaptureFixture[str]
) -> None:
    study = write_study(tmp_path, lenient[1], passes, items=24)
    run_first(study)
    align(study, "--candidates", "rules")
    assert says(capsys.readouterr().out, "16 more", "needed")
    assert align(study, "--candidates", "rules", "--ask") == 0
    out = capsys.readouterr().out
    assert says(out, "Not enough labels", "14 items") and "Adopt" not in out


def test_scores_count_as_agreement_within_one_step(
    tmp_path: Path, lenient: tuple[LenientJudge, str], capsys: pytest.CaptureFixture[str]
) -> None:
    """Labels 2 and 4: the lenient judge's 5 is within one step of 4 only; with rules it says 1 and
    5, which are within one step of both."""
    behaviour, url = lenient
    behaviour.verdict = lambda q: f"Score: {5 if q >= 5 else 1}"
    study = write_study(tmp_path, url, lambda q: 4 if q >= 5 else 2, prompts=["score-scale"])
    run_first(study)
    align(study, "--candidates", "rules")
    assert says(capsys.readouterr().out, "one step")
    assert says(behaviour.seen[0], "Right score: 2", "judge", "score: 5")
    assert align(study, "--candidates", "rules", "--ask") == 0
    out = capsys.readouterr().out
    assert says(out, "Adopt score-scale+rules", "nearer", "labels")
    assert says(out, "within one step", "distance") and "100.0%" in out


def test_a_study_without_labels_of_the_prompt_s_kind_gets_a_clear_sentence(
    tmp_path: Path, lenient: tuple[LenientJudge, str], capsys: pytest.CaptureFixture[str]
) -> None:
    study = write_study(tmp_path, lenient[1], lambda q: q, items=6)
    run_first(study)
    assert align(study) != 0
    assert says(capsys.readouterr().err, "no answer", "pass or fail")
    assert align(study, "--prompt", "who") != 0


def test_twins_of_held_out_answers_are_asked_with_every_prompt(
    tmp_path: Path, lenient: tuple[LenientJudge, str]
) -> None:
    twins = {"families": ["crowd"], "items": 8, "per_item": 1}
    study = write_study(tmp_path, lenient[1], passes, items=20, twins=twins)
    run_first(study)
    store = Store(tmp_path / "e.db")
    task = split_and_find_mistakes(load_stored_plan(store, "small"), store)
    made = build_candidates(task, ["examples"])
    asks = [planned.ask for planned in asks_of(build_candidate_plan(task, made))]
    store.close()
    held = set(task.split.hold_out)
    with_twins = {item.id for item in task.plan.items if item.twins and item.id in held}
    about = {(ask.item, ask.prompt) for ask in asks if any(map(is_twin, ask.shown))}
    prompts = ("pass-fail", "pass-fail+examples")
    assert with_twins and about == {(item, prompt) for item in with_twins for prompt in prompts}


# ---- blocks --------------------------------------------------------------------------------------


def case(
    name: str, value: float, wrong: int, levels: tuple[tuple[str, float], ...] = ()
) -> LearnCase:
    label = LabelledAnswer(name, "x", value, levels=levels)
    return LearnCase(Item(name, "?", {"x": name}), label, LabelledVerdicts(1, wrong, 0.0))


def test_examples_are_balanced_over_labels_and_over_mistakes_and_right_verdicts() -> None:
    cases = [case(f"good{k}", 1.0, wrong=int(k < 5)) for k in range(20)]
    cases += [case(f"bad{k}", 0.0, wrong=int(k < 10)) for k in range(20)]
    chosen = choose_examples(cases, 4, seed=3)
    assert sorted((c.label.value, c.mistakes) for c in chosen) == [(0, 0), (0, 1), (1, 0), (1, 1)]
    assert [c.label.value for c in chosen] == [0, 1, 0, 1], "labels take turns"
    few = choose_examples([*cases[5:20], *cases[20:25]], 4, seed=3)  # good ones without mistakes
    assert [c.label.value for c in few] == [0, 1, 0, 1]


def test_examples_of_scores_span_the_scale() -> None:
    cases = [case(f"q{k}", float(1 + k % 5), wrong=k % 2) for k in range(50)]
    assert [c.label.value for c in choose_examples(cases, 4, seed=1)] == [1, 5, 2, 4]
    assert len(choose_examples(cases, 99, seed=1)) == 50
    graded = [case(f"g{k}", (k % 5) / 4, wrong=k % 2) for k in range(50)]
    scale = replace(load_prompt("score-scale"), scale=("0", "0.25", "0.5", "0.75", "1"))
    chosen = choose_examples(graded, 4, seed=1, prompt=scale)
    assert [c.label.value for c in chosen] == [0, 1, 0.25, 0.75]
    halves = [case(f"h{k}", (k % 3) / 2, wrong=k % 2) for k in range(30)]
    letters = replace(scale, scale=(), verdict="grade-letter")
    chosen = choose_examples(halves, 3, seed=1, prompt=letters)
    assert [c.label.value for c in chosen] == [0, 1, 0.5]


def test_a_rubric_without_levels_is_no_example() -> None:
    levels = (("Correctness", 3.0), ("Completeness", 1.0), ("Clarity", 2.0))
    cases = [case("plain", 2.0, 1), case("filled", 2.0, 0, levels)]
    chosen = choose_examples(cases, 4, seed=1, prompt=load_prompt("rubric"))
    assert [c.item.id for c in chosen] == ["filled"]


@pytest.mark.parametrize("options", ["ascending", "descending", "rotations", "crossed"])
@pytest.mark.parametrize(
    ("name", "label"),
    [
        ("pass-fail", LabelledAnswer("q", "x", 1.0)),
        ("pass-fail", LabelledAnswer("q", "x", 0.0)),
        ("score-scale", LabelledAnswer("q", "x", 4.0)),
        ("rubric", LabelledAnswer("q", "x", 2.0, levels=(
            ("Correctness", 3.0), ("Completeness", 1.0), ("Clarity", 2.0)))),
        ("mt-bench-single", LabelledAnswer("q", "x", 7.0)),
    ],
)  # fmt: skip
def test_the_right_reply_is_read_as_the_label(
    name: str, label: LabelledAnswer, options: str
) -> None:
    """Oracle: the reader of replies. In every arrangement of the options."""
    prompt = load_prompt(name)
    for labels in list_arrangement_labels(prompt, options) if prompt.options else [("1",)]:
        reply = write_right_reply(prompt, labels, label)
        read = parse_verdict(prompt.verdict, reply, 1, scale=prompt.options, labels=labels).verdict
        assert read is not None and read.scores[0] == pytest.approx(label.value)


def test_the_arrangements_of_a_study_take_turns_in_its_examples() -> None:
    levels = (("Correctness", 3.0), ("Completeness", 1.0), ("Clarity", 2.0))
    cases = [case("q", 2.0, 0, levels)] * 4
    rotated = Study("s", criteria_order="rotations")
    prompt = load_prompt("rubric")
    plain = example_messages(prompt, cases)
    assert example_messages(prompt, cases, study=Study("s")) == plain
    turned = example_messages(prompt, cases, study=rotated)
    assert turned[::2] == plain[::2], "the questions are the same"
    order = [[line.partition(":")[0] for line in said.splitlines()] for _, said in turned[1::2]]
    first = [name for name, _ in levels]
    assert order == [first, first[1:] + first[:1], first[2:] + first[:2], first]
    grade = load_prompt("mt-bench-single")  # has no options
    assert example_messages(grade, cases, study=rotated) == example_messages(grade, cases)


def test_the_writer_reads_both_verdicts() -> None:
    text = describe_mistaken_cases([case("good", 1.0, 1), case("bad", 0.0, 1)], "pass")
    first, second = text.split("\n\n")
    assert says(first, "Case 1", "Right verdict: pass", "said fail")
    assert says(second, "Case 2", "Right verdict: fail", "said pass")


def test_lines_that_state_a_verdict_are_no_rules() -> None:
    rule = "Check every number in the answer."
    got = read_rules(f"- Verdict: PASS for this answer\n- {rule}")
    assert got.rules == (rule,)


def test_criteria_that_the_prompt_shows_already_are_no_candidate(
    tmp_path: Path, lenient: tuple[LenientJudge, str]
) -> None:
    study = write_study(tmp_path, lenient[1], passes, items=12, criteria="It is right.")
    run_first(study)
    store = Store(tmp_path / "e.db")
    task = split_and_find_mistakes(load_stored_plan(store, "small"), store)
    with pytest.raises(PlanError, match="already"):
        build_candidates(task, ["criteria"])
    (own,) = build_candidates(task, ["criteria"], criteria="It is short.")
    store.close()
    assert own.prompt.messages[0][1].endswith("It is short.")
