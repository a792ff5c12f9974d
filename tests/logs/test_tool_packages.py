"""Logs written by the tools' own packages, and counts by their own readers (`make test-logs`)."""

from __future__ import annotations

import datetime
import json
import os
import shutil
import socket
import subprocess
import sys
import time
import urllib.request
import uuid
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from studies.sources.load import LoadedSource, load_source
from studies.spec.study import DataSpec
from tests.page_words import says

ABSENT = "NO {} HERE: install requirements/logs.txt, or run `make test-logs`"


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
    assert says(found.notes, "1 answers", "no score")


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
    assert says(found.notes, "1 answers", "no score")


@pytest.mark.parametrize("version", [2, 3])
def test_langfuse_scores_give_the_counts_of_langfuse(tmp_path: Path, version: int) -> None:
    pytest.importorskip("langfuse", reason=ABSENT.format("LANGFUSE"))
    import langfuse.api as api

    now = datetime.datetime.now(datetime.UTC)
    facts: dict[str, Any] = {
        "name": "helpful", "source": "EVAL", "timestamp": now, "created_at": now,
        "updated_at": now, "environment": "default",
    }  # fmt: skip
    values = (0.25, 0.75, 1.0)
    if version == 2:
        rows = [
            api.Score_Numeric(id=str(k), trace_id=f"t{k}", value=value, **facts)
            for k, value in enumerate(values)
        ]
    else:
        rows = [
            api.ScoreV3_Numeric(
                id=str(k),
                project_id="p",
                value=value,
                subject=api.ScoreSubjectV3_Trace(id=f"t{k}"),
                **facts,
            )
            for k, value in enumerate(values)
        ]
    path = tmp_path / "scores.json"
    content = {"data": [json.loads(row.model_dump_json(by_alias=True)) for row in rows]}
    path.write_text(json.dumps(content), encoding="utf-8")
    found = loaded(path)
    assert found.format == "langfuse"
    assert score_counts(found, "helpful") == Counter(row.value for row in rows)


def test_phoenix_experiments_give_the_counts_of_phoenix(tmp_path: Path) -> None:
    """Phoenix itself runs an experiment on loopback and writes both of its downloads."""
    pytest.importorskip("phoenix.server", reason=ABSENT.format("PHOENIX"))
    from phoenix.client import Client
    from phoenix.client.experiments import create_evaluator

    @create_evaluator(kind="llm", name="correct")
    def correct(input: dict[str, str], output: str) -> dict[str, object]:
        number = int(input["question"][-1])
        if number == 2:
            raise RuntimeError("the judge timed out")
        return {"score": float(number), "label": "yes" if number else "no", "explanation": "so"}

    @create_evaluator(kind="code", name="length")
    def length(output: str) -> int:
        return len(output)

    with phoenix_server(tmp_path) as address:
        client = Client(base_url=address)
        dataset = client.datasets.create_dataset(
            name="questions",
            inputs=[{"question": f"question {k}"} for k in range(3)],
            outputs=[{"answer": "reference"}] * 3,
        )
        experiment = client.experiments.run_experiment(
            dataset=dataset,
            task=lambda input: f"answer to {input['question']}",
            evaluators=[correct, length],
            repetitions=2,
            print_summary=False,
        )
        own = Counter(
            run.result["score"] if run.result else "error"
            for run in experiment["evaluation_runs"]
            if run.name == "correct"
        )
        for suffix in ("json", "csv"):
            url = f"{address}/v1/experiments/{experiment['experiment_id']}/{suffix}"
            with urllib.request.urlopen(url, timeout=30) as reply:
                (tmp_path / f"runs.{suffix}").write_bytes(reply.read())
    for suffix in ("json", "csv"):
        found = loaded(tmp_path / f"runs.{suffix}")
        assert found.format == "phoenix"
        assert score_counts(found, "correct") == own
        assert sum(own.values()) == 6


