"""Small files in the supported formats, written for tests, and short forms of their verdicts."""

from __future__ import annotations

import csv
import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from studies.domain import Judgement
from studies.sources.load import LoadedSource, load_source
from studies.spec.study import DataSpec


def jsonl(path: Path, rows: Iterable[Mapping[str, Any]]) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


def table(path: Path, rows: Sequence[Mapping[str, Any]]) -> Path:
    """Write a CSV or TSV file, depending on the suffix."""
    delimiter = "\t" if path.suffix == ".tsv" else ","
    with path.open("w", encoding="utf-8", newline="") as out:
        writer = csv.DictWriter(out, list(rows[0]), delimiter=delimiter)
        writer.writeheader()
        writer.writerows(rows)
    return path


def parquet(path: Path, rows: Sequence[Mapping[str, Any]]) -> Path:
    pq.write_table(pa.Table.from_pylist([dict(row) for row in rows]), path)
    return path


def loaded(path: Path, **spec: Any) -> LoadedSource:
    return load_source(DataSpec(path.name, **spec), path.parent)


def said(judgement: Judgement) -> str:
    """Return a verdict as one word: the contestant, tie, or the status of a failure."""
    verdict = judgement.verdict
    if verdict is None or verdict.pick is None:
        return judgement.status if verdict is None else f"scores {verdict.scores}"
    return "tie" if verdict.pick == "tie" else judgement.ask.shown[verdict.pick]


def verdicts(of: LoadedSource) -> list[tuple[str, str, str]]:
    """Return (judge, first shown > second shown, verdict) of every verdict, in file order."""
    return [(j.ask.judge, " > ".join(j.ask.shown), said(j)) for j in of.judgements]


def picks(judgements: Iterable[Judgement]) -> Counter[object]:
    return Counter(j.verdict.pick if j.verdict else j.status for j in judgements)
