"""Runs that outlive a browser tab: start, pause, resume, stop, look.

One engine a process, in its own thread with its own event loop. The page holds only a run's id; it
polls a snapshot. Two runs at one endpoint share its gate, so a cool-down holds for both.
"""

from __future__ import annotations

import asyncio
import contextlib
import secrets
import threading
import time
from collections import Counter, deque
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final, Literal

from judges.attempts import Desk, JudgeState, Settings
from judges.cost import Ledger, price_of
from judges.limits import Gate
from judges.models.answers import Model
from judges.models.embedded import EmbeddedUnavailable
from judges.panel import Panel
from judges.plan import Plan, call_for
from judges.roster import api_key, model_for
from studies.errors import StoreError
from studies.journal import Journal
from studies.records import Judgement, JudgeSpec
from studies.store import Store

State = Literal["running", "paused", "stopped", "done", "failed"]
WINDOW: Final = 30.0
"""The rate is that of the last so many seconds."""
RECOUNT: Final = 5.0


@dataclass(frozen=True, slots=True)
class Snapshot:
    """A run as the page sees it at one moment."""

    id: str
    study: str
    state: State
    reason: str
    counts: Mapping[str, int]
    """planned, pending, and a number by status"""
    rate: float
    eta: float | None
    in_flight: int
    waiting: tuple[str, ...]
    spent: float
    unpriced: int
    budget: float | None
    started: float
    ended: float | None

    @property
    def done(self) -> int:
        return self.counts.get("planned", 0) - self.counts.get("pending", 0)


@dataclass(slots=True)
class _Progress:
    """Counters kept while asking, so that a look costs no scan of the plan."""

    counts: Counter[str]
    times: dict[str, deque[float]] = field(default_factory=dict)
    counted: float = field(default_factory=time.monotonic)

    def settled(self, judgement: Judgement) -> None:
        self.counts[judgement.status] += 1
        self.counts["pending"] -= 1
        times = self.times.setdefault(judgement.ask.judge, deque(maxlen=4096))
        times.append(time.monotonic())

    def rate(self, judge: str | None = None) -> float:
        now = time.monotonic()
        names = self.times if judge is None else [judge]
        return sum(_rate(self.times.get(name, ()), now) for name in names)


def _rate(times: deque[float] | tuple[()], now: float) -> float:
    """Settled per second over the window; a few are needed before a rate means anything."""
    recent = [t for t in times if now - t <= WINDOW]
    if len(recent) < 3:
        return 0.0
    return (len(recent) - 1) / max(now - recent[0], 1e-3)


