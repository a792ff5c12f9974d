"""The views of Results in a real browser: clicks, links, a phone, on paper."""

from __future__ import annotations

import re
from urllib.parse import parse_qs, urlsplit

import pytest

from components.results.protocol.tab import NAME as PAPER
from components.results.view_drawing import VIEWS
from studies.exchange.recorded_studies import import_verdicts
from studies.store.store import Store
from tests.ui.conftest import SUMMARY, address, open_fold, open_folds, open_view
from tests.voted_studies import six_items
from tests.waiting import until

pytestmark = pytest.mark.browser
DRAWN = "#eh-results-data p"
"""The note below every view, drawn with its panels."""


@pytest.fixture(scope="module")
def study(app) -> str:
    store = Store(app.store)
    name = six_items("Voted").save(store)
    store.close()
    return name


def view(visit, study: str, asked: str, shown: str = DRAWN, **options):
    page = visit(f"study={study}&tab=results&{asked}", **options)
    page.wait_for_selector(shown)
    return page


def test_a_cell_of_agreement_opens_where_the_two_part(visit, study):
    page = view(visit, study, "view=People")  # a former name of Agreement in addresses
    assert page.get_by_test_id("Agreement-radio-label").locator("input").is_checked()
    title = page.locator("#eh-results-finding h1").inner_text()
    assert title.startswith("good agrees with the majority of people in 100"), title
    open_fold(page, "Other definitions of agreement")
    row = page.locator("#eh-agree tbody tr", has=page.locator("th", has_text="first"))
    row.locator("button").first.click()  # first against people
    page.wait_for_selector(".eh-inspect-filters .eh-fpill.on")
    assert "Differs from people" in page.locator(".eh-inspect-filters").first.inner_text()
    assert "6" in page.locator(".eh-list .h").first.inner_text()


def choose_in(page, menu: str, name: str) -> None:
    page.locator(f"{menu} input").click()
    option = page.get_by_role("option", name=name, exact=True)
    until(lambda: option.count() == 1)  # the other menu fades out
    option.click()


def test_two_sides_are_picked_and_a_link_shows_them_to_others(visit, study):
    page = view(visit, study, "view=Agreement")
    told = page.locator("#eh-results-finding")
    choose_in(page, "#eh-filter-judge", "first")
    choose_in(page, "#eh-compare", "first")
    until(lambda: "selected as A and as B" in told.inner_text())
    choose_in(page, "#eh-compare", "good")
    compared = page.locator("#eh-results-kpis .eh-panel").first
    until(lambda: "first minus good" in compared.inner_text())
    page.wait_for_url(re.compile("compare=good"))
    asked = parse_qs(urlsplit(address(page)).query)
    assert (asked["judge"], asked["view"]) == (["first"], ["Agreement"])
    former = "view=Compare%20two&left=first&right=good&family=Quality"
    for link in (address(page).split("?", 1)[1].replace("__theme=light&", ""), former):
        other = visit(link if "tab=" in link else f"study={study}&tab=results&{link}")
        other.wait_for_selector("#eh-results-kpis tbody tr")
        until(lambda other=other: other.locator("#eh-compare input").input_value() == "good")
        assert other.locator("#eh-filter-judge input").input_value() == "first"
        said = other.locator("#eh-results-kpis").inner_text()
        assert "Agreement with people" in said and "\u221250.0" in said  # 1/2 − 1


def test_a_card_reads_prints_on_one_page_and_opens_its_flips(visit, study):
    page = view(visit, study, "", SUMMARY, theme="dark")
    page.locator(SUMMARY).get_by_role("button", name="first", exact=True).click()
    page.wait_for_selector("#eh-card .eh-report")
    until(lambda: "judge=first" in address(page))
    assert not page.locator(SUMMARY).is_visible()
    assert "first" in page.locator("#eh-card h1").inner_text()
    rule = page.locator(".eh-said").first.get_attribute("data-tip")
    assert rule.startswith("Rule: ")
    sheets = page.pdf(format="A4", print_background=True)
    assert len(re.findall(rb"/Type\s*/Page[^s]", sheets)) == 1
    page.locator("#eh-card details").evaluate_all("all => all.forEach(one => { one.open = true; })")
    page.locator("#eh-card .flip .eh-link").first.click()
    page.wait_for_selector(".eh-inspect-open .eh-open")
    assert page.locator(".eh-inspect-open .eh-slot.first").count() >= 2
    former = view(visit, study, "view=Report%20cards&card=good", "#eh-card .eh-report")
    assert "good" in former.locator("#eh-card h1").inner_text()


