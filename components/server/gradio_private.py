"""All uses of Gradio's private names; no other module uses a private name.

A private name can disappear with any release. `PRIVATE_NAMES` lists each name with its use, a quick
check that it still works, and the consequence if not. `check_private_names` refuses public mode if
a name that protects visitors fails its check: if Gradio no longer used the replaced `StateHolder`,
for example, sessions would keep typed keys without any error.
"""

from __future__ import annotations

import inspect
import secrets
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from copy import copy
from datetime import datetime
from typing import TYPE_CHECKING, Any, Final

import gradio
import gradio.http_server  # the package does not import it by itself
from fastapi import HTTPException, Request, status
from uvicorn import Config

from components.server.fair_turns import (
    BUSY_POLL_SECONDS,
    BUSY_PROGRESS_SECONDS,
    IDLE_POLL_SECONDS,
    FairTurns,
    QueueClient,
    QueueLimits,
    identify_client,
    is_idle,
    sessions_with_messages_to_delete,
)
from components.server.file_references import find_remote_file
from components.server.private_name import PrivateName, check_names

if TYPE_CHECKING:
    from gradio.queueing import Event, EventQueue, Queue
    from gradio.server_messages import EventMessage
    from gradio.state_holder import SessionState, StateHolder
else:  # `object` if a release has moved the class; the checks below then fail
    Queue = getattr(gradio.queueing, "Queue", object)
    SessionState = getattr(gradio.state_holder, "SessionState", object)
    StateHolder = getattr(gradio.state_holder, "StateHolder", object)


def check_private_names(blocks: Any, *, public: bool, package: Any = gradio) -> None:
    """Raise GradioChanged in public mode if a name that protects visitors is missing; log every
    missing name."""
    check_names(PRIVATE_NAMES, blocks, package, public=public)


def _does_private_name_work(name: str, blocks: gradio.Blocks) -> bool:
    return next(one for one in PRIVATE_NAMES if one.name == name).is_working(blocks, gradio)


# ---- events ---------------------------------------------------------------------------------


def click_data(event: gradio.EventData) -> Any:
    """The object that the page sent with an event; {} if it sent none."""
    data = event.__dict__.get("_data")
    return {} if data is None else data


def current_request() -> gradio.Request | None:
    """The request of the event now being handled; None outside a handler."""
    variable = getattr(getattr(gradio.context, "LocalContext", None), "request", None)
    return None if variable is None else variable.get(None)


def current_blocks() -> gradio.Blocks | None:
    """The page now being built; None outside its `with` statement."""
    return getattr(getattr(gradio.context, "Context", None), "root_block", None)


def disable_status_updates(blocks: gradio.Blocks) -> None:
    """Turn off status updates (pending, complete) of events without a progress animation, because
    each update makes Gradio's page copy the properties of many components."""
    for event in blocks.fns.values():
        if event.show_progress == "hidden":
            event.show_progress_on = []


def set_event_scripts(
    blocks: gradio.Blocks, component: object, make_script: Callable[[int, str], str]
) -> None:
    """Change the browser script of each event that has `component` among its inputs. `make_script`
    gets the index of this input and the present script ("" if there is none), and returns the new
    one."""
    for event in blocks.fns.values():
        if component in event.inputs:
            former = event.js if isinstance(event.js, str) else ""
            event.js = make_script(list(event.inputs).index(component), former)


def wrap_handlers(
    blocks: gradio.Blocks,
    added: Mapping[str, Any],
    wrap: Callable[[Callable[..., Any], Sequence[Any]], Callable[..., Any] | None],
) -> None:
    """Give event handlers further inputs. `added`: parameter name -> component. `wrap` gets a
    handler and its inputs, and returns the function that replaces the handler; this function takes
    the values of `added` before the other inputs. If `wrap` returns None, the handler is left
    unchanged."""
    for event in blocks.fns.values():
        guarded = wrap(event.fn, list(event.inputs)) if event.fn is not None else None
        if guarded is None:
            continue
        event.fn = guarded
        event.inputs = [*added.values(), *event.inputs]
        event.input_parameter_names = [*added, *event.input_parameter_names]
        event.component_prop_inputs = [index + len(added) for index in event.component_prop_inputs]