class Run:
    """One run of one study: the handle other threads hold."""

    def __init__(
        self, plan: Plan, store: Store, keys: Mapping[str, str], settings: Settings
    ) -> None:
        self.id = secrets.token_urlsafe(9)
        self.plan, self.store = plan, store
        self.state: State = "running"
        self.reason = ""
        self.started = time.time()
        self.ended: float | None = None
        self.finished = threading.Event()
        self._keys, self._settings = keys, settings
        self._desk: Desk | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._progress = _Progress(_recounted(store, plan.study.name))
        self._left_by_judge = _pending_by_judge(store, plan.study.name)
        self._settled: Counter[str] = Counter()
        self._wanted: Literal["run", "pause", "stop"] = "run"
        self._lock = threading.Lock()

    # ---- steering, from any thread ----------------------------------------------------------

    def pause(self) -> None:
        """No new call from now on; answers in flight are still stored, they are paid for."""
        self._steer("pause")

    def resume(self) -> None:
        self._steer("run")

    def stop(self) -> None:
        self._steer("stop")

    def wait(self, timeout: float | None = None) -> bool:
        return self.finished.wait(timeout)

    def snapshot(self) -> Snapshot:
        desk, progress = self._desk, self._progress
        self._recount_now_and_then()
        ledger = desk.ledger if desk else Ledger()
        return Snapshot(
            id=self.id,
            study=self.plan.study.name,
            state=self.state,
            reason=self.reason,
            counts=dict(progress.counts),
            rate=progress.rate() if self.state == "running" else 0.0,
            eta=self._eta(),
            in_flight=sum(gate.in_flight for gate in _gates(desk)),
            waiting=_waiting(desk),
            spent=ledger.total,
            unpriced=sum(ledger.unpriced.values()),
            budget=self.plan.study.budget_usd,
            started=self.started,
            ended=self.ended,
        )

    def _steer(self, wanted: Literal["run", "pause", "stop"]) -> None:
        with self._lock:
            self._wanted = wanted
            if self.finished.is_set():
                return
            self.state = "paused" if wanted == "pause" else "running"
            if self._loop is not None and self._desk is not None:
                self._loop.call_soon_threadsafe(_apply, self._desk, wanted)

    def _eta(self) -> float | None:
        """The slowest judge decides: judges are asked side by side."""
        if self.state != "running":
            return None
        left = [
            (count - self._settled[name], self._progress.rate(name))
            for name, count in self._left_by_judge.items()
        ]
        waiting = [(n, rate) for n, rate in left if n > 0]
        if not waiting or any(rate <= 0 for _, rate in waiting):
            return None
        return max(n / rate for n, rate in waiting)

    # ---- inside the engine's loop -----------------------------------------------------------

    async def run(self, engine: Engine) -> None:
        """Asks until nothing is left; whatever happens, the run ends in a state with a reason."""
        try:
            journal = Journal(self.store)
        except OSError as error:
            self._end("failed", f"the folder of the store cannot be written: {error}")
            return
        try:
            await self._ask(engine, journal)
        except* (EmbeddedUnavailable, StoreError) as errors:
            self._end("failed", str(_first(errors)))
        except* Exception as errors:
            cause = _first(errors)
            self._end("failed", f"{type(cause).__name__}: {cause}")
        finally:
            _close(journal)
            self._note()
            self.finished.set()

    async def _ask(self, engine: Engine, journal: Journal) -> None:
        study, items = self.plan.study, {item.id: item for item in self.plan.items}
        judges = {j.name: engine.state_of(j, self._keys, self.plan) for j in study.judges}
        desk = Desk(self._settings, journal, Ledger(study.budget_usd), judges)
        with self._lock:
            self._loop, self._desk = asyncio.get_running_loop(), desk
            _apply(desk, self._wanted)
        panel = Panel(
            desk,
            pending=lambda judge, after, limit: self.store.pending(study.name, judge, after, limit),
            call_for=lambda ask: call_for(self.plan, ask, items),
            settled=self._count,
        )
        await panel.run()
        self._end(*_verdict(desk, self._progress.counts))

    def _count(self, judgement: Judgement) -> None:
        self._settled[judgement.ask.judge] += 1
        self._progress.settled(judgement)

    def _end(self, state: State, reason: str) -> None:
        self._progress.counts = _recounted(self.store, self.plan.study.name, errors_pending=False)
        if state == "done" and self._progress.counts["pending"]:
            state = "stopped"
        self.state, self.reason, self.ended = state, reason, time.time()

    def _note(self) -> None:
        """Best effort: a store that cannot be written has already been reported."""
        with contextlib.suppress(StoreError):
            note_run(self.store, self)

    def _recount_now_and_then(self) -> None:
        """Another process may be settling asks of ours."""
        if self.finished.is_set() or time.monotonic() - self._progress.counted < RECOUNT:
            return
        self._progress.counts = _recounted(self.store, self.plan.study.name, errors_pending=False)
        self._progress.counted = time.monotonic()


