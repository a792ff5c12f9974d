"""Runs that outlive a browser tab: start, pause, resume, stop, look.

One engine a process, in its own thread with its own event loop. The page holds only a run's id; it
polls a snapshot. Two runs at one endpoint share its gate, so a cool-down holds for both.
"""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import secrets
import threading
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from judges.accounts import note_run, spent_by
from judges.attempts import Attempts, Settings
from judges.cost import Ledger, price_of
from judges.desk import Desk, JudgeState
from judges.errors import PlanError
from judges.extraction import Extraction, extracted
from judges.faults import scrub
from judges.limits import Gate
from judges.models.answers import Model
from judges.panel import Panel, Seat
from judges.plan import Plan, call_for
from judges.roster import api_key, model_for
from judges.snapshot import Snapshot as Snapshot
from judges.snapshot import State as State
from judges.snapshot import Tally, failures, waiting
from studies.errors import EvenhandError, StoreError
from studies.journal import Journal, possibly_paid_twice
from studies.records import Ask, Judgement, JudgeSpec
from studies.store import Store

RECOUNT: Final = 2.0
"""Seconds between counts of what another process has settled of our asks."""
KEPT: Final = 200
"""Ended runs that can still be looked at by their id; older ones are in the store."""


class Run:
    """One run of one study: the handle other threads hold."""

    def __init__(
        self, plan: Plan, store: Store, keys: Mapping[str, str], settings: Settings
    ) -> None:
        self.id = secrets.token_urlsafe(9)
        self.plan, self.store = plan, store
        self.state: State = "running"
        self.reason = ""
        self.started = settings.wall()
        self.ended: float | None = None
        self.finished = threading.Event()
        self.extraction = Extraction.of(plan)
        self._keys, self._settings = dict(keys), settings
        self._ledger = Ledger(plan.study.budget_usd, spent_by(store, plan.study.name))
        self._doubtful = len(possibly_paid_twice(store, plan.study.name))
        self._tally = Tally(
            _counted(store, plan.study.name, settings), _left(store, plan.study.name, settings)
        )
        self._journal = Journal(store, again=settings.again, wall=settings.wall)
        self._desk: Desk | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._paused = self._stopping = False
        self._lock = threading.Lock()

    @property
    def owner(self) -> str:
        """Who holds the leases of this run: alive as long as its process is."""
        return self._journal.owner.id

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
        self._steer(paused=False)

    def stop(self) -> None:
        """Final: what is in flight is stored, the rest stays pending for another run."""
        self._steer(stop=True)

    def wait(self, timeout: float | None = None) -> bool:
        return self.finished.wait(timeout)

    def snapshot(self) -> Snapshot:
        desk, tally, ledger = self._desk, self._tally, self._ledger
        running = self.state == "running"
        return Snapshot(
            id=self.id,
            study=self.plan.study.name,
            state=self.state,
            reason=self.reason,
            counts=dict(tally.counts),
            rate=tally.rate() if running else 0.0,
            eta=tally.eta(_stopped(desk)) if running else None,
            in_flight=len(self._journal.calling),
            waiting=waiting(desk) if self.ended is None else (),
            spent=ledger.total,
            unpriced=sum(ledger.unpriced.values()),
            budget=self.plan.study.budget_usd,
            started=self.started,
            ended=self.ended,
            spent_before=ledger.before,
            untold=sum(ledger.untold.values()),
            expected=tally.expected(),
            extractions=tally.extractions,
            failures=failures(desk),
            possibly_paid_twice=self._doubtful,
        )

    def _steer(self, *, paused: bool = False, stop: bool = False) -> None:
        with self._lock:
            if self.finished.is_set() or self._stopping:
                return
            self._paused, self._stopping = paused, stop
            self.state = "paused" if paused else "running"
            self.reason = "stopping: answers in flight are kept" if stop else ""
            desk = self._desk
            if desk is not None and self._loop is not None:
                desk.paused, desk.stop = paused, stop  # seen by the next call, at once
                self._loop.call_soon_threadsafe(desk.steered)

    def _troubled(self, reason: str) -> None:
        """The store refuses to be written: paused until somebody resumes or stops the run."""
        with self._lock:
            if not self._stopping:
                self._paused, self.state, self.reason = True, "paused", reason

    # ---- inside the engine's loop -----------------------------------------------------------

    async def run(self, engine: Engine) -> None:
        """Asks until nothing is left; whatever happens, the run ends in a state with a reason."""
        state: State = "failed"
        reason = ""
        try:
            state, reason = await self._ask(engine)
        except* EvenhandError as errors:
            reason = str(_first(errors))
        except* Exception as errors:
            cause = _first(errors)
            reason = f"{type(cause).__name__}: {cause}"
        finally:
            await asyncio.to_thread(self._end, state, self._scrubbed(reason))
            await engine.let_go(self)
            self._keys.clear()
            self.finished.set()

    async def _ask(self, engine: Engine) -> tuple[State, str]:
        study = self.plan.study
        judges = {j.name: engine.hire(self, j, self._keys, self._settings) for j in self.judges}
        reading = self._settings.reading or study.reading
        desk = Desk(self._settings, self._journal, self._ledger, judges, reading)
        desk.on_trouble = self._troubled
        self._journal.repaired = desk.repaired
        with self._lock:
            self._loop, self._desk = asyncio.get_running_loop(), desk
            desk.paused, desk.stop = self._paused, self._stopping
            desk.steered()
        recounting = asyncio.create_task(self._recount(desk))
        try:
            await Panel(desk, self._seats(desk)).run()
        finally:
            recounting.cancel()
        return _verdict(desk)

    def _seats(self, desk: Desk) -> list[Seat]:
        items = {item.id: item for item in self.plan.items}
        seats = [
            Seat(
                desk.judges[judge.name],
                self._pages(judge.name),
                lambda ask: call_for(self.plan, ask, items),
                self._settle,
            )
            for judge in self.plan.study.judges
        ]
        if self.extraction is not None:
            seats.append(self._extraction_seat(desk, self.extraction, seats))
        return seats

    def _pages(self, judge: str) -> _Pages:
        return _Pages(self.store, self.plan.study.name, judge, self._journal)

    async def _settle(self, judgement: Judgement, attempts: Attempts) -> None:
        await self._journal.settle(judgement, attempts.attempt, attempts.usage, attempts.cost)
        self._tally.count(judgement)

    def _extraction_seat(self, desk: Desk, extraction: Extraction, feeds: list[Seat]) -> Seat:
        """Asks come up as replies turn out unreadable, and are made while the others go on."""
        items = {item.id: item for item in self.plan.items}
        read: dict[str, Judgement] = {}
        after = 0

        def page(limit: int) -> list[Ask]:
            nonlocal after
            asks = []
            for seq, judgement in extraction.pending(self.store, after, limit):
                after = seq
                ask, _ = extraction.ask(judgement, items)
                read[ask.key] = judgement
                asks.append(ask)
            return asks

        async def settle(judgement: Judgement, attempts: Attempts) -> None:
            found = extracted(read.pop(judgement.ask.key), judgement)
            await self._journal.settle_extraction(
                judgement, found, extraction.stamps(attempts.call),
                attempts.attempt, attempts.usage, attempts.cost,
            )  # fmt: skip
            self._tally.count_extraction(found is not None)

        state = desk.judges[extraction.judge.name]
        return Seat(
            state, page, lambda ask: extraction.ask(read[ask.key], items)[1], settle,
            more=asyncio.Event(), feeds=list(feeds),
        )  # fmt: skip

    async def _recount(self, desk: Desk) -> None:
        """Another process may be settling asks of ours."""
        while True:
            await asyncio.sleep(RECOUNT)
            if desk.shared:
                with contextlib.suppress(StoreError):
                    self._tally.counts = await asyncio.to_thread(self._counts_now)

    def _counts_now(self) -> Counter[str]:
        """As stored; an error of an earlier run is pending until this one has tried again."""
        return _counted(self.store, self.plan.study.name, self._settings, self._journal.began)

    def _end(self, state: State, reason: str) -> None:
        """In a thread of its own: it reads and writes the store, which may take a while."""
        with contextlib.suppress(StoreError):
            self._tally.counts = Counter({"pending": 0} | self.store.counts(self.plan.study.name))
        if state == "done" and self._tally.counts["pending"]:
            state, reason = "stopped", "some asks are still pending; start again to go on"
        with contextlib.suppress(StoreError):  # reported already
            self._journal.close()
        with self._lock:
            self.state, self.reason, self.ended = state, reason, self._settings.wall()
        with contextlib.suppress(StoreError):
            note_run(self.store, self)

    def _scrubbed(self, text: str) -> str:
        for key in self._keys.values():
            text = scrub(text, key)
        return scrub(text)


