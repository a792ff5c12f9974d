"""Rows of ballots, and the orders in which voters saw a comparison."""

from __future__ import annotations

from dataclasses import replace

import pytest

from studies.domain import Item, Verdict
from studies.errors import StudyError
from studies.frames.frame import SEP
from studies.people.vote_session import open_vote_session
from studies.spec.study import Study
from studies.store.ballot_queries import Ballot, VotingRules, ballot_from_row, orders_seen, voter_id
from studies.store.store import Store

BALLOT = Ballot("human:ann", 3, "q1", ("x", "y"), "pair", "random")


def test_a_row_is_the_ballot_that_was_written() -> None:
    row = ("human:ann", 3, "q1", f"x{SEP}y", "pair", "random")
    assert ballot_from_row((*row, "open", None, None, "", None, None)) == BALLOT
    voted = replace(BALLOT, state="voted", key="k", comment="hm", seen=12.5, done=17.25)
    assert ballot_from_row((*row, "voted", "k", None, "hm", 12.5, 17.25)) == voted


def test_the_orders_of_a_comparison_are_counted_for_each_voter() -> None:
    other_order = replace(BALLOT, shown=("y", "x"), position=4)
    again = replace(BALLOT, position=5)
    bob, item = replace(BALLOT, voter="human:bob"), replace(other_order, item="q2")
    found = orders_seen([BALLOT, other_order, again, bob, item])
    assert {(voter, item): orders for (voter, item, _), orders in found.items()} == {
        ("human:ann", "q1"): {("x", "y"), ("y", "x")},
        ("human:bob", "q1"): {("x", "y")},
        ("human:ann", "q2"): {("y", "x")},
    }


def test_the_orders_of_a_vote_are_those_of_its_own_comparison(store: Store) -> None:
    """Three pairs of the answers to one question, each voted on once, in one order."""
    item = Item("q1", "why?", {"x": "so", "y": "thus", "z": "hence"})
    store.save_study(Study("s"), [item], ())
    store.set_voting_rules("s", VotingRules(repeats=0.0))
    session = open_vote_session(store, "s", voter_id("ann"), "pair")
    while (ballot := session.next_ballot()) is not None:
        session.vote(ballot.position, ballot.done, Verdict(0))
    frame = store.frame("s")
    assert len(frame) == 3 and set(frame["orders"]) == {1}


def test_a_voter_has_a_name_of_one_to_sixty_characters() -> None:
    assert voter_id("human: " + "\u3164n" * 60) == "human:" + "n" * 60
    for name in ("n" * 61, "", " \u3164 ", "a\0b"):
        with pytest.raises(StudyError):
            voter_id(name)


def test_a_study_that_is_not_there_has_no_plan(store: Store) -> None:
    assert store.plan_sha("none") == ""
