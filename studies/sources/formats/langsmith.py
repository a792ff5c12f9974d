"""Format of LangSmith's feedback: columns `run_id`, `key` and `score`, or `feedback.<key>`."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Final

from studies.files.tables import Row, SourceTable, text_of
from studies.sources.building.builder import SourceBuilder
from studies.sources.building.open_source import OpenSource
from studies.sources.cells import first_text
from studies.sources.formats.recorded_scores import (
    MODEL,
    ScoreLog,
    plain_text,
    score_of,
    score_or_label,
)

_FEEDBACK: Final = "feedback."


def matches_table(table: SourceTable) -> str:
    if table.has("run_id", "key", "score"):
        return "run_id, key and score are feedback of LangSmith"
    if any(name.startswith(_FEEDBACK) for name in table.columns) and table.has("example_id"):
        return "example_id and feedback.<key> are results of a LangSmith experiment"
    return ""


def read(source: OpenSource) -> SourceBuilder:
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
    """Add feedback on one run of LangSmith (an answer) as a score, feedback on a comparison of two
    runs as a verdict of unknown order."""
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
            score_or_label(row.get("score"), row.get("value")),
            reply=text_of(row.get("comment")), person=person,
        )  # fmt: skip
    for group, members in groups.items():
        _add_preference(log.builder, group, members)


def _add_preference(builder: SourceBuilder, group: str, members: Sequence[Row]) -> None:
    """Add the verdict on the two answers (LangSmith's runs) of a feedback group: the higher score
    wins."""
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


def _joined(row: Row, prefix: str) -> str:
    parts = {name[len(prefix) :]: row.get(name) for name in row if name.startswith(prefix)}
    return plain_text(parts) if parts else plain_text(row.get(prefix.rstrip(".")))
