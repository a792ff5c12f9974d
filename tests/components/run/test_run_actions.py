"""A click on Pause: after it only the calls that were under way arrive; its time: `make bench`."""

from __future__ import annotations

import json
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any

import gradio as gr
import pytest

from components.layout import header
from components.run import actions_tab
from components.run import tab as run_tab
from components.run.live_figures import LiveStudies
from judges.engine.engine import Engine
from judges.engine.pending_asks import statuses_to_retry
from judges.engine.run import Run
from judges.judge_errors import PlanError
from judges.security.key_consents import KeyDestination, TypedKey
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
        stored = store.status_counts("small")["ok"]
        time.sleep(0.2)  # for a call that should not come
        assert stored == server.bill.totals.calls, "what was in flight is stored"
        click(url, blocks, "eh-pause", "small", "All")
        until(lambda: server.bill.totals.calls > stored)
        click(url, blocks, "eh-stop", "small", "All")
        assert run.wait(120)
        engine.close()
    assert run.state == "stopped"


# ---- buttons, without a browser --------------------------------------------------------------


class FakeRun:
    """A run that notes what is done to it."""

    def __init__(self, state: str) -> None:
        self.state, self.done = state, list[Any]()

    def __getattr__(self, name: str) -> Any:
        return lambda *given: self.done.append((name, *given))


class FakeEngine:
    """An engine with a run, or without; notes the keys that it may send."""

    def __init__(self, run: FakeRun | None) -> None:
        self.run, self.allowed = run, list[Any]()

    def active_run(self, name: str) -> FakeRun | None:
        return self.run

    def consents(self, store: Store) -> Any:
        return SimpleNamespace(store_consent=self.allowed.append)


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """Record the runs that are started; every redraw returns ["drawn"]."""
    made: list[Any] = []
    monkeypatch.setattr(actions_tab, "render", lambda *_: ["drawn"])
    monkeypatch.setattr(actions_tab, "show_latest_run_pill", lambda *_: "pill")
    monkeypatch.setattr(
        actions_tab, "start_run", lambda store, engine, *given, **named: made.append((given, named))
    )
    return made


def actions(run: FakeRun | None = None, store: Any = None) -> actions_tab.RunActions:
    return actions_tab.RunActions(store, FakeEngine(run), SimpleNamespace(quotes=None))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("click", "done"),
    [
        ({"do": "leave_out", "judge": "j"}, [("leave_out_judge", "j")]),
        ({"do": "at_most", "judge": "j", "calls": 3}, [("limit_in_flight", "j", 3)]),
        ({"do": "at_most", "judge": "j", "calls": 0}, [("limit_in_flight", "j", 1)]),
        ({"do": "at_most", "judge": "j", "calls": "9"}, [("limit_in_flight", "j", 1)]),
        ({"do": "go"}, [("resume",)]),
        ({"do": "dance"}, []),
        ({"do": 3}, []),
        ("text", []),
    ],
)
def test_a_button_of_a_notice_acts_on_the_active_run(click, done, started) -> None:
    run = FakeRun("paused")
    event = gr.EventData(None, click)
    assert actions(run).perform_notice_action("s", "All", event) == ["drawn", "pill", gr.skip()]
    assert run.done == done and started == []
    actions(None).perform_notice_action("s", "All", event)  # no run: nothing happens
    assert started == []


@pytest.mark.parametrize(
    ("budget", "runs"),
    [(2.5, [(("s",), {"budget": 2.5})]), (3, [(("s",), {"budget": 3.0})]), (0, []), (-1, []),
     ("9", []), (None, [])],
)  # fmt: skip
def test_a_higher_budget_starts_a_run_with_this_number_of_dollars(budget, runs, started) -> None:
    event = gr.EventData(None, {"do": "raise", "budget": budget})  # type: ignore[arg-type]
    actions().perform_notice_action("s", "All", event)
    assert started == runs


