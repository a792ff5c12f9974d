"""The real page in a real browser: the app as a newcomer starts it, on a store of its own."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from urllib.parse import parse_qsl

import pytest

from tests.demo_store import copy_demo
from tests.samples import ALL
from tests.waiting import free_port

playwright = pytest.importorskip("playwright.sync_api")

ROOT = Path(__file__).resolve().parents[2]
BROWSERS = ("chromium", "chromium-browser", "google-chrome")
QUIET = [
    "--no-sandbox", "--disable-gpu", "--disable-background-networking", "--no-first-run",
    "--disable-component-update", "--disable-sync",
]  # fmt: skip


LEFT = ("AbortError", "Connection errored out")
"""What Gradio logs when a page is reloaded or closed with a request open: no fault of the page."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Leave all but the core browser tests to `make test-all`: they take most of the time."""
    here = Path(__file__).parent
    for item in items:
        if here in item.path.parents and not item.get_closest_marker("core"):
            item.add_marker(pytest.mark.extra)


class App:
    """app.py in a process of its own; `folder`: where it lies, `options`: more of its command."""

    def __init__(self, store: Path, folder: Path = ROOT, options: tuple[str, ...] = ()) -> None:
        self.store, self.port = store, free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        self.log = store.with_suffix(".log").open("wb")
        command = [
            sys.executable, "app.py", "--port", str(self.port), "--store", str(store), *options
        ]  # fmt: skip
        env = {**os.environ, "GRADIO_ANALYTICS_ENABLED": "False"}
        copy_demo(store)
        self.process = subprocess.Popen(
            command, cwd=folder, stdout=self.log, stderr=subprocess.STDOUT, env=env
        )
        self._wait(400)

    def _wait(self, seconds: float) -> None:
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            if self.process.poll() is not None:
                raise AssertionError(Path(self.log.name).read_text())
            try:
                with urllib.request.urlopen(self.url, timeout=30):
                    return
            except OSError:
                time.sleep(0.2)
        raise AssertionError("the page did not come up")

    def close(self) -> None:
        """At once: ending in good order takes seconds, and has a test of its own."""
        self.process.kill()
        self.process.wait(30)
        self.log.close()


OPEN = pytest.StashKey[ExitStack]()
"""The app and the browser, closed after the last test of this folder."""


def share_in_make_test(fixture_name: str, config: pytest.Config) -> str:
    """Scope of app and browser: the few browser tests of `make test` share them. In `make test-all`
    each file has its own, so that it finds the store of a newcomer."""
    return "module" if ALL else "session"


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_teardown(item: pytest.Item, nextitem: pytest.Item | None) -> Iterator[None]:
    """Close what is shared as soon as a test of another folder follows: the other tests of the
    worker need its memory, and cannot run an event loop beside that of Playwright."""
    yield
    if nextitem is None or Path(__file__).parent not in nextitem.path.parents:
        item.config.stash.setdefault(OPEN, ExitStack()).close()


@pytest.fixture(scope=share_in_make_test)
def app(tmp_path_factory: pytest.TempPathFactory, pytestconfig: pytest.Config) -> Iterator[App]:
    with ExitStack() as mine:
        running = App(tmp_path_factory.mktemp("page") / "evenhand.db")
        (mine if ALL else pytestconfig.stash.setdefault(OPEN, ExitStack())).callback(running.close)
        yield running


@pytest.fixture(scope=share_in_make_test)
def browser(pytestconfig: pytest.Config) -> Iterator[object]:
    with ExitStack() as mine:
        shared = mine if ALL else pytestconfig.stash.setdefault(OPEN, ExitStack())
        yield shared.enter_context(chromium())


@contextmanager
def chromium() -> Iterator[object]:
    found = next((path for name in BROWSERS if (path := shutil.which(name))), None)
    with playwright.sync_playwright() as driver:
        try:
            started = driver.chromium.launch(executable_path=found, args=QUIET)
        except playwright.Error as error:
            pytest.skip(f"NO BROWSER: the page is not tested here ({str(error).splitlines()[0]})")
        yield started
        started.close()