class _Pages:
    """The asks of one judge that nothing stored satisfies, in plan order."""

    def __init__(self, store: Store, study: str, judge: str, journal: Journal) -> None:
        self._store, self._study, self._judge, self._journal = store, study, judge, journal
        self._after = -1

    def __call__(self, limit: int) -> list[Ask]:
        page = self._store.pending(
            self._study, self._judge, self._after, limit,
            again=self._journal.again_if, began=self._journal.began,
        )  # fmt: skip
        if page:
            self._after = page[-1][0]
        return [ask for _, ask in page]


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
            _check(run, keys or {})
            note_run(store, run)
        except BaseException:
            run._journal.owner.close()
            raise
        self._forget_old()
        self._runs[run.id] = run
        asyncio.run_coroutine_threadsafe(run.run(self), self._loop)
        return run

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
        self, run: Run, judge: JudgeSpec, typed: Mapping[str, str], settings: Settings
    ) -> JudgeState:
        """Called inside the loop: clients belong to the loop that uses them."""
        key = api_key(judge, typed) if judge.kind == "endpoint" else ""
        at = (judge.endpoint or judge.kind, hashlib.sha256(key.encode()).hexdigest())
        if judge.kind == "simulated":  # knows the families of its study
            model = model_for(judge, key, run.plan.study.families)
        else:
            if at not in self._hired:
                self._hired[at] = _Hired(model_for(judge, key, {}), set())
            self._hired[at].runs.add(run.id)
            model = self._hired[at].model
        workers = min(settings.concurrency or run.plan.study.concurrency, model.ceiling)
        gate = self._gates.setdefault(at, Gate(workers))
        gate.raise_ceiling(workers)
        return JudgeState(judge.name, model, price_of(judge), gate, workers, secret=key)

    async def let_go(self, run: Run) -> None:
        """Clients that no run uses are closed: they hold a key."""
        for at, hired in list(self._hired.items()):
            hired.runs.discard(run.id)
            if not hired.runs:
                del self._hired[at]
                with contextlib.suppress(Exception):
                    await hired.model.close()

    def _forget_old(self) -> None:
        ended = [run_id for run_id, run in self._runs.items() if run.finished.is_set()]
        for run_id in ended[: max(0, len(ended) - KEPT)]:
            del self._runs[run_id]

    async def _close_models(self) -> None:
        for hired in self._hired.values():
            await hired.model.close()


