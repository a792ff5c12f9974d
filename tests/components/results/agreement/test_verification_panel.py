"""Panel of verified answers, as plain functions on a real store."""

from __future__ import annotations

import json
import re
from html import unescape

import pytest

from components.filtering.filtered_study import FilteredStudy
from components.filtering.filters import Filter
from components.inspect.load_comparison import load_inspect_page
from components.inspect.url_selection import Selection
from components.results.agreement import tab, verification_panel
from components.results.agreement.computed import load_agreement
from components.results.agreement.verification_panel import (
    load_answer_verifications,
    misjudged_pairs,
    show_answer_verifications,
    verification_subtitle,
)
from components.results.controls.mark_selection import inspect_filters_for_mark
from components.results.view_drawing import render_view
from components.share.report import ReportFigures, report_html, report_sections
from studies.domain import REFERENCE, AnswerCheck, Ask, Estimate, Item, Judgement, Verdict
from studies.people.vote_session import open_vote_session
from studies.spec.study import Study
from studies.store.ballot_queries import VotingRules, voter_id
from studies.store.store import Store
from tests.page_words import says, text_of

HOSTILE = "<img src=x onerror=alert(1)>"
SAID = {
    # ann and bob about x and y; q0, q1: x stands, y fails. q2: y stands, x fails. q3: nothing.
    "q0": ((True, True), (False, False)),
    "q1": ((True, True), (False, False)),
    "q2": ((False, False), (True, True)),
    "q3": ((True, False), (True, True)),
}


def study_of(store: Store, name: str = "s", y: str = "y", **more: object) -> FilteredStudy:
    """`good` prefers what stands, in both orders; `first` takes whatever is shown first."""
    items, rows = [], []
    for item, (about_x, about_y) in SAID.items():
        checks = [
            AnswerCheck(who, contestant, word, None if word else "caption", harmful=item == "q0")
            for contestant, words in (("x", about_x), (y, about_y))
            for who, word in zip(("ann", "bob"), words, strict=True)
        ]
        items.append(Item(item, f"question {item} {HOSTILE}", {"x": "a", y: "b"},
                          "even" if item in ("q0", "q2") else "odd", reference="r",
                          checks=(*checks, AnswerCheck("ann", REFERENCE, True))))  # fmt: skip
        for shown in (("x", y), (y, "x")):
            for judge in ("good", "first"):
                best = y if item == "q2" else "x"
                pick = shown.index(best) if judge == "good" else 0
                ask = Ask(f"{name}{item}{judge}{shown}", item, judge, "p", shown, ("A", "B"),
                          orders=2)  # fmt: skip
                rows.append(Judgement(ask, "ok", Verdict(pick), reply="so"))
    store.save_study(Study(name), items, (), recorded=rows, only_recorded=True)
    return FilteredStudy(store, name, Filter(**more))  # type: ignore[arg-type]


def shown(scene: FilteredStudy) -> str:
    return show_answer_verifications(load_answer_verifications(load_agreement(scene)))


def test_shares_agreement_and_judges_of_a_small_table(store: Store) -> None:
    scene = study_of(store)
    one = load_answer_verifications(load_agreement(scene))
    assert says(verification_subtitle(one), "20 verifications", "12 answers", "2")
    text = text_of(shown(scene))
    # x: q0 q1 yes, q2 no, q3 one of two: 5 of 8. y: q2, q3 yes: 4 of 8. The reference: 4 of 4.
    assert re.search(r"the reference Verified 4 Follow the instruction, % 100 ", text)
    assert re.search(r" x Verified 8 Follow the instruction, % 62 ", text)  # 62.5
    assert re.search(r" y Verified 8 Follow the instruction, % 50 ", text)
    assert re.search(r"all answers Verified 20 Follow the instruction, % 65 ", text)  # 13 of 20
    # Both said something about 8 answers, and the same about 7 of them.
    assert says(text, "8") and "87.5" in text
    # Mixed pairs: q0, q1, q2. good is right 6 of 6 times, first 3 of 6: a coin.
    assert re.search(r"good .*100 \[", text) and re.search(r"first .*50 \[", text)
    (first, *rest) = misjudged_pairs(one)
    assert (first.item, first.follows, first.fails) == ("q0", "x", "y")
    assert (first.wrong_verdicts, first.decided_verdicts) == (1, 4) and len(rest) == 2
    assert says(text, "2", "2 say no", "caption's")