@contextmanager
def phoenix_server(folder: Path) -> Iterator[str]:
    """A Phoenix server on a free loopback port, ended with the test."""
    with socket.socket() as first, socket.socket() as second:
        first.bind(("127.0.0.1", 0))
        second.bind(("127.0.0.1", 0))
        port, grpc = first.getsockname()[1], second.getsockname()[1]
    settings = {
        "PHOENIX_WORKING_DIR": str(folder / "phoenix"), "PHOENIX_HOST": "127.0.0.1",
        "PHOENIX_PORT": str(port), "PHOENIX_GRPC_PORT": str(grpc),
        "PHOENIX_TELEMETRY_ENABLED": "false",
    }  # fmt: skip
    command = [sys.executable, "-m", "phoenix.server.main", "serve"]
    process = subprocess.Popen(command, env={**os.environ, **settings})
    address = f"http://127.0.0.1:{port}"
    try:
        wait_for(f"{address}/healthz", process)
        yield address
    finally:
        process.terminate()
        process.wait(60)


def wait_for(url: str, process: subprocess.Popen[bytes], seconds: float = 240) -> None:
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        assert process.poll() is None, "the server ended before it answered"
        try:
            urllib.request.urlopen(url, timeout=2).close()
            return
        except OSError:
            time.sleep(0.5)
    raise AssertionError(f"{url} did not answer within {seconds:.0f} s")


def test_promptfoo_results_give_the_counts_of_promptfoo(tmp_path: Path) -> None:
    """promptfoo grades two models with a local grader and writes both of its outputs."""
    command = os.environ.get("PROMPTFOO") or shutil.which("promptfoo")
    if not command:
        pytest.skip("NO PROMPTFOO HERE: npm install promptfoo, and set PROMPTFOO to its command")
    for name, words in (("one", "one says so"), ("two", "two")):
        (tmp_path / f"{name}.js").write_text(
            f"module.exports = class {{ id() {{ return {name!r} }} "
            f"async callApi(p) {{ return {{ output: {words!r} }} }} }};"
        )
    (tmp_path / "grader.js").write_text(GRADER)
    (tmp_path / "promptfooconfig.yaml").write_text(CONFIGURATION)
    environment = {
        **os.environ, "PROMPTFOO_DISABLE_TELEMETRY": "1", "PROMPTFOO_DISABLE_UPDATE": "1",
        "PROMPTFOO_CONFIG_DIR": str(tmp_path / "home"),
    }  # fmt: skip
    subprocess.run(
        [command, "eval", "--no-cache", "--no-share", "-o", "out.json", "-o", "out.jsonl"],
        cwd=tmp_path,
        env=environment,
        timeout=400,
        capture_output=True,
    )
    results = json.loads((tmp_path / "out.json").read_text())["results"]["results"]
    own = Counter(
        part["score"]
        for row in results
        for part in row["gradingResult"]["componentResults"]
        if part["assertion"]["type"] == "llm-rubric"
    )
    assert own == {1: 2, 0.25: 2}
    for name in ("out.json", "out.jsonl"):
        found = loaded(tmp_path / name)
        assert found.format == "promptfoo"
        rubric = [j for j in found.judgements if j.ask.prompt == "llm-rubric"]
        assert Counter(j.verdict.scores[0] for j in rubric if j.verdict) == own
        (choice,) = (j for j in found.judgements if j.ask.prompt == "select-best")
        finished = tuple(row["provider"]["id"] for row in results if row["testIdx"] == 1)
        assert choice.ask.shown == finished
        assert choice.verdict is not None
        assert choice.verdict.pick == 1, "the grader always chooses the second answer it is shown"


GRADER = """
module.exports = class {
  id() { return 'grader' }
  async callApi(prompt) {
    if (!prompt.includes('one says so') || prompt.includes('two')) {
      if (prompt.includes('one says so')) return { output: '1' };
      return { output: JSON.stringify({ reason: 'short', pass: false, score: 0.25 }) };
    }
    return { output: JSON.stringify({ reason: 'polite', pass: true, score: 1 }) };
  }
};
"""
CONFIGURATION = """
prompts: ["Answer: {{question}}"]
providers: [file://one.js, file://two.js]
defaultTest:
  options: {provider: file://grader.js}
  assert:
    - {type: llm-rubric, value: is polite}
    - {type: contains, value: o}
tests:
  - vars: {question: Why?}
  - vars: {question: How?}
    assert:
      - {type: select-best, value: the better answer}
"""
