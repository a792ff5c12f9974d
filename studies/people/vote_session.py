"""Actions of a voter: vote, verify, skip, go back, undo.

Each action is one transaction of the store's writer, so several people can vote on a study at the
same time, and a vote is stored before the next comparison is shown. The next comparison is chosen
in studies.people.next_ballot.
"""

import sqlite3
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Final

from studies.domain import AnswerCheck, Ask, Judgement, Verdict
from studies.errors import StudyError
from studies.people.next_ballot import BallotPicker, VoterProgress
from studies.people.votable import ComparisonKey, VotableComparison, votable_comparisons
from studies.sources.building.recorded_verdict import VOTE_PROMPT
from studies.store import ballot_queries
from studies.store.rows import put_judgement
from studies.store.store import Store

MAX_COMMENT_CHARS: Final = 4_000
STAMP_TOLERANCE: Final = 1e-3
"""Seconds by which a ballot's time stamp may differ after the browser's conversion to JSON and
back."""


class StaleBallot(StudyError):
    """Raised if the ballot was changed or deleted after the page showed it, such as by the same
    voter in another window."""


@dataclass(frozen=True, slots=True)
class VoteSession:
    """One person's voting on one study."""

    store: Store
    study: str
    voter: str
    mode: ballot_queries.BallotMode
    rules: ballot_queries.VotingRules
    pool: Sequence[VotableComparison]
    """Comparisons selected by the voting rules."""
    votable: frozenset[ComparisonKey]
    """All comparisons that people can vote on in this voting mode; `pool` is a part of them."""
    clock: Callable[[], float] = time.time

    # ---- next ballot ---------------------------------------------------------------------------

    def next_ballot(self) -> ballot_queries.Ballot | None:
        """Return the next ballot to show, and store the present time as the time when it was shown.
        It is the voter's open ballot, else a repeat if one is due, else a new one; None if nothing
        is left. Open ballots that can no longer be voted on are deleted first."""

        def pick_and_store_ballot(connection: sqlite3.Connection) -> ballot_queries.Ballot | None:
            for outdated in self._build_ballot_picker(connection).outdated_ballots():
                ballot_queries.delete_ballot(connection, self.study, outdated)
            ballot = self._build_ballot_picker(connection).next_ballot()
            if ballot is not None:
                ballot_queries.put_ballot(connection, self.study, ballot)
            return ballot

        return self.store.writer.run(pick_and_store_ballot)  # type: ignore[no-any-return]

    def progress(self) -> VoterProgress:
        return self._build_ballot_picker(self.store.read_connection).progress()

    def _build_ballot_picker(self, connection: sqlite3.Connection) -> BallotPicker:
        voted = ballot_queries.voted_comparisons(connection, self.study, self.voter)
        ballots = ballot_queries.read_ballots(connection, self.study)
        return BallotPicker(
            self.study,
            self.voter,
            self.mode,
            self.rules,
            self.pool,
            self.votable,
            ballots,
            voted,
            self.clock(),
        )

    # ---- actions -------------------------------------------------------------------------------

    def vote(
        self,
        position: int,
        stamp: float,
        verdict: Verdict,
        comment: str = "",
        criteria: tuple[str, ...] = (),
    ) -> ballot_queries.Ballot:
        """Store a vote, in place of an earlier vote on the same ballot; return its ballot.
        `criteria` are the criteria of a filled-in rubric, in the order of the verdict's levels;
        `comment` is a remark by the voter.

        `position` is the index of the ballot among this voter's ballots. `stamp` is the value of
        `Ballot.done` (time of the vote or skip; 0 if open) that the page received with the ballot.
        If the stored value differs, StaleBallot is raised; StudyError if the item has changed or
        the answer picked is not on the ballot.
        """

        def write_vote(connection: sqlite3.Connection) -> ballot_queries.Ballot:
            ballot = self._require_unchanged_ballot(connection, position, stamp)
            done = replace(self._mark_done(ballot, comment), criteria=criteria)
            item = ballot_queries.read_items_by_id(connection, self.study, {ballot.item}).get(
                ballot.item
            )
            ask = ballot_queries.make_vote_ask(self.study, done, item) if item else None
            if ask is None:
                raise StudyError(
                    f"item {ballot.item!r} has changed, so the vote was not stored; reload the page"
                )
            if isinstance(verdict.pick, int) and not 0 <= verdict.pick < len(ballot.shown):
                raise StudyError(
                    f"this ballot has no answer {verdict.pick + 1}; choose one that is shown"
                )
            done = replace(done, key=ask.key)
            if ballot.key and ballot.key != ask.key:  # the texts have changed since the vote
                ballot_queries.delete_vote(connection, self.study, ballot.key)
            ballot_queries.append_vote_ask(connection, self.study, ask)
            why = ballot_queries.first_selection_reason(
                done, ballot_queries.read_ballots(connection, self.study, self.voter)
            )
            put_judgement(connection, self._build_vote_judgement(done, ask, verdict, why))
            ballot_queries.put_ballot(connection, self.study, done)
            ballot_queries.update_order_counts(connection, self.study, done)
            return done

        return self.store.writer.run(write_vote)  # type: ignore[no-any-return]

    def store_verification(
        self, position: int, stamp: float, check: AnswerCheck, comment: str = ""
    ) -> ballot_queries.Ballot:
        """Store this voter's verification of a single answer, which is not a judgement; return its
        ballot. `position`, `stamp` and StaleBallot are as in `vote`. Voter and contestant of
        `check` are replaced by those of the ballot."""

        def write_verification(connection: sqlite3.Connection) -> ballot_queries.Ballot:
            ballot = self._require_unchanged_ballot(connection, position, stamp)
            answer = replace(check, judge=self.voter, contestant=ballot.shown[0])
            done = replace(self._mark_done(ballot, comment), answer=answer)
            ballot_queries.put_ballot(connection, self.study, done)
            return done

        return self.store.writer.run(write_verification)  # type: ignore[no-any-return]

    def skip(self, position: int, stamp: float, comment: str = "") -> None:
        """Mark a ballot as skipped; a ballot with a vote stays unchanged. `position`, `stamp` and
        StaleBallot are as in `vote`."""

        def write_skip(connection: sqlite3.Connection) -> None:
            ballot = self._require_unchanged_ballot(connection, position, stamp)
            if ballot.state != "voted":  # skipping an earlier vote leaves it unchanged
                done = replace(self._mark_done(ballot, comment), state="skipped")
                ballot_queries.put_ballot(connection, self.study, done)

        self.store.writer.run(write_skip)

    def undo(self) -> ballot_queries.Ballot | None:
        """Withdraw this voter's last vote, verification or skip, and return its ballot, which is
        open again; None if there is nothing to withdraw."""

        def reopen_last_ballot(connection: sqlite3.Connection) -> ballot_queries.Ballot | None:
            mine = ballot_queries.read_ballots(connection, self.study, self.voter)
            closed = [ballot for ballot in mine if ballot.state != "open"]
            if not closed:
                return None
            last = max(closed, key=lambda ballot: (ballot.done, ballot.position))
            opened = self._reopen(last)
            ballot_queries.put_ballot(connection, self.study, opened)
            if last.key:
                ballot_queries.delete_vote(connection, self.study, last.key)
                ballot_queries.update_order_counts(connection, self.study, opened)
            return opened

        return self.store.writer.run(reopen_last_ballot)  # type: ignore[no-any-return]

    def reopen_skipped(self) -> int:
        """Open this voter's skipped ballots again; return their number."""

        def reopen_skipped_ballots(connection: sqlite3.Connection) -> int:
            mine = ballot_queries.read_ballots(connection, self.study, self.voter)
            skipped = [ballot for ballot in mine if ballot.state == "skipped"]
            for ballot in skipped:
                ballot_queries.put_ballot(connection, self.study, self._reopen(ballot))
            return len(skipped)

        return self.store.writer.run(reopen_skipped_ballots)  # type: ignore[no-any-return]

    def ballot_at(self, position: int) -> ballot_queries.Ballot | None:
        mine = ballot_queries.read_ballots(self.store.read_connection, self.study, self.voter)
        return next((ballot for ballot in mine if ballot.position == position), None)

    def show_previous_ballot(self, position: int) -> ballot_queries.Ballot | None:
        """Return the voter's last ballot with a number below `position`, and store the present time
        as the time when it was shown; None if there is no such ballot."""
        return self._show_ballot(lambda place: place < position)

    def show_following_done_ballot(self, position: int) -> ballot_queries.Ballot | None:
        """Return the voter's next ballot after number `position`, and store the present time as the
        time when it was shown. None if there is no such ballot or the voter has not done it yet.

        If the result is None, the page shows the ballot that `next_ballot` returns."""
        mine = [
            b
            for b in ballot_queries.read_ballots(self.store.read_connection, self.study, self.voter)
            if b.position > position
        ]
        if not mine or mine[0].state == "open":
            return None
        return self._show_ballot(lambda place: place == mine[0].position)

    def _show_ballot(self, wanted: Callable[[int], bool]) -> ballot_queries.Ballot | None:
        """Return the last of the voter's ballots for whose number `wanted` returns True, and store
        the present time as the time when it was shown; None if there is no such ballot."""

        def mark_as_shown(connection: sqlite3.Connection) -> ballot_queries.Ballot | None:
            mine = ballot_queries.read_ballots(connection, self.study, self.voter)
            found = [ballot for ballot in mine if wanted(ballot.position)]
            if not found:
                return None
            shown = replace(found[-1], seen=self.clock())
            ballot_queries.put_ballot(connection, self.study, shown)
            return shown

        return self.store.writer.run(mark_as_shown)  # type: ignore[no-any-return]

    # ---- helpers -------------------------------------------------------------------------------

    def _require_unchanged_ballot(
        self, connection: sqlite3.Connection, position: int, stamp: float
    ) -> ballot_queries.Ballot:
        """Return the voter's ballot number `position`; StaleBallot if there is none, or if its time
        of vote or skip is not `stamp`."""
        mine = ballot_queries.read_ballots(connection, self.study, self.voter)
        ballot = next((b for b in mine if b.position == position), None)
        if ballot is None or abs(ballot.done - stamp) > STAMP_TOLERANCE:
            raise StaleBallot(
                "this ballot was already voted on in another window; nothing was counted twice"
            )
        return ballot

    def _mark_done(self, ballot: ballot_queries.Ballot, comment: str) -> ballot_queries.Ballot:
        text = comment.strip()[:MAX_COMMENT_CHARS]
        return replace(ballot, state="voted", comment=text, done=self.clock())

    def _reopen(self, ballot: ballot_queries.Ballot) -> ballot_queries.Ballot:
        return replace(
            ballot, state="open", key="", answer=None, done=0.0, seen=self.clock(), criteria=()
        )

    def _build_vote_judgement(
        self, ballot: ballot_queries.Ballot, ask: Ask, verdict: Verdict, reason: str
    ) -> Judgement:
        seconds = max(0.0, ballot.done - ballot.seen) if self.rules.timed else 0.0
        return Judgement(
            ask,
            "ok",
            verdict,
            rule=VOTE_PROMPT,
            reply=ballot.comment,
            seconds=seconds,
            time=ballot.done,
            detail=ballot_queries.REASON_PREFIX + reason,
        )


