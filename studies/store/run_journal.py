"""Journal of a run: a lease and a start record right before each call, the result after it.

A lease reserves a call for one run, so that two processes with common calls pay once: the process
with the lease makes the call, the other waits for the result. A lease is taken only right before a
call, so a start record without an outcome means that the process died during the call. Such calls,
which a new run may pay for again, are listed.
"""

import asyncio
import sqlite3
import time
from collections.abc import Awaitable, Callable, Collection
from dataclasses import dataclass, replace
from typing import Any, Literal

from studies.domain import Judgement, Usage
from studies.errors import StoreUnusable
from studies.store.queries.adapted_requests import find_key_as_sent, rekey_adapted_call
from studies.store.rows import PromptText, RequestRecord, put_judgement
from studies.store.run_owners import LeaseOwner, is_owner_alive_else_clean_up
from studies.store.store import Store
from studies.store.writer import WriteFunction

NotStarted = Literal["elsewhere", "answered", "too dear"]
"""Reason why a call does not start. `elsewhere`: another live run has leased the call and will
store the result. `answered`: a result was stored in the meantime. `too dear`: the budget that all
runs share has no room for the call."""


class RunJournal:
    """Stores the calls of one run and their results. Each asynchronous method returns only after
    its data is committed to the disk.

    The run replaces judgements whose status is in `again`, except those stored after the run
    began."""

    def __init__(
        self,
        store: Store,
        *,
        again: Collection[str] = ("error",),
        clock: Callable[[], float] = time.time,
    ) -> None:
        try:
            self.owner = LeaseOwner(store.run_locks_folder)
        except OSError as error:
            raise StoreUnusable(
                f"the folder of the store cannot be written: {error.strerror}; move the store to a "
                "writable folder on a local disk"
            ) from None
        self.attempts_in_flight: set[int] = set()
        """Ids of started attempts whose outcome is not stored yet."""
        self.pause_until_resumed: Callable[[StoreUnusable, float], Awaitable[bool]] | None = None
        """Function called after a failed write with the error and the time when the write was
        submitted; returns whether to try again."""
        self.fits_budget: Callable[[sqlite3.Connection], bool] = lambda connection: True
        """Function that returns whether one more call fits into the study's budget, given the
        stored attempts of all runs."""
        self.retry_statuses = tuple(sorted(again))
        self.start_seq = store.last_seq()
        self._store, self._clock = store, clock

    def close(self) -> None:
        """Release all leases and delete attempts whose request was not sent.

        Attempts whose outcome could not be stored remain and are listed as possibly paid.
        """
        owner, in_flight = self.owner.id, list(self.attempts_in_flight)

        def delete_leases_and_unsent_attempts(connection: sqlite3.Connection) -> None:
            connection.execute("DELETE FROM leases WHERE owner=?", (owner,))
            marks = ",".join("?" * len(in_flight))
            connection.execute(
                f"DELETE FROM attempts WHERE owner=? AND ended IS NULL AND id NOT IN ({marks})",
                (owner, *in_flight),
            )

        try:
            self._store.writer.run(delete_leases_and_unsent_attempts)
        finally:
            self.owner.close()

    async def begin_attempt(self, key: str, *, leased: bool = False) -> int | NotStarted:
        """Reserve a call for this run (take its lease) and record that an attempt at it starts,
        in one commit.

        Return the id of the attempt, or the reason why the call must not start. The
        attempt counts as in flight until its outcome is stored or it is undone. `leased`
        means that the run holds the lease already, from an earlier attempt."""
        begun: int | NotStarted = await self.write(lambda c: self._begin_attempt(c, key, leased))
        if isinstance(begun, int):
            self.attempts_in_flight.add(begun)
        return begun

    async def undo_attempt(self, key: str, attempt: int, *, keep_lease: bool = False) -> None:
        """Delete the record of an attempt whose request was not sent, because no call may
        start now: the run is paused or stopped, the judge is stopped, the budget is reached,
        or the endpoint makes calls wait. The lease of the call is released.

        With `keep_lease` it is kept, because another attempt at the same call is in progress."""

        def delete_attempt_and_lease(connection: sqlite3.Connection) -> None:
            connection.execute("DELETE FROM attempts WHERE id=?", (attempt,))
            if not keep_lease:
                self._release_lease(connection, key)

        await self.write(delete_attempt_and_lease)
        self.attempts_in_flight.discard(attempt)

    async def end_attempt(
        self, attempt: int, outcome: str, usage: Usage, cost: float | None
    ) -> None:
        """Store the outcome of a failed attempt, and keep the call reserved for the next attempt.
        `usage` has the tokens of the attempt, `cost` its price in dollars (None if unknown)."""
        now = self._clock()
        await self.write(lambda c: _end_attempt(c, attempt, outcome, usage, cost, now))
        self.attempts_in_flight.discard(attempt)

    async def release_lease(self, key: str) -> None:
        """Release the lease of a call, so that other runs can make it."""
        await self.write(lambda c: self._release_lease(c, key))

    def find_leased_keys(self, keys: Collection[str]) -> set[str]:
        """Return those of the keys whose calls a live run has leased at this moment."""
        marks = ",".join("?" * len(keys))
        rows = self._store.read(
            f"SELECT key, owner FROM leases WHERE key IN ({marks})", list(keys)
        ).fetchall()
        alive = {
            owner: is_owner_alive_else_clean_up(self._store.run_locks_folder, owner)
            for owner in {row[1] for row in rows}
        }
        return {key for key, owner in rows if alive[owner]}

    async def store_judgement(
        self,
        judgement: Judgement,
        attempt: int,
        usage: Usage,
        cost: float | None,
        *,
        without: Collection[str] = (),
    ) -> None:
        """Store a judgement and the outcome of the attempt that gave it, and release the lease, in
        one commit.

        An error replaces only a stored error, and a judgement without text replaces no reply with
        text. `without` are planned parameters that were not sent because the endpoint refuses them;
        a reply is then stored under another key (studies/store/queries/adapted_requests.py)."""
        now = self._clock()

        def write_judgement_and_outcome(connection: sqlite3.Connection) -> None:
            settled = judgement
            if judgement.status != "error":
                key = rekey_adapted_call(connection, judgement.ask.key, without)
                settled = replace(judgement, ask=replace(judgement.ask, key=key))
            _put_judgement_if_better(connection, settled)
            _end_attempt(connection, attempt, judgement.status, usage, cost, now)
            self._release_lease(connection, judgement.ask.key)

        await self.write(write_judgement_and_outcome)
        self.attempts_in_flight.discard(attempt)

    async def store_extraction(
        self,
        extraction: Judgement,
        extracted: Judgement | None,
        stamps: tuple[RequestRecord, PromptText],
        attempt: int,
        usage: Usage,
        cost: float | None,
    ) -> None:
        """Store an extraction: the reading, by a second judge, of a reply in which no rule found a
        verdict.

        `extracted` is the judgement on this reply with the verdict found, which is stored too;
        None if the second judge found none. `stamps` are the request and the prompt of the
        extraction, which are stored because an extraction is in no plan."""
        ask, now = extraction.ask, self._clock()

        def write_extraction_and_release(connection: sqlite3.Connection) -> None:
            put_judgement(connection, extraction)
            connection.execute(
                "INSERT OR REPLACE INTO extractions VALUES (?,?,?,?)",
                (ask.key, ask.reads, ask.judge, ask.prompt),
            )
            connection.execute("INSERT OR IGNORE INTO requests VALUES (?,?,?,?,?)", stamps[0])
            connection.execute("INSERT OR IGNORE INTO prompts VALUES (?,?,?,?)", stamps[1])
            if extracted is not None:
                put_judgement(connection, extracted)
            _end_attempt(connection, attempt, extraction.status, usage, cost, now)
            self._release_lease(connection, ask.key)

        await self.write(write_extraction_and_release)
        self.attempts_in_flight.discard(attempt)

    async def end_attempt_and_release(
        self, key: str, attempt: int, outcome: str, usage: Usage, cost: float | None
    ) -> None:
        """Store the outcome of an attempt without a judgement, because its judge was stopped, and
        release the lease. The call stays pending for a later run."""
        now = self._clock()

        def write_outcome_and_release(connection: sqlite3.Connection) -> None:
            _end_attempt(connection, attempt, outcome, usage, cost, now)
            self._release_lease(connection, key)

        await self.write(write_outcome_and_release)
        self.attempts_in_flight.discard(attempt)

    def _begin_attempt(
        self, connection: sqlite3.Connection, key: str, leased: bool
    ) -> int | NotStarted:
        """Store the lease, unless the caller has it, and the start of an attempt; return the
        attempt's id, or the reason why the call must not start."""
        if not leased and self._has_final_judgement(connection, key):
            return "answered"
        if not self.fits_budget(connection):
            return "too dear"
        if not leased and not self._take_lease(connection, key):
            return "elsewhere"
        cursor = connection.execute(
            "INSERT INTO attempts(key, owner, started) VALUES (?,?,?)",
            (key, self.owner.id, self._clock()),
        )
        return int(cursor.lastrowid or 0)

    def _release_lease(self, connection: sqlite3.Connection, key: str) -> None:
        """Release this run's lease of a call. If another run has taken it over, nothing happens."""
        connection.execute("DELETE FROM leases WHERE key=? AND owner=?", (key, self.owner.id))

    def _has_final_judgement(self, connection: sqlite3.Connection, key: str) -> bool:
        """Whether a call has a judgement that this run does not replace: one stored since the run
        began, or one whose status the run does not retry."""
        rows = connection.execute(
            "SELECT seq, status FROM judgements WHERE key IN (?,?)",
            (key, find_key_as_sent(connection, key)),
        )
        return any(seq > self.start_seq or one not in self.retry_statuses for seq, one in rows)

    def _take_lease(self, connection: sqlite3.Connection, key: str) -> bool:
        """Lease a call for this run; return False if a live run has leased it."""
        row = connection.execute("SELECT owner FROM leases WHERE key=?", (key,)).fetchone()
        if row is not None and is_owner_alive_else_clean_up(self._store.run_locks_folder, row[0]):
            return False
        connection.execute("INSERT OR REPLACE INTO leases VALUES (?,?)", (key, self.owner.id))
        return True

    async def write(self, work: WriteFunction) -> Any:
        """Run a write in the store's writer thread and return its result. If the store cannot be
        written, ask `pause_until_resumed` (which can wait, for example until a full disk has space)
        and try again if it returns True, so that no paid reply is lost; otherwise raise
        StoreUnusable."""
        while True:
            submitted = time.monotonic()
            try:
                return await self._submit_and_wait(work)
            except StoreUnusable as error:
                if self.pause_until_resumed is None or not await self.pause_until_resumed(
                    error, submitted
                ):
                    raise

    async def _submit_and_wait(self, work: WriteFunction) -> Any:
        future: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        self._store.writer.submit_from_loop(asyncio.get_running_loop(), work, future)
        return await asyncio.shield(future)


