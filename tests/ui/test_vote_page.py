"""Voting in real browsers: blind, by keys, two at once, on a phone; a reload loses nothing."""

from __future__ import annotations

from collections.abc import Iterator
from urllib.parse import urlencode

import pytest

from studies.domain import Ask, Item, Judgement, Verdict
from studies.frames.arrangement import Arrangement
from studies.spec.study import Study
from studies.store.ballot_queries import VotingRules, read_ballots, read_voting_rules
from studies.store.store import Store
from tests.samples import ALL
from tests.ui.conftest import App, open_fold, open_view, outside
from tests.ui.wiretap import Wiretap

pytestmark = pytest.mark.browser

NAMES = ("zebra-model", "quagga-model")
STUDY = "Vote here"
LONG = "a long line of text that goes on. " * 120


def study_of(store: Store, name: str, items: int = 12) -> None:
    made = [
        Item(f"q{k}", f"question {k}", {n: f"answer {n[0]}{k}\n{LONG}" for n in NAMES}, "cat")
        for k in range(items)
    ]
    rows = [
        Judgement(Ask(f"{name}{k}{shown}", f"q{k}", "okapi-judge", "p", shown, ("A", "B"),
                      orders=2), "ok", Verdict(0), reply="okapi verdict")
        for k in range(items)
        for shown in (NAMES, NAMES[::-1])
    ]  # fmt: skip
    store.save_study(Study(name), made, (), recorded=rows, only_recorded=True)


def rubric_study(store: Store) -> None:
    """Three answers of one model, judged by the built-in rubric."""
    items = [Item(f"q{k}", f"question {k}", {NAMES[0]: f"answer {k}"}) for k in range(3)]
    labels = Arrangement(("1", "2", "3"), (), ("Correctness", "Completeness", "Clarity")).labels
    rows = [
        Judgement(Ask(f"r{k}", f"q{k}", "okapi-judge", "rubric", NAMES[:1], labels), "ok",
                  Verdict(scores=(2.0, 3.0, 2.0, 1.0)))
        for k in range(3)
    ]  # fmt: skip
    study = Study("rubric", prompts=("rubric",))
    store.save_study(study, items, (), recorded=rows, only_recorded=True)


@pytest.fixture(scope="module")
def app(app: App) -> App:
    """The app, with studies to vote on in its store."""
    store = Store(app.store)
    for name in (STUDY, "two at once", "phone", "rules"):
        study_of(store, name)
    rubric_study(store)
    store.set_voting_rules("two at once", VotingRules(votes=1, repeats=0.0))
    store.close()
    return app


@pytest.fixture
def store(app: App) -> Iterator[Store]:
    looked = Store(app.store)
    yield looked
    looked.close()


@pytest.fixture
def sit(browser, app: App):
    """A browser of its own on a voter's page, or on the whole one."""
    contexts, faults = [], []

    def open_ballot(
        study: str = STUDY, voter: str = "", *, width: int = 1440, blind: bool = True, url: str = ""
    ):
        context = browser.new_context(
            viewport={"width": width, "height": 900},
            extra_http_headers={"Accept-Encoding": "identity"},
        )
        contexts.append(context)
        page = context.new_page()
        page.set_default_timeout(90_000)
        page.on("pageerror", lambda error: faults.append(str(error)))
        page.on("request", lambda r: faults.append(r.url) if outside(r.url) else None)
        asked = {"study": study, "tab": "vote", "__theme": "light"} | (
            {"blind": 1} if blind else {}
        )
        page.goto(f"{url or app.url}/?{urlencode(asked)}")
        page.wait_for_selector(".eh-vote")
        if voter:
            enter(page, voter)
        return page

    yield open_ballot
    for context in contexts:
        context.close()
    assert faults == []


def enter(page, voter: str) -> None:
    page.fill(".eh-vote input[name=voter]", voter)
    page.click(".eh-vote button[type=submit]")
    page.wait_for_selector(".eh-vote .choices")


def test_a_begin_that_gets_lost_is_sent_again(sit):
    page, lost = sit("phone"), []

    def lose_the_first(route) -> None:
        if not lost and "show" in (route.request.post_data or ""):
            lost.append(route)  # it never gets an answer
        else:
            route.continue_()

    page.route("**/queue/join**", lose_the_first)
    enter(page, "patient")
    assert lost and place(page)


def place(page) -> str:
    return page.get_attribute(".eh-vote", "data-ballot")


