"""The engine: one thread with an event loop for all runs of a process, and the clients that the
runs share.

Runs at the same endpoint with the same API key share a client and a rate limiter, so a cool-down (a
pause after a refused call) holds for all of them. Processes that use the same store share the
measured rate limits.
"""

import asyncio
import contextlib
import hashlib
import threading
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Final

from judges.engine.limits.pace_file import open_rate_record
from judges.engine.limits.rate_limit import EndpointLimiter
from judges.engine.run import Run
from judges.engine.run_state import JudgeState, RunSettings
from judges.models.clients import EndpointModel, build_judge_client, find_api_key
from judges.models.interface import JudgeModel, known_refused_parameters
from judges.money.costs import price_of, require_prices_for_budget
from judges.planning.plan import Plan
from judges.security import endpoint_rules, key_consents
from judges.security.key_store import SecretKey
from studies.domain import JudgeSpec
from studies.store.store import Store

MAX_ENDED_RUNS: Final = 32
"""Number of ended runs kept in memory, the latest ones; older runs are only in the store."""

MAX_UNUSED_LIMITERS: Final = 256
"""Number of unused rate limiters that are kept, because they hold measured limits; beyond it those
longest unused are deleted."""

OWN_KINDS: Final = ("simulated", "embedded")
"""Kinds of judges that are no endpoints; each kind has one rate limiter, which is never deleted."""

OUTSIDE_RUNS: Final = "calls outside of runs"

ClientKey = tuple[str, str]
"""An endpoint and a hash of the API key; each such pair has one client and one rate limiter.
The embedded judge has a client for each file of weights and one limiter for all of them."""


def _client_key(endpoint: str, key: SecretKey) -> ClientKey:
    return endpoint, hashlib.sha256(key.read_and_keep_alive().encode()).hexdigest()


@dataclass(slots=True)
class _SharedClient:
    model: JudgeModel
    runs: set[str]


