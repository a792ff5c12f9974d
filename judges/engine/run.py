"""Runs that outlive a browser tab: pause, resume, stop, look. judges/engine/engine.py starts them.

The page holds only a run's id; it polls a snapshot.
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

from judges.engine.attempt import AskAttempts
from judges.engine.extraction import Extractor, apply_extraction
from judges.engine.pending_asks import PendingPages, count_statuses, pending_by_judge
from judges.engine.run_costs import record_run, study_spending
from judges.engine.run_state import JudgeState, RunSettings, RunState
from judges.engine.shared_budget import SiblingRuns
from judges.engine.snapshot import RunSnapshot as RunSnapshot
from judges.engine.snapshot import RunStatus as RunStatus
from judges.engine.snapshot import RunTally, judge_waits, summarise_failures
from judges.engine.worker_pool import JudgeQueue, WorkerPool
from judges.models.failures import redact_message
from judges.money.costs import Ledger
from judges.planning.plan import Plan, render_call
from judges.security.key_store import SecretKey, make_typed_keys
from studies.domain import Ask, Judgement, JudgeSpec
from studies.errors import EvenhandError, StoreError
from studies.store.run_journal import RunJournal, list_maybe_paid_twice
from studies.store.store import Store
from studies.store.writer import WriteFunction

RECOUNT_SECONDS: Final = 2.0
"""Seconds between counts of what another process has settled of our asks."""
STOPPED_BY_USER: Final = "stopped by you"


class JudgeProvider(Protocol):
    """Who has the judges: a run hires them for its time."""

    def open_judge(
        self, run: Run, judge: JudgeSpec, typed: Mapping[str, SecretKey], settings: RunSettings
    ) -> JudgeState: ...

    async def release_clients(self, run: Run) -> None: ...


class Run:
    """One run of one study: the handle other threads hold."""

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
        self.extraction = Extractor.of(plan)
        self._keys, self._settings = make_typed_keys(keys), settings
        self._maybe_paid_twice = len(list_maybe_paid_twice(store, plan.study.name))
        self._tally = RunTally(
            count_statuses(store, plan.study.name, settings),
            pending_by_judge(store, plan.study.name, settings),
        )
        self._journal = RunJournal(store, again=settings.retry_statuses, wall=settings.wall_clock)
        self._ledger = Ledger(plan.study.budget_usd, study_spending(store, plan.study.name))
        if plan.study.budget_usd is not None:
            self._journal.fits_budget = SiblingRuns(
                store, plan, self.owner, self._ledger
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
        """By the monotonic clock, while the run is paused."""
        self.resume_guard: Callable[[Run], AbstractContextManager[object]] = contextlib.nullcontext
        """Entered before a resume; raises where the run has to stay paused for now."""

    @property
    def owner(self) -> str:
        """Who holds the leases of this run: alive as long as its process is."""
        return self._journal.owner.id

    async def write(self, work: WriteFunction) -> Any:
        """A write beside the run's own: what the store does not take pauses the run."""
        return await self._journal.write(work)

    @property
    def judges(self) -> list[JudgeSpec]:
        """All that may be called: those of the study, and one that only extracts."""
        judges = list(self.plan.study.judges)
        if self.extraction and self.extraction.judge.name not in {j.name for j in judges}:
            judges.append(self.extraction.judge)
        return judges

    # ---- steering, from any thread ----------------------------------------------------------

    def pause(self) -> None:
        """No new call from now on; answers in flight are still stored, they are paid for."""
        self._steer(paused=True)

    def resume(self) -> None:
        """Ask on; PlanError if the engine has no place for the run now. It stays paused then."""
        with self.resume_guard(self):
            self._steer(paused=False)

    def stop(self, reason: str = STOPPED_BY_USER) -> None:
        """Final: what is in flight is stored, the rest stays pending for another run."""
        self._steer(stop=True, reason=reason)

    @property
    def idle(self) -> bool:
        """Paused, and the last call in flight is back: the run uses nothing but memory."""
        return self.state == "paused" and not self._journal.attempts_in_flight

    def limit_in_flight(self, judge: str, in_flight: int) -> None:
        """From now on so many calls to this judge's endpoint at once, whatever it would take."""
        self._apply_to_judge(judge, lambda state: state.limiter.lower(in_flight))

    def leave_out(self, judge: str) -> None:
        """The others go on; its asks stay pending for another run."""

        def leave(state: JudgeState) -> None:
            state.left_out = True
            state.stop_judge("left out by you")

        self._apply_to_judge(judge, leave)

    def _apply_to_judge(self, judge: str, act: Callable[[JudgeState], None]) -> None:
        with self._lock:
            state = self._run_state.judges.get(judge) if self._run_state is not None else None
            if state is not None and self._loop is not None and not self.finished.is_set():
                self._loop.call_soon_threadsafe(act, state)

    def wait(self, timeout: float | None = None) -> bool:
        return self.finished.wait(timeout)

    def snapshot(self) -> RunSnapshot:
        desk, tally, ledger = self._run_state, self._tally, self._ledger
        running = self.state == "running"
        return RunSnapshot(
            id=self.id,
            study=self.plan.study.name,
            state=self.state,
            reason=self.reason,
            counts=dict(tally.counts),
            rate=tally.rate() if running else 0.0,
            eta=tally.eta(_stopped_judges(desk)) if running else None,
            in_flight=len(self._journal.attempts_in_flight),
            waits=judge_waits(desk) if self.ended is None else (),
            spent=ledger.total,
            unpriced=sum(ledger.unpriced.values()),
            budget=self.plan.study.budget_usd,
            started=self.started,
            ended=self.ended,
            spent_before=ledger.spent_by_others,
            unknown_usage=sum(ledger.unknown_usage.values()),
            expected_dollars=tally.expected_dollars(),
            extractions=tally.extractions,
            failures=summarise_failures(desk),
            judges=tuple(judge.name for judge in self.judges),
            possibly_paid_twice=self._maybe_paid_twice,
            longest_pause=self._settings.longest_pause,
        )

    def _steer(
        self,
        *,
        paused: bool = False,
        stop: bool = False,
        reason: str = STOPPED_BY_USER,
        only_if_paused: bool = False,
    ) -> None:
        with self._lock:
            if (
                self.finished.is_set()
                or self._stop_requested
                or (only_if_paused and not self._paused)
            ):
                return
            self._stop_reason = reason
            self._note_pause(paused)
            self._paused, self._stop_requested = paused, stop
            self.state = "paused" if paused else "running"
            self.reason = "stopping: answers in flight are kept" if stop else ""
            desk = self._run_state
            if desk is not None and self._loop is not None:
                desk.paused, desk.stop = paused, stop  # seen by the next call, at once
                self._loop.call_soon_threadsafe(self._apply_controls, desk)

    def _note_pause(self, paused: bool) -> None:
        """A second pause does not begin the time anew."""
        if not paused:
            self.paused_since = None
        elif self.paused_since is None:
            self.paused_since = time.monotonic()

    def _apply_controls(self, desk: RunState) -> None:
        desk.apply_controls()
        self._time_pause()
        if not desk.stop:  # its end is noted anyway
            self._recording_task = asyncio.create_task(asyncio.to_thread(self._record))

    def _time_pause(self) -> None:
        """In the loop: stop the run when its pause has lasted as long as it may."""
        if self._pause_timer is not None:
            self._pause_timer.cancel()
            self._pause_timer = None
        since, longest = self.paused_since, self._settings.longest_pause
        if since is not None and longest is not None and self._loop is not None:
            left = max(0.0, since + longest - time.monotonic())
            self._pause_timer = self._loop.call_later(left, self._end_pause)

    def _end_pause(self) -> None:
        minutes = (self._settings.longest_pause or 0.0) / 60
        reason = f"paused for {minutes:.3g} minutes without being resumed; start again to go on"
        self._steer(stop=True, reason=reason, only_if_paused=True)

    def _record(self) -> None:
        """For whoever looks from another process; in a thread, for the store may be slow."""
        with contextlib.suppress(StoreError):
            record_run(self.store, self)

    def _pause_on_store_error(self, reason: str) -> None:
        """The store refuses to be written: paused until somebody resumes or stops the run."""
        with self._lock:
            if not self._stop_requested:
                self._note_pause(True)
                self._paused, self.state, self.reason = True, "paused", reason
        self._time_pause()

    # ---- inside the engine's loop -----------------------------------------------------------

    async def run(self, house: JudgeProvider) -> None:
        """Asks until nothing is left; whatever happens, the run ends in a state with a reason."""
        state: RunStatus = "failed"
        reason = ""
        try:
            state, reason = await self._run_judges(house)
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
                await asyncio.to_thread(self._record_end, state, redact_message(reason))
                await house.release_clients(self)
            finally:  # whoever waits for the end must not wait for ever
                self._discard_keys()
                with self._lock:
                    if self.ended is None:  # its end could not be written down
                        self.state, self.reason = "failed", redact_message(reason) or "it broke off"
                        self.ended = self._settings.wall_clock()
                self.finished.set()

    async def _run_judges(self, house: JudgeProvider) -> tuple[RunStatus, str]:
        study = self.plan.study
        judges = {
            j.name: house.open_judge(self, j, self._keys, self._settings) for j in self.judges
        }
        self._discard_keys()  # from here on only the clients hold them
        reading = self._settings.reading or study.reading
        desk = RunState(self._settings, self._journal, self._ledger, judges, reading)
        desk.on_store_error = self._pause_on_store_error
        self._journal.wait_for_repair = desk.wait_for_repair
        with self._lock:
            self._loop, self._run_state = asyncio.get_running_loop(), desk
            desk.paused, desk.stop = self._paused, self._stop_requested
            (self._apply_controls if self._paused else RunState.apply_controls)(desk)
        recounting = asyncio.create_task(self._recount(desk))
        try:
            await WorkerPool(desk, self._build_queues(desk)).run()
        finally:
            recounting.cancel()
        return _final_status(desk, self._stop_reason)

    def _build_queues(self, desk: RunState) -> list[JudgeQueue]:
        items = {item.id: item for item in self.plan.items}
        seats = [
            JudgeQueue(
                desk.judges[judge.name],
                self._pending_pages(judge.name),
                lambda ask: render_call(self.plan, ask, items),
                self._settle,
            )
            for judge in self.plan.study.judges
        ]
        if self.extraction is not None:
            seats.append(self._build_extraction_queue(desk, self.extraction, seats))
        return seats

    def _pending_pages(self, judge: str) -> PendingPages:
        return PendingPages(self.store, self.plan, judge, self._journal, self._plan_sha)

    async def _settle(self, judgement: Judgement, attempts: AskAttempts) -> None:
        assert attempts.attempt is not None
        await self._journal.settle(judgement, attempts.attempt, attempts.usage, attempts.cost)
        self._tally.count(judgement)

    def _build_extraction_queue(
        self, desk: RunState, extraction: Extractor, feeds: list[JudgeQueue]
    ) -> JudgeQueue:
        """Asks come up as replies turn out unreadable, and are made while the others go on."""
        items = {item.id: item for item in self.plan.items}
        read: dict[str, Judgement] = {}
        after = 0

        def page(limit: int) -> list[Ask]:
            nonlocal after
            asks: list[Ask] = []
            while not asks and (found := extraction.pending(self.store, after, limit)):
                after = found[-1][0]
                for judgement in (one for _, one in found if extraction.includes(one, items)):
                    ask, _ = extraction.ask(judgement, items)
                    read[ask.key] = judgement
                    asks.append(ask)
            return asks

        async def settle(judgement: Judgement, attempts: AskAttempts) -> None:
            assert attempts.attempt is not None
            found = apply_extraction(read.pop(judgement.ask.key), judgement)
            await self._journal.settle_extraction(
                judgement, found, extraction.request_rows(attempts.call),
                attempts.attempt, attempts.usage, attempts.cost,
            )  # fmt: skip
            self._tally.count_extraction(found is not None)

        state = desk.judges[extraction.judge.name]
        return JudgeQueue(
            state, page, lambda ask: extraction.ask(read[ask.key], items)[1], settle,
            more_event=asyncio.Event(), sources=list(feeds),
        )  # fmt: skip

    async def _recount(self, desk: RunState) -> None:
        """Another process may be settling asks of ours."""
        while True:
            await asyncio.sleep(RECOUNT_SECONDS)
            if desk.shares_asks:
                with contextlib.suppress(StoreError):
                    self._tally.counts = await asyncio.to_thread(self._counts_now)

    def _counts_now(self) -> Counter[str]:
        """As stored; an error of an earlier run is pending until this one has tried again."""
        return count_statuses(
            self.store, self.plan.study.name, self._settings, self._journal.start_seq
        )

    def _record_end(self, state: RunStatus, reason: str) -> None:
        """In a thread of its own: it reads and writes the store, which may take a while."""
        with contextlib.suppress(StoreError):
            self._tally.counts = Counter({"pending": 0} | self.store.counts(self.plan.study.name))
        if state == "done" and self._tally.counts["pending"]:
            state, reason = "stopped", self._why_pending()
        with contextlib.suppress(StoreError):  # reported already
            self._journal.close()
        with self._lock:
            self.state, self.reason, self.ended = state, reason, self._settings.wall_clock()
        self._record()

    def _why_pending(self) -> str:
        with contextlib.suppress(StoreError):
            if self.store.plan_sha(self.plan.study.name) != self._plan_sha:
                return "the study was changed meanwhile; start again for what it asks now"
        return "some asks are still pending; start again to go on"

    def _discard_keys(self) -> None:
        for key in self._keys.values():
            key.discard()
        self._keys.clear()


def _stopped_judges(desk: RunState | None) -> set[str]:
    if desk is None:
        return set()
    return {
        state.name for state in desk.judges.values() if state.stop_reason or state.budget_reached
    }


def _final_status(desk: RunState, stop_reason: str) -> tuple[RunStatus, str]:
    halted = [state for state in desk.judges.values() if state.stop_reason]
    stopped = [f"{state.name}: {state.stop_reason}" for state in halted]
    ledger = desk.ledger
    if any(state.budget_reached for state in desk.judges.values()):
        spent = ledger.spent_by_others + ledger.total
        untold = ledger.unknown_by_others + sum(ledger.unknown_usage.values())
        more = f", {untold:,} calls may have been billed without telling" if untold else ""
        reached = f"budget reached: ${spent:.4f} of ${ledger.budget or 0:.2f} spent{more}, and "
        return "stopped", "; ".join([reached + "one more call might exceed it", *stopped])
    if halted:
        state: RunStatus = "stopped" if all(judge.left_out for judge in halted) else "failed"
        return state, "; ".join(stopped)
    return ("stopped", stop_reason) if desk.stop else ("done", "")


def _first_error(group: BaseExceptionGroup[BaseException]) -> BaseException:
    error: BaseException = group
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return error