@dataclass(frozen=True, slots=True)
class PossiblyPaidCall:
    """A call in flight when its process died: it may have been billed, and a new run repeats it."""

    key: str
    started: float


def list_possibly_paid_calls(store: Store, study: str | None = None) -> list[PossiblyPaidCall]:
    """List the attempts that have no outcome and whose process has ended: the attempts at calls of
    `study` or, without it, of all studies."""
    where = "" if study is None else f"AND {ATTEMPTS_OF_STUDY}"
    rows = store.read(
        f"SELECT key, owner, started FROM attempts WHERE ended IS NULL {where}",
        () if study is None else (study, study),
    ).fetchall()
    alive = {
        owner: is_owner_alive_else_clean_up(store.run_locks_folder, owner)
        for owner in {row[1] for row in rows}
    }
    return [PossiblyPaidCall(key, started) for key, owner, started in rows if not alive[owner]]


ATTEMPTS_OF_STUDY = (
    "(EXISTS (SELECT 1 FROM plan p WHERE p.key=attempts.key "
    "AND p.study=(SELECT id FROM studies WHERE name=?)) "
    "OR EXISTS (SELECT 1 FROM extractions e JOIN plan p ON p.key=e.reads WHERE e.key=attempts.key "
    "AND p.study=(SELECT id FROM studies WHERE name=?)))"
)
"""SQL condition for the attempts of a study: attempts at its calls, and at extractions of verdicts
from the replies to its calls."""


