"""Two strangers at one public page, each in a browser of their own: what one makes the other does
not see, until Share makes a link, and then the other looks and nothing else."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import parse_qs, quote, urlsplit

import pytest

from components.server.visitor_identity_tab import STORAGE_KEY
from tests.attacks.attack_list import PUBLIC
from tests.attacks.attack_log import attempt
from tests.page_words import says
from tests.ui.conftest import ROOT, App, wait_until_opened
from tests.waiting import until

STUDY = """
name: mine alone
data: {source: probe, count: 4, seed: 3}
contestants: [precise, flawed]
judges: [{name: firstish, model: simulated, first_bias: 0.5, seed: 1}]
prompts: [brief-letters]
"""
NAME = "mine alone"
READING = "reading another's run"
pytestmark = [pytest.mark.browser, pytest.mark.long]


class PublicApp(App):
    def restart(self) -> None:
        """At the same port: what a browser keeps, it keeps for an address."""
        self.process.terminate()
        self.process.wait(30)
        self.process = subprocess.Popen(
            self.process.args, cwd=ROOT, stdout=self.log, stderr=subprocess.STDOUT
        )
        self._wait(120)


@pytest.fixture(scope="module")
def app(tmp_path_factory: pytest.TempPathFactory) -> Iterator[PublicApp]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("EVENHAND_PUBLIC", "1")
        running = PublicApp(tmp_path_factory.mktemp("public") / "evenhand.db")
        yield running
        running.close()


@pytest.fixture(scope="module")
def people(browser) -> Iterator[list]:
    """Two browsers that know nothing of each other."""
    contexts = [browser.new_context(viewport={"width": 1440, "height": 900}) for _ in range(2)]
    yield contexts
    for context in contexts:
        context.close()


def visit(context, url: str):
    page = context.new_page()
    page.set_default_timeout(90_000)
    page.goto(url)
    wait_until_opened(page, url.partition("?")[2])
    return page


def shown(page) -> str:
    return page.locator("#eh-study input").input_value()


def offered(page) -> list[str]:
    page.locator("#eh-study input").click()
    page.wait_for_selector("#eh-study [role=option]")
    names = page.locator("#eh-study [role=option]").all_inner_texts()
    page.keyboard.press("Escape")
    return [name.strip().lstrip("✓").strip() for name in names]


def address(page) -> dict[str, list[str]]:
    return parse_qs(urlsplit(page.evaluate("location.href")).query)


def kept(page) -> str:
    return page.evaluate(f"localStorage.getItem({STORAGE_KEY!r})") or ""


@pytest.fixture(scope="module")
def link(app: PublicApp, people: list, tmp_path_factory: pytest.TempPathFactory) -> str:
    """A makes a study, runs it, and shares it."""
    page = visit(people[0], app.url)
    until(lambda: kept(page))
    file = tmp_path_factory.mktemp("files") / "study.yaml"
    file.write_text(STUDY)
    page.get_by_role("tab", name="Study", exact=True).first.click()
    page.locator("#eh-file-menu summary").click()
    with page.expect_file_chooser() as chooser:
        page.locator("#eh-file-menu").get_by_text("Open a study file").click()
    chooser.value.set_files(file)
    until(lambda: page.locator("#eh-run").inner_text().startswith("Run 8 calls"))
    page.locator("#eh-run").click()
    until(lambda: "8 of 8 calls done" in page.locator("#eh-run-finding").inner_text())
    until(lambda: address(page).get("study", [""])[0].startswith(f"{NAME} ("))
    page.locator("#eh-share").click()
    page.wait_for_selector("#eh-link-make")
    assert says(page.locator("#eh-link-note").inner_text(), "Only you")
    page.locator("#eh-link-make").click()
    made = until(lambda: [t for t in [page.locator("#eh-link").inner_text()] if "token=" in t])
    page.close()
    return str(made[0])


def name_in(link: str) -> str:
    """The study that a link names: A's name for it, with the mark of A."""
    return parse_qs(urlsplit(link).query)["study"][0]


def test_a_study_is_its_makers_alone(app: PublicApp, people: list, link: str) -> None:
    page = visit(people[1], f"{app.url}/?study={quote(name_in(link))}&tab=run")
    with attempt(READING, PUBLIC, "another's address", "the menu of studies"):
        page.get_by_text("There is no study named").wait_for()
        until(lambda: kept(page))
        assert name_in(link) not in offered(page)
    page.close()


def test_a_link_shows_it_and_offers_nothing_that_runs(
    app: PublicApp, people: list, link: str
) -> None:
    page = visit(people[1], link)
    until(lambda: shown(page) == name_in(link))
    until(lambda: "8 of 8 calls done" in page.locator("#eh-run-finding").inner_text())
    for button in ("#eh-start", "#eh-retry", "#eh-pause", "#eh-stop"):
        with attempt(READING, PUBLIC, f"a reader looks for {button}"):
            assert not page.locator(button).is_visible()
    page.reload()
    until(lambda: shown(page) == name_in(link))
    assert "token" in address(page)
    page.locator("#eh-study input").click()
    page.get_by_role("option", name="Probe set, embedded judge").first.click()
    until(lambda: "token" not in address(page))
    page.close()


def test_secrets_are_in_no_file_of_the_server(app: PublicApp, people: list, link: str) -> None:
    token = parse_qs(urlsplit(link).query)["token"][0]
    folder = Path(app.store).parent
    for path in folder.rglob("*"):
        if path.is_file():
            with attempt(READING, PUBLIC, f"a token in {path.name}"):
                assert token.encode() not in path.read_bytes(), path


def test_a_restart_makes_nobody_a_stranger_and_a_withdrawn_link_is_dead(
    app: PublicApp, people: list, link: str
) -> None:
    app.restart()
    page = visit(people[0], f"{app.url}/?study={quote(name_in(link))}&tab=results")
    until(lambda: shown(page) == name_in(link))
    assert name_in(link) in offered(page)
    page.locator("#eh-share").click()
    page.locator("#eh-link-withdraw").click()
    until(lambda: "Only you can open" in page.locator("#eh-link-note").inner_text())
    page.close()
    page = visit(people[1], f"{app.url}/?{urlsplit(link).query}")
    page.get_by_text("There is no study named").wait_for()
    assert shown(page) != name_in(link)
    page.close()
