"""The queue of a page that strangers share: Gradio's own, with turns (components.server.fair_turns).

Also what a session costs. Gradio keeps beside each session the whole description of the page with
every value that was ever typed into it, for links to a state of the page; we have no such links,
it takes a tenth of a second and a megabyte for each visitor, and a typed key would lie in it.
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
"""Calls of one handler at work at a time."""

UNREAD_ANSWER_SECONDS: Final = 20.0
"""Seconds for which an answer lies there to be fetched, however many there are."""


def configure_queue(blocks: gr.Blocks, access: Access) -> None:
    """Before launch."""
    blocks.queue(
        default_concurrency_limit=HANDLER_CONCURRENCY,
        max_size=access.queue,
        api_open=not access.public,
    )  # a closed API: nothing that takes long is called past the queue
    if access.queue_limits is not None:
        blocks._queue = FairQueue.from_queue(blocks._queue, access.queue_limits)
    _disable_statistics(blocks._queue)
    routes.StateHolder = MinimalStateHolder


def _disable_statistics(queue: Queue) -> None:
    """Gradio sums up the last 10,000 events after every single one, for a page that is off here."""
    queue.ANALYTICS_MAX_EVENTS = 1
    queue.ANAYLTICS_CACHE_FREQUENCY = 10**12


def identify_client(session: str | None, request: Request) -> QueueClient:
    """Calls without a session are one session of their address. On a Space the address is what the
    proxy of the house appended; what a visitor wrote into the header stands before it."""
    known = request.client.host if request.client else ""
    if "SPACE_ID" in os.environ:
        told = ",".join(request.headers.getlist("x-forwarded-for"))
        known = told.rpartition(",")[2].strip() or known
    return QueueClient(session or known, known)


class FairQueue(Queue):
    """Takes no more of anybody than `Crowd` says, and serves all in turn."""

    @classmethod
    def from_queue(cls, plain: Queue, crowd: QueueLimits) -> FairQueue:
        """A queue as `Blocks.queue` made it, before it has begun."""
        fair = cls.__new__(cls)
        fair.__dict__.update(plain.__dict__)
        fair.turns, fair.queue_limits, fair.last_message_times = FairTurns(crowd), crowd, {}
        return fair

    turns: FairTurns
    queue_limits: QueueLimits
    last_message_times: dict[str, float]
    """Session -> when there was last something for it to fetch."""

    async def push(self, body: Any, request: Request, username: str | None) -> Any:
        session = body.session_hash
        there = [_event_client(event) for event in (*self._waiting(), *self._running())]
        told = self.turns.refusal(identify_client(session, request), there, self._unread(session))
        if told:
            raise HTTPException(status.HTTP_429_TOO_MANY_REQUESTS, told)
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
        """Lines of handlers of which one more may be at work."""
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
        if event.session_hash in self.pending_messages_per_session:  # it may have been forgotten
            super().send_message(event, event_message)

    def _drop_unread_answers(self) -> None:
        """Answers that nobody fetches do not pile up: who let them lie for a while loses them."""
        held = self.pending_messages_per_session
        unread = sum(messages.qsize() for messages in held.values())
        busy = {event.session_hash for event in (*self._waiting(), *self._running())}
        long_ago = time.monotonic() - UNREAD_ANSWER_SECONDS
        for session in list(held):
            if unread <= self.queue_limits.unread_total:
                break
            if session not in busy and self.last_message_times.get(session, 0) < long_ago:
                unread -= held.pop(session).qsize()
        for session in self.pending_event_ids_session.keys() - held.keys() - busy:
            del self.pending_event_ids_session[session]
        for session in self.last_message_times.keys() - held.keys():
            del self.last_message_times[session]


def _event_client(event: Event) -> QueueClient:
    """Worked out once: a line is looked through at every turn."""
    place: QueueClient | None = event.__dict__.get("place")
    if place is None:
        own = None if event.session_hash == event._id else event.session_hash
        place = event.__dict__["place"] = identify_client(own, event.request)
    return place


class MinimalStateHolder(StateHolder):
    """Gradio's sessions without the description of the page."""

    def __getitem__(self, session_id: str) -> SessionState:
        if session_id not in self.session_data:
            self.session_data[session_id] = MinimalSessionState(self.blocks)
        return super().__getitem__(session_id)


class MinimalSessionState(SessionState):
    """What handlers need of a session: its gr.State values, and components as they are by now."""

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
        """Nobody reads it."""

    def _update_value_in_config(self, key: int, value: Any) -> None:
        """Nobody reads it, and it might be a key."""
