"""Whose turn it is where strangers wait in one line, and when somebody has enough waiting.

Serving in the order of arrival lets whoever sends a thousand events be served a thousand times
before the next visitor. So turns go round: first by address, then by session, then by arrival.
"""

from __future__ import annotations

from collections import Counter, OrderedDict
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

REMEMBERED: Final = 4_000
"""Addresses and sessions whose last turn is known; whoever is forgotten is served as if new."""


@dataclass(frozen=True, slots=True)
class Crowd:
    """How much of the line one may take."""

    waiting_each: int
    """Events of one session that are not done, those at work included."""
    waiting_from: int
    """The same of one address: some people share one."""
    running_each: int
    """Of a session, at work at a time."""
    running_from: int
    unread_each: int
    """Messages that a session has not fetched: somebody who asks and never listens."""
    unread: int
    """The same of all; then the sessions that have been silent longest are forgotten."""


@dataclass(frozen=True, slots=True)
class Place:
    """Somebody in the line."""

    session: str
    address: str


class Turns:
    """Who was served when."""

    def __init__(self, crowd: Crowd) -> None:
        self._crowd = crowd
        self._served: OrderedDict[str, int] = OrderedDict()
        self._turn = 0

    def next_of(self, waiting: Iterable[Place], running: Iterable[Place]) -> int | None:
        """The place in `waiting` (which is in order of arrival) that is served now; None: all of
        them have as much at work as they may."""
        sessions, addresses = _counted(running)
        best: tuple[tuple[int, ...], int] | None = None
        for number, place in enumerate(waiting):
            here, there = sessions[place.session], addresses[place.address]
            if here >= self._crowd.running_each or there >= self._crowd.running_from:
                continue
            key = (there, self._last(place.address), here, self._last(place.session), number)
            if best is None or key < best[0]:
                best = key, number
        return None if best is None else best[1]

    def served(self, place: Place) -> None:
        self._turn += 1
        for who in (place.address, place.session):
            self._served[who] = self._turn
            self._served.move_to_end(who)
        while len(self._served) > REMEMBERED:
            self._served.popitem(last=False)

    def _last(self, who: str) -> int:
        return self._served.get(who, 0)

    def refusal(self, place: Place, there: Iterable[Place], unread: int) -> str:
        """Why one more event is not taken, or nothing. `there`: all that wait or are at work."""
        sessions, addresses = _counted(there)
        here, crowd = sessions[place.session], self._crowd
        if here >= crowd.waiting_each:
            return (
                f"{here} things that this page asked for are not done yet, which is as many as one "
                "page may have here. Wait until some are, or reload the page"
            )
        if addresses[place.address] >= crowd.waiting_from:
            return (
                f"{addresses[place.address]} things asked for from your address are not done yet, "
                "which is as many as one address may have here. Try again in a minute"
            )
        if unread >= crowd.unread_each:
            return "Answers wait for this page and nobody fetches them. Reload the page"
        return ""


def _counted(places: Iterable[Place]) -> tuple[Counter[str], Counter[str]]:
    """By session and by address."""
    known = list(places)
    return Counter(one.session for one in known), Counter(one.address for one in known)
