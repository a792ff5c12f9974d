"""Format of DeepEval's test runs: `testCases` with `metricsData`, as in `.latest_test_run.json`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from studies.files.tables import SourceTable, text_of
from studies.sources.building.builder import SourceBuilder
from studies.sources.building.open_source import OpenSource
from studies.sources.cells import id_from_text
from studies.sources.formats.recorded_scores import ScoreLog

_RULES: Final = ("exact match", "pattern match", "json correctness", "tool correctness")
"""Metrics that are computed without a judge."""


def matches_table(table: SourceTable) -> str:
    if _cases(table):
        return "testCases with metricsData are a test run of DeepEval"
    return ""


def _cases(table: SourceTable) -> list[Mapping[str, Any]]:
    content = table.json_object or {}
    run = content.get("testRunData", content)
    cases = run.get("testCases") if isinstance(run, dict) else None
    return [case for case in cases if "metricsData" in case] if isinstance(cases, list) else []


def read(source: OpenSource) -> SourceBuilder:
    log, rules = ScoreLog(), 0
    content = source.rows.json_object or {}
    run = content.get("testRunData", content)
    model = _model_name(run.get("hyperparameters"))
    for case in _cases(source.rows):
        question = text_of(case.get("input"))
        item = log.add_item(
            id_from_text("q", question),
            question,
            {model: text_of(case.get("actualOutput"))},
            ground_truth=text_of(case.get("expectedOutput")),
            context="\n\n".join(map(text_of, case.get("context") or ())),
        )
        metrics = case.get("metricsData") or []
        log.unscored += not metrics
        for metric in metrics:
            name = text_of(metric.get("name"))
            judge = text_of(metric.get("evaluationModel"))
            if not judge and name.casefold() in _RULES:
                rules += 1
                continue
            log.add_score(
                item, model, judge or name, name, metric.get("score"),
                reply=text_of(metric.get("reason")), error=text_of(metric.get("error")),
            )  # fmt: skip
    if rules:
        log.builder.notes.append(f"{rules:,} metrics without a model as judge were left out")
    return log.finish()


def _model_name(hyperparameters: Any) -> str:
    """Return the name of the evaluated model; "model" if the file does not name it."""
    values = hyperparameters if isinstance(hyperparameters, dict) else {}
    return next((text_of(values[key]) for key in ("model", "Model") if values.get(key)), "model")
