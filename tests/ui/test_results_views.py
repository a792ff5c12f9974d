"""Agreement, contrasts and report cards in a real browser: clicks, links, a phone, on paper."""

from __future__ import annotations

import re
from urllib.parse import parse_qs, urlsplit

import pytest

from studies.store.store import Store
from tests.ui.conftest import address, open_view
from tests.voted_studies import six_items
from tests.waiting import until

pytestmark = pytest.mark.browser
SHOWN = {"People": "#eh-agree td button", "Compare two": "#eh-contrasts tbody tr",
         "Report cards": "#eh-card .eh-report"}  # fmt: skip


@pytest.fixture(scope="module")
def study(app) -> str:
    store = Store(app.store)
    name = six_items("Voted").save(store)
    store.close()
    return name


def view(visit, study: str, name: str, **options):
    page = visit(f"study={study}&tab=results&view={name.replace(' ', '%20')}", **options)
    page.wait_for_selector(SHOWN["People" if name == "Agreement" else name])
    return page


def test_a_cell_of_agreement_opens_where_the_two_part(visit, study):
    page = view(visit, study, "Agreement")  # the former name of People in addresses
    page.get_by_role("heading", name="good agrees with people most often").wait_for()
    row = page.locator("#eh-agree tbody tr", has=page.locator("th", has_text="first"))
    row.locator("button").first.click()  # first against people
    page.wait_for_selector(".eh-inspect-filters .eh-fpill.on")
    assert "Differs from people" in page.locator(".eh-inspect-filters").first.inner_text()
    assert "6" in page.locator(".eh-list .h").first.inner_text()


def test_two_sides_are_picked_and_a_link_shows_them_to_others(visit, study):
    page = view(visit, study, "Compare two")
    told = page.locator("#eh-contrast-told h1")
    until(lambda: "good" in told.inner_text())
    page.locator("#eh-left input").click()
    page.get_by_role("option", name="first", exact=True).click()
    until(lambda: "selected as A and as B" in page.locator("#eh-contrast-told").inner_text())
    page.locator("#eh-right input").click()
    good = page.get_by_role("option", name="good", exact=True)
    until(lambda: good.count() == 1)  # the other menu fades out
    good.click()
    until(lambda: "between first and good" in told.inner_text())
    page.get_by_test_id("Quality-radio-label").click()
    page.wait_for_url(re.compile("family=Quality"))
    asked = parse_qs(urlsplit(address(page)).query)
    assert (asked["left"], asked["right"]) == (["first"], ["good"])
    other = visit(address(page).split("?", 1)[1].replace("__theme=light&", ""))
    other.wait_for_selector("#eh-contrasts tbody tr")
    until(lambda: other.locator("#eh-left input").input_value() == "first")
    said = other.locator("#eh-contrasts").inner_text()
    assert "Agreement with people" in said and "\u221258.3" in said  # 5/12 − 1


def test_a_card_reads_prints_on_one_page_and_opens_its_flips(visit, study):
    page = view(visit, study, "Report cards", theme="dark")
    assert "first" in page.locator("#eh-card h1").inner_text()
    rule = page.locator(".eh-said").first.get_attribute("data-tip")
    assert rule.startswith("Rule: ")
    sheets = page.pdf(format="A4", print_background=True)
    assert len(re.findall(rb"/Type\s*/Page[^s]", sheets)) == 1
    page.locator("#eh-card .flip .eh-link").first.click()
    page.wait_for_selector(".eh-inspect-open .eh-open")
    assert page.locator(".eh-inspect-open .eh-slot.first").count() >= 2


def test_they_fit_a_phone(visit, study):
    page = view(visit, study, "People", width=390)
    for name, shown in SHOWN.items():
        open_view(page, name)
        page.wait_for_selector(shown)
        page.wait_for_timeout(300)
        assert page.evaluate("document.documentElement.scrollWidth - innerWidth") <= 0, name
