"""The boundary to Gradio: contracts of its private names, the start-up check, no use elsewhere."""

from __future__ import annotations

import ast
import asyncio
import importlib.util
import inspect
import logging
import re
import sys
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import gradio as gr
import pytest
from fastapi import HTTPException

from components.server import gradio_private
from components.server.access import PUBLIC
from components.server.fair_turns import (
    BUSY_POLL_SECONDS,
    IDLE_POLL_SECONDS,
    IDLE_SECONDS,
    UNREAD_ANSWER_SECONDS,
    QueueClient,
)
from components.server.gradio_private import (
    PRIVATE_NAMES,
    FairQueue,
    IdleAwareQueue,
    MinimalStateHolder,
    check_private_names,
)
from components.server.private_name import GradioChanged
from components.server.stub_files import skip_stub_files
from tests.growth import count_calls
from tests.local_app import app_main
from tests.waiting import free_port

ROOT = Path(__file__).parents[3]
BOUNDARY = ROOT / "components" / "server" / "gradio_private.py"
SECURITY = {
    "Blocks.fns", "Blocks.process_api", "processing_utils.async_ssrf_protected_get", "Queue",
    "routes.StateHolder", "SessionState", "http_server.Server", "processing_utils.hash_seed",
}  # fmt: skip
KEY = "sk-typed-into-a-box"


@pytest.fixture(scope="module")
def blocks() -> gr.Blocks:
    with gr.Blocks(analytics_enabled=False) as page:
        count, box = gr.State(0), gr.Textbox(type="password")
        box.change(lambda n, text: n + 1, [count, box], count, show_progress="hidden")
    return page.queue()


def without(module: str, name: str) -> SimpleNamespace:
    """The package gradio as a release would be that has no such name."""
    fake = SimpleNamespace(**vars(gr))
    part = SimpleNamespace(**vars(getattr(gr, module)))
    delattr(part, name)
    setattr(fake, module, part)
    return fake


# ---- contracts: each private name still means what Evenhand takes it for ---------------------


@pytest.mark.parametrize("private", PRIVATE_NAMES, ids=lambda one: one.name)
def test_the_installed_gradio_has_the_name_and_the_check_is_quick(private, blocks):
    seen: list[bool] = []
    assert count_calls(lambda: seen.append(private.is_working(blocks, gr))) < 300_000
    assert seen == [True]
    assert private.use and private.fallback and private.attributes


def test_names_that_protect_visitors_are_marked():
    assert {one.name for one in PRIVATE_NAMES if one.protects_visitors} == SECURITY


def test_guarded_handlers_take_the_added_inputs_first():
    with gr.Blocks() as page:
        token, box, shown = gr.Textbox(), gr.Textbox(), gr.Textbox()
        box.change(lambda text: text, box, shown)
    gradio_private.wrap_handlers(
        page, {"_token": token}, lambda handler, inputs: lambda token, *v: f"{token} {handler(*v)}"
    )
    (event,) = page.fns.values()
    assert list(event.inputs) == [token, box] and event.input_parameter_names[0] == "_token"
    answer = asyncio.run(page.process_api(event, ["secret", "text"]))
    assert answer["data"] == ["secret text"]


def test_scripts_and_status_updates_are_those_of_the_configuration():
    with gr.Blocks() as page:
        first, second = gr.Textbox(), gr.Textbox()
        first.change(lambda a, b: a, [first, second], first, show_progress="hidden")
    gradio_private.set_event_scripts(page, second, lambda place, before: f"script of input {place}")
    gradio_private.disable_status_updates(page)
    (event,) = page.get_config_file()["dependencies"]
    assert event["js"] == "script of input 1" and event["show_progress_on"] == []


def test_the_data_of_a_click_and_of_an_event_without_any():
    assert gradio_private.click_data(gr.EventData(None, {"judge": "a"})) == {"judge": "a"}
    assert gradio_private.click_data(gr.EventData(None, None)) == {}
    assert gradio_private.click_data(SimpleNamespace()) == {}


def test_the_page_is_known_while_it_is_built():
    with gr.Blocks() as page:
        assert gradio_private.current_blocks() is page
    assert gradio_private.current_blocks() is None


