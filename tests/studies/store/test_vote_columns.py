"""Frame columns of votes cast on the page: duration and selection reason."""

from __future__ import annotations

from dataclasses import replace
from itertools import count

import numpy as np

from studies.domain import Item, Verdict
from studies.people.vote_session import open_vote_session
from studies.sharing.visitor_store import VisitorStore
from studies.spec.study import Study
from studies.store.ballot_queries import VotingRules, voter_id
from studies.store.store import Store


def voted(store: Store, **rules: object) -> None:
    """ann votes on the page, five seconds each."""
    items = [Item(f"q{k}", "why?", {"x": "so", "y": "thus"}) for k in range(4)]
    store.save_study(Study("s"), items, ())
    store.set_voting_rules("s", VotingRules(repeats=0.0, **rules))  # type: ignore[arg-type]
    ticks = count(1e9, 5)
    at = replace(
        open_vote_session(store, "s", voter_id("ann"), "pair"), clock=lambda: float(next(ticks))
    )
    while (ballot := at.next_ballot()) is not None:
        at.vote(ballot.position, ballot.done, Verdict(0))


def test_votes_on_the_page_have_their_time_and_choice(store):
    voted(store)
    frame = store.frame("s")
    assert len(frame) == 4
    assert (frame["seconds"] > 0).all() and set(frame["chosen"].astype(str)) == {"random"}


def test_a_vote_that_was_not_timed_took_nobody_knows_how_long(store):
    voted(store, timed=False)
    assert np.isnan(store.frame("s")["seconds"]).all()


def test_a_frame_without_votes_of_the_page_has_no_such_columns(store):
    store.save_study(Study("s"), [Item("q", "why?", {"x": "so", "y": "thus"})], ())
    assert not {"seconds", "chosen"} & set(store.frame("s").columns)


def test_a_store_for_strangers_says_the_same(store):
    voted(store)
    shown = VisitorStore(store).frame("s")
    assert shown[["seconds", "chosen"]].equals(store.frame("s")[["seconds", "chosen"]])
