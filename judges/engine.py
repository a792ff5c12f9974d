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

from judges.accounts import note_run
from judges.addresses import check_url
from judges.consents import Consents, consents_in
from judges.cost import check_budget, price_of
from judges.desk import JudgeState, Settings
from judges.limits import Gate
from judges.models.answers import Model
from judges.models.endpoint import EndpointModel
from judges.plan import Plan
from judges.roster import api_key, model_for
from judges.runs import Run
from judges.vault import Held
from studies.records import JudgeSpec
from studies.store import Store

KEPT: Final = 32
"""Ended runs that can still be looked at by their id; older ones are in the store."""

MOST_GATES: Final = 256
"""Gates kept for endpoints that no run uses now: they hold what rate limits have shown."""

At = tuple[str, str]
"""An endpoint and a hash of the key used there: clients, gates and cool-downs are per pair."""


@dataclass(slots=True)
class _Hired:
    model: Model
    runs: set[str]


class Engine:
    """The thread in which all runs of this process ask."""

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="engine", daemon=True)
        self._thread.start()
        self._hired: dict[At, _Hired] = {}
        self._gates: dict[At, Gate] = {}
        self._runs: dict[str, Run] = {}

    def start(
        self,
        plan: Plan,
        store: Store,
        *,
        keys: Mapping[str, str] | None = None,
        settings: Settings | None = None,
    ) -> Run:
        """Begins a run and returns at once; a missing key is an error before anything is asked."""
        run = Run(plan, store, keys or {}, settings or Settings())
        try:
            self._admit(run, keys or {})
            _check(run, keys or {}, self.consents(store))
            note_run(store, run)
        except BaseException:
            run._journal.owner.close()
            raise
        self._forget_old()
        self._runs[run.id] = run
        asyncio.run_coroutine_threadsafe(run.run(self), self._loop)
        return run

    def consents(self, store: Store) -> Consents:
        """The variables that runs into this store may send, and to which origins."""
        return consents_in(store.folder)

    def run(self, run_id: str) -> Run | None:
        return self._runs.get(run_id)

    def latest(self, study: str) -> Run | None:
        """The last run of a study that this process started, on or ended."""
        mine = [run for run in list(self._runs.values()) if run.plan.study.name == study]
        return mine[-1] if mine else None

    def running(self, study: str) -> Run | None:
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

    def hire(
        self, run: Run, judge: JudgeSpec, typed: Mapping[str, Held], settings: Settings
    ) -> JudgeState:
        """Called inside the loop: clients belong to the loop that uses them."""
        consents = self.consents(run.store)
        key = api_key(judge, typed, consents) if judge.kind == "endpoint" else Held("")
        at = (judge.endpoint or judge.kind, hashlib.sha256(key.use().encode()).hexdigest())
        if judge.kind == "simulated":  # knows the families of its study
            model = model_for(judge, key, run.plan.study.families)
        else:
            if at not in self._hired:
                self._hired[at] = _Hired(model_for(judge, key, {}), set())
            self._hired[at].runs.add(run.id)
            model = self._hired[at].model
            if isinstance(model, EndpointModel):
                model.take(key)
        workers = min(settings.concurrency or run.plan.study.concurrency, model.ceiling)
        gate = self._gates.setdefault(at, Gate(workers))
        gate.raise_ceiling(workers)
        return JudgeState(judge.name, model, price_of(judge), gate, workers)

    async def let_go(self, run: Run) -> None:
        """Clients that no run uses are closed: they hold a key."""
        for at, hired in list(self._hired.items()):
            hired.runs.discard(run.id)
            if not hired.runs:
                del self._hired[at]
                with contextlib.suppress(Exception):
                    await hired.model.close()
        self._drop_gates()

    def _drop_gates(self) -> None:
        """Every typed key has a gate of its own: without a bound they would add up."""
        unused = [
            at for at, gate in self._gates.items()
            if at not in self._hired and at[0] != "simulated" and gate.cooling <= 0
        ]  # fmt: skip
        for at in unused[: max(0, len(unused) - MOST_GATES)]:
            del self._gates[at]

    def _admit(self, run: Run, typed: Mapping[str, str]) -> None:
        """Raises where a run may not be made; here whoever is at the machine may make any."""

    def _forget_old(self) -> None:
        ended = [run_id for run_id, run in self._runs.items() if run.finished.is_set()]
        for run_id in ended[: max(0, len(ended) - KEPT)]:
            del self._runs[run_id]

    async def _close_models(self) -> None:
        for hired in self._hired.values():
            await hired.model.close()


def _check(run: Run, typed: Mapping[str, str], consents: Consents) -> None:
    """What would stop the run anyway is said before anything is asked."""
    check_budget(run.plan.study.budget_usd, run.judges)
    for judge in run.judges:
        if judge.kind == "endpoint":
            check_url(judge.endpoint)
            api_key(judge, typed, consents)
