"""Format of scores exported from Langfuse through version 2 or 3 of its API.

Version 2 names the scored trace in `traceId`; version 3 names a `subject`, which is a trace,
observation, session or experiment.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from studies.files.tables import Row, SourceTable, text_of
from studies.sources.building.builder import SourceBuilder
from studies.sources.building.open_source import OpenSource
from studies.sources.cells import first_text
from studies.sources.formats.recorded_scores import MODEL, ScoreLog, plain_text, score_rows


def matches_table(table: SourceTable) -> str:
    for row in score_rows(table)[:1]:
        if not {"name", "value", "source"} <= row.keys():
            continue
        if {"traceId", "trace_id"} & row.keys():
            return "traceId, name, value and source are scores of Langfuse"
        if isinstance(row.get("subject"), Mapping):
            return "subject, name, value and source are scores of Langfuse"
    return ""


def read(source: OpenSource) -> SourceBuilder:
    log = ScoreLog()
    for row in score_rows(source.rows):
        held = row.get("trace")
        trace = held if isinstance(held, dict) else {}
        model = first_text(row, "model", "traceName") or text_of(trace.get("name")) or MODEL
        name = text_of(row.get("name"))
        person = text_of(row.get("source")).upper() == "ANNOTATION"
        who = first_text(row, "authorUserId", "author_user_id") or "annotator"
        item = log.add_item(
            _scored_object(row), _text_at(trace, "input"), {model: _text_at(trace, "output")}
        )
        log.add_score(
            item, model, who if person else name, name, _value_of(row),
            reply=text_of(row.get("comment")), person=person,
        )  # fmt: skip
    return log.finish()


def _value_of(row: Row) -> Any:
    """Return a row's score: its text if categorical, True or False if boolean, else its number."""
    kind = text_of(row.get("dataType") or row.get("data_type")).upper()
    value, text = row.get("value"), first_text(row, "stringValue", "string_value")
    if kind == "CATEGORICAL" and text:
        return text
    if kind == "BOOLEAN" and value in (0, 1):
        return bool(value)
    return value


def _scored_object(row: Row) -> str:
    """Return the id of the scored object; for an observation in a trace, both ids joined by "/"."""
    subject = row.get("subject")
    if isinstance(subject, dict):
        trace, span = first_text(subject, "traceId", "trace_id"), text_of(subject.get("id"))
        return f"{trace}/{span}" if trace else span
    trace = first_text(row, "traceId", "trace_id", "sessionId", "datasetRunId")
    span = first_text(row, "observationId", "observation_id")
    return f"{trace}/{span}" if span else trace


def _text_at(values: Any, key: str) -> str:
    return plain_text(values.get(key)) if isinstance(values, dict) else ""
