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

from studies.frames.frame import SEP
from studies.people.votable import ComparisonKey, VotableComparison
from studies.store.ballots import Ballot, BallotMode, SelectionReason, VotingRules

MIN_REPEAT_GAP: Final = 5
"""A comparison comes again only when so many others lie between: nobody should remember it."""
OPEN_BALLOT_SECONDS: Final = 30 * 60.0
"""Seconds for which a comparison on somebody's screen counts as taken; then others may have it."""


class VoterProgress(NamedTuple):
    """How far a voter is: votes given, ballots skipped, and how many there are for this person."""

    voted: int
    skipped: int
    total: int


@dataclass(frozen=True, slots=True)
class BallotPicker:
    """One person and everything that decides what this person is shown next."""

    study: str
    voter: str
    mode: BallotMode
    rules: VotingRules
    pool: Sequence[VotableComparison]
    """What the rules choose."""
    votable: frozenset[ComparisonKey]
    """All that can be voted on in this form."""
    ballots: Sequence[Ballot]
    """Everybody's."""
    voted_elsewhere: set[ComparisonKey]
    """What this person has voted on elsewhere."""
    now: float

    @property
    def own_ballots(self) -> list[Ballot]:
        return [ballot for ballot in self.ballots if ballot.voter == self.voter]

    @property
    def first_ballots(self) -> list[Ballot]:
        return [ballot for ballot in self.own_ballots if ballot.chosen != "repeat"]

    def outdated_ballots(self) -> list[Ballot]:
        """Open ballots that are no longer a question of this study in this form."""
        opened = [ballot for ballot in self.own_ballots if ballot.state == "open"]
        return [
            b for b in opened if b.mode != self.mode or ballot_comparison(b) not in self.votable
        ]

    def next_ballot(self) -> Ballot | None:
        """The one left open; else one that comes again, if it is due; else a new one."""
        opened = next((ballot for ballot in self.own_ballots if ballot.state == "open"), None)
        ballot = opened or self._repeat() or self._new()
        return replace(ballot, seen=self.now) if ballot else None

    def progress(self) -> VoterProgress:
        first, states = self.first_ballots, Counter(ballot.state for ballot in self.own_ballots)
        whole = len(first) + len(self._available())
        if self.rules.each:
            whole = max(min(self.rules.each, whole), len(first))
        again = len(self.own_ballots) - len(first)
        answered = whole - sum(ballot.state == "skipped" for ballot in first)
        due = (
            int(self.rules.repeats * answered)
            if self.mode != "verify" and whole > MIN_REPEAT_GAP
            else 0
        )
        return VoterProgress(states["voted"], states["skipped"], whole + max(due, again))

    # ---- new ones ----------------------------------------------------------------------------

    def _new(self) -> Ballot | None:
        enough = self.rules.each and len(self.first_ballots) >= self.rules.each
        fresh = [] if enough else self._available()
        if not fresh:
            return None
        taken = self._vote_counts()
        unit = min(fresh, key=lambda u: (taken[u.comparison], -u.weight, self._tie_break(u)))
        return self._make_ballot(unit.item, self._order(unit), self.rules.choose)

    def _available(self) -> list[VotableComparison]:
        """What this person may still get; of these comes next the least voted, then the most
        telling, then the one of the person's own lot."""
        had, taken = (
            {ballot_comparison(ballot) for ballot in self.own_ballots} | self.voted_elsewhere,
            self._vote_counts(),
        )
        open_to_all = (unit for unit in self.pool if taken[unit.comparison] < self.rules.votes)
        return [unit for unit in open_to_all if unit.comparison not in had]

    def _vote_counts(self) -> Counter[ComparisonKey]:
        """Votes there are or will be: what somebody has on screen just now will be one."""
        return Counter(
            ballot_comparison(b)
            for b in self.ballots
            if b.chosen != "repeat"
            and (
                b.state == "voted"
                or (b.state == "open" and b.seen > self.now - OPEN_BALLOT_SECONDS)
            )
        )

    def _tie_break(self, unit: VotableComparison) -> bytes:
        """A hash, for there may be thousands: a generator for each would take a second."""
        return hashlib.sha256(self._seed(unit.item, *unit.names).encode()).digest()

    def _order(self, unit: VotableComparison) -> tuple[str, ...]:
        """Sides in balanced blocks: of the rotations of a shuffle, the one this person has seen
        least of these contestants; then the one that puts each where it stood least; then the one
        that others have seen least of this item. What is left is the shuffle's."""
        shuffled = self._rng("order", unit.item, *unit.names).sample(unit.names, len(unit.names))
        turns = [tuple(shuffled[k:] + shuffled[:k]) for k in range(len(shuffled))]
        counted = [ballot for ballot in self.first_ballots if ballot.state != "skipped"]
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
        gone = {
            ballot_comparison(ballot) for ballot in self.own_ballots if ballot.chosen == "repeat"
        }
        first = [b for b in self.first_ballots if b.state == "voted" and b.mode == self.mode]
        if len(gone) >= int(self.rules.repeats * len(first)):
            return None
        far = [b for b in first if self._next_position() - b.position > MIN_REPEAT_GAP]
        far = [
            b
            for b in far
            if ballot_comparison(b) in self.votable and ballot_comparison(b) not in gone
        ]
        if not far:
            return None
        drawn = self._rng("repeat", str(self._next_position())).choice(far)
        return self._make_ballot(drawn.item, rotate_order(drawn.shown), "repeat")

    # ---- pieces --------------------------------------------------------------------------------

    def _next_position(self) -> int:
        return 1 + max((ballot.position for ballot in self.own_ballots), default=-1)

    def _make_ballot(self, item: str, shown: tuple[str, ...], chosen: SelectionReason) -> Ballot:
        return Ballot(self.voter, self._next_position(), item, shown, self.mode, chosen)

    def _rng(self, *parts: str) -> random.Random:
        return random.Random(self._seed(*parts))

    def _seed(self, *parts: str) -> str:
        return SEP.join(["vote", self.study, self.voter, *parts])


def rotate_order(shown: tuple[str, ...]) -> tuple[str, ...]:
    """Every answer in another place: two change sides, more move on by one."""
    return shown[1:] + shown[:1]


def ballot_comparison(ballot: Ballot) -> ComparisonKey:
    return (ballot.item, tuple(sorted(ballot.shown)))
