"""Budget shared by all runs of a study: earlier runs, and simultaneous runs of any process.

Every call is recorded in a transaction before it is sent, and only one transaction writes at a
time. A query in it therefore sees the calls of all other runs, so that all runs together stay
within the budget.
"""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Callable
from pathlib import Path
from typing import Final

from judges.money.costs import Ledger, price_of
from judges.planning.plan import Plan
from studies.domain import Price
from studies.store.queries.run_costs import SiblingSpending, sibling_spending
from studies.store.queries.run_queries import overlapping_runs
from studies.store.run_owners import is_owner_alive
from studies.store.store import Store

CHECK_SECONDS: Final = 0.1
"""Seconds between two queries of other runs' spending while at least SCARCE_SHARE of the budget is
left; with less, it is queried before every call."""
SCARCE_SHARE: Final = 0.2


class SiblingRuns:
    """Adds the spending of the study's other runs to a run's ledger (its spent and reserved
    dollars)."""

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
        self._free_judges = [judge.name for judge in plan.study.judges if _is_free(price_of(judge))]
        self._ended_owners: set[str] = set()
        """Ids (`Run.owner`) of runs that have ended, so that their spending no longer changes."""
        self._checked_at = clock()
        self._update_ledger(self._query_spending(store.read_connection))

    def fits_budget(self, connection: sqlite3.Connection) -> bool:
        """Whether the budget covers all dollars spent or reserved, also those of other runs."""
        scarce = self._ledger.remaining < SCARCE_SHARE * (self._ledger.budget or 0.0)
        if (scarce or self._clock() - self._checked_at >= CHECK_SECONDS) and self._has_siblings(
            connection
        ):
            self._checked_at = self._clock()
            self._update_ledger(self._query_spending(connection))
        return self._ledger.remaining >= -1e-12

    def _has_siblings(self, connection: sqlite3.Connection) -> bool:
        """Whether another run of this study is active, or has ended since the last query."""
        rows = overlapping_runs(connection, self._study, self._owner)
        new = [(owner, ended) for owner, ended in rows if owner not in self._ended_owners]
        self._ended_owners.update(
            owner
            for owner, ended in new
            if ended is not None or not is_owner_alive(self._owners, owner)
        )
        return bool(new)

    def _query_spending(self, connection: sqlite3.Connection) -> list[SiblingSpending]:
        return sibling_spending(connection, self._study, self._owner, self._free_judges)

    def _update_ledger(self, rows: list[SiblingSpending]) -> None:
        """Copy the other runs' spending to the ledger: dollars, calls in flight, and calls at an
        unknown cost, among them calls lost with their process."""
        open_by = {row.owner: row.in_flight for row in rows if row.in_flight}
        alive = {owner for owner in open_by if is_owner_alive(self._owners, owner)}
        ledger = self._ledger
        ledger.spent_by_others = sum(row.dollars for row in rows)
        ledger.max_cost_by_others = max((row.highest for row in rows), default=0.0)
        lost = sum(count for owner, count in open_by.items() if owner not in alive)
        ledger.unknown_by_others = lost + sum(row.unknown for row in rows)
        ledger.in_flight_by_others = sum(open_by[owner] for owner in alive)


def _is_free(price: Price | None) -> bool:
    return price is not None and not (price.input or price.output)
