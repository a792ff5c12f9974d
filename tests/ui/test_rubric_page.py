"""A rubric study on the probe set with the embedded judge: from the study file to the heatmap."""

from __future__ import annotations

import json

import pytest

from judges.models.weights import WeightsMissing, find_default_weights
from tests.page_words import says
from tests.ui.conftest import show_file
from tests.ui.test_page import tab
from tests.waiting import until

pytestmark = [pytest.mark.browser, pytest.mark.extra]
STUDY = """name: rubric walk
data: {source: probe, count: 1, seed: 3}
contestants: [precise, flawed]
judges: [{name: local, model: embedded}]
prompts: [rubric]
options: rotations
"""
ARRANGEMENTS, CALLS = 3, 6


@pytest.mark.embedded
def test_a_rubric_study_ends_in_the_arrangement_heatmap(visit) -> None:
    try:
        find_default_weights()
    except WeightsMissing as error:
        pytest.skip(f"NO WEIGHTS: {error}")
    page = visit("tab=study")
    show_file(page)
    page.locator("#eh-yaml .cm-content").click()
    page.keyboard.press("Control+A")
    page.keyboard.insert_text(STUDY)
    until(lambda: "name: rubric walk" in page.locator("#eh-yaml .cm-content").inner_text())
    until(lambda: page.locator("#eh-run").is_enabled())
    page.locator("#eh-run").click()
    done = f"{CALLS} of {CALLS} calls done"
    until(lambda: done in page.locator("#eh-run-finding").inner_text(), 900)

    tab(page, "Results")
    page.get_by_test_id("Position-radio-label").click()
    cells = page.locator("#eh-score-matrix table.wide td button")
    cells.first.wait_for()
    assert page.get_by_test_id("Agreement-radio-label").count() == 1
    rows = page.locator("#eh-score-matrix table.wide tbody tr")
    assert rows.count() == ARRANGEMENTS
    named = page.locator("#eh-score-matrix").inner_text()
    for order in ("1 2 3", "2 3 1", "3 1 2"):
        assert order in named
    assert says(page.locator("#eh-score-order").inner_text(), "order", "options")
    chosen = json.loads(cells.first.get_attribute("data-select") or "{}")
    assert chosen == {"judge": "local", "prompt": "rubric"}
    cells.first.click()
    page.wait_for_selector(".eh-inspect-open [data-key]")
    # All three arrangements of the opened answer stand side by side, each with its criteria.
    shown = page.locator(".eh-inspect-open").first.inner_text()
    assert shown.count("Correctness, Completeness, Clarity") >= ARRANGEMENTS
