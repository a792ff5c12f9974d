"""Whose turn it is where strangers wait in one line, and when somebody has enough waiting.

Serving in the order of arrival lets whoever sends a thousand events be served a thousand times
before the next visitor. So turns go round: first by address, then by session, then by arrival.
"""

from __future__ import annotations

from collections import Counter, OrderedDict
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

MAX_REMEMBERED_CLIENTS: Final = 4_000
"""Addresses and sessions whose last turn is known; whoever is forgotten is served as if new."""


@dataclass(frozen=True, slots=True)
class QueueLimits:
    """How much of the line one may take."""

    waiting_per_session: int
    """Events of one session that are not done, those at work included."""
    waiting_per_address: int
    """The same of one address: some people share one."""
    running_per_session: int
    """Of a session, at work at a time."""
    running_per_address: int
    unread_per_session: int
    """Messages that a session has not fetched: somebody who asks and never listens."""
    unread_total: int
    """The same of all; then the sessions that have been silent longest are forgotten."""


@dataclass(frozen=True, slots=True)
class QueueClient:
    """Somebody in the line."""

    session: str
    address: str


class FairTurns:
    """Who was served when."""

    def __init__(self, crowd: QueueLimits) -> None:
        self._limits = crowd
        self._last_turns: OrderedDict[str, int] = OrderedDict()
        self._turn = 0

    def pick_next(
        self, waiting: Iterable[QueueClient], running: Iterable[QueueClient]
    ) -> int | None:
        """The place in `waiting` (which is in order of arrival) that is served now; None: all of
        them have as much at work as they may."""
        sessions, addresses = _count_events(running)
        best: tuple[tuple[int, ...], int] | None = None
        for number, place in enumerate(waiting):
            here, there = sessions[place.session], addresses[place.address]
            if (
                here >= self._limits.running_per_session
                or there >= self._limits.running_per_address
            ):
                continue
            key = (
                there,
                self._last_turn(place.address),
                here,
                self._last_turn(place.session),
                number,
            )
            if best is None or key < best[0]:
                best = key, number
        return None if best is None else best[1]

    def record_served(self, place: QueueClient) -> None:
        self._turn += 1
        for who in (place.address, place.session):
            self._last_turns[who] = self._turn
            self._last_turns.move_to_end(who)
        while len(self._last_turns) > MAX_REMEMBERED_CLIENTS:
            self._last_turns.popitem(last=False)

    def _last_turn(self, who: str) -> int:
        return self._last_turns.get(who, 0)

    def refusal(self, place: QueueClient, there: Iterable[QueueClient], unread: int) -> str:
        """Why one more event is not taken, or nothing. `there`: all that wait or are at work."""
        sessions, addresses = _count_events(there)
        here, crowd = sessions[place.session], self._limits
        if here >= crowd.waiting_per_session:
            return (
                f"{here} things that this page asked for are not done yet, which is as many as one "
                "page may have here. Wait until some are, or reload the page"
            )
        if addresses[place.address] >= crowd.waiting_per_address:
            return (
                f"{addresses[place.address]} things asked for from your address are not done yet, "
                "which is as many as one address may have here. Try again in a minute"
            )
        if unread >= crowd.unread_per_session:
            return "Answers wait for this page and nobody fetches them. Reload the page"
        return ""


def _count_events(places: Iterable[QueueClient]) -> tuple[Counter[str], Counter[str]]:
    """By session and by address."""
    known = list(places)
    return Counter(one.session for one in known), Counter(one.address for one in known)
