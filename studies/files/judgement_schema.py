"""Parquet schema of exported judgements, with and without the injection flags."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any, Final

import pyarrow as pa

from studies.domain import Ask, Judgement, Usage, Verdict
from studies.files.suspect_flags import SUSPECTS_FIELD
from studies.frames.frame_codes import SUSPECT_COLUMN


def parquet_row(judgement: Judgement) -> dict[str, Any]:
    return convert_pick_to_text(asdict(judgement))


def convert_pick_to_text(row: dict[str, Any]) -> dict[str, Any]:
    """Convert the pick in a judgement's row to text ("0", "1", … or "tie") in place; return the
    row."""
    if row["verdict"] is not None and row["verdict"]["pick"] is not None:
        row["verdict"]["pick"] = str(row["verdict"]["pick"])
    return row


_TEXT_LIST: Final = pa.list_(pa.string())
_NUMBER_LIST: Final = pa.list_(pa.float64())
_FIELD_TYPES: Final[dict[str, Any]] = {
    "shown": _TEXT_LIST,
    "labels": _TEXT_LIST,
    "scores": _NUMBER_LIST,
    "label_probabilities": _NUMBER_LIST,
    "repeat": pa.int64(),
    "noise": pa.bool_(),
    "orders": pa.int64(),
    "margin": pa.int64(),
    "label_mass": pa.float64(),
    "cached": pa.int64(),
    "cache_write": pa.int64(),
    "reasoning_tokens": pa.int64(),
    "completion": pa.int64(),
    "cost": pa.float64(),
    "seconds": pa.float64(),
    "time": pa.float64(),
}


def _build_judgement_schema() -> pa.Schema:
    """Return the Parquet schema of judgements, derived from the dataclasses, so that new fields are
    exported too."""

    def arrow_struct_of(kind: type, **own: Any) -> Any:
        fields = kind.__dataclass_fields__  # type: ignore[attr-defined]
        return pa.struct(
            [(name, own.get(name) or _FIELD_TYPES.get(name, pa.string())) for name in fields]
        )

    nested = {
        "ask": arrow_struct_of(Ask),
        "verdict": arrow_struct_of(Verdict, pick=pa.string()),
        "usage": arrow_struct_of(Usage, prompt=pa.int64()),
    }
    names = Judgement.__dataclass_fields__
    return pa.schema([(n, nested.get(n) or _FIELD_TYPES.get(n, pa.string())) for n in names])


JUDGEMENT_SCHEMA: Final = _build_judgement_schema()
FLAGGED_SCHEMA: Final = pa.schema(
    [
        *JUDGEMENT_SCHEMA,
        (SUSPECT_COLUMN, pa.bool_()),
        (SUSPECTS_FIELD, pa.list_(pa.struct([("where", pa.string()), ("rules", _TEXT_LIST)]))),
    ]
)
"""Schema of exported judgements, with injection flags; shards written by workers have no flags."""
