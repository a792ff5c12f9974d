"""Bulk import of result files (shards): columns from Arrow to SQLite, without an object per row.

A stored result is kept unless its status is `error`, so a shard may be imported twice, late, or
from a worker that was assumed to be dead.
"""

from __future__ import annotations

import hashlib
import json
import sqlite3
import threading
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, fields
from functools import partial
from itertools import count
from pathlib import Path
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc

from studies import domain, errors
from studies.files.shards import ATTEMPT_TYPE, find_shards, read_batches
from studies.frames.frame_codes import SEP, TIE
from studies.spec.study import Study
from studies.store.queries import shard_rows
from studies.store.store import Store


@dataclass(slots=True)
class ImportTally:
    """Counts and cost of an import of shards (result files of workers)."""

    files: int = 0
    stored: int = 0
    by_status: Counter[str] = field(default_factory=Counter)
    already_answered: int = 0
    """Number of rows with the final result of a call that already had a result in the store."""
    unknown: int = 0
    """Number of rows whose call is in no plan of this store."""
    attempts: int = 0
    """Number of attempts that the import added to the store."""
    dollars: float = 0.0

    def add(self, other: ImportTally) -> None:
        """Add the counts and dollars of `other`, another import, to this tally."""
        for name in (one.name for one in fields(self)):
            setattr(self, name, getattr(self, name) + getattr(other, name))


def import_shards(store: Store, shards: Iterable[Path]) -> ImportTally:
    """Store those results in the shards (result files) whose requests are in the plan of a study of
    the store, and the records of all attempts at calls. Return counts of rows and attempts.
    SourceError if the rows of a file are not judgements."""
    total = ImportTally()
    for path in shards:
        total.files += 1
        for batch in read_batches(path):
            total.add(store.writer.run(partial(_import_batch, batch=batch, path=path)))
    return total


def save_shards_as_study(
    store: Store, study: Study, items: Sequence[domain.Item], folder: Path, plan_sha: str
) -> None:
    """Save the judgements in all shards (result files) of a folder as a study that makes no
    calls, completely or not at all; `plan_sha` is stored as the hash of the study's plan."""
    positions = count(2**40)  # rows without a position come after all others
    with _IMPORT_LOCK:
        store.writer.run(shard_rows.create_import_table)
        try:
            for path in find_shards(folder):
                for batch in read_batches(path):
                    rows = _assign_keys_to_rows(_to_store_rows(batch, path), study.name, positions)
                    store.writer.run(partial(shard_rows.insert_import_rows, rows=rows))
            store.writer.run(  # sorted by key, so that neighbouring rows change the same page
                partial(
                    shard_rows.store_collected_rows_as_study,
                    study=study,
                    items=items,
                    plan_sha=plan_sha,
                )
            )
        finally:
            store.writer.run(shard_rows.drop_import_tables)


# --------------------------------------------------------------------------------- live answers


def _import_batch(connection: sqlite3.Connection, batch: pa.RecordBatch, path: Path) -> ImportTally:
    """Store the results and attempts in a batch of rows of the result file `path`; return
    counts."""
    rows, settled, stored = shard_rows.put_final_results(connection, _to_store_rows(batch, path))
    attempts, dollars = _record_attempts(connection, batch)
    new = stored.total()
    return ImportTally(0, new, stored, settled - new, len(batch) - rows, attempts, dollars)


def _record_attempts(connection: sqlite3.Connection, batch: pa.RecordBatch) -> tuple[int, float]:
    """Store the attempts at calls in a batch of rows of a result file, unless the store has them
    already; return the number of those stored and their cost in dollars."""
    attempts = batch.column("attempts")
    if attempts.null_count == len(attempts):
        return 0, 0.0
    keys = pc.struct_field(batch.column("ask"), "key").take(pc.list_parent_indices(attempts))
    calls = pc.list_flatten(attempts)
    known, empty = calls.type.names, [None] * len(calls)  # older shards lack a field
    columns = [
        _to_list(pc.struct_field(calls, field.name)) if field.name in known else empty
        for field in ATTEMPT_TYPE
    ]
    added, dollars = 0, 0.0
    for key, call in zip(keys.to_pylist(), zip(*columns, strict=True), strict=True):
        if shard_rows.put_attempt_once(connection, key, call):
            added += 1
            dollars += call[-1] or 0.0
    return added, dollars


# ---------------------------------------------------------------------------- recorded verdicts


def _assign_keys_to_rows(
    rows: Iterator[tuple[Any, ...]], source: str, positions: Iterator[int]
) -> list[tuple[Any, ...]]:
    """Return the rows, each with the key of a recorded verdict of the study `source` in place of
    its own key. A row that states no position in the plan gets the next one of `positions`."""
    found, keys = [], RecordedKeyMaker(source)
    for row in rows:
        (_, item, judge, prompt, shown, labels, repeat, *rest, position, settled) = row
        key = keys.make_key(judge, prompt, item, shown, labels, repeat)
        known = next(positions) if position is None else position
        found.append((key, item, judge, prompt, shown, labels, repeat, *rest, known, settled))
    return found


