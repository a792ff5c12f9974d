"""The queue of a page that strangers share: Gradio's own, with turns (components.turns).

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

from components.access import Access
from components.turns import Crowd, Place, Turns

AT_ONCE: Final = 16
"""Calls of one handler at work at a time."""

PATIENCE: Final = 20.0
"""Seconds for which an answer lies there to be fetched, however many there are."""


def open_queue(blocks: gr.Blocks, access: Access) -> None:
    """Before launch."""
    blocks.queue(
        default_concurrency_limit=AT_ONCE, max_size=access.queue, api_open=not access.public
    )  # a closed API: nothing that takes long is called past the queue
    if access.crowd is not None:
        blocks._queue = FairQueue.like(blocks._queue, access.crowd)
    _without_statistics(blocks._queue)
    routes.StateHolder = LightHolder


def _without_statistics(queue: Queue) -> None:
    """Gradio sums up the last 10,000 events after every single one, for a page that is off here."""
    queue.ANALYTICS_MAX_EVENTS = 1
    queue.ANAYLTICS_CACHE_FREQUENCY = 10**12


def place_of(session: str | None, request: Request) -> Place:
    """Calls without a session are one session of their address. On a Space the address is what the
    proxy of the house appended; what a visitor wrote into the header stands before it."""
    known = request.client.host if request.client else ""
    if "SPACE_ID" in os.environ:
        told = ",".join(request.headers.getlist("x-forwarded-for"))
        known = told.rpartition(",")[2].strip() or known
    return Place(session or known, known)


class FairQueue(Queue):
    """Takes no more of anybody than `Crowd` says, and serves all in turn."""

    @classmethod
    def like(cls, plain: Queue, crowd: Crowd) -> FairQueue:
        """A queue as `Blocks.queue` made it, before it has begun."""
        fair = cls.__new__(cls)
        fair.__dict__.update(plain.__dict__)
        fair.turns, fair.crowd, fair.told = Turns(crowd), crowd, {}
        return fair

    turns: Turns
    crowd: Crowd
    told: dict[str, float]
    """Session -> when there was last something for it to fetch."""

    async def push(self, body: Any, request: Request, username: str | None) -> Any:
        session = body.session_hash
        there = [_place(event) for event in (*self._waiting(), *self._running())]
        told = self.turns.refusal(place_of(session, request), there, self._unread(session))
        if told:
            raise HTTPException(status.HTTP_429_TOO_MANY_REQUESTS, told)
        self._forget()
        return await super().push(body, request, username)

    def get_events(self) -> tuple[list[Event], bool, str] | None:
        waiting = [event for queue in self._open() for event in queue.queue]
        waiting.sort(key=lambda event: event.enqueue_time)
        running = map(_place, self._running())
        found = self.turns.next_of(map(_place, waiting), running) if waiting else None
        if found is None:
            return None
        event = waiting[found]
        self.turns.served(_place(event))
        self.event_queue_per_concurrency_id[event.concurrency_id].queue.remove(event)
        return [event], False, event.concurrency_id

    def _open(self) -> Iterator[EventQueue]:
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
        self.told[event.session_hash] = time.monotonic()
        if event.session_hash in self.pending_messages_per_session:  # it may have been forgotten
            super().send_message(event, event_message)

    def _forget(self) -> None:
        """Answers that nobody fetches do not pile up: who let them lie for a while loses them."""
        held = self.pending_messages_per_session
        unread = sum(messages.qsize() for messages in held.values())
        busy = {event.session_hash for event in (*self._waiting(), *self._running())}
        long_ago = time.monotonic() - PATIENCE
        for session in list(held):
            if unread <= self.crowd.unread:
                break
            if session not in busy and self.told.get(session, 0) < long_ago:
                unread -= held.pop(session).qsize()
        for session in self.pending_event_ids_session.keys() - held.keys() - busy:
            del self.pending_event_ids_session[session]
        for session in self.told.keys() - held.keys():
            del self.told[session]


def _place(event: Event) -> Place:
    """Worked out once: a line is looked through at every turn."""
    place: Place | None = event.__dict__.get("place")
    if place is None:
        own = None if event.session_hash == event._id else event.session_hash
        place = event.__dict__["place"] = place_of(own, event.request)
    return place


class LightHolder(StateHolder):
    """Gradio's sessions without the description of the page."""

    def __getitem__(self, session_id: str) -> SessionState:
        if session_id not in self.session_data:
            self.session_data[session_id] = LightState(self.blocks)
        return super().__getitem__(session_id)


class LightState(SessionState):
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