def choose(page, *files: Path, then: str = "") -> None:
    """Choose files on Home; press the button `then` of what the page saw in them."""
    with page.expect_file_chooser() as chooser:
        page.locator("#eh-door-files").click()
    chooser.value.set_files([str(file) for file in files])
    if then:
        page.locator("#eh-seen").get_by_role("button", name=then).click()


def address(page) -> str:
    """The address as the page has it now: `page.url` changes only while Playwright is called, so
    a loop that waits for it may wait in vain."""
    return str(page.evaluate("location.href"))


def open_view(page, name: str) -> None:
    """Choose a view of Results on the switch."""
    label = page.get_by_test_id(f"{name}-radio-label")
    label.wait_for(state="attached")
    label.click()


SUMMARY = "#eh-over-judges table"
"""The table of judges in Summary, of a study with several judges or prompts."""


def open_fold(page, title: str) -> None:
    """Open folded panels of a view by their title."""
    page.locator(".eh-view .eh-fold > summary:visible").filter(has_text=title).click()


def open_folds(page) -> None:
    """Open all folded panels of the view."""
    page.evaluate(
        "document.querySelectorAll('.eh-view .eh-fold').forEach(fold => { fold.open = true; })"
    )


def open_filters(page) -> None:
    if not page.locator("#eh-filter-box").is_visible():
        page.locator("#eh-filter-pill [aria-expanded]").click()


def show_file(page) -> None:
    """Unfold the study file of the Study tab."""
    page.locator("#eh-show-file").wait_for()
    if not page.locator("#eh-yaml").is_visible():
        page.locator("#eh-show-file").click()


def show_settings(page) -> None:
    """Unfold More settings of the Study tab."""
    fold = page.locator("#eh-more")
    fold.wait_for()
    if fold.get_attribute("open") is None:
        fold.locator("summary").first.click()


def use_judge(page, name: str, tile: str) -> None:
    """Replace a judge in its drawer by one of the tiles."""
    page.get_by_label(f"Change {name}", exact=True).click()
    page.locator(".eh-drawer.on").get_by_role("button", name=tile).first.click()
    page.wait_for_function(
        "name => !document.querySelector('.eh-drawer .ft')?.textContent.includes(`Use ${name}`)",
        arg=name,
    )
    page.keyboard.press("Escape")
    page.locator(".eh-drawer.on").wait_for(state="detached")


@pytest.fixture
def visit(browser, app):
    """Opens the page; afterwards no error may have been logged and no other host asked."""
    contexts, faults = [], []

    def note(text: str) -> None:
        if not any(words in text for words in LEFT):
            faults.append(text)

    def open_page(query: str = "", *, width: int = 1440, theme: str = "light"):
        context = browser.new_context(viewport={"width": width, "height": 900})
        contexts.append(context)
        page = context.new_page()
        page.set_default_timeout(90_000)  # patience costs nothing where a test passes
        page.on("pageerror", lambda error: note(f"page error: {error}"))
        page.on("console", lambda m: note(m.text) if m.type == "error" else None)
        page.on("request", lambda r: faults.append(f"asked {r.url}") if outside(r.url) else None)
        page.goto(f"{app.url}/?__theme={theme}&{query}")
        wait_until_opened(page, query)
        return page

    yield open_page
    for context in contexts:
        context.close()
    assert faults == []


def wait_until_opened(page, query: str = "") -> None:
    """Wait until the page shows the tab of its address: the server has answered its first event."""
    asked = dict(parse_qsl(query))
    tab = asked.get("tab") or ("results" if "study" in asked else "home")
    selected = "#eh-tabs > .tab-wrapper [role=tab][aria-selected=true]"
    page.wait_for_selector(f"{selected}:text-is('{tab.capitalize()}')", state="attached")
    if tab == "home":
        page.wait_for_selector("#eh-first-finding h1", state="attached")


def outside(url: str) -> bool:
    return not url.startswith(("http://127.0.0.1", "data:", "blob:", "about:"))
