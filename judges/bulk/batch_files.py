"""OpenAI Batch files: export the pending calls, import and store the replies.

The provider, or `vllm run-batch` on your own machines, schedules the calls. Each line contains the
key of its call. Lines may therefore come back in any order, twice or not at all: one reply per call
is stored, and a call without a line stays pending.
"""

import hashlib
import itertools
import json
import re
import sqlite3
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final

import httpx2

from judges.engine.outcome import read_outcome
from judges.judge_errors import PlanError
from judges.models.chat_completion import build_status_error, parse_completion
from judges.models.failures import BadReply, classify_error
from judges.models.interface import JudgeCall, drop_parameter, known_refused_parameters
from judges.money.costs import cost_of, price_of
from judges.planning.plan import Plan, render_call, render_call_to_send
from studies.domain import Ask, Item, Judgement, JudgeSpec, Usage
from studies.errors import SourceError
from studies.files.partial_files import replace_when_written
from studies.store.queries import judgement_queries, run_costs
from studies.store.queries.run_queries import StoredRun, put_run
from studies.store.rows import put_judgement
from studies.store.store import Store

COMPLETIONS_PATH: Final = "/v1/chat/completions"
MAX_FILE_LINES: Final = 50_000
MAX_FILE_BYTES: Final = 200 * 1000 * 1000
"""Maximum size of one batch file in bytes: like MAX_FILE_LINES, a limit of the provider. Further
calls are written to another file."""
BATCH_PRICE_FACTOR: Final = 0.5
"""Default price of a call in a batch, as a share of the price of a single request."""
MAX_LINE_BYTES: Final = 16 * 1024 * 1024
_PAGE_SIZE: Final = 500
OWNER_PREFIX: Final = "batch"
MANIFEST_FILE: Final = "batch.json"
"""Name of the file that records the judge of each batch file."""


@dataclass(frozen=True, slots=True)
class BatchFile:
    path: Path
    judge: str
    lines: int
    bytes: int


def export_batch(
    plan: Plan,
    store: Store,
    folder: Path,
    *,
    most_lines: int = MAX_FILE_LINES,
    most_bytes: int = MAX_FILE_BYTES,
) -> list[BatchFile]:
    """Write the pending calls of endpoint judges to new files `JUDGE-0001.jsonl`, … in `folder`,
    each with at most `most_lines` lines and `most_bytes` bytes, and return these files. If there
    are any, their names are also written to the file MANIFEST_FILE in `folder`.

    PlanError, and no file is left, if one of these files exists already, a call exceeds
    `most_bytes`, a model refuses a parameter that the study sets, or no judge is an endpoint."""
    judges = [judge for judge in plan.study.judges if judge.kind == "endpoint"]
    if not judges:
        raise PlanError(
            "no judge of this study is an endpoint, and batch files are for endpoints only; "
            "use 'python -m judges run'"
        )
    for judge in judges:
        refused = known_refused_parameters(judge) - {"max_tokens"}
        if named := [name for name in sorted(refused) if getattr(judge, name) is not None]:
            raise PlanError(  # a run leaves it out; here every line would fail
                f"judge {judge.name!r}: {judge.model} refuses {named[0]}; set {named[0]}: null"
            )
    if (folder / MANIFEST_FILE).exists():
        raise PlanError(f"{folder / MANIFEST_FILE} already exists; name a new folder")
    folder.mkdir(parents=True, exist_ok=True)
    written: list[BatchFile] = []
    try:
        for file in _write_batch_files(plan, store, judges, folder, most_lines, most_bytes):
            written.append(file)
        if written:
            files = {file.path.name: file.judge for file in written}
            with replace_when_written(folder / MANIFEST_FILE) as partial:
                listed = json.dumps({"study": plan.study.name, "files": files}, indent=1)
                partial.write_text(listed, encoding="utf-8")
    except BaseException:
        for file in written:
            file.path.unlink(missing_ok=True)
        raise
    return written


def _write_batch_files(
    plan: Plan,
    store: Store,
    judges: Sequence[JudgeSpec],
    folder: Path,
    most_lines: int,
    most_bytes: int,
) -> Iterator[BatchFile]:
    """Write the pending calls of the judges to files of at most `most_lines` lines and `most_bytes`
    bytes, and yield each file when it is written."""
    items = {item.id: item for item in plan.items}
    names: set[str] = set()
    for judge in judges:
        asks = _iterate_pending_asks(store, plan, judge.name)
        lines = (format_batch_line(render_call_to_send(plan, ask, items)) for ask in asks)
        base = re.sub(r"[^A-Za-z0-9.-]+", "-", judge.name).strip("-") or "judge"
        numbered = (f"{base}-{number}" if number > 1 else base for number in itertools.count(1))
        name = next(one for one in numbered if one.casefold() not in names)
        names.add(name.casefold())
        for number, part in enumerate(_split_into_files(lines, most_lines, most_bytes), 1):
            path = folder / f"{name}-{number:04d}.jsonl"
            if path.exists():
                raise PlanError(f"{path} already exists; name a new folder")
            with replace_when_written(path) as partial:
                partial.write_bytes(b"".join(part))
            yield BatchFile(path, judge.name, len(part), sum(len(line) for line in part))


