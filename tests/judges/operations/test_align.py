"""The command `align` from end to end, at a loopback judge with a known weakness."""

from __future__ import annotations

import datetime
import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
import yaml

from judges.__main__ import main
from judges.judge_errors import PlanError, PromptError
from judges.operations.align_prompt import (
    AlignTask,
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
)
from judges.operations.prompt_candidates import (
    Candidate,
    Examples,
    disable_variables,
    make_candidate,
    read_candidate,
    read_rules,
    write_candidate,
)
from judges.planning.plan import asks_of, load_stored_plan, make_plan
from judges.rendering.prompt import load_prompt, parse_prompt
from studies.domain import Item
from studies.people.label_split import LabelSplit, stored_split
from studies.people.study_labels import LabelledComparison, StudyLabels
from studies.spec.study import DataSpec, Study, study_from_mapping
from studies.store.store import Store
from studies.texts.twin_families import is_twin
from tests.judge_server import Asked, JudgeServer, judge
from tests.judge_server.behaviour import Reply
from tests.judges.small_studies import PRICE
from tests.page_words import pattern, says

RULES = "- A higher number of q is better.\n- The place of an answer says nothing about it."


@dataclass
class WeakJudge:
    """Chooses the first answer, unless its prompt has rules: then the better one. With examples but
    no rules it chooses the second answer. Keeps every request."""

    rules: str = RULES
    seen: list[str] = field(default_factory=list)
    """Texts sent to the writer of rules."""
    asked: list[Asked] = field(default_factory=list)

    def __call__(self, asked: Asked) -> str | Reply:
        self.asked.append(asked)
        if "The cases stand between" in asked.text:
            self.seen.append(asked.text)
            return self.rules
        if "Rules for this task" in asked.text:
            return judge("marked")(asked)
        return judge("slot:2" if len(asked.turns) > 2 else "first")(asked)


def write_study(folder: Path, url: str, items: int = 60, **more: object) -> Path:
    """Items with a text of their own each, whose better answer is known."""
    lines = []
    for k in range(items):
        good, bad = (f"{name} MARK{k}END costs $first q={q}" for name, q in (("yes", 9), ("no", 1)))
        better = "x" if k % 2 else "y"
        answers = {"x": good if better == "x" else bad, "y": good if better == "y" else bad}
        human = [{"judge": "by-design", "shown": ["x", "y"], "picked": better}]
        lines.append({"id": f"i{k}", "instruction": f"question MARK{k}END", "responses": answers,
                      "human": human})  # fmt: skip
    (folder / "items.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    study = {
        "name": "small", "data": {"source": "items.jsonl"}, "prompts": ["brief-letters"],
        "judges": [{"name": "judge", "model": "judge", "base_url": url, "price": PRICE}], **more,
    }  # fmt: skip
    path = folder / "study.yaml"
    path.write_text(yaml.safe_dump(study), encoding="utf-8")
    return path


@pytest.fixture
def weak() -> Iterator[tuple[WeakJudge, str]]:
    behaviour = WeakJudge()
    with JudgeServer(behaviour=behaviour) as server:
        yield behaviour, server.base_url


def align(study: Path, *more: str) -> int:
    return main(["align", str(study), "--store", str(study.with_name("e.db")), *more])


def run_first(study: Path) -> None:
    assert main(["run", str(study), "--store", str(study.with_name("e.db"))]) == 0


