"""The Run tab in a browser: a slow endpoint with faults, steered, asked again, opened later."""

from __future__ import annotations

import re
from pathlib import Path
from urllib.parse import quote

import pytest

from judges.planning.plan import save_plan
from studies.store.store import Store
from tests.judge_server import Fault, JudgeServer, Reply, always, at, containing
from tests.judges.small_studies import endpoint, run_through, study_plan
from tests.ui.conftest import address
from tests.ui.test_page import asked
from tests.waiting import until

pytestmark = pytest.mark.browser
NAME = "A slow endpoint"
ASKS = 60


FAULTS = [
    at(Fault("server_error"), 3, 4),
    *(containing(f"question {n}\n", Fault("empty_content")) for n in range(5)),
]
"""An error now and then, and five replies that are empty however often they are asked for."""


@pytest.fixture(scope="module")
def judge():
    with JudgeServer(latency=(0.3, 0.6), rules=FAULTS) as server:
        yield server


@pytest.fixture(scope="module")
def study(app, judge, tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("study")
    judges = [endpoint(judge.base_url, "slow")]
    plan = study_plan(folder, judges, ASKS, name=NAME, concurrency=4, budget_usd=5)
    store = Store(app.store)
    save_plan(plan, store)
    store.close()
    return folder


def text(page, selector: str) -> str:
    return " ".join(page.locator(selector).inner_text().split())


def test_a_run_is_watched_paused_stopped_completed_and_asked_again(visit, study, judge):
    page = visit(f"tab=run&study={quote(NAME)}")
    start = page.locator("#eh-start")
    start.wait_for(state="visible")
    assert re.fullmatch(rf"Run {ASKS} calls, (\$\d+\.\d\d|under \$0\.01)", start.inner_text())
    start.click()
    until(lambda: judge.bill.totals.calls > 12)
    judge.schedule(always(Fault("rate_limit_seconds", retry_after=10.0)))
    until(lambda: "cooling down" in text(page, "#eh-progress"))
    until(lambda: "Rate limit reached." in text(page, "#eh-run-notices"))
    assert asked(page)[0] > 5
    assert until(lambda: re.fullmatch(r"\d+\s% · Evenhand", page.title()))
    until(lambda: "of $5.00" in text(page, "#eh-run-kpis"))
    until(lambda: "at the end" in text(page, "#eh-run-kpis"))
    page.keyboard.press("p")
    until(lambda: page.locator("#eh-pause").inner_text() == "Resume")
    until(lambda: "paused by you" in text(page, "#eh-progress"))
    calls = judge.bill.totals.calls
    page.wait_for_timeout(500)
    assert judge.bill.totals.calls == calls
    judge.schedule(*FAULTS)
    page.locator("#eh-stop").click()
    start.wait_for(state="visible")
    until(lambda: "Stopped by you." in text(page, "#eh-run-notices"))
    until(lambda: page.title() == "Evenhand")
    page.locator("#eh-run-notices .eh-btn").click()
    done, planned = until(lambda: (n := asked(page))[0] == n[1] and n)
    assert done == planned == ASKS
    until(lambda: page.evaluate("document.activeElement.id") == "eh-see-results")
    retry = page.locator("#eh-retry")
    retry.wait_for(state="visible")
    until(lambda: retry.inner_text() == "Retry 5 failed calls, under $0.01")


def test_failures_by_kind_open_inspect(visit, study):
    page = visit(f"tab=run&study={quote(NAME)}")
    panel = page.locator("#eh-run-failures")
    panel.get_by_role("button", name="Open 5").wait_for()
    assert "empty 5" in text(page, "#eh-run-failures")
    row, whole = (page.locator(one).bounding_box() for one in (".eh-failed .k", ".eh-failed"))
    assert row["width"] == whole["width"], "a kind of failure fills its line"
    panel.get_by_role("button", name="Example").click()
    page.wait_for_selector(".eh-inspect-open .eh")
    until(lambda: "tab=inspect" in address(page))


def test_past_runs_can_be_opened_and_a_link_shows_the_same_one(visit, study):
    page = visit(f"tab=run&study={quote(NAME)}")
    rows = page.locator("#eh-runs .eh-runs .r")
    until(lambda: rows.count() == 2)
    assert "done" in rows.nth(0).inner_text()
    assert "stopped by you" in rows.nth(1).inner_text()
    rows.nth(1).get_by_role("button", name="Open").click()
    until(lambda: "stopped, " in text(page, "#eh-run-opened"))
    link = until(lambda: "run=" in (url := address(page)) and url)
    other = visit(link.split("?", 1)[1].replace("__theme=light&", ""), width=390, theme="dark")
    until(lambda: "stopped, " in text(other, "#eh-run-opened"))
    assert other.evaluate("document.documentElement.scrollWidth - innerWidth") <= 0
    rows.nth(1).get_by_role("button", name="Close").click()
    until(lambda: "run=" not in address(page))


def test_asking_again_what_failed_asks_nothing_else(visit, study, judge):
    judge.schedule()
    calls = judge.bill.totals.calls
    page = visit(f"tab=run&study={quote(NAME)}")
    page.locator("#eh-retry").click()
    until(lambda: judge.bill.totals.calls == calls + 5)
    until(lambda: not page.locator("#eh-retry").is_visible())
    until(lambda: f"ok {ASKS}" in text(page, "#eh-progress"))
    assert judge.bill.totals.calls == calls + 5


def test_replies_without_a_verdict_lead_to_the_prompt_and_are_asked_again(visit, app, tmp_path):
    with JudgeServer(behaviour=lambda _: Reply("A")) as server:
        store = Store(app.store)
        judges = [endpoint(server.base_url)]
        run_through(study_plan(tmp_path, judges, 4, name="bare", orders="both"), store)
        store.close()
        page = visit("tab=results&study=bare")
        panel = page.locator("#eh-over-unusable")
        panel.get_by_role("button", name="Edit prompt").click()
        until(lambda: "show prompt" in (page.evaluate("document.activeElement.dataset.do") or ""))
        assert "tab=study" in address(page)
        page = visit("tab=results&study=bare")
        page.locator("#eh-over-unusable").get_by_role("button", name="Open 8").click()
        until(lambda: "tab=inspect" in address(page))
        page = visit("tab=run&study=bare")
        page.locator("#eh-run-outcome").get_by_role("button", name="Ask 8 calls again").click()
        until(lambda: server.bill.totals.calls == 16)


NOTES = """
    Object.defineProperty(document, "hidden", {get: () => window.away === true});
    window.asked = 0; window.notes = [];
    window.Notification = class {
      static permission = "default";
      static requestPermission() {
        window.asked += 1;
        return Promise.resolve(this.permission = "granted");
      }
      constructor(title, {body}) { window.notes.push([title, body]); }
      close() {}
    };
"""
"""A browser that grants notifications and records them, and a page that is hidden on demand."""


@pytest.mark.parametrize("wanted", [False, True])
def test_a_hidden_page_notifies_at_the_end_only_if_the_reader_asked(visit, app, tmp_path, wanted):
    name = f"notified {wanted}"
    with JudgeServer(latency=(2.0, 2.5)) as server:  # the run ends after the page is hidden
        store = Store(app.store)
        judges = [endpoint(server.base_url, name)]
        save_plan(study_plan(tmp_path, judges, 24, name=name, concurrency=2), store)
        store.close()
        page = visit("")
        page.add_init_script(NOTES)
        page.goto(f"{app.url}/?tab=run&study={quote(name)}")
        page.locator("#eh-start").click()
        notify = page.locator("#eh-notify")
        notify.wait_for(state="visible")
        until(lambda: notify.get_attribute("aria-pressed") == "false")
        assert page.evaluate("asked") == 0
        if wanted:
            notify.click()
            until(lambda: notify.get_attribute("aria-pressed") == "true")
            assert page.evaluate("asked") == 1
        page.evaluate("window.away = true")
        until(lambda: page.title() == "Run ended · Evenhand")
        assert page.evaluate("notes") == ([["Run ended", name]] if wanted else [])
        notify.wait_for(state="hidden")
