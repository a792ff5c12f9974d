"""A click on Pause: after it only the calls that were under way arrive; its time: `make bench`."""

from __future__ import annotations

import json
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import gradio as gr

from components.layout import header
from components.run import tab as run_tab
from components.run.live_figures import LiveStudies
from judges.engine.engine import Engine
from judges.engine.run import Run
from studies.store.store import Store
from tests.judge_server import JudgeServer
from tests.judges.small_studies import start_small
from tests.waiting import until


@contextmanager
def served(store: Store, engine: Engine) -> Iterator[tuple[str, gr.Blocks]]:
    with gr.Blocks() as blocks:
        top, tab = header.build(), run_tab.build()
        top.study.choices = [("small", "small")]
        run_tab.bind(tab, top, store, engine, LiveStudies(store))
    blocks.queue(default_concurrency_limit=16)
    _, url, _ = blocks.launch(
        prevent_thread_lock=True, quiet=True, server_port=None, ssr_mode=False
    )
    try:
        yield url, blocks
    finally:
        blocks.close(verbose=False)


def click(url: str, blocks: gr.Blocks, button: str, *values: object) -> None:
    """What the browser sends for a button outside the queue."""
    ids = {part["id"] for part in blocks.config["components"] if _named(part, button)}
    number = next(
        event["id"]
        for event in blocks.config["dependencies"]
        if any(target[0] in ids and target[1] == "click" for target in event["targets"])
        and not event["queue"]
    )
    body = {"data": list(values), "fn_index": number, "session_hash": "one"}
    request = urllib.request.Request(
        f"{url}gradio_api/run/predict", json.dumps(body).encode(),
        {"Content-Type": "application/json"},
    )  # fmt: skip
    with urllib.request.urlopen(request, timeout=30) as reply:
        assert reply.status == 200


def _named(part: dict[str, Any], button: str) -> bool:
    return part["props"].get("elem_id") == button


def test_after_a_click_on_pause_only_calls_under_way_arrive(store, tmp_path, monkeypatch):
    engine, pause = Engine(), Run.pause
    paused: list[float] = []
    with JudgeServer(latency=0.05) as server, served(store, engine) as (url, blocks):

        def note_pause(run: Run) -> None:
            pause(run)
            paused.append(server.app.now())

        monkeypatch.setattr(Run, "pause", note_pause)
        run = start_small(engine, store, tmp_path, server, items=800, concurrency=16)
        until(lambda: server.bill.totals.calls > 60)
        click(url, blocks, "eh-pause", "small", "All")
        assert run.state == "paused"
        until(lambda: run.snapshot().in_flight == 0)
        late = [call for call in server.bill.calls if call.arrived > paused[0]]
        assert len(paused) == 1
        assert len(late) <= 16, "no more than were under way"
        stored = store.counts("small")["ok"]
        time.sleep(0.2)  # for a call that should not come
        assert stored == server.bill.totals.calls, "what was in flight is stored"
        click(url, blocks, "eh-pause", "small", "All")
        until(lambda: server.bill.totals.calls > stored)
        click(url, blocks, "eh-stop", "small", "All")
        assert run.wait(120)
        engine.close()
    assert run.state == "stopped"
