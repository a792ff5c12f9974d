"""Fair turns: no visitor is served twice while another waits for the first turn."""

from __future__ import annotations

import time
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from components.server import fair_turns
from components.server.fair_turns import (
    MAX_REMEMBERED_CLIENTS,
    UNREAD_ANSWER_SECONDS,
    FairTurns,
    QueueClient,
    QueueLimits,
    is_idle,
    sessions_with_messages_to_delete,
)
from tests.page_words import says
from tests.samples import examples

CROWD = QueueLimits(
    waiting_per_session=3,
    waiting_per_address=5,
    running_per_session=2,
    running_per_address=3,
    unread_per_session=9,
    unread_total=99,
)


def places(text: str) -> list[QueueClient]:
    """`a1` is session a1 at address a."""
    return [QueueClient(word, word[0]) for word in text.split()]


def order(waiting: str, crowd: QueueLimits = CROWD) -> str:
    """Who is served when each is done before the next begins."""
    turns, left, out = FairTurns(crowd), places(waiting), []
    while (found := turns.pick_next(left, ())) is not None:
        turns.record_turn(left[found])
        out.append(left.pop(found).session)
    return " ".join(out)


def test_one_that_comes_after_many_is_served_second():
    assert order("a1 a1 a1 a1 b1") == "a1 b1 a1 a1 a1"


def test_sessions_of_one_address_take_turns_within_its_turn():
    # a has two sessions, b one: every other turn is b's while it has any.
    assert order("a1 a1 a2 a2 b1 b1") == "a1 b1 a2 b1 a1 a2"


def test_those_alone_are_served_in_order_of_arrival():
    assert order("a1 b1 c1") == "a1 b1 c1"


def test_who_has_as_much_at_work_as_they_may_waits():
    turns = FairTurns(CROWD)
    assert turns.pick_next(places("a1 a2 b1"), places("a1 a1")) == 2, "b has nothing at work"
    assert turns.pick_next(places("a1 a2"), places("a1 a1")) == 1, "a1 has two, so a2 is next"
    assert turns.pick_next(places("a1 a2"), places("a1 a1 a3")) is None, "a has three"
    assert turns.pick_next([], []) is None


def test_one_event_too_many_is_refused_in_words():
    turns = FairTurns(CROWD)
    one, *_ = places("a1")
    assert turns.refusal_reason(one, places("a1 a1 b1"), 0) == ""
    assert says(turns.refusal_reason(one, places("a1 a1 a1"), 0), "3 requests", "page")
    assert says(
        turns.refusal_reason(one, places("a2 a2 a3 a3 a4"), 0), "5 requests", "your network"
    )
    assert "9 answers" in turns.refusal_reason(one, [], 9)


@examples(200)
@given(st.lists(st.sampled_from(["a1", "a2", "b1", "b2", "c1"]), max_size=30))
def test_everybody_is_served_and_no_address_runs_ahead(waiting):
    served = order(" ".join(waiting)).split()
    assert Counter(served) == Counter(waiting)
    left, done = Counter(name[0] for name in waiting), Counter()
    for name in served:
        # No address is served while another that still waits was served two times less.
        assert all(done[name[0]] - done[other] <= 1 for other, n in left.items() if n)
        done[name[0]] += 1
        left[name[0]] -= 1


def test_what_is_remembered_of_passers_by_is_bounded():
    turns = FairTurns(CROWD)
    for number in range(2 * MAX_REMEMBERED_CLIENTS):
        turns.record_turn(QueueClient(f"s{number}", f"a{number}"))
    assert len(turns._last_turns) == MAX_REMEMBERED_CLIENTS


def test_one_below_each_limit_is_accepted():
    turns = FairTurns(CROWD)
    one, *_ = places("a1")
    assert turns.refusal_reason(one, places("a1 a1 a2 a2"), 8) == ""
    assert turns.refusal_reason(one, places("b1 b1 b1 b1 b1 b1"), 0) == "", "of another address"


def test_an_address_that_was_served_waits_behind_a_new_one():
    turns = FairTurns(CROWD)
    turns.record_turn(QueueClient("a1", "a"))
    assert turns.pick_next(places("a1 b1"), ()) == 1
    turns.record_turn(QueueClient("b1", "b"))
    assert turns.pick_next(places("b1 a1"), ()) == 1, "a was served longer ago"
    assert turns.pick_next(places("a1 a2"), ()) == 1, "the other session of a has had no turn"


def test_an_address_with_less_at_work_goes_first_also_if_it_was_just_served():
    turns = FairTurns(CROWD)
    turns.record_turn(QueueClient("b1", "b"))
    assert turns.pick_next(places("a1 b1"), places("a2")) == 1


@pytest.mark.parametrize(
    ("limit", "deleted"),
    [(6, []), (5, ["old"]), (3, ["old"]), (2, ["old", "older"]), (0, ["old", "older"])],
)
def test_unread_messages_are_deleted_only_of_inactive_sessions_and_until_few_are_left(
    limit, deleted, monkeypatch
):
    """Six messages: "old" has three, "older" one, "busy" and "recent" one each, never deleted."""
    monkeypatch.setattr(time, "monotonic", lambda: 1_000.0)
    unread = {"busy": 1, "old": 3, "recent": 1, "older": 1}
    long_ago = 1_000.0 - UNREAD_ANSWER_SECONDS
    times = {"busy": 0.0, "old": long_ago - 0.1, "recent": long_ago}
    found = sessions_with_messages_to_delete(unread, {"busy"}, times, limit)
    assert found == deleted


def test_a_queue_is_idle_after_a_while_without_an_event(monkeypatch):
    monkeypatch.setattr(time, "monotonic", lambda: 500.0)
    assert not is_idle(500.0) and not is_idle(500.0 - fair_turns.IDLE_SECONDS)
    assert is_idle(499.9 - fair_turns.IDLE_SECONDS)
