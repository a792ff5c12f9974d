"""Runs of one network address on a public page, counted from the requests themselves."""

from __future__ import annotations

import asyncio
import http.client
import json
import sys
import threading
from pathlib import Path
from typing import Any

import pytest

from components.server.access import PUBLIC
from judges.engine.run import Run
from studies.sharing.visitors import new_secret
from tests.attacks.attack_list import PUBLIC as SHARED
from tests.attacks.attack_log import attempt
from tests.local_app import LocalApp
from tests.page_words import says

DENIAL = "denial of service"
STUDY = """name: held
data: {source: probe, count: 2, seed: 1}
contestants: [precise, flawed]
judges: [{name: judge, model: simulated, seed: 1}]
prompts: [brief-letters]
"""


def run_study(app: LocalApp, address: str) -> str:
    """Start a study over the API, with a new secret; the whole answer."""
    line = http.client.HTTPConnection("127.0.0.1", app.port, 60, source_address=(address, 0))
    body = json.dumps({"data": [STUDY, new_secret()]})
    path = "/gradio_api/call/run_study"
    forged = {"Content-Type": "application/json", "X-Forwarded-For": "198.51.100.1"}
    line.request("POST", path, body, forged)
    event = json.loads(line.getresponse().read())["event_id"]
    line.request("GET", f"{path}/{event}", headers=forged)
    said = line.getresponse().read().decode()
    line.close()
    return said


@pytest.mark.skipif(sys.platform != "linux", reason="NOT LINUX: one loopback address only")
def test_requests_of_one_address_hold_four_runs_with_however_many_secrets(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    over = threading.Event()

    async def wait_for_the_end(run: Run, _: Any) -> None:
        await asyncio.to_thread(over.wait, 60)
        run.finished.set()

    monkeypatch.setattr(Run, "run", wait_for_the_end)
    monkeypatch.setenv("EVENHAND_PUBLIC", "1")
    app = LocalApp(tmp_path / "evenhand.db")
    most = PUBLIC.runs_per_address or 0
    try:
        for number in range(most):
            assert '"run"' in run_study(app, "127.0.0.1"), number
        for number in range(3):
            with attempt(DENIAL, SHARED, f"run {most + number + 1} of one address, over HTTP"):
                said = run_study(app, "127.0.0.1")
                assert says(said, f"{most} runs", "address") and '"run"' not in said
        assert '"run"' in run_study(app, "127.0.0.2"), "another address has places left"
    finally:
        over.set()
        app.close()