def press(page, key: str) -> None:
    """A key, and the ballot that comes of it."""
    before = place(page)
    page.wait_for_timeout(300)  # a new ballot takes keys after a quarter of a second
    page.keyboard.press(key)
    page.wait_for_function(
        "before => document.querySelector('.eh-vote')?.dataset.ballot !== before", arg=before
    )
    page.wait_for_function("() => !document.querySelector('#eh-ballot .sent, #eh-ballot.sent')")


def votes(store: Store, study: str, voter: str) -> list[object]:
    return [j.verdict.pick for j in store.judgements(study)
            if j.verdict and j.ask.judge == f"human:{voter}"]  # fmt: skip


@pytest.mark.core
def test_a_voters_page_is_sent_no_name_and_no_verdict(sit, app: App, store: Store) -> None:
    tap = Wiretap(app.port)
    page = sit(voter="blind", url=f"http://127.0.0.1:{tap.port}")
    for key in ("ArrowLeft", "t", "b", "n", "u"):
        press(page, key)
    if ALL:  # a page takes seconds to load
        page.reload()
        page.wait_for_selector(".eh-vote .choices")
    sent = tap.heard + page.content() + page.evaluate("JSON.stringify(window.gradio_config)")
    assert "answer z" in sent and "answer q" in sent  # the tap hears: both sides' texts came by
    for secret in (*NAMES, "zebra", "quagga", "okapi"):
        assert secret not in sent
    assert not page.get_by_role("tab", name="Results").is_visible()
    assert votes(store, STUDY, "blind") == [0]
    tap.close()


def test_keys_undo_back_and_a_reload(sit, store: Store) -> None:
    page = sit(voter="ann")
    press(page, "ArrowRight")
    press(page, "ArrowDown")
    assert votes(store, STUDY, "ann") == [1, "tie"]
    assert page.inner_text(".eh-vote [role=status]").startswith("2 of 13 ballots")
    third = place(page)
    page.reload()
    page.wait_for_selector(".eh-vote .choices")
    assert place(page) == third and "voting as ann" in page.inner_text(".eh-vote [role=status]")
    press(page, "u")
    assert votes(store, STUDY, "ann") == [1] and "Last vote undone." in page.inner_text(".said")
    press(page, "ArrowLeft")
    assert votes(store, STUDY, "ann") == [1, 0] and place(page) == third
    press(page, "b")
    assert page.get_attribute(".choice[aria-pressed=true]", "data-vkeys").startswith("ArrowLeft")
    press(page, "n")
    assert place(page) == third
    press(page, "n")
    assert "1 skipped" in page.inner_text(".eh-vote [role=status]")


def test_boxes_are_equal_and_keys_wait_while_somebody_types(sit, store: Store) -> None:
    page = sit(voter="typist")
    here = place(page)
    left, right = (page.locator(".eh-vote .box").nth(k).bounding_box() for k in (0, 1))
    assert [left[k] for k in ("width", "height", "y")] == [
        right[k] for k in ("width", "height", "y")
    ]
    assert page.locator(".choice").first.bounding_box()["height"] >= 60
    page.wait_for_timeout(300)
    page.click("[data-comment]")
    page.keyboard.type("tubn 1 because")
    page.keyboard.press("ArrowLeft")
    page.focus(".box .eh-txt")
    page.keyboard.press("ArrowDown")  # scrolls the answer
    page.wait_for_timeout(500)
    assert place(page) == here and votes(store, STUDY, "typist") == []
    page.click(".choice >> nth=2")
    page.wait_for_function(
        "before => document.querySelector('.eh-vote').dataset.ballot !== before", arg=here
    )
    assert page.input_value("[data-comment]") == ""  # the next one starts empty
    (made,) = [j for j in store.judgements(STUDY) if j.ask.judge == "human:typist"]
    assert made.reply == "tubn 1 because" and made.verdict == Verdict(1)
    assert 0 < made.seconds < 90
    assert page.evaluate("document.querySelector('.box .eh-txt').scrollTop") == 0


def test_two_browsers_vote_at_once_and_one_name_in_both_votes_once(sit, store: Store) -> None:
    ann, bob = sit("two at once", "ann"), sit("two at once", "bob")
    for _ in range(3):
        press(ann, "ArrowLeft")
        press(bob, "ArrowRight")
    items = [
        b.item for b in read_ballots(store.read_connection, "two at once") if b.state == "voted"
    ]
    assert len(items) == 6 == len(set(items))  # one vote on each was asked for
    assert votes(store, "two at once", "ann") == [0, 0, 0]
    assert votes(store, "two at once", "bob") == [1, 1, 1]
    ann.get_by_role("button", name="not you?").click()  # now both are bob, on the same ballot
    ann.wait_for_selector(".eh-vote input[name=voter]")
    enter(ann, "bob")
    assert place(ann) == place(bob)
    press(ann, "ArrowLeft")
    press(bob, "ArrowRight")
    assert votes(store, "two at once", "bob") == [1, 1, 1, 0]
    assert "another window" in bob.inner_text(".said") and place(ann) == place(bob)


