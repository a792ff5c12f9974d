"""What a store knows about money: the ledger by judge and outcome, and what each run spent."""

from __future__ import annotations

from typing import NamedTuple, Protocol

from judges.plan import Plan
from studies.store import Store


class Noted(Protocol):
    """A run as far as the store keeps it."""

    @property
    def id(self) -> str: ...
    @property
    def plan(self) -> Plan: ...
    @property
    def owner(self) -> str: ...
    @property
    def state(self) -> str: ...
    @property
    def reason(self) -> str: ...
    @property
    def started(self) -> float: ...
    @property
    def ended(self) -> float | None: ...


class Account(NamedTuple):
    """The attempts of one judge that ended in one way."""

    judge: str
    outcome: str
    calls: int
    prompt_tokens: int
    completion_tokens: int
    cached_tokens: int
    cost: float
    unknown: int
    """Calls whose cost is not known: no price, or no usage told."""


def note_run(store: Store, run: Noted) -> None:
    values = (
        run.id, run.plan.study.name, run.owner, run.state, run.reason, run.started, run.ended,
    )  # fmt: skip
    store.writer.run(
        lambda c: c.execute("INSERT OR REPLACE INTO runs VALUES (?,?,?,?,?,?,?)", values)
    )


def accounts(store: Store, study: str) -> list[Account]:
    """Every attempt at the asks of a study, extractions included, by judge and outcome."""
    rows = store.read(
        "WITH mine(key, judge) AS ("
        "SELECT DISTINCT key, judge FROM plan WHERE origin='live' "
        "AND study=(SELECT id FROM studies WHERE name=?1) "
        "UNION SELECT e.key, e.judge FROM extractions e JOIN plan p ON p.key=e.reads "
        "WHERE p.study=(SELECT id FROM studies WHERE name=?1)) "
        "SELECT mine.judge, COALESCE(a.outcome, 'unknown'), count(*), "
        "COALESCE(sum(a.prompt_tokens), 0), COALESCE(sum(a.completion_tokens), 0), "
        "COALESCE(sum(a.cached_tokens), 0), COALESCE(sum(a.cost), 0.0), "
        "sum(a.cost IS NULL) FROM attempts a JOIN mine USING(key) GROUP BY 1, 2 ORDER BY 1, 2",
        (study,),
    )
    return [Account(*row) for row in rows]


def spent_by(store: Store, study: str) -> float:
    """Dollars that the runs of a study have spent; what another study paid for is not in it."""
    row = store.read(
        "SELECT COALESCE(sum(a.cost), 0.0) FROM runs r JOIN attempts a ON a.owner=r.owner "
        "WHERE r.study=? AND r.owner!=''",
        (study,),
    ).fetchone()
    return float(row[0])
