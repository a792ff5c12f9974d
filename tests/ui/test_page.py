"""The path of a newcomer: read the first screen, run, reload, stop, go on, look at the results."""

from __future__ import annotations

import re
from typing import Any

import pytest

from judges.models.weights import WeightsMissing, find_default_weights
from studies.store.store import Store
from tests.ui.conftest import (
    SUMMARY,
    address,
    open_filters,
    open_fold,
    open_view,
    show_settings,
    use_judge,
)
from tests.waiting import until

pytestmark = pytest.mark.browser


def tab(page, name: str) -> None:
    page.get_by_role("tab", name=name, exact=True).first.click()


NOT_SHOWN = (0, -1)


def asked(page) -> tuple[int, int]:
    """Calls done and planned on the Run tab, NOT_SHOWN until it shows them."""
    text = page.locator("#eh-run-finding").inner_text()
    found = re.search(r"([\d,]+) of ([\d,]+) calls done", text)
    if not found:
        return NOT_SHOWN
    done, planned = (int(part.replace(",", "")) for part in found.groups())
    return done, planned


def use_simulated(page, name: str) -> None:
    """The form set to a simulated judge on twelve items, under a name."""
    use_judge(page, "embedded", "Favours the first answer")
    show_settings(page)
    page.get_by_label("Name of the study").fill(name)
    page.get_by_label("Name of the study").press("Enter")
    until(lambda: page.locator("#eh-study input").input_value() == name)


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("width", [1440, 390])
def test_the_first_screen_is_full_of_recorded_judgements(visit, width, theme):
    page = visit(width=width, theme=theme)
    title = page.locator("#eh-first-finding h1").inner_text()
    assert re.search(r"changes its verdict on \d+", title)
    assert page.locator("#eh-first-squares .eh-squares i").count() == 40
    assert not page.locator("#eh-loading").is_visible()
    assert page.evaluate("document.documentElement.scrollWidth - innerWidth") <= 0


def test_every_tab_fits_a_phone(visit):
    assert_tabs_fit(visit(width=390))


def assert_tabs_fit(page) -> None:
    for name in ("Run", "Results", "Study"):
        tab(page, name)
        page.wait_for_timeout(800)
        assert page.evaluate("document.documentElement.scrollWidth - innerWidth") <= 0, name


def test_a_visitor_without_scripts_or_patience_reads_what_the_page_is_for(browser, app):
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(app.url)
    assert page.locator("#eh-loading h1").first.is_visible()
    assert "even-handed" in page.locator("#eh-loading").inner_text()
    context.close()


def test_home_is_seen_whole_while_the_page_loads(app, browser, visit):
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(app.url)
    seen = page.locator("#eh-loading .content")
    assert seen.locator(".eh-thumb").count() == 5 and seen.locator("tbody tr").count() >= 5
    assert seen.locator(".eh-squares i").count() == 40
    context.close()
    page = visit()
    page.locator("#eh-home-examples .eh-thumb").first.wait_for()
    until(lambda: page.locator("#eh-loading").count() == 0)  # no id twice, nothing comes back


def test_home_and_the_tab_of_the_address_stand_before_any_event_is_answered(app, browser):
    context = browser.new_context()
    page = context.new_page()
    held: list[Any] = []
    page.route("**/queue/join**", lambda route: held.append(route))
    page.goto(app.url)
    page.locator("#eh-home-examples .eh-thumb").first.wait_for()
    until(lambda: page.evaluate("1") and bool(held))  # a call of the page hands over its requests
    assert page.locator("#eh-first-squares .eh-squares i").count() == 40
    assert page.locator("#eh-home-studies tbody tr").count() >= 5
    assert not page.locator("#eh-study").is_visible()  # nothing moves when the answer arrives
    page.goto(f"{app.url}/?tab=results&study=Probe+set%2C+embedded+judge")
    page.get_by_role("tab", name="Results", selected=True).wait_for()
    context.close()


def test_a_drawn_summary_is_shown_while_the_page_loads(app, browser, visit):
    """The server sends what it has drawn; Home, opened soon after, is not covered by it."""
    query = "tab=results&study=Probe+set%2C+embedded+judge"
    visit(query).locator(SUMMARY).wait_for()
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(f"{app.url}/?{query}")
    assert page.locator("#eh-loading .content table").first.is_visible()
    context.close()
    page = visit(query)
    page.locator(SUMMARY).wait_for()
    assert not page.locator("#eh-loading").is_visible()
    tab(page, "Home")
    page.locator("#eh-first-finding h1").wait_for()
    until(lambda: page.locator("#eh-home-studies button").count() > 0)
    assert not page.locator("#eh-loading").is_visible()
    tab(page, "Inspect")
    until(lambda: "judges item" in page.locator(".eh-inspect-open").first.inner_text())


