"""A canary key is typed into the real page, and the endpoint throws it back in every way it can.

Then the app is killed in the middle of a call, and everything it wrote, said or left behind is
searched: the key, its encoded forms and its last eight characters must be nowhere.
"""

from __future__ import annotations

import json
import signal
import urllib.request
from pathlib import Path

import pytest
from playwright.sync_api import Error as PlaywrightError

from components.share.report import write_report
from studies.exchange.export import EXPORT_FORMATS, write_export
from studies.store.store import Store
from tests.attacks.attack_list import OWN
from tests.attacks.attack_log import attempt
from tests.canary_forms import CANARY, found_in
from tests.judge_server import Fault, JudgeServer, always
from tests.judge_server.asked import Asked
from tests.ui.conftest import App, show_file
from tests.waiting import until

pytestmark = [pytest.mark.browser, pytest.mark.long]

STUDY = """name: {name}
data: {{source: probe, count: {count}, seed: 7}}
contestants: [flawed, precise]
judges:
- {{name: judge, model: judge, base_url: '{url}'}}
prompts: [brief-letters]
orders: one
"""
EVERYTHING = """async () => {
  const kept = [{...localStorage}, {...sessionStorage}, document.cookie, location.href, history.state];
  for (const {name} of await indexedDB.databases()) {
    const db = await new Promise((done, lost) => { const asked = indexedDB.open(name); asked.onsuccess = () => done(asked.result); asked.onerror = lost; });
    for (const table of db.objectStoreNames) kept.push([name, table, await new Promise(done => { const asked = db.transaction(table).objectStore(table).getAll(); asked.onsuccess = () => done(asked.result); })]);
  }
  for (const name of await caches.keys()) kept.push(name);
  return JSON.stringify(kept);
}"""  # noqa: E501


LEAK = "a typed key leaks"
WAYS = ("another host", "echo at 401 in a test", "echo at 401 in a run", "echo at 500",
        "a reply that repeats it", "silence", "a killed process")  # fmt: skip


class Searched:
    """What was looked into; every find is kept with where it was."""

    def __init__(self) -> None:
        self.places: list[str] = []
        self.finds: list[str] = []

    def look(self, place: str, content: bytes | str) -> None:
        self.places.append(place)
        self.finds += [f"{place}: {form}" for form in found_in(content)]

    def look_at_files(self, folder: Path) -> None:
        for path in folder.rglob("*"):
            self.look(f"name of {path}", str(path))
            if path.is_file():
                self.look(str(path), path.read_bytes())


@pytest.fixture
def crashing(tmp_path, monkeypatch):
    """The app with a temporary folder of its own, so that all it leaves behind is in sight."""
    for name in ("tmp", "store"):
        (tmp_path / name).mkdir()
    monkeypatch.setenv("TMPDIR", str(tmp_path / "tmp"))
    monkeypatch.setenv("GRADIO_TEMP_DIR", str(tmp_path / "tmp" / "gradio"))
    app = App(tmp_path / "store" / "evenhand.db")
    yield app
    if app.process.poll() is None:
        app.close()


def opened(browser, app, answers: list):
    page = browser.new_context(viewport={"width": 1440, "height": 900}).new_page()
    page.set_default_timeout(60_000)
    page.on("response", lambda answer: answers.append(answer))
    page.goto(app.url)
    page.wait_for_selector("#eh-first-finding h1", state="attached")
    return page


def write_study(page, name: str, url: str, count: int) -> None:
    if page.locator(".eh-drawer.on").count():
        page.keyboard.press("Escape")
        page.locator(".eh-drawer.on").wait_for(state="detached")
    page.get_by_role("tab", name="Study").first.click()
    show_file(page)
    page.locator("#eh-yaml .cm-content").click()
    page.keyboard.press("Control+A")
    page.keyboard.insert_text(STUDY.format(name=name, url=url, count=count))
    until(lambda: f"name: {name}" in page.locator("#eh-yaml .cm-content").inner_text())
    until(lambda: page.locator("#eh-run").is_visible())


def failures(page) -> str:
    return page.locator("#eh-run-notices").inner_text() + page.locator("#eh-progress").inner_text()


def test_a_typed_key_is_found_nowhere_whatever_the_endpoint_does_with_it(
    browser, crashing, tmp_path
):
    app, searched, answers = crashing, Searched(), []
    sent: list[str] = []

    def repeat(asked: Asked) -> str:
        sent.append(asked.api_key)
        return f"Authorization was {asked.api_key}. Overall, Response A is better."

    foreign: list[str] = []

    def keep(asked: Asked) -> str:
        foreign.append(asked.api_key)
        return "Overall, Response A is better."

    with JudgeServer(behaviour=repeat) as server, JudgeServer(behaviour=keep) as other_host:
        page = opened(browser, app, answers)
        _type_a_key_and_move_the_judge(page, server, other_host, foreign)
        _test_with_a_key_that_is_refused(page, server)
        _run_with_a_key_that_is_refused(page, server)
        _run_to_the_end_with_a_key_typed_again(page, server)
        other = opened(browser, app, answers)  # another visitor, while the key is held
        _run_into_errors_and_a_silence(page, server)
        other.goto(f"{app.url}/?study=canary&tab=run")
        until(lambda: "Authorization was [key]" in other.locator("#eh-replies").inner_text())
        assert set(sent) == {CANARY}
        for who, seen in (("the visitor", page), ("another visitor", other)):
            searched.look(f"page of {who}", seen.content())
            searched.look(f"what the browser of {who} keeps", seen.evaluate(EVERYTHING))
        _look_at_the_process(app, searched)
        _look_at_programs(app, searched)
        app.process.send_signal(signal.SIGKILL)
        app.process.wait(10)
    for answer in answers:
        searched.look(f"address {answer.url}", answer.url)
        try:
            searched.look(f"answer of {answer.url}", answer.body())
        except PlaywrightError:
            continue  # a redirect, a page that was left, or a stream that the crash cut off
    for context in browser.contexts:
        context.close()
    searched.look_at_files(tmp_path / "tmp")
    searched.look_at_files(app.store.parent)
    _look_at_exports(app.store, tmp_path / "out", searched)
    with attempt(LEAK, OWN, *WAYS):
        assert searched.finds == []
    looked = "\n".join(searched.places)
    for place in ("evenhand.db", "evenhand.db-wal", "evenhand.log", "/config", "environ",
                  "queue/data", "page of another visitor", "report.html", "jsonl"):  # fmt: skip
        assert place in looked, f"{place} was not looked into:\n{looked}"