def test_from_corrections_to_an_adopted_version(
    tmp_path: Path, weak: tuple[WeakJudge, str], capsys: pytest.CaptureFixture[str]
) -> None:
    behaviour, url = weak
    study = write_study(tmp_path, url)
    run_first(study)
    capsys.readouterr()
    before = len(behaviour.asked)
    assert align(study, "--budget", "2") == 0
    out = capsys.readouterr().out
    assert says(out, "learn 30", "hold-out 30", "seed 7", "0 times")
    assert says(out, "mistakes", "30 of 30") and says(out, "+ - A higher number")
    assert "180 calls" in out and "Nothing was sent" in out
    assert len(behaviour.asked) == before + 1  # the writer of rules

    assert align(study, "--budget", "2", "--ask") == 0
    out = capsys.readouterr().out
    # today's 60 calls on the hold-out are stored already: 3 candidates × 30 items × 2 orders
    assert len(behaviour.asked) == before + 1 + 180
    assert says(out, "Adopt brief-letters+", "+50.0 points") and "looked at once" in out

    assert align(study, "--adopt", "rules") == 0
    saved = parse_prompt((tmp_path / "brief-letters-v2.yaml").read_text("utf-8"))
    assert (saved.name, saved.version) == ("brief-letters", 2)
    assert says(saved.source, "by judge", "12 items: ") and "seed 7" in saved.source
    today = load_prompt("brief-letters")
    assert saved.messages[1:] == today.messages[1:]
    assert saved.messages[0][1].startswith(today.messages[0][1])


def test_no_candidate_and_no_writer_sees_a_held_out_item(
    tmp_path: Path, weak: tuple[WeakJudge, str]
) -> None:
    behaviour, url = weak
    assert_no_leak(write_study(tmp_path, url, items=24), behaviour)


def assert_no_leak(study: Path, behaviour: Any) -> None:
    """Run and align a study of items with a mark each: no mark of the hold-out is in a candidate,
    in a text for the rules' writer, or in a call on another item."""
    run_first(study)
    align(study)
    store = Store(study.parent / "e.db")
    split = stored_split(store, "small")
    store.close()
    assert split is not None
    held = [f"MARK{item[1:]}END" for item in split.hold_out]
    learn = [f"MARK{item[1:]}END" for item in split.learn]
    files = [path.read_text("utf-8") for path in (study.parent / "study-candidates").iterdir()]
    assert len(files) == 3 and len(behaviour.seen) == 1
    for text in [*files, *behaviour.seen]:
        assert not [mark for mark in held if mark in text]
    assert any(mark in behaviour.seen[0] for mark in learn), "the check can see marks"
    assert any(mark in text for text in files for mark in learn)
    done = len(behaviour.asked)
    align(study, "--ask")
    assert len(behaviour.asked) > done
    for asked in behaviour.asked[done:]:
        assert len({mark for mark in held if mark in asked.text}) == 1  # its own item


def test_every_prompt_is_asked_about_the_twins_of_all_held_out_items(
    tmp_path: Path, weak: tuple[WeakJudge, str]
) -> None:
    """Twins of 8 items; a new draw among the held-out ones would leave some of them out."""
    study = write_study(
        tmp_path, weak[1], items=20, twins={"families": ["crowd"], "items": 8, "per_item": 1}
    )
    run_first(study)
    store = Store(tmp_path / "e.db")
    task = split_and_find_mistakes(load_stored_plan(store, "small"), store)
    made = build_candidates(task, ["examples"])
    asks = [planned.ask for planned in asks_of(build_candidate_plan(task, made))]
    store.close()
    held = set(task.split.hold_out)
    with_twins = {item.id for item in task.plan.items if item.twins and item.id in held}
    about = {(ask.item, ask.prompt) for ask in asks if any(map(is_twin, ask.shown))}
    prompts = ("brief-letters", "brief-letters+examples")
    assert with_twins and about == {(item, prompt) for item in with_twins for prompt in prompts}


def test_below_thirty_the_result_says_how_many_labels_are_missing(
    tmp_path: Path, weak: tuple[WeakJudge, str], capsys: pytest.CaptureFixture[str]
) -> None:
    study = write_study(tmp_path, weak[1], items=24)
    run_first(study)
    assert align(study, "--candidates", "rules") == 0
    assert says(capsys.readouterr().out, "16 more", "needed")
    assert align(study, "--candidates", "rules", "--ask") == 0
    out = capsys.readouterr().out
    assert says(out, "Not enough labels", "14 items")
    assert "Adopt" not in out


