"""A flood of a thousand events from one visitor, and from two hundred sessions: others are served
within seconds, excess events are refused, and memory does not grow."""

from __future__ import annotations

import http.client
import json
import subprocess
import sys
import time
import uuid
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from components.server.access import PUBLIC
from components.study.plan.demo_studies import PAIRS_STUDY
from tests.attacks.attack_list import PUBLIC as SHARED
from tests.attacks.attack_log import attempt
from tests.components.server.flooding import flood
from tests.components.server.strangers import Stranger
from tests.ui.conftest import ROOT, App
from tests.waiting import until

pytestmark = [
    pytest.mark.long,
    pytest.mark.skipif(
        sys.platform != "linux", reason="NOT LINUX: no second loopback address, no /proc"
    ),
]
DENIAL = "denial of service"
CROWD = PUBLIC.queue_limits
PATIENCE = 20
"""The most by which a flood may delay a whole page, seven events in a row: times as long as without
a flood, just before or after it. With Gradio's own queue the visitor was turned away."""


@pytest.fixture(scope="module")
def app(tmp_path_factory: pytest.TempPathFactory) -> Iterator[App]:
    with pytest.MonkeyPatch.context() as environment:
        environment.setenv("EVENHAND_PUBLIC", "1")
        running = App(tmp_path_factory.mktemp("flooded") / "evenhand.db")
    yield running
    running.close()


MEGABYTES_ASIDE, COPIES = 80, 4


def event(app: App, name: str, session: str) -> dict[str, Any]:
    """What programs may call: `study_metrics` works longest, `judgements` answers most."""
    config = Stranger(app.url).config["dependencies"]
    step = next(one for one in config if one["api_name"] == name)
    data = {"study_metrics": [PAIRS_STUDY, "", ""], "judgements": [PAIRS_STUDY, 0, 200, ""]}[name]
    return {"data": data, "fn_index": step["id"], "session_hash": session}


def waiting(app: App) -> int:
    line = http.client.HTTPConnection("127.0.0.1", app.port, timeout=60)
    line.request("GET", "/gradio_api/queue/status")
    return int(json.loads(line.getresponse().read())["queue_size"])


def served(app: App) -> float:
    """Seconds until another visitor has the page and a study on it."""
    began = time.monotonic()
    visitor = Stranger(app.url)
    visitor.open()
    shown = visitor.fire("eh-study", "change", {"eh-study": PAIRS_STUDY}, "eh-filter-prompt")
    assert "eh-" in str(shown), "the study, as every tab shows it"
    return time.monotonic() - began


def resident(app: App) -> float:
    """Megabytes."""
    text = Path(f"/proc/{app.process.pid}/status").read_text()
    (line,) = (line for line in text.splitlines() if line.startswith("RssAnon"))
    return int(line.split()[1]) / 1024


def watched(app: App, bodies: list[dict[str, Any]]) -> tuple[Counter[tuple[int, str]], float, int]:
    """Answers to the flood, how many times as long as alone another visitor took meanwhile, how
    long the line got."""
    alone = served(app)
    command = [sys.executable, "-m", "tests.components.server.flooding", str(app.port)]
    with subprocess.Popen(
        command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as flooding:
        assert flooding.stdin and flooding.stdout
        flooding.stdin.write(json.dumps(bodies))
        flooding.stdin.close()
        slowest, longest = 0.0, 0
        while flooding.poll() is None or not slowest:
            longest = max(longest, waiting(app))
            slowest = max(slowest, served(app))
        told = Counter({(code, text): n for code, text, n in json.load(flooding.stdout)})
    until(lambda: waiting(app) == 0, 300)
    return told, slowest / max(alone, served(app)), longest


def test_a_thousand_events_of_one_page_are_told_to_wait_and_others_are_served(app):
    served(app)  # everything that is loaded once is loaded
    told, slowest, longest = watched(app, [event(app, "study_metrics", "flooder")] * 1000)
    taken = sum(n for (code, _), n in told.items() if code == 200)
    refused = {text for code, text in told if code == 429}
    with attempt(DENIAL, SHARED, *(f"event {number} of one page" for number in range(1000))):
        assert {code for code, _ in told} == {200, 429} and sum(told.values()) == 1000
        assert taken < 200 and longest <= CROWD.waiting_per_session + 2, (taken, longest)
        assert refused and all("of this page" in text or "not fetched" in text for text in refused)
        assert slowest < PATIENCE, f"another visitor waited {slowest:.1f} times as long"


def test_two_hundred_sessions_of_one_address_do_not_keep_others_out(app):
    served(app)
    reader, body = Stranger(app.url), event(app, "judgements", "")
    step = next(one for one in reader.steps() if one["id"] == body["fn_index"])
    reader._value = lambda part, values: body["data"][step["inputs"].index(part)]  # type: ignore[method-assign]
    worked, answer = reader.call(step, {})
    assert worked
    before = resident(app)  # everything that is loaded once is loaded
    bodies = [{**body, "session_hash": uuid.uuid4().hex[:11]} for _ in range(200)] * 3
    told, slowest, longest = watched(app, bodies)
    with attempt(DENIAL, SHARED, *(f"event {number} of 200 pages" for number in range(600))):
        assert {code for code, _ in told} <= {200, 429}
        assert longest <= CROWD.waiting_per_address + 2
        assert slowest < PATIENCE, f"another visitor waited {slowest:.1f} times as long"
        taken = sum(n for (code, _), n in told.items() if code == 200)
        # An answer waits as an object and as text; how many were made depends on the machine.
        most = MEGABYTES_ASIDE + COPIES * taken * len(answer) / 1e6
        assert resident(app) - before < most, "megabytes for sessions that nobody reads"


def test_whoever_flooded_is_served_again_when_the_line_is_shorter(app):
    until(lambda: waiting(app) <= CROWD.waiting_per_address // 2)
    assert flood(app.port, [event(app, "judgements", "another page")]) == {(200, ""): 1}


VISITORS, MEGABYTES_EACH = 150, 1.0


def test_the_memory_of_a_hundred_and_fifty_visitors_with_open_results_is_bounded(app):
    """The first hundred fill what is shared; the others, whose sessions stay, add little."""
    for _ in range(VISITORS - 50):
        served(app)
    before = resident(app)
    with attempt(DENIAL, SHARED, *(f"visitor {number} with results" for number in range(VISITORS))):
        for _ in range(50):
            served(app)
        grown = resident(app) - before
        assert grown < 50 * MEGABYTES_EACH, f"{grown:.0f} MB for 50 visitors who left"
