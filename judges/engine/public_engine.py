"""The engine of a public page: it limits the runs of visitors, records to whom each run belongs,
and allows some calls to be paid with "this Space's key", an API key of the page's host."""

import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace

from judges.engine.engine import Engine
from judges.engine.run import Run
from judges.engine.run_state import JudgeState, RunSettings
from judges.judge_errors import PlanError
from judges.money.host_key import VARIABLE_REFUSED, HostKey, RunAllowance
from judges.planning.plan import Plan
from judges.security.key_consents import NO_CONSENTS, Consents, KeyDestination, origin_of
from judges.security.key_store import SecretKey
from studies.domain import JudgeSpec
from studies.sharing.visitor_store import VisitorStore
from studies.sharing.visitors import Visitor, current_visitor
from studies.store.store import Store


@dataclass(frozen=True, slots=True)
class RunLimits:
    """Limits on the runs of one visitor, of one network address and of all visitors together."""

    asks: int
    """Maximum number of calls of one study."""
    runs_per_visitor: int
    """Maximum simultaneous runs of one visitor, including paused ones."""
    total_runs: int
    """Maximum simultaneous runs of all visitors; a paused run counts only until its last call in
    flight has ended."""
    concurrency: int
    """Maximum calls in flight of one run."""
    paused: int = 10**9
    """Maximum number of paused runs of all visitors; a paused run uses memory."""
    runs_per_address: int = 10**9
    """Maximum simultaneous runs of one network address, which several visitors may share."""
    embedded_asks: int = 10**9
    """Maximum number of calls of one study to the embedded judge, which uses the server's CPU."""
    longest_pause: float | None = None
    """Seconds after which a paused run is stopped; None if it is never stopped."""


