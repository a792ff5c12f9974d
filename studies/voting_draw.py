"""Which comparison a voter gets next, and in which order: no store, no clock, chance by seed.

A seed of study and voter decides what nothing else does, so that the same votes in the same order
always lead to the same next ballot.
"""

from __future__ import annotations

import hashlib
import random
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final, NamedTuple

from studies.ballots import Ballot, Chosen, Mode, Voting
from studies.frame import SEP
from studies.voting_pool import Place, Unit

GAP: Final = 5
"""A comparison comes again only when so many others lie between: nobody should remember it."""
HELD: Final = 30 * 60.0
"""Seconds for which a comparison on somebody's screen counts as taken; then others may have it."""


class Standing(NamedTuple):
    """How far a voter is: votes given, ballots skipped, and how many there are for this person."""

    voted: int
    skipped: int
    total: int


@dataclass(frozen=True, slots=True)
class Draw:
    """One person and everything that decides what this person is shown next."""

    study: str
    voter: str
    mode: Mode
    rules: Voting
    pool: Sequence[Unit]
    """What the rules choose."""
    known: frozenset[Place]
    """All that can be voted on in this form."""
    ballots: Sequence[Ballot]
    """Everybody's."""
    before: set[Place]
    """What this person has voted on elsewhere."""
    now: float

    @property
    def mine(self) -> list[Ballot]:
        return [ballot for ballot in self.ballots if ballot.voter == self.voter]

    @property
    def first_times(self) -> list[Ballot]:
        return [ballot for ballot in self.mine if ballot.chosen != "repeat"]

    def unfit(self) -> list[Ballot]:
        """Open ballots that are no longer a question of this study in this form."""
        opened = [ballot for ballot in self.mine if ballot.state == "open"]
        return [b for b in opened if b.mode != self.mode or place_of(b) not in self.known]

    def ballot(self) -> Ballot | None:
        """The one left open; else one that comes again, if it is due; else a new one."""
        opened = next((ballot for ballot in self.mine if ballot.state == "open"), None)
        ballot = opened or self._repeat() or self._new()
        return replace(ballot, seen=self.now) if ballot else None

    def standing(self) -> Standing:
        first, states = self.first_times, Counter(ballot.state for ballot in self.mine)
        whole = len(first) + len(self._fresh())
        if self.rules.each:
            whole = max(min(self.rules.each, whole), len(first))
        again = len(self.mine) - len(first)
        answered = whole - sum(ballot.state == "skipped" for ballot in first)
        due = int(self.rules.repeats * answered) if self.mode != "verify" and whole > GAP else 0
        return Standing(states["voted"], states["skipped"], whole + max(due, again))

    # ---- new ones ----------------------------------------------------------------------------

    def _new(self) -> Ballot | None:
        enough = self.rules.each and len(self.first_times) >= self.rules.each
        fresh = [] if enough else self._fresh()
        if not fresh:
            return None
        taken = self._taken()
        unit = min(fresh, key=lambda u: (taken[u.place], -u.weight, self._lot(u)))
        return self._made(unit.item, self._order(unit), self.rules.choose)

    def _fresh(self) -> list[Unit]:
        """What this person may still get; of these comes next the least voted, then the most
        telling, then the one of the person's own lot."""
        had, taken = {place_of(ballot) for ballot in self.mine} | self.before, self._taken()
        open_to_all = (unit for unit in self.pool if taken[unit.place] < self.rules.votes)
        return [unit for unit in open_to_all if unit.place not in had]

    def _taken(self) -> Counter[Place]:
        """Votes there are or will be: what somebody has on screen just now will be one."""
        return Counter(
            place_of(b)
            for b in self.ballots
            if b.chosen != "repeat"
            and (b.state == "voted" or (b.state == "open" and b.seen > self.now - HELD))
        )

    def _lot(self, unit: Unit) -> bytes:
        """A hash, for there may be thousands: a generator for each would take a second."""
        return hashlib.sha256(self._seed(unit.item, *unit.names).encode()).digest()

    def _order(self, unit: Unit) -> tuple[str, ...]:
        """Sides in balanced blocks: of the rotations of a shuffle, the one this person has seen
        least of these contestants; then the one that puts each where it stood least; then the one
        that others have seen least of this item. What is left is the shuffle's."""
        shuffled = self._rng("order", unit.item, *unit.names).sample(unit.names, len(unit.names))
        turns = [tuple(shuffled[k:] + shuffled[:k]) for k in range(len(shuffled))]
        counted = [ballot for ballot in self.first_times if ballot.state != "skipped"]
        orders = Counter(ballot.shown for ballot in counted)
        slots = Counter((name, slot) for b in counted for slot, name in enumerate(b.shown))
        others = Counter(b.shown for b in self.ballots if b.item == unit.item)

        def seen(turn: tuple[str, ...]) -> tuple[int, int, int]:
            stood = sum(slots[name, slot] for slot, name in enumerate(turn))
            return orders[turn], stood, others[turn]

        return min(turns, key=seen)

    # ---- once more, sides swapped --------------------------------------------------------------

    def _repeat(self) -> Ballot | None:
        """One of this person's own, when one is due and lies far enough back."""
        if self.mode == "verify":
            return None
        gone = {place_of(ballot) for ballot in self.mine if ballot.chosen == "repeat"}
        first = [b for b in self.first_times if b.state == "voted" and b.mode == self.mode]
        if len(gone) >= int(self.rules.repeats * len(first)):
            return None
        far = [b for b in first if self._place() - b.position > GAP]
        far = [b for b in far if place_of(b) in self.known and place_of(b) not in gone]
        if not far:
            return None
        drawn = self._rng("repeat", str(self._place())).choice(far)
        return self._made(drawn.item, swapped(drawn.shown), "repeat")

    # ---- pieces --------------------------------------------------------------------------------

    def _place(self) -> int:
        return 1 + max((ballot.position for ballot in self.mine), default=-1)

    def _made(self, item: str, shown: tuple[str, ...], chosen: Chosen) -> Ballot:
        return Ballot(self.voter, self._place(), item, shown, self.mode, chosen)

    def _rng(self, *parts: str) -> random.Random:
        return random.Random(self._seed(*parts))

    def _seed(self, *parts: str) -> str:
        return SEP.join(["vote", self.study, self.voter, *parts])


def swapped(shown: tuple[str, ...]) -> tuple[str, ...]:
    """Every answer in another place: two change sides, more move on by one."""
    return shown[1:] + shown[:1]


def place_of(ballot: Ballot) -> Place:
    return (ballot.item, tuple(sorted(ballot.shown)))
