"""What voters do, and what becomes of it: vote, skip, go back, undo.

Every act is one transaction of the store's one writer, so that people vote on one study at once and
a vote is on disk before the next comparison is shown. Who gets what: studies.voting_draw.
"""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Final

from studies.ballots import (
    CHOSEN,
    Ballot,
    Mode,
    Voting,
    ask_for,
    ballots_of,
    count_orders,
    drop_ballot,
    drop_vote,
    items_in,
    origin_of,
    put_ballot,
    put_vote_row,
)
from studies.errors import StudyError
from studies.records import Ask, Check, Judgement, Verdict
from studies.rows import put_judgement
from studies.sources.gather import VOTE
from studies.store import Store
from studies.voting_draw import Draw, Standing
from studies.voting_pool import Place, Unit, pool, voted_before

MOST_COMMENT: Final = 4_000
SAME: Final = 1e-3
"""Seconds: a browser sends a stamp back as JSON does."""


class TakenAlready(StudyError):
    """The ballot is no longer as it was on this screen: another window of the voter was first."""


@dataclass(frozen=True, slots=True)
class Booth:
    """One person voting on one study by its rules."""

    store: Store
    study: str
    voter: str
    mode: Mode
    rules: Voting
    pool: Sequence[Unit]
    """What the rules choose."""
    known: frozenset[Place]
    """All that can be voted on in this form."""
    clock: Callable[[], float] = time.time

    # ---- what comes next ---------------------------------------------------------------------

    def next(self) -> Ballot | None:
        """The ballot to vote on now: the one left open, or a new one; None: there is none left."""

        def work(connection: sqlite3.Connection) -> Ballot | None:
            for unfit in self._draw(connection).unfit():
                drop_ballot(connection, self.study, unfit)
            ballot = self._draw(connection).ballot()
            if ballot is not None:
                put_ballot(connection, self.study, ballot)
            return ballot

        return self.store.writer.run(work)  # type: ignore[no-any-return]

    def standing(self) -> Standing:
        return self._draw(self.store.reading).standing()

    def _draw(self, connection: sqlite3.Connection) -> Draw:
        before = voted_before(connection, self.study, self.voter)
        ballots = ballots_of(connection, self.study)
        return Draw(self.study, self.voter, self.mode, self.rules, self.pool, self.known, ballots,
                    before, self.clock())  # fmt: skip

    # ---- what a person does ------------------------------------------------------------------

    def vote(self, position: int, stamp: float, verdict: Verdict, comment: str = "") -> Ballot:
        """Writes a vote, or the changed one. `stamp` is the ballot's `done` when it was shown: a
        ballot that was voted on elsewhere meanwhile is not voted on twice."""

        def work(connection: sqlite3.Connection) -> Ballot:
            ballot = self._as_shown(connection, position, stamp)
            done = self._done(ballot, comment)
            item = items_in(connection, self.study, {ballot.item}).get(ballot.item)
            ask = ask_for(self.study, done, item) if item else None
            if ask is None:
                raise StudyError(f"item {ballot.item!r} has changed; the next one is shown")
            if isinstance(verdict.pick, int) and not 0 <= verdict.pick < len(ballot.shown):
                raise StudyError(f"there is no answer {verdict.pick + 1} on this ballot")
            done = replace(done, key=ask.key)
            if ballot.key and ballot.key != ask.key:  # its texts were changed in between
                drop_vote(connection, self.study, ballot.key)
            put_vote_row(connection, self.study, ask)
            why = origin_of(done, ballots_of(connection, self.study, self.voter))
            put_judgement(connection, self._judgement(done, ask, verdict, why))
            put_ballot(connection, self.study, done)
            count_orders(connection, self.study, done)
            return done

        return self.store.writer.run(work)  # type: ignore[no-any-return]

    def check(self, position: int, stamp: float, check: Check, comment: str = "") -> Ballot:
        """Writes a verification, which is no judgement."""

        def work(connection: sqlite3.Connection) -> Ballot:
            ballot = self._as_shown(connection, position, stamp)
            said = replace(check, judge=self.voter, contestant=ballot.shown[0])
            done = replace(self._done(ballot, comment), answer=said)
            put_ballot(connection, self.study, done)
            return done

        return self.store.writer.run(work)  # type: ignore[no-any-return]

    def skip(self, position: int, stamp: float, comment: str = "") -> None:
        def work(connection: sqlite3.Connection) -> None:
            ballot = self._as_shown(connection, position, stamp)
            if ballot.state != "voted":  # whoever looks back and goes on skips nothing
                done = replace(self._done(ballot, comment), state="skipped")
                put_ballot(connection, self.study, done)

        self.store.writer.run(work)

    def undo(self) -> Ballot | None:
        """Takes back what this person did last, and opens that ballot again."""

        def work(connection: sqlite3.Connection) -> Ballot | None:
            acted = [b for b in ballots_of(connection, self.study, self.voter) if b.state != "open"]
            if not acted:
                return None
            last = max(acted, key=lambda ballot: (ballot.done, ballot.position))
            opened = self._opened(last)
            put_ballot(connection, self.study, opened)
            if last.key:
                drop_vote(connection, self.study, last.key)
                count_orders(connection, self.study, opened)
            return opened

        return self.store.writer.run(work)  # type: ignore[no-any-return]

    def again(self) -> int:
        """Opens what this person skipped; returns how many."""

        def work(connection: sqlite3.Connection) -> int:
            mine = ballots_of(connection, self.study, self.voter)
            skipped = [ballot for ballot in mine if ballot.state == "skipped"]
            for ballot in skipped:
                put_ballot(connection, self.study, self._opened(ballot))
            return len(skipped)

        return self.store.writer.run(work)  # type: ignore[no-any-return]

    def at(self, position: int) -> Ballot | None:
        mine = self.store.ballots(self.study, self.voter)
        return next((ballot for ballot in mine if ballot.position == position), None)

    def before(self, position: int) -> Ballot | None:
        """The ballot that this person saw before another; None at the first."""
        return self._look(lambda place: place < position)

    def after(self, position: int) -> Ballot | None:
        """The next one that this person has acted on; None: what comes is `next`."""
        mine = [b for b in self.store.ballots(self.study, self.voter) if b.position > position]
        if not mine or mine[0].state == "open":
            return None
        return self._look(lambda place: place == mine[0].position)

    def _look(self, wanted: Callable[[int], bool]) -> Ballot | None:
        """The last of those that are wanted, put on screen now."""

        def work(connection: sqlite3.Connection) -> Ballot | None:
            mine = ballots_of(connection, self.study, self.voter)
            found = [ballot for ballot in mine if wanted(ballot.position)]
            if not found:
                return None
            shown = replace(found[-1], seen=self.clock())
            put_ballot(connection, self.study, shown)
            return shown

        return self.store.writer.run(work)  # type: ignore[no-any-return]

    # ---- pieces -------------------------------------------------------------------------------

    def _as_shown(self, connection: sqlite3.Connection, position: int, stamp: float) -> Ballot:
        mine = ballots_of(connection, self.study, self.voter)
        ballot = next((b for b in mine if b.position == position), None)
        if ballot is None or abs(ballot.done - stamp) > SAME:
            raise TakenAlready("this one was voted on in another window; nothing was counted twice")
        return ballot

    def _done(self, ballot: Ballot, comment: str) -> Ballot:
        words = comment.strip()[:MOST_COMMENT]
        return replace(ballot, state="voted", comment=words, done=self.clock())

    def _opened(self, ballot: Ballot) -> Ballot:
        return replace(ballot, state="open", key="", answer=None, done=0.0, seen=self.clock())

    def _judgement(self, ballot: Ballot, ask: Ask, verdict: Verdict, why: str) -> Judgement:
        seconds = max(0.0, ballot.done - ballot.seen) if self.rules.timed else 0.0
        return Judgement(
            ask, "ok", verdict, rule=VOTE, reply=ballot.comment, seconds=seconds,
            time=ballot.done, detail=CHOSEN + why,
        )  # fmt: skip


def booth(store: Store, study: str, voter: str, mode: Mode) -> Booth:
    """A person before a study; `mode` is the form that its protocol asks for, unless the rules of
    the study name another."""
    rules = store.voting(study)
    mode = rules.mode or mode
    known = pool(store, study, mode, replace(rules, choose="random"))
    places = frozenset(unit.place for unit in known)
    return Booth(store, study, voter, mode, rules, pool(store, study, mode, rules), places)


@dataclass(frozen=True, slots=True)
class VoterLine:
    """One person in the list of those who vote."""

    voter: str
    voted: int
    skipped: int
    last: float


def voters(store: Store, study: str) -> list[VoterLine]:
    """Who votes on a study, who was here last first."""
    by: dict[str, list[Ballot]] = {}
    for ballot in store.ballots(study):
        by.setdefault(ballot.voter, []).append(ballot)
    lines = [
        VoterLine(
            voter,
            sum(b.state == "voted" for b in mine),
            sum(b.state == "skipped" for b in mine),
            max(max(b.done, b.seen) for b in mine),
        )
        for voter, mine in by.items()
    ]
    return sorted(lines, key=lambda line: -line.last)
