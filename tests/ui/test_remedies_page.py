"""Remedies in a real browser, on the recorded demo: apply, open, pilot, a phone."""

from __future__ import annotations

import pytest

from tests.ui.conftest import open_fold

pytestmark = [pytest.mark.browser, pytest.mark.extra]
QUERY = "study=Probe%20set,%20Qwen%201.5B%20judge&tab=results&view=Remedies"


def test_a_rule_is_applied_and_taken_back(visit):
    page = visit(QUERY)
    advice = page.locator("#eh-remedy-advice")
    advice.get_by_role("button", name="Use this rule").click()
    advice.get_by_role("button", name="Undo").wait_for()
    assert "both orders decides" in page.locator(".eh-src").last.inner_text()
    advice.get_by_role("button", name="Undo").click()
    advice.get_by_role("button", name="Use this rule").wait_for()
    assert "both orders decides" not in page.locator(".eh-src").last.inner_text()


def test_a_mark_and_its_row_are_highlighted_together(visit):
    page = visit(QUERY)
    open_fold(page, "All rules")
    page.locator("#eh-rules tr[data-rule='5']").hover()
    assert page.locator("#eh-frontier .eh-only-wide g.twin").get_attribute("data-rule") == "5"


def test_a_rule_opens_the_comparisons_that_it_changes(visit):
    page = visit(QUERY)
    open_fold(page, "All rules")
    link = page.locator("#eh-rules .eh-link").first
    number = link.inner_text().removeprefix("Open ")  # "12 comparisons"
    rule = link.locator("xpath=ancestor::tr").locator(".c2 b").inner_text()
    link.click()
    page.wait_for_selector(".eh-inspect-filters .eh-fpill.on")
    assert f"Changed by: {rule}" in page.locator(".eh-inspect-filters").first.inner_text()
    assert number in page.locator(".eh-list .h").first.inner_text()


def test_a_pilot_opens_its_study_file(visit):
    page = visit(QUERY)
    open_fold(page, "All rules")
    page.locator("#eh-remedy-lower").get_by_role("button", name="Open pilot").first.click()
    page.get_by_text("pilot: repeats").first.wait_for(state="attached")  # the file is folded
    assert page.get_by_role("tab", name="Study").get_attribute("aria-selected") == "true"


def test_on_a_phone_the_narrow_drawing_is_shown_and_nothing_overflows(visit):
    page = visit(QUERY, width=390, theme="dark")
    open_fold(page, "All rules")
    page.wait_for_selector("#eh-rules table")
    assert page.locator("#eh-frontier .eh-only-narrow svg").is_visible()
    assert not page.locator("#eh-frontier .eh-only-wide svg").is_visible()
    gap, heads = page.evaluate("""() => {
        const drawn = (one, part) => one.querySelector(part).getBoundingClientRect();
        const rows = [...document.querySelectorAll("#eh-rules tbody tr")];
        return [Math.min(...rows.filter(row => row.querySelector(".c3")).map(row =>
            drawn(row, ".c3 b").left - drawn(row, ".c2").right)), rows.filter(row =>
            row.matches(".part")).map(row => row.scrollHeight - row.clientHeight)];
    }""")
    assert gap >= 8 and heads and max(heads) <= 0
    assert page.evaluate("document.documentElement.scrollWidth") <= 390


def test_what_stands_beside_the_table_keeps_to_its_panel(visit):
    page = visit(QUERY)
    open_fold(page, "Improve the prompt")
    left = page.evaluate("""() => {
        const how = document.querySelector(".eh-fold > .eh-kind > .eh > .eh-how");
        const fold = how.closest(".eh-fold");
        return how.getBoundingClientRect().left - fold.getBoundingClientRect().left;
    }""")
    assert left >= 20
    open_fold(page, "Decide fewer")
    chart = page.locator("#eh-risk .eh-only-wide svg")
    assert chart.bounding_box()["width"] <= 450  # drawn for 400: the text is not enlarged