def test_the_request_is_known_while_it_is_handled():
    assert gradio_private.current_request() is None
    sent = gr.Request(username="x")
    seen: list[Any] = []
    with gr.Blocks() as page:
        page.load(lambda: seen.append(gradio_private.current_request()))
    (event,) = page.fns.values()
    asyncio.run(page.process_api(event, [], request=sent))
    assert seen == [sent]


def test_a_value_is_converted_by_the_given_function():
    with gr.Blocks() as page:
        view = gr.HTML()
        page.load(lambda: {"figure": 1}, None, view)
    gradio_private.set_postprocess(view, str)
    (event,) = page.fns.values()
    assert asyncio.run(page.process_api(event, []))["data"] == ["{'figure': 1}"]


def test_a_session_keeps_states_and_no_typed_value(blocks, monkeypatch):
    monkeypatch.setattr(gr.routes, "StateHolder", gr.routes.StateHolder)
    gradio_private.use_minimal_sessions(blocks)
    app = gr.routes.App.create_app(blocks)
    assert type(app.state_holder) is MinimalStateHolder
    (event,) = blocks.fns.values()
    state = app.state_holder["one"]
    answer = asyncio.run(blocks.process_api(event, [None, KEY], state=state))
    (count,) = state.state_data.values()
    assert answer["data"] and count == 1 and state.config_values == {}
    kept = {name: value for name, value in vars(state).items() if name != "blocks_config"}
    assert KEY not in repr(kept)


class _Sleeps:
    """A queue's loop that is stopped after a number of looks; stores the seconds between them."""

    def __init__(self, queue: IdleAwareQueue, looks: int) -> None:
        self.seconds: list[float] = []
        self._queue, self._looks = queue, looks

    async def sleep(self, seconds: float) -> None:
        self.seconds.append(seconds)
        self._queue.stopped = len(self.seconds) >= self._looks


def test_gradio_s_loop_looks_less_often_into_an_idle_queue(blocks, monkeypatch):
    queue = IdleAwareQueue.from_queue(blocks._queue)
    sleeps = _Sleeps(queue, 3)
    monkeypatch.setattr(
        gr.queueing, "asyncio", SimpleNamespace(**{**vars(asyncio), "sleep": sleeps.sleep})
    )
    queue.active_jobs = [None]
    asyncio.run(queue.start_processing())
    assert sleeps.seconds == [BUSY_POLL_SECONDS] * 3
    queue.stopped, queue.last_event_time = False, time.monotonic() - IDLE_SECONDS - 1
    sleeps.seconds.clear()
    asyncio.run(queue.start_processing())
    assert sleeps.seconds == [IDLE_POLL_SECONDS] * 3


def test_the_fair_queue_hands_gradio_one_event_of_the_client_whose_turn_it_is(blocks):
    queue = FairQueue.from_queue(blocks._queue, PUBLIC.queue_limits)
    queue.active_jobs = [None] * 4
    (function,) = blocks.fns.values()
    queue.create_event_queue_for_fn(function)

    async def take_turns() -> list[str]:
        waiting = queue.event_queue_per_concurrency_id[function.concurrency_id].queue
        for session in ("flood", "flood", "other"):
            event = gr.queueing.Event(session, function, None, None)
            event.__dict__["queue_client"] = QueueClient(session, session)
            waiting.append(event)
        served = [queue.get_events() for _ in range(3)]
        assert len(queue) == 0 and queue.get_events() is None
        return [events[0].session_hash for events, batch, _ in served if not batch]

    assert asyncio.run(take_turns()) == ["flood", "other", "flood"]


def test_statistics_are_not_computed(blocks):
    gradio_private.replace_queue(blocks, None)
    queue = blocks._queue
    queue.events_recorded = 5
    before = queue.cached_event_analytics_summary
    assert queue.compute_analytics_summary([{"function": "f"}]) is before
    assert queue.ANALYTICS_MAX_EVENTS == 1, "the fewest that Gradio keeps"


def test_the_server_starts_with_the_changed_settings(blocks, monkeypatch):
    server = gr.http_server.Server
    monkeypatch.setattr(gr.http_server, "Server", server)
    for most in (7, 8):  # a second change replaces the first

        def change(config: Any, most: int = most) -> None:
            config.limit_concurrency = most

        gradio_private.change_server_settings(blocks, change)
    _, _, _, running = gr.http_server.start_server(gr.routes.App.create_app(blocks))
    running.close()
    assert running.config.limit_concurrency == 8 and isinstance(running, server)


