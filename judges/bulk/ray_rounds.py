"""Rounds of a Ray run: the pending asks are made in portions of at most MAX_ROUND_ASKS.

A round leases its asks, so that no other run makes them. Rounds limit the size of the files on disk
and the spending beyond a budget. With a budget, a round contains as many asks as fit into the rest
of the budget at their maximum cost. The next round starts when the actual cost of the round before
is known.
"""

from __future__ import annotations

import heapq
from collections.abc import Collection, Iterator
from typing import Final

from judges.models.interface import JudgeCall
from judges.money.costs import Ledger, price_of
from judges.planning.plan import Plan, plan_includes, render_call
from studies.domain import Ask, JudgeSpec
from studies.store.queries.run_costs import study_spending
from studies.store.queries.run_queries import lease_free_asks, release_leases
from studies.store.store import Store

MAX_ROUND_ASKS: Final = 200_000
_PAGE_SIZE: Final = 500


class AskRounds:
    """The pending asks of the endpoint judges, divided into rounds; an ask that failed in this run
    is not made again."""

    def __init__(self, plan: Plan, store: Store, owner: str) -> None:
        self.plan, self.store, self.owner = plan, store, owner
        self.stopped_judges: dict[str, str] = {}
        """Judge that was stopped -> reason."""
        self.first_seq = store.last_seq()
        self._items = {item.id: item for item in plan.items}
        self._sha = store.plan_sha(plan.study.name)

    def judges(self) -> list[JudgeSpec]:
        endpoints = [judge for judge in self.plan.study.judges if judge.kind == "endpoint"]
        return [judge for judge in endpoints if judge.name not in self.stopped_judges]

    def lease_next(self, most: int = MAX_ROUND_ASKS) -> list[tuple[int, Ask, JudgeCall]]:
        """Lease at most `most` asks that this run has not made yet; return each with its index in
        the plan and its rendered call. The list is empty if no ask fits the budget or other runs
        have leased all remaining asks."""
        study = self.plan.study
        ledger = Ledger(study.budget_usd, study_spending(self.store, study.name))
        found: list[tuple[int, Ask, JudgeCall]] = []
        changed = self.store.plan_sha(study.name) != self._sha
        for position, ask in heapq.merge(*(self._pending(judge.name) for judge in self.judges())):
            if changed and not plan_includes(self.plan, ask, self._items):
                continue
            call = render_call(self.plan, ask, self._items)
            if len(found) == most or ledger.reserve(call, price_of(call.judge)) is None:
                break
            found.append((position, ask, call))
        leased = self._lease([ask.key for _, ask, _ in found])
        return [row for row in found if row[1].key in leased]

    def release(self) -> None:
        self.store.writer.run(lambda connection: release_leases(connection, self.owner))

    def _pending(self, judge: str) -> Iterator[tuple[int, Ask]]:
        after = -1
        name = self.plan.study.name
        while page := self.store.pending_asks(name, judge, after, _PAGE_SIZE, began=self.first_seq):
            after = page[-1][0]
            yield from page

    def _lease(self, keys: Collection[str]) -> set[str]:
        """Lease, of the given asks, those that are unanswered and not leased by another active run;
        return the keys of the leased asks.

        The check and the lease are one transaction, since another run may work on the same study.
        """

        found: set[str] = self.store.writer.run(
            lambda connection: lease_free_asks(
                connection, self.store.owners, self.owner, keys, self.first_seq
            )
        )
        return found