class Engine:
    """Executes all runs of a process in one separate thread, and finds them by id or study."""

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="engine", daemon=True)
        self._thread.start()
        self._clients: dict[ClientKey, _SharedClient] = {}
        self._limiters: dict[ClientKey, EndpointLimiter] = {}
        self._runs: dict[str, Run] = {}
        self._start_lock = threading.Lock()

    def start(
        self,
        plan: Plan,
        store: Store,
        *,
        keys: Mapping[str, str] | None = None,
        settings: RunSettings | None = None,
    ) -> Run:
        """Start a run and return it at once; raise an error instead if it may not be started or
        would be stopped at once, for example without an API key. `keys` is judge -> typed API
        key."""
        run = Run(plan, store, keys or {}, settings or RunSettings())
        try:
            self._admit_run(run, keys or {})
            self._check_keys_urls_and_prices(run, keys or {})
            run.record_state()
        except BaseException:
            run._journal.owner.close()
            raise
        ended = [run_id for run_id, old in list(self._runs.items()) if old.finished.is_set()]
        for run_id in ended[: max(0, len(ended) - MAX_ENDED_RUNS)]:
            self._runs.pop(run_id, None)
        self._runs[run.id] = run
        asyncio.run_coroutine_threadsafe(run.run(self), self._loop)
        return run

    def find_or_start_run(self, study: str, start: Callable[[], Run]) -> Run:
        """Return the active run of a study, or the run that `start` starts. Simultaneous callers
        get the same run."""
        with self._start_lock:
            return self.active_run(study) or start()

    def consents(self, store: Store) -> key_consents.Consents:
        """Return the consents for runs: pairs of an environment variable with an API key and the
        address that may receive it. Here these are the known providers and the pairs that the user
        confirmed, the same for every `store`; PublicEngine overrides the method."""
        return key_consents.user_consents()

    def find_run(self, run_id: str) -> Run | None:
        return self._runs.get(run_id)

    def latest_run(self, study: str) -> Run | None:
        """The most recent run of a study in this process, whether it has ended or not; None if none
        is in memory (see MAX_ENDED_RUNS)."""
        runs = [run for run in list(self._runs.values()) if run.plan.study.name == study]
        return runs[-1] if runs else None

    def active_run(self, study: str) -> Run | None:
        """The run of a study in this process that has not ended; None if there is no such run."""
        runs = [run for run in list(self._runs.values()) if run.plan.study.name == study]
        return next((run for run in reversed(runs) if not run.finished.is_set()), None)

    def close(self) -> None:
        """Stop all runs and wait, at most 10 seconds for each, until the replies in flight are
        stored; then close all clients and end the thread."""
        runs = list(self._runs.values())
        for run in runs:
            run.stop()
        for run in runs:
            run.wait(10)
        asyncio.run_coroutine_threadsafe(self._close_clients_and_limiters(), self._loop).result(5)
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(5)

    def open_judge(
        self, run: Run, judge: JudgeSpec, typed: Mapping[str, SecretKey], settings: RunSettings
    ) -> JudgeState:
        """Return the client, rate limiter and price of one judge for a run; client and limiter are
        those of other runs at the same endpoint with the same API key, if there are any. `typed` is
        judge -> typed API key. Called inside the event loop, to which a client belongs."""
        consents = self.consents(run.store)
        key = find_api_key(judge, typed, consents) if judge.kind == "endpoint" else SecretKey("")
        where = judge.endpoint if judge.kind == "endpoint" else judge.kind
        at = _client_key(where, key)
        client = (where, judge.weights) if judge.kind == "embedded" else at
        if judge.kind == "simulated":  # depends on the families of its study
            model = build_judge_client(judge, key, run.plan.study.families)
        else:
            if client not in self._clients:
                self._clients[client] = _SharedClient(build_judge_client(judge, key, {}), set())
            self._clients[client].runs.add(run.id)
            model = self._clients[client].model
            if isinstance(model, EndpointModel):
                model.replace_expired_key(key)
        workers = min(settings.concurrency or run.plan.study.concurrency, model.ceiling)
        limiter = self._limiters.pop(at, None)
        if limiter is None:
            shared = judge.kind == "endpoint"
            slot = open_rate_record(run.store.pace_file, " ".join(at)) if shared else None
            limiter = EndpointLimiter(workers, rate_record=slot)
        self._limiters[at] = limiter  # the last used is the last one
        limiter.raise_ceiling(workers)
        refused = known_refused_parameters(judge)
        price = price_of(judge)
        return JudgeState(judge.name, model, price, limiter, workers, dropped_parameters=refused)

    @contextlib.contextmanager
    def take_embedded_turn(self) -> Iterator[None]:
        """Context manager for a call, outside any run, to the embedded judge (a small model on this
        machine that makes one call at a time). It waits for its turn; the turn ends with the
        `with` block. All such calls together get as many turns as one run."""

        async def acquire_limiter() -> tuple[EndpointLimiter, float | None]:
            at = _client_key("embedded", SecretKey(""))
            limiter = self._limiters.setdefault(at, EndpointLimiter(1))
            return limiter, await limiter.acquire(lambda: False, OUTSIDE_RUNS)

        limiter, started = asyncio.run_coroutine_threadsafe(acquire_limiter(), self._loop).result()
        try:
            yield
        finally:
            self._loop.call_soon_threadsafe(partial(limiter.release, started or 0.0, neutral=True))

    async def release_clients_and_limiters(self, run: Run) -> None:
        """Close the clients of an ended run that no other run uses, because a client holds an API
        key. Also delete unused rate limiters beyond MAX_UNUSED_LIMITERS."""
        for at, client in list(self._clients.items()):
            client.runs.discard(run.id)
            if not client.runs:
                del self._clients[at]
                with contextlib.suppress(Exception):
                    await client.model.close()
        self._drop_unused_limiters()

    def _drop_unused_limiters(self) -> None:
        """Keep at most MAX_UNUSED_LIMITERS rate limiters that no run uses, and delete the others,
        those unused for longest first. A limiter whose calls must wait after a refusal is kept.
        Without this, their number would grow with every typed API key."""
        unused = [
            at
            for at, limiter in self._limiters.items()
            if at not in self._clients and at[0] not in OWN_KINDS and limiter.cooldown_left <= 0
        ]
        for at in unused[: max(0, len(unused) - MAX_UNUSED_LIMITERS)]:
            self._limiters.pop(at).close()

    def _admit_run(self, run: Run, typed: Mapping[str, str]) -> None:
        """Raise PlanError if the run may not be started. This engine allows every run; PublicEngine
        overrides the method, and also records the visitor who starts the run."""

    def _check_keys_urls_and_prices(self, run: Run, typed: Mapping[str, str]) -> None:
        """Raise the error that would stop the run: unknown price with a budget, refused address, no
        key."""
        require_prices_for_budget(run.plan.study.budget_usd, run.judges)
        for judge in run.judges:
            if judge.kind == "endpoint":
                endpoint_rules.check_url(judge.endpoint)
                find_api_key(judge, typed, self.consents(run.store))

    async def _close_clients_and_limiters(self) -> None:
        for client in self._clients.values():
            await client.model.close()
        for limiter in self._limiters.values():
            limiter.close()