def _check(run: Run, typed: Mapping[str, str]) -> None:
    """What would stop the run anyway is said before anything is asked."""
    budget = run.plan.study.budget_usd
    for judge in run.judges:
        if judge.kind == "endpoint":
            api_key(judge, typed)
        if budget is not None and price_of(judge) is None:
            raise PlanError(
                f"judge {judge.name!r}: its price is not known, so a budget of ${budget:g} cannot "
                "be kept; give it a price, or leave out budget_usd"
            )


def _stopped(desk: Desk | None) -> set[str]:
    if desk is None:
        return set()
    return {state.name for state in desk.judges.values() if state.stopped or state.broke}


def _verdict(desk: Desk) -> tuple[State, str]:
    stopped = [f"{s.name}: {s.stopped}" for s in desk.judges.values() if s.stopped]
    ledger = desk.ledger
    if any(state.broke for state in desk.judges.values()):
        spent = ledger.before + ledger.total
        reached = f"budget reached: ${spent:.4f} of ${ledger.budget or 0:.2f} spent, and one more "
        return "stopped", "; ".join([reached + "call might exceed it", *stopped])
    if stopped:
        return "failed", "; ".join(stopped)
    return ("stopped", "stopped by you") if desk.stop else ("done", "")


def _counted(
    store: Store, study: str, settings: Settings, began: int | None = None
) -> Counter[str]:
    """Counts from the store; what this run asks again is pending until it has."""
    counts = Counter({"pending": 0} | store.counts(study))
    marks = ",".join("?" * len(settings.again))
    waiting = store.read(
        "SELECT j.status, count(*) FROM plan p JOIN judgements j USING(key) "
        "WHERE p.study=(SELECT id FROM studies WHERE name=?) AND p.origin='live' "
        f"AND j.status IN ({marks}) AND j.seq<=? GROUP BY 1",
        (study, *settings.again, 2**62 if began is None else began),
    )
    for status, count in waiting:
        counts[status] -= count
        counts["pending"] += count
    return counts


def _left(store: Store, study: str, settings: Settings) -> dict[str, int]:
    """How many asks of each judge this run has to make."""
    marks = ",".join("?" * len(settings.again))
    rows = store.read(
        "SELECT judge, count(*) FROM plan p WHERE study=(SELECT id FROM studies WHERE name=?) "
        "AND origin='live' AND NOT EXISTS (SELECT 1 FROM judgements j WHERE j.key=p.key "
        f"AND j.status NOT IN ({marks})) GROUP BY judge",
        (study, *settings.again),
    )
    return dict(rows.fetchall())


def _first(group: BaseExceptionGroup[BaseException]) -> BaseException:
    error: BaseException = group
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return error
