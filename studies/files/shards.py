"""Judgements as Parquet shards: many workers write them side by side, a store takes them in once.

A shard is what `python -m studies export --format parquet` writes, with three more columns: where
the ask stands in its plan, whether it is settled, and what each attempt at it cost. Rows are keyed
by their ask, so a shard that is written twice, or read twice, changes nothing.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from studies.domain import NO_USAGE, Judgement, Usage
from studies.errors import SourceError
from studies.files.judgement_schema import JUDGEMENT_SCHEMA, parquet_row

ITEMS_FILE: Final = "items.jsonl"
"""The questions and answers that the shards of a folder are about, if they are beside them."""
ROWS_PER_BATCH: Final = 20_000
_REQUIRED_COLUMNS: Final = frozenset({"ask", "status", "reply", "verdict", "usage"})
_ATTEMPT_TYPE: Final = pa.struct(
    [
        ("owner", pa.string()), ("started", pa.float64()), ("ended", pa.float64()),
        ("outcome", pa.string()), ("prompt", pa.int64()), ("completion", pa.int64()),
        ("cached", pa.int64()), ("cache_write", pa.int64()), ("cost", pa.float64()),
    ]
)  # fmt: skip
SHARD_SCHEMA: Final = pa.schema(
    [
        *JUDGEMENT_SCHEMA,
        pa.field("position", pa.int64()),
        pa.field("settled", pa.bool_()),
        pa.field("attempts", pa.list_(_ATTEMPT_TYPE)),
    ]
)


@dataclass(frozen=True, slots=True)
class CallAttempt:
    """One call, for the ledger: two attempts with one owner, ask and start are the same."""

    owner: str
    started: float
    ended: float
    outcome: str
    usage: Usage = NO_USAGE
    cost: float | None = None


@dataclass(frozen=True, slots=True)
class AskOutcome:
    """What a worker brings back of one ask."""

    judgement: Judgement
    attempts: tuple[CallAttempt, ...] = ()
    settled: bool = True
    """False: its judge was stopped, the ask stays pending, and only what it cost counts."""
    position: int | None = None
    """Where the ask stands in its plan."""


def write_shard(path: Path, outcomes: Sequence[AskOutcome]) -> None:
    """Never half a shard: it is there when it is whole."""
    table = pa.Table.from_pylist([_shard_row(outcome) for outcome in outcomes], schema=SHARD_SCHEMA)
    write_table(path, table)


def write_table(path: Path, table: pa.Table) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    half = path.with_name(path.name + ".part")
    pq.write_table(table, half, compression="zstd")
    half.replace(path)


def _shard_row(outcome: AskOutcome) -> dict[str, Any]:
    attempts = [
        {**{name: value for name, value in asdict(attempt).items() if name != "usage"},
         **asdict(attempt.usage)}
        for attempt in outcome.attempts
    ]  # fmt: skip
    return {
        **parquet_row(outcome.judgement), "position": outcome.position,
        "settled": outcome.settled, "attempts": attempts,
    }  # fmt: skip


def find_shards(folder: Path) -> list[Path]:
    """Every shard of a folder, also of the folders in it, in an order that does not depend on when
    they were written."""
    return sorted(path for path in folder.rglob("*.parquet") if _is_shard(path))


def matches_folder(folder: Path) -> str:
    """Why a folder looks like one of shards; nothing where it does not."""
    first = next((path for path in folder.rglob("*.parquet") if _is_shard(path)), None)
    return "" if first is None else f"{first.name} holds Evenhand's own judgements"


def _is_shard(path: Path) -> bool:
    try:
        return set(pq.read_schema(path).names) >= _REQUIRED_COLUMNS
    except (OSError, pa.ArrowException):
        return False


def settled_keys(paths: Sequence[Path]) -> set[str]:
    """The asks that some shards answer."""
    found: set[str] = set()
    for path in paths:
        with contextlib.suppress(SourceError):  # lost: it is asked again
            for batch in _iterate_batches(path, ["ask.key", "settled"]):
                found.update(pc.struct_field(_settled_rows(batch).column("ask"), "key").to_pylist())
    return found


@dataclass(frozen=True, slots=True)
class ShardContents:
    """What the shards of a folder hold, without reading a text."""

    folder: Path
    rows: int
    items: tuple[str, ...]
    unknown_order: int
    """Rows whose order nobody wrote down."""


def summarise_shards(folder: Path) -> ShardContents:
    rows = unknown = 0
    items: dict[str, None] = {}
    for path in find_shards(folder):
        for batch in _iterate_batches(path, ["ask.item", "ask.orders", *_settled_column(path)]):
            asks = _settled_rows(batch).column("ask")
            rows += len(asks)
            unknown += pc.sum(pc.equal(pc.struct_field(asks, "orders"), 0)).as_py() or 0
            items.update(dict.fromkeys(pc.unique(pc.struct_field(asks, "item")).to_pylist()))
    if not rows:
        raise SourceError(f"{folder.name}: its shards hold no judgement")
    return ShardContents(folder, rows, tuple(items), unknown)


def read_batches(path: Path) -> Iterator[pa.RecordBatch]:
    """The rows of a shard, some thousand at a time; exported files lack some columns."""
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


def _settled_column(path: Path) -> list[str]:
    return ["settled"] if "settled" in pq.read_schema(path).names else []


def _settled_rows(batch: pa.RecordBatch) -> pa.RecordBatch:
    if "settled" not in batch.schema.names:
        return batch
    return batch.filter(pc.fill_null(batch.column("settled"), True))


def _iterate_batches(path: Path, columns: list[str] | None) -> Iterator[pa.RecordBatch]:
    try:
        with pq.ParquetFile(path) as file:
            yield from file.iter_batches(ROWS_PER_BATCH, columns=columns)
    except (OSError, pa.ArrowException) as error:
        raise SourceError(f"{path.name}: cannot be read: {error}") from None
