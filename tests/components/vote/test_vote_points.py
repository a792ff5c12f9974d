"""Votes on one answer: pass or fail and scores, stored as votes, used as labels, exported."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from components.vote.ballot_actions import handle_ballot_action
from components.vote.ballot_form import load_ballot_form
from judges.rendering.prompt import load_prompt
from metrics.labels.criterion_agreement import criterion_agreement
from metrics.labels.label_sections import pass_fail_results, scores_section
from studies.domain import FAIL, PASS, Ask, Item, Judgement, Verdict
from studies.exchange.export import write_export
from studies.exchange.recorded_studies import import_verdicts
from studies.files.items import dump_item, parse_items
from studies.files.tables import read_table
from studies.frames.arrangement import Arrangement
from studies.spec.study import Study
from studies.store.store import Store
from tests.components.vote.test_vote_actions import press
from tests.judges.small_studies import run_text
from tests.metrics.frames import json_sections
from tests.page_words import says

CRITERIA = "It names the animal."
SCALE = ("1", "2", "3", "4", "5")


RUBRIC = ("Correctness", "Completeness", "Clarity")


def study_of(store: Store, prompt: str) -> None:
    """Six answers of one model; the judge passes all (or gives them 4; in the rubric 3, 2, 1)."""
    items = [Item(f"q{k}", f"question {k}", {"okapi": f"text {k}"}) for k in range(6)]
    labels = {
        "pass-fail": (FAIL, PASS),
        "score-scale": SCALE,
        "rubric": Arrangement(("1", "2", "3"), (), RUBRIC).labels,
    }[prompt]
    scores = {"pass-fail": (1.0,), "score-scale": (4.0,), "rubric": (2.0, 3.0, 2.0, 1.0)}[prompt]
    rows = [
        Judgement(Ask(f"k{k}", f"q{k}", "judge", prompt, ("okapi",), labels), "ok",
                  Verdict(scores=scores))
        for k in range(6)
    ]  # fmt: skip
    study = Study("s", prompts=(prompt,), criteria=CRITERIA if prompt != "rubric" else "")
    store.save_study(study, items, (), recorded=rows, only_recorded=True)


def vote_on_all(store: Store, voter: str, scores: dict[str, float]) -> str:
    html = handle_ballot_action(store, "s", {"act": "show", "voter": voter})
    for _ in range(6):
        found = re.search(r"question (\d)", html)
        assert found
        html = press(store, html, voter, act="vote", score=scores[f"q{found[1]}"])
    return html


@pytest.mark.parametrize(
    ("prompt", "mode", "buttons"), [("pass-fail", "pass", 2), ("score-scale", "score", 5)]
)
def test_the_form_follows_the_prompt_and_hides_the_model(
    store: Store, prompt: str, mode: str, buttons: int
) -> None:
    study_of(store, prompt)
    assert load_ballot_form(store, "s").mode == mode
    html = handle_ballot_action(store, "s", {"act": "show", "voter": "ann"})
    assert html.count('class="choice"') == buttons
    assert CRITERIA in html and "okapi" not in html


def test_passes_of_people_are_the_labels_of_the_judge(store: Store) -> None:
    study_of(store, "pass-fail")
    passes = {f"q{k}": float(k % 3 > 0) for k in range(6)}
    done = vote_on_all(store, "ann", passes)
    assert says(done, "all", "6 answers")
    vote_on_all(store, "bob", passes | {"q1": 0.0})  # one passed, one failed it: no label
    frame = store.frame("s")
    rates = pass_fail_results(frame[frame["judge"] == "judge"])["judge", "pass-fail"].rates
    assert (rates.confusion.pass_good, rates.confusion.pass_bad) == (3, 2)
    undone = press(store, done, act="undo")
    assert "undone" in undone and len(store.frame("s")) == len(frame) - 1
    summary = json_sections(frame, "pass_fail")
    assert summary["pass_fail"]["judge"]["pass-fail"]["confusion"]["pass_bad"] == 2


def test_scores_of_people_are_compared_with_the_judge(store: Store, tmp_path: Path) -> None:
    study_of(store, "score-scale")
    vote_on_all(store, "ann", {f"q{k}": 3.0 for k in range(6)})
    vote_on_all(store, "bob", {f"q{k}": 2.0 for k in range(6)})
    frame = store.frame("s")
    found = scores_section(frame[frame["judge"] == "judge"])["judge"]["score-scale"]
    assert found["bias"].value == pytest.approx(4 - 2.5)
    write_export(store, "s", "votes", tmp_path / "votes.csv")
    import_verdicts(store, tmp_path / "votes.csv", "again")
    again = store.frame("again")
    assert sorted(again["score_0"]) == [2.0] * 6 + [3.0] * 6
    assert set(again["labels"].astype(str)) == {"score"}


@pytest.mark.parametrize("score", [6, 2.5, True, None, "3", float("nan")])
def test_scores_that_no_button_sends_are_refused(store: Store, score: object) -> None:
    study_of(store, "score-scale")
    html = handle_ballot_action(store, "s", {"act": "show", "voter": "ann"})
    after = press(store, html, act="vote", score=score)
    assert "nothing was saved" in after
    assert len(store.frame("s")) == 6


def fill_rubric(store: Store, voter: str, levels: list[float]) -> str:
    html = handle_ballot_action(store, "s", {"act": "show", "voter": voter})
    for _ in range(6):
        html = press(store, html, voter, act="vote", levels=levels)
    return html


def test_a_rubric_has_one_row_of_levels_for_each_criterion(store: Store) -> None:
    study_of(store, "rubric")
    assert load_ballot_form(store, "s").mode == "rubric"
    html = handle_ballot_action(store, "s", {"act": "show", "voter": "ann"})
    assert html.count('class="criterion"') == 3 and html.count('class="level"') == 9
    assert all(f'aria-label="{name}: 2"' in html for name in RUBRIC) and "okapi" not in html


def test_levels_of_people_are_compared_with_the_judge_by_criterion(
    store: Store, tmp_path: Path
) -> None:
    study_of(store, "rubric")
    done = fill_rubric(store, "ann", [3.0, 1.0, 1.0])
    assert says(done, "all", "6 answers")
    fill_rubric(store, "bob", [3.0, 2.0, 2.0])
    frame = store.frame("s")
    own = frame[frame["judge"] == "judge"]
    found = criterion_agreement(own)["judge", "rubric"]
    # The judge gives 3, 2, 1; people's means are 3, 1.5, 1.5.
    assert {name: one.bias.value for name, one in found.items()} == pytest.approx(
        {"Correctness": 0.0, "Completeness": 0.5, "Clarity": -0.5}
    )
    assert scores_section(own)["judge"]["rubric"]["bias"].value == pytest.approx(0.0)
    section = json_sections(frame, "criteria")["criteria"]["judge"]["rubric"]
    assert section["Clarity"]["mae"]["value"] == pytest.approx(0.5)
    write_export(store, "s", "votes", tmp_path / "votes.csv")
    import_verdicts(store, tmp_path / "votes.csv", "again")
    again = store.frame("again")
    assert sorted(map(tuple, again[["level_0", "level_1", "level_2"]].to_numpy())) == (
        [(3.0, 1.0, 1.0)] * 6 + [(3.0, 2.0, 2.0)] * 6
    )


def test_a_filled_in_rubric_can_be_changed_undone_and_survives_a_new_plan(store: Store) -> None:
    study_of(store, "rubric")
    html = handle_ballot_action(store, "s", {"act": "show", "voter": "ann"})
    html = press(store, html, act="vote", levels=[1, 2, 3])
    back = press(store, html, act="back")
    assert back.count('data-given="true"') == 3
    press(store, back, act="vote", levels=[2, 2, 2])
    votes = [j for j in store.judgements("s") if j.ask.judge == "human:ann"]
    assert [j.verdict.scores for j in votes if j.verdict] == [(2.0, 2.0, 2.0, 2.0)]
    items = list(store.items("s").values())
    machine = [j for j in store.judgements("s") if j.ask.judge == "judge"]
    store.save_study(store.study("s"), items, (), recorded=machine, only_recorded=True)
    kept = [j for j in store.judgements("s") if j.ask.judge == "human:ann"]
    assert [(j.ask.labels, j.verdict) for j in kept] == [(j.ask.labels, j.verdict) for j in votes]
    opened = handle_ballot_action(store, "s", {"act": "undo", "voter": "ann", "ballot": None})
    assert "undone" in opened
    assert not [j for j in store.judgements("s") if j.ask.judge == "human:ann"]


@pytest.mark.parametrize("levels", [None, [], [1, 2], [1, 2, 4], [1, 2, True], {"0": 1}, "123"])
def test_incomplete_rubrics_are_refused(store: Store, levels: object) -> None:
    study_of(store, "rubric")
    html = handle_ballot_action(store, "s", {"act": "show", "voter": "ann"})
    assert "nothing was saved" in press(store, html, act="vote", levels=levels)
    assert len(store.frame("s")) == 6


def test_a_gold_rubric_counts_before_people(store: Store, tmp_path: Path) -> None:
    study_of(store, "rubric")
    fill_rubric(store, "ann", [3.0, 1.0, 1.0])
    gold = {"Correctness": 1, "Completeness": 2, "Clarity": 3}
    lines = []
    for item in store.items("s").values():
        label = [{"contestant": "okapi", "value": gold}] if item.id == "q0" else []
        lines.append(json.dumps(dump_item(item) | {"labels": label}))
    (tmp_path / "items.jsonl").write_text("\n".join(lines), encoding="utf-8")
    items = parse_items(read_table(tmp_path / "items.jsonl"))
    assert [dump_item(item)["labels"] for item in items if item.labels] == [
        [{"contestant": "okapi", "value": gold, "source": "gold"}]
    ]
    machine = [j for j in store.judgements("s") if j.ask.judge == "judge"]
    store.save_study(store.study("s"), items, (), recorded=machine, only_recorded=True)
    frame = store.frame("s")
    own = frame[frame["judge"] == "judge"].set_index("item")
    columns = [f"gold_level_{k}" for k in range(3)]
    assert own.loc["q0", columns].tolist() == [1.0, 2.0, 3.0]
    assert own.loc["q1", columns].tolist() == [3.0, 1.0, 1.0]
    assert own.loc["q0", "gold"] == 2.0


def test_the_form_follows_a_prompt_that_the_study_file_names_by_its_path(
    store: Store, tmp_path: Path
) -> None:
    own = load_prompt("pass-fail").yaml.replace("pass-fail", "my-check", 1)
    (tmp_path / "my-check-v1.yaml").write_text(own, encoding="utf-8")
    run_text(
        store,
        "name: own prompt\ndata: {source: probe, count: 2}\ncontestants: [precise]\n"
        "judges: [{name: ada, model: simulated, seed: 1}]\nprompts: [my-check-v1.yaml]\n",
        tmp_path,
    )
    assert load_ballot_form(store, "own prompt").mode == "pass"
