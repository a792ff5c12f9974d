"""Human verifications from data and page: the last check per person and answer counts."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from metrics.__main__ import main
from studies.domain import AnswerCheck, Item
from studies.people.verifications import checks_of_answers
from studies.people.vote_session import open_vote_session
from studies.spec.study import Study
from studies.store.ballot_queries import VotingRules, voter_id
from studies.store.store import Store


@pytest.fixture
def verified(store: Store) -> Store:
    """Three items; the first came with words of ann and bob about x."""
    said = (AnswerCheck("ann", "x", False, "caption"), AnswerCheck("bob", "x", True))
    items = [
        Item(f"q{k}", 'why? "checks"', {"x": "a", "y": "b"}, checks=said if k == 0 else ())
        for k in range(3)
    ]
    store.save_study(Study("s"), items, (), (), only_recorded=True)
    store.set_voting_rules("s", VotingRules("verify", whom="answers"))
    return store


def verify_all(store: Store, who: str, *, follows: bool) -> None:
    at = open_vote_session(store, "s", voter_id(who), "verify")
    while (ballot := at.next_ballot()) is not None:
        at.store_verification(ballot.position, ballot.done, AnswerCheck("", "", follows))


def test_words_of_the_data_and_of_the_page_are_together(verified: Store) -> None:
    assert checks_of_answers(verified, "s") == {
        "q0": (AnswerCheck("ann", "x", False, "caption"), AnswerCheck("bob", "x", True))
    }
    verify_all(verified, "cat", follows=True)
    found = checks_of_answers(verified, "s")
    assert {item: len(words) for item, words in found.items()} == {"q0": 4, "q1": 2, "q2": 2}
    assert {check.judge for words in found.values() for check in words} == {"ann", "bob", "cat"}


def test_who_verifies_again_has_changed_their_mind(verified: Store) -> None:
    verify_all(verified, "ann", follows=True)
    about_x = [c for c in checks_of_answers(verified, "s")["q0"] if c.contestant == "x"]
    assert sorted((c.judge, c.follows) for c in about_x) == [("ann", True), ("bob", True)]


def test_words_about_an_item_that_is_gone_are_not_counted(verified: Store) -> None:
    verify_all(verified, "cat", follows=True)
    kept = [item for item in verified.items("s").values() if item.id != "q2"]
    verified.save_study(Study("s"), kept, (), (), only_recorded=True)
    assert set(checks_of_answers(verified, "s")) == {"q0", "q1"}


def test_the_command_prints_them(verified: Store, capsys: pytest.CaptureFixture[str]) -> None:
    verify_all(verified, "cat", follows=True)
    path = str(verified.path)
    verified.close()
    assert main([path, "--json", "--study", "s"]) == 0
    told = json.loads(capsys.readouterr().out)["verification"]
    # x: ann no, bob yes, cat yes three times: 4 of 5; y: cat yes three times.
    assert told["contestants"]["x"]["follows"]["value"] == pytest.approx(0.8)
    assert told["contestants"]["y"]["follows"]["n"] == 3
    assert told["verifiers"]["twice"] == 1 and told["judges"] == {}
    assert main([path, "--study", "s"]) == 0
    assert "## verification" in capsys.readouterr().out


def test_without_verifications_nothing_is_said_of_them(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    store = Store(tmp_path / "none.db")
    store.save_study(Study("s"), [Item("q", "why?", {"x": "a", "y": "b"})], (), ())
    assert checks_of_answers(store, "s") == {}
    store.close()
    assert main([str(tmp_path / "none.db"), "--json", "--study", "s"]) == 0
    assert "verification" not in json.loads(capsys.readouterr().out)
