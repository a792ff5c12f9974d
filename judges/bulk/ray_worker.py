"""Ray worker for endpoint judges: reads rendered requests from Parquet files, makes the calls and
writes the outcomes to Parquet files (shards).

The driver (the process that starts the run) renders the requests, as for a batch file. Each row
contains the messages of a request, and the ask with the labels that are needed to read the verdict.
Workers therefore need no store, items or images. The files contain no API key: a worker reads the
key from its own environment. They are kept small, because a file is processed again from its start
when its worker fails.

Rate limits, deadlines, retries, doubled token limits and the reading of verdicts are those of
judges/engine, so that a reply has the same outcome with and without Ray. Ray's own HTTP processor
is not used: it retries by itself, raises an error at the first refused call and has the API key in
its configuration.
"""

import asyncio
import itertools
import json
import secrets
import time
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, Final, TextIO

import pyarrow as pa

from judges.engine.attempt import AskAttempts
from judges.engine.limits.rate_limit import EndpointLimiter
from judges.engine.run_state import JudgeState, RunSettings, RunState
from judges.engine.worker_pool import JudgeQueue, WorkerPool
from judges.judge_errors import JudgeStopped, PlanError
from judges.models.clients import build_judge_client, find_api_key
from judges.models.interface import JudgeCall, known_refused_parameters
from judges.money.costs import Ledger, price_of
from judges.planning.plan import request_parameters
from judges.rendering.messages import PromptInputs
from judges.rendering.prompt import Prompt
from judges.security.key_consents import Consents, KeyDestination
from studies.domain import Ask, Item, Judgement, JudgeSpec, Usage
from studies.errors import EvenhandError
from studies.files.shards import (
    JOURNAL_SUFFIX,
    AskOutcome,
    CallAttempt,
    finished_keys,
    recover_journals,
    write_journal_line,
    write_parquet_atomically,
    write_shard,
)