class Engine:
    """The thread in which all runs of this process ask."""

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="engine", daemon=True)
        self._thread.start()
        self._models: dict[tuple[str, str], Model] = {}
        self._gates: dict[tuple[str, str], Gate] = {}
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
        typed = dict(keys or {})
        for judge in plan.study.judges:
            if judge.kind == "endpoint":
                api_key(judge, typed)
        study = plan.study
        settings = settings or Settings(concurrency=study.concurrency, reading=study.reading)
        run = Run(plan, store, typed, settings)
        self._runs[run.id] = run
        note_run(store, run)
        asyncio.run_coroutine_threadsafe(run.run(self), self._loop)
        return run

    def run(self, run_id: str) -> Run | None:
        return self._runs.get(run_id)

    def running(self, study: str) -> Run | None:
        """The live run of a study in this process, if there is one."""
        live = [r for r in self._runs.values() if r.plan.study.name == study]
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

    def state_of(self, judge: JudgeSpec, typed: Mapping[str, str], plan: Plan) -> JudgeState:
        """Called inside the loop: clients belong to the loop that uses them."""
        key = api_key(judge, typed) if judge.kind == "endpoint" else ""
        where = judge.endpoint or judge.kind
        at = (where, key)
        if judge.kind == "simulated":
            model = model_for(judge, key, plan.study.families)
        else:
            model = self._models.setdefault(at, model_for(judge, key, {}))
        workers = min(plan.study.concurrency, model.ceiling)
        gate = self._gates.setdefault(at, Gate(workers))
        gate.raise_ceiling(workers)
        return JudgeState(judge.name, model, price_of(judge), gate, workers)

    async def _close_models(self) -> None:
        for model in self._models.values():
            await model.close()


def note_run(store: Store, run: Run) -> None:
    values = (run.id, run.plan.study.name, "", run.state, run.reason, run.started, run.ended)
    store.writer.run(
        lambda c: c.execute("INSERT OR REPLACE INTO runs VALUES (?,?,?,?,?,?,?)", values)
    )


def _apply(desk: Desk, wanted: str) -> None:
    desk.stop = wanted == "stop"
    if wanted == "pause":
        desk.go.clear()
    else:
        desk.go.set()


def _gates(desk: Desk | None) -> set[Gate]:
    return {state.gate for state in desk.judges.values()} if desk else set()


def _waiting(desk: Desk | None) -> tuple[str, ...]:
    if desk is None:
        return ()
    told = []
    for state in desk.judges.values():
        if state.stopped:
            told.append(f"{state.name}: stopped: {state.stopped}")
        elif state.gate.cooling:
            told.append(f"{state.name}: cooling down {state.gate.cooling:.0f} s: rate limit")
        elif state.waiting:
            told.append(f"{state.name}: {state.waiting}")
    return tuple(told)


def _verdict(desk: Desk, counts: Mapping[str, int]) -> tuple[State, str]:
    stopped = [f"{s.name}: {s.stopped}" for s in desk.judges.values() if s.stopped]
    if desk.budget_reached:
        return "stopped", f"budget reached: ${desk.ledger.total:.4f} of ${desk.ledger.budget:.2f}"
    if stopped:
        return "failed", "; ".join(stopped)
    return ("stopped", "stopped by you") if desk.stop else ("done", "")


def _recounted(store: Store, study: str, *, errors_pending: bool = True) -> Counter[str]:
    """Counts from the store; at the start of a run an `error` is pending again."""
    counts = Counter(store.counts(study))
    counts.setdefault("pending", 0)
    if errors_pending:
        counts["pending"] += counts.pop("error", 0)
    return counts


def _pending_by_judge(store: Store, study: str) -> dict[str, int]:
    rows = store.read(
        "SELECT judge, count(*) FROM plan p WHERE study=(SELECT id FROM studies WHERE name=?) "
        "AND origin='live' AND NOT EXISTS "
        "(SELECT 1 FROM judgements j WHERE j.key=p.key AND j.status!='error') GROUP BY judge",
        (study,),
    )
    return dict(rows.fetchall())


def _first(group: BaseExceptionGroup[BaseException]) -> BaseException:
    error: BaseException = group
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return error


def _close(journal: Journal) -> None:
    try:
        journal.close()
    except StoreError:
        journal.owner.close()
