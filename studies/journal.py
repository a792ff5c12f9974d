"""What a run writes while it asks: leases and intents ahead of each call, results after it.

Two processes with common asks pay once: whoever holds the lease asks, the other waits for the
result. What can be paid twice is what was in flight when a process died, and it is listed.
"""

from __future__ import annotations

import asyncio
import sqlite3
import time
from collections.abc import Awaitable, Callable, Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from studies.errors import StoreUnusable
from studies.owner import Owner, is_alive
from studies.records import Judgement, Usage
from studies.rows import PromptText, Request, put_judgement
from studies.store import Store
from studies.writer import Work


class Claim(NamedTuple):
    """An ask that is ours to make: its intent is on disk."""

    key: str
    attempt: int


@dataclass(frozen=True, slots=True)
class Claimed:
    """What became of a wish to make some asks."""

    ours: list[Claim]
    elsewhere: list[str]
    """Leased by a live owner: come back for the result."""


class Journal:
    """The write side of a store for one run; every await returns after the commit.

    `again`: statuses that do not satisfy this run, unless they were written after it began.
    """

    def __init__(
        self,
        store: Store,
        *,
        again: Collection[str] = ("error",),
        wall: Callable[[], float] = time.time,
    ) -> None:
        try:
            self.owner = Owner(store.owners)
        except OSError as error:
            raise StoreUnusable(
                f"the folder of the store cannot be written: {error.strerror}"
            ) from None
        self.calling: set[int] = set()
        """Attempts whose call has begun and whose outcome is not on disk yet."""
        self.repaired: Callable[[StoreUnusable, float], Awaitable[bool]] | None = None
        """Asked when a write fails, with when it was submitted: True means try again."""
        self.again_if = tuple(sorted(again))
        self.began = int(store.read("SELECT COALESCE(max(seq), 0) FROM judgements").fetchone()[0])
        self._store, self._wall = store, wall

    def close(self) -> None:
        """Gives back what was claimed. An attempt that was not called is forgotten; one whose
        outcome could not be written stays, listed as possibly paid."""
        owner, calling = self.owner.id, list(self.calling)

        def work(connection: sqlite3.Connection) -> None:
            connection.execute("DELETE FROM leases WHERE owner=?", (owner,))
            marks = ",".join("?" * len(calling))
            connection.execute(
                f"DELETE FROM attempts WHERE owner=? AND ended IS NULL AND id NOT IN ({marks})",
                (owner, *calling),
            )

        try:
            self._store.writer.run(work)
        finally:
            self.owner.close()

    async def claim(self, keys: Sequence[str]) -> Claimed:
        """Leases with their intents, one commit. Keys answered meanwhile are in neither list."""
        return await self._write(lambda c: self._claim(c, keys))  # type: ignore[no-any-return]

    async def again(
        self, key: str, attempt: int, outcome: str, usage: Usage, cost: float | None
    ) -> int:
        """Ends an attempt that did not settle its ask, and writes the intent of the next one."""
        owner, now = self.owner.id, self._wall()

        def work(connection: sqlite3.Connection) -> int:
            _end(connection, attempt, outcome, usage, cost, now)
            return _intent(connection, key, owner, now)

        following: int = await self._write(work)
        self.calling.discard(attempt)
        return following

    async def settle(
        self, judgement: Judgement, attempt: int, usage: Usage, cost: float | None
    ) -> None:
        """The judgement, its last attempt's outcome and the end of the lease, in one commit."""
        now = self._wall()

        def work(connection: sqlite3.Connection) -> None:
            _put_if_better(connection, judgement)
            _end(connection, attempt, judgement.status, usage, cost, now)
            connection.execute("DELETE FROM leases WHERE key=?", (judgement.ask.key,))

        await self._write(work)
        self.calling.discard(attempt)

    async def settle_extraction(
        self,
        extraction: Judgement,
        extracted: Judgement | None,
        stamps: tuple[Request, PromptText],
        attempt: int,
        usage: Usage,
        cost: float | None,
    ) -> None:
        """An extraction's own judgement, and the one it read if a verdict was found in it.

        `stamps` say what was asked: it is in no plan.
        """
        ask, now = extraction.ask, self._wall()

        def work(connection: sqlite3.Connection) -> None:
            put_judgement(connection, extraction)
            connection.execute(
                "INSERT OR REPLACE INTO extractions VALUES (?,?,?,?)",
                (ask.key, ask.reads, ask.judge, ask.prompt),
            )
            connection.execute("INSERT OR IGNORE INTO requests VALUES (?,?,?,?,?)", stamps[0])
            connection.execute("INSERT OR IGNORE INTO prompts VALUES (?,?,?,?)", stamps[1])
            if extracted is not None:
                put_judgement(connection, extracted)
            _end(connection, attempt, extraction.status, usage, cost, now)
            connection.execute("DELETE FROM leases WHERE key=?", (ask.key,))

        await self._write(work)
        self.calling.discard(attempt)

    async def give_up(
        self, key: str, attempt: int, outcome: str, usage: Usage, cost: float | None
    ) -> None:
        """A call was made, and its ask stays pending: the judge was stopped."""
        now = self._wall()

        def work(connection: sqlite3.Connection) -> None:
            _end(connection, attempt, outcome, usage, cost, now)
            connection.execute("DELETE FROM leases WHERE key=?", (key,))

        await self._write(work)
        self.calling.discard(attempt)

    async def release(self, claims: Iterable[Claim]) -> None:
        """Asks that were claimed and will not be made now."""
        rows = [(claim.key, claim.attempt) for claim in claims]

        def work(connection: sqlite3.Connection) -> None:
            connection.executemany("DELETE FROM leases WHERE key=?", [(key,) for key, _ in rows])
            connection.executemany("DELETE FROM attempts WHERE id=?", [(a,) for _, a in rows])

        if rows:
            await self._write(work)

    def _claim(self, connection: sqlite3.Connection, keys: Sequence[str]) -> Claimed:
        ours: list[Claim] = []
        elsewhere: list[str] = []
        alive: dict[str, bool] = {self.owner.id: True}
        now = self._wall()
        for key in keys:
            if self._answered(connection, key):
                continue
            if self._lease(connection, key, alive):
                ours.append(Claim(key, _intent(connection, key, self.owner.id, now)))
            else:
                elsewhere.append(key)
        return Claimed(ours, elsewhere)

    def _answered(self, connection: sqlite3.Connection, key: str) -> bool:
        row = connection.execute(
            "SELECT seq, status FROM judgements WHERE key=?", (key,)
        ).fetchone()
        return row is not None and (row[0] > self.began or row[1] not in self.again_if)

    def _lease(self, connection: sqlite3.Connection, key: str, alive: dict[str, bool]) -> bool:
        row = connection.execute("SELECT owner FROM leases WHERE key=?", (key,)).fetchone()
        if row is not None:
            owner = row[0]
            if owner not in alive:
                alive[owner] = is_alive(self._store.owners, owner)
            if alive[owner]:
                return False
        connection.execute("INSERT OR REPLACE INTO leases VALUES (?,?)", (key, self.owner.id))
        return True

    async def _write(self, work: Work) -> Any:
        """Nothing that came back from a judge is let go while somebody may still repair a full
        disk."""
        while True:
            submitted = time.monotonic()
            try:
                return await self._committed(work)
            except StoreUnusable as error:
                if self.repaired is None or not await self.repaired(error, submitted):
                    raise

    async def _committed(self, work: Work) -> Any:
        future: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        self._store.writer.submit_from(asyncio.get_running_loop(), work, future)
        return await asyncio.shield(future)


