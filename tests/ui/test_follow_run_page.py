"""Results in a browser while a run is active, and the end of the run."""

from __future__ import annotations

import re
from urllib.parse import quote

import pytest

from judges.planning.plan import save_plan
from studies.store.store import Store
from tests.judge_server import JudgeServer
from tests.judges.small_studies import endpoint, study_plan
from tests.ui.conftest import address
from tests.waiting import until

pytestmark = pytest.mark.browser
NAME = "Followed"
FROZEN = "Frozen"


@pytest.fixture(scope="module")
def study(app, tmp_path_factory):
    with JudgeServer(latency=(2.5, 3.5)) as server:
        store = Store(app.store)
        for name in (NAME, FROZEN):
            folder = tmp_path_factory.mktemp("study")
            judges = [endpoint(server.base_url, "slow", model=name)]  # no call is shared
            plan = study_plan(folder, judges, 25, name=name, orders="both", concurrency=2)
            save_plan(plan, store)
        store.close()
        yield NAME


def partial(page) -> int | None:
    found = re.search(
        r"Partial: (\d+) of 50 calls", page.locator("#eh-results-finding").inner_text()
    )
    return int(found[1]) if found else None


def test_results_follow_a_run_to_its_end(visit, study):
    page = visit(f"tab=run&study={quote(NAME)}")
    page.locator("#eh-start").click()
    until(lambda: page.locator("#eh-pause").is_visible())
    page.get_by_role("tab", name="Results", exact=True).click()
    # Results opened before the first verdict are redrawn too.
    first = until(lambda: partial(page))
    assert page.locator("#eh-results-finding h1").count() == 0
    page.locator("#eh-card .eh-report").wait_for()
    assert not page.locator("#eh-card .eh-claim").is_visible()  # a finding, too
    mark = until(lambda: page.get_by_role("tab", name="Results").get_attribute("data-partial"))
    assert re.fullmatch(r"Partial: \d+ of 50", mark)
    later = until(lambda: (now := partial(page)) != first and (now or "ended"))
    assert later != "ended" and later > first, "the run was too short to see a refresh"
    title = until(lambda: page.locator("#eh-results-finding h1").count() and
                     page.locator("#eh-results-finding h1").inner_text())  # fmt: skip
    assert title and partial(page) is None
    assert page.locator("#eh-card .eh-claim").is_visible()
    tab = page.get_by_role("tab", name="Results", exact=True)
    until(lambda: tab.get_attribute("data-partial") is None)
    page.get_by_role("tab", name="Run", exact=True).click()
    until(lambda: page.locator("#eh-run-finding h1").inner_text() == title)
    page.locator("#eh-see-results").click()
    page.locator("#eh-over-ranking").get_by_role("button", name="Ranking", exact=True).click()
    page.wait_for_selector("#eh-leaders table")
    until(lambda: "view=Ranking" in address(page) and "tab=results" in address(page))


def test_frozen_results_stand_still_and_offer_what_came_in(visit, study):
    page = visit(f"tab=run&study={quote(FROZEN)}")
    page.locator("#eh-start").click()
    until(lambda: page.locator("#eh-pause").is_visible())
    page.get_by_role("tab", name="Results", exact=True).click()
    until(lambda: partial(page))
    page.get_by_role("button", name="Freeze").click()
    news = page.locator("#eh-results-news")
    until(lambda: re.search(r"\d+ new repl", news.inner_text()))
    page.wait_for_timeout(3_000)  # what was on its way at the click may be drawn after it
    first = partial(page)
    page.wait_for_timeout(12_000)
    assert partial(page) == first, "frozen numbers were redrawn"
    assert not page.get_by_role("button", name="Freeze").is_visible()
    news.get_by_role("button", name="Show them").click()
    until(lambda: partial(page) != first)
    assert not news.is_visible()
    page.get_by_role("button", name="Freeze").click()
    until(lambda: "has ended" in news.inner_text())
    shown = partial(page)  # what was on its way at the click may have been drawn after it
    assert shown < 50 and f"{50 - shown} new repl" in news.inner_text()
    news.get_by_role("button", name="Show").click()
    page.locator("#eh-results-finding h1").wait_for()
    assert partial(page) is None and not news.is_visible()
