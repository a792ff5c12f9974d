"""What goes out next: pending asks, leased, within the budget, some hundred thousand at a time.

A round bounds what lies on disk and what a budget can lose. With a budget, a round holds as many
asks as fit into what is left of it in the worst case; when their true cost is known the next one
is cut.
"""

from __future__ import annotations

import heapq
import sqlite3
from collections.abc import Collection, Iterator
from typing import Final

from judges.accounts import spent_by
from judges.cost import Ledger, price_of
from judges.models.answers import Call
from judges.plan import Plan, call_for, still_asks
from studies.owner import is_alive
from studies.records import Ask, JudgeSpec
from studies.store import Store

MOST: Final = 200_000
"""Asks in one round."""
_PAGE: Final = 500


class Rounds:
    """The asks of some judges that nothing stored satisfies; what fails in this run is not asked
    again by it."""

    def __init__(self, plan: Plan, store: Store, owner: str) -> None:
        self.plan, self.store, self.owner = plan, store, owner
        self.stopped: dict[str, str] = {}
        """Judges that cannot go on, and why."""
        self.began = int(store.read("SELECT COALESCE(max(seq), 0) FROM judgements").fetchone()[0])
        self._items = {item.id: item for item in plan.items}
        self._sha = store.plan_sha(plan.study.name)

    def judges(self) -> list[JudgeSpec]:
        endpoints = [judge for judge in self.plan.study.judges if judge.kind == "endpoint"]
        return [judge for judge in endpoints if judge.name not in self.stopped]

    def next(self, most: int = MOST) -> list[tuple[int, Ask, Call]]:
        """Leased for us; nothing if all is asked, or all that is left is asked by others."""
        study = self.plan.study
        ledger = Ledger(study.budget_usd, spent_by(self.store, study.name))
        found: list[tuple[int, Ask, Call]] = []
        changed = self.store.plan_sha(study.name) != self._sha
        for position, ask in heapq.merge(*(self._pending(judge.name) for judge in self.judges())):
            if changed and not still_asks(self.plan, ask, self._items):
                continue
            call = call_for(self.plan, ask, self._items)
            if len(found) == most or ledger.reserve(call, price_of(call.judge)) is None:
                break
            found.append((position, ask, call))
        ours = self._lease([ask.key for _, ask, _ in found])
        return [row for row in found if row[1].key in ours]

    def release(self) -> None:
        owner = self.owner
        self.store.writer.run(lambda c: c.execute("DELETE FROM leases WHERE owner=?", (owner,)))

    def _pending(self, judge: str) -> Iterator[tuple[int, Ask]]:
        after = -1
        name = self.plan.study.name
        while page := self.store.pending(name, judge, after, _PAGE, began=self.began):
            after = page[-1][0]
            yield from page

    def _lease(self, keys: Collection[str]) -> set[str]:
        """Those of some asks that nobody alive is making and nobody has answered meanwhile, all
        looked at in one transaction: another run may be at the same study."""

        def work(connection: sqlite3.Connection) -> set[str]:
            owners = [row[0] for row in connection.execute("SELECT DISTINCT owner FROM leases")]
            others = [owner for owner in owners if owner != self.owner]
            alive = [owner for owner in others if is_alive(self.store.owners, owner)]
            connection.execute("CREATE TEMP TABLE IF NOT EXISTS wanted (key TEXT PRIMARY KEY)")
            connection.execute("DELETE FROM temp.wanted")
            connection.executemany(
                "INSERT OR IGNORE INTO temp.wanted VALUES (?)", ((k,) for k in keys)
            )
            free = (
                "FROM temp.wanted w WHERE NOT EXISTS (SELECT 1 FROM leases l WHERE l.key=w.key "
                f"AND l.owner IN ({','.join('?' * len(alive))})) AND NOT EXISTS (SELECT 1 FROM "
                "judgements j WHERE j.key=w.key AND (j.status!='error' OR j.seq>?))"
            )
            values = (*alive, self.began)
            ours = {row[0] for row in connection.execute(f"SELECT key {free}", values)}
            connection.execute(
                f"INSERT OR REPLACE INTO leases SELECT key, ? {free}", (self.owner, *values)
            )
            return ours

        found: set[str] = self.store.writer.run(work)
        return found
