"""Rows of ballots, and the orders in which voters saw a comparison."""

from __future__ import annotations

from dataclasses import replace

from studies.frames.frame import SEP
from studies.store.ballot_queries import Ballot, ballot_from_row, orders_seen

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