def open_vote_session(
    store: Store, study: str, voter: str, mode: ballot_queries.BallotMode
) -> VoteSession:
    """Return a voter's session on a study; `mode` applies unless the study's voting rules set
    another mode."""
    rules = ballot_queries.read_voting_rules(store.read_connection, study)
    mode = rules.mode or mode
    known = votable_comparisons(store, study, mode, replace(rules, choose="random"))
    votable = frozenset(unit.comparison for unit in known)
    pool = votable_comparisons(store, study, mode, rules)
    return VoteSession(store, study, voter, mode, rules, pool, votable)


@dataclass(frozen=True, slots=True)
class VoterSummary:
    """One line in the list of voters: the voter, numbers of ballots voted on and skipped, and the
    time (`last`) when the voter last acted or was shown a ballot."""

    voter: str
    voted: int
    skipped: int
    last: float


def list_voters(store: Store, study: str) -> list[VoterSummary]:
    """List the voters of a study, most recently active first."""
    by_voter: dict[str, list[ballot_queries.Ballot]] = {}
    for ballot in ballot_queries.read_ballots(store.read_connection, study):
        by_voter.setdefault(ballot.voter, []).append(ballot)
    lines = [
        VoterSummary(
            voter,
            sum(b.state == "voted" for b in mine),
            sum(b.state == "skipped" for b in mine),
            max(max(b.done, b.seen) for b in mine),
        )
        for voter, mine in by_voter.items()
    ]
    return sorted(lines, key=lambda line: -line.last)
