"""A matrix in a real browser: whole words, and colours that differ."""

from __future__ import annotations

from itertools import pairwise

import pytest

from components.study.plan.demo_studies import LARGER_STUDY

pytestmark = pytest.mark.browser
DRAWN = "#eh-results-data p"
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


def results(visit, study: str, view: str, **options):
    page = visit(f"study={study}&tab=results&view={view}", **options)
    page.wait_for_selector(DRAWN)
    page.wait_for_selector("#eh-results-finding h1")
    return page


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
