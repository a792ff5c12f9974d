"""Logs written by the tools' own packages, and counts by their own readers (`make test-logs`)."""

from __future__ import annotations

import datetime
import json
import uuid
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from studies.sources.load import LoadedSource, load_source
from studies.spec.study import DataSpec

ABSENT = "NO {} HERE: install requirements-logs.txt, or run `make test-logs`"


def loaded(path: Path) -> LoadedSource:
    return load_source(DataSpec(path.name), path.parent)


def score_counts(found: LoadedSource, judge: str) -> Counter[object]:
    return Counter(
        j.verdict.scores[0] if j.verdict else j.status
        for j in found.judgements
        if j.ask.judge == judge
    )


@pytest.mark.parametrize("format", ["eval", "json"])
def test_inspect_logs_give_the_counts_of_inspect(tmp_path: Path, format: str) -> None:
    pytest.importorskip("inspect_ai", reason=ABSENT.format("INSPECT"))
    from inspect_ai.log import (
        EvalConfig,
        EvalDataset,
        EvalLog,
        EvalSample,
        EvalSpec,
        read_eval_log,
        write_eval_log,
    )
    from inspect_ai.model import ModelOutput
    from inspect_ai.scorer import Score, value_to_float

    grades: list[Any] = ["C", "I", "P", "N", 0.25, True]
    samples = [
        EvalSample(
            id=k,
            epoch=1,
            input=f"question {k}",
            target="t",
            output=ModelOutput.from_content("m", f"answer {k}"),
            scores={"model_graded_qa": Score(value=grade, explanation="GRADE")},
        )
        for k, grade in enumerate(grades)
    ]
    nothing = Score.unscored(reason="grader_failed", explanation="Grade not found in model output")
    samples += [
        EvalSample(id=90, epoch=1, input="q", target="t", scores={"model_graded_qa": nothing}),
        EvalSample(id=91, epoch=1, input="q", target="t", scores={}),
    ]
    spec = EvalSpec(
        created=datetime.datetime.now(datetime.UTC).isoformat(),
        task="qa",
        model="openai/m",
        dataset=EvalDataset(),
        config=EvalConfig(),
        scorers=[{"name": "model_graded_qa", "options": {"model": "openai/judge"}}],
    )
    path = tmp_path / f"run.{format}"
    write_eval_log(EvalLog(eval=spec, status="success", samples=samples), str(path), format=format)
    found = loaded(path)
    own = read_eval_log(str(path)).samples or []
    to_float = value_to_float()
    expected = Counter(
        to_float(score.value)
        for sample in own
        for score in (sample.scores or {}).values()
        if score.value == score.value
    )
    counts = score_counts(found, "openai/judge")
    assert counts.pop("unreadable") == 1
    assert counts == expected
    assert len(found.items) == len(own)
    assert any(note.startswith("1 answers have no score") for note in found.notes)


def test_deepeval_runs_give_the_counts_of_deepeval(tmp_path: Path) -> None:
    pytest.importorskip("deepeval", reason=ABSENT.format("DEEPEVAL"))
    from deepeval.test_run.api import LLMApiTestCase
    from deepeval.test_run.test_run import TestRun
    from deepeval.tracing.api import MetricData

    run = TestRun(identifier="run", testFile=None, hyperparameters={"model": "mine"})
    for k, score in enumerate((0.9, 0.4, None)):
        case = LLMApiTestCase(name=f"t{k}", input=f"question {k}", actualOutput="so", order=k)
        case.update_metric_data(
            MetricData(
                name="Faithfulness",
                threshold=0.5,
                success=bool(score and score > 0.5),
                score=score,
                reason="because" if score else None,
                evaluationModel="gpt-x",
                error=None if score else "timeout",
            )
        )
        run.test_cases.append(case)
    path = tmp_path / ".latest_test_run.json"
    path.write_text(json.dumps(run.model_dump(by_alias=True, exclude_none=True)), encoding="utf-8")
    found = loaded(path)
    own = Counter(
        metric.score if metric.score is not None else "error"
        for case in run.test_cases
        for metric in case.metrics_data or []
    )
    assert found.format == "deepeval"
    assert score_counts(found, "gpt-x") == own


def test_langsmith_feedback_gives_the_counts_of_langsmith(tmp_path: Path) -> None:
    pytest.importorskip("langsmith", reason=ABSENT.format("LANGSMITH"))
    from langsmith.schemas import Feedback, FeedbackSourceBase

    now = datetime.datetime.now(datetime.UTC)
    feedback = [
        Feedback(
            id=uuid.uuid4(), run_id=uuid.uuid4(), trace_id=uuid.uuid4(), key="correct",
            score=score, created_at=now, modified_at=now,
            feedback_source=FeedbackSourceBase(type="model"),
        )
        for score in (1, 0, True, 0.5, None)
    ]  # fmt: skip
    path = tmp_path / "feedback.jsonl"
    path.write_text("\n".join(one.model_dump_json() for one in feedback), encoding="utf-8")
    found = loaded(path)
    assert found.format == "langsmith"
    own = Counter(float(one.score) for one in feedback if one.score is not None)
    assert score_counts(found, "correct") == own
    assert any(note.startswith("1 answers have no score") for note in found.notes)
