"""The page as it is seen: whole words, no text cut or over another, colours that can be read, the
finding near the top of a phone, keys that reach the demo."""

from __future__ import annotations

from itertools import pairwise
from urllib.parse import quote

import pytest

from components.study.plan.demo_studies import DEMO_STUDIES, LARGER_STUDY, PAIRS_STUDY, SINGLE_STUDY
from studies.sources.load import ASSETS_FOLDER
from studies.store.store import Store
from tests.page_words import says
from tests.ui.conftest import open_folds, open_view
from tests.ui.looks import visible_faults, weak_texts
from tests.waiting import until

pytestmark = pytest.mark.browser
DRAWN = "#eh-results-data p"
VIEWS = ("Summary", "Position", "Nudges", "Agreement", "Ranking", "Remedies")
SETTLED = "() => !document.querySelector('.eh-html .html-container.pending, .eh-dim')"
LINES_OF_HEADS = """() => [...document.querySelectorAll('.eh-heat-box th')]
  .filter(head => head.getClientRects().length).map(head => {
    const lines = [], range = document.createRange();
    const texts = document.createTreeWalker(head, NodeFilter.SHOW_TEXT);
    let line = '', top = null;
    while (texts.nextNode()) {
      for (let at = 0; at < texts.currentNode.length; at++) {
        range.setStart(texts.currentNode, at); range.setEnd(texts.currentNode, at + 1);
        const box = range.getClientRects()[0];
        if (!box || !box.width) continue;
        if (top !== null && Math.abs(box.top - top) > 4) { lines.push(line); line = ''; }
        top = box.top; line += texts.currentNode.data[at];
      }
    }
    return [...lines, line];
  })"""
"""Lines of text of each column and row head of a matrix."""
PLANTED = {
    "bracket alone": '<p style="width:60px">seventy (<br>battles)</p>',
    "cut": '<svg width="90" height="30"><text x="40" y="20">in characters</text></svg>',
    "over each other": '<svg width="300" height="30"><text x="9" y="20">+75</text>'
    '<text x="20" y="20">+100</text></svg>',
    "ticks collide": '<div class="eh"><div class="eh-axis" style="width:200px">'
    '<span style="left:50%">+75</span><span style="left:55%">+100</span></div></div>',
    "arrow touched": '<select style="appearance:none;padding-right:2px"><option>$40</option>'
    "</select>",
    "paragraph underlined": '<p style="text-decoration:underline">' + "word " * 20 + "</p>",
    "mark apart from its text": '<p class="eh-key" style="display:block"><i style="display:block;'
    'height:14px"></i><span style="display:block;margin-top:30px">fewer items</span></p>',
    "word broken": '<table><tr><th style="display:block;width:40px;overflow-wrap:anywhere">'
    "geography</th></tr></table>",
    "head over its neighbour": '<div class="eh-view"><table style="table-layout:fixed;width:60px">'
    "<thead><tr><th>probability</th><th>two</th></tr></thead></table></div>",
}
"""Kind of fault -> HTML that has it."""


def results(visit, study: str, view: str, **options):
    page = visit(f"study={quote(study)}&tab=results&view={view}", **options)
    page.wait_for_selector(DRAWN)
    page.wait_for_selector("#eh-results-finding h1")
    return page


def choose_view(page, view: str) -> None:
    open_view(page, view)
    until(lambda: f"view={view}" in page.evaluate("location.search") or view == "Summary")
    page.wait_for_function(SETTLED)
    page.wait_for_selector(DRAWN)


def test_the_matrix_of_the_first_demo_has_colours_and_whole_words(visit):
    page = results(visit, LARGER_STUDY, "Position")
    page.wait_for_selector(".eh-heat-box td button")
    cells = page.locator(".eh-heat-box td:visible")
    assert page.locator(".eh-heat-box td.few:visible").count() == 0
    colours = {one.get_attribute("class") for one in cells.locator("button").all()}
    assert len(colours) >= 4, colours
    for lines in page.evaluate(LINES_OF_HEADS):
        for before, line in pairwise(lines):
            between = before[-1:] in "-_/ \u00ad" or " " in before or line[:1].isdigit()
            assert between or len(line) >= 4, lines