def test_a_page_that_answers_itself_too_late_starts_all_the_same(blocks, monkeypatch):
    def answer_too_late(url: str) -> bool:
        return False

    monkeypatch.setattr(gr.networking, "url_ok", answer_too_late)
    plain: dict[str, Any] = {"prevent_thread_lock": True, "quiet": True, "inline": False}
    with pytest.raises(ValueError, match="localhost"):
        blocks.launch(**plain)
    blocks.close()
    blocks.launch(**plain, **gradio_private.launch_arguments_without_self_test(blocks))
    blocks.close()


# ---- the start-up check ----------------------------------------------------------------------

LOSSES = {
    "Blocks.process_api": ("route_utils", "call_process_api"),
    "processing_utils.async_ssrf_protected_get": (
        "processing_utils", "async_ssrf_protected_download"
    ),
    "routes.StateHolder": ("routes", "StateHolder"),
    "SessionState": ("state_holder", "SessionState"),
    "Queue": ("queueing", "Queue"),
    "http_server.Server": ("http_server", "Server"),
    "LocalContext.request": ("context", "LocalContext"),
    "Context.root_block": ("context", "Context"),
}  # fmt: skip


@pytest.mark.parametrize("name", sorted(LOSSES))
def test_a_lost_name_refuses_public_mode_where_it_protects_visitors(name, blocks, caplog):
    lost = without(*LOSSES[name])
    with caplog.at_level(logging.WARNING):
        check_private_names(blocks, public=False, package=lost)
    assert name in caplog.text, "on one's own machine it is logged"
    if name in SECURITY:
        with pytest.raises(GradioChanged, match=name):
            check_private_names(blocks, public=True, package=lost)
    else:
        check_private_names(blocks, public=True, package=lost)


def test_a_page_without_its_functions_or_queue_is_refused(blocks):
    for lost in ("fns", "_queue"):
        page = SimpleNamespace(**{**vars(blocks), "blocks": blocks.blocks, "fns": blocks.fns})
        delattr(page, lost)
        with pytest.raises(GradioChanged):
            check_private_names(page, public=True)


def test_a_name_that_is_there_but_no_longer_read_is_found(blocks):
    """An app that takes the class from elsewhere would keep typed keys without any error."""
    elsewhere = SimpleNamespace(**vars(gr))
    elsewhere.routes = SimpleNamespace(StateHolder=gr.routes.StateHolder, App=gr.routes.App)
    with pytest.raises(GradioChanged, match=r"routes\.StateHolder"):
        check_private_names(blocks, public=True, package=elsewhere)


def test_a_session_with_a_new_part_is_found(blocks):
    class Larger(gr.state_holder.SessionState):
        def __init__(self, page: gr.Blocks) -> None:
            super().__init__(page)
            self.typed_values: dict[int, str] = {}

    newer = SimpleNamespace(**vars(gr))
    newer.state_holder = SimpleNamespace(SessionState=Larger)
    with pytest.raises(GradioChanged, match="SessionState"):
        check_private_names(blocks, public=True, package=newer)


def test_the_app_does_not_start_in_public_on_a_gradio_that_keeps_typed_values(
    tmp_path, monkeypatch, capsys
):
    make = gr.routes.App.__init__

    def make_otherwise(self: Any, *values: Any, **named: Any) -> None:
        """As in a later release: the class of sessions is taken from elsewhere."""
        make(self, *values, **named)
        self.state_holder = gr.state_holder.StateHolder()

    monkeypatch.setattr(gr.routes.App, "__init__", make_otherwise)
    monkeypatch.setenv("EVENHAND_PUBLIC", "1")
    with app_main() as main:
        code = main(["--port", str(free_port()), "--store", str(tmp_path / "evenhand.db")])
    told = capsys.readouterr()
    assert code == 2 and "routes.StateHolder" in told.err, told.err
    assert "Traceback" not in told.err and "Running on" not in told.out


# ---- no private name elsewhere ---------------------------------------------------------------

ATTRIBUTES = frozenset().union(*(one.attributes for one in PRIVATE_NAMES))
NAMES_IN_TEXT = re.compile("|".join([r"\bgr\b", "gradio", *map(re.escape, sorted(ATTRIBUTES))]))