def refuse_remote_files(blocks: gradio.Blocks) -> None:
    """Make the page refuse, with an error, every event that names a file by an address, and every
    download of a file by Gradio.

    Without this, Gradio would download the file, of any size and from any host, before the handler
    runs."""
    if _does_private_name_work("Blocks.process_api", blocks):
        process = blocks.process_api

        async def process_unless_remote(
            block_fn: Any, inputs: Any, *values: Any, event_data: Any = None, **named: Any
        ) -> Any:
            if find_remote_file([inputs, event_data and click_data(event_data)]):
                raise gradio.Error(REMOTE_FILE_REFUSED)
            return await process(block_fn, inputs, *values, event_data=event_data, **named)

        vars(blocks)["process_api"] = process_unless_remote
    if _does_private_name_work("processing_utils.async_ssrf_protected_get", blocks):
        gradio.processing_utils.async_ssrf_protected_get = _refuse_download


REMOTE_FILE_REFUSED: Final = (
    "A file of this request is named by an address. Nothing is fetched from an address here: "
    "download the file, then upload it."
)


async def _refuse_download(url: str) -> Any:
    raise gradio.Error(REMOTE_FILE_REFUSED)


def use_new_upload_folders(blocks: gradio.Blocks) -> None:
    """Make the names of upload folders unguessable: they depend on a random seed that is new for
    each process.

    Gradio names the folder of an upload by a hash of the seed and the content, and accepts every
    path in the upload folder, also that of another visitor's file. Its own seed is a file that all
    copies of an installation share."""
    if _does_private_name_work("processing_utils.hash_seed", blocks):
        gradio.processing_utils.hash_seed = secrets.token_bytes(32)


def set_postprocess(component: gradio.components.Component, convert: Callable[[Any], Any]) -> None:
    """Replace the function that converts a component's Python values for the page."""
    component.postprocess = convert


# ---- queue ----------------------------------------------------------------------------------


def replace_queue(blocks: gradio.Blocks, limits: QueueLimits | None) -> None:
    """Replace the queue made by `Blocks.queue`, before launch: the new queue checks for events less
    often while it is idle and, if `limits` are given, serves visitors in turn. Also turn off
    Gradio's statistics of events."""
    if _does_private_name_work("Queue", blocks) and limits is not None:
        blocks._queue = FairQueue.from_queue(blocks._queue, limits)
    elif _does_private_name_work("Queue.sleep_when_free", blocks):
        blocks._queue = IdleAwareQueue.from_queue(blocks._queue)
    if _does_private_name_work("Queue.ANAYLTICS_CACHE_FREQUENCY", blocks):
        blocks._queue.ANALYTICS_MAX_EVENTS = 1
        blocks._queue.ANAYLTICS_CACHE_FREQUENCY = 10**12


class IdleAwareQueue(Queue):
    """Gradio's queue, changed to check for new events less often while it is idle."""

    last_event_time: float

    @classmethod
    def from_queue(cls, plain: Queue, *_: Any) -> Any:
        """Convert a queue made by `Blocks.queue`, before it is started."""
        quiet = cls.__new__(cls)
        quiet.__dict__.update(plain.__dict__)
        quiet.last_event_time = time.monotonic()
        return quiet

    @property
    def sleep_when_free(self) -> float:
        return IDLE_POLL_SECONDS if is_idle(self.last_event_time) else BUSY_POLL_SECONDS

    @property
    def progress_update_sleep_when_free(self) -> float:
        return IDLE_POLL_SECONDS if is_idle(self.last_event_time) else BUSY_PROGRESS_SECONDS

    async def push(self, body: Any, request: Request, username: str | None) -> Any:
        """Add an event as Gradio does, and record its time: the queue then polls often again."""
        self.last_event_time = time.monotonic()
        return await super().push(body, request, username)


