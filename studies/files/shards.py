"""Shards: Parquet files of judgements, which workers write in parallel and a store imports.

A row has the result of one ask (a planned request to a judge). Its columns are those of
`python -m studies export --format parquet`, without the injection flags, and three more:
`position`, the index of the ask in its plan; `settled`, whether the result is final; `attempts`,
all attempts at the call with their costs. Each row has the key of its ask, so writing or importing
a shard twice has no further effect.
"""

import contextlib
import json
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final, TextIO

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from studies.domain import NO_USAGE, Judgement, Usage
from studies.errors import SourceError
from studies.files.judgement_schema import JUDGEMENT_SCHEMA, parquet_row

ITEMS_FILE: Final = "items.jsonl"
"""Name of the file with the items of the shards in the same folder; the file may be missing."""
JOURNAL_SUFFIX: Final = ".journal"
"""Suffix of a journal: the file to which a worker appends each result until it writes the shard."""
ROWS_PER_BATCH: Final = 20_000
_REQUIRED_COLUMNS: Final = frozenset({"ask", "status", "reply", "verdict", "usage"})
ATTEMPT_TYPE: Final = pa.struct(
    [
        ("owner", pa.string()), ("started", pa.float64()), ("ended", pa.float64()),
        ("outcome", pa.string()), ("prompt", pa.int64()), ("completion", pa.int64()),
        ("cached", pa.int64()), ("cache_write", pa.int64()), ("reasoning_tokens", pa.int64()),
        ("cost", pa.float64()),
    ]
)  # fmt: skip
SHARD_SCHEMA: Final = pa.schema(
    [
        *JUDGEMENT_SCHEMA,
        pa.field("position", pa.int64()),
        pa.field("settled", pa.bool_()),
        pa.field("attempts", pa.list_(ATTEMPT_TYPE)),
    ]
)


@dataclass(frozen=True, slots=True)
class CallAttempt:
    """One attempt at a call, recorded for its cost; `owner` identifies the run that made it."""

    owner: str
    started: float
    ended: float
    outcome: str
    usage: Usage = NO_USAGE
    cost: float | None = None


@dataclass(frozen=True, slots=True)
class AskOutcome:
    """Result of one request to a judge, from a worker: its judgement, and all attempts at the call,
    which are kept for their costs."""

    judgement: Judgement
    attempts: tuple[CallAttempt, ...] = ()
    settled: bool = True
    """Whether the result is final. False if the judge was stopped: an import then stores only the
    attempts and their costs, and a later run makes the call."""
    position: int | None = None
    """Index of the request in the plan of its study; None if the plan is not known."""


def write_shard(path: Path, outcomes: Sequence[AskOutcome]) -> None:
    """Write the results of requests to judges as a shard: a Parquet file with one row per result.
    The file gets the name `path` only when it is complete."""
    table = pa.Table.from_pylist([_shard_row(outcome) for outcome in outcomes], schema=SHARD_SCHEMA)
    write_parquet_atomically(path, table)


def write_journal_line(out: TextIO, outcome: AskOutcome) -> None:
    """Append a result to a journal (a file of JSON lines), so that it is not lost if the process
    dies before it writes the shard."""
    out.write(json.dumps(_shard_row(outcome)) + "\n")
    out.flush()


def recover_journals(folder: Path, batch: str = "") -> None:
    """Convert the journals that dead workers left in a folder and its subfolders to shards, and
    delete them. A journal has the results that its worker had not yet written as a shard.

    Only journals whose names begin with `batch` are converted. A line that was cut off is left out.
    A journal whose shard exists is only deleted: the shard was written before the process died."""
    for path in sorted(folder.rglob(f"{batch}*{JOURNAL_SUFFIX}")):
        shard = path.with_suffix(".parquet")
        if not shard.exists():
            rows = []
            for line in path.read_text(encoding="utf-8", errors="replace").splitlines():
                with contextlib.suppress(ValueError):
                    rows.append(json.loads(line))
            if rows:
                write_parquet_atomically(shard, pa.Table.from_pylist(rows, schema=SHARD_SCHEMA))
        path.unlink(missing_ok=True)


def write_parquet_atomically(path: Path, table: pa.Table) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_name(path.name + ".part")
    pq.write_table(table, partial, compression="zstd")
    partial.replace(path)


