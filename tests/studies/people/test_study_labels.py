"""Labels of comparisons and answers: by design, by people, disputed."""

from __future__ import annotations

from typing import Any

import pytest

from studies.domain import AnswerLabel, Ask, Item, Judgement, Preference, Verdict
from studies.frames.arrangement import Arrangement
from studies.people.study_labels import (
    PASS_FAIL,
    item_and_contestants_key,
    keep_only_labelled_answers,
    label_answers,
    label_comparisons,
)

PAIR, OPTIONS = ("x", "y"), ("fail", "pass")


def item(name: str = "q", **more: Any) -> Item:
    return Item(name, "hello", {"x": "one", "y": "two", "z": "three"}, **more)


def vote(who: str, pick: Any, shown: tuple[str, ...] = PAIR) -> Judgement:
    ask = Ask(f"{who}{shown}", "q", who, "vote", shown, ("A", "B"))
    return Judgement(ask, "ok", Verdict(pick))


def grade(who: str, score: float, contestant: str = "x") -> Judgement:
    ask = Ask(f"{who}{contestant}", "q", who, "vote", (contestant,), OPTIONS)
    return Judgement(ask, "ok", Verdict(scores=(score,)))


@pytest.mark.parametrize(
    ("votes", "winner", "disputed"),
    [
        ([vote("human:a", 0)], "x", False),
        ([vote("human:a", 0, ("y", "x"))], "y", False),
        ([vote("human:a", 0), vote("human:b", 1)], None, True),
        ([vote("human:a", 0), vote("human:b", 0), vote("human:c", 1)], "x", False),
        ([vote("human:a", "tie")], None, True),
        ([vote("human:a", 0), vote("human:b", "tie")], None, True),
        ([vote("human:a", 0), vote("human:a", 1, ("x", "y")), vote("human:b", 0)], "x", False),
        ([vote("judge", 0)], None, False),
        ([], None, False),
    ],
)
def test_a_majority_of_people_labels_a_pair(votes, winner, disputed):
    found = label_comparisons({"q": item()}, [], votes)
    assert [one.winner for one in found.comparisons] == ([winner] if winner else [])
    assert found.disputed == ((("q", "x", "y"),) if disputed else ())
    assert any(one.votes for one in found.cases) == bool(winner)


def test_the_design_of_the_data_comes_before_votes():
    designed = item(human=(Preference("by-design", PAIR, "y"),))
    found = label_comparisons({"q": designed}, [], [vote("human:a", 0)])
    assert [(one.winner, one.votes) for one in found.comparisons] == [("y", 0)]
    assert not any(one.votes for one in found.cases) and found.items == ("q",)
    assert found.select_items(["q"]) == found and found.select_items(["other"]).cases == ()


def test_a_case_is_one_answer_or_two_different_ones():
    def key(*shown: str) -> Any:
        return item_and_contestants_key(Ask("k", "q", "j", "p", shown, ()))

    assert key("y", "x") == ("q", "x", "y") and key("x") == ("q", "x")
    assert key("x", "x") is None and key() is None and key("x", "y", "z") is None


def gold(value: Any, source: str = "gold") -> AnswerLabel:
    return AnswerLabel("x", value, source)


@pytest.mark.parametrize(
    ("labels", "votes", "value", "disputed"),
    [
        ([gold("pass")], [], 1.0, False),
        ([gold("fail")], [grade("human:a", 1.0)], 0.0, False),
        ([], [grade("human:a", 1.0)], 1.0, False),
        ([], [grade("human:a", 0.0)], 0.0, False),
        ([], [grade("human:a", 1.0), grade("human:b", 0.0)], None, True),
        ([], [grade("human:a", 1.0), grade("human:b", 0.0), grade("human:c", 0.0)], 0.0, False),
        ([gold("pass", "ann"), gold("fail", "bob")], [grade("judge", 1.0)], None, True),
        ([gold(3.0)], [grade("judge", 1.0)], None, False),  # a score is no pass or fail
        ([], [grade("judge", 1.0)], None, False),
    ],
)
def test_an_answer_passes_by_its_label_else_by_a_majority(labels, votes, value, disputed):
    ask = Ask("k", "q", "j", "p", ("x",), OPTIONS)
    found = label_answers({"q": item(labels=tuple(labels))}, [ask], votes, PASS_FAIL)
    assert [one.value for one in found.answers] == ([] if value is None else [value])
    assert found.disputed == ((("q", "x"),) if disputed else ())


def test_only_labelled_answers_are_kept_with_their_labels():
    votes = [vote("human:a", 1, ("z", "x"))]
    kept = keep_only_labelled_answers(item(), label_comparisons({"q": item()}, [], votes))
    assert set(kept.responses) == {"x", "z"}
    assert kept.human == (Preference("by-design", ("x", "z"), "x"),)
    graded = label_answers({"q": item()}, [], [grade("human:a", 0.0, "y")], PASS_FAIL)
    one = keep_only_labelled_answers(item(), graded)
    assert set(one.responses) == {"y"}
    assert [(label.contestant, label.value) for label in one.labels] == [("y", "fail")]


def test_a_filled_in_rubric_gives_the_mean_of_each_criterion():
    """Two people in two orders of the criteria: a has 1 and 2, b has 5 and 4; the mean is 3."""

    def filled(who: str, names: str, *levels: float) -> Judgement:
        labels = Arrangement(("1", "2", "3", "4", "5"), (), tuple(names)).labels
        ask = Ask(f"{who}{names}", "q", who, "vote", ("x",), labels)
        return Judgement(ask, "ok", Verdict(scores=(sum(levels) / len(levels), *levels)))

    votes = [filled("human:a", "ab", 1.0, 5.0), filled("human:b", "ba", 4.0, 2.0)]
    (one,) = label_answers({"q": item()}, [], votes, "score").answers
    assert (one.value, one.votes) == (3.0, 2)
    assert dict(one.levels) == {"a": 1.5, "b": 4.5}


def test_only_usable_votes_with_a_verdict_of_the_kind_count():
    lost = Judgement(grade("human:b", 0.0).ask, "unreadable")
    pair = Judgement(vote("human:c", 0).ask, "unreadable")
    found = label_answers({"q": item()}, [], [lost, grade("human:a", 1.0)], PASS_FAIL)
    assert [(one.value, one.votes) for one in found.answers] == [(1.0, 1)]
    assert label_answers({"q": item()}, [], [grade("human:a", 1.0)], "score").answers == ()
    found = label_comparisons({"q": item()}, [], [pair, vote("human:a", 1)])
    assert [(one.winner, one.votes) for one in found.comparisons] == [("y", 1)]
    skipped = Judgement(vote("human:b", 0).ask, "ok", Verdict(scores=(1.0,)))
    found = label_comparisons({"q": item()}, [], [skipped, vote("human:a", 1)])
    assert [(one.winner, one.votes) for one in found.comparisons] == [("y", 1)]
