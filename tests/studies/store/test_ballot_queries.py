"""Rows of ballots, and the orders in which voters saw a comparison."""

from __future__ import annotations

import sqlite3
from dataclasses import replace
from typing import Any

import pytest

from studies.domain import REFERENCE, Item, Verdict
from studies.errors import StudyError
from studies.frames.frame import SEP
from studies.people.vote_session import open_vote_session
from studies.spec.study import Study
from studies.store.ballot_queries import (
    Ballot,
    VotingRules,
    append_vote_ask,
    ballot_from_row,
    make_vote_ask,
    orders_seen,
    put_ballot,
    update_order_counts,
    voter_id,
)
from studies.store.queries.plan_queries import count_pair_multi_and_strong_verdicts
from studies.store.rows import put_judgement
from studies.store.store import Store
from tests.studies.small_items import ask, judged, planned

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


def test_the_orders_of_a_comparison_are_stored_with_each_of_its_votes(store: Store) -> None:
    store.save_study(Study("s"), [Item("q1", "why?", {"x": "so", "y": "thus", "z": "hence"})], ())
    shown = {"a": "xy", "b": "yx", "c": "xy", "d": "xz", "": "yx"}  # the last is open
    ballots = [
        replace(BALLOT, position=n, key=key, shown=tuple(names), state="voted" if key else "open")
        for n, (key, names) in enumerate(shown.items())
    ]

    def write(connection: sqlite3.Connection) -> None:
        for ballot in ballots:
            put_ballot(connection, "s", ballot)
            if ballot.key:
                append_vote_ask(connection, "s", ask(ballot.key, shown="xy", orders=7))
        update_order_counts(connection, "s", ballots[0])

    store.writer.run(write)
    rows = store.read("SELECT key, orders FROM plan").fetchall()
    assert dict(rows) == {"a": 2, "b": 2, "c": 2, "d": 7}


@pytest.mark.parametrize(
    ("rule", "low", "high", "step"),
    [("votes", 1, 1000, 1), ("repeats", 0.0, 0.5, 0.01), ("each", 0, 1_000_000, 1)],
)
def test_a_voting_rule_has_a_least_and_a_greatest_value(
    rule: str, low: float, high: float, step: float
) -> None:
    for value in (low, high):
        values: dict[str, Any] = {rule: value}
        assert getattr(VotingRules(**values), rule) == value
    for value in (low - step, high + step):
        with pytest.raises(StudyError):
            VotingRules(**{rule: value})


def test_verdicts_on_pairs_on_more_answers_and_with_a_margin_are_counted(store: Store) -> None:
    widths = {"a": "xy", "b": "yx", "c": "xyz", "d": "x", "e": "xy", "f": "xy"}
    asks = [ask(key, shown=shown) for key, shown in widths.items()]
    asks.append(ask("g", judge="human:ann"))
    texts = {"x": "so", "y": "thus", "z": "hence"}
    store.save_study(Study("s"), [Item("q1", "why?", texts)], planned(*asks))
    assert count_pair_multi_and_strong_verdicts(store, "s") == (0, 0, 0), "no verdict yet"

    def write(connection: sqlite3.Connection) -> None:
        for one in (*asks[:5], asks[6]):  # f has no verdict
            margin = {"b": 2, "d": 3, "g": 2}.get(one.key, 1)
            put_judgement(connection, replace(judged(one), verdict=Verdict(0, margin)))

    store.writer.run(write)
    assert count_pair_multi_and_strong_verdicts(store, "s") == (3, 1, 2)


def test_a_vote_has_no_ask_without_the_answers_that_were_shown() -> None:
    """The key depends on the texts; a reference counts as an answer if it has a text."""
    texts = {"x": "one", "y": "two"}
    whole = make_vote_ask("s", BALLOT, Item("q1", "?", texts), 2)
    assert whole is not None
    assert (whole.item, whole.judge, whole.shown, whole.orders) == (
        "q1",
        BALLOT.voter,
        ("x", "y"),
        2,
    )
    same, other = (
        make_vote_ask("s", BALLOT, Item("q1", "?", {**texts, "y": y})) for y in ("two", "2")
    )
    assert same is not None and same.key == whole.key and same.orders == 1
    assert other is not None and other.key != whole.key
    assert make_vote_ask("s", BALLOT, Item("q1", "?", {"x": "one"})) is None
    beside = replace(BALLOT, shown=("x", REFERENCE))
    for reference, found in (("  ", False), ("three", True)):
        made = make_vote_ask("s", beside, Item("q1", "?", texts, reference=reference))
        assert (made is not None) is found
