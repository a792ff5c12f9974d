"""One run of a study: pause, resume, stop and snapshots. Every run ends as "done", or as "stopped"
or "failed" with a reason.

judges/engine/engine.py starts runs. The page stores only a run's id and polls its snapshot, so a
run continues when the browser tab is closed.
"""

from __future__ import annotations

import asyncio
import contextlib
import secrets
import threading
import time
from collections import Counter
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from typing import Any, Final, Protocol

from judges.engine import outcome, pending_asks, snapshot, worker_pool
from judges.engine.run_state import JudgeState, RunSettings, RunState, SiblingRuns
from judges.engine.snapshot import RunSnapshot, RunStatus
from judges.models.failures import redact_message
from judges.money.costs import Ledger
from judges.planning.plan import Plan
from judges.security.key_store import SecretKey, make_expiring_secret_key
from studies.domain import JudgeSpec
from studies.errors import EvenhandError, StoreError
from studies.store.queries import plan_queries, run_queries
from studies.store.queries.run_costs import study_spending
from studies.store.run_journal import RunJournal, list_possibly_paid_calls
from studies.store.store import Store
from studies.store.writer import WriteFunction

RECOUNT_SECONDS: Final = 2.0
"""Seconds between two counts of judgements, if another process makes some of this run's asks."""
STOPPED_BY_USER: Final = "stopped by you"


class JudgeProvider(Protocol):
    """Interface of the engine that opens the judges' clients for a run and closes them."""

    def open_judge(
        self, run: Run, judge: JudgeSpec, typed: Mapping[str, SecretKey], settings: RunSettings
    ) -> JudgeState: ...

    async def release_clients_and_limiters(self, run: Run) -> None: ...


