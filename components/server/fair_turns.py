"""Fair order of events (clicks and other requests of open pages), and limits on events and on the
server's messages that a page has not read.

In order of arrival, a visitor with a thousand events would delay all others. Therefore network
addresses take turns, and within one address its sessions (opened pages).
"""

import time
from collections import Counter, OrderedDict
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Final

from starlette.requests import Request

from studies import settings

MAX_REMEMBERED_CLIENTS: Final = 4_000
"""Maximum network addresses and sessions for which it is stored when they were last served; with
more, the oldest are deleted and count as new."""
UNREAD_ANSWER_SECONDS: Final = 20.0
"""Seconds after the last message to a session during which its unread messages stay stored."""
IDLE_SECONDS: Final = 20.0
"""Seconds without an event after which the queue is idle."""
IDLE_POLL_SECONDS: Final = 0.025
"""Seconds between two checks of an idle queue; Gradio's 0.001 uses a twentieth of a core."""
BUSY_POLL_SECONDS: Final = 0.001
BUSY_PROGRESS_SECONDS: Final = 0.01


@dataclass(frozen=True, slots=True)
class QueueLimits:
    """Limits on events (requests of open pages) and on unread messages of the server."""

    waiting_per_session: int
    """Maximum unfinished events of one session, including running ones."""
    waiting_per_address: int
    """Maximum unfinished events of one address, which several people may share."""
    running_per_session: int
    """Maximum simultaneously running events of one session."""
    running_per_address: int
    unread_per_session: int
    """Maximum unread messages of one session; beyond it, its events are refused."""
    unread_total: int
    """Maximum unread messages of all sessions; above it, those of inactive sessions are deleted."""


@dataclass(frozen=True, slots=True)
class QueueClient:
    """The session and the address that sent an event."""

    session: str
    address: str


def identify_client(session: str | None, request: Request) -> QueueClient:
    """Return the session (without one: the address) and the network address of a request. On a
    Space the address is the last entry of X-Forwarded-For, which the Hub's proxy adds; a visitor
    can forge only earlier entries."""
    address = request.client.host if request.client else ""
    if settings.is_space():
        forwarded = ",".join(request.headers.getlist("x-forwarded-for"))
        address = forwarded.rpartition(",")[2].strip() or address
    return QueueClient(session or address, address)


class FairTurns:
    """Chooses which waiting event (request of an open page) is handled next, so that network
    addresses take turns, and within an address its sessions. It remembers when each was served
    last."""

    def __init__(self, limits: QueueLimits) -> None:
        self._limits = limits
        self._last_turns: OrderedDict[str, int] = OrderedDict()
        self._turn = 0

    def pick_next(
        self, waiting: Iterable[QueueClient], running: Iterable[QueueClient]
    ) -> int | None:
        """Index in `waiting` of the event to handle next; None if there is none, or if all waiting
        clients already have as many running events as they may. `waiting`: the client of each
        waiting event, in order of arrival; `running`: the client of each running event."""
        sessions, addresses = _count_by_session_and_address(running)
        best: tuple[tuple[int, ...], int] | None = None
        for index, client in enumerate(waiting):
            of_session, of_address = sessions[client.session], addresses[client.address]
            if (
                of_session >= self._limits.running_per_session
                or of_address >= self._limits.running_per_address
            ):
                continue
            key = (
                of_address,
                self._last_turn(client.address),
                of_session,
                self._last_turn(client.session),
                index,
            )
            if best is None or key < best[0]:
                best = key, index
        return None if best is None else best[1]

    def record_turn(self, client: QueueClient) -> None:
        self._turn += 1
        for key in (client.address, client.session):
            self._last_turns[key] = self._turn
            self._last_turns.move_to_end(key)
        while len(self._last_turns) > MAX_REMEMBERED_CLIENTS:
            self._last_turns.popitem(last=False)

    def _last_turn(self, key: str) -> int:
        return self._last_turns.get(key, 0)

    def refusal_reason(
        self, client: QueueClient, unfinished: Iterable[QueueClient], unread: int
    ) -> str:
        """Reason to refuse a further event of `client`; "" if it is accepted. `unfinished`: the
        client of each waiting or running event. `unread`: number of messages that the client has
        not read."""
        sessions, addresses = _count_by_session_and_address(unfinished)
        of_session, of_address = sessions[client.session], addresses[client.address]
        if of_session >= self._limits.waiting_per_session:
            return (
                f"{of_session} requests of this page are unfinished, which is the limit for one "
                "page. Wait for some to finish, or reload the page."
            )
        if of_address >= self._limits.waiting_per_address:
            return (
                f"{of_address} requests from your network address are unfinished, which is the "
                "limit for one address. Try again in a minute."
            )
        if unread >= self._limits.unread_per_session:
            return (
                f"This page has not fetched {unread} answers of the server, which is the limit. "
                "Reload the page."
            )
        return ""


def _count_by_session_and_address(
    clients: Iterable[QueueClient],
) -> tuple[Counter[str], Counter[str]]:
    known = list(clients)
    return Counter(one.session for one in known), Counter(one.address for one in known)


def is_idle(last_event_time: float) -> bool:
    """Whether `last_event_time` (of `time.monotonic`) is more than IDLE_SECONDS ago."""
    return time.monotonic() - last_event_time > IDLE_SECONDS


def sessions_with_messages_to_delete(
    unread: Mapping[str, int],
    busy: Collection[str],
    last_message_times: Mapping[str, float],
    limit: int,
) -> list[str]:
    """Sessions whose unread messages are to be deleted, so that at most `limit` unread messages
    remain in all. `unread`: session -> number of unread messages. `last_message_times`: session ->
    time of its last message (of `time.monotonic`). Sessions in `busy` (with an unfinished event),
    and those that got a message in the last UNREAD_ANSWER_SECONDS, are never chosen; so more
    messages than `limit` may remain."""
    long_ago = time.monotonic() - UNREAD_ANSWER_SECONDS
    total, dropped = sum(unread.values()), []
    for session, answers in unread.items():
        if total <= limit:
            break
        if session not in busy and last_message_times.get(session, 0) < long_ago:
            total -= answers
            dropped.append(session)
    return dropped
