"""The Vote tab as the page draws it: content of a ballot, what a voter's page hides, the rules."""

from __future__ import annotations

import json
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import gradio as gr
import pytest

from components.vote import organiser
from components.vote import tab as vote_tab
from components.vote.ballot_form import BallotContent, BallotForm, build_ballot_content
from studies.domain import REFERENCE, Item
from studies.sharing.visitor_store import VisitorStore
from studies.store.ballot_queries import Ballot, BallotMode, read_voting_rules
from studies.store.store import Store
from tests.components.vote.test_vote_actions import NAMES, study_of

ITEM = Item(
    "q", "why?", {"x": "by x", "y": "by y"}, "kind", ("one", "two"), reference="the reference",
    criteria={"subjective": "be kind"},
)  # fmt: skip
FORM = BallotForm("pair", "", True, ("1", "2"), "be right", (("Clarity", "is clear"),))


@pytest.mark.parametrize(
    ("mode", "shown", "parts"),
    [
        ("pair", "xy", {"criteria": "be kind", "reference": "the reference"}),
        ("levels", "yx", {"criteria": "be kind", "reference": "the reference"}),
        ("options", "xy", {"reference": "the reference"}),
        ("verify", "x", {}),
        ("pass", "x", {"criteria": "be right", "reference": "the reference"}),
        ("score", "y", {"criteria": "be right", "reference": "the reference", "scale": ("1", "2")}),
        ("rubric", "x", {"reference": "the reference", "scale": ("1", "2"),
                         "rubric": (("Clarity", "is clear"),)}),
    ],
)  # fmt: skip
def test_each_kind_of_ballot_shows_its_own_parts(
    store: Store, mode: BallotMode, shown: str, parts: dict[str, Any]
) -> None:
    study_of(store)
    texts = tuple(f"by {name}" for name in shown)
    found = build_ballot_content(store, "s", FORM, ballot(mode, *shown), ITEM)
    context = "Image 1: one\n\nImage 2: two"
    assert found == BallotContent("why?", "kind", texts, context=context, **parts)


def ballot(mode: BallotMode, *shown: str) -> Ballot:
    return Ballot("human:ann", 0, "q", shown, mode, "random")


def test_the_task_of_a_ballot_is_that_of_the_item_and_else_its_category(store: Store) -> None:
    study_of(store)
    for meta, category, task in (
        ({"task": "translate"}, "kind", "translate"),
        ({"task": ""}, "kind", "kind"),
        ({}, "kind", "kind"),
        ({"task": "translate"}, "", "translate"),
        ({}, "", ""),
    ):
        item = Item("q", "why?", {"x": "", "y": ""}, category, "a lake", meta=meta)
        found = build_ballot_content(store, "s", FORM, ballot("pair", "x", "y"), item)
        assert (found.task, found.context) == (task, "a lake")


def test_a_reference_is_not_shown_beside_itself_or_if_the_form_hides_it(store: Store) -> None:
    study_of(store)
    beside = build_ballot_content(store, "s", FORM, ballot("pair", REFERENCE, "x"), ITEM)
    assert (beside.texts, beside.reference) == (("the reference", "by x"), "")
    hidden = build_ballot_content(
        store, "s", BallotForm("pair", ""), ballot("pair", "x", "y"), ITEM
    )
    assert hidden.reference == ""


# ------------------------------------------------------------------------------ the whole tab


def test_a_voters_page_and_a_stranger_get_the_ballot_only(store: Store) -> None:
    study_of(store)
    owned = vote_tab.render(store, "s", {})
    assert owned[1].visible is True and len(owned) == 5 + len(organiser.VotingControls.__slots__)
    stranger = vote_tab.render(VisitorStore(store), "s", {})
    for shown in (vote_tab.render(store, "s", {"blind": "1"}), stranger):
        assert len(shown) == len(owned) and shown[0] and shown[1].visible is False
        assert shown[2:] == [gr.skip()] * (len(shown) - 2)


def test_the_rules_and_the_voters_stand_in_the_order_of_the_controls(store: Store) -> None:
    study_of(store)
    rules = organiser.VotingControls(
        "Five levels", "Where orders flip", 5, 20.0, 7, "Models' answers", False, True
    )
    store.set_voting_rules("s", rules.to_voting_rules())
    _, _, *values, valid, link, people = vote_tab.render(store, "s", {"voter": "ann"})
    shown = [getattr(rules, name) for name in organiser.VotingControls.__slots__]
    assert values == shown
    assert valid == organiser.sampling_validity_notice(store, "s", "Where orders flip")
    assert (link, people) == (
        organiser.voter_link_html(store),
        organiser.voters_table_html(store, "s"),
    )


