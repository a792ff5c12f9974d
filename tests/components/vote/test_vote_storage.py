"""Votes cast on the page stay with their study when it is replanned, reopened or imported again."""

from __future__ import annotations

from pathlib import Path

from components.layout.header import study_size_html
from components.study.plan import demo_studies
from judges.planning.plan import make_plan, save_plan
from studies.domain import Verdict
from studies.exchange.recorded_studies import import_verdicts
from studies.people.vote_session import open_vote_session
from studies.spec.study import parse_study
from studies.store.ballot_queries import voter_id
from studies.store.store import Store

STUDY = """
name: live
data: {source: probe, count: 6, seed: 1}
contestants: [precise, flawed]
judges: [{name: fair, model: simulated, accuracy: 1, seed: 2}]
prompts: [brief-letters]
"""


def vote(store: Store, study: str, who: str, most: int) -> list[str]:
    at, keys = open_vote_session(store, study, voter_id(who), "pair"), []
    while len(keys) < most and (ballot := at.next_ballot()) is not None:
        keys.append(at.vote(ballot.position, ballot.done, Verdict(0), "so").key)
    return keys


def people(store: Store, study: str) -> set[str]:
    return {j.ask.key for j in store.judgements(study) if j.ask.judge.startswith("human:")}


def test_a_study_that_is_planned_anew_keeps_its_votes(store: Store) -> None:
    save_plan(make_plan(parse_study(STUDY, "t", Path())), store)
    keys = vote(store, "live", "ann", 4)
    changed = parse_study(STUDY + "repeats: 2\n", "t", Path())
    assert save_plan(make_plan(changed), store).added > 0
    assert people(store, "live") == set(keys)
    smaller = make_plan(parse_study(STUDY.replace("count: 6", "count: 2"), "t", Path()))
    save_plan(smaller, store)
    assert people(store, "live") < set(keys)
    save_plan(make_plan(parse_study(STUDY, "t", Path())), store)
    assert people(store, "live") == set(keys)


def test_other_records_under_the_name_do_not_take_the_votes_over(
    store: Store, tmp_path: Path
) -> None:
    save_plan(make_plan(parse_study(STUDY, "t", Path())), store)
    vote(store, "live", "ann", 4)
    (tmp_path / "items.jsonl").write_text(
        '{"id": "q", "instruction": "why?", "responses": {"precise": "a", "flawed": "b"}}\n'
    )
    other = STUDY.replace("source: probe, count: 6, seed: 1", "source: items.jsonl")
    save_plan(make_plan(parse_study(other, "t", tmp_path)), store)
    assert people(store, "live") == set()


def test_recorded_verdicts_that_are_opened_anew_keep_their_votes(
    store: Store, records: Path
) -> None:
    import_verdicts(store, records / "llmbar" / "Manual", "llmbar")
    before = len(people(store, "llmbar"))
    keys = vote(store, "llmbar", "a new voter", 5)
    import_verdicts(store, records / "llmbar" / "Manual", "llmbar")
    assert len(people(store, "llmbar")) == before + 5 and set(keys) <= people(store, "llmbar")


def test_the_built_in_study_keeps_its_votes_and_counts_people(demo_store: Store) -> None:
    store = demo_store
    for who in ("ann", "bob", "cat"):
        vote(store, demo_studies.PAIRS_STUDY, who, 2)
    demo_studies.import_demo_studies(store)
    assert len(people(store, demo_studies.PAIRS_STUDY)) == 6
    assert "3 people" in study_size_html(store, demo_studies.PAIRS_STUDY)