def batch_files_by_judge(folder: Path) -> dict[str, list[Path]]:
    """Return judge -> the batch files that export_batch wrote for it into a folder; PlanError if
    the folder has no valid list of them."""
    try:
        files = json.loads((folder / MANIFEST_FILE).read_text(encoding="utf-8"))["files"]
        found: dict[str, list[Path]] = {}
        for name, judge in files.items():
            found.setdefault(judge, []).append(folder / Path(name).name)
    except OSError:
        raise PlanError(f"no {MANIFEST_FILE} in {folder}: run export-batch first") from None
    except (ValueError, KeyError, AttributeError, TypeError):
        raise PlanError(
            f"{folder / MANIFEST_FILE} was not written by export-batch; name the folder that "
            "export-batch wrote"
        ) from None
    return found


def format_batch_line(call: JudgeCall) -> bytes:
    if "max_tokens" in known_refused_parameters(call.judge):  # the endpoint has another name for it
        call = drop_parameter(call, "max_tokens") or call
    body = {"model": call.judge.model, "messages": call.messages, **call.parameters}
    entry = {"custom_id": call.key, "method": "POST", "url": COMPLETIONS_PATH, "body": body}
    return json.dumps(entry, ensure_ascii=False, separators=(",", ":")).encode() + b"\n"


def _iterate_pending_asks(store: Store, plan: Plan, judge: str) -> Iterator[Ask]:
    after = -1
    while page := store.pending_asks(plan.study.name, judge, after, _PAGE_SIZE):
        after = page[-1][0]
        yield from (ask for _, ask in page)


def _split_into_files(
    lines: Iterable[bytes], most_lines: int, most_bytes: int
) -> Iterator[list[bytes]]:
    part: list[bytes] = []
    size = 0
    for line in lines:
        if len(line) > most_bytes:
            raise PlanError(
                f"a call of {len(line) / 1e6:.0f} MB does not fit into a batch file of "
                f"{most_bytes / 1e6:.0f} MB: use smaller images, or run the study live"
            )
        if part and (len(part) == most_lines or size + len(line) > most_bytes):
            yield part
            part, size = [], 0
        part.append(line)
        size += len(line)
    if part:
        yield part


# ---- import --------------------------------------------------------------------------------


@dataclass(slots=True)
class BatchImport:
    """Result of an import: number of lines by outcome, and the total cost."""

    stored: int = 0
    by_status: Counter[str] = field(default_factory=Counter)
    already_answered: int = 0
    """Number of lines for calls that were answered before, in another batch file or by a run."""
    unknown: int = 0
    """Number of lines whose key belongs to no call of this study."""
    pending: Counter[str] = field(default_factory=Counter)
    """Reason -> number of calls that stay pending because their line has no final result (expired,
    rate limit, server error)."""
    unreadable_lines: list[str] = field(default_factory=list)
    """`file:line` of each line that could not be read."""
    dollars: float | None = 0.0
    """Total cost; None if the cost of any stored reply is unknown."""


def import_batch(
    plan: Plan, store: Store, paths: Iterable[Path], *, price_factor: float = BATCH_PRICE_FACTOR
) -> BatchImport:
    """Store the results contained in output and error files; return the number of lines by outcome,
    and the cost. Lines may be in any order; each call is stored once. `price_factor`: price of a
    batch call as a share of the price of a live call. SourceError if a file cannot be read."""
    reader = _BatchImporter(plan, store, price_factor)
    for path in paths:
        for where, text in _read_numbered_lines(path):
            reader.buffer_line(where, text)
            if len(reader.buffer) >= _PAGE_SIZE:
                reader.flush()
    reader.flush()
    if reader.totals.stored or reader.totals.already_answered:
        # The run of all batch results of the study, whose budget counts the cost of its runs.
        owner, study = batch_run_id(plan), plan.study.name
        row = StoredRun(owner, study, "done", "by batch files", reader.began, time.time(), owner)
        store.writer.run(lambda connection: put_run(connection, row))
    return reader.totals


def batch_run_id(plan: Plan) -> str:
    """Return the id of the one run to which the store assigns all batch results of a study. It is
    made from the study's name."""
    return f"{OWNER_PREFIX}-{hashlib.sha256(plan.study.name.encode()).hexdigest()[:12]}"


