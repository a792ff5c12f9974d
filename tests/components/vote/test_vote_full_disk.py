"""Votes while the disk is full: the voter is informed, no vote is lost, the page stays usable.

The kernel refuses the writes: no file of this process may grow for a moment.
"""

from __future__ import annotations

import contextlib
import resource
import sys
from collections.abc import Iterator

import pytest

from components.vote.ballot_actions import handle_ballot_action
from studies.store.ballot_queries import VotingRules, checks_by_item, read_ballots
from studies.store.store import Store
from tests.components.vote.test_vote_actions import begin, press, state_of, study_of
from tests.page_words import says, text_of

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="NOT LINUX: no limit on files")


@contextlib.contextmanager
def full_disk() -> Iterator[None]:
    """What SQLite writes lies behind the first page of its log; Python ignores the signal."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (4096, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


def votes(store: Store) -> int:
    return sum(j.ask.judge.startswith("human:") for j in store.judgements("s"))


def test_the_same_ballot_stays_with_what_was_typed_and_says_that_nothing_is_saved(
    store: Store,
) -> None:
    study_of(store)
    first = begin(store)
    with full_disk():
        one = press(store, first, act="vote", pick=0, margin=1, comment="well <put>")
        two = press(store, one, act="vote", pick=0, margin=1, comment="well <put>")
    for html in (one, two):
        told = text_of(html)
        assert says(told, "Your vote", "not saved") and says(told, "press", "again")
        assert "make room" in told and "resume" not in told
        assert state_of(html) == state_of(first) and "well &lt;put&gt;" in html
    assert one != two, "what is the same to the letter would not reach the browser"
    assert votes(store) == 0
    after = press(store, two, act="vote", pick=0, margin=1, comment="well <put>")
    assert votes(store) == 1 and "saved" not in text_of(after)
    assert state_of(after)["position"] != state_of(first)["position"]


def test_a_verification_a_skip_and_a_step_back_stay_too(store: Store) -> None:
    study_of(store)
    store.set_voting_rules("s", VotingRules("verify", whom="answers"))
    first = begin(store)
    for asked in ({"act": "check", "follows": True}, {"act": "next"}, {"act": "undo"}):
        with full_disk():
            html = press(store, first, **asked)
        said = "Your vote is not saved" if asked["act"] == "check" else "Not done"
        assert said in text_of(html)
        assert state_of(html) == state_of(first)
    press(store, first, act="check", follows=True)
    assert len(checks_by_item(read_ballots(store.read_connection, "s"))) == 1


def test_whoever_comes_while_it_is_full_can_try_again(store: Store) -> None:
    study_of(store)
    with full_disk():
        html = begin(store, "bob")
    told = text_of(html)
    assert "Voting cannot continue" in told and "Try again" in told and "Voting as bob" in told
    assert "data-tried=" in html and "&#34;act&#34;: &#34;show&#34;" in html
    assert (
        state_of(handle_ballot_action(store, "s", {"act": "show", "voter": "bob"}))["voter"]
        == "bob"
    )


def test_a_vote_that_was_saved_before_the_disk_was_full_is_said_to_be_saved(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The vote is one transaction, what comes next another."""
    study_of(store)
    first = begin(store)
    run, done = store.writer.run, []

    def then_full(work):  # type: ignore[no-untyped-def]
        with full_disk() if done else contextlib.nullcontext():
            done.append(work)
            return run(work)

    monkeypatch.setattr(store.writer, "run", then_full)
    html = press(store, first, act="vote", pick=1, margin=1)
    monkeypatch.undo()
    assert says(text_of(html), "Your", "saved", "ballot cannot")
    assert "then press Next" in text_of(html) and votes(store) == 1
    assert state_of(press(store, html, act="next"))["position"] != state_of(first)["position"]
