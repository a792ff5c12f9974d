"""Twenty payloads as every name and text there is, in every view of the real page: nothing happens.

The page fixture fails a test on any page error and on any request to another host.
"""

from __future__ import annotations

import contextlib
import re
import subprocess
import sys
from pathlib import Path
from urllib.parse import quote

import pytest

from components.results.view_drawing import VIEWS
from studies.store.store import Store
from tests.attacks.attack_list import OWN, PUBLIC
from tests.attacks.attack_log import Mode, attempt
from tests.ui.conftest import App, choose, open_filters, open_folds, open_view, outside, show_file
from tests.ui.hostile import ALL, CONTROLS, HARM, NAMES, PAYLOADS, STUDY, VOTER, fill
from tests.ui.test_page import tab
from tests.waiting import until

pytestmark = [pytest.mark.browser, pytest.mark.long]
ROOT = Path(__file__).resolve().parents[2]
HERE = f"study={quote(STUDY)}"
SCRIPTS = "script injection"


@pytest.fixture(scope="module")
def app(tmp_path_factory):
    """The page on a store that holds the hostile study beside the demo."""
    folder = tmp_path_factory.mktemp("hostile")
    fill(folder / "evenhand.db", folder)
    running = App(folder / "evenhand.db")
    yield running
    running.close()


@pytest.fixture
def watched(visit):
    """A page on which a dialog is a fault."""
    dialogs = []

    def open_page(query: str, **more):
        page = visit(query, **more)
        page.on("dialog", lambda dialog: (dialogs.append(dialog.message), dialog.dismiss()))
        return page

    yield open_page
    assert dialogs == []


PLOT_BOXES = """() => [...document.querySelectorAll('.eh-plot .main-svg')]
  .map(one => one.getBoundingClientRect()).filter(box => box.width && box.height)
  .map(({x, y, width, height}) => ({x, y, width, height}))"""


def harmless(page, mode: Mode = OWN, *inputs: str) -> None:
    """Everything unfolded, the pointer over every chart; then nothing of theirs is alive.

    Recorded as tried: the payloads that the page shows as text, or the `inputs` named.
    """
    page.evaluate("document.querySelectorAll('details').forEach(one => { one.open = true; })")
    for box in page.evaluate(PLOT_BOXES)[:4]:  # in one step: a view may be drawn again meanwhile
        for share in (0.3, 0.6, 0.9):
            page.mouse.move(box["x"] + share * box["width"], box["y"] + box["height"] / 2)
    page.wait_for_timeout(250)
    text = page.evaluate("document.body.textContent")
    tried = inputs or [payload for payload in PAYLOADS if payload in text]
    with attempt(SCRIPTS, mode, *tried) if tried else contextlib.nullcontext():
        assert page.evaluate(HARM) == []
        assert page.title() == "Evenhand"


def shows(page, text: str) -> bool:
    """The payload is on the page as text: not left out, not run."""
    return text in page.evaluate("document.body.textContent")


def test_in_every_view_of_the_results(watched):
    page = watched(f"{HERE}&tab=results&view=Paper")
    page.get_by_test_id("Paper-radio-label").wait_for(state="attached")
    for view in VIEWS:
        open_view(page, view)
        panel = page.locator(".eh-view >> visible=true").first
        until(lambda panel=panel: len(panel.inner_text()) > 200)
        open_folds(page)
        page.wait_for_timeout(600)
        harmless(page)
        assert shows(page, PAYLOADS[1]), view
    open_filters(page)
    page.locator("#eh-filter-contestants input").click()
    page.get_by_role("option").first.click()
    open_filters(page)
    page.locator("#eh-filter-suspects input").click()
    page.get_by_role("option", name="without", exact=True).click()
    page.wait_for_timeout(800)
    harmless(page)


