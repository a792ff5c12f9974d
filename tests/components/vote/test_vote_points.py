"""Votes on one answer: pass or fail and scores, stored as votes, used as labels, exported."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from components.vote.ballot_actions import handle_action
from components.vote.ballot_form import load_ballot_form
from metrics.labels.label_sections import pass_fail_results, scores_section
from metrics.summary.summary import summarise_frame
from studies.domain import FAIL, PASS, Ask, Item, Judgement, Verdict
from studies.exchange.export import write_export
from studies.exchange.recorded_studies import import_verdicts
from studies.spec.study import Study
from studies.store.store import Store
from tests.components.vote.test_vote_actions import press
from tests.page_words import says

CRITERIA = "It names the animal."
SCALE = ("1", "2", "3", "4", "5")


def study_of(store: Store, prompt: str) -> None:
    """Six answers of one model; the judge passes all (or gives them 4)."""
    items = [Item(f"q{k}", f"question {k}", {"okapi": f"text {k}"}) for k in range(6)]
    labels = (FAIL, PASS) if prompt == "pass-fail" else SCALE
    score = 1.0 if prompt == "pass-fail" else 4.0
    rows = [
        Judgement(Ask(f"k{k}", f"q{k}", "judge", prompt, ("okapi",), labels), "ok",
                  Verdict(scores=(score,)))
        for k in range(6)
    ]  # fmt: skip
    study = Study("s", prompts=(prompt,), criteria=CRITERIA)
    store.save_study(study, items, (), recorded=rows, only_recorded=True)


def vote_on_all(store: Store, voter: str, scores: dict[str, float]) -> str:
    html = handle_action(store, "s", {"act": "show", "voter": voter})
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
    html = handle_action(store, "s", {"act": "show", "voter": "ann"})
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
    summary = summarise_frame(frame, quick=True)
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
    html = handle_action(store, "s", {"act": "show", "voter": "ann"})
    after = press(store, html, act="vote", score=score)
    assert "nothing was saved" in after
    assert len(store.frame("s")) == 6