class FairQueue(IdleAwareQueue):
    """Event queue that enforces `QueueLimits` and serves all clients in turn."""

    @classmethod
    def from_queue(cls, plain: Queue, *limits: QueueLimits) -> FairQueue:
        fair: FairQueue = super().from_queue(plain)
        (fair.queue_limits,) = limits
        fair.turns, fair.last_message_times = FairTurns(fair.queue_limits), {}
        return fair

    turns: FairTurns
    queue_limits: QueueLimits
    last_message_times: dict[str, float]
    """Time at which the server last sent a message to each session."""

    async def push(self, body: Any, request: Request, username: str | None) -> Any:
        session = body.session_hash
        client = identify_client(session, request)
        others = [
            _event_client(event) for event in (*self._waiting_events(), *self._running_events())
        ]
        reason = self.turns.refusal_reason(client, others, self._count_unread_messages(session))
        if reason:
            raise HTTPException(status.HTTP_429_TOO_MANY_REQUESTS, reason)
        self._limit_unread_messages()
        return await super().push(body, request, username)

    def get_events(self) -> tuple[list[Event], bool, str] | None:
        waiting = [event for queue in self._queues_with_capacity() for event in queue.queue]
        waiting.sort(key=lambda event: event.enqueue_time)
        running = map(_event_client, self._running_events())
        found = self.turns.pick_next(map(_event_client, waiting), running) if waiting else None
        if found is None:
            return None
        event = waiting[found]
        self.turns.record_turn(_event_client(event))
        self.event_queue_per_concurrency_id[event.concurrency_id].queue.remove(event)
        return [event], False, event.concurrency_id

    def _queues_with_capacity(self) -> Iterator[EventQueue]:
        """Queues, one per handler, that have a waiting event and may start one more now."""
        for queue in self.event_queue_per_concurrency_id.values():
            limit = queue.concurrency_limit
            if queue.queue and (limit is None or queue.current_concurrency < limit):
                yield queue

    def _waiting_events(self) -> Iterator[Event]:
        for queue in self.event_queue_per_concurrency_id.values():
            yield from queue.queue

    def _running_events(self) -> Iterator[Event]:
        for job in self.active_jobs:
            yield from job or ()

    def _count_unread_messages(self, session: str | None) -> int:
        messages = self.pending_messages_per_session.get(session or "")
        return 0 if messages is None else messages.qsize()

    def send_message(self, event: Event, event_message: EventMessage) -> None:
        """Send a message to a session; messages of sessions whose unread messages were deleted are
        dropped."""
        self.last_message_times[event.session_hash] = time.monotonic()
        if event.session_hash in self.pending_messages_per_session:  # else dropped as unread
            super().send_message(event, event_message)

    def _limit_unread_messages(self) -> None:
        """Delete unread messages if there are too many (see `sessions_with_messages_to_delete`).
        Also delete two facts on sessions that have no messages any more: the time of the last
        message and, if none of their events waits or runs, their event ids."""
        pending = self.pending_messages_per_session
        unread = {session: messages.qsize() for session, messages in pending.items()}
        busy = {event.session_hash for event in (*self._waiting_events(), *self._running_events())}
        limit = self.queue_limits.unread_total
        for session in sessions_with_messages_to_delete(
            unread, busy, self.last_message_times, limit
        ):
            del pending[session]
        for session in self.pending_event_ids_session.keys() - pending.keys() - busy:
            del self.pending_event_ids_session[session]
        for session in self.last_message_times.keys() - pending.keys():
            del self.last_message_times[session]


def _event_client(event: Event) -> QueueClient:
    """The client that sent an event; cached, because all waiting events are searched for each
    choice of the next one."""
    client: QueueClient | None = event.__dict__.get("queue_client")
    if client is None:
        own = None if event.session_hash == event._id else event.session_hash
        client = event.__dict__["queue_client"] = identify_client(own, event.request)
    return client


# ---- sessions -------------------------------------------------------------------------------


def use_minimal_sessions(blocks: gradio.Blocks) -> None:
    """Make Gradio keep sessions without a copy of the page's configuration; called before launch.

    Gradio makes this copy for links to a state of the page, a feature that Evenhand does not use.
    The copy takes a megabyte for each visitor, and would contain typed keys."""
    if _does_private_name_work("routes.StateHolder", blocks) and _does_private_name_work(
        "SessionState", blocks
    ):
        gradio.routes.StateHolder = MinimalStateHolder


class MinimalStateHolder(StateHolder):
    """Gradio's store of sessions, changed to create a MinimalSessionState for each session."""

    def __getitem__(self, session_id: str) -> SessionState:
        if session_id not in self.session_data:
            self.session_data[session_id] = MinimalSessionState(self.blocks)
        return super().__getitem__(session_id)


class MinimalSessionState(SessionState):
    """The parts of a session that handlers need: gr.State values and updated components."""

    def __init__(self, blocks: gradio.Blocks) -> None:
        self.blocks_config = copy(blocks.default_config)
        self.config_values: dict[int, Any] = {}
        self.state_data: dict[int, Any] = {}
        self._state_ttl: dict[int, Any] = {}
        self.is_closed = False
        self.STATE_TTL_WHEN_CLOSED = 3600

    def __setitem__(self, key: int, value: Any) -> None:
        block = self.blocks_config.blocks.get(key)
        if isinstance(block, gradio.State):
            self._state_ttl[key] = (block.time_to_live, datetime.now())
            self.state_data[key] = value
        else:
            self.blocks_config.blocks[key] = value

    def _update_config(self, key: int) -> None:
        """Do nothing: the configuration is never read."""

    def _update_value_in_config(self, key: int, value: Any) -> None:
        """Do nothing: the configuration is never read, and the value may be a key."""