@pytest.fixture
def page(store: Store) -> Iterator[dict[str, Any]]:
    """Event handlers of the tab by name."""
    study_of(store)
    with gr.Blocks() as blocks:
        top: Any = SimpleNamespace(study=gr.Dropdown(), note=gr.HTML())
        with gr.Tab() as on_tab:
            tab = vote_tab.build()
        vote_tab.bind(tab, top, store, on_tab)
    yield {getattr(one.fn, "__name__", ""): one for one in blocks.fns.values()}


def test_the_tab_is_drawn_only_while_it_is_open(page: dict[str, Any], store: Store) -> None:
    draw, request = page["draw_tab"], SimpleNamespace(username=None)
    nothing = [gr.skip()] * len(draw.outputs)
    for study, here in (
        ("", {"tab": "vote"}), ("s", {}), ("s", {"tab": "run"}), ("s", ["vote"]),
    ):  # fmt: skip
        assert draw.fn(study, json.dumps(here), request, None) == nothing
    assert draw.fn("s", "{not JSON", request, None) == draw.fn("s", "", request, None) == nothing
    drawn = draw.fn("s", json.dumps({"tab": "vote"}), request, None)
    assert len(drawn) == len(nothing) and drawn[1].visible is True


def test_the_voters_are_shown_after_a_vote_but_never_on_a_voters_page(
    page: dict[str, Any], store: Store
) -> None:
    show = page["show_voters_to_organiser"].fn
    assert show("s", "{}") == show("s", "") == organiser.voters_table_html(store, "s")
    assert show("s", json.dumps({"blind": "1"})) == show("", "{}") == gr.skip()
    store.owns = lambda study: False  # type: ignore[method-assign]
    assert show("s", "{}") == gr.skip()


def test_a_click_on_the_ballot_answers_with_ballot_and_size(page: dict[str, Any]) -> None:
    click = page["handle_ballot_click"].fn
    request: Any = SimpleNamespace(username=None)
    event = gr.EventData(None, {"act": "show", "voter": "ann"})  # type: ignore[arg-type]
    assert click("", event, request, None) == [gr.skip(), gr.skip()]
    shown, size = click("s", event, request, None)
    assert "voting as ann" in shown and "8 items" in size
    start, _ = click("s", gr.EventData(None, "no object"), request, None)  # type: ignore[arg-type]
    assert "voting as" not in start
    request.username = "carl"
    assert "voting as carl" in click("s", event, request, None)[0]


def test_rules_are_saved_or_refused_in_their_place(page: dict[str, Any], store: Store) -> None:
    save = page["save_rules"].fn
    values = [organiser.AS_PROTOCOL, "Where judges disagree", 4, 20, 9, "References", True, False]
    assert save("s", *values) == [
        organiser.sampling_validity_notice(store, "s", "Where judges disagree")
    ]
    saved = read_voting_rules(store.read_connection, "s")
    assert (saved.choose, saved.votes, saved.repeats, saved.each) == ("split", 4, 0.2, 9)
    (refused,) = save("s", *values[:2], -1, *values[3:])
    assert "Not saved." in refused
    assert read_voting_rules(store.read_connection, "s") == saved
    check = page["show_sampling_notice"].fn
    assert check("", "At random") == gr.skip()
    assert check("s", "At random") == organiser.sampling_validity_notice(store, "s", "At random")


def test_an_account_is_that_of_hugging_face_before_that_of_the_password() -> None:
    profile: Any = SimpleNamespace(username="dora")
    for request, given, account in (
        (SimpleNamespace(username="carl"), profile, "hf:dora"),
        (SimpleNamespace(username="carl"), None, "carl"),
        (SimpleNamespace(username=None), None, ""),
        (SimpleNamespace(), None, ""),
    ):
        assert vote_tab.logged_in_account(request, given) == account  # type: ignore[arg-type]


def test_no_name_of_an_author_is_in_the_ballot_of_a_stranger(store: Store) -> None:
    study_of(store)
    shown = vote_tab.render(VisitorStore(store), "s", {"voter": "ann"})
    assert not any(name in str(shown) for name in NAMES)