def test_marks_open_what_is_behind_them(store: Store) -> None:
    html = shown(study_of(store))
    sent = [json.loads(unescape(text)) for text in re.findall(r'data-select="([^"]+)"', html)]
    assert {"contestant": "x"} in sent and {"contestant": "y"} in sent
    assert {"contestant": REFERENCE} not in sent  # it is never compared here
    assert {"judge": "good", "prompt": "p", "verified": "apart"} in sent
    assert {"item": "q2", "contestant": "y", "against": "x"} in sent


def test_a_number_opens_the_comparisons_that_it_counts(store: Store) -> None:
    scene = study_of(store)
    sent = [
        json.loads(unescape(text)) for text in re.findall(r'data-select="([^"]+)"', shown(scene))
    ]
    opened = {}
    for mark in sent:
        selection = inspect_filters_for_mark(scene, mark)
        opened[tuple(sorted(mark.items()))] = load_inspect_page(store, selection).total

    def total(**mark: object) -> int:
        return opened[tuple(sorted(mark.items()))]

    assert min(opened.values()) > 0, "a link that opens nothing"
    # Two judges compare x and y on every item. x fails on q2, and one of two says so on q3; its
    # fault is never the answer's. Of y somebody says no on q0 and q1. Harmful: whatever q0 holds.
    assert total(contestant="x", verified="any") == 8
    assert total(contestant="x", verified="follows") == 6
    assert (
        total(contestant="x", verified="caption") == total(contestant="y", verified="caption") == 4
    )
    assert total(verified="caption") == 8
    assert total(contestant="y", verified="harmful") == total(verified="harmful") == 2
    assert not any("answer" in dict(mark).values() for mark in opened)
    # Mixed pairs: q0, q1, q2; `first` picks the failing one in one order of each.
    assert total(judge="good", prompt="p", verified="apart") == 3
    assert load_inspect_page(store, Selection("s", judge="first", verified="misled")).total == 3
    assert load_inspect_page(store, Selection("s", judge="good", verified="misled")).total == 0


def test_the_drawing_that_readers_share_is_made_anew_by_a_verification(store: Store) -> None:
    study_of(store)
    store.set_voting_rules("s", VotingRules("verify", whom="answers"))

    def heading_now() -> str:
        return str(
            render_view(store, "s", tab.NAME, Filter(), tab.VIEW.start_values)["verified_heading"]
        )

    assert says(heading_now(), "20 verifications", "12 answers", "2")
    at = open_vote_session(store, "s", voter_id("cat"), "verify")
    ballot = at.next_ballot()
    assert ballot is not None
    at.store_verification(ballot.position, ballot.done, AnswerCheck("", "", True))
    assert says(heading_now(), "21 verifications", "12 answers", "3")
    at.undo()
    assert says(heading_now(), "20 verifications", "12 answers", "2")


def test_filters_leave_what_they_leave(store: Store) -> None:
    assert verification_subtitle(
        load_answer_verifications(load_agreement(study_of(store, "c", category="even")))
    ).startswith("10 ")
    assert verification_subtitle(
        load_answer_verifications(load_agreement(study_of(store, "d", contestants=("x", "y"))))
    ).startswith("16 ")
    only = text_of(shown(study_of(store, "e", judge="good")))
    assert "good" in only and "first" not in only.split("Where")[0].split("Judge (%")[1]