@pytest.mark.long
def test_in_inspect_in_the_run_in_votes_and_in_what_is_shared(watched):
    page = watched(f"{HERE}&tab=inspect", width=1000)
    page.wait_for_selector(".eh-inspect-open [data-key]")
    harmless(page)
    assert shows(page, PAYLOADS[0]) and page.locator("mark").count()
    page.locator(".eh-inspect-open [data-keys~=j]").first.click()
    page.wait_for_timeout(500)
    harmless(page)
    for name in ("Run", "Vote", "Study"):
        tab(page, name)
        page.wait_for_timeout(900)
        harmless(page)
    page.locator("#eh-share").click()
    until(lambda: page.locator("#eh-link").text_content())
    harmless(page)


@pytest.mark.long
def test_as_a_file_as_its_columns_and_as_a_study_file(watched, tmp_path):
    name = "".join(c for c in PAYLOADS[1] if c != "/")
    table = tmp_path / f"{name}.csv"
    heads = [f'"{text}"' for text in (PAYLOADS[2].replace('"', '""'), "b", "c", "d")]
    table.write_text(",".join(heads) + "\n" + '"<img src=x onerror=alert(1)>",2,3,4\n' * 3)
    page = watched("tab=home")
    choose(page, table, then="Name the columns")
    page.get_by_text("Use these columns").wait_for()
    assert shows(page, PAYLOADS[2])
    harmless(page, OWN, PAYLOADS[1], PAYLOADS[2])

    show_file(page)
    page.locator("#eh-yaml .cm-content").click()
    page.keyboard.press("ControlOrMeta+a")
    judge = f'{{name: "{NAMES[0][:60]}", model: simulated}}'.replace('"<', "'<").replace('"}', "'}")
    page.keyboard.insert_text(f"name: '{PAYLOADS[0]}'\njudges: [{judge}]\n'{PAYLOADS[5]}': 1\n")
    page.wait_for_timeout(2000)
    harmless(page, OWN, PAYLOADS[0], NAMES[0], PAYLOADS[5])


@pytest.mark.parametrize("payload", [PAYLOADS[1], PAYLOADS[5], PAYLOADS[14]])
def test_in_an_address_that_names_no_study(watched, payload):
    page = watched(
        f"study={quote(payload)}&tab=inspect&item={quote(payload)}&text={quote(payload)}"
    )
    page.wait_for_selector(".toast-body")
    assert payload[:20] in page.locator(".toast-body").first.inner_text()
    harmless(page, OWN, payload)


@pytest.mark.long
def test_as_the_name_and_the_comment_of_a_voter(watched, app):
    page = watched(f"{HERE}&tab=vote")
    page.fill(".eh-vote input[name=voter]", VOTER)
    page.click(".eh-vote button[type=submit]")
    page.wait_for_selector(".eh-vote .choices")
    page.fill("[data-comment]", f"{CONTROLS}{ALL}")
    page.wait_for_timeout(400)
    before = page.get_attribute(".eh-vote", "data-ballot")
    page.click(".choice >> nth=0")
    page.wait_for_function(
        "before => document.querySelector('.eh-vote')?.dataset.ballot !== before", arg=before
    )
    assert shows(page, VOTER)
    harmless(page)
    store = Store(app.store)
    (vote,) = [j for j in store.judgements(STUDY) if j.ask.judge == f"human:{VOTER}"]
    store.close()
    assert PAYLOADS[1] in vote.reply
    page = watched(f"{HERE}&tab=inspect&judge={quote(vote.ask.judge)}")
    page.wait_for_selector(".eh-inspect-open [data-key]")
    assert shows(page, VOTER) and shows(page, PAYLOADS[1])
    harmless(page)
    page = watched(f"{HERE}&tab=results&view=Agreement")
    page.wait_for_selector("#eh-results-data p")
    open_folds(page)
    until(lambda: shows(page, VOTER))
    harmless(page)


