"""Format of promptfoo's results, as `promptfoo eval --output` writes them (JSON or JSON lines).

A model-graded assertion is a judge of one answer. The assertion `select-best` compares all answers
of a test, which its judge sees in file order, the order in which they were finished.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any, Final

from studies.files.tables import Row, SourceTable, text_of
from studies.sources.building.builder import SourceBuilder
from studies.sources.building.open_source import OpenSource
from studies.sources.formats.recorded_scores import ScoreLog

MODEL_GRADED: Final = frozenset(
    {"llm-rubric", "search-rubric", "model-graded-closedqa", "model-graded-factuality",
     "factuality", "g-eval", "answer-relevance", "context-recall", "context-relevance",
     "context-faithfulness", "conversation-relevance", "pi", "agent-rubric", "trajectory-rubric"}
)  # fmt: skip
"""Assertions whose score is given by a model; all other assertions are rules without a judge."""
SELECT_BEST: Final = "select-best"
_DEFAULT_JUDGE: Final = "default grader"


def matches_table(table: SourceTable) -> str:
    if table.has("gradingResult", "testCase", "provider"):
        return "gradingResult, testCase and provider are promptfoo's results"
    if _result_rows(table) and any("gradingResult" in row for row in _result_rows(table)[:50]):
        return "results with gradingResult are promptfoo's"
    return ""


def _result_rows(table: SourceTable) -> Sequence[Row]:
    if table.json_object is None:
        return table.rows
    results = table.json_object.get("results")
    inner = results.get("results") if isinstance(results, dict) else results
    return [row for row in inner if isinstance(row, dict)] if isinstance(inner, list) else []


def read(source: OpenSource) -> SourceBuilder:
    log, rules = ScoreLog(), 0
    rows = _result_rows(source.rows)
    judge = _default_judge(source.rows.json_object or {})
    names = _contestants(rows)
    compared: dict[str, list[tuple[str, Mapping[str, Any]]]] = defaultdict(list)
    for row in rows:
        name = names[_cell_key(row)]
        item = log.add_item(
            f"test-{int(row.get('testIdx') or 0):05}",
            _question(row),
            {name: text_of((row.get("response") or {}).get("output"))},
            category=text_of((row.get("testCase") or {}).get("description")),
        )
        parts = _judged_parts(row)
        if not parts:
            log.unscored += 1
        for part in parts:
            kind = text_of(part["assertion"].get("type")).removeprefix("not-")
            if kind == SELECT_BEST:
                compared[item].append((name, part))
            elif kind in MODEL_GRADED:
                log.add_score(
                    item, name, _judge(part, row, judge), _prompt(part), part.get("score"),
                    reply=text_of(part.get("reason")),
                )  # fmt: skip
            else:
                rules += 1
    for item, answers in compared.items():
        _add_choice(log.builder, item, answers, judge)
    if rules:
        log.builder.notes.append(f"{rules:,} assertions without a model as judge were left out")
    return log.finish()


def _add_choice(
    builder: SourceBuilder,
    item: str,
    answers: Sequence[tuple[str, Mapping[str, Any]]],
    judge: str,
) -> None:
    """Add the verdict of `select-best` on a test's answers; unusable unless it chose exactly
    one."""
    if len(answers) < 2:
        return
    best = [place for place, (_, part) in enumerate(answers) if part.get("pass") is True]
    part = answers[best[0] if best else 0][1]
    builder.add_verdict(
        item,
        _judge(part, {}, judge),
        SELECT_BEST,
        [name for name, _ in answers],
        best[0] if len(best) == 1 else None,
        reply=text_of(part.get("reason")),
    )


def _judged_parts(row: Row) -> list[Mapping[str, Any]]:
    grading = row.get("gradingResult") or {}
    parts = grading.get("componentResults") or []
    return [part for part in parts if isinstance(part, dict) and part.get("assertion")]


def _contestants(rows: Sequence[Row]) -> dict[tuple[str, str], str]:
    """Return (provider, prompt) -> contestant name: the provider and, if the file has several
    prompts, the prompt."""
    cells = list(dict.fromkeys(_cell_key(row) for row in rows))
    prompts = {prompt for _, prompt in cells}
    return {
        (provider, prompt): f"{provider}, {prompt[:60]}" if len(prompts) > 1 else provider
        for provider, prompt in cells
    }


def _cell_key(row: Row) -> tuple[str, str]:
    provider, prompt = row.get("provider"), row.get("prompt") or {}
    name = provider.get("label") or provider.get("id") if isinstance(provider, dict) else provider
    place = row.get("promptIdx")
    label = prompt.get("label") or prompt.get("raw") if isinstance(prompt, dict) else prompt
    return text_of(name) or f"provider {place}", " ".join(text_of(label).split())


def _question(row: Row) -> str:
    """Return a test's variables as its question, since each contestant may have its own prompt."""
    variables = row.get("vars") or (row.get("testCase") or {}).get("vars") or {}
    if len(variables) == 1:
        return text_of(next(iter(variables.values())))
    return "\n\n".join(f"{name}: {text_of(value)}" for name, value in variables.items())


def _judge(part: Mapping[str, Any], row: Row, default: str) -> str:
    options = (row.get("testCase") or {}).get("options") or {}
    return (
        _provider(part["assertion"].get("provider"))
        or _provider(options.get("provider"))
        or (default)
    )


def _default_judge(content: Mapping[str, Any]) -> str:
    config = content.get("config") or {}
    test = config.get("defaultTest") if isinstance(config, dict) else None
    options = test.get("options") if isinstance(test, dict) else None
    provider = options.get("provider") if isinstance(options, dict) else None
    return _provider(provider) or _DEFAULT_JUDGE


def _provider(value: Any) -> str:
    if isinstance(value, dict):
        inner = value.get("label") or value.get("id") or value.get("text")
        return _provider(inner)
    return text_of(value)


def _prompt(part: Mapping[str, Any]) -> str:
    assertion = part["assertion"]
    return text_of(assertion.get("metric")) or text_of(assertion.get("type"))