def test_a_key_is_allowed_for_the_named_host_only_and_a_failure_is_told(started, monkeypatch):
    warned: list[str] = []
    monkeypatch.setattr(actions_tab.gr, "Warning", warned.append)
    event = gr.EventData(None, {"do": "allow", "variable": "KEY", "origin": "http://h"})  # type: ignore[arg-type]
    one = actions()
    one.perform_notice_action("s", "All", event)
    assert one._engine.allowed == [KeyDestination("KEY", "http://h")] and warned == []

    def refuse(store: Store) -> Any:
        raise PlanError("not <here>")

    monkeypatch.setattr(one._engine, "consents", refuse)
    one.perform_notice_action("s", "All", event)
    assert warned == ["not &lt;here&gt;"] and len(one._engine.allowed) == 1


@pytest.mark.parametrize(
    ("state", "do", "done"),
    [("running", "pause_or_resume", [("pause",)]), ("paused", "pause_or_resume", [("resume",)]),
     ("running", "stop", [("stop",), ("wait", 2)])],
)  # fmt: skip
def test_a_run_is_paused_resumed_and_stopped(state, do, done, started) -> None:
    run = FakeRun(state)
    assert getattr(actions(run), do)("s", "All") == ["drawn", "pill"]
    assert run.done == done
    assert getattr(actions(None), do)("s", "All") == ["drawn", "pill"]


def test_a_run_that_cannot_go_on_says_why(monkeypatch: pytest.MonkeyPatch) -> None:
    warned: list[Any] = []
    monkeypatch.setattr(actions_tab.gr, "Warning", lambda *given, **named: warned.append(given))

    def refuse() -> None:
        raise PlanError("too many <runs>")

    actions_tab.resume_or_warn(SimpleNamespace(resume=refuse))  # type: ignore[arg-type]
    assert warned == [("too many &lt;runs&gt;",)]


def test_the_timer_stops_once_no_run_is_active(started, monkeypatch) -> None:
    for name, run, drawn, stops in (
        ("s", None, "drawn", True), ("s", FakeRun("running"), "drawn", False),
        ("", None, "drawn", False), ("s", None, gr.Timer(active=True), False),
    ):  # fmt: skip
        monkeypatch.setattr(actions_tab, "render", lambda *_, drawn=drawn: [drawn, "more"])
        first, *rest = actions(run).redraw_on_timer(name, "All")
        assert rest == ["more", "pill"]
        assert (isinstance(first, gr.Timer) and first.active is False) is stops


@pytest.mark.parametrize(
    ("lacking", "typed", "needs", "error", "warned", "runs"),
    [
        ([], "", True, "", [], [{}]),
        (["j"], "", True, "", ["Type the key of j first."], []),
        (["j", "<k>"], " ", True, "", ["Type the key of j and &lt;k&gt; first."], []),
        (["j"], "", False, "", [], [{}]),
        (["j"], "sk", True, "bad <key>", ["bad &lt;key&gt;"], []),
        (["j", "k"], "sk", True, "", [], [dict.fromkeys("jk", TypedKey("sk", "http://h"))]),
    ],
)
def test_a_run_starts_only_with_the_keys_it_needs(
    lacking, typed, needs, error, warned, runs, started, monkeypatch
) -> None:
    told: list[str] = []
    monkeypatch.setattr(actions_tab.gr, "Warning", told.append)
    facts = SimpleNamespace(judges_without_key=lacking)
    monkeypatch.setattr(actions_tab, "load_run_facts", lambda *_: facts)
    monkeypatch.setattr(actions_tab.RunActions, "_needs_key", lambda *_: needs)
    monkeypatch.setattr(actions_tab, "try_typed_keys", lambda *_: error)
    *drawn, box = actions().start("s", "All", typed, "http://h")
    assert drawn == ["drawn", "pill"] and box == ("" if runs else gr.skip())
    assert told == warned
    assert started == [(("s", keys), {"settings": None}) for keys in runs]


def test_retry_makes_the_calls_again_that_failed(started, monkeypatch) -> None:
    facts = SimpleNamespace(judges_without_key=[])
    monkeypatch.setattr(actions_tab, "load_run_facts", lambda *_: facts)
    store = SimpleNamespace(status_counts=lambda name: {"ok": 3, "error": 2})
    actions(store=store).retry("s", "All")
    ((_, named),) = started
    assert named["settings"].retry_statuses == statuses_to_retry({"ok": 3, "error": 2})
