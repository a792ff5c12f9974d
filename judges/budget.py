"""What the other runs of a study have taken of its budget: earlier ones, and those that are on
beside this one, in this process or in another.

A call is written down before it is sent, in a transaction, and only one process writes at a time.
So a look in that very transaction sees every call that anybody else has sent, and two runs
together stay within the budget as one does.
"""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Callable
from pathlib import Path
from typing import Final

from judges.accounts import REFUSED
from judges.cost import Ledger, price_of
from judges.plan import Plan
from studies.owner import is_alive
from studies.records import Price
from studies.store import Store

EVERY: Final = 0.1
"""Seconds between two looks while there is plenty left."""
PLENTY: Final = 0.2
"""This share of the budget: with less, every call looks."""


class Others:
    """Keeps a run's ledger informed of what its siblings take."""

    def __init__(
        self,
        store: Store,
        plan: Plan,
        owner: str,
        ledger: Ledger,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._owners: Path = store.owners
        self._study, self._owner, self._ledger, self._clock = plan.study.name, owner, ledger, clock
        self._free = [judge.name for judge in plan.study.judges if _is_free(price_of(judge))]
        self._over: set[str] = set()
        """Runs that take no more: what they took is known."""
        self._looked = clock()
        self._learn(store.read(*self._question()).fetchall())

    def within(self, connection: sqlite3.Connection) -> bool:
        """Whether what is reserved still fits, after what others have begun meanwhile."""
        scarce = self._ledger.left < PLENTY * (self._ledger.budget or 0.0)
        if (scarce or self._clock() - self._looked >= EVERY) and self._has_siblings(connection):
            self._looked = self._clock()
            self._learn(connection.execute(*self._question()).fetchall())
        return self._ledger.left >= -1e-12

    def _has_siblings(self, connection: sqlite3.Connection) -> bool:
        """Another run of this study that is on, or has ended since the last look."""
        rows = connection.execute(
            "SELECT owner, ended FROM runs WHERE study=? AND owner NOT IN ('', ?) AND "
            "(ended IS NULL OR ended>=(SELECT started FROM runs WHERE owner=?))",
            (self._study, self._owner, self._owner),
        ).fetchall()
        new = [(owner, ended) for owner, ended in rows if owner not in self._over]
        self._over.update(
            owner for owner, ended in new if ended is not None or not is_alive(self._owners, owner)
        )
        return bool(new)

    def _question(self) -> tuple[str, tuple[object, ...]]:
        marks = ",".join("?" * len(self._free))
        return (
            "SELECT a.owner, COALESCE(sum(a.cost), 0.0), COALESCE(max(a.cost), 0.0), "
            f"sum(a.cost IS NULL AND a.ended IS NOT NULL AND NOT {REFUSED}), "
            "sum(a.ended IS NULL) FROM attempts a WHERE a.owner IN "
            "(SELECT owner FROM runs WHERE study=? AND owner NOT IN ('', ?)) AND NOT EXISTS "
            f"(SELECT 1 FROM plan p WHERE p.key=a.key AND p.judge IN ({marks})) GROUP BY 1",
            (self._study, self._owner, *self._free),
        )

    def _learn(self, rows: list[tuple[str, float, float, int, int]]) -> None:
        """A call that is on may cost its worst; one that never told, what the dearest of those
        that did has cost."""
        open_by = {owner: count for owner, _, _, _, count in rows if count}
        alive = {owner for owner in open_by if is_alive(self._owners, owner)}
        ledger = self._ledger
        ledger.before = sum(row[1] for row in rows)
        ledger.dearest = max((row[2] for row in rows), default=0.0)
        lost = sum(count for owner, count in open_by.items() if owner not in alive)
        ledger.untold_before = lost + sum(row[3] for row in rows)
        ledger.beside = sum(open_by[owner] for owner in alive)


def _is_free(price: Price | None) -> bool:
    return price is not None and not (price.input or price.output)