@pytest.mark.parametrize(("width", "theme"), [(1440, "light"), (390, "dark")])
@pytest.mark.parametrize("study", sorted(DEMO_STUDIES))
def test_no_view_of_a_demo_has_a_fault_that_is_seen(visit, study, width, theme):
    page = results(visit, study, "Summary", width=width, theme=theme)
    found = {}
    for view in VIEWS:
        if study == SINGLE_STUDY and view == "Nudges":
            continue  # only for pairs
        choose_view(page, view)
        open_folds(page)
        page.wait_for_function(SETTLED)
        found[view] = visible_faults(page) + weak_texts(page)
        assert not says(page.locator(".eh-view").first.inner_text().lower(), "darker")
    assert {view: lines for view, lines in found.items() if lines} == {}


@pytest.mark.parametrize("kind", PLANTED)
def test_the_search_finds_a_fault_of_each_kind(browser, kind):
    page = browser.new_page(viewport={"width": 800, "height": 600})
    style = ".eh-axis { position: relative; height: 20px } .eh-axis span { position: absolute }"
    page.set_content(f'<style>{style}</style><div class="gradio-container"><p>fine</p></div>')
    assert visible_faults(page) == []
    page.evaluate("html => document.querySelector('div').insertAdjacentHTML('beforeend', html)",
                  PLANTED[kind])  # fmt: skip
    assert any(line.startswith(kind) for line in visible_faults(page))
    page.close()


def test_the_search_finds_grey_on_purple(browser):
    page = browser.new_page()
    cell = '<td style="background:#8A4FA3;color:#6D696F"><button style="all:unset"><b>48</b>'
    page.set_content(f'<div class="eh-heat-box"><table><tr>{cell}</button></td></tr></table></div>')
    assert [line.split()[1] for line in weak_texts(page)] == ["48"]
    page.close()


def test_on_a_phone_one_row_of_controls_stands_between_the_views_and_the_finding(visit):
    page = results(visit, LARGER_STUDY, "Position", width=390)
    views = page.get_by_test_id("Remedies-radio-label").bounding_box()
    title = page.locator("#eh-results-finding h1").bounding_box()
    assert title["y"] - (views["y"] + views["height"]) <= 80, "more than one row of controls"
    tops = {
        round(page.locator(name).bounding_box()["y"] / 20)
        for name in ("#eh-filter-pill", "#eh-compare", "#eh-judge")
        if page.locator(name).count() and page.locator(name).first.is_visible()
    }
    assert len(tops) <= 1, tops


def test_the_live_demo_starts_by_three_keys_and_keeps_the_focus(visit):
    page = visit("")
    page.get_by_role("button", name="Try a judge live").wait_for()
    page.keyboard.press("Tab")
    assert says(page.evaluate("document.activeElement.textContent"), "Skip")
    page.keyboard.press("Enter")
    page.keyboard.press("Tab")
    at = page.evaluate("document.activeElement.textContent.trim()")
    assert says(at, "Try a judge live"), at
    page.keyboard.press("Enter")
    page.wait_for_selector("[data-demo=running]")
    until(lambda: page.evaluate("document.activeElement.textContent").startswith("Follow"))


def test_own_data_in_the_form_of_a_recorded_study_begin_a_study_of_their_own(visit, app):
    page = visit(f"tab=study&study={quote(PAIRS_STUDY)}")
    with page.expect_file_chooser() as chooser:
        page.get_by_role("button", name="Choose a file").first.click()
    chooser.value.set_files(ASSETS_FOLDER / "probe" / "items.jsonl")
    until(lambda: page.locator("#eh-study input").input_value() == "items")
    until(lambda: "items.jsonl" in page.locator("h1:visible").first.inner_text())
    store = Store(app.store)
    assert store.study(PAIRS_STUDY).data.source == "probe"
    assert "items" in {line.name for line in store.studies()}
    store.close()