def test_edited_rules_are_asked_as_edited_and_count_as_a_second_look(
    tmp_path: Path, weak: tuple[WeakJudge, str], capsys: pytest.CaptureFixture[str]
) -> None:
    behaviour, url = weak
    study = write_study(tmp_path, url)
    run_first(study)
    align(study, "--candidates", "rules")
    align(study, "--candidates", "rules", "--ask")
    file = tmp_path / "study-candidates" / "rules.yaml"
    file.write_text(file.read_text("utf-8").replace("A higher number", "MY OWN higher number"))
    done = len(behaviour.asked)
    capsys.readouterr()
    assert align(study, "--candidates", "rules", "--ask") == 0
    assert all("MY OWN higher" in asked.text for asked in behaviour.asked[done:])
    assert "looked at twice" in capsys.readouterr().out
    assert align(study, "--candidates", "rules", "--ask") == 0
    assert "looked at twice" in capsys.readouterr().out  # the same candidates: no new look


def test_nonsense_from_the_writer_is_shown_and_never_sent(
    tmp_path: Path, weak: tuple[WeakJudge, str], capsys: pytest.CaptureFixture[str]
) -> None:
    behaviour, url = weak
    behaviour.rules = "lorem %%% 123"
    study = write_study(tmp_path, url)
    run_first(study)
    done = len(behaviour.asked)
    assert align(study, "--candidates", "rules,examples") == 0
    told = capsys.readouterr()
    assert says(told.err, "no rule", "'lorem %%% 123'") and "left out: rules" in told.err
    assert len(behaviour.asked) == done + 1
    file = tmp_path / "study-candidates" / "examples.yaml"
    assert list(file.parent.iterdir()) == [file]
    edited = file.read_text("utf-8") + "# read and kept\n"
    file.write_text(edited, "utf-8")
    assert align(study, "--candidates", "rules,examples") == 0  # tries the rules once more
    assert file.read_text("utf-8") == edited
    assert align(study, "--candidates", "rules,examples", "--ask") == 0
    assert says(capsys.readouterr().err, "not asked", "rules")
    assert align(study, "--candidates", "examples", "--ask", "--again") != 0
    assert says(capsys.readouterr().err, "--again", "without --ask")


def test_a_budget_that_does_not_reach_is_told_before_anything_is_sent(
    tmp_path: Path, weak: tuple[WeakJudge, str], capsys: pytest.CaptureFixture[str]
) -> None:
    behaviour, url = weak
    study = write_study(tmp_path, url)
    run_first(study)
    align(study, "--candidates", "rules")
    done = len(behaviour.asked)
    assert align(study, "--candidates", "rules", "--ask", "--budget", "0.001") != 0
    told = capsys.readouterr().err
    assert says(told, "$0.001", "not reach") and "nothing was sent" in told
    assert len(behaviour.asked) == done


def test_bad_input_gets_a_clear_sentence(
    tmp_path: Path, weak: tuple[WeakJudge, str], capsys: pytest.CaptureFixture[str]
) -> None:
    study = write_study(tmp_path, weak[1], items=4)
    for more, message in (
        ((), "run the study"),
        (("--ask",), "run the study"),
        (("--judge", "who"), "judge named 'who'"),
        (("--candidates", "magic"), "examples, rules, criteria"),
        (("--adopt", "rules"), "not asked"),
    ):
        if "candidates" in str(more) or "adopt" in str(more):
            run_first(study)
        assert align(study, *more) != 0
        assert message in capsys.readouterr().err
    items = tmp_path / "items.jsonl"
    items.write_text("".join(
        json.dumps({**json.loads(line), "human": []}) + "\n"
        for line in items.read_text().splitlines()
    ))  # fmt: skip
    assert align(study) != 0
    assert says(capsys.readouterr().err, "no comparison", "known better answer")


# ---- blocks --------------------------------------------------------------------------------------


