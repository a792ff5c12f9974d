"""Votes cast on the page stay with their study: planned anew, opened anew, taken in anew."""

from __future__ import annotations

from pathlib import Path

from components import demo
from components.header import show_note
from judges.plan import make_plan, save_plan
from studies.ballots import person
from studies.recorded import open_file
from studies.records import Verdict
from studies.store import Store
from studies.study import parse
from studies.voting import booth

STUDY = """
name: live
data: {source: probe, count: 6, seed: 1}
contestants: [precise, flawed]
judges: [{name: fair, model: simulated, accuracy: 1, seed: 2}]
prompts: [brief-letters]
"""


def vote(store: Store, study: str, who: str, most: int) -> list[str]:
    at, keys = booth(store, study, person(who), "pair"), []
    while len(keys) < most and (ballot := at.next()) is not None:
        keys.append(at.vote(ballot.position, ballot.done, Verdict(0), "so").key)
    return keys


def people(store: Store, study: str) -> set[str]:
    return {j.ask.key for j in store.judgements(study) if j.ask.judge.startswith("human:")}


def test_a_study_that_is_planned_anew_keeps_its_votes(store: Store) -> None:
    save_plan(make_plan(parse(STUDY, "t", Path())), store)
    keys = vote(store, "live", "ann", 4)
    changed = parse(STUDY + "repeats: 2\n", "t", Path())
    assert save_plan(make_plan(changed), store).added > 0
    assert people(store, "live") == set(keys)
    smaller = make_plan(parse(STUDY.replace("count: 6", "count: 2"), "t", Path()))
    save_plan(smaller, store)
    assert people(store, "live") < set(keys)
    save_plan(make_plan(parse(STUDY, "t", Path())), store)
    assert people(store, "live") == set(keys)


def test_other_records_under_the_name_do_not_take_the_votes_over(
    store: Store, tmp_path: Path
) -> None:
    save_plan(make_plan(parse(STUDY, "t", Path())), store)
    vote(store, "live", "ann", 4)
    (tmp_path / "items.jsonl").write_text(
        '{"id": "q", "instruction": "why?", "responses": {"precise": "a", "flawed": "b"}}\n'
    )
    other = STUDY.replace("source: probe, count: 6, seed: 1", "source: items.jsonl")
    save_plan(make_plan(parse(other, "t", tmp_path)), store)
    assert people(store, "live") == set()


def test_recorded_verdicts_that_are_opened_anew_keep_their_votes(
    store: Store, records: Path
) -> None:
    open_file(store, records / "llmbar" / "Manual", "llmbar")
    before = len(people(store, "llmbar"))
    keys = vote(store, "llmbar", "a new voter", 5)
    open_file(store, records / "llmbar" / "Manual", "llmbar")
    assert len(people(store, "llmbar")) == before + 5 and set(keys) <= people(store, "llmbar")


def test_the_built_in_study_keeps_its_votes_and_counts_people(store: Store) -> None:
    demo.open_demo(store)
    for who in ("ann", "bob", "cat"):
        vote(store, demo.PAIRS, who, 2)
    demo.open_demo(store)
    assert len(people(store, demo.PAIRS)) == 6
    assert "3 people" in show_note(store, demo.PAIRS)
