"""What a run writes while it asks: leases and intents ahead of each call, results after it.

Two processes with common asks pay once: whoever holds the lease asks, the other waits for the
result. What can be paid twice is what was in flight when a process died, and it is listed.
"""

from __future__ import annotations

import asyncio
import contextlib
import sqlite3
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from studies.owner import Owner, is_alive
from studies.records import Judgement, Usage
from studies.store import Store, put_judgement
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
    """The write side of a store for one run; every await returns after the commit."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self.owner = Owner(store.owners)

    def close(self) -> None:
        """Gives back what was claimed and not asked; the attempts of a clean end are all ended."""
        owner = self.owner.id
        self._store.writer.run(
            lambda c: (
                c.execute("DELETE FROM leases WHERE owner=?", (owner,)),
                c.execute("DELETE FROM attempts WHERE owner=? AND ended IS NULL", (owner,)),
            )
        )
        self.owner.close()

    async def claim(self, keys: Sequence[str]) -> Claimed:
        """Leases with their intents, one commit. Keys answered meanwhile are in neither list."""
        return await self._write(lambda c: self._claim(c, keys))  # type: ignore[no-any-return]

    async def again(self, key: str) -> int:
        """The intent of one more attempt at an ask that is already ours."""
        owner = self.owner.id
        return await self._write(lambda c: _intent(c, key, owner))  # type: ignore[no-any-return]

    async def ended(self, attempt: int, outcome: str, usage: Usage, cost: float | None) -> None:
        """An attempt that did not settle its ask: it may have been billed all the same."""
        await self._write(lambda c: _end(c, attempt, outcome, usage, cost))

    async def settle(
        self, judgement: Judgement, attempt: int, usage: Usage, cost: float | None
    ) -> None:
        """The judgement, its last attempt's outcome and the end of the lease, in one commit."""

        def work(connection: sqlite3.Connection) -> None:
            put_judgement(connection, judgement)
            _end(connection, attempt, judgement.status, usage, cost)
            connection.execute("DELETE FROM leases WHERE key=?", (judgement.ask.key,))

        await self._write(work)

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
        for key in keys:
            if _answered(connection, key):
                continue
            if self._lease(connection, key):
                ours.append(Claim(key, _intent(connection, key, self.owner.id)))
            else:
                elsewhere.append(key)
        return Claimed(ours, elsewhere)

    def _lease(self, connection: sqlite3.Connection, key: str) -> bool:
        row = connection.execute("SELECT owner FROM leases WHERE key=?", (key,)).fetchone()
        if row is not None and (row[0] == self.owner.id or is_alive(self._store.owners, row[0])):
            return False
        connection.execute("INSERT OR REPLACE INTO leases VALUES (?,?)", (key, self.owner.id))
        return True

    async def _write(self, work: Work) -> Any:
        loop = asyncio.get_running_loop()
        future: asyncio.Future[Any] = loop.create_future()

        def settle(result: Any, error: Exception | None) -> None:
            if future.cancelled():
                return
            future.set_result(result) if error is None else future.set_exception(error)

        self._store.writer.submit(work, lambda result, error: _later(loop, settle, result, error))
        return await asyncio.shield(future)


def _later(loop: asyncio.AbstractEventLoop, settle: Callable[..., None], *values: Any) -> None:
    """Back in the run's loop; one that closed meanwhile has nobody waiting."""
    with contextlib.suppress(RuntimeError):
        loop.call_soon_threadsafe(settle, *values)


@dataclass(frozen=True, slots=True)
class Doubtful:
    """A call that was in flight when its process died: the provider may have billed it."""

    key: str
    started: float


def possibly_paid_twice(store: Store) -> list[Doubtful]:
    """Attempts without an outcome whose owner is no longer alive."""
    rows = store.read("SELECT key, owner, started FROM attempts WHERE ended IS NULL").fetchall()
    alive = {owner: is_alive(store.owners, owner) for owner in {row[1] for row in rows}}
    return [Doubtful(key, started) for key, owner, started in rows if not alive[owner]]


def _answered(connection: sqlite3.Connection, key: str) -> bool:
    row = connection.execute(
        "SELECT 1 FROM judgements WHERE key=? AND status!='error'", (key,)
    ).fetchone()
    return row is not None


def _intent(connection: sqlite3.Connection, key: str, owner: str) -> int:
    cursor = connection.execute(
        "INSERT INTO attempts(key, owner, started) VALUES (?,?,?)", (key, owner, time.time())
    )
    return int(cursor.lastrowid or 0)


def _end(
    connection: sqlite3.Connection, attempt: int, outcome: str, usage: Usage, cost: float | None
) -> None:
    connection.execute(
        "UPDATE attempts SET ended=?, outcome=?, prompt_tokens=?, completion_tokens=?, "
        "cached_tokens=?, cache_write=?, cost=? WHERE id=?",
        (
            time.time(), outcome, usage.prompt, usage.completion, usage.cached, usage.cache_write,
            cost, attempt,
        ),
    )  # fmt: skip