def test_results_of_the_recorded_demo_have_a_matrix_and_plots(visit):
    page = visit("tab=results&view=Position")
    page.wait_for_selector("#eh-matrix td button")
    assert page.locator("#eh-matrix table.wide tbody tr").count() >= 4
    open_fold(page, "Which position is chosen")
    page.wait_for_selector("#eh-slots .main-svg")
    open_view(page, "Ranking")
    page.wait_for_selector("#eh-elo .main-svg")
    assert "precise" in page.locator("#eh-leaders").inner_text()
    open_view(page, "Nudges")
    page.wait_for_selector("#eh-length .main-svg")


def test_a_click_on_a_cell_opens_the_judgements_behind_it(visit):
    page = visit("tab=results&view=Position")
    page.wait_for_selector("#eh-matrix td button")
    assert_cells_open_judgements(page)


def assert_cells_open_judgements(page) -> None:
    """A cell and the number of flips open their judgements; back and forward return."""
    page.locator("#eh-matrix table.wide tbody tr").first.locator("td button").first.click()
    page.wait_for_selector(".eh-inspect-open .eh")
    until(lambda: "judges item" in page.locator(".eh-inspect-open").first.inner_text())
    assert "tab=inspect" in address(page)
    page.locator(".eh-inspect-open h3").first.click(trial=True)  # nothing lies over it
    tab(page, "Results")
    page.wait_for_selector("#eh-flips .eh-btn")
    button = page.locator("#eh-flips .eh-btn").first
    flips = int(button.inner_text().removeprefix("Open ").removesuffix(" flips").replace(",", ""))
    button.click()
    listed = page.locator(".eh-inspect-list").first
    until(lambda: f" of {flips:,}" in listed.inner_text() or f"{flips:,}" in listed.inner_text())
    page.go_back()
    selected = "#eh-tabs > .tab-wrapper [role=tab][aria-selected=true]"
    until(lambda: page.locator(selected).inner_text() == "Results")
    page.locator("#eh-matrix td button").first.wait_for(state="visible")
    assert "tab=results" in address(page)
    page.go_forward()
    until(lambda: page.locator(selected).inner_text() == "Inspect")


def test_a_filter_redraws_the_finding(visit):
    page = visit("tab=results&view=Position")
    page.wait_for_selector("#eh-matrix td button")
    before = page.locator("#eh-matrix table.wide tbody tr").count()
    open_filters(page)
    page.locator("#eh-filter-prompt input").click()
    said = page.evaluate(
        "() => new Promise(told => new MutationObserver(() => told("
        "document.querySelector('#eh-drawing').textContent))"
        ".observe(document.querySelector('#eh-drawing'), {attributeFilter: ['class']})"
        " || document.querySelector('[role=option][aria-label=brief-letters]').dispatchEvent("
        "new MouseEvent('mousedown', {bubbles: true})))"
    )
    assert said == "Drawing\u2026"  # a slow machine says that it draws
    until(lambda: page.locator("#eh-matrix table.wide tbody tr").count() == 1)
    until(lambda: not page.locator("#eh-drawing").is_visible())
    assert before > 1


@pytest.mark.core
def test_a_simulated_study_runs_from_the_form_and_a_link_shows_it_to_others(visit):
    page = visit("tab=study")
    use_simulated(page, "From the form")
    until(lambda: "calls" in page.locator("#eh-run").inner_text())
    page.locator("#eh-run").click()
    until(lambda: "From the form" in page.locator("#eh-run-finding").inner_text())
    done, planned = until(lambda: (n := asked(page))[0] == n[1] and n)
    assert done == planned > 20
    page.wait_for_selector("#eh-live-share .main-svg")
    page.wait_for_selector("#eh-live-elo .main-svg")
    tab(page, "Results")
    open_view(page, "Position")
    page.wait_for_selector("#eh-matrix td button")
    until(lambda: "study=From" in address(page) and "tab=results" in address(page))
    other = visit(address(page).split("?", 1)[1].replace("__theme=light&", ""))
    other.wait_for_selector("#eh-matrix td button")
    assert other.locator("#eh-study input").input_value() == "From the form"
    assert "Simulated judges" in other.locator(".eh-src").last.inner_text()
    assert_cells_open_judgements(other)
    other.set_viewport_size({"width": 390, "height": 900})
    assert_tabs_fit(other)


