"""Help on the page: definitions of terms, the overlay of keys and words, the tour."""

from __future__ import annotations

import pytest

from tests.page_words import says
from tests.ui.conftest import wait_until_opened
from tests.waiting import until

pytestmark = pytest.mark.browser
BIAS = "study=Probe+set%2C+embedded+judge&tab=results&view=Position"
STEPS = ("home", "study", "run", "results", "inspect")
SELECTED = "#eh-tabs > .tab-wrapper [role=tab][aria-selected=true]"


def test_a_term_is_explained_by_pointer_by_focus_and_by_a_tap(visit):
    page = visit(BIAS)
    term = page.locator(".eh-term[data-term='flip']:visible").first
    tip = page.locator("#eh-tip.on")

    def hover():  # a scroll, also that of the hover itself, hides the explanation again
        page.mouse.move(5, 5)
        term.hover()
        page.wait_for_timeout(100)
        return tip.is_visible()

    until(hover)
    assert says(tip.inner_text(), "Flip", "not the same", "order")
    page.mouse.move(5, 5)
    tip.wait_for(state="detached")
    term.focus()
    tip.wait_for()
    assert term.get_attribute("aria-describedby") == tip.get_attribute("id")
    page.keyboard.press("Escape")
    tip.wait_for(state="detached")
    assert term.get_attribute("aria-describedby") is None
    term.click()
    tip.wait_for()


def test_the_question_mark_opens_keys_and_words_but_not_while_typing(visit):
    page = visit("tab=inspect")
    box = page.locator("#eh-help-box[open]")
    page.locator(".eh-search input").click()
    page.keyboard.type("why?")
    assert box.count() == 0
    page.locator(".eh-search input").fill("")
    page.locator("#eh-help").click()
    box.wait_for()
    box.locator("input").fill("noise floor")
    shown = box.locator(".words dt:visible").all_inner_texts()
    assert "Changes on a repeat" in shown
    assert "Elo" not in shown
    page.keyboard.press("Escape")  # first clears the search field
    page.keyboard.press("Escape")
    box.wait_for(state="detached")
    page.locator("#eh-help").focus()
    page.keyboard.press("?")
    box.wait_for()
    assert {"Inspect", "Vote"} <= set(box.locator("h4").all_inner_texts())
    page.keyboard.press("?")
    box.wait_for(state="detached")


@pytest.mark.parametrize("width", [1440, 390])
def test_the_tour_walks_the_tabs_by_keys_and_is_not_offered_again(visit, width):
    page = visit(width=width)
    offer, card = page.locator(".eh-tour-offer"), page.locator(".eh-tour")
    offer.locator("[data-tour='0']").click()
    for place, name in enumerate(STEPS):
        page.wait_for_function(
            "([css, tab]) => document.querySelector(css).textContent.trim().toLowerCase() === tab",
            arg=[SELECTED, name],
        )
        assert says(card.inner_text(), f"{place + 1} of 6")
        box = card.bounding_box()
        assert box["x"] >= 0
        assert box["x"] + box["width"] <= width
        page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowLeft")
    assert says(card.inner_text(), "5 of 6")
    page.keyboard.press("Escape")
    card.wait_for(state="detached")
    page.reload()
    wait_until_opened(page, page.url.partition("?")[2])
    assert not offer.is_visible()


def test_declining_hides_the_offer_and_the_help_still_has_the_tour(visit):
    page = visit()
    page.locator("[data-tour=skip]").click()
    assert not page.locator(".eh-tour-offer").is_visible()
    page.locator("#eh-help").click()
    page.locator("#eh-help-box .tour").click()
    page.locator(".eh-tour").wait_for()
    page.locator("#eh-again").wait_for()  # the page stays usable beside the card
    page.get_by_role("tab", name="Results", exact=True).first.click()
    page.locator("#eh-results-view").wait_for()


def test_a_page_inside_another_one_has_no_tour(visit, app):
    page = visit()
    page.set_content(f'<iframe src="{app.url}/" width="1200" height="800"></iframe>')
    inner = page.frame_locator("iframe")
    inner.locator("#eh-first-finding h1").wait_for(state="attached")
    assert not inner.locator(".eh-tour-offer").is_visible()


def test_details_of_a_comparison_do_not_cover_the_page(visit):
    page = visit("study=Probe+set%2C+embedded+judge&tab=inspect")
    details = page.locator(".eh-inspect-open details.eh-how")
    details.first.wait_for()
    assert details.first.evaluate("node => getComputedStyle(node).position") == "static"
