"""Gradio's event queue with fair turns (components.server.fair_turns), and smaller sessions.

For links to a state of the page Gradio stores the page's whole configuration in each session, with
every value typed into it. Evenhand has no such links; the copy would take a tenth of a second and
a megabyte for each visitor and would contain typed keys, so that it is left out here.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from copy import copy
from datetime import datetime
from typing import Any, Final

import gradio as gr
from fastapi import HTTPException, Request, status
from gradio import routes
from gradio.queueing import Event, EventQueue, Queue
from gradio.server_messages import EventMessage
from gradio.state_holder import SessionState, StateHolder

from components.server.access import Access
from components.server.fair_turns import FairTurns, QueueClient, QueueLimits

HANDLER_CONCURRENCY: Final = 16
"""Simultaneous calls of one handler."""

UNREAD_ANSWER_SECONDS: Final = 20.0
"""Seconds for which an unread answer is stored, even above the limit of unread answers."""


def configure_queue(blocks: gr.Blocks, access: Access) -> None:
    """Set up the queue and the sessions; called before launch."""
    blocks.queue(
        default_concurrency_limit=HANDLER_CONCURRENCY,
        max_size=access.queue,
        api_open=not access.public,
    )  # with a closed API no long call can bypass the queue
    if access.queue_limits is not None:
        blocks._queue = FairQueue.from_queue(blocks._queue, access.queue_limits)
    _disable_statistics(blocks._queue)
    routes.StateHolder = MinimalStateHolder  # type: ignore[attr-defined]


def _disable_statistics(queue: Queue) -> None:
    """Disable Gradio's statistics of the last 10,000 events, computed after every event for a
    monitoring page that is disabled here."""
    queue.ANALYTICS_MAX_EVENTS = 1
    queue.ANAYLTICS_CACHE_FREQUENCY = 10**12


def identify_client(session: str | None, request: Request) -> QueueClient:
    """The session and address of a request; calls without a session share one by address.

    On a Space the address is the last entry of X-Forwarded-For, which the Hub's proxy appends;
    a visitor can only forge the entries before it.
    """
    address = request.client.host if request.client else ""
    if "SPACE_ID" in os.environ:
        forwarded = ",".join(request.headers.getlist("x-forwarded-for"))
        address = forwarded.rpartition(",")[2].strip() or address
    return QueueClient(session or address, address)


class FairQueue(Queue):
    """Event queue that enforces `QueueLimits` and serves all clients in turn."""

    @classmethod
    def from_queue(cls, plain: Queue, limits: QueueLimits) -> FairQueue:
        """Convert a queue made by `Blocks.queue` that has not started."""
        fair = cls.__new__(cls)
        fair.__dict__.update(plain.__dict__)
        fair.turns, fair.queue_limits, fair.last_message_times = FairTurns(limits), limits, {}
        return fair

    turns: FairTurns
    queue_limits: QueueLimits
    last_message_times: dict[str, float]
    """Session -> time of its latest message."""

    async def push(self, body: Any, request: Request, username: str | None) -> Any:
        session = body.session_hash
        client = identify_client(session, request)
        others = [_event_client(event) for event in (*self._waiting(), *self._running())]
        reason = self.turns.refusal(client, others, self._unread(session))
        if reason:
            raise HTTPException(status.HTTP_429_TOO_MANY_REQUESTS, reason)
        self._drop_unread_answers()
        return await super().push(body, request, username)

    def get_events(self) -> tuple[list[Event], bool, str] | None:
        waiting = [event for queue in self._queues_with_capacity() for event in queue.queue]
        waiting.sort(key=lambda event: event.enqueue_time)
        running = map(_event_client, self._running())
        found = self.turns.pick_next(map(_event_client, waiting), running) if waiting else None
        if found is None:
            return None
        event = waiting[found]
        self.turns.record_served(_event_client(event))
        self.event_queue_per_concurrency_id[event.concurrency_id].queue.remove(event)
        return [event], False, event.concurrency_id

    def _queues_with_capacity(self) -> Iterator[EventQueue]:
        """The queues of handlers that may start one more call."""
        for queue in self.event_queue_per_concurrency_id.values():
            limit = queue.concurrency_limit
            if queue.queue and (limit is None or queue.current_concurrency < limit):
                yield queue

    def _waiting(self) -> Iterator[Event]:
        for queue in self.event_queue_per_concurrency_id.values():
            yield from queue.queue

    def _running(self) -> Iterator[Event]:
        for job in self.active_jobs:
            yield from job or ()

    def _unread(self, session: str | None) -> int:
        messages = self.pending_messages_per_session.get(session or "")
        return 0 if messages is None else messages.qsize()

    def send_message(self, event: Event, event_message: EventMessage) -> None:
        self.last_message_times[event.session_hash] = time.monotonic()
        if event.session_hash in self.pending_messages_per_session:  # dropped if unread too long
            super().send_message(event, event_message)

    def _drop_unread_answers(self) -> None:
        """Above the limit for all sessions, delete answers unread for UNREAD_ANSWER_SECONDS."""
        pending = self.pending_messages_per_session
        unread = sum(messages.qsize() for messages in pending.values())
        busy = {event.session_hash for event in (*self._waiting(), *self._running())}
        long_ago = time.monotonic() - UNREAD_ANSWER_SECONDS
        for session in list(pending):
            if unread <= self.queue_limits.unread_total:
                break
            if session not in busy and self.last_message_times.get(session, 0) < long_ago:
                unread -= pending.pop(session).qsize()
        for session in self.pending_event_ids_session.keys() - pending.keys() - busy:
            del self.pending_event_ids_session[session]
        for session in self.last_message_times.keys() - pending.keys():
            del self.last_message_times[session]


def _event_client(event: Event) -> QueueClient:
    """The client of an event, stored with it, since the whole queue is searched at every turn."""
    client: QueueClient | None = event.__dict__.get("queue_client")
    if client is None:
        own = None if event.session_hash == event._id else event.session_hash
        client = event.__dict__["queue_client"] = identify_client(own, event.request)
    return client


class MinimalStateHolder(StateHolder):
    """Gradio's sessions without the page's configuration."""

    def __getitem__(self, session_id: str) -> SessionState:
        if session_id not in self.session_data:
            self.session_data[session_id] = MinimalSessionState(self.blocks)
        return super().__getitem__(session_id)


class MinimalSessionState(SessionState):
    """The parts of a session that handlers need: gr.State values and updated components."""

    def __init__(self, blocks: gr.Blocks) -> None:
        self.blocks_config = copy(blocks.default_config)
        self.config_values: dict[int, Any] = {}
        self.state_data: dict[int, Any] = {}
        self._state_ttl: dict[int, Any] = {}
        self.is_closed = False
        self.STATE_TTL_WHEN_CLOSED = 3600

    def __setitem__(self, key: int, value: Any) -> None:
        block = self.blocks_config.blocks.get(key)
        if isinstance(block, gr.State):
            self._state_ttl[key] = (block.time_to_live, datetime.now())
            self.state_data[key] = value
        else:
            self.blocks_config.blocks[key] = value

    def _update_config(self, key: int) -> None:
        """Does nothing: the configuration is never read."""

    def _update_value_in_config(self, key: int, value: Any) -> None:
        """Does nothing: the configuration is never read, and the value may be a key."""