def test_running_a_finished_study_again_asks_nothing(visit, app):
    page = visit("study=From the form&tab=run")
    done, planned = until(lambda: (n := asked(page)) != NOT_SHOWN and n)
    assert done == planned
    assert not page.locator("#eh-start").is_visible()
    store = Store(app.store)
    calls, keys = store.read("SELECT count(*), count(DISTINCT key) FROM attempts").fetchone()
    assert calls == keys


def test_a_study_that_cannot_be_run_says_what_is_wrong(visit):
    page = visit("tab=study")
    use_simulated(page, "Broken")
    page.get_by_label("Change favours-first").click()
    page.get_by_text("Remove this judge").click()
    until(lambda: "choose a judge" in page.locator("#eh-plan").inner_text())
    assert not page.locator("#eh-run").is_visible()
    page.locator("#eh-plan").get_by_role(
        "button", name="Choose a judge"
    ).click()  # the strip holds the way out
    page.locator(".eh-drawer.on").wait_for()


@pytest.mark.embedded
def test_the_embedded_judge_runs_live_and_survives_a_reload(visit, app):
    try:
        find_default_weights()
    except WeightsMissing as error:
        pytest.skip(f"NO WEIGHTS: {error}")
    page = visit()
    page.locator("#eh-again").focus()
    page.keyboard.press("Enter")
    demo = page.locator("#eh-first-squares")
    demo.locator("[data-demo=running]").wait_for()
    until(lambda: page.evaluate("document.activeElement.dataset.tab") == "run")  # not at the start
    until(lambda: 0 < demo.locator(".eh-squares i.waiting").count() < 40, 180)  # filled on Home
    assert "tab=home" in address(page) and page.locator("#eh-again").is_disabled()
    demo.locator("[data-tab=run]").click()
    until(lambda: "Twenty items, live" in page.locator("#eh-run-finding").inner_text())
    assert asked(page)[1] == 40
    until(lambda: asked(page)[0] >= 3, 180)
    page.wait_for_selector("#eh-live-elo .main-svg")
    before = asked(page)[0]
    assert "tab=run" in address(page)
    page.reload()
    page.wait_for_selector("#eh-run-finding h1", state="attached")
    assert until(lambda: asked(page)[0] >= before and page.locator("#eh-stop").is_visible())
    page.locator("#eh-pause").click()
    until(lambda: page.locator("#eh-pause").inner_text() == "Resume")
    page.locator("#eh-stop").click()
    until(lambda: page.locator("#eh-start").is_visible())
    stopped = asked(page)[0]
    page.locator("#eh-start").click()
    until(lambda: asked(page)[0] > stopped, 120)
    page.locator("#eh-stop").click()
    until(lambda: page.locator("#eh-start").is_visible())
    store = Store(app.store)
    sql = "SELECT count(*) FROM (SELECT key FROM attempts GROUP BY key HAVING count(*) > 1)"
    assert store.read(sql).fetchone()[0] == 0


def test_no_menu_opens_by_tab_and_the_content_can_be_skipped_to(visit):
    page = visit("tab=results")
    page.wait_for_selector(SUMMARY)
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.className") == "eh-skip"
    page.keyboard.press("Enter")
    assert page.evaluate("document.activeElement.classList.contains('tabitem')")
    for _ in range(12):
        page.keyboard.press("Tab")
        assert page.locator("ul.option-list").count() == 0
    page.locator("#eh-study input").focus()
    page.keyboard.press("ArrowDown")
    page.wait_for_selector("ul.option-list")
    page.keyboard.press("Tab")
    until(lambda: page.locator("ul.option-list").count() == 0)


def test_a_view_chosen_in_the_first_second_stays(visit):
    page = visit("tab=results")
    page.get_by_test_id("Ranking-radio-label").click()
    page.wait_for_selector("#eh-leaders table")
    page.wait_for_timeout(3000)
    assert page.get_by_test_id("Ranking-radio-label").locator("input").is_checked()
    assert "view=Ranking" in address(page)