def test_all_views_fit_a_phone_with_everything_unfolded(visit, study):
    page = view(visit, study, "", width=390)
    for name in VIEWS.keys() - {PAPER}:
        open_view(page, name)
        until(lambda name=name: name == "Summary" or f"view={name}" in address(page))
        page.wait_for_timeout(500)
        open_folds(page)
        page.wait_for_timeout(300)
        assert page.evaluate("document.documentElement.scrollWidth - innerWidth") <= 0, name


def test_the_row_of_one_person_fits_a_phone(visit, study):
    page = view(visit, study, "", width=390)
    row = page.locator(f"{SUMMARY} tr.person")
    row.wait_for()
    cells = row.locator("th, td").filter(visible=True)
    ends = cells.evaluate_all(
        "all => all.map(one => one.getBoundingClientRect()).map(box => [box.left, box.right])"
    )
    assert len(ends) > 2 and all(0 <= left < right <= 390 for left, right in ends), ends
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    box = page.locator("#eh-over-judges .eh-tbl-box")
    assert box.evaluate("box => box.scrollWidth <= box.clientWidth"), "nor does the table scroll"


def test_on_a_phone_wide_tables_scroll_in_their_boxes(visit):
    """The choices that change a ranking stay, and nine raters have cells as wide as numbers."""
    demo = "Probe%20set,%20Qwen%201.5B%20judge"
    page = view(visit, demo, "view=Ranking", width=390)
    open_folds(page)
    box = page.locator(".eh-tbl-box:has(> .eh-choices)").first
    hidden = box.locator(".own").evaluate_all("all => all.filter(one => !one.offsetWidth).length")
    assert box.locator(".own").count() and not hidden
    assert box.evaluate("box => box.scrollWidth > box.clientWidth")
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    page = view(visit, demo, "view=Agreement", width=390)
    open_folds(page)
    table = page.locator("#eh-agree table.eh-heat:visible").first
    over = table.evaluate("""table => {
        for (const row of table.rows)
            while (row.cells.length < 10) row.append(row.lastElementChild.cloneNode(true));
        return [...table.querySelectorAll("td b")].filter(
            one => one.offsetWidth > one.closest("td").offsetWidth).length;
    }""")
    assert over == 0 and page.evaluate("document.documentElement.scrollWidth") <= 390


MAX_WORDS, MAX_HEIGHT = 350, 1_800


@pytest.fixture(scope="module")
def prd(app, records) -> str:
    store = Store(app.store)
    import_verdicts(store, records / "prd", "PRD")
    store.close()
    return "PRD"


def test_every_view_of_prd_is_short(visit, prd):
    """Visible words of the whole page, with navigation and filters, and pixels of the view, 1,440
    pixels wide. A number is no word."""
    page = view(visit, prd, "")
    for name in VIEWS.keys() - {PAPER}:
        open_view(page, name)
        until(lambda name=name: name == "Summary" or f"view={name}" in address(page))
        page.wait_for_selector(DRAWN)
        page.wait_for_timeout(500)
        text = page.locator(".gradio-container").inner_text()
        words = [word for word in text.split() if any(one.isalpha() for one in word)]
        assert 100 < len(words) <= MAX_WORDS, (name, len(words))
        bottom = page.evaluate(f"document.querySelector('{DRAWN}').getBoundingClientRect().bottom")
        assert bottom + page.evaluate("scrollY") <= MAX_HEIGHT, (name, bottom)