def test_on_a_phone_one_answer_at_a_time_and_both_before_the_vote(sit, store: Store) -> None:
    page = sit("phone", "pho", width=390)
    boxes = page.locator(".eh-vote .box")
    assert boxes.nth(0).is_visible() and not boxes.nth(1).is_visible()
    assert page.locator(".choice").nth(0).is_disabled()
    assert page.get_by_text("Read every answer to vote.").is_visible()
    page.keyboard.press("ArrowLeft")
    page.get_by_role("button", name="Read answer B").click()
    assert boxes.nth(1).is_visible() and not boxes.nth(0).is_visible()
    before = place(page)
    box = page.locator(".choices").bounding_box()
    assert box is not None and box["y"] + box["height"] <= 901  # the buttons stay in reach
    assert page.evaluate("document.documentElement.scrollWidth") == 390
    comment = page.locator("[data-comment]")  # no text stands in the box that could be cut
    assert comment.bounding_box()["width"] > 240 and not comment.get_attribute("placeholder")
    page.wait_for_timeout(300)
    page.click(".choice >> nth=2")
    page.wait_for_function(
        "before => document.querySelector('.eh-vote').dataset.ballot !== before", arg=before
    )
    assert votes(store, "phone", "pho") == [1]
    assert page.locator(".choice").nth(0).is_disabled()  # and the next one is closed again


@pytest.mark.long
def test_the_whole_page_shows_rules_people_and_results(sit, store: Store) -> None:
    page = sit("rules", "org", blind=False)
    press(page, "ArrowLeft")
    page.get_by_role("cell", name="org").wait_for()
    page.wait_for_function("document.querySelector('#eh-note').textContent.includes('1 person')")
    assert "tab=vote&blind=1" in page.inner_text("[data-voters-link]")
    page.get_by_text("Where orders flip", exact=True).click()
    page.get_by_text("cannot correct win rates").wait_for()
    page.click("#eh-vote-save")
    page.wait_for_function("() => document.querySelector('.eh-vote')")
    for _ in range(50):
        if read_voting_rules(store.read_connection, "rules").choose == "flipped":
            break
        page.wait_for_timeout(100)
    assert read_voting_rules(store.read_connection, "rules").choose == "flipped"
    page.get_by_role("tab", name="Results", exact=True).click()
    open_view(page, "Agreement")
    open_fold(page, "Other definitions of agreement")
    page.wait_for_function(
        "document.querySelector('#eh-agree')?.textContent.toLowerCase().includes('people')"
    )


def test_a_rubric_is_filled_in_by_keys_or_clicks_and_saved_when_complete(sit, store: Store) -> None:
    page = sit("rubric", voter="ann")
    save = page.locator(".choices button")
    assert save.is_disabled() and page.locator(".criterion").count() == 3
    page.wait_for_timeout(300)
    page.keyboard.press("2")  # a level of the first criterion without one
    page.keyboard.press("3")
    assert page.locator(".criterion.next").get_attribute("aria-label") == "Clarity"
    assert page.locator(".level[aria-pressed=true]").count() == 2 and save.is_disabled()
    page.get_by_role("button", name="Clarity: 1").click()
    press(page, "Enter")
    assert page.locator(".level[aria-pressed=true]").count() == 0, "a new answer, no level yet"
    press(page, "b")
    assert page.locator(".level[aria-pressed=true]").count() == 3 and save.is_enabled()
    (vote,) = [j for j in store.judgements("rubric") if j.ask.judge == "human:ann"]
    assert vote.verdict is not None and vote.verdict.scores == (2.0, 2.0, 3.0, 1.0)
    other = page.get_by_role("button", name="Clarity: 3")
    other.focus()
    page.keyboard.press("Enter")  # chooses the level that has the focus, and saves nothing
    assert other.get_attribute("aria-pressed") == "true"
    press(page, "Enter")
    (vote,) = [j for j in store.judgements("rubric") if j.ask.judge == "human:ann"]
    assert vote.verdict is not None and vote.verdict.scores[1:] == (2.0, 3.0, 3.0)