# ---- server ---------------------------------------------------------------------------------


def change_server_settings(blocks: gradio.Blocks, change: Callable[[Config], None]) -> None:
    """Apply `change` to the settings of the uvicorn server before it starts; launch() has no
    argument for them."""
    if not _does_private_name_work("http_server.Server", blocks):
        return
    plain = getattr(gradio.http_server.Server, "plain_server", gradio.http_server.Server)

    class ConfiguredServer(plain):  # type: ignore[misc, valid-type]
        plain_server = plain

        def __init__(self, config: Config, *values: Any, **named: Any) -> None:
            change(config)
            super().__init__(config, *values, **named)

    gradio.http_server.Server = ConfiguredServer


def launch_arguments_without_self_test(blocks: gradio.Blocks) -> dict[str, Any]:
    """Arguments of launch() that turn off Gradio's test request to its own page, because the app
    would end if that request took more than three seconds; empty if Gradio no longer has them."""
    return (
        {"_frontend": False} if _does_private_name_work("Blocks.launch(_frontend)", blocks) else {}
    )


# ---- checks ---------------------------------------------------------------------------------


def _has_attributes(thing: object, names: str) -> bool:
    return all(hasattr(thing, name) for name in names.split())


def _has_expected_handlers(package: Any, blocks: Any) -> bool:
    return bool(blocks.fns) and all(
        _has_attributes(event, f"{_HANDLER_FIELDS} show_progress") for event in blocks.fns.values()
    )


def _has_expected_queue(package: Any, blocks: Any) -> bool:
    methods = {"push", "get_events", "send_message"}
    return (
        isinstance(blocks._queue, package.queueing.Queue)
        and _has_attributes(blocks._queue, _QUEUE_FIELDS)
        and _has_attributes(
            package.queueing.EventQueue("", 1), "queue concurrency_limit current_concurrency"
        )
        and methods <= vars(package.queueing.Queue).keys()
    )


def _is_state_holder_used(package: Any, blocks: Any) -> bool:
    """Whether Gradio uses the class in `routes.StateHolder` for the sessions of a new app."""
    before = package.routes.StateHolder
    package.routes.StateHolder = probe = type("Probe", (before,), {})
    try:
        return isinstance(package.routes.App().state_holder, probe)
    finally:
        package.routes.StateHolder = before


def _has_expected_session(package: Any, blocks: Any) -> bool:
    """Whether Gradio's sessions have exactly the attributes that MinimalSessionState sets, and
    still have the methods that it replaces."""
    plain, minimal = package.state_holder.SessionState, MinimalSessionState(blocks)
    key = next(iter(blocks.blocks))
    minimal._update_config(key)
    minimal._update_value_in_config(key, "typed")
    return (
        {"_update_config", "_update_value_in_config", "__setitem__"} <= vars(plain).keys()
        and vars(plain(blocks)).keys() == vars(minimal).keys()
        and minimal.config_values == {}
    )


def _is_server_class_used(package: Any, blocks: Any) -> bool:
    starts = package.http_server.start_server.__code__.co_names
    return "Server" in starts and _has_attributes(package.http_server.Server, "run_in_thread")


def _is_process_api_used(package: Any, blocks: Any) -> bool:
    """Whether every event is processed by the page's method `process_api`."""
    parameters = inspect.signature(package.Blocks.process_api).parameters
    return "process_api" in package.route_utils.call_process_api.__code__.co_names and {
        "block_fn", "inputs", "event_data"
    } <= parameters.keys()  # fmt: skip


def _is_download_function_used(package: Any, blocks: Any) -> bool:
    """Whether a file of a component is downloaded by `async_ssrf_protected_get`."""
    download = "async_ssrf_protected_download"
    return (
        download in package.blocks.Block.async_move_resource_to_block_cache.__code__.co_names
        and download in package.processing_utils.ssrf_protected_download.__code__.co_names
        and "async_ssrf_protected_get"
        in getattr(package.processing_utils, download).__code__.co_names
    )


def _is_upload_seed_used(package: Any, blocks: Any) -> bool:
    """Whether Gradio uses `hash_seed`, which must be bytes, to name the folder of an upload."""
    made = package.route_utils.GradioUploadFile.__init__.__code__.co_names
    return "hash_seed" in made and isinstance(package.processing_utils.hash_seed, bytes)