def _shard_row(outcome: AskOutcome) -> dict[str, Any]:
    attempts = [
        {
            **{name: value for name, value in asdict(attempt).items() if name != "usage"},
            **asdict(attempt.usage),
        }
        for attempt in outcome.attempts
    ]
    return {
        **parquet_row(outcome.judgement),
        "position": outcome.position,
        "settled": outcome.settled,
        "attempts": attempts,
    }


def find_shards(folder: Path) -> list[Path]:
    """List the shards (Parquet files with Evenhand's judgements) in a folder and its subfolders,
    sorted by path."""
    return sorted(path for path in folder.rglob("*.parquet") if _is_shard(path))


def why_matches_shards(folder: Path) -> str:
    """Return the reason why a folder counts as a folder of shards (it names the first Parquet
    file with Evenhand's judgements, also in a subfolder); "" if it is none."""
    first = next((path for path in folder.rglob("*.parquet") if _is_shard(path)), None)
    return "" if first is None else f"{first.name} contains Evenhand's own judgements"


def _is_shard(path: Path) -> bool:
    try:
        return set(pq.read_schema(path).names) >= _REQUIRED_COLUMNS
    except (OSError, pa.ArrowException):
        return False


def finished_keys(paths: Sequence[Path]) -> set[str]:
    """Return the keys of all requests to judges whose final result is in these shards (result
    files); unreadable files are skipped."""
    found: set[str] = set()
    for path in paths:
        with contextlib.suppress(SourceError):  # skip: its calls are made again
            for batch in _iterate_batches(path, ["ask.key", "settled"]):
                found.update(
                    pc.struct_field(_keep_settled_rows(batch).column("ask"), "key").to_pylist()
                )
    return found


@dataclass(frozen=True, slots=True)
class ShardContents:
    """Summary of the shards (result files) of a folder, computed without reading any text. `rows`
    is the number of final results, `items` are the ids of the items judged."""

    folder: Path
    rows: int
    items: tuple[str, ...]
    unknown_order: int
    """Number of rows without a recorded order of the answers."""


def summarise_shards(folder: Path) -> ShardContents:
    rows = unknown = 0
    items: dict[str, None] = {}
    for path in find_shards(folder):
        for batch in _iterate_batches(
            path, ["ask.item", "ask.orders", *_settled_column_if_present(path)]
        ):
            asks = _keep_settled_rows(batch).column("ask")
            rows += len(asks)
            unknown += pc.sum(pc.equal(pc.struct_field(asks, "orders"), 0)).as_py() or 0
            items.update(dict.fromkeys(pc.unique(pc.struct_field(asks, "item")).to_pylist()))
    if not rows:
        raise SourceError(f"{folder.name}: no judgements in its shards; choose another folder")
    return ShardContents(folder, rows, tuple(items), unknown)


def read_batches(path: Path) -> Iterator[pa.RecordBatch]:
    """Yield the rows of a shard or of an exported Parquet file in batches; the shard's own columns
    (position, settled, attempts) are null if the file lacks them."""
    for batch in _iterate_batches(path, None):
        for field in (
            SHARD_SCHEMA.field("position"),
            SHARD_SCHEMA.field("settled"),
            SHARD_SCHEMA.field("attempts"),
        ):
            if field.name not in batch.schema.names:
                filler = pa.nulls(len(batch), field.type)
                batch = batch.append_column(field, filler)
        yield batch


def _settled_column_if_present(path: Path) -> list[str]:
    return ["settled"] if "settled" in pq.read_schema(path).names else []


def _keep_settled_rows(batch: pa.RecordBatch) -> pa.RecordBatch:
    if "settled" not in batch.schema.names:
        return batch
    return batch.filter(pc.fill_null(batch.column("settled"), True))


def _iterate_batches(path: Path, columns: list[str] | None) -> Iterator[pa.RecordBatch]:
    try:
        with pq.ParquetFile(path) as file:
            yield from file.iter_batches(ROWS_PER_BATCH, columns=columns)
    except (OSError, pa.ArrowException) as error:
        raise SourceError(
            f"{path.name}: cannot be read: {error}; copy it again or remove it"
        ) from None