def _read_numbered_lines(path: Path) -> Iterator[tuple[str, bytes]]:
    """Yield (place, line) for each line that is not empty; the place is the text `file:number`.
    SourceError if the file cannot be read or a line is too long."""
    try:
        with path.open("rb") as lines:
            number = 0
            while text := lines.readline(MAX_LINE_BYTES + 1):
                number += 1
                if len(text) > MAX_LINE_BYTES:
                    limit = MAX_LINE_BYTES // 2**20
                    raise SourceError(f"{path.name}, line {number}: over {limit} MB; remove it")
                if text.strip():
                    yield f"{path.name}:{number}", text
    except OSError as error:
        raise SourceError(f"cannot read {path}: {error.strerror}") from None


_Ready = tuple[Judgement, Usage, float | None]
"""A judgement that can be stored, with token counts and dollars."""


class _BatchImporter:
    """Reads the lines of result files into a buffer; `flush` stores the judgements in the
    buffer."""

    def __init__(self, plan: Plan, store: Store, price_factor: float) -> None:
        self.plan, self.store, self.price_factor = plan, store, price_factor
        self.asks: dict[str, Ask] = {ask.key: ask for ask in store.asks(plan.study.name)}
        self.items: dict[str, Item] = {item.id: item for item in plan.items}
        self.totals = BatchImport()
        self.began = time.time()
        self.owner = batch_run_id(plan)
        self.buffer: dict[str, _Ready] = {}

    def buffer_line(self, where: str, text: bytes) -> None:
        try:
            entry = json.loads(text)
            key = str(entry["custom_id"])
            response, error = entry.get("response"), entry.get("error")
        except (ValueError, KeyError, TypeError, AttributeError):
            self.totals.unreadable_lines.append(where)
            return
        ask = self.asks.get(key)
        if ask is None:
            self.totals.unknown += 1
        elif key in self.buffer and self.buffer[key][0].status != "error":
            self.totals.already_answered += 1
        else:
            self._buffer_reply(ask, response, error)

    def _buffer_reply(self, ask: Ask, response: Any, error: Any) -> None:
        if not isinstance(response, dict):
            code = error.get("code") if isinstance(error, dict) else None
            self.totals.pending[str(code or "no response")] += 1
            return
        call = render_call(self.plan, ask, self.items)
        content = json.dumps(response.get("body")).encode()
        status = response.get("status_code", 200)
        try:
            if not isinstance(status, int) or status >= 300:
                sent = httpx2.Request("POST", call.judge.endpoint)
                failed = httpx2.Response(int(status), content=content, request=sent)
                raise build_status_error(failed)
            answer = parse_completion(content)
        except Exception as fault:
            self._buffer_failure(ask, call, fault)
            return
        read = read_outcome(call, answer, self.plan.study.reading)
        cost = cost_of(answer.usage, price_of(call.judge))
        cost = None if cost is None else cost * self.price_factor
        judgement = replace(read.build_judgement(ask, answer), cost=cost, time=time.time())
        self.buffer[ask.key] = (judgement, answer.usage, cost)

    def _buffer_failure(self, ask: Ask, call: JudgeCall, error: Exception) -> None:
        """Buffer a failure as the outcome of the call if it would occur again in a repeat (such as
        HTTP 400); after any other failure, the call stays pending."""
        fault, now = classify_error(error, call.judge.endpoint), time.time()
        if fault.action == "settle" and not isinstance(error, BadReply):
            settled = Judgement(ask, fault.status, rule=fault.reason, detail=fault.detail, time=now)
            self.buffer[ask.key] = (settled, Usage(), 0.0)  # refused: not billed
        else:
            self.totals.pending[fault.reason] += 1

    def flush(self) -> None:
        ready, self.buffer = list(self.buffer.values()), {}
        stored: list[_Ready] = self.store.writer.run(
            lambda connection: [
                one for one in ready if self._store_attempt_and_new_judgement(connection, *one)
            ]
        )
        self.totals.stored += len(stored)
        self.totals.already_answered += len(ready) - len(stored)
        for judgement, _, cost in stored:
            self.totals.by_status[judgement.status] += 1
            known = self.totals.dollars is not None and cost is not None
            self.totals.dollars = (self.totals.dollars or 0.0) + (cost or 0.0) if known else None

    def _store_attempt_and_new_judgement(
        self, connection: sqlite3.Connection, judgement: Judgement, usage: Usage, cost: float | None
    ) -> bool:
        """Record that the call was made, with its tokens and cost (None: unknown). Then store the
        judgement, unless the store already has one for this call that is no error. Return
        whether it was stored."""
        run_costs.put_attempt_made_outside_store(connection, judgement, self.owner, usage, cost)
        if judgement_queries.is_answered(connection, judgement.ask.key):
            return False
        put_judgement(connection, judgement)
        return True