_HANDLER_FIELDS: Final = "fn inputs input_parameter_names component_prop_inputs js show_progress_on"
_QUEUE_FIELDS: Final = (
    "pending_messages_per_session pending_event_ids_session event_queue_per_concurrency_id "
    "active_jobs"
)
_POLL_FIELDS: Final = "sleep_when_free progress_update_sleep_when_free"
_STATISTICS_FIELDS: Final = "ANAYLTICS_CACHE_FREQUENCY ANALYTICS_MAX_EVENTS"


def _split_words(*words: str) -> frozenset[str]:
    return frozenset(" ".join(words).split())


PRIVATE_NAMES: Final = (
    PrivateName(
        "Blocks.fns",
        "add the visitor's identity to every handler; attach scripts to events; turn off their "
        "status updates",
        "The page cannot be built.",
        _split_words("fns input_parameter_names component_prop_inputs show_progress_on"),
        _has_expected_handlers,
        protects_visitors=True,
    ),
    PrivateName(
        "Blocks.process_api",
        "refuse events that name a file by an address, before Gradio downloads it",
        "Only Gradio's download itself is refused.", _split_words("process_api"),
        _is_process_api_used, protects_visitors=True,
    ),
    PrivateName(
        "processing_utils.async_ssrf_protected_get", "refuse every download of Gradio",
        "Files that a handler returns by their address are downloaded.",
        _split_words("async_ssrf_protected_get processing_utils"), _is_download_function_used,
        protects_visitors=True,
    ),
    PrivateName(
        "processing_utils.hash_seed", "give uploads folders whose names nobody else can compute",
        "Whoever knows a file's content and the installation can compute its path.",
        _split_words("hash_seed"), _is_upload_seed_used, protects_visitors=True,
    ),
    PrivateName(
        "LocalContext.request",
        "read the token of a share link from the address of the page that sent an event",
        "The token is read from the page's hidden field only; without it access is denied.",
        _split_words("LocalContext"),
        lambda package, _: package.context.LocalContext.request.get(None) is None,
    ),
    PrivateName(
        "Context.root_block", "open the run that the address names when the page loads",
        "The run that the address names is not opened.", _split_words("root_block"),
        lambda package, _: _has_attributes(package.context.Context, "root_block"),
    ),
    PrivateName(
        "EventData._data", "read what was clicked",
        "Clicks on marks, rows and buttons inside HTML do nothing.", _split_words("_data"),
        lambda package, _: vars(package.EventData(None, {"x": 1}))["_data"] == {"x": 1},
    ),
    PrivateName(
        "Component.postprocess",
        "send a figure as text, which the page compares faster than an object",
        "Charts are drawn more slowly.",
        _split_words("postprocess"),
        lambda package, _: _has_attributes(package.HTML, "postprocess"),
    ),
    PrivateName(
        "Queue", "limit the events of one visitor and serve all visitors in turn",
        "Events are served in order of arrival.", _split_words("_queue get_events", _QUEUE_FIELDS),
        _has_expected_queue, protects_visitors=True,
    ),
    PrivateName(
        "Queue.sleep_when_free", "look for events less often while there are none",
        "An idle app takes a twentieth of a core.", _split_words(_POLL_FIELDS),
        lambda _, blocks: _has_attributes(blocks._queue, _POLL_FIELDS),
    ),
    PrivateName(
        "Queue.ANAYLTICS_CACHE_FREQUENCY", "disable statistics that are computed after every event",
        "The statistics are computed; events take longer.", _split_words(_STATISTICS_FIELDS),
        lambda _, blocks: _has_attributes(blocks._queue, _STATISTICS_FIELDS),
    ),
    PrivateName(
        "routes.StateHolder", "make sessions that do not contain typed values",
        "Sessions contain typed values, keys included, until they expire.",
        _split_words("StateHolder state_holder"), _is_state_holder_used, protects_visitors=True,
    ),
    PrivateName(
        "SessionState", "leave the page's configuration, and so typed values, out of a session",
        "Sessions contain typed values, keys included, until they expire.",
        _split_words("SessionState default_config config_values state_data"), _has_expected_session,
        protects_visitors=True,
    ),
    PrivateName(
        "http_server.Server",
        "limit the number of connections, and the size and duration of request heads",
        "Slow clients can hold connections without limit.", _split_words("http_server"),
        _is_server_class_used, protects_visitors=True,
    ),
    PrivateName(
        "Blocks.launch(_frontend)",
        "start without a request to its own page, which may time out on a busy machine",
        "On a busy machine the app may end at its start.",
        _split_words("_frontend"),
        lambda package, _: "_frontend" in package.Blocks.launch.__code__.co_varnames,
    ),
)  # fmt: skip
