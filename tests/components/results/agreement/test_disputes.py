"""Order of disputed comparisons: the entropy of the choices, by hand."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pandas as pd
import pytest

from components.results.agreement import disputes, tab
from components.results.agreement.disputes import (
    AGAINST_KNOWN,
    AGAINST_PEOPLE,
    JUDGES_SPLIT,
    PEOPLE_SPLIT,
    CaseChoices,
    _entropy,
)
from components.vote import ballot_html
from studies.frames.frame import NO_PICK, TIE


def test_the_entropy_of_choices_is_in_bits():
    assert _entropy(Counter(a=1, b=1)) == pytest.approx(1.0)
    assert _entropy(Counter(a=3, b=1)) == pytest.approx(0.811278, abs=1e-6)
    assert _entropy(Counter(a=2, b=2, c=2, d=2)) == pytest.approx(2.0)
    assert _entropy(Counter(a=5, b=0)) == _entropy(Counter()) == 0.0


def case(
    people: str | None = None, known: str | None = None, **counts: dict[str, int]
) -> CaseChoices:
    votes, judges = (Counter(counts.get(name, {})) for name in ("votes", "judges"))
    return CaseChoices("q", "c", ("x", "y"), people, votes, judges, known)


@pytest.mark.parametrize(
    ("winner", "against"), [("x", 3), ("y", 2), ("z", 5), ("tie", 0), (None, 0)]
)
def test_judges_with_a_tie_are_against_nobody(winner: str | None, against: int) -> None:
    one = case(judges={"x": 2, "y": 3, "tie": 4})
    assert one.judge_count == 9 and one.count_judges_against(winner) == against


def test_a_case_is_more_informative_with_more_judges_against_and_a_surer_majority() -> None:
    """Four judges, three against people: 3/4. Three of four votes for x: 3 / (4 + 1)."""
    one = case("x", votes={"x": 3, "y": 1}, judges={"x": 1, "y": 3})
    assert one.informativeness_key(AGAINST_PEOPLE) == pytest.approx((0.75, 0.6, 4))
    single = case("x", votes={"x": 1}, judges={"y": 4})
    assert single.informativeness_key(AGAINST_PEOPLE) == pytest.approx((1.0, 0.5, 1))
    sure = case("x", votes={"x": 3}, judges={"y": 4})
    assert sure.informativeness_key(AGAINST_PEOPLE) > single.informativeness_key(AGAINST_PEOPLE)
    assert case().informativeness_key(AGAINST_PEOPLE) == (0, 0, 0)


def test_a_known_answer_is_certain_and_splits_are_ranked_by_entropy() -> None:
    one = case("x", "y", votes={"x": 3, "y": 1}, judges={"x": 2, "y": 2})
    assert one.informativeness_key(AGAINST_KNOWN) == (0.5, 1.0, 4)
    assert case(None, "y").informativeness_key(AGAINST_KNOWN) == (0, 1.0, 0)
    apart = pytest.approx(0.811278, abs=1e-6)
    assert one.informativeness_key(JUDGES_SPLIT) == (1.0, pytest.approx(1 - 0.811278, abs=1e-6), 4)
    assert one.informativeness_key(PEOPLE_SPLIT) == (apart, 0.0, 4)


@pytest.mark.parametrize(
    ("kind", "one", "listed"),
    [
        (AGAINST_PEOPLE, case("x", judges={"x": 1, "y": 2}), True),
        (AGAINST_PEOPLE, case("x", judges={"x": 1, "y": 1}), False),
        (AGAINST_PEOPLE, case(None, judges={"y": 2}), False),
        (AGAINST_KNOWN, case(None, "y", judges={"x": 2, "y": 1}), True),
        (AGAINST_KNOWN, case("y", "x", judges={"x": 2, "y": 1}), False),
        (AGAINST_KNOWN, case(None, "y", judges={"x": 2, "tie": 2}), False),
        (JUDGES_SPLIT, case(judges={"x": 2, "y": 1}), True),
        (JUDGES_SPLIT, case(judges={"x": 2}, votes={"x": 1, "y": 1}), False),
        (PEOPLE_SPLIT, case(judges={"x": 2}, votes={"x": 1, "y": 1}), True),
        (PEOPLE_SPLIT, case(judges={"x": 1, "y": 1}, votes={"x": 2}), False),
        (PEOPLE_SPLIT, case(), False),
    ],
)
def test_more_than_half_of_the_judges_must_be_against(
    kind: str, one: CaseChoices, listed: bool
) -> None:
    assert disputes._is_dispute_of_kind(one, kind) is listed


def kinds(people: bool, source: str, judges: int, known: int = 0) -> list[str]:
    stub: Any = SimpleNamespace(
        has_people=people,
        known_answer_source=source,
        filtered_rater_names=range(judges),
        rows=pd.DataFrame({"known_answer": [NO_PICK, known]}),
    )
    return disputes.possible_dispute_kinds(stub)


def test_kinds_follow_from_votes_known_answers_and_a_second_judge() -> None:
    assert kinds(True, "design", 2) == [AGAINST_PEOPLE, AGAINST_KNOWN, JUDGES_SPLIT, PEOPLE_SPLIT]
    assert kinds(True, "people", 1) == [AGAINST_PEOPLE, PEOPLE_SPLIT]
    assert kinds(False, "design", 1) == [AGAINST_KNOWN]
    assert kinds(False, "design", 1, TIE) == []  # several of three options or more are right
    assert kinds(False, "", 2) == [JUDGES_SPLIT]
    assert kinds(False, "", 1) == []


def test_a_known_winner_is_the_model_at_the_better_place() -> None:
    firsts = pd.DataFrame(
        {
            "shown": pd.Categorical([disputes.SEP.join(one) for one in ("xy", "yx", "yx", "xy")]),
            "known_answer": [0, 0, TIE, NO_PICK],
            "options": 2,
        }
    )
    assert disputes._known_winners(firsts, ["x", "y"]) == ["x", "y", "tie", None]


def test_a_winner_has_a_name_a_tie_or_none() -> None:
    assert disputes._winner_name(1, ["x", "y"]) == "y"
    assert disputes._winner_name(0, ["x", "y"]) == "x"
    assert disputes._winner_name(disputes.NO_CHOICE, ["x"]) is None
    assert disputes._winner_name(TIE, ["x"]) == "tie"


def test_a_question_is_listed_on_one_line_of_160_characters() -> None:
    assert disputes.shorten_question(" a\n b ") == "a b"
    assert disputes.shorten_question("a" + "x" * 160) == "a" + "x" * 159
    assert disputes.shorten_question("x" * 160) == "x" * 160


def test_the_link_of_the_vote_tab_names_the_fold_with_the_disputes() -> None:
    ballot = (Path(ballot_html.__file__).parent / "ballot.html").read_text(encoding="utf-8")
    (fold,) = [
        one for one in tab.PAIRS.panels if getattr(one, "fold", "") == "Disputed comparisons"
    ]
    assert re.findall(r'"Agreement" data-to="\[data-keep=(\w+)', ballot) == [fold.name]