def test_names_and_questions_are_inert(store: Store) -> None:
    html = shown(study_of(store, y=HOSTILE))
    assert "<img" not in html and "&lt;img src=x" in html


def test_the_panel_is_there_only_where_somebody_verified(store: Store) -> None:
    drawn = tab.VIEW.render(study_of(store), tab.VIEW.start_values)
    assert drawn["verified_panel"] is True and drawn["verified"]
    item = Item("q", "why?", {"x": "a", "y": "b"})
    store.save_study(Study("none"), [item], (), (), only_recorded=True)
    none = FilteredStudy(store, "none")
    drawn = tab.VIEW.render(none, tab.VIEW.start_values)
    assert drawn["verified_panel"] is False and "verified" not in drawn
    assert "Verified answers" not in report_sections(none, ReportFigures())


def test_a_verification_on_the_page_is_seen_at_once_and_without_any_verdict(store: Store) -> None:
    items = [Item(f"q{k}", "why?", {"x": "a", "y": "b"}) for k in range(2)]
    store.save_study(Study("s"), items, (), (), only_recorded=True)
    store.set_voting_rules("s", VotingRules("verify", whom="answers"))
    scene = FilteredStudy(store, "s")
    assert not load_answer_verifications(load_agreement(scene)).has_checks
    at = open_vote_session(store, "s", voter_id("ann"), "verify")
    ballot = at.next_ballot()
    assert ballot is not None
    at.store_verification(ballot.position, ballot.done, AnswerCheck("", "", False, "answer"))
    assert says(
        verification_subtitle(load_answer_verifications(load_agreement(scene))),
        "1 verification",
        "1",
        "1 person",
    )
    text = text_of(shown(scene))
    assert says(text, "No answer", "verified", "people") and says(text, "No judge", "compared")


@pytest.mark.extra
def test_the_report_has_the_panel_and_the_numbers(store: Store) -> None:
    scene = study_of(store)
    html = report_html(scene.store, "s")
    assert "Verified answers" in html and says(html, "answer", "not follow", "preferred")
    found = re.search(r'id="metrics">(.*?)</script>', html, re.DOTALL)
    assert found
    value = json.loads(found[1])["verification"]["judges"]["first"]["p"]["prefers_following"]
    assert value["value"] == pytest.approx(0.5) and value["n"] == 6


def test_votes_on_pairs_with_one_good_answer_stand_below_the_judges(store: Store) -> None:
    """ann votes x on q0 and q2, where x passes and fails; bob's tie on q1 is not decisive."""
    scene = study_of(store, "voted")
    votes = [
        Judgement(
            Ask(f"v{item}{who}", item, f"human:{who}", "vote", ("x", "y"), ("A", "B")),
            "ok", Verdict(pick), reply="so",
        )
        for item, who, pick in (("q0", "ann", 0), ("q2", "ann", 0), ("q1", "bob", "tie"))
    ]  # fmt: skip
    items = list(store.items("voted").values())
    recorded = [*store.judgements("voted"), *votes]
    store.save_study(Study("voted"), items, (), recorded=recorded, only_recorded=True)
    text = text_of(shown(scene))
    assert re.search(r"good .*first .*people .*50 \[.*33", text)
    assert "data-select" not in re.findall(r"<tr[^>]*who.*?</tr>", shown(scene), re.DOTALL)[-1]


def test_of_many_misjudged_pairs_the_rest_is_counted(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    scene = study_of(store)
    assert "and 1 more" not in text_of(shown(scene))
    monkeypatch.setattr(verification_panel, "MAX_MISJUDGED", 2)
    assert "and 1 more" in text_of(shown(scene)) and "question q2" not in text_of(shown(scene))


def test_an_unknown_agreement_of_people_gives_its_reason() -> None:
    told = verification_panel._estimate_text
    assert told(Estimate(None, note="one person")) == "unknown (one person)"
    assert says(told(Estimate(0.456, 0.3, 0.6, 9, 9)), "0.46", "[0.30, 0.60]")
