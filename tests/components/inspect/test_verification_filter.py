"""Inspect filter by people's verifications: masks, menu, text under an answer."""

from __future__ import annotations

from urllib.parse import parse_qsl, urlencode

import numpy as np
import pytest

from components.inspect.comparison_index import (
    ComparisonIndex,
    comparison_rows,
    count_by_verification,
    filter_comparisons,
    index_comparisons,
)
from components.inspect.filter_bar import filter_bar
from components.inspect.list_html import detail_panel
from components.inspect.load_comparison import load_inspect_page
from components.inspect.url_selection import Selection, apply_click, parse_selection
from components.inspect.verification_filter import (
    CHECK_OUTCOMES,
    VERIFICATION_KINDS,
    verification_bits,
    verification_masks,
    verifications_html,
)
from studies.domain import REFERENCE, AnswerCheck, Ask, Item, Judgement, Verdict
from studies.frames.frame import SEP, TIE, frame_from_rows
from studies.people.vote_session import open_vote_session
from studies.spec.study import Study
from studies.store.ballot_queries import VotingRules, voter_id
from studies.store.store import Store
from tests.page_words import says, text_of

HOSTILE = "<img src=x onerror=alert(1)>"


def row(position: int, item: str, shown: str, pick: int, judge: str = "j") -> tuple[object, ...]:
    """As Store.frame_rows gives it."""
    return (
        position, item, judge, "p", SEP.join(shown), SEP.join("ABC"[: len(shown)]), 0, 0, 2, "ok",
        pick, 1, None, None, position + 100,
    )  # fmt: skip


@pytest.fixture
def few() -> ComparisonIndex:
    """q1 to q4 compare x and y, q5 x, y and z."""
    rows = [
        row(0, "q1", "xy", 0), row(1, "q1", "yx", 1),  # x both times
        row(2, "q2", "xy", 1), row(3, "q2", "yx", 0),  # y both times
        row(4, "q3", "xy", TIE), row(5, "q3", "yx", TIE),
        row(6, "q4", "xy", 0), row(7, "q4", "yx", 0),
        row(8, "q5", "xyz", 2),
    ]  # fmt: skip
    return index_comparisons(frame_from_rows(rows, {}, study="s"))


SAYS = {
    "q1": (AnswerCheck("ann", "x", True), AnswerCheck("ann", "y", False, "answer")),
    "q2": (AnswerCheck("ann", "x", True), AnswerCheck("ann", "y", False, "caption", harmful=True)),
    "q3": (
        AnswerCheck("ann", "x", True),
        AnswerCheck("bob", "x", True),
        AnswerCheck("ann", "y", False),
    ),
    "q5": (AnswerCheck("ann", "z", False, "answer"), AnswerCheck("ann", REFERENCE, False)),
    "gone": (AnswerCheck("ann", "x", False),),
}


def items(few: ComparisonIndex, kind: str, contestant: str = "") -> list[str]:
    said = verification_masks(few, SAYS, contestant)
    found = filter_comparisons(few, Selection(verified=kind, contestant=contestant), None, said)
    return [line.item for line in comparison_rows(few, found)]


def test_each_kind_keeps_the_comparisons_of_which_somebody_says_so(few: ComparisonIndex) -> None:
    assert items(few, "any") == ["q1", "q2", "q3", "q5"]
    assert items(few, "follows") == ["q1", "q2", "q3"]
    assert items(few, "fails") == ["q1", "q2", "q3", "q5"]
    assert items(few, "answer") == ["q1", "q5"]
    assert items(few, "caption") == items(few, "harmful") == ["q2"]
    assert items(few, "neither") == ["q3"]


def test_pairs_of_which_one_answer_fails_and_those_on_which_it_is_preferred(
    few: ComparisonIndex,
) -> None:
    # q5 has three answers; q2 prefers y, which fails; q3 is a tie.
    assert items(few, "apart") == ["q1", "q2", "q3"]
    assert items(few, "misled") == ["q2"]


def test_with_a_contestant_the_words_are_about_its_answer(few: ComparisonIndex) -> None:
    assert items(few, "fails", "x") == []
    assert items(few, "fails", "y") == ["q1", "q2", "q3"]
    assert items(few, "any", "z") == ["q5"]


def test_what_nobody_knows_keeps_nothing_and_counts_are_beside_the_other_menus(
    few: ComparisonIndex,
) -> None:
    said = verification_masks(few, SAYS)
    assert filter_comparisons(few, Selection(verified="nonsense"), None, said).tolist() == []
    assert filter_comparisons(few, Selection(verified="any")).tolist() == []
    found = count_by_verification(few, Selection(item="q2", verified="neither"), None, said)
    assert {kind for kind, n in found.items() if n} == {
        "any", "follows", "fails", "caption", "harmful", "apart", "misled",
    }  # fmt: skip
    assert verification_masks(few, {}) == {} == count_by_verification(few, Selection(), None, {})