ASK_SCHEMA: Final = pa.schema(
    [
        ("key", pa.string()), ("batch", pa.string()), ("position", pa.int64()),
        ("ask", pa.string()), ("messages", pa.large_string()),
    ]
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class RayJob:
    """Settings that every worker gets: judges, prompts, the rule for reading verdicts (`reading`)
    and the folder for results."""

    judges: Mapping[str, JudgeSpec]
    prompts: Mapping[str, Prompt]
    reading: str
    owner: str
    """Id under which the run reserves calls (leases) and records attempts."""
    shards: str
    """Folder of result files that all workers and the driver can access."""
    in_flight: int
    """Maximum calls in flight, for each judge in each worker."""
    settings: RunSettings
    allowed: frozenset[KeyDestination] = frozenset()
    """Environment variables (API keys) that a worker may send, each with the only origin that may
    receive it. The driver has checked the user's consent."""


@dataclass(frozen=True, slots=True)
class AskRow:
    """One row of a Parquet file of requests: the file's name without suffix (`batch`), the index in
    the plan (`position`), the planned call (`ask`), and the messages to send."""

    batch: str
    position: int
    ask: Ask
    messages: list[dict[str, Any]]


def write_asks(calls: Iterable[tuple[int, Ask, JudgeCall]], folder: Path, size: int) -> list[Path]:
    """Write requests, each with its index in the plan, to files of at most `size` rows. Each
    file is one batch; the batch's name is the file's name without its suffix. Returns the paths."""
    paths: list[Path] = []
    remaining = iter(calls)
    while part := list(itertools.islice(remaining, size)):
        path = folder / f"{len(paths):05d}.parquet"
        rows = [
            {
                "key": ask.key, "batch": path.stem, "position": position,
                "ask": json.dumps(asdict(ask)), "messages": json.dumps(call.messages),
            }
            for position, ask, call in part
        ]  # fmt: skip
        write_parquet_atomically(path, pa.Table.from_pylist(rows, schema=ASK_SCHEMA))
        paths.append(path)
    return paths


def parse_ask_row(row: Mapping[str, Any]) -> AskRow:
    values = json.loads(row["ask"])
    names = {name: tuple(values[name]) for name in ("shown", "labels")}
    ask = Ask(**{**values, **names})
    return AskRow(row["batch"], row["position"], ask, json.loads(row["messages"]))


def build_call(job: RayJob, row: AskRow) -> JudgeCall:
    """Rebuild the call of a row, with the messages that the driver rendered. Only prompt and labels
    are needed to read a verdict, so item and answers stay empty."""
    ask = row.ask
    judge, prompt = job.judges[ask.judge], job.prompts[ask.prompt]
    inputs = PromptInputs(Item(ask.item, "", {}), ask.shown, (), ask.labels)
    parameters = request_parameters(judge, prompt, len(ask.shown), ask.labels)
    return JudgeCall(ask.key, judge, prompt, inputs, row.messages, parameters)


def make_shard_folder(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise PlanError(
            f"cannot create the shard folder {folder}: {error.strerror}; name another one with "
            "--shards"
        ) from None


FLUSH_ROWS: Final = 500
FLUSH_SECONDS: Final = 2.0
"""Seconds after which outcomes are written to a result file, even if they are fewer than
FLUSH_ROWS. Until then they are in a journal: a worker that dies loses only its calls in flight."""
REPORT_SCHEMA: Final = pa.schema(
    [
        ("shard", pa.string()), ("judge", pa.string()), ("asks", pa.int64()),
        ("stopped", pa.string()),
    ]
)  # fmt: skip


class AttemptLog:
    """The attempts at the calls of one file of requests, kept in memory until they are written to
    the result files.

    It has the methods of the journal in which a run without Ray records its attempts in the
    store (studies/store/run_journal.py). It makes and checks no reservations of calls (leases),
    because the process that started the run has made them."""

    def __init__(self, owner: str) -> None:
        self.owner = owner
        self.given_up_keys: set[str] = set()
        self._attempts: dict[str, list[CallAttempt]] = defaultdict(list)
        self._open_attempts: dict[int, tuple[str, float]] = {}
        self._ids = itertools.count(1)

    async def begin_attempt(self, key: str, *, leased: bool = False) -> int:
        attempt = next(self._ids)
        self._open_attempts[attempt] = (key, time.time())
        return attempt

    async def undo_attempt(self, key: str, attempt: int, *, keep_lease: bool = False) -> None:
        self._open_attempts.pop(attempt)

    async def end_attempt(
        self, attempt: int, outcome: str, usage: Usage, cost: float | None
    ) -> None:
        key, started = self._open_attempts.pop(attempt)
        attempted = CallAttempt(self.owner, started, time.time(), outcome, usage, cost)
        self._attempts[key].append(attempted)

    async def release_lease(self, key: str) -> None:
        """Do nothing: the process that started the run has reserved the calls (it holds the
        leases)."""

    def find_leased_keys(self, keys: Collection[str]) -> set[str]:
        """Return an empty set: no call is reserved by another run, because the process that started
        this run has reserved them all."""
        return set()

    async def end_attempt_and_release(
        self, key: str, attempt: int, outcome: str, usage: Usage, cost: float | None
    ) -> None:
        await self.end_attempt(attempt, outcome, usage, cost)
        self.given_up_keys.add(key)

    def pop_attempts(self, key: str) -> tuple[CallAttempt, ...]:
        return tuple(self._attempts.pop(key, ()))


class ShardWriter:
    """Writes the outcomes of one file of requests to result files (shards). A result file is
    complete when it has FLUSH_ROWS rows or is FLUSH_SECONDS old. Until then each outcome is
    appended to a journal at once, so that it is not lost if the worker dies."""

    def __init__(self, folder: Path, batch: str) -> None:
        self._folder, self._batch = folder, batch
        self._rows: list[AskOutcome] = []
        self._since = time.monotonic()
        self._journal: TextIO | None = None
        self.written: list[tuple[str, Counter[str]]] = []

    def put(self, outcome: AskOutcome) -> None:
        if self._journal is None:
            name = f"{self._batch}-{secrets.token_hex(4)}{JOURNAL_SUFFIX}"
            self._folder.mkdir(parents=True, exist_ok=True)
            self._journal = (self._folder / name).open("w", encoding="utf-8")
        write_journal_line(self._journal, outcome)
        self._rows.append(outcome)
        late = time.monotonic() - self._since > FLUSH_SECONDS
        if late or len(self._rows) >= FLUSH_ROWS:
            self.flush()

    def flush(self) -> None:
        if self._journal is not None:
            journal = Path(self._journal.name)
            path = journal.with_suffix(".parquet")
            write_shard(path, self._rows)
            self._journal.close()
            journal.unlink(missing_ok=True)
            asks = Counter(outcome.judgement.ask.judge for outcome in self._rows)
            self.written.append((path.name, asks))
        self._journal, self._rows, self._since = None, [], time.monotonic()

    def table_of_written_shards(self, stopped: dict[str, str]) -> pa.Table:
        """Return a table with the columns shard, judge, asks and stopped. It has a row for each
        result file and judge, with the number of calls, and a row for each judge in `stopped`
        (judge -> reason), with the reason."""
        rows: list[dict[str, Any]] = [
            {"shard": name, "judge": judge, "asks": n, "stopped": ""}
            for name, asks in self.written
            for judge, n in asks.items()
        ]
        rows += [
            {"shard": "", "judge": judge, "asks": 0, "stopped": reason}
            for judge, reason in stopped.items()
        ]
        return pa.Table.from_pylist(rows, schema=REPORT_SCHEMA)


def recover_answered_keys(folder: Path, rows: Collection[AskRow]) -> set[str]:
    """Return the keys of the calls that an earlier worker, which died, has made already: their
    outcomes are in result files made from the same files of requests as `rows`. The journals of
    that worker are converted to result files first."""
    batches = sorted({row.batch for row in rows})
    for name in batches:
        recover_journals(folder, f"{name}-")
    return finished_keys([path for name in batches for path in folder.glob(f"{name}-*.parquet")])


class EndpointWorker:
    """A Ray worker for endpoint judges. Called with a table of calls, it makes those not made yet,
    writes their outcomes to shards, and returns the table of `table_of_written_shards`, a row per
    shard and judge. Rate limiters and connections are kept between batches."""

    def __init__(self, job: RayJob) -> None:
        self.job = job
        self._loop = asyncio.new_event_loop()
        self._states: dict[str, JudgeState] = {}

    def __call__(self, table: pa.Table) -> pa.Table:
        rows = [parse_ask_row(row) for row in table.to_pylist()]
        return self._loop.run_until_complete(self._make_calls(rows))

    async def _make_calls(self, rows: list[AskRow]) -> pa.Table:
        folder = Path(self.job.shards)
        answered = recover_answered_keys(folder, rows)
        todo = {row.ask.key: row for row in rows if row.ask.key not in answered}
        shards = ShardWriter(folder, rows[0].batch if rows else "none")
        log = AttemptLog(self.job.owner)
        stopped = {}
        state = RunState(self.job.settings, log, Ledger(), self._states, self.job.reading)
        by_judge: dict[str, list[Ask]] = defaultdict(list)
        for row in todo.values():
            by_judge[row.ask.judge].append(row.ask)
        queues = [
            self._build_queue(name, asks, todo, log, shards) for name, asks in by_judge.items()
        ]
        state.apply_controls()
        await WorkerPool(state, queues).run()
        for name in by_judge:
            if reason := self._states[name].stop_reason:
                stopped[name] = reason
        for key in log.given_up_keys:
            shards.put(self._build_stopped_outcome(todo[key], log))
        shards.flush()
        return shards.table_of_written_shards(stopped)

    def _build_queue(
        self,
        name: str,
        asks: list[Ask],
        todo: dict[str, AskRow],
        log: AttemptLog,
        shards: ShardWriter,
    ) -> JudgeQueue:
        waiting = iter(asks)

        async def log_attempt_and_write_shard(judgement: Judgement, attempts: AskAttempts) -> None:
            assert attempts.attempt is not None
            key = judgement.ask.key
            status = judgement.status
            await log.end_attempt(attempts.attempt, status, attempts.usage, attempts.cost)
            shards.put(AskOutcome(judgement, log.pop_attempts(key), position=todo[key].position))

        return JudgeQueue(
            self._find_or_create_state(self.job.judges[name]),
            lambda limit: list(itertools.islice(waiting, limit)),
            lambda ask: _turn_off_hedging(build_call(self.job, todo[ask.key])),
            log_attempt_and_write_shard,
        )

    def _find_or_create_state(self, judge: JudgeSpec) -> JudgeState:
        """Return the judge's state; at the first request, create it, inside the event loop. A judge
        whose API key is missing or not allowed is created as stopped."""
        if judge.name not in self._states:
            try:
                key = find_api_key(judge, {}, Consents(self.job.allowed))
                model, why = build_judge_client(judge, key, {}), ""
            except EvenhandError as error:
                model, why = _KeylessModel(), f"on a worker: {error}"
            limiter = EndpointLimiter(self.job.in_flight)
            state = JudgeState(judge.name, model, price_of(judge), limiter, self.job.in_flight)
            state.stop_reason = why
            state.dropped_parameters = known_refused_parameters(judge)
            self._states[judge.name] = state
        return self._states[judge.name]

    def _build_stopped_outcome(self, row: AskRow, log: AttemptLog) -> AskOutcome:
        reason = self._states[row.ask.judge].stop_reason
        judgement = Judgement(row.ask, "error", rule="stopped", detail=reason, time=time.time())
        attempts = log.pop_attempts(row.ask.key)
        return AskOutcome(judgement, attempts, settled=False, position=row.position)


def _turn_off_hedging(call: JudgeCall) -> JudgeCall:
    """Return the call with hedging (a second attempt while the first is slow) turned off, because
    a shard stores only one cost for an ask."""
    return replace(call, judge=replace(call.judge, hedge=False)) if call.judge.hedge else call


class _KeylessModel:
    """Stand-in for the client of a judge that cannot be called, for example without an API key;
    every call raises JudgeStopped."""

    gate, ceiling = "", 1

    async def complete(self, call: object) -> Any:
        raise JudgeStopped("no key")

    async def close(self) -> None: ...
