"""Format of judge scores exported from tracing tools: Langfuse, Phoenix and LangSmith.

Langfuse: scores with `traceId`, `name`, `value`, `dataType` and `source`. Phoenix: runs of an
experiment with `annotations`, or spans with `eval.<name>.score`. LangSmith: feedback with `run_id`,
`key` and `score`, or rows with `feedback.<key>`.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any, Final

from studies.files.tables import Row, SourceTable, text_of
from studies.sources.builder import OpenSource, SourceBuilder
from studies.sources.cells import first_text
from studies.sources.formats.recorded_scores import ScoreLog, score_of

_PHOENIX_COLUMN: Final = re.compile(r"eval\.(.+)\.(score|label)")
_FEEDBACK: Final = "feedback."
MODEL: Final = "model"
"""Contestant of scores whose export does not name the model."""


# ---- Langfuse --------------------------------------------------------------------------------


def matches_langfuse(table: SourceTable) -> str:
    for row in _langfuse_rows(table)[:1]:
        if {"name", "value", "source"} <= row.keys() and {"traceId", "trace_id"} & row.keys():
            return "traceId, name, value and source are scores of Langfuse"
    return ""


def _langfuse_rows(table: SourceTable) -> Sequence[Row]:
    data = (table.json_object or {}).get("data")
    return [row for row in data if isinstance(row, dict)] if isinstance(data, list) else table.rows


def read_langfuse(source: OpenSource) -> SourceBuilder:
    log = ScoreLog()
    for row in _langfuse_rows(source.rows):
        held = row.get("trace")
        trace = held if isinstance(held, dict) else {}
        model = first_text(row, "model", "traceName") or text_of(trace.get("name")) or MODEL
        name = text_of(row.get("name"))
        person = text_of(row.get("source")).upper() == "ANNOTATION"
        who = first_text(row, "authorUserId", "author_user_id") or "annotator"
        number, text = row.get("value"), first_text(row, "stringValue", "string_value")
        categorical = text_of(row.get("dataType") or row.get("data_type")) == "CATEGORICAL"
        item = log.add_item(
            _item_of_trace(row), _text_at(trace, "input"), {model: _text_at(trace, "output")}
        )
        log.add_score(
            item, model, who if person else name, name, text if categorical and text else number,
            reply=text_of(row.get("comment")), person=person,
        )  # fmt: skip
    return log.finish()


def _item_of_trace(row: Row) -> str:
    trace = first_text(row, "traceId", "trace_id", "sessionId", "datasetRunId")
    span = first_text(row, "observationId", "observation_id")
    return f"{trace}/{span}" if span else trace


# ---- Phoenix ---------------------------------------------------------------------------------


def matches_phoenix(table: SourceTable) -> str:
    if table.has("example_id", "annotations", "output"):
        return "example_id, output and annotations are runs of a Phoenix experiment"
    if table.has("context.span_id") and any(map(_PHOENIX_COLUMN.fullmatch, table.columns)):
        return "context.span_id and eval.<name>.score are spans of Phoenix"
    return ""


def read_phoenix(source: OpenSource) -> SourceBuilder:
    table = source.rows
    log = ScoreLog()
    for row in table.rows:
        if "annotations" in row:
            _add_phoenix_run(log, row)
        else:
            _add_phoenix_span(log, row, table.columns)
    return log.finish()


def _add_phoenix_run(log: ScoreLog, row: Row) -> None:
    item = log.add_item(
        text_of(row.get("example_id")),
        _plain_text(row.get("input")),
        {MODEL: _plain_text(row.get("output"))},
        ground_truth=_plain_text(row.get("reference_output")),
    )
    annotations = [one for one in row.get("annotations") or () if isinstance(one, dict)]
    log.unscored += not annotations
    for one in annotations:
        kind, name = text_of(one.get("annotator_kind")).upper(), text_of(one.get("name"))
        if kind == "CODE":
            continue
        log.add_score(
            item, MODEL, name, name, _score_or_label(one.get("score"), one.get("label")),
            reply=text_of(one.get("explanation")), error=text_of(one.get("error")),
            person=kind == "HUMAN",
        )  # fmt: skip


def _add_phoenix_span(log: ScoreLog, row: Row, columns: Sequence[str]) -> None:
    model = text_of(row.get("attributes.llm.model_name")) or MODEL
    item = log.add_item(
        text_of(row.get("context.span_id")),
        text_of(row.get("attributes.input.value")),
        {model: text_of(row.get("attributes.output.value"))},
    )
    names = {match[1]: None for column in columns if (match := _PHOENIX_COLUMN.fullmatch(column))}
    for name in names:
        score, label = row.get(f"eval.{name}.score"), row.get(f"eval.{name}.label")
        reply = text_of(row.get(f"eval.{name}.explanation"))
        log.add_score(item, model, name, name, _score_or_label(score, label), reply=reply)


# ---- LangSmith -------------------------------------------------------------------------------


def matches_langsmith(table: SourceTable) -> str:
    if table.has("run_id", "key", "score"):
        return "run_id, key and score are feedback of LangSmith"
    if any(name.startswith(_FEEDBACK) for name in table.columns) and table.has("example_id"):
        return "example_id and feedback.<key> are results of a LangSmith experiment"
    return ""


def read_langsmith(source: OpenSource) -> SourceBuilder:
    table = source.rows
    log = ScoreLog()
    if table.has("run_id", "key"):
        _add_feedback(log, table.rows)
        return log.finish()
    keys = [name for name in table.columns if name.startswith(_FEEDBACK)]
    for row in table.rows:
        model = first_text(row, "model", "experiment", "session_name") or MODEL
        item = log.add_item(
            text_of(row.get("example_id")),
            _joined(row, "inputs."),
            {model: _joined(row, "outputs.")},
            ground_truth=_joined(row, "reference."),
        )
        for key in keys:
            name = key.removeprefix(_FEEDBACK)
            log.add_score(item, model, name, name, row.get(key))
    return log.finish()


def _add_feedback(log: ScoreLog, rows: Sequence[Row]) -> None:
    """Add feedback on runs; feedback from a comparison becomes a verdict of unknown order."""
    groups: dict[str, list[Row]] = defaultdict(list)
    for row in rows:
        if text_of(row.get("comparative_experiment_id")):
            groups[first_text(row, "feedback_group_id", "trace_id")].append(row)
            continue
        source = row.get("feedback_source") or {}
        kind = text_of(source.get("type")) if isinstance(source, Mapping) else text_of(source)
        person = kind == "app"
        item = log.add_item(text_of(row.get("run_id")), "", {})
        who = text_of(source.get("user_name")) if isinstance(source, Mapping) else ""
        key = text_of(row.get("key"))
        log.add_score(
            item, MODEL, (who or "annotator") if person else key, key,
            _score_or_label(row.get("score"), row.get("value")),
            reply=text_of(row.get("comment")), person=person,
        )  # fmt: skip
    for group, members in groups.items():
        _add_preference(log.builder, group, members)


def _add_preference(builder: SourceBuilder, group: str, members: Sequence[Row]) -> None:
    """Add the preference between the runs of a group: the higher score wins."""
    if len(members) != 2:
        return
    names = [first_text(row, "session_id", "run_id") for row in members]
    if builder.skip_self_comparison(names, group):
        return
    scores = [score_of(row.get("score")) for row in members]
    first, second = scores
    pick = None
    if first is not None and second is not None:
        pick = "tie" if first == second else int(second > first)
    item = builder.add_item(group, "")
    key = text_of(members[0].get("key"))
    reply = text_of(members[0].get("comment"))
    builder.add_verdict(item, key, key, names, pick, known=False, reply=reply)  # type: ignore[arg-type]


# ---- cells -----------------------------------------------------------------------------------


def _score_or_label(score: Any, label: Any) -> Any:
    return label if score is None or score != score else score


def _plain_text(value: Any) -> str:
    """Return a text; for an object its only text, or all its values with their names."""
    if isinstance(value, dict):
        if len(value) == 1:
            return _plain_text(next(iter(value.values())))
        return "\n\n".join(f"{key}: {_plain_text(one)}" for key, one in value.items())
    return text_of(value)


def _text_at(values: Any, key: str) -> str:
    return _plain_text(values.get(key)) if isinstance(values, dict) else ""


def _joined(row: Row, prefix: str) -> str:
    parts = {name[len(prefix) :]: row.get(name) for name in row if name.startswith(prefix)}
    return _plain_text(parts) if parts else _plain_text(row.get(prefix.rstrip(".")))
