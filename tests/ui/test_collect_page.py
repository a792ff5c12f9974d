"""Collecting in a real browser: an item with an image, then its caption; the original stays."""

from __future__ import annotations

import json

import pytest
from test_accessibility import settle, violations
from test_study_page import file_of

from tests.waiting import until

pytestmark = [pytest.mark.browser, pytest.mark.long]

PNG = bytes.fromhex(
    "89504e470d0a1a0a0000000d4948445200000001000000010806000000"
    "1f15c4890000000d49444154789c6360606060000000050001a5f64540"
    "0000000049454e44ae426082"
)  # one pixel


def opened(visit, **options):
    page = visit("tab=study", **options)
    page.locator("#eh-collect").get_by_text("add an item, or a caption").click()
    page.wait_for_selector("#eh-new-instruction textarea")
    return page


def said(page) -> str:
    return page.locator("#eh-collect-said").inner_text()


def test_an_item_and_its_caption_become_versions_that_the_study_reads(visit, app, tmp_path):
    page = opened(visit)
    page.locator("#eh-new-instruction textarea").fill("What stands on the table?")
    until(lambda: "25 of 200" in page.locator("#eh-collect .eh-length").first.inner_text())
    picture = tmp_path / "cup.png"
    picture.write_bytes(PNG)
    page.locator("#eh-new-images input[type=file]").set_input_files(str(picture))
    page.locator("#eh-new-images").get_by_text("cup").first.wait_for()
    page.locator("#eh-save-item").click()
    until(lambda: "needs a public licence" in said(page))
    assert page.locator("#eh-new-instruction textarea").input_value()  # nothing typed is lost
    page.get_by_label("Licence of the images").click()
    page.keyboard.type("CC0 1.0")
    page.keyboard.press("Enter")
    page.locator("#eh-save-item").click()
    until(lambda: "probe.v2.jsonl: 65 items" in said(page))
    until(lambda: "uploads/probe.v2.jsonl" in file_of(page))
    assert page.locator("#eh-new-instruction textarea").input_value() == ""
    page.locator("#eh-collect").get_by_text("Dense caption", exact=True).click()
    until(lambda: "What stands on the table?" in page.locator("#eh-caption-preview").inner_text())
    page.locator("#eh-caption textarea").fill("A table. On it a blue cup.")
    page.locator("#eh-save-caption").click()
    until(lambda: "probe.v3.jsonl" in said(page))
    until(lambda: "uploads/probe.v3.jsonl" in file_of(page))
    uploads = next(app.store.parent.rglob("probe.v3.jsonl")).parent
    before, after = (
        [json.loads(line) for line in (uploads / f"probe.v{k}.jsonl").read_text().splitlines()]
        for k in (2, 3)
    )
    assert before[:-1] == after[:-1] and "context" not in before[-1]
    assert after[-1]["context"] == "A table. On it a blue cup."
    assert (uploads / after[-1]["images"][0]).read_bytes() == PNG


@pytest.mark.long
@pytest.mark.parametrize("theme", ["light", "dark"])
def test_the_open_forms_have_no_serious_violation(visit, theme):
    page = opened(visit, theme=theme)
    settle(page)
    assert violations(page, theme) == []
    if theme == "light":  # the other form is made of the same boxes
        page.locator("#eh-collect").get_by_text("Dense caption", exact=True).click()
        settle(page)
        assert violations(page, theme) == []