def private_uses(source: str) -> list[str]:
    """Private names of Gradio in a module: imports of its parts, its attributes, and underscores
    in modules that import it."""
    if not NAMES_IN_TEXT.search(source):
        return []  # parsing takes most of the time
    tree = ast.parse(source)
    imports = [node for node in ast.walk(tree) if isinstance(node, ast.Import)]
    uses = "gradio" in {alias.name for node in imports for alias in node.names}
    return [name for node in ast.walk(tree) for name in _uses_in(node, uses)]


def _uses_in(node: ast.AST, uses_gradio: bool) -> Iterator[str]:
    if isinstance(node, ast.Import):
        yield from (a.name for a in node.names if a.name.startswith("gradio."))
    elif isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "gradio":
        yield from (f"{node.module}.{alias.name}" for alias in node.names)
    elif isinstance(node, ast.Attribute):
        owner = node.value.id if isinstance(node.value, ast.Name) else ""
        hidden = node.attr.startswith("_") and not node.attr.startswith("__")
        part = owner in ("gr", "gradio") and isinstance(getattr(gr, node.attr, None), ModuleType)
        if (
            node.attr in ATTRIBUTES
            or (uses_gradio and hidden and owner not in ("self", "cls"))
            or (part and node.attr != "themes")
        ):
            yield f"{owner or '…'}.{node.attr}"


def test_private_names_of_gradio_are_used_in_one_module_only():
    modules = [ROOT / "app.py", *(ROOT / "components").rglob("*.py")]
    found = {path: private_uses(path.read_text("utf-8")) for path in modules}
    assert found.pop(BOUNDARY), "the rule finds what it looks for"
    assert {str(path): names for path, names in found.items() if names} == {}


@pytest.mark.parametrize(
    ("source", "expected"),
    [("from gradio import routes", "gradio.routes"), ("import gradio.blocks", "gradio.blocks"),
     ("from gradio.context import Context", "gradio.context.Context"),
     ("x = blocks.fns", "blocks.fns"), ("import gradio as gr\ny = gr.queueing", "gr.queueing"),
     ("import gradio as gr\ndef f(e): return e._anything", "e._anything"),
     ("def f(event): return event._data", "event._data")],
)  # fmt: skip
def test_the_rule_itself_finds_a_private_name(source, expected):
    assert private_uses(source) == [expected]


def test_the_rule_itself_accepts_public_names():
    source = "import gradio as gr\nclass A:\n    def f(self): return self._x, gr.Textbox, gr.themes"
    assert private_uses(source) == []


# ---- type stubs ------------------------------------------------------------------------------