class RecordedKeyMaker:
    """Computes the same keys of recorded verdicts as `recorded_key`, in less time if there are
    many."""

    def __init__(self, source: str) -> None:
        self._source = source
        self._heads: dict[tuple[str, str], bytes] = {}
        self._tails: dict[tuple[str, str, int], bytes] = {}

    def make_key(
        self, judge: str, prompt: str, item: str, shown: str, labels: str, repeat: int
    ) -> str:
        """Return the key of a recorded verdict. `shown` and `labels` are lists of names,
        each joined to one text by the separator SEP."""
        head = self._heads.get((judge, prompt))
        if head is None:
            parts = json.dumps(["recorded", self._source, judge, prompt])
            head = self._heads[judge, prompt] = parts[:-1].encode()
        tail = self._tails.get((shown, labels, repeat))
        if tail is None:
            parts = json.dumps([shown.split(SEP), labels.split(SEP), repeat])
            tail = self._tails[shown, labels, repeat] = parts[1:].encode()
        whole = b"%b, %b, %b" % (head, json.dumps(item).encode(), tail)
        return "r" + hashlib.sha256(whole).hexdigest()[:39]


# ----------------------------------------------------------------------------------------- rows


_IMPORT_LOCK: Final = threading.Lock()
"""Lock that lets only one import run at a time, because all share one temporary table."""


def _to_store_rows(batch: pa.RecordBatch, path: Path) -> Iterator[tuple[Any, ...]]:
    """Convert a batch of rows of the result file `path` to rows of the store; raise SourceError if
    they are not judgements."""
    try:
        return zip(*_to_store_columns(batch), strict=True)
    except (KeyError, ValueError, TypeError, pa.ArrowException) as error:
        raise errors.SourceError(
            f"{path.name}: its rows are not judgements: {error}; export it again or remove it"
        ) from None


def _to_store_columns(batch: pa.RecordBatch) -> list[list[Any]]:
    """Return the columns of the store's table of judgements, in its order of columns, from a batch
    of rows of a result file. ValueError for an unknown status, or for a pick that is neither "tie"
    nor the position of an answer shown in its row."""
    ask, verdict, usage = (batch.column(name) for name in ("ask", "verdict", "usage"))
    status = batch.column("status")
    known = pc.is_in(status, pa.array(domain.STATUSES))
    if not pc.all(known).as_py():
        wrong = status.filter(pc.invert(pc.fill_null(known, False)))[0].as_py()
        raise ValueError(f"unknown status {wrong!r}")
    n = len(batch)
    shown = pc.list_value_length(pc.struct_field(ask, "shown"))
    return [
        *(_to_list(pc.struct_field(ask, name)) for name in ("key", "item", "judge", "prompt")),
        *(
            _to_list(pc.binary_join(pc.struct_field(ask, name), SEP))
            for name in ("shown", "labels")
        ),
        _fill_nulls(pc.struct_field(ask, "repeat"), 0),
        [int(bool(value)) for value in pc.struct_field(ask, "noise").to_pylist()],
        _fill_nulls(pc.struct_field(ask, "orders"), 1),
        _to_list(pc.struct_field(ask, "unrelated_item")),
        _to_list(status),
        _parse_picks(pc.struct_field(verdict, "pick"), shown),
        _to_list(pc.struct_field(verdict, "margin")),
        *(
            _number_lists_as_json(pc.struct_field(verdict, name))
            for name in ("scores", "label_probabilities")
        ),
        _to_list(pc.struct_field(verdict, "label_mass")),
        *(_fill_nulls(batch.column(name), "") for name in ("rule", "finish")),
        *(_to_list(pc.struct_field(usage, name)) for name in ("prompt", "completion")),
        *(_fill_nulls(pc.struct_field(usage, name), 0) for name in ("cached", "cache_write")),
        _to_list(batch.column("cost")),
        _fill_nulls(batch.column("seconds"), 0.0),
        _fill_nulls(batch.column("model"), ""),
        _fill_nulls(batch.column("time"), 0.0),
        *(_fill_nulls(batch.column(name), "") for name in ("reply", "reasoning", "detail")),
        [text or None for text in _to_list(batch.column("top_logprobs"))],
        _to_list(batch.column("position")) if "position" in batch.schema.names else [None] * n,
        _fill_nulls(batch.column("settled"), True),
    ]


def _to_list(column: pa.Array) -> list[Any]:
    return column.to_pylist()  # type: ignore[no-any-return]


def _fill_nulls(column: pa.Array, default: Any) -> list[Any]:
    return _to_list(pc.fill_null(column, default))


def _parse_picks(column: pa.Array, shown: pa.Array) -> list[Any]:
    """Convert picks given as texts to numbers: "0", "1", … to the position of the answer chosen,
    "tie" to the code TIE; None without a pick. `shown` has the number of answers shown in
    each row; ValueError for a position that the row does not have."""
    tie = pc.equal(column, "tie")
    slot = pc.cast(pc.if_else(tie, None, column), pa.int64())
    beyond = pc.fill_null(pc.or_(pc.less(slot, 0), pc.greater_equal(slot, shown)), False)
    if pc.any(beyond).as_py():
        raise ValueError(f"pick is {slot.filter(beyond)[0]}, but there is no such slot")
    return _to_list(pc.if_else(pc.fill_null(tie, False), TIE, slot))


def _number_lists_as_json(column: pa.Array) -> list[Any]:
    """Convert lists of numbers to JSON texts; None for empty lists (most rows)."""
    if not pc.any(pc.greater(pc.list_value_length(column), 0)).as_py():
        return [None] * len(column)
    return [json.dumps(values) if values else None for values in column.to_pylist()]