def _put_judgement_if_better(connection: sqlite3.Connection, judgement: Judgement) -> None:
    """Store a judgement, unless a better one is stored under its key.

    An error replaces only an error. A judgement without text (such as an endpoint's refusal)
    does not replace a judgement with text, which was paid for."""
    row = connection.execute(
        "SELECT status, reply!='' OR reasoning!='' FROM judgements JOIN replies USING(key) "
        "WHERE key=?",
        (judgement.ask.key,),
    ).fetchone()
    if row is not None:
        status, has_text = row
        empty = not (judgement.reply or judgement.reasoning)
        if (judgement.status == "error" and status != "error") or (has_text and empty):
            return
    put_judgement(connection, judgement)


def _end_attempt(
    connection: sqlite3.Connection,
    attempt: int,
    outcome: str,
    usage: Usage,
    cost: float | None,
    now: float,
) -> None:
    """Store the end of an attempt: time `now`, outcome, tokens, and dollars (None if unknown)."""
    connection.execute(
        "UPDATE attempts SET ended=?, outcome=?, prompt_tokens=?, completion_tokens=?, "
        "cached_tokens=?, cache_write=?, cost=?, reasoning_tokens=? WHERE id=?",
        (
            now,
            outcome,
            usage.prompt,
            usage.completion,
            usage.cached,
            usage.cache_write,
            cost,
            usage.reasoning_tokens,
            attempt,
        ),
    )
