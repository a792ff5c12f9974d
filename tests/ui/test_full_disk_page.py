"""A file system that is really full, under the real page: it says so, loses nothing, and goes on.

The store lies on a file system of its own, in memory, whose last block is taken by somebody else's
file. Where none may be mounted this is skipped, loudly; tests/ui/test_fault_walk.py then still
limits the sizes of files, which the kernel refuses in the same place.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote

import pytest

from tests.judge_server import JudgeServer
from tests.small_disk import filled, mounted
from tests.ui.conftest import App
from tests.ui.test_fault_walk import Pace, ends, notices, saved, started
from tests.waiting import until

pytestmark = [
    pytest.mark.browser,
    pytest.mark.long,
    pytest.mark.skipif(sys.platform != "linux", reason="NOT LINUX: no tmpfs"),
]
ASKS = 30


@pytest.fixture(scope="module")
def disk(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    with mounted(tmp_path_factory.mktemp("disk")) as folder:
        yield folder


@pytest.fixture(scope="module")
def app(disk: Path) -> Iterator[App]:
    """The store, what Gradio keeps and the log of the page are all on the small disk."""
    with pytest.MonkeyPatch.context() as environment:
        environment.setenv("GRADIO_TEMP_DIR", str(disk / "passing"))
        running = App(disk / "evenhand.db")
    yield running
    running.close()


@pytest.fixture
def planned(app: App, tmp_path: Path):
    return lambda name, server: saved(app.store, tmp_path, name, server, ASKS)


def test_a_run_pauses_and_says_why_and_goes_on_when_there_is_room(visit, app, disk, planned):
    pace = Pace()
    with JudgeServer(latency=pace) as server:
        name = planned("on a small disk", server)
        page = started(visit, name)
        with filled(disk):
            told = until(lambda: "disk is full" in notices(page) and notices(page))
            assert "free some space" in told and "Received replies are held" in told
        pace.seconds = 0
        page.locator("#eh-run-notices").get_by_role("button", name="Try again").click()
        ends(page, app, name, ASKS)
        assert server.bill.totals.calls == ASKS, "no answer that came back was asked for again"


def toasts(page) -> str:
    return " ".join(" ".join(page.locator(".toast-body").all_inner_texts()).split())


def test_exports_votes_and_saving_say_that_the_disk_is_full(visit, app, disk, planned):
    with JudgeServer() as server:
        name = planned("to be exported", server)
        page = started(visit, name)
        ends(page, app, name, ASKS)
        page = visit(f"tab=vote&study={quote(name)}")
        page.fill(".eh-vote input[name=voter]", "ann")
        page.click(".eh-vote button[type=submit]")
        page.wait_for_selector(".eh-vote .choices")
        page.wait_for_timeout(400)
        with filled(disk):
            tries = set()
            for _ in range(2):  # and again: the buttons of the same page answer at once
                page.fill(".eh-vote [data-comment]", "typed before")
                page.click(".choice >> nth=0")
                until(lambda: page.get_attribute(".eh-vote", "data-tried") not in (None, *tries))
                tries.add(page.get_attribute(".eh-vote", "data-tried"))
                assert "Your vote is not saved" in page.inner_text(".eh-vote .said")
                assert page.input_value(".eh-vote [data-comment]") == "typed before"
        page.click(".choice >> nth=0")
        until(lambda: page.inner_text(".eh-vote [role=status]").startswith("1 of"))
        assert page.locator(".eh-vote .said").count() == 0
        assert page.input_value(".eh-vote [data-comment]") == ""
        with filled(disk):
            page.locator("#eh-share").click()
            for button in ("#eh-export-jsonl", "#eh-export-report"):
                page.locator(button).click()
                until(lambda: "make room" in toasts(page).lower())
                assert str(disk) not in toasts(page)
                for close in page.locator(".toast-close").all():
                    close.click()
