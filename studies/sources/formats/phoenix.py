"""Format of judge scores exported from Phoenix: experiment runs, annotations of spans, or spans.

An experiment downloads as JSON, with a list `annotations` in each run, or as CSV, with the columns
`annotation_<name>_score`. Annotations of spans have `span_id`, `annotator_kind` and `result`. Spans
in a data frame have `eval.<name>.score`. Annotators of kind CODE are rules and are left out.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any, Final

from studies.files.tables import Row, SourceTable, text_of
from studies.sources.building.builder import SourceBuilder
from studies.sources.building.open_source import OpenSource
from studies.sources.cells import first_text
from studies.sources.formats.recorded_scores import (
    MODEL,
    ScoreLog,
    plain_text,
    score_or_label,
    score_rows,
)

_SPAN_COLUMN: Final = re.compile(r"eval\.(.+)\.(score|label)")
_RUN_COLUMN: Final = re.compile(r"annotation_(.+)_annotator_kind")
_PARTS: Final = ("annotator_kind", "label", "score", "explanation", "error")


def matches_table(table: SourceTable) -> str:
    if table.has("example_id", "annotations", "output"):
        return "example_id, output and annotations are runs of a Phoenix experiment"
    if table.has("example_id", "output") and any(map(_RUN_COLUMN.fullmatch, table.columns)):
        return "example_id and annotation_<name>_score are runs of a Phoenix experiment"
    if table.has("context.span_id") and any(map(_SPAN_COLUMN.fullmatch, table.columns)):
        return "context.span_id and eval.<name>.score are spans of Phoenix"
    if any({"span_id", "annotator_kind", "result"} <= row.keys() for row in score_rows(table)[:1]):
        return "span_id, annotator_kind and result are annotations of Phoenix"
    return ""


def read(source: OpenSource) -> SourceBuilder:
    table = source.rows
    log = ScoreLog()
    names = [match[1] for column in table.columns if (match := _RUN_COLUMN.fullmatch(column))]
    spans = [match[1] for column in table.columns if (match := _SPAN_COLUMN.fullmatch(column))]
    for row in score_rows(table):
        if "annotations" in row:
            found = row.get("annotations") or ()
            _add_run(log, row, [one for one in found if isinstance(one, dict)])
        elif names:
            _add_run(log, row, [_annotation_of(row, name) for name in names])
        elif "result" in row:
            _add_annotation(log, row)
        else:
            _add_span(log, row, list(dict.fromkeys(spans)))
    return log.finish()


def _annotation_of(row: Row, name: str) -> Mapping[str, Any]:
    """Return an annotation in a CSV row as a mapping, with the keys of the JSON download."""
    return {"name": name} | {part: row.get(f"annotation_{name}_{part}") for part in _PARTS}


def _add_run(log: ScoreLog, row: Row, annotations: Sequence[Mapping[str, Any]]) -> None:
    """Add one experiment run of Phoenix: one answer to one example, with its evaluations.

    A repetition with the same answer is another verdict on this answer. A repetition with a
    different answer is a separate item with the same question.
    """
    item = log.add_item(
        text_of(row.get("example_id")),
        plain_text(_parsed(row.get("input"))),
        {MODEL: plain_text(_parsed(row.get("output")))},
        ground_truth=plain_text(_parsed(row.get("reference_output"))),
    )
    judged = [one for one in annotations if text_of(one.get("annotator_kind")).upper() != "CODE"]
    log.unscored += not judged
    for one in judged:
        name = text_of(one.get("name"))
        log.add_score(
            item, MODEL, name, name, score_or_label(one.get("score"), one.get("label")),
            reply=text_of(one.get("explanation")), error=text_of(one.get("error")),
            person=text_of(one.get("annotator_kind")).upper() == "HUMAN",
        )  # fmt: skip


def _add_annotation(log: ScoreLog, row: Row) -> None:
    """Add one annotation of a span; the file does not contain the text of the span."""
    kind, name = text_of(row.get("annotator_kind")).upper(), text_of(row.get("name"))
    if kind == "CODE":
        return
    held = row.get("result")
    result = held if isinstance(held, Mapping) else {}
    item = log.add_item(text_of(row.get("span_id")), "", {})
    person = kind == "HUMAN"
    who = first_text(row, "user_id", "identifier") or "annotator"
    log.add_score(
        item, MODEL, who if person else name, name,
        score_or_label(result.get("score"), result.get("label")),
        reply=text_of(result.get("explanation")), person=person,
    )  # fmt: skip


def _add_span(log: ScoreLog, row: Row, names: Sequence[str]) -> None:
    model = text_of(row.get("attributes.llm.model_name")) or MODEL
    item = log.add_item(
        text_of(row.get("context.span_id")),
        text_of(row.get("attributes.input.value")),
        {model: text_of(row.get("attributes.output.value"))},
    )
    for name in names:
        score, label = row.get(f"eval.{name}.score"), row.get(f"eval.{name}.label")
        reply = text_of(row.get(f"eval.{name}.explanation"))
        log.add_score(item, model, name, name, score_or_label(score, label), reply=reply)


def _parsed(value: Any) -> Any:
    """Parse a CSV cell that contains JSON; return any other cell unchanged."""
    if not isinstance(value, str) or not value.startswith("{"):
        return value
    try:
        return json.loads(value)
    except ValueError:
        return value