class PublicEngine(Engine):
    """An engine for visitors: seeing a run requires read access to its study, starting or
    controlling a run requires ownership."""

    def __init__(
        self, store: VisitorStore, limits: RunLimits, host_key: HostKey | None = None
    ) -> None:
        super().__init__()
        self._visitor_store, self._limits, self._host_key = store, limits, host_key
        self._visitor_by_run: dict[str, Visitor] = {}
        self._starting = threading.Lock()

    def start(
        self,
        plan: Plan,
        store: Store,
        *,
        keys: Mapping[str, str] | None = None,
        settings: RunSettings | None = None,
    ) -> Run:
        """Start a run that belongs to the current visitor; raise an error if the visitor does not
        own the study or a limit is reached. If too many runs are paused, the one paused longest is
        stopped. The run itself has access to the whole store, not only to the visitor's studies."""
        self._visitor_store.require_owner(plan.study.name)
        self._check_number_of_calls(plan)
        settings = settings or RunSettings()
        in_flight = min(settings.concurrency or plan.study.concurrency, self._limits.concurrency)
        settings = replace(
            settings, concurrency=in_flight, longest_pause=self._limits.longest_pause
        )
        with self._starting:  # two simultaneous clicks must not start two runs
            self._check_visitor_runs()
            self._check_address_runs()
            self._check_total_runs("Your study is saved; try again in a few minutes")
            self._stop_longest_paused_if_too_many()
            return super().start(plan, store.unrestricted, keys=keys, settings=settings)

    def find_run(self, run_id: str) -> Run | None:
        found = super().find_run(run_id)
        return found if found and self._visitor_store.can_read(found.plan.study.name) else None

    def latest_run(self, study: str) -> Run | None:
        self._visitor_store.require_readable(study)
        return super().latest_run(study)

    def active_run(self, study: str) -> Run | None:
        """The run of a study that has not ended; None if there is no such run. Raises an error if
        the visitor does not own the study; for `latest_run`, read access is enough."""
        self._visitor_store.require_owner(study)
        return super().active_run(study)

    def consents(self, store: Store) -> Consents:
        """Return the consents for runs: pairs of an environment variable with an API key and the
        address that may receive it. A public page has one pair, the same for every `store`: the
        key of the page's host (this Space's key) and its endpoint; none if there is no such key."""
        if self._host_key is None:
            return NO_CONSENTS
        pair = KeyDestination(self._host_key.key_env, origin_of(self._host_key.endpoint))
        return Consents(frozenset({pair}))

    def open_judge(
        self, run: Run, judge: JudgeSpec, typed: Mapping[str, SecretKey], settings: RunSettings
    ) -> JudgeState:
        state = super().open_judge(run, judge, typed, settings)
        if judge.api_key_env and judge.name not in typed:
            if self._host_key is None or self._host_key_refusal(run, judge):
                raise PlanError(f"judge {judge.name!r}: {self._host_key_refusal(run, judge)}")
            visitor = self._visitor_by_run[run.id].owner
            state.allowance = RunAllowance(
                run.store.path,
                self._host_key,
                visitor,
                run.id,
                judge.model,
                run.write,
                settings.wall_clock,
            )
            state.price = state.allowance.model_price
        return state

    def _admit_run(self, run: Run, typed: Mapping[str, str]) -> None:
        for judge in run.judges:
            if (
                judge.api_key_env
                and judge.name not in typed
                and (why := self._host_key_refusal(run, judge))
            ):
                raise PlanError(f"judge {judge.name!r}: {why}")
        known = self._visitor_by_run
        self._visitor_by_run = {name: known[name] for name in self._runs if name in known}
        self._visitor_by_run[run.id] = current_visitor()
        run.resume_guard = self._guard_resume

    def _host_key_refusal(self, run: Run, judge: JudgeSpec) -> str:
        """Return why the API key of the page's host may not pay for the calls of a judge; "" if it
        may. The judge is one that names an environment variable for its key (`api_key_env`)."""
        if self._host_key is None:
            return VARIABLE_REFUSED
        return self._host_key.refusal_reason(judge, images=run.plan.study.judge_sees == "images")

    def _check_number_of_calls(self, plan: Plan) -> None:
        planned, judges = (
            self._visitor_store.status_counts(plan.study.name)["planned"],
            plan.study.judges,
        )
        share = sum(judge.kind == "embedded" for judge in judges) / max(1, len(judges))
        asked = round(planned * share)
        if asked > self._limits.embedded_asks:
            raise PlanError(
                f"{asked:,} calls to the embedded judge are more than the "
                f"{self._limits.embedded_asks:,} that this public page allows for one study; "
                "choose fewer items, prompts or repeats, or another judge"
            )
        if planned > self._limits.asks:
            raise PlanError(
                f"{planned:,} calls are more than the {self._limits.asks:,} that this public page "
                "allows for one study; choose fewer items, judges, prompts or repeats"
            )

    @contextmanager
    def _guard_resume(self, run: Run) -> Iterator[None]:
        """Context manager in which a paused run is resumed; raises PlanError if too many runs are
        active. A paused run that still waits for replies counts as active, so it can always be
        resumed."""
        with self._starting:
            if run.idle:
                self._check_total_runs(
                    "Your run stays paused and keeps its replies; resume it in a few minutes"
                )
            yield

    def _active_runs(self) -> list[Run]:
        return [run for run in list(self._runs.values()) if not run.finished.is_set()]

    def _active_runs_with_visitors(self) -> list[tuple[Run, Visitor]]:
        known = self._visitor_by_run
        return [(run, known[run.id]) for run in self._active_runs() if run.id in known]

    def _check_visitor_runs(self) -> None:
        """Raise PlanError if the visitor has too many runs; paused runs count, because each holds
        its items and typed keys in memory."""
        owner = current_visitor().owner
        own = [run for run, visitor in self._active_runs_with_visitors() if visitor.owner == owner]
        if len(own) >= self._limits.runs_per_visitor:
            state = "paused" if own[-1].state == "paused" else "running"
            raise PlanError(
                f"your run of {own[-1].plan.study.name!r} is {state}; the limit of runs per "
                f"visitor, paused ones included, is {self._limits.runs_per_visitor}. Stop this "
                "run, or wait until it ends"
            )

    def _check_address_runs(self) -> None:
        """Raise PlanError if too many runs from the visitor's network address are active, of
        one visitor or several; paused runs count."""
        address = current_visitor().address
        active = sum(visitor.address == address for _, visitor in self._active_runs_with_visitors())
        if address and active >= self._limits.runs_per_address:
            raise PlanError(
                f"{active} runs from your network address are active, the most this page allows "
                "for one address. Your study is saved; try again when one has ended"
            )

    def _check_total_runs(self, advice: str) -> None:
        """Raise PlanError, with `advice` at the end of its text, if too many runs of all visitors
        are active. A paused run counts until its calls in flight are stored."""
        active = sum(not run.idle for run in self._active_runs())
        if active >= self._limits.total_runs:
            raise PlanError(f"{active} runs are active, the most this page allows. {advice}")

    def _stop_longest_paused_if_too_many(self) -> None:
        """If the maximum number of paused runs without a call in flight is reached, stop the one
        that was paused longest."""
        paused = [run for run in self._active_runs() if run.idle and run.paused_since is not None]
        if len(paused) >= self._limits.paused:
            oldest = min(paused, key=lambda run: run.paused_since or 0.0)
            oldest.stop(
                f"{len(paused)} runs were paused, the most this page allows, and this one was "
                "paused longest; start again to go on"
            )