def test_examples_show_both_orders_and_balance_the_right_label(
    tmp_path: Path, weak: tuple[WeakJudge, str]
) -> None:
    study = write_study(tmp_path, weak[1], items=20)
    run_first(study)
    kept = Store(tmp_path / "e.db")
    plan = load_stored_plan(kept, "small")
    task = split_and_find_mistakes(plan, kept)
    chosen = choose_examples(task.cases, 4, seed=7)
    winners = [case.label.winner for case in chosen]
    assert sorted(winners) == ["x", "x", "y", "y"]
    turns = example_messages(task.prompt, chosen)
    verdicts = [text for role, text in turns if role == "assistant"]
    assert len(turns) == 16
    assert sum("Response A" in verdict for verdict in verdicts) == 4
    assert verdicts[0] != verdicts[1], "the right label alternates"
    (candidate,) = build_candidates(task, ["examples"])
    planned = asks_of(build_candidate_plan(task, [candidate]))
    call = next(one.call for one in planned if one.ask.prompt == candidate.prompt.name)
    text = json.dumps(call.messages)
    assert "costs $\\u2060first" in text, "no variable"
    with pytest.raises(PlanError, match="study has none"):
        build_candidates(task, ["criteria"])
    (own,) = build_candidates(task, ["criteria"], criteria="Correct, then short.")
    assert own.prompt.messages[0][1].endswith(":\nCorrect, then short.")
    kept.close()


@pytest.mark.parametrize(
    ("reply", "rules"),
    [
        ("1. Check every number first.\n2) Ignore the openings of answers.",
         ("Check every number first.", "Ignore the openings of answers.")),
        ("<think>- not this rule at all</think>\nRules:\n- Prefer facts over style.",
         ("Prefer facts over style.",)),
        ("- Check each number.\n- Check each number.", ("Check each number.",)),
        ("Prefer the correct one.\nIgnore the length.",
         ("Prefer the correct one.", "Ignore the length.")),
        ("- In case 3, Response A is better.\n- [[A]] is my verdict here", ()),
        ("", ()),
        ("42", ()),
    ],
)  # fmt: skip
def test_rules_are_read_from_lists_and_lines(reply: str, rules: tuple[str, ...]) -> None:
    got = read_rules(reply)
    assert got.rules == rules
    assert bool(got.problem) == (not rules)


def test_a_sentence_copied_from_the_cases_is_no_rule() -> None:
    cases = "Case 1\nQuestion: why? The judge said otherwise in both orders."
    got = read_rules("- The judge said otherwise in both orders.\n- Check each number.", cases)
    assert got.rules == ("Check each number.",)


def test_at_most_five_rules_count() -> None:
    words = ["one", "two", "six", "ten", "few", "all"]
    got = read_rules("\n".join(f"- Rule number {word} counts" for word in words))
    assert len(got.rules) == 5 and "6 rules" in got.problem


def test_literals_are_no_variables() -> None:
    prompt = parse_prompt(
        "name: t\nprotocol: describe\nmessages:\n- user: "
        + json.dumps(disable_variables("$first {question} {{answer}} $unknown 5 $"))
    )
    assert prompt.variables == frozenset()


def test_a_written_candidate_is_read_back_from_a_new_or_an_old_folder(tmp_path: Path) -> None:
    today = load_prompt("brief-letters")
    folder = tmp_path / "new" / "folder"
    for rules in (["Old"], ["Prüfe jede Zahl."]):
        made = make_candidate(today, "rules", rules=rules, learnt=["Stück 1"], writer="Schreiber")
        path = write_candidate(made, folder)
    assert path == folder / "rules.yaml"
    read = read_candidate(path, today)
    assert (read.record, read.prompt.messages) == (made.record, made.prompt.messages)
    assert "Stück 1" in path.read_text().splitlines()[0], "as people read it"
    assert made.record.learnt == ("Stück 1",) and made.record.writer == "Schreiber"
    for head in ("# 5", "# {", "# {}"):
        path.write_text(f"{head}\n{made.prompt.yaml}", encoding="utf-8")
        edited = read_candidate(path, today)
        assert (edited.record.learnt, edited.record.writer) == ((), "")
        assert edited.prompt.messages == made.prompt.messages