def test_the_masks_are_those_of_a_loop_over_everything(few: ComparisonIndex) -> None:
    """A second implementation, comparison by comparison."""
    said = verification_masks(few, SAYS)
    for line in comparison_rows(few, np.arange(len(few))):
        here = [c for c in SAYS.get(line.item, ()) if c.contestant in line.model_names]
        for kind in CHECK_OUTCOMES:
            told = any(verification_bits(check) >> CHECK_OUTCOMES.index(kind) & 1 for check in here)
            assert bool(said[kind][line.at]) == told, (line.item, kind)


def test_it_is_in_the_address_and_a_click_sets_it() -> None:
    chosen = apply_click(Selection("s", page=3), {"set": {"verified": "fails"}})
    assert (chosen.verified, chosen.page) == ("fails", 0) and chosen.has_filters
    address = urlencode(chosen.non_default_fields())
    assert parse_selection(dict(parse_qsl(address))) == chosen


# ------------------------------------------------------------------------------ from a store


@pytest.fixture
def study(store: Store) -> Store:
    """One pair on each of two items; ann and a hostile name verified the first."""
    said = (
        AnswerCheck("ann", "x", True),
        AnswerCheck(HOSTILE, "x", False, "caption", harmful=True),
        AnswerCheck("ann", "y", False, "answer"),
        AnswerCheck("ann", REFERENCE, True),
    )
    made = [Item(f"q{k}", "why?", {"x": "one", "y": "two"}, reference="so",
                 checks=said if k == 0 else ()) for k in range(2)]  # fmt: skip
    rows = [
        Judgement(
            Ask(f"k{n}{shown}", f"q{n}", "j", "p", tuple(shown), ("A", "B"), orders=2),
            "ok", Verdict(shown.index("x")), reply="x it is",
        )
        for n in range(2)
        for shown in ("xy", "yx")
    ]  # fmt: skip
    store.save_study(Study("s"), made, (), recorded=rows, only_recorded=True)
    return store


def test_the_menu_offers_what_somebody_said_with_how_many_it_leaves(study: Store) -> None:
    bar = filter_bar(load_inspect_page(study, Selection("s")))
    assert '<select data-field="verified">' in bar and '<option value="fails">' in bar
    told = text_of(bar)
    assert (
        f"{VERIFICATION_KINDS['fails']} (1)" in told and f"{VERIFICATION_KINDS['any']} (1)" in told
    )
    assert VERIFICATION_KINDS["neither"] not in told and VERIFICATION_KINDS["misled"] not in told
    chosen = load_inspect_page(study, Selection("s", verified="harmful"))
    assert chosen.total == 1 and chosen.opened is not None and chosen.opened.line.item == "q0"
    assert '<option value="harmful" selected="selected">' in filter_bar(chosen)


def test_without_verifications_there_is_no_menu_and_a_stale_link_says_why(store: Store) -> None:
    item = Item("q", "why?", {"x": "a", "y": "b"})
    ask = Ask("k", "q", "j", "p", ("x", "y"), ("A", "B"))
    made = [Judgement(ask, "ok", Verdict(0), reply="x")]
    store.save_study(Study("s"), [item], (), recorded=made, only_recorded=True)
    assert 'data-field="verified"' not in filter_bar(load_inspect_page(store, Selection("s")))
    inspected = load_inspect_page(store, Selection("s", verified="fails"))
    assert inspected.total == 0 and says(text_of(detail_panel(inspected)), "No answer", "verified")
    assert 'data-field="verified"' in filter_bar(inspected), "it can be taken away again"


def test_the_opened_comparison_says_who_verified_what(study: Store) -> None:
    html = detail_panel(load_inspect_page(study, Selection("s", item="q0")))
    assert "<img" not in html
    told = text_of(html)
    assert says(told, "Verified: 1", "2", "yes")
    assert f"{HOSTILE} no, the caption's fault, harmful" in told
    assert says(told, "Verified", "not", "no", "answer's")
    assert told.count("Verified:") == 3, "x, y, and the reference in its drawer"
    assert "Verified:" not in text_of(
        detail_panel(load_inspect_page(study, Selection("s", item="q1")))
    )


def test_a_verification_on_the_page_can_be_found_at_once(study: Store) -> None:
    study.set_voting_rules("s", VotingRules("verify", whom="answers"))
    assert load_inspect_page(study, Selection("s", verified="neither")).total == 0
    at = open_vote_session(study, "s", voter_id("cat"), "verify")
    while (ballot := at.next_ballot()) is not None:
        at.store_verification(
            ballot.position, ballot.done, AnswerCheck("", "", ballot.item == "q0")
        )
    inspected = load_inspect_page(study, Selection("s", verified="neither"))
    assert inspected.total == 1 and says(
        text_of(detail_panel(inspected)), "cat no", "another reason"
    )


def test_an_answer_nobody_verified_has_no_line() -> None:
    assert verifications_html([AnswerCheck("ann", "x", True)], "y") == ""