def _type_a_key_and_move_the_judge(page, server, other_host, foreign: list[str]) -> None:
    """The same judge at another host is tested without the key."""
    write_study(page, "moved", server.base_url, 3)
    page.get_by_label("Change judge").first.click()
    page.locator("#f-judge-0-key").fill(CANARY)
    write_study(page, "moved on", other_host.base_url, 3)
    until(lambda: "key removed" in page.locator("#eh-judges").inner_text())
    page.locator("""#eh-judges [data-errand*='"judge": "judge"']""").click()
    until(lambda: foreign)
    assert foreign == ["none"]


def _test_with_a_key_that_is_refused(page, server) -> None:
    server.schedule(always(Fault("unauthorized", echo_key=True)))
    write_study(page, "canary", server.base_url, 3)
    page.get_by_label("Change judge").first.click()
    page.locator("#f-judge-0-key").fill(CANARY)
    page.locator(".eh-drawer.on .ft").get_by_text("Test: 1 call").click()
    until(lambda: "refused the API key" in page.locator("#eh-judges").inner_text())
    page.keyboard.press("Escape")
    page.locator(".eh-drawer.on").wait_for(state="detached")


def _run_with_a_key_that_is_refused(page, server) -> None:
    page.locator("#eh-run").click()
    until(lambda: "refused the API key" in failures(page))
    page.locator("#eh-run-key input").fill(CANARY)
    server.schedule(always(Fault("server_error", echo_key=True)))
    page.locator("#eh-run-key-go").click()
    until(lambda: "The server had an error" in page.locator("body").inner_text())


def _run_to_the_end_with_a_key_typed_again(page, server) -> None:
    server.schedule()
    page.locator("#eh-run-key input").fill(CANARY)
    page.locator("#eh-run-key-go").click()
    until(lambda: "Authorization was [key]" in page.locator("#eh-replies").inner_text())


def _run_into_errors_and_a_silence(page, server) -> None:
    """Errors that are tried again, then no answer at all: the app is killed with calls open."""
    server.schedule(always(Fault("server_error", echo_key=True)))
    write_study(page, "canary two", server.base_url, 12)
    before = server.bill.totals.calls
    page.locator("#eh-run").click()
    until(lambda: server.bill.totals.calls > before + 2)
    server.schedule(always(Fault("timeout", seconds=60)))
    until(lambda: server.app.in_flight > 0)


def _look_at_the_process(app, searched: Searched) -> None:
    for name in ("environ", "cmdline"):
        for of in Path("/proc").glob("[0-9]*"):
            try:
                ours = (
                    of.name == str(app.process.pid)
                    or f"PPid:\t{app.process.pid}\n" in (of / "status").read_text()
                )
                if ours:
                    searched.look(f"{name} of {of.name}", (of / name).read_bytes())
            except OSError:
                continue


def _look_at_programs(app, searched: Searched) -> None:
    """What any program may ask of the page, of the study that was run with the key."""
    calls = {"list_studies": [], "study_metrics": ["canary", ""], "judgements": ["canary", 0, 20],
             "run_status": ["canary two"]}  # fmt: skip
    for path in ("/", "/config", "/gradio_api/info", "/gradio_api/startup-events"):
        searched.look(f"GET {path}", _asked(f"{app.url}{path}"))
    for name, data in calls.items():
        begun = _asked(f"{app.url}/gradio_api/call/{name}", json.dumps({"data": data}).encode())
        event = json.loads(begun)["event_id"]
        said = _asked(f"{app.url}/gradio_api/call/{name}/{event}")
        assert b"event: complete" in said, said
        searched.look(f"API {name}", said)


def _asked(url: str, data: bytes | None = None) -> bytes:
    request = urllib.request.Request(url, data, {"Content-Type": "application/json"})
    with urllib.request.urlopen(request, timeout=30) as answer:
        return bytes(answer.read())


def _look_at_exports(path: Path, out: Path, searched: Searched) -> None:
    out.mkdir()
    store = Store(path)
    try:
        assert [j.status for j in store.judgements("canary")] == ["ok"] * 3
        for name, form in EXPORT_FORMATS.items():
            if name not in ("votes", "llm-comparator", "alpaca-eval"):
                write_export(store, "canary", name, out / f"{name}{form.suffix}")
            searched.look(name, "")
        write_report(store, "canary", out / "report.html")
    finally:
        store.close()
    searched.look_at_files(out)
