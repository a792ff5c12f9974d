"""The record of a run in the store, for the list of past runs."""

from __future__ import annotations

from typing import Protocol

from judges.planning.plan import Plan
from studies.store.queries.run_queries import PastRun, put_run
from studies.store.store import Store


class RecordableRun(Protocol):
    """The fields of a run that the store records."""

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


def record_run(store: Store, run: RecordableRun) -> None:
    row = PastRun(
        run.id, run.plan.study.name, run.state, run.reason, run.started, run.ended, run.owner
    )
    store.writer.run(lambda connection: put_run(connection, row))