def test_a_candidate_says_what_it_was_learnt_from_and_who_wrote_it() -> None:
    today, day = load_prompt("brief-letters"), datetime.date(2026, 1, 2)
    shown = Examples((("user", "Q"), ("assistant", "A")), ("i2", "i1"))

    def made(kind: str, **more: object) -> Candidate:
        return make_candidate(today, kind, examples=shown, writer="W", seed=3, today=day, **more)

    both = made("both", rules=["Count."], learnt=["i1", "i4"])
    assert both.record.learnt == ("i2", "i1", "i4") and both.record.writer == "W"
    name, *rest = both.prompt.source.split("; ")
    assert says(name, "version 1 + both", "written by W")
    assert rest == ["learnt from 3 items: i2, i1, i4", "seed 3", "2026-01-02"]
    own = made("criteria", rules=["Count."], criteria=" Brevity. ")
    assert (own.record.learnt, own.record.writer) == ((), "")
    assert says(own.prompt.source, "the user's own") and "W" not in own.prompt.source
    assert own.prompt.messages[0][1].endswith("\nBrevity.")
    assert made("examples").record.writer == ""
    assert made("examples").prompt.messages[1:3] == shown.turns
    for kind in ("rules", "both", "criteria"):
        with pytest.raises(PlanError, match=kind):
            made(kind)
    with pytest.raises(PlanError, match="examples"):
        make_candidate(today, "examples")


def test_a_candidate_file_of_another_prompt_is_refused(tmp_path: Path) -> None:
    today = load_prompt("brief-letters")
    (tmp_path / "rules.yaml").write_text(today.yaml)
    with pytest.raises(PromptError, match=pattern("expected", "brief-letters+rules")):
        read_candidate(tmp_path / "rules.yaml", today)


def test_examples_of_comparisons_have_the_criteria_of_the_study_and_no_simulated_words() -> None:
    text = "name: p\nverdict: selection-option\nmessages:\n  - user: $criteria $first $second"
    label = LabelledComparison("i", "x", "y", "x")
    case = LearnCase(Item("i", "?", {"x": "1", "y": "2"}), label)
    study = Study("s", DataSpec("probe"), criteria="Only brevity counts.")
    turns = example_messages(parse_prompt(text), [case], study=study)
    assert turns[0] == ("user", "Only brevity counts. 1 2")
    assert turns[1] == ("assistant", "Selection: Option 1")


@pytest.mark.parametrize(("winner", "right"), [("x", 1), ("y", 2)])
def test_the_writer_reads_which_answer_of_a_comparison_is_better(winner: str, right: int) -> None:
    label = LabelledComparison("i", "x", "y", winner)
    case = LearnCase(Item("i", "?", {"x": "one", "y": "two"}), label, LabelledVerdicts(4, 3, 0.0))
    lines = describe_mistaken_cases([case], "pair").splitlines()
    assert lines[:4] == ["Case 1", "Question: ?", "Answer 1: one", "Answer 2: two"]
    assert says(lines[4], f"answer {right} is better", "3 of 4 calls")


def test_labels_against_the_reference_are_asked_on_the_hold_out(tmp_path: Path) -> None:
    line = {"id": "i", "instruction": "?", "responses": {"x": "1"}, "reference": "r"}
    (tmp_path / "items.jsonl").write_text(json.dumps(line) + "\n")
    values = {"name": "s", "data": {"source": "items.jsonl"}, "prompts": ["brief-letters"],
              "judges": [{"name": "j", "model": "simulated"}],
              "contestants": ["x", "@reference"]}  # fmt: skip
    plan = make_plan(study_from_mapping(values, folder=tmp_path))
    labels = StudyLabels((LabelledComparison("i", "@reference", "x", "x"),), ())
    split = LabelSplit(7, (), ("i",))
    task = AlignTask(plan, plan.study.judges[0], plan.prompts[0], labels, split, ())
    shown = {one.ask.shown for one in asks_of(build_candidate_plan(task, []))}
    assert shown == {("x", "@reference"), ("@reference", "x")}
