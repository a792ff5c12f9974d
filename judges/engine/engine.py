"""The thread in which all runs of this process ask, and the clients and gates they share.

One engine a process, with an event loop of its own. Two runs at one endpoint share its gate, so a
cool-down holds for both.
"""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import threading
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from judges.engine.rate_limit import EndpointLimiter
from judges.engine.run import Run
from judges.engine.run_costs import record_run
from judges.engine.run_state import JudgeState, RunSettings
from judges.models.endpoint import EndpointModel
from judges.models.factory import build_model, find_api_key
from judges.models.interface import JudgeModel
from judges.money.costs import check_budget, price_of
from judges.planning.plan import Plan
from judges.security.endpoint_rules import check_url
from judges.security.key_consents import Consents, consents_in
from judges.security.key_store import SecretKey
from studies.domain import JudgeSpec
from studies.store.store import Store

MAX_ENDED_RUNS: Final = 32
"""Ended runs that can still be looked at by their id; older ones are in the store."""

MOST_GATES: Final = 256
"""Gates kept for endpoints that no run uses now: they hold what rate limits have shown."""

ClientKey = tuple[str, str]
"""An endpoint and a hash of the key used there: clients, gates and cool-downs are per pair."""


@dataclass(slots=True)
class _SharedClient:
    model: JudgeModel
    runs: set[str]


class Engine:
    """The thread in which all runs of this process ask."""

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="engine", daemon=True)
        self._thread.start()
        self._clients: dict[ClientKey, _SharedClient] = {}
        self._limiters: dict[ClientKey, EndpointLimiter] = {}
        self._runs: dict[str, Run] = {}

    def start(
        self,
        plan: Plan,
        store: Store,
        *,
        keys: Mapping[str, str] | None = None,
        settings: RunSettings | None = None,
    ) -> Run:
        """Begins a run and returns at once; a missing key is an error before anything is asked."""
        run = Run(plan, store, keys or {}, settings or RunSettings())
        try:
            self._check_admission(run, keys or {})
            _check_before_start(run, keys or {}, self.consents(store))
            record_run(store, run)
        except BaseException:
            run._journal.owner.close()
            raise
        self._drop_old_runs()
        self._runs[run.id] = run
        asyncio.run_coroutine_threadsafe(run.run(self), self._loop)
        return run

    def consents(self, store: Store) -> Consents:
        """The variables that runs into this store may send, and to which origins."""
        return consents_in(store.folder)

    def run(self, run_id: str) -> Run | None:
        return self._runs.get(run_id)

    def latest_run(self, study: str) -> Run | None:
        """The last run of a study that this process started, on or ended."""
        mine = [run for run in list(self._runs.values()) if run.plan.study.name == study]
        return mine[-1] if mine else None

    def active_run(self, study: str) -> Run | None:
        """The live run of a study in this process, if there is one."""
        live = [r for r in list(self._runs.values()) if r.plan.study.name == study]
        return next((r for r in reversed(live) if not r.finished.is_set()), None)

    def close(self) -> None:
        """Stops all runs and waits for what is in flight to be stored."""
        for run in self._runs.values():
            run.stop()
        for run in self._runs.values():
            run.wait(10)
        asyncio.run_coroutine_threadsafe(self._close_models(), self._loop).result(5)
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(5)

    def open_judge(
        self, run: Run, judge: JudgeSpec, typed: Mapping[str, SecretKey], settings: RunSettings
    ) -> JudgeState:
        """Called inside the loop: clients belong to the loop that uses them."""
        consents = self.consents(run.store)
        key = find_api_key(judge, typed, consents) if judge.kind == "endpoint" else SecretKey("")
        at = (judge.endpoint or judge.kind, hashlib.sha256(key.use().encode()).hexdigest())
        if judge.kind == "simulated":  # knows the families of its study
            model = build_model(judge, key, run.plan.study.families)
        else:
            if at not in self._clients:
                self._clients[at] = _SharedClient(build_model(judge, key, {}), set())
            self._clients[at].runs.add(run.id)
            model = self._clients[at].model
            if isinstance(model, EndpointModel):
                model.replace_expired_key(key)
        workers = min(settings.concurrency or run.plan.study.concurrency, model.ceiling)
        gate = self._limiters.setdefault(at, EndpointLimiter(workers))
        gate.raise_ceiling(workers)
        return JudgeState(judge.name, model, price_of(judge), gate, workers)

    async def release_clients(self, run: Run) -> None:
        """Clients that no run uses are closed: they hold a key."""
        for at, hired in list(self._clients.items()):
            hired.runs.discard(run.id)
            if not hired.runs:
                del self._clients[at]
                with contextlib.suppress(Exception):
                    await hired.model.close()
        self._drop_gates()

    def _drop_gates(self) -> None:
        """Every typed key has a gate of its own: without a bound they would add up."""
        unused = [
            at for at, gate in self._limiters.items()
            if at not in self._clients and at[0] != "simulated" and gate.cooldown_left <= 0
        ]  # fmt: skip
        for at in unused[: max(0, len(unused) - MOST_GATES)]:
            del self._limiters[at]

    def _check_admission(self, run: Run, typed: Mapping[str, str]) -> None:
        """Raises where a run may not be made; here whoever is at the machine may make any."""

    def _drop_old_runs(self) -> None:
        ended = [run_id for run_id, run in self._runs.items() if run.finished.is_set()]
        for run_id in ended[: max(0, len(ended) - MAX_ENDED_RUNS)]:
            del self._runs[run_id]

    async def _close_models(self) -> None:
        for hired in self._clients.values():
            await hired.model.close()


def _check_before_start(run: Run, typed: Mapping[str, str], consents: Consents) -> None:
    """What would stop the run anyway is said before anything is asked."""
    check_budget(run.plan.study.budget_usd, run.judges)
    for judge in run.judges:
        if judge.kind == "endpoint":
            check_url(judge.endpoint)
            find_api_key(judge, typed, consents)