@pytest.mark.long
def test_as_the_name_of_a_file_that_is_fetched(watched):
    """No part of a path, no control character, no sign that a shell or a browser reads."""
    page = watched(f"{HERE}&tab=results")
    page.locator("#eh-share").click()
    for name, ending in (("jsonl", "jsonl"), ("csv", "csv"), ("yaml", "yaml"), ("report", "html")):
        with page.expect_download() as fetched:
            page.locator(f"#eh-export-{name}").click()
        assert re.fullmatch(rf"[a-z0-9-]{{1,80}}\.{ending}", fetched.value.suggested_filename)
    harmless(page)


@pytest.fixture(scope="module")
def frozen(app, tmp_path_factory):
    """The study as a folder that runs by itself, started from there as a Space starts it."""
    folder = tmp_path_factory.mktemp("frozen")
    command = [sys.executable, "-m", "components", "freeze", STUDY, str(folder / "page")]
    subprocess.run([*command, "--store", str(app.store)], cwd=ROOT, check=True, capture_output=True)
    with pytest.MonkeyPatch.context() as environment:
        environment.setenv("EVENHAND_PUBLIC", "1")
        running = App(folder / "unused.db", folder / "page")
    yield running
    running.close()


@pytest.mark.long
def test_on_the_page_of_a_frozen_study(browser, frozen):
    faults: list[str] = []
    page = browser.new_context(viewport={"width": 1440, "height": 900}).new_page()
    page.set_default_timeout(90_000)
    page.on("pageerror", lambda error: faults.append(str(error)))
    page.on("dialog", lambda dialog: (faults.append("a dialog"), dialog.dismiss()))
    page.on("request", lambda r: faults.append(r.url) if outside(r.url) else None)
    page.goto(f"{frozen.url}/?{HERE}&tab=results&view=Paper")
    page.get_by_test_id("Paper-radio-label").wait_for(state="attached")
    assert not page.get_by_role("tab", name="Run", exact=True).is_visible()
    for view in VIEWS:
        open_view(page, view)
        panel = page.locator(".eh-view >> visible=true").first
        until(lambda panel=panel: len(panel.inner_text()) > 200)
        open_folds(page)
        page.wait_for_timeout(600)
        harmless(page, PUBLIC)
        assert shows(page, PAYLOADS[1]), view
    tab(page, "Inspect")
    page.wait_for_selector(".eh-inspect-open [data-key]")
    harmless(page, PUBLIC)
    assert shows(page, PAYLOADS[0]) and page.locator("mark").count()
    page.locator("#eh-share").click()
    until(lambda: page.locator("#eh-link").text_content())
    with page.expect_download() as fetched:
        page.locator("#eh-export-jsonl").click()
    assert re.fullmatch(r"[a-z0-9-]{1,80}\.jsonl", fetched.value.suggested_filename)
    harmless(page, PUBLIC)
    with attempt(SCRIPTS, PUBLIC, "a dialog, an error or a request to another host"):
        assert faults == []
    page.context.close()


@pytest.mark.long
def test_in_the_report_that_is_handed_on(browser, app, tmp_path):
    target = tmp_path / "report.html"
    command = [sys.executable, "-m", "components", "report", STUDY, str(target)]
    subprocess.run([*command, "--store", str(app.store)], cwd=ROOT, check=True, capture_output=True)
    faults: list[str] = []
    page = browser.new_page()
    page.on("pageerror", lambda error: faults.append(str(error)))
    page.on("dialog", lambda dialog: (faults.append("a dialog"), dialog.dismiss()))
    page.on("request", lambda r: faults.append(r.url) if is_outside(r.url) else None)
    page.goto(target.as_uri())
    page.wait_for_selector(".main-svg")
    page.wait_for_timeout(500)
    assert shows(page, PAYLOADS[1])
    with attempt(SCRIPTS, OWN, *(payload for payload in PAYLOADS if shows(page, payload))):
        assert page.evaluate(HARM) == [] and faults == []
    page.close()


def is_outside(url: str) -> bool:
    return outside(url) and not url.startswith("file:")
