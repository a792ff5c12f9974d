"""A folder of Parquet shards as large as wanted: columns drawn at once, no object for any row."""

from __future__ import annotations

import json
from itertools import permutations
from pathlib import Path

import numpy as np
import pyarrow as pa

from studies.files.shards import ITEMS_FILE, SHARD_SCHEMA, write_parquet_atomically
from tests.bench.big_store import A_ITEM, CATEGORIES, JUDGES, MODELS, PROMPTS

ITEMS_A_SHARD = 500


def write(folder: Path, judgements: int) -> int:
    """About that many rows, every item judged as tests/bench/big_store.py has it."""
    items = max(1, round(judgements / A_ITEM))
    folder.mkdir(parents=True)
    with (folder / ITEMS_FILE).open("w", encoding="utf-8") as out:
        for n in range(items):
            item = {"id": f"q{n}", "instruction": f"Question {n}?", "category": CATEGORIES[n % 8],
                    "responses": dict.fromkeys(MODELS, "x" * 40)}  # fmt: skip
            out.write(json.dumps(item) + "\n")
    rng = np.random.default_rng(7)
    for number, start in enumerate(range(0, items, ITEMS_A_SHARD)):
        some = range(start, min(items, start + ITEMS_A_SHARD))
        write_parquet_atomically(folder / f"{number:05d}.parquet", _table(some, rng))
    return items * A_ITEM


def _table(items: range, rng: np.random.Generator) -> pa.Table:
    pairs = np.array(list(permutations(range(len(MODELS)), 2)))
    n = len(items) * A_ITEM
    place = np.arange(n)
    pair, prompt = place % len(pairs), place // len(pairs) % len(PROMPTS)
    judge = place // (len(pairs) * len(PROMPTS)) % len(JUDGES)
    item, position = place // A_ITEM, place + items.start * A_ITEM
    strength, lean = np.linspace(1, -1, len(MODELS)), np.linspace(-0.6, 1.2, len(JUDGES))
    gap = strength[pairs[pair, 0]] - strength[pairs[pair, 1]] + lean[judge]
    second = rng.random(n) > 1 / (1 + np.exp(-gap))
    failed = rng.random(n) < 0.01
    shown = pa.array(
        [[MODELS[a], MODELS[b]] for a, b in pairs],
        SHARD_SCHEMA.field("ask").type.field("shown").type,
    )
    ask = _struct(
        "ask", n,
        key=pa.array([f"k{number}" for number in position.tolist()]),
        item=pa.array([f"q{number}" for number in items]).take(pa.array(item)),
        judge=pa.array(JUDGES).take(pa.array(judge)),
        prompt=pa.array(PROMPTS).take(pa.array(prompt)),
        shown=shown.take(pa.array(pair)),
        labels=pa.array([["A", "B"]]).take(pa.array(np.zeros(n, np.int64))),
        repeat=pa.array(np.zeros(n, np.int64)),
        noise=pa.array(np.zeros(n, bool)),
        orders=pa.array(np.full(n, 2)),
    )  # fmt: skip
    verdict = _struct(
        "verdict", n, mask=failed,
        pick=pa.array(["0", "1"]).take(pa.array(second.astype(np.int64))),
        margin=pa.array(np.ones(n, np.int64)),
    )  # fmt: skip
    known = {
        "ask": ask, "verdict": verdict,
        "status": pa.array(["ok", "unreadable"]).take(pa.array(failed.astype(np.int64))),
        "usage": _struct("usage", n, prompt=pa.array(np.full(n, 700)),
                         completion=pa.array(np.full(n, 180))),
        "seconds": pa.array(np.full(n, 0.5)),
        "position": pa.array(position),
        "settled": pa.array(np.ones(n, bool)),
    }  # fmt: skip
    columns = [known.get(field.name, pa.nulls(n, field.type)) for field in SHARD_SCHEMA]
    return pa.Table.from_arrays(columns, schema=SHARD_SCHEMA)


def _struct(name: str, n: int, mask: np.ndarray | None = None, **known: pa.Array) -> pa.StructArray:
    fields = list(SHARD_SCHEMA.field(name).type)
    arrays = [known.get(field.name, pa.nulls(n, field.type)) for field in fields]
    masked = None if mask is None else pa.array(mask)
    return pa.StructArray.from_arrays(arrays, fields=fields, mask=masked)
