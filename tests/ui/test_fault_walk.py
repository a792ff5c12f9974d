"""Faults in the middle of a run: the page says what happened and what to do, and goes on.

The real app, a real browser, and trouble from outside: a process that is killed, a disk that takes
nothing more, a file that is gone, a network that ends.
"""

from __future__ import annotations

import os
import resource
import signal
import sys
from pathlib import Path
from urllib.parse import quote

import pytest

from judges.models.weights import WeightsMissing, find_default_weights
from judges.planning.plan import make_plan, save_plan
from studies.spec.study import parse_study
from studies.store.store import Store
from tests.judge_server import JudgeServer
from tests.judges.small_studies import endpoint, study_plan
from tests.page_words import says
from tests.ui.test_page import asked
from tests.waiting import free_port, until

pytestmark = [
    pytest.mark.browser,
    pytest.mark.long,
    pytest.mark.skipif(sys.platform != "linux", reason="NOT LINUX: no prlimit, no /proc"),
]
ASKS = 50


@pytest.fixture
def planned(app, tmp_path):
    """Saves a study of fifty asks, as the page would."""
    return lambda name, server: saved(app.store, tmp_path, name, server, ASKS)


def saved(path: Path, folder: Path, name: str, server: JudgeServer, asks: int) -> str:
    plan = study_plan(folder, [endpoint(server.base_url, "judge")], asks, name=name, concurrency=2)
    store = Store(path)
    save_plan(plan, store)
    store.close()
    return name


class Pace:
    """How long an answer takes: long enough to get in between, and nothing once that is done."""

    seconds = 1.0

    def __call__(self, index: int) -> float:
        return self.seconds


@pytest.fixture
def pace() -> Pace:
    return Pace()


def started(visit, name: str):
    """The page on which a run is on and some answers are there."""
    page = visit(f"tab=run&study={quote(name)}")
    page.locator("#eh-start").click()
    until(lambda: asked(page)[0] >= 2)
    return page


def notices(page) -> str:
    return " ".join(page.locator("#eh-run-notices").inner_text().split())


def ends(page, app, name: str, asks: int = ASKS) -> None:
    """Every ask has its verdict, where need be after a click on what the page offers; and the
    page says so."""

    def over() -> bool:
        if evidence(app, name) == {"planned": asks, "ok": asks}:
            return asked(page) == (asks, asks)
        for offered in ("#eh-start", "#eh-retry"):
            button = page.locator(offered)
            if button.is_visible() and button.is_enabled():
                button.click()
        return False

    until(over, 180)


def evidence(app, name: str) -> dict[str, int]:
    """What somebody finds who opens the store's file anew."""
    store = Store(app.store)
    counts = store.status_counts(name)
    store.close()
    return counts


def test_a_network_that_ends_is_told_and_the_run_goes_on_when_it_is_back(visit, app, planned, pace):
    port = free_port()
    with JudgeServer(port=port, latency=pace) as server:
        name = planned("network", server)
        page = started(visit, name)
    told = until(lambda: "Retrying." in notices(page) and notices(page))
    assert says(told, "unreachable", "nothing is lost")
    with JudgeServer(port=port):
        ends(page, app, name)


def test_a_disk_that_is_full_is_told_and_the_run_goes_on_when_there_is_room(
    visit, app, planned, pace
):
    with JudgeServer(latency=pace) as server:
        name = planned("disk", server)
        page = started(visit, name)
        log = app.store.with_name(app.store.name + "-wal").stat().st_size
        unlimited = resource.RLIM_INFINITY
        resource.prlimit(app.process.pid, resource.RLIMIT_FSIZE, (log + 4096, unlimited))
        try:
            told = until(lambda: "cannot be written" in notices(page) and notices(page))
            assert "make room" in told and "Received replies are held" in told
        finally:
            resource.prlimit(app.process.pid, resource.RLIMIT_FSIZE, (unlimited, unlimited))
        pace.seconds = 0
        again = page.locator("#eh-run-notices").get_by_role("button", name="Try again")
        if again.is_visible():  # it tries by itself, too
            again.click()
        ends(page, app, name)
        assert server.bill.totals.calls == ASKS, "no answer that came back was asked for again"


def test_a_store_that_is_removed_comes_back_and_that_is_told(visit, app, planned, pace):
    with JudgeServer(latency=pace) as server:
        name = planned("removed", server)
        page = started(visit, name)
        for tail in ("", "-wal", "-shm"):
            app.store.with_name(app.store.name + tail).unlink(missing_ok=True)
        told = until(lambda: "The store file was restored." in notices(page) and notices(page))
        assert "no data was lost" in told
        pace.seconds = 0
        ends(page, app, name)
        assert server.bill.totals.calls == ASKS
    page.reload()
    until(lambda: page.locator("#eh-run-finding h1").count() and asked(page) == (ASKS, ASKS))


STUDY = """
name: killed
data: {source: probe, count: 2, seed: 3}
contestants: [precise, flawed]
judges: [{name: local, model: embedded}]
prompts: [brief-letters]
"""


@pytest.mark.embedded
def test_an_embedded_judge_that_is_killed_is_started_again(visit, app):
    try:
        find_default_weights()
    except WeightsMissing as error:
        pytest.skip(f"NO WEIGHTS: {error}")
    store = Store(app.store)
    save_plan(make_plan(parse_study(STUDY)), store)
    store.close()
    page = visit("tab=run&study=killed")
    page.locator("#eh-start").click()
    until(lambda: asked(page)[0] >= 1, 180)
    children = [pid for pid in children_of(app.process.pid) if "embedded" in command(pid)]
    assert children, "the embedded judge is a process of its own"
    for pid in children:
        os.kill(pid, signal.SIGKILL)
    ends(page, app, "killed", 4)


def children_of(pid: int) -> list[int]:
    listed = Path(f"/proc/{pid}/task").glob("*/children")
    return [int(child) for path in listed for child in path.read_text().split()]


def command(pid: int) -> str:
    return Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode()
