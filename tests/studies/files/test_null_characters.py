"""Null and other control characters in input: stored and found unchanged."""

from __future__ import annotations

import pytest

from studies.domain import Item, Verdict
from studies.exchange.export import write_export
from studies.people.vote_session import open_vote_session
from studies.sources.load import load_source
from studies.spec.study import DataSpec, Study
from studies.store.ballot_queries import voter_id
from tests.studies.small_items import ask, judged

CONTROLS = "\x00\x01\x08\x0b\x0c\x0e\x1b[31m\x1b]0;owned\x07\x7f\x85\x9b31m\u2028\u2029\ufeff\ufffe"
ITEM = Item(
    f"q1{CONTROLS}end", f"why{CONTROLS}?", {"x": f"so{CONTROLS}.", "y": "thus"},
    category=f"c{CONTROLS}d", context=CONTROLS, reference=CONTROLS, meta={CONTROLS: CONTROLS},
)  # fmt: skip


@pytest.fixture
def filled(store):
    made = [judged(ask(f"k{s}", ITEM.id, s), reply=f"A{CONTROLS}is better") for s in ("xy", "yx")]
    store.save_study(Study("s"), [ITEM], (), recorded=made, plan_sha="1", only_recorded=True)
    return store


def test_an_item_is_found_by_its_name_and_its_question_is_whole(filled):
    assert filled.item("s", ITEM.id) == ITEM
    assert filled.questions("s", [ITEM.id]) == {ITEM.id: ITEM.instruction}


@pytest.mark.parametrize(("form", "file"), [("jsonl", "v.jsonl"), ("parquet", "v.parquet")])
def test_what_goes_out_comes_back_as_it_was(form, file, filled, tmp_path):
    write_export(filled, "s", form, tmp_path / file)
    write_export(filled, "s", "items", tmp_path / "items.jsonl")
    loaded = load_source(DataSpec(file, files={"items": "items.jsonl"}), tmp_path)
    assert loaded.items == [ITEM]
    assert [j.reply for j in loaded.judgements] == [j.reply for j in filled.judgements("s")]


def test_people_can_vote_on_it(filled):
    ann = open_vote_session(filled, "s", voter_id("ann"), "pair")
    ballot = ann.next_ballot()
    assert ballot is not None and ballot.item == ITEM.id
    ann.vote(ballot.position, ballot.done, Verdict(0), f"so{CONTROLS}it is")
    (vote,) = [j for j in filled.judgements("s") if j.ask.judge == "human:ann"]
    assert vote.reply == f"so{CONTROLS}it is"
