"""Choice of a voter's next comparison and of the order of its answers.

The choice depends only on the data passed in, not on store or clock. Random choices are seeded by
study and voter, so the same votes in the same order always give the same next ballot.
"""

import hashlib
import random
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final, NamedTuple

from studies.frames.frame_codes import SEP
from studies.people.votable import ComparisonKey, VotableComparison
from studies.store.ballot_queries import (
    SINGLE_MODES,
    Ballot,
    BallotMode,
    SelectionReason,
    VotingRules,
)

MIN_REPEAT_GAP: Final = 5
"""Minimum number of ballots between a comparison and its repeat, so that voters do not remember
their vote."""
OPEN_BALLOT_SECONDS: Final = 30 * 60.0
"""Seconds, after it was last shown, during which an open ballot counts as a vote, so that other
voters get other comparisons."""


class VoterProgress(NamedTuple):
    """Progress of a voter: how many ballots were voted on, how many skipped, and how many are
    expected in total, done ones included. `repeats` is the part of this total that shows a
    comparison a second time."""

    voted: int
    skipped: int
    total: int
    repeats: int = 0


@dataclass(frozen=True, slots=True)
class BallotPicker:
    """Chooses a voter's next ballot and counts the voter's progress. It depends only on its fields,
    not on the store."""

    study: str
    voter: str
    mode: BallotMode
    rules: VotingRules
    pool: Sequence[VotableComparison]
    """Comparisons selected by the voting rules."""
    votable: frozenset[ComparisonKey]
    """All comparisons that people can vote on in this voting mode; `pool` is a part of them."""
    ballots: Sequence[Ballot]
    """Ballots of all voters."""
    voted_comparisons: set[ComparisonKey]
    """Comparisons on which this person has already voted, on the page or in the data file."""
    now: float

    @property
    def own_ballots(self) -> list[Ballot]:
        return [ballot for ballot in self.ballots if ballot.voter == self.voter]

    @property
    def own_ballots_without_repeats(self) -> list[Ballot]:
        """This voter's ballots that do not show a comparison again."""
        return [ballot for ballot in self.own_ballots if ballot.chosen != "repeat"]

    def outdated_ballots(self) -> list[Ballot]:
        """List this voter's open ballots that can no longer be voted on: the voting mode has
        changed since, or the study no longer has the comparison."""
        opened = [ballot for ballot in self.own_ballots if ballot.state == "open"]
        return [
            b for b in opened if b.mode != self.mode or ballot_comparison(b) not in self.votable
        ]

    def next_ballot(self) -> Ballot | None:
        """Return the voter's open ballot; if there is none, a ballot that repeats a comparison, if
        one is due; else a new ballot. None if nothing is left to show."""
        opened = next((ballot for ballot in self.own_ballots if ballot.state == "open"), None)
        ballot = opened or self._make_repeat_ballot() or self._make_new_ballot()
        return replace(ballot, seen=self.now) if ballot else None

    def progress(self) -> VoterProgress:
        first, states = (
            self.own_ballots_without_repeats,
            Counter(ballot.state for ballot in self.own_ballots),
        )
        total = len(first) + len(self._available_comparisons())
        if self.rules.each:
            total = max(min(self.rules.each, total), len(first))
        repeated = len(self.own_ballots) - len(first)
        answered = total - sum(ballot.state == "skipped" for ballot in first)
        repeatable = self.mode not in SINGLE_MODES and total > MIN_REPEAT_GAP
        due = int(self.rules.repeats * answered) if repeatable else 0
        repeats = max(due, repeated)
        return VoterProgress(states["voted"], states["skipped"], total + repeats, repeats)

    # ---- new ballots ---------------------------------------------------------------------------

    def _make_new_ballot(self) -> Ballot | None:
        """Return a ballot on the comparison with the fewest votes; of several such comparisons, on
        one with the highest weight (number of judges with prompts that disagree). None if no
        comparison is left or the voter has reached the limit."""
        enough = self.rules.each and len(self.own_ballots_without_repeats) >= self.rules.each
        fresh = [] if enough else self._available_comparisons()
        if not fresh:
            return None
        counts = self._vote_counts()
        unit = min(
            fresh, key=lambda u: (counts[u.comparison], -u.weight, self._random_order_hash(u))
        )
        return self._make_ballot(unit.item, self._choose_answer_order(unit), self.rules.choose)

    def _available_comparisons(self) -> list[VotableComparison]:
        """List the comparisons that this voter has not seen and that need more votes."""
        seen = {ballot_comparison(ballot) for ballot in self.own_ballots} | self.voted_comparisons
        counts = self._vote_counts()
        needed = (unit for unit in self.pool if counts[unit.comparison] < self.rules.votes)
        return [unit for unit in needed if unit.comparison not in seen]

    def _vote_counts(self) -> Counter[ComparisonKey]:
        """Count the votes on each comparison; a recently shown open ballot counts as a vote, a
        repeat does not."""
        return Counter(
            ballot_comparison(b)
            for b in self.ballots
            if b.chosen != "repeat"
            and (
                b.state == "voted"
                or (b.state == "open" and b.seen > self.now - OPEN_BALLOT_SECONDS)
            )
        )

    def _random_order_hash(self, unit: VotableComparison) -> bytes:
        """Return a hash by which comparisons are sorted: a random order that differs by voter."""
        return hashlib.sha256(self._seed(unit.item, *unit.names).encode()).digest()

    def _choose_answer_order(self, unit: VotableComparison) -> tuple[str, ...]:
        """Choose an order of the answers, among the rotations of a seeded shuffle: the rotation
        that this voter has seen least often.

        If several are equal, it is the one whose contestants this voter has seen least often in
        these positions; then the one that all voters have seen least often for this item.
        """
        shuffled = self._seeded_random("order", unit.item, *unit.names).sample(
            unit.names, len(unit.names)
        )
        rotations = [tuple(shuffled[k:] + shuffled[:k]) for k in range(len(shuffled))]
        counted = [
            ballot for ballot in self.own_ballots_without_repeats if ballot.state != "skipped"
        ]
        orders = Counter(ballot.shown for ballot in counted)
        slots = Counter((name, slot) for b in counted for slot, name in enumerate(b.shown))
        others = Counter(b.shown for b in self.ballots if b.item == unit.item)

        def times_seen(order: tuple[str, ...]) -> tuple[int, int, int]:
            in_slots = sum(slots[name, slot] for slot, name in enumerate(order))
            return orders[order], in_slots, others[order]

        return min(rotations, key=times_seen)

    # ---- repeats in another order --------------------------------------------------------------

    def _make_repeat_ballot(self) -> Ballot | None:
        """Return a ballot that repeats one of this voter's comparisons in another order; None if no
        repeat is due or all candidates were shown too recently."""
        if self.mode in SINGLE_MODES:
            return None
        repeated = {
            ballot_comparison(ballot) for ballot in self.own_ballots if ballot.chosen == "repeat"
        }
        first = [
            b
            for b in self.own_ballots_without_repeats
            if b.state == "voted" and b.mode == self.mode
        ]
        if len(repeated) >= int(self.rules.repeats * len(first)):
            return None
        far = [b for b in first if self._next_ballot_number() - b.position > MIN_REPEAT_GAP]
        far = [
            b
            for b in far
            if ballot_comparison(b) in self.votable and ballot_comparison(b) not in repeated
        ]
        if not far:
            return None
        drawn = self._seeded_random("repeat", str(self._next_ballot_number())).choice(far)
        return self._make_ballot(drawn.item, rotate_order(drawn.shown), "repeat")

    # ---- helpers -------------------------------------------------------------------------------

    def _next_ballot_number(self) -> int:
        return 1 + max((ballot.position for ballot in self.own_ballots), default=-1)

    def _make_ballot(self, item: str, shown: tuple[str, ...], chosen: SelectionReason) -> Ballot:
        return Ballot(self.voter, self._next_ballot_number(), item, shown, self.mode, chosen)

    def _seeded_random(self, *parts: str) -> random.Random:
        return random.Random(self._seed(*parts))

    def _seed(self, *parts: str) -> str:
        return SEP.join(["vote", self.study, self.voter, *parts])


def rotate_order(shown: tuple[str, ...]) -> tuple[str, ...]:
    """Return the order with each answer moved by one position; two answers are swapped."""
    return shown[1:] + shown[:1]


def ballot_comparison(ballot: Ballot) -> ComparisonKey:
    return (ballot.item, tuple(sorted(ballot.shown)))
