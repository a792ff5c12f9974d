"""A click on Pause, measured where it counts: from its arrival at the page's server."""

from __future__ import annotations

import json
import time
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import gradio as gr
from starlette.middleware import Middleware

from components.layout import header
from components.run import tab as run_tab
from components.run.live_figures import LiveStudies
from judges.engine.engine import Engine
from studies.store.store import Store
from tests.judge_server import JudgeServer
from tests.judges.small_studies import start_small
from tests.waiting import until


class Doorman:
    """Notes when a click reaches the server, before Gradio has read a byte of it."""

    def __init__(self, app: Any, arrived: Callable[[], None]) -> None:
        self._app, self._arrived = app, arrived

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] == "http" and scope["path"].endswith("/run/predict"):
            self._arrived()
        await self._app(scope, receive, send)


@contextmanager
def served(
    store: Store, engine: Engine, arrived: Callable[[], None]
) -> Iterator[tuple[str, gr.Blocks]]:
    with gr.Blocks() as blocks:
        top, tab = header.build(), run_tab.build()
        top.study.choices = [("small", "small")]
        run_tab.bind(tab, top, store, engine, LiveStudies(store))
    blocks.queue(default_concurrency_limit=16)
    door = {"middleware": [Middleware(Doorman, arrived=arrived)]}
    _, url, _ = blocks.launch(
        prevent_thread_lock=True, quiet=True, server_port=None, app_kwargs=door, ssr_mode=False
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


def test_pause_holds_soon_after_the_click_reaches_the_server(store, tmp_path):
    engine = Engine()
    clicks: list[float] = []
    with (
        JudgeServer(latency=0.05) as server,
        served(store, engine, lambda: clicks.append(server.app.now())) as (url, blocks),
    ):
        run = start_small(engine, store, tmp_path, server, items=2000, concurrency=16)
        until(lambda: server.bill.totals.calls > 60)
        click(url, blocks, "eh-pause", "small", "All")
        assert run.state == "paused"
        until(lambda: run.snapshot().in_flight == 0)
        late = [call for call in server.bill.calls if call.arrived > clicks[0]]
        assert len(clicks) == 1
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
