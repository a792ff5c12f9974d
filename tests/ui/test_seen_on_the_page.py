"""What is seen on the page, in a real browser: whole words, colours that differ, texts that do not
touch, a short way to the finding, a focus that stays, a key that is not lost."""

from __future__ import annotations

from itertools import pairwise

import pytest

from components.study.plan.demo_studies import LARGER_STUDY, OPTIONS_STUDY
from tests.judge_server import JudgeServer, say
from tests.ui.conftest import open_view
from tests.waiting import until

pytestmark = pytest.mark.browser
DRAWN = "#eh-results-data p"
KEY = "sk-canary-71d0"
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
COLLISIONS = """() => [...document.querySelectorAll('.eh-axis')]
  .filter(axis => axis.getClientRects().length).flatMap(axis => {
    const boxes = [...axis.querySelectorAll('span')].map(one => one.getBoundingClientRect())
      .filter(box => box.width).sort((a, b) => a.left - b.left);
    return boxes.slice(1).filter((box, k) => box.left < boxes[k].right).map(() => axis.innerText);
  })"""
"""Axes of which two tick labels overlap."""
CUT_TITLES = """() => [...document.querySelectorAll('.js-plotly-plot')].flatMap(plot => {
  const box = plot.getBoundingClientRect();
  return [...plot.querySelectorAll('.xtitle, .ytitle')].filter(title => {
    const own = title.getBoundingClientRect();
    return own.width && (own.left < box.left - 1 || own.right > box.right + 1
      || own.top < box.top - 1 || own.bottom > box.bottom + 1);
  }).map(title => title.textContent);
})"""
"""Axis titles of charts that reach over the edge of their chart."""


def results(visit, study: str, view: str, **options):
    page = visit(f"study={study}&tab=results&view={view}", **options)
    page.wait_for_selector(DRAWN)
    page.wait_for_selector("#eh-results-finding h1")
    return page


@pytest.mark.parametrize("width", [1440, 390])
@pytest.mark.parametrize("study", [LARGER_STUDY, OPTIONS_STUDY])
def test_matrices_of_the_demos_have_colours_and_whole_words(visit, study, width):
    page = results(visit, study, "Position", width=width)
    page.wait_for_selector(".eh-heat-box td button")
    cells = page.locator(".eh-heat-box td:visible")
    assert page.locator(".eh-heat-box td.few:visible").count() == 0
    colours = {one.get_attribute("class") for one in cells.locator("button").all()}
    assert len(colours) >= 4, colours
    for lines in page.evaluate(LINES_OF_HEADS):
        for before, line in pairwise(lines):
            between = before[-1:] in "-_/ \u00ad" or " " in before or line[:1].isdigit()
            assert between or len(line) >= (4 if width == 1440 else 2), lines


@pytest.mark.parametrize("width", [1440, 390])
def test_no_ticks_collide_and_no_axis_title_is_cut(visit, width):
    page = results(visit, LARGER_STUDY, "Position", width=width)
    for view in ("Position", "Agreement", "Ranking", "Remedies"):
        open_view(page, view)
        until(lambda view=view: f"view={view}" in page.evaluate("location.href"))
        page.wait_for_selector(DRAWN)
        assert page.evaluate(COLLISIONS) == [], view
        assert page.evaluate(CUT_TITLES) == [], view
        loose = page.eval_on_selector_all(
            ".eh-ci",
            "all => all.filter(one => getComputedStyle(one).whiteSpace !== 'nowrap').length",
        )
        assert loose == 0, f"{view}: an interval may be broken over two lines"


def test_the_text_of_a_menu_keeps_away_from_its_arrow_and_a_card_is_not_underlined(visit):
    page = results(visit, LARGER_STUDY, "Summary&prompt=brief-letters")
    page.wait_for_selector("#eh-card .eh-said")
    lines = page.eval_on_selector_all(
        ".eh-said", "all => all.map(one => getComputedStyle(one).textDecorationLine)"
    )
    assert set(lines) == {"none"}
    page.goto(page.url.split("?")[0] + "?tab=study")
    page.wait_for_selector("#eh-judges")
    room = page.eval_on_selector_all(
        "select", "all => all.map(one => parseFloat(getComputedStyle(one).paddingRight))"
    )
    assert all(one >= 20 for one in room), room


def test_on_a_phone_the_finding_begins_in_the_upper_part_of_the_screen(visit):
    page = results(visit, LARGER_STUDY, "Position", width=390)
    title = page.locator("#eh-results-finding h1").bounding_box()
    assert title["y"] <= 300, "three rows of controls stood before it"
    filters = page.locator("#eh-filter-pill:visible, #eh-compare:visible")
    tops = {round(one.bounding_box()["y"] / 40) for one in filters.all()}
    assert len(tops) <= 1, "filter and comparison share a row"


def test_the_live_demo_starts_by_keyboard_and_keeps_the_focus(visit):
    page = visit("")
    button = page.get_by_role("button", name="Try a judge live")
    button.wait_for()
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")  # skip to the content
    reached = []
    for _ in range(4):
        page.keyboard.press("Tab")
        reached.append(page.evaluate("document.activeElement.textContent.trim()"))
        if reached[-1].startswith("Try a judge live"):
            break
    assert reached[-1].startswith("Try a judge live"), reached
    page.keyboard.press("Enter")
    page.wait_for_selector("[data-demo=running]")
    assert page.evaluate("document.activeElement !== document.body")


def test_a_key_typed_while_the_form_is_drawn_for_a_new_address_is_kept(visit):
    with JudgeServer(behaviour=say("Overall, Response A is better.")) as server:
        page = visit("tab=study")
        page.get_by_role("button", name="Add a second judge", exact=True).click()
        key = page.locator("#f-judge-1-key")
        key.wait_for()
        held = []
        page.route("**/queue/join**", held.append)  # the answer comes while the key is typed
        page.locator('[data-field="judge.1.base_url"]').fill(server.base_url)
        key.click()
        page.keyboard.type(KEY[:5])
        until(lambda: page.evaluate("1") and held)
        for one in held:
            one.continue_()
        page.unroute("**/queue/join**")
        page.keyboard.type(KEY[5:])
        page.locator('[data-field="judge.1.model"]').fill("judge")
        page.locator('[data-field="judge.1.model"]').press("Tab")
        until(lambda: "Use judge" in page.locator(".eh-drawer.on").inner_text())
        assert key.input_value() == KEY