def import_component(folder: Path, name: str) -> Path:
    """Import a new module with a component class; the file beside it that Gradio may write."""
    path = folder / f"{name}.py"
    path.write_text("import gradio as gr\n\n\nclass Own(gr.HTML):\n    EVENTS = []\n")
    spec = importlib.util.spec_from_file_location(name, path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module  # where Gradio looks for the file of a class
    try:
        spec.loader.exec_module(module)
    finally:
        del sys.modules[name]
    return path.with_suffix(".pyi")


def test_gradio_compares_no_type_stub_while_they_are_skipped(tmp_path):
    assert import_component(tmp_path, "with_stub").exists(), "or skip_stub_files is needed no more"
    with skip_stub_files():
        assert not import_component(tmp_path, "without_stub").exists()
    assert inspect.getfile(Path) == inspect.getsourcefile(Path)


# ---- the fair queue --------------------------------------------------------------------------


@pytest.fixture
def fair(blocks, monkeypatch) -> Iterator[FairQueue]:
    monkeypatch.setattr(blocks, "_queue", blocks._queue)
    gradio_private.replace_queue(blocks, PUBLIC.queue_limits)
    queue = blocks._queue
    assert type(queue) is FairQueue
    queue.active_jobs = [None]
    queue.create_event_queue_for_fn(next(iter(blocks.fns.values())))
    yield queue


def event_of(session: str) -> Any:
    made = gr.queueing.Event(session, SimpleNamespace(concurrency_id="1"), None, None)
    made.__dict__["queue_client"] = QueueClient(session, session)
    return made


def test_unread_messages_of_a_session_that_left_are_deleted_with_all_that_is_known_of_it(
    fair, monkeypatch
):
    """ "gone" left messages unread, "here" is at work, "ended" has no messages any more."""
    monkeypatch.setattr(fair, "queue_limits", replace(fair.queue_limits, unread_total=0))
    fair.active_jobs = [[event_of("here"), event_of("waits")]]
    for session in ("gone", "here"):
        fair.pending_messages_per_session[session] = asyncio.Queue()
        fair.pending_messages_per_session[session].put_nowait("message")
    for session in ("gone", "here", "waits", "ended"):
        fair.pending_event_ids_session[session] = {"id"}
        fair.last_message_times[session] = 0.0
    monkeypatch.setattr(time, "monotonic", lambda: UNREAD_ANSWER_SECONDS + 1)
    assert [fair._count_unread_messages(one) for one in ("gone", "other", None)] == [1, 0, 0]
    fair._limit_unread_messages()
    assert list(fair.pending_messages_per_session) == ["here"]
    assert list(fair.pending_event_ids_session) == ["here", "waits"]
    assert list(fair.last_message_times) == ["here"]


def test_a_message_reaches_a_session_unless_its_messages_were_deleted(fair, monkeypatch):
    sent = []
    monkeypatch.setattr(
        gr.queueing.Queue, "send_message", lambda _, event, message: sent.append(message)
    )
    monkeypatch.setattr(time, "monotonic", lambda: 7.0)
    fair.pending_messages_per_session["here"] = asyncio.Queue()
    for session in ("here", "gone"):
        fair.send_message(event_of(session), f"to {session}")
    assert sent == ["to here"] and fair.last_message_times == {"here": 7.0, "gone": 7.0}


def test_an_event_too_many_is_refused_and_the_others_reach_gradio_s_queue(fair, monkeypatch):
    pushed = []

    async def push(self: Any, body: Any, request: Any, username: Any) -> str:
        pushed.append(body.session_hash)
        return "queued"

    monkeypatch.setattr(gr.queueing.Queue, "push", push)
    most = fair.queue_limits.waiting_per_session
    fair.active_jobs = [[event_of("many")] * most, None]
    request = SimpleNamespace(client=SimpleNamespace(host="10.0.0.1"), headers={})
    monkeypatch.setattr(gradio_private, "identify_client", lambda one, _: QueueClient(one, one))
    few = asyncio.run(fair.push(SimpleNamespace(session_hash="few"), request, None))
    with pytest.raises(HTTPException) as refused:
        asyncio.run(fair.push(SimpleNamespace(session_hash="many"), request, None))
    assert (few, pushed, refused.value.status_code) == ("queued", ["few"], 429)
    assert f"{most} requests" in refused.value.detail


def test_no_more_than_a_handler_s_own_limit_of_events_runs_at_once(fair):
    (waiting,) = fair.event_queue_per_concurrency_id.values()
    waiting.queue.append(event_of("one"))
    for limit, running, free in ((2, 1, True), (2, 2, False), (None, 99, True)):
        waiting.concurrency_limit, waiting.current_concurrency = limit, running
        assert (list(fair._queues_with_capacity()) == [waiting]) is free
    waiting.queue.clear()
    assert list(fair._queues_with_capacity()) == []


def test_a_lost_name_leaves_the_page_as_gradio_made_it(blocks, monkeypatch):
    monkeypatch.setattr(gradio_private, "_does_private_name_work", lambda *_: False)
    process, server, queue = vars(blocks).get("process_api"), gr.http_server.Server, blocks._queue
    seed, get = gr.processing_utils.hash_seed, gr.processing_utils.async_ssrf_protected_get
    holder = gr.routes.StateHolder
    gradio_private.refuse_remote_files(blocks)
    gradio_private.use_new_upload_folders(blocks)
    gradio_private.replace_queue(blocks, PUBLIC.queue_limits)
    gradio_private.use_minimal_sessions(blocks)
    gradio_private.change_server_settings(blocks, lambda config: None)
    assert vars(blocks).get("process_api") is process and gr.http_server.Server is server
    assert blocks._queue is queue and gr.routes.StateHolder is holder
    assert gr.processing_utils.hash_seed is seed
    assert gr.processing_utils.async_ssrf_protected_get is get


def test_folders_of_uploads_have_a_new_name_in_each_process(blocks, monkeypatch):
    monkeypatch.setattr(gr.processing_utils, "hash_seed", b"shared by copies")
    made = []
    for _ in range(2):
        gradio_private.use_new_upload_folders(blocks)
        made.append(gr.processing_utils.hash_seed)
    assert len(set(made)) == 2 and [len(one) for one in made] == [32, 32]
