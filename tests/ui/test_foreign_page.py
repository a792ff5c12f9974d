"""A page of another site in a real browser: it reads nothing of the app and starts nothing there.

Two ways: from an origin of its own, and after DNS rebinding, where the browser takes the app for a
part of the site.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from studies.store.store import Store
from tests.attacks.attack_list import OWN, PUBLIC
from tests.attacks.attack_log import attempt
from tests.components.server.test_foreign_sites import STUDY
from tests.ui.conftest import BROWSERS, QUIET, App, playwright
from tests.waiting import free_port

pytestmark = pytest.mark.browser
READING = "reading another's run"
SITE = "evil.example"
PAGE = "<!doctype html><title>another site</title>"

ATTACK = """async ([base, study]) => {
  const tried = {};
  const attempt = async (name, path, options) => {
    try {
      const answer = await fetch(base + path, options);
      tried[name] = [answer.type === "opaque" ? 0 : answer.status, await answer.text()];
    } catch (error) { tried[name] = ["unreadable", ""]; }
  };
  const run = JSON.stringify({data: [study]});
  const form = () => { const made = new FormData(); made.append("files", new Blob(["x"]), "x.csv");
                       return made; };
  await attempt("page", "/");
  await attempt("config", "/config");
  await attempt("functions", "/gradio_api/info");
  await attempt("json", "/gradio_api/call/run_study",
    {method: "POST", body: run, headers: {"Content-Type": "application/json"}});
  await attempt("text", "/gradio_api/call/run_study", {method: "POST", body: run});
  await attempt("blind", "/gradio_api/call/run_study",
    {method: "POST", body: run, mode: "no-cors"});
  await attempt("upload", "/gradio_api/upload", {method: "POST", body: form()});
  return tried;
}"""


@pytest.fixture(scope="module")
def browser() -> Iterator[object]:
    """Chromium for which the other site's name leads to this machine.

    Its own check of pages that use the local network is off: it asks the user, other browsers have
    none, and the server has to refuse by itself.
    """
    found = next((path for name in BROWSERS if (path := shutil.which(name))), None)
    open_to_attack = [
        f"--host-resolver-rules=MAP {SITE} 127.0.0.1",
        "--disable-features=LocalNetworkAccessChecks",
    ]
    with playwright.sync_playwright() as driver:
        try:
            chromium = driver.chromium.launch(executable_path=found, args=[*QUIET, *open_to_attack])
        except playwright.Error as error:
            pytest.skip(f"NO BROWSER: the page is not tested here ({str(error).splitlines()[0]})")
        yield chromium
        chromium.close()


def attack(browser, origin: str, base: str) -> tuple[dict[str, list[object]], list[int]]:
    """Every attempt with what the site's page could read, and the statuses that the app sent.

    Only the page itself comes from the site: what it asks of the app goes over the network.
    """
    context = browser.new_context()
    page = context.new_page()
    page.route(f"{origin}/attack", lambda route: route.fulfill(body=PAGE, content_type="text/html"))
    page.goto(f"{origin}/attack")
    statuses: list[int] = []
    page.on("response", lambda answer: statuses.append(answer.status))
    tried = page.evaluate(ATTACK, [base, STUDY])
    context.close()
    return tried, statuses


def started(app: App) -> bool:
    store = Store(app.store)
    names = [line.name for line in store.studies()]
    store.close()
    assert names  # the studies that the page begins with
    return "started elsewhere" in names


def test_a_page_of_another_origin_reads_and_starts_nothing(browser, app: App) -> None:
    for origin in (f"http://{SITE}:{free_port()}", f"http://127.0.0.1:{free_port()}"):
        tried, statuses = attack(browser, origin, app.url)
        with attempt(READING, OWN, *(f"{name} from {origin}" for name in tried)):
            check_refused(tried, statuses)
            assert not started(app)


def check_refused(tried: dict[str, list[object]], statuses: list[int]) -> None:
    assert {name: said for name, (said, _) in tried.items()} == {
        **dict.fromkeys(tried, "unreadable"), "blind": 0
    }  # fmt: skip
    assert set(statuses) == {403}  # what was sent was refused, not only hidden


def test_a_rebound_name_reads_and_starts_nothing(browser, app: App) -> None:
    origin = f"http://{SITE}:{app.port}"
    tried, statuses = attack(browser, origin, origin)
    with attempt(READING, OWN, *(f"{name} by a rebound name" for name in tried)):
        assert [said for said, _ in tried.values()] == [403] * len(tried) == statuses
        refusals = [str(text) for _, text in tried.values()]
        assert all(f"host name {SITE}" in text for text in refusals)
        assert not started(app)


def test_a_page_at_another_address_reads_and_starts_nothing_of_a_public_page(
    browser, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A public page is served at any IP address; its pages are only those at the same one."""
    monkeypatch.setenv("EVENHAND_PUBLIC", "1")
    app = App(tmp_path / "evenhand.db")
    try:
        tried, statuses = attack(browser, f"http://127.0.0.2:{app.port}", app.url)
        with attempt(READING, PUBLIC, *(f"{name} from another address" for name in tried)):
            check_refused(tried, statuses)
            assert not started(app)
    finally:
        app.close()


def test_a_site_may_frame_the_page_as_a_space_is_framed(browser, app: App) -> None:
    context = browser.new_context()
    page = context.new_page()
    framed = f"<iframe src='{app.url}/' style='width:100%;height:800px'></iframe>"
    page.route("**/frame", lambda route: route.fulfill(body=framed, content_type="text/html"))
    page.goto(f"http://{SITE}:{free_port()}/frame")
    heading = page.frame_locator("iframe").locator("#eh-first-finding h1")
    heading.wait_for(state="attached", timeout=90_000)
    context.close()
