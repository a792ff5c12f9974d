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

from studies.errors import SourceError
from studies.judgement_rows import SCHEMA, parquet_row
from studies.records import NO_USAGE, Judgement, Usage

ITEMS: Final = "items.jsonl"
"""The questions and answers that the shards of a folder are about, if they are beside them."""
ROWS_AT_ONCE: Final = 20_000
_NEEDED: Final = frozenset({"ask", "status", "reply", "verdict", "usage"})
_ATTEMPT: Final = pa.struct(
    [
        ("owner", pa.string()), ("started", pa.float64()), ("ended", pa.float64()),
        ("outcome", pa.string()), ("prompt", pa.int64()), ("completion", pa.int64()),
        ("cached", pa.int64()), ("cache_write", pa.int64()), ("cost", pa.float64()),
    ]
)  # fmt: skip
SHARD: Final = pa.schema(
    [
        *SCHEMA,
        pa.field("position", pa.int64()),
        pa.field("settled", pa.bool_()),
        pa.field("attempts", pa.list_(_ATTEMPT)),
    ]
)


@dataclass(frozen=True, slots=True)
class Attempt:
    """One call, for the ledger: two attempts with one owner, ask and start are the same."""

    owner: str
    started: float
    ended: float
    outcome: str
    usage: Usage = NO_USAGE
    cost: float | None = None


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a worker brings back of one ask."""

    judgement: Judgement
    attempts: tuple[Attempt, ...] = ()
    settled: bool = True
    """False: its judge was stopped, the ask stays pending, and only what it cost counts."""
    position: int | None = None
    """Where the ask stands in its plan."""


def write_shard(path: Path, outcomes: Sequence[Outcome]) -> None:
    """Never half a shard: it is there when it is whole."""
    table = pa.Table.from_pylist([_row(outcome) for outcome in outcomes], schema=SHARD)
    put_table(path, table)


def put_table(path: Path, table: pa.Table) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    half = path.with_name(path.name + ".part")
    pq.write_table(table, half, compression="zstd")
    half.replace(path)


def _row(outcome: Outcome) -> dict[str, Any]:
    attempts = [
        {**{name: value for name, value in asdict(attempt).items() if name != "usage"},
         **asdict(attempt.usage)}
        for attempt in outcome.attempts
    ]  # fmt: skip
    return {
        **parquet_row(outcome.judgement), "position": outcome.position,
        "settled": outcome.settled, "attempts": attempts,
    }  # fmt: skip


def shards_in(folder: Path) -> list[Path]:
    """Every shard of a folder, also of the folders in it, in an order that does not depend on when
    they were written."""
    return sorted(path for path in folder.rglob("*.parquet") if _is_shard(path))


def holds(folder: Path) -> str:
    """Why a folder looks like one of shards; nothing where it does not."""
    first = next((path for path in folder.rglob("*.parquet") if _is_shard(path)), None)
    return "" if first is None else f"{first.name} holds Evenhand's own judgements"


def _is_shard(path: Path) -> bool:
    try:
        return set(pq.read_schema(path).names) >= _NEEDED
    except (OSError, pa.ArrowException):
        return False


def settled_keys(paths: Sequence[Path]) -> set[str]:
    """The asks that some shards answer."""
    found: set[str] = set()
    for path in paths:
        with contextlib.suppress(SourceError):  # lost: it is asked again
            for batch in _batches(path, ["ask.key", "settled"]):
                found.update(pc.struct_field(_settled(batch).column("ask"), "key").to_pylist())
    return found


@dataclass(frozen=True, slots=True)
class Contents:
    """What the shards of a folder hold, without reading a text."""

    folder: Path
    rows: int
    items: tuple[str, ...]
    unknown_order: int
    """Rows whose order nobody wrote down."""


def contents(folder: Path) -> Contents:
    rows = unknown = 0
    items: dict[str, None] = {}
    for path in shards_in(folder):
        for batch in _batches(path, ["ask.item", "ask.orders", *_settled_column(path)]):
            asks = _settled(batch).column("ask")
            rows += len(asks)
            unknown += pc.sum(pc.equal(pc.struct_field(asks, "orders"), 0)).as_py() or 0
            items.update(dict.fromkeys(pc.unique(pc.struct_field(asks, "item")).to_pylist()))
    if not rows:
        raise SourceError(f"{folder.name}: its shards hold no judgement")
    return Contents(folder, rows, tuple(items), unknown)


def batches_in(path: Path) -> Iterator[pa.RecordBatch]:
    """The rows of a shard, some thousand at a time; exported files lack some columns."""
    for batch in _batches(path, None):
        for field in (SHARD.field("position"), SHARD.field("settled"), SHARD.field("attempts")):
            if field.name not in batch.schema.names:
                filler = pa.nulls(len(batch), field.type)
                batch = batch.append_column(field, filler)
        yield batch


def _settled_column(path: Path) -> list[str]:
    return ["settled"] if "settled" in pq.read_schema(path).names else []


def _settled(batch: pa.RecordBatch) -> pa.RecordBatch:
    if "settled" not in batch.schema.names:
        return batch
    return batch.filter(pc.fill_null(batch.column("settled"), True))


def _batches(path: Path, columns: list[str] | None) -> Iterator[pa.RecordBatch]:
    try:
        with pq.ParquetFile(path) as file:
            yield from file.iter_batches(ROWS_AT_ONCE, columns=columns)
    except (OSError, pa.ArrowException) as error:
        raise SourceError(f"{path.name}: cannot be read: {error}") from None