class Run:
    """One run of one study. It may be controlled and observed from any thread, but its methods
    `run` and `write` may be called in the engine's event loop only."""

    def __init__(
        self, plan: Plan, store: Store, keys: Mapping[str, str], settings: RunSettings
    ) -> None:
        self.id = secrets.token_urlsafe(16)
        self.plan, self.store = plan, store
        self.state: RunStatus = "running"
        self.reason = ""
        self.started = settings.wall_clock()
        self.ended: float | None = None
        self.finished = threading.Event()
        self.extraction = outcome.Extractor.from_plan(plan)
        self._keys = {judge: make_expiring_secret_key(value) for judge, value in keys.items()}
        self._settings = settings
        self._maybe_paid_twice = len(list_possibly_paid_calls(store, plan.study.name))
        self._tally = snapshot.RunTally(
            pending_asks.count_asks_by_status_for_run(store, plan.study.name, settings),
            plan_queries.count_pending_asks_by_judge(
                store, plan.study.name, settings.retry_statuses
            ),
        )
        self._journal = RunJournal(store, again=settings.retry_statuses, clock=settings.wall_clock)
        self._ledger = Ledger(plan.study.budget_usd, study_spending(store, plan.study.name))
        if plan.study.budget_usd is not None:
            self._journal.fits_budget = SiblingRuns(
                store, plan, self.lease_owner_id, self._ledger
            ).fits_budget
        self._plan_sha = plan.stored_sha or store.plan_sha(plan.study.name)
        self._run_state: RunState | None = None
        self._recording_task: asyncio.Task[None] | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._paused = self._stop_requested = False
        self._stop_reason = STOPPED_BY_USER
        self._pause_timer: asyncio.TimerHandle | None = None
        self._lock = threading.Lock()
        self.paused_since: float | None = None
        """Start of the current pause on the monotonic clock; None while not paused."""
        self.resume_guard: Callable[[Run], AbstractContextManager[object]] = contextlib.nullcontext
        """Function that returns a context manager, in whose `with` block the run is resumed; the
        context manager raises PlanError if the run must stay paused."""

    @property
    def lease_owner_id(self) -> str:
        """The id under which this run reserves calls (leases), so that no other run makes them, and
        records its attempts. Other runs respect its reservations until it ends or its process
        dies."""
        return self._journal.owner.id

    async def write(self, work: WriteFunction) -> Any:
        """Execute the function `work` in the thread that writes the store, and return its result.
        If the store cannot be written, the run is paused, and `work` is tried again when it is
        resumed."""
        return await self._journal.write(work)

    @property
    def judges(self) -> list[JudgeSpec]:
        """The judges of the study, plus the extraction judge if it is not one of them."""
        judges = list(self.plan.study.judges)
        if self.extraction and self.extraction.judge.name not in {j.name for j in judges}:
            judges.append(self.extraction.judge)
        return judges

    # ---- controls, from any thread ----------------------------------------------------------

    def pause(self) -> None:
        """Start no new call; replies in flight are still stored, because they are billed."""
        self._set_controls(paused=True)

    def resume(self) -> None:
        """Continue a paused run. On a public page, raise PlanError and stay paused if too many runs
        are active."""
        with self.resume_guard(self):
            self._set_controls(paused=False)

    def stop(self, reason: str = STOPPED_BY_USER) -> None:
        """End the run. Replies in flight are stored; asks not made stay pending for another run."""
        self._set_controls(stop=True, reason=reason)

    @property
    def idle(self) -> bool:
        """Whether the run is paused and no call is in flight; it then only takes up memory."""
        return self.state == "paused" and not self._journal.attempts_in_flight

    def limit_in_flight(self, judge: str, in_flight: int) -> None:
        """Allow at most `in_flight` simultaneous calls to this judge's endpoint from now on, also
        for other runs. A number above the present maximum changes nothing. No effect before the run
        has opened its judges, or after its end."""
        self._apply_to_judge(judge, lambda state: state.limiter.lower_ceiling(in_flight))

    def leave_out_judge(self, judge: str) -> None:
        """Stop one judge. The other judges continue; the asks of the stopped judge stay pending for
        another run."""

        def stop_and_mark(state: JudgeState) -> None:
            state.left_out = True
            state.stop_judge("left out by you")

        self._apply_to_judge(judge, stop_and_mark)

    def _apply_to_judge(self, judge: str, act: Callable[[JudgeState], None]) -> None:
        with self._lock:
            state = self._run_state.judges.get(judge) if self._run_state is not None else None
            if state is not None and self._loop is not None and not self.finished.is_set():
                self._loop.call_soon_threadsafe(act, state)

    def wait(self, timeout: float | None = None) -> bool:
        return self.finished.wait(timeout)

    def snapshot(self) -> RunSnapshot:
        tally, ledger = self._tally, self._ledger
        states = list(self._run_state.judges.values()) if self._run_state is not None else []
        running = self.state == "running"
        return RunSnapshot(
            id=self.id,
            study=self.plan.study.name,
            state=self.state,
            reason=self.reason,
            counts=dict(tally.counts),
            rate=tally.asks_per_second() if running else 0.0,
            eta=tally.seconds_left(snapshot.stopped_judges(states)) if running else None,
            in_flight=len(self._journal.attempts_in_flight),
            waits=snapshot.list_judge_waits(states) if self.ended is None else (),
            spent=ledger.dollars_spent,
            unpriced=sum(ledger.unpriced.values()),
            budget=self.plan.study.budget_usd,
            started=self.started,
            ended=self.ended,
            spent_before=ledger.spent_by_others,
            unknown_usage=sum(ledger.unknown_usage.values()),
            expected_dollars=tally.expected_dollars(),
            extractions=tally.extractions,
            failures=snapshot.summarise_failures(states),
            dropped_reply_parameters=snapshot.list_dropped_reply_parameters(states),
            judges=tuple(judge.name for judge in self.judges),
            possibly_paid_twice=self._maybe_paid_twice,
            longest_pause=self._settings.longest_pause,
        )

    def _set_controls(
        self,
        *,
        paused: bool = False,
        stop: bool = False,
        reason: str = STOPPED_BY_USER,
        only_if_paused: bool = False,
    ) -> None:
        with self._lock:
            over = self.finished.is_set() or self._stop_requested
            if over or (only_if_paused and not self._paused):
                return
            self._stop_reason = reason
            self._set_pause_start(paused)
            self._paused, self._stop_requested = paused, stop
            self.state = "paused" if paused else "running"
            self.reason = "stopping: replies to calls already sent are still stored" if stop else ""
            run_state = self._run_state
            if run_state is not None and self._loop is not None:
                run_state.paused, run_state.stop = paused, stop  # checked before the next call
                self._loop.call_soon_threadsafe(self._apply_controls_and_save, run_state)

    def _set_pause_start(self, paused: bool) -> None:
        """Store the start time of a pause, and delete it at the end of the pause."""
        if not paused:
            self.paused_since = None
        elif self.paused_since is None:
            self.paused_since = time.monotonic()

    def _apply_controls_and_save(self, run_state: RunState) -> None:
        run_state.apply_controls()
        self._schedule_stop_of_paused_run()
        if not run_state.stop:  # the end of the run is recorded anyway
            self._recording_task = asyncio.create_task(
                asyncio.to_thread(self._record_state_if_possible)
            )

    def _schedule_stop_of_paused_run(self) -> None:
        """Schedule the stop of a paused run after the longest allowed pause. This method must be
        called in the event loop."""
        if self._pause_timer is not None:
            self._pause_timer.cancel()
            self._pause_timer = None
        since, longest = self.paused_since, self._settings.longest_pause
        if since is not None and longest is not None and self._loop is not None:
            left = max(0.0, since + longest - time.monotonic())
            self._pause_timer = self._loop.call_later(left, self._stop_after_longest_pause)

    def _stop_after_longest_pause(self) -> None:
        minutes = (self._settings.longest_pause or 0.0) / 60
        reason = f"paused for {minutes:.3g} minutes without being resumed; start again to go on"
        self._set_controls(stop=True, reason=reason, only_if_paused=True)

    def record_state(self) -> None:
        """Store the run's state for the list of past runs."""
        row = run_queries.StoredRun(
            self.id, self.plan.study.name, self.state, self.reason, self.started, self.ended,
            self.lease_owner_id,
        )  # fmt: skip
        self.store.writer.run(lambda connection: run_queries.put_run(connection, row))

    def _record_state_if_possible(self) -> None:
        """Store the run's state for other processes; an error of the store is ignored. This method
        is called in a separate thread, because the store may be slow."""
        with contextlib.suppress(StoreError):
            self.record_state()

    def _pause_on_store_error(self, reason: str) -> None:
        """Pause the run after a failed write, until the user resumes or stops it or the longest
        allowed pause is over. A run that is being stopped is not paused."""
        with self._lock:
            if not self._stop_requested:
                self._set_pause_start(True)
                self._paused, self.state, self.reason = True, "paused", reason
        self._schedule_stop_of_paused_run()

    # ---- inside the engine's loop -----------------------------------------------------------

    async def run(self, provider: JudgeProvider) -> None:
        """Make the pending calls, until none is left or the run is stopped. After any error, the
        run ends in the state "failed" with a reason."""
        state: RunStatus = "failed"
        reason = ""
        try:
            state, reason = await self._run_judges(provider)
        except* EvenhandError as errors:
            reason = str(_first_error(errors))
        except* Exception as errors:
            cause = _first_error(errors)
            reason = f"{type(cause).__name__}: {cause}"
        finally:
            try:
                if self._pause_timer is not None:
                    self._pause_timer.cancel()
                if self._recording_task is not None:
                    await self._recording_task
                await asyncio.to_thread(
                    self._close_journal_and_record_end, state, redact_message(reason)
                )
                await provider.release_clients_and_limiters(self)
            finally:  # set `finished` in every case: other threads wait for it
                self._discard_api_keys()
                with self._lock:
                    if self.ended is None:  # recording the end failed
                        self.state = "failed"
                        self.reason = redact_message(reason) or "ended without a stored reason"
                        self.ended = self._settings.wall_clock()
                self.finished.set()

    async def _run_judges(self, provider: JudgeProvider) -> tuple[RunStatus, str]:
        study = self.plan.study
        judges = {
            j.name: provider.open_judge(self, j, self._keys, self._settings) for j in self.judges
        }
        self._discard_api_keys()  # only the clients hold them from here on
        reading = self._settings.reading or study.reading
        run_state = RunState(self._settings, self._journal, self._ledger, judges, reading)
        run_state.on_store_error = self._pause_on_store_error
        self._journal.pause_until_resumed = run_state.pause_until_resumed
        with self._lock:
            self._loop, self._run_state = asyncio.get_running_loop(), run_state
            run_state.paused, run_state.stop = self._paused, self._stop_requested
            (self._apply_controls_and_save if self._paused else RunState.apply_controls)(run_state)
        recounting = asyncio.create_task(self._refresh_counts_regularly(run_state))
        try:
            builder = pending_asks.QueueBuilder(
                self.plan, self.store, self._journal, self._tally, self.extraction, self._plan_sha
            )
            await worker_pool.WorkerPool(run_state, builder.build(judges)).run()
        finally:
            recounting.cancel()
        return snapshot.final_status(run_state, self._stop_reason)

    async def _refresh_counts_regularly(self, run_state: RunState) -> None:
        """Refresh the counts while another process makes some of this run's asks. An ask that this
        run makes again counts as pending until its new outcome is stored."""
        counted = (self.store, self.plan.study.name, self._settings, self._journal.start_seq)
        while True:
            await asyncio.sleep(RECOUNT_SECONDS)
            if run_state.shares_asks:
                with contextlib.suppress(StoreError):
                    self._tally.counts = await asyncio.to_thread(
                        pending_asks.count_asks_by_status_for_run, *counted
                    )

    def _close_journal_and_record_end(self, state: RunStatus, reason: str) -> None:
        """Set the final counts, state and reason of the run, close its journal (which frees the
        asks it reserved), and store state and reason; errors of the store are ignored. "done"
        becomes "stopped" if calls are still pending. Called in a separate thread, because the store
        may be slow."""
        with contextlib.suppress(StoreError):
            self._tally.counts = Counter(
                {"pending": 0} | self.store.status_counts(self.plan.study.name)
            )
        if state == "done" and self._tally.counts["pending"]:
            state, reason = "stopped", self._pending_calls_reason()
        with contextlib.suppress(StoreError):  # reported already
            self._journal.close()
        with self._lock:
            self.state, self.reason, self.ended = state, reason, self._settings.wall_clock()
        self._record_state_if_possible()

    def _pending_calls_reason(self) -> str:
        with contextlib.suppress(StoreError):
            if self.store.plan_sha(self.plan.study.name) != self._plan_sha:
                return "the study was changed meanwhile; start again to run its new plan"
        return "some calls are still pending; start again to go on"

    def _discard_api_keys(self) -> None:
        for key in self._keys.values():
            key.discard()
        self._keys.clear()


def _first_error(group: BaseExceptionGroup[BaseException]) -> BaseException:
    error: BaseException = group
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return error
