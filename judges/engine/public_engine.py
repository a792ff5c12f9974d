"""The engine where strangers share it: whose run it is, how many there may be, who may steer."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace

from judges.engine.engine import Engine
from judges.engine.run import Run
from judges.engine.run_state import JudgeState, RunSettings
from judges.judge_errors import PlanError
from judges.money.host_key import HostKey, RunAllowance
from judges.planning.plan import Plan
from judges.security.key_consents import NO_CONSENTS, Consents, Pair, origin_of
from judges.security.key_store import SecretKey
from studies.domain import JudgeSpec
from studies.sharing.visitor_store import VisitorStore
from studies.sharing.visitors import current_visitor
from studies.store.store import Store


@dataclass(frozen=True, slots=True)
class RunLimits:
    """What one visitor, and all together, may have this process do."""

    asks: int
    """Of one study."""
    runs_per_visitor: int
    """Runs of one visitor at a time."""
    total_runs: int
    """Runs of all."""
    concurrency: int
    """Calls of one run in flight."""
    paused: int = 10**9
    """Paused runs of all; they take no place of a running one, but memory."""
    longest_pause: float | None = None
    """Seconds after which a paused run is stopped; None: never."""


class PublicEngine(Engine):
    """Looks need a study that one may see; starting and steering one's own."""

    def __init__(self, store: VisitorStore, limits: RunLimits, lent: HostKey | None = None) -> None:
        super().__init__()
        self._visitor_store, self._limits, self._host_key = store, limits, lent
        self._visitor_by_run: dict[str, str] = {}
        self._starting = threading.Lock()

    def start(
        self,
        plan: Plan,
        store: Store,
        *,
        keys: Mapping[str, str] | None = None,
        settings: RunSettings | None = None,
    ) -> Run:
        """As a run of the visitor whose call this is; it writes to the whole store."""
        self._visitor_store.require_owner(plan.study.name)
        self._check_size(plan.study.name)
        settings = settings or RunSettings()
        most = min(settings.concurrency or plan.study.concurrency, self._limits.concurrency)
        settings = replace(settings, concurrency=most, longest_pause=self._limits.longest_pause)
        with self._starting:  # two clicks at once are not two runs
            self._check_own_runs()
            self._check_places("What you have set up stays; try again in a few minutes")
            self._stop_longest_paused()
            return super().start(plan, store.unrestricted, keys=keys, settings=settings)

    def run(self, run_id: str) -> Run | None:
        found = super().run(run_id)
        return found if found and self._visitor_store.can_read(found.plan.study.name) else None

    def latest_run(self, study: str) -> Run | None:
        self._visitor_store.require_readable(study)
        return super().latest_run(study)

    def active_run(self, study: str) -> Run | None:
        """For who steers: whoever only looks asks for the latest."""
        self._visitor_store.require_owner(study)
        return super().active_run(study)

    def consents(self, store: Store) -> Consents:
        """No variable of this machine but the lent key, and that for its own endpoint alone."""
        if self._host_key is None:
            return NO_CONSENTS
        pair = Pair(self._host_key.key_env, origin_of(self._host_key.endpoint))
        return Consents(frozenset({pair}))

    def open_judge(
        self, run: Run, judge: JudgeSpec, typed: Mapping[str, SecretKey], settings: RunSettings
    ) -> JudgeState:
        state = super().open_judge(run, judge, typed, settings)
        if judge.api_key_env and judge.name not in typed:
            if self._host_key is None or self._refusal_reason(run, judge):
                raise PlanError(f"judge {judge.name!r}: {self._refusal_reason(run, judge)}")
            whose = self._visitor_by_run[run.id]
            state.allowance = RunAllowance(
                run.store.path,
                self._host_key,
                whose,
                run.id,
                judge.model,
                run.write,
                settings.wall_clock,
            )
            state.price = state.allowance.price
        return state

    def _check_admission(self, run: Run, typed: Mapping[str, str]) -> None:
        for judge in run.judges:
            if (
                judge.api_key_env
                and judge.name not in typed
                and (why := self._refusal_reason(run, judge))
            ):
                raise PlanError(f"judge {judge.name!r}: {why}")
        self._visitor_by_run = {
            known: who for known, who in self._visitor_by_run.items() if known in self._runs
        }
        self._visitor_by_run[run.id] = current_visitor().owner
        run.resume_guard = self._taking_place

    def _refusal_reason(self, run: Run, judge: JudgeSpec) -> str:
        """A variable of this machine is the house's key or none."""
        if self._host_key is None:
            return "api_key_env names a variable of this machine; type your key instead"
        return self._host_key.refusal_reason(judge, sees=run.plan.study.judge_sees == "images")

    def _check_size(self, study: str) -> None:
        planned = self._visitor_store.counts(study)["planned"]
        if planned > self._limits.asks:
            raise PlanError(
                f"{planned:,} asks are more than the {self._limits.asks:,} that a public page "
                "takes for one study; take fewer items, judges, prompts or repeats"
            )

    @contextmanager
    def _taking_place(self, run: Run) -> Iterator[None]:
        """Around a resume: a run that gave its place back takes one again, or stays paused."""
        with self._starting:
            if run.idle:
                self._check_places("Yours stays paused with its answers; resume it in some minutes")
            yield

    def _live(self) -> list[Run]:
        return [run for run in list(self._runs.values()) if not run.finished.is_set()]

    def _check_own_runs(self) -> None:
        """A visitor's paused runs count here: each keeps its items and its typed keys in memory."""
        mine = [
            run
            for run in self._live()
            if self._visitor_by_run.get(run.id) == current_visitor().owner
        ]
        if len(mine) >= self._limits.runs_per_visitor:
            state = "paused" if mine[-1].state == "paused" else "on"
            raise PlanError(
                f"your run of {mine[-1].plan.study.name!r} is {state}, and a visitor has "
                f"{self._limits.runs_per_visitor} at a time here; stop it, or wait until it is done"
            )

    def _check_places(self, advice: str) -> None:
        """A paused run has given its place back once its calls in flight are stored."""
        busy = sum(not run.idle for run in self._live())
        if busy >= self._limits.total_runs:
            raise PlanError(f"{busy} runs are on, as many as this page takes at once. {advice}")

    def _stop_longest_paused(self) -> None:
        """Paused runs must not add up without end: the one paused longest is stopped."""
        paused = [run for run in self._live() if run.idle and run.paused_since is not None]
        if len(paused) >= self._limits.paused:
            oldest = min(paused, key=lambda run: run.paused_since or 0.0)
            oldest.stop(
                f"{len(paused)} runs were paused, as many as this page keeps, and this one "
                "longest; start again to go on"
            )
