"""Stuffed votes: no name that looks like another's, no vote that counts twice or fits no ballot."""

from __future__ import annotations

from typing import Any

import pytest

from components.vote.ballot_actions import handle_ballot_action, stored_voter_name
from studies.store.ballot_queries import read_ballots
from studies.store.store import Store
from tests.attacks.attack_log import Mode, attempt
from tests.components.vote.test_vote_actions import begin, press, state_of, study_of
from tests.page_words import says

STUFFED = "stuffed votes"
IMITATIONS = (
    "\u04bbf:ann", "h\ufe0ff:ann", "hf\ua789ann", "hf\u2236ann", "\u0570\u0192\u02d0ann",
    "\u041df:ann", "h\u0323f:ann", "h\u3164f: ann", "\U0001d421\U0001d41f:ann", "h\u034ff:ann",
    "\u0127f\u05c3ann", "h\u200bf:ann",
)  # fmt: skip
UNFIT: tuple[dict[str, Any], ...] = (
    {"pick": 7, "margin": 1}, {"pick": -1, "margin": 1}, {"pick": 10**18, "margin": 1},
    {"pick": 0, "margin": 10**9}, {"pick": 0.5, "margin": 1}, {"pick": True, "margin": 1},
    {"pick": "A", "margin": 1}, {"pick": None}, {"score": 1.0}, {"levels": [5]},
)  # fmt: skip


def votes(store: Store) -> int:
    return sum(bool(ballot.done) for ballot in read_ballots(store.read_connection, "s"))


@pytest.mark.parametrize("name", IMITATIONS, ids=ascii)
def test_a_name_that_looks_like_an_account_cannot_be_typed(
    store: Store, name: str, each_mode: Mode
) -> None:
    study_of(store)
    with attempt(STUFFED, each_mode, name):
        html = handle_ballot_action(store, "s", {"act": "show", "voter": name})
        assert says(html, "name cannot", "used")
        assert read_ballots(store.read_connection, "s") == []


@pytest.mark.parametrize("name", ["\u674e\u660e", "\u7ea6\u7ff0\u00b7\u53f2", "Jos\u00e9", "Ян: a"])
def test_names_in_other_scripts_can(store: Store, name: str) -> None:
    study_of(store)
    html = handle_ballot_action(store, "s", {"act": "show", "voter": name})
    assert ("data-ballot" in html) == (":" not in name)


@pytest.mark.parametrize(
    "name", ["ANN", "ａｎｎ", "an\ufe0fn", "a\u3164nn", "\U0001d41ann"], ids=ascii
)
def test_a_name_that_looks_like_anothers_is_the_same_voter(
    store: Store, name: str, each_mode: Mode
) -> None:
    study_of(store)
    press(store, begin(store), act="vote", pick=0, margin=1)
    with attempt(STUFFED, each_mode, name):
        assert stored_voter_name(store, "s", name) == "human:ann"
    assert stored_voter_name(store, "s", "\u00e1nn") == "human:\u00e1nn", (
        "an accent is another name"
    )


def test_a_vote_that_is_sent_again_counts_once(store: Store, each_mode: Mode) -> None:
    study_of(store)
    html = begin(store)
    for number in range(20):
        with attempt(STUFFED, each_mode, f"the same vote, time {number}"):
            press(store, html, act="vote", pick=0, margin=1)
            assert votes(store) == 1


def test_a_vote_that_fits_no_ballot_is_not_stored(store: Store, each_mode: Mode) -> None:
    study_of(store)
    html = begin(store)
    for vote in UNFIT:
        with attempt(STUFFED, each_mode, vote):
            press(store, html, act="vote", **vote)
            assert votes(store) == 0
    for position in (-1, 10**6, 2**70, "x", None):
        with attempt(STUFFED, each_mode, f"ballot {position}"):
            ballot = {**state_of(html), "position": position}
            handle_ballot_action(
                store,
                "s",
                {"voter": "ann", "ballot": ballot, "act": "vote", "pick": 0, "margin": 1},
            )
            assert votes(store) == 0


def test_a_ballot_shown_to_another_voter_takes_no_vote(store: Store, each_mode: Mode) -> None:
    study_of(store)
    html = begin(store, "ann")
    with attempt(STUFFED, each_mode, "the ballot of another voter"):
        press(store, html, "bob", act="vote", pick=0, margin=1)
        assert votes(store) == 0