@dataclass(frozen=True, slots=True)
class Doubtful:
    """A call that was in flight, or about to be made, when its process died: the provider may
    have billed it, and it is asked again."""

    key: str
    started: float


def possibly_paid_twice(store: Store, study: str | None = None) -> list[Doubtful]:
    """Attempts without an outcome whose owner is no longer alive; of one study, or of all."""
    where = "" if study is None else f"AND {OF_STUDY}"
    rows = store.read(
        f"SELECT key, owner, started FROM attempts WHERE ended IS NULL {where}",
        () if study is None else (study, study),
    ).fetchall()
    alive = {owner: is_alive(store.owners, owner) for owner in {row[1] for row in rows}}
    return [Doubtful(key, started) for key, owner, started in rows if not alive[owner]]


OF_STUDY = (
    "key IN (SELECT key FROM plan WHERE study=(SELECT id FROM studies WHERE name=?) "
    "UNION ALL SELECT e.key FROM extractions e JOIN plan p ON p.key=e.reads "
    "WHERE p.study=(SELECT id FROM studies WHERE name=?))"
)
"""Attempts of a study: those of its asks and of the extractions that read their replies."""


def _put_if_better(connection: sqlite3.Connection, judgement: Judgement) -> None:
    """An error never takes the place of a reply that an earlier run paid for."""
    if judgement.status == "error":
        row = connection.execute(
            "SELECT 1 FROM judgements WHERE key=? AND status!='error'", (judgement.ask.key,)
        ).fetchone()
        if row is not None:
            return
    put_judgement(connection, judgement)


def _intent(connection: sqlite3.Connection, key: str, owner: str, now: float) -> int:
    cursor = connection.execute(
        "INSERT INTO attempts(key, owner, started) VALUES (?,?,?)", (key, owner, now)
    )
    return int(cursor.lastrowid or 0)


def _end(
    connection: sqlite3.Connection,
    attempt: int,
    outcome: str,
    usage: Usage,
    cost: float | None,
    now: float,
) -> None:
    connection.execute(
        "UPDATE attempts SET ended=?, outcome=?, prompt_tokens=?, completion_tokens=?, "
        "cached_tokens=?, cache_write=?, cost=? WHERE id=?",
        (
            now, outcome, usage.prompt, usage.completion, usage.cached, usage.cache_write, cost,
            attempt,
        ),
    )  # fmt: skip
