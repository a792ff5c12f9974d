"""Columns of shards: nulls, picks, keys, and the sums of imports."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from studies.domain import Ask, Judgement, Usage, Verdict, recorded_key
from studies.errors import SourceError
from studies.exchange.shard_import import (
    ImportTally,
    RecordedKeyMaker,
    _fill_nulls,
    _number_lists_as_json,
    _parse_picks,
    _to_store_rows,
)
from studies.files.shards import AskOutcome, read_batches, write_shard
from studies.frames.frame_codes import SEP, TIE

ASK = Ask("k", "q", "j", "p", ("x", "y"), ("A", "B"), repeat=2, noise=True, orders=2)


def test_imports_add_up():
    one = ImportTally(1, 2, Counter(ok=2), 3, 4, 5, 0.5)
    one.add(ImportTally(1, 1, Counter(ok=1, error=1), 1, 1, 1, 0.25))
    assert one == ImportTally(2, 3, Counter(ok=3, error=1), 4, 5, 6, 0.75)


def test_picks_become_codes_and_a_missing_one_stays_missing():
    shown = pa.array([2, 2, 3, 2])
    assert _parse_picks(pa.array(["0", "tie", "2", None]), shown) == [0, TIE, 2, None]
    for wrong in ("2", "-1"):
        with pytest.raises(ValueError, match=wrong):
            _parse_picks(pa.array([wrong]), pa.array([2]))


def test_nulls_get_their_default_and_values_stay():
    assert _fill_nulls(pa.array([None, False, True]), True) == [True, False, True]
    assert _fill_nulls(pa.array([1, None]), 0) == [1, 0]


def test_lists_of_numbers_become_json_or_none():
    kind = pa.list_(pa.float64())
    assert _number_lists_as_json(pa.array([[1.0, 2.5], [], None], kind)) == [
        "[1.0, 2.5]",
        None,
        None,
    ]
    assert _number_lists_as_json(pa.array([[], None], kind)) == [None, None]


@pytest.mark.parametrize("names", [("x", "y"), ('a "quoted" é', "b"), ("x",)])
def test_the_fast_keys_are_those_of_recorded_verdicts(names):
    maker = RecordedKeyMaker("study")
    for repeat in (0, 1, 0):
        ask = replace(ASK, shown=names, labels=("A", "B")[: len(names)], repeat=repeat)
        key = maker.make_key("j", "p", "q", SEP.join(ask.shown), SEP.join(ask.labels), repeat)
        assert key == recorded_key("study", ask)
    assert maker.make_key("j", "p", "q2", "x", "A", 0) != maker.make_key("j", "p", "q", "x", "A", 0)


def batch_of(path: Path, judgement: Judgement, **outcome: Any) -> pa.RecordBatch:
    write_shard(path, [AskOutcome(judgement, (), **outcome)])
    (batch,) = read_batches(path)
    return batch


def test_a_row_has_the_values_of_its_judgement(tmp_path):
    judgement = Judgement(
        ASK, "ok", Verdict("tie", 0, (7.0, 7.0)), rule="r", reply="t", finish="stop",
        usage=Usage(10, 2, 3, 1), cost=0.5, seconds=1.5, model="m", time=9.0, detail="d",
        reasoning="hm",
    )  # fmt: skip
    batch = batch_of(tmp_path / "a.parquet", judgement, position=4)
    (row,) = _to_store_rows(batch, tmp_path / "a.parquet")
    assert row == (
        "k", "q", "j", "p", f"x{SEP}y", f"A{SEP}B", 2, 1, 2, None, "ok", TIE, 0, "[7.0, 7.0]",
        None, None, "r", "stop", 10, 2, 3, 1, 0.5, 1.5, "m", 9.0, "t", "hm", "d", None, 4, True,
    )  # fmt: skip


def test_a_row_of_an_older_shard_is_settled_and_has_no_place(tmp_path):
    path = tmp_path / "a.parquet"
    batch = batch_of(path, Judgement(ASK, "unreadable", reply="t"), position=4)
    names = batch.schema.names
    settled = names.index("settled")
    old = batch.set_column(settled, "settled", pa.nulls(1, pa.bool_()))
    old = old.drop_columns(["position"])
    (row,) = _to_store_rows(old, path)
    assert row[-2:] == (None, True) and row[10:12] == ("unreadable", None)
    status = names.index("status")
    for wrong in (pa.array(["fine"]), pa.nulls(1, pa.string())):
        with pytest.raises(SourceError, match=r"a\.parquet"):
            _to_store_rows(batch.set_column(status, "status", wrong), path)
    unsettled = batch_of(path, Judgement(ASK, "error"), settled=False)
    (row,) = _to_store_rows(unsettled, path)
    assert row[-1] is False
