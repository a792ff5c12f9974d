"""Logs of other tools, as they lie on disk: scores of single answers and comparisons."""

from __future__ import annotations

import json
import zipfile
from pathlib import Path
from typing import Any

import pytest

from metrics.protocols.creation_levels import single_answer_ratings
from studies.errors import SourceError
from studies.exchange.recorded_studies import import_verdicts
from studies.files.tables import read_table
from studies.people.study_labels import read_labels
from studies.sources.formats.tool_logs import _why_matches_langfuse
from studies.sources.load import LoadedSource
from studies.store.store import Store
from tests.page_words import pattern, says
from tests.studies.sources.log_files import inspect_header, inspect_sample, write_eval
from tests.studies.sources.source_files import jsonl, loaded, table, verdicts


def write_json(path: Path, value: Any) -> Path:
    path.write_text(json.dumps(value), encoding="utf-8")
    return path


def scores(found: LoadedSource, judge: str) -> list[float | str]:
    return [
        j.verdict.scores[0] if j.verdict else j.status
        for j in found.judgements
        if j.ask.judge == judge
    ]


# ---- Inspect -------------------------------------------------------------------------------------

SAMPLES = [
    inspect_sample(0, "C"),
    inspect_sample(1, "I"),
    inspect_sample(2, "P"),
    inspect_sample(3, "I", "Grade not found in model output: hm"),
    inspect_sample(4, "C", scores={}),
]


@pytest.mark.parametrize("zstandard", [False, True])
def test_an_inspect_archive_is_read_sample_by_sample(tmp_path: Path, zstandard: bool) -> None:
    path = write_eval(tmp_path / "run.eval", inspect_header(), SAMPLES, zstandard)
    found = loaded(path)
    assert (found.format, len(found.items)) == ("inspect", 5)
    assert scores(found, "judge/one") == [1.0, 0.0, 0.5, "unreadable"]
    assert scores(found, "match") == [0.0] * 4
    assert {j.ask.prompt for j in found.judgements} == {"model_graded_qa", "scorer"}
    first = found.items[0]
    assert (first.instruction, first.ground_truth) == ("question 0", "target 0")
    assert first.responses == {"openai/gpt-x": "answer 0"}
    assert any(says(note, "pass", "fail", "1", "0") for note in found.notes)
    assert any(says(note, "1 answer", "without a score") for note in found.notes)


def test_an_inspect_json_log_gives_the_same(tmp_path: Path) -> None:
    path = write_json(tmp_path / "run.json", {**inspect_header(), "samples": SAMPLES})
    archive = write_eval(tmp_path / "run.eval", inspect_header(), SAMPLES)
    one, other = loaded(path), loaded(archive)
    assert one.format == "inspect"
    assert (one.items, one.judgements) == (other.items, other.judgements)


def test_a_folder_of_inspect_logs_is_one_study(tmp_path: Path, store: Store) -> None:
    folder = tmp_path / "logs"
    folder.mkdir()
    write_eval(folder / "a.eval", inspect_header("model/a"), SAMPLES)
    write_json(folder / "b.json", {**inspect_header("model/b"), "samples": SAMPLES[:2]})
    (folder / "other.json").write_text("{}", encoding="utf-8")
    found = import_verdicts(store, folder, "logs")
    assert len(found.items) == 5 and found.items[0].responses.keys() == {"model/a", "model/b"}
    frame = store.frame("logs")
    means = single_answer_ratings(frame[frame["judge"] == "judge/one"])
    assert means["model/b"].value == 0.5 and means["model/b"].n == 2
    named = loaded(folder / "a.eval", parts=("b.json",))
    assert len(named.judgements) == len(found.judgements)


def test_tasks_of_several_logs_keep_their_samples_apart(tmp_path: Path) -> None:
    write_eval(tmp_path / "a.eval", inspect_header(task="maths"), SAMPLES[:1])
    write_eval(tmp_path / "b.eval", inspect_header(task="code"), SAMPLES[:1])
    items = loaded(tmp_path).items
    assert [(item.id, item.category) for item in items] == [
        ("maths: s0", "maths"),
        ("code: s0", "code"),
    ]


def test_epochs_and_dictionaries_of_scores(tmp_path: Path) -> None:
    second = inspect_sample(0, {"style": 4, "facts": 2}, epoch=2)
    second["output"]["choices"][0]["message"]["content"] = [{"type": "text", "text": "other"}]
    path = write_eval(tmp_path / "run.eval", inspect_header(), [SAMPLES[0], second])
    found = loaded(path)
    assert [item.id for item in found.items] == ["s0", "s0~2"]
    assert {item.meta["question"] for item in found.items} == {"s0"}
    assert scores(found, "judge/one") == [1.0, 4.0, 2.0]
    assert {j.ask.prompt for j in found.judgements} >= {"model_graded_qa/style"}


def test_unscored_samples_with_nan_stay_unscored(tmp_path: Path) -> None:
    sample = inspect_sample(1, float("nan"), "")
    found = loaded(write_eval(tmp_path / "run.eval", inspect_header(), [SAMPLES[0], sample]))
    assert scores(found, "judge/one") == [1.0]
    assert any(says(note, "1 answer", "without a score") for note in found.notes)


def test_damaged_logs_and_bombs_are_refused(tmp_path: Path) -> None:
    broken = tmp_path / "broken.eval"
    broken.write_bytes(b"PK\x03\x04")
    with pytest.raises(SourceError, match=pattern("broken.eval: incomplete", "damaged", "archive")):
        loaded(broken)
    empty = tmp_path / "empty.eval"
    with zipfile.ZipFile(empty, "w") as archive:
        archive.writestr("a.txt", "b")
    with pytest.raises(SourceError, match=pattern("empty.eval: no header", "no Inspect")):
        loaded(empty)
    bomb = write_eval(tmp_path / "bomb.eval", inspect_header(), SAMPLES)
    with zipfile.ZipFile(bomb, "a", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("samples/bomb_epoch_1.json", b" " * (80 << 20))
    with pytest.raises(SourceError, match=pattern("bomb.eval: unpacks", "100 times")):
        loaded(bomb)


@pytest.mark.parametrize("zstandard", [False, True])
def test_an_entry_larger_than_it_states_is_refused(tmp_path: Path, zstandard: bool) -> None:
    padded = SAMPLES[0] | {"store": {"x": "y" * 100_000}}
    path = write_eval(tmp_path / "run.eval", inspect_header(), [padded], zstandard)
    size = len(json.dumps(padded)).to_bytes(4, "little")
    content = path.read_bytes()
    assert size in content
    path.write_bytes(content.replace(size, (1000).to_bytes(4, "little")))
    with pytest.raises(SourceError, match=r"unpacks to more than can be read|is damaged"):
        loaded(path)


# ---- promptfoo -----------------------------------------------------------------------------------


def promptfoo_row(test: int, place: int, *parts: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {
        "testIdx": test,
        "promptIdx": place,
        "vars": {"topic": f"topic {test}"},
        "prompt": {"raw": "Write about {{topic}}", "label": "write"},
        "provider": {"id": f"openai:m{place}", "label": ""},
        "response": {"output": f"text {test} {place}"},
        "testCase": {"vars": {"topic": f"topic {test}"}, "options": {}},
        "gradingResult": {"pass": True, "score": 1, "componentResults": list(parts)},
        **more,
    }


def part(kind: str, score: Any, passed: bool = True, **more: Any) -> dict[str, Any]:
    return {
        "pass": passed,
        "score": score,
        "reason": "because",
        "assertion": {"type": kind, **more},
    }


def test_promptfoo_results_give_ratings_and_choices(tmp_path: Path) -> None:
    rows = [
        promptfoo_row(0, 0, part("llm-rubric", 0.8, provider="openai:judge"),
                      part("contains", 1), part("select-best", 0, False)),
        promptfoo_row(0, 1, part("llm-rubric", 0.2, provider={"id": "openai:judge"}),
                      part("select-best", 1, True)),
        promptfoo_row(1, 0, gradingResult=None, error="rate limit"),
        promptfoo_row(1, 1, part("factuality", 1)),
    ]  # fmt: skip
    content = {"evalId": "e", "results": {"version": 3, "results": rows, "stats": {}},
               "config": {"defaultTest": {"options": {"provider": "openai:grader"}}}}  # fmt: skip
    found = loaded(write_json(tmp_path / "results.json", content))
    assert found.format == "promptfoo"
    assert scores(found, "openai:judge") == [0.8, 0.2]
    assert ("openai:grader", "openai:m0 > openai:m1", "openai:m1") in verdicts(found)
    assert found.order_known
    assert ("openai:grader", "openai:m1", "scores (1.0,)") in verdicts(found)
    assert [item.instruction for item in found.items] == ["topic 0", "topic 1"]
    assert any(says(note, "1 assertions without", "model") for note in found.notes)
    assert any(says(note, "1 answer", "without a score") for note in found.notes)
    lines = loaded(jsonl(tmp_path / "results.jsonl", rows))
    assert len(lines.judgements) == len(found.judgements)


@pytest.mark.parametrize("ends", [("short", "long"), ("", "")])
def test_promptfoo_prompts_that_start_alike_stay_apart(ends: Any, tmp_path: Path) -> None:
    start = "You are a helpful assistant. Answer as carefully as you can, and be "
    rows = [
        promptfoo_row(0, place, part("llm-rubric", place), part("select-best", place, place == 1),
                      prompt={"raw": start + end}, provider="openai:m")
        for place, end in enumerate(ends)
    ]  # fmt: skip
    found = loaded(jsonl(tmp_path / "results.jsonl", rows))
    (item,) = found.items
    first, second = item.responses
    assert [said for _, shown, said in verdicts(found) if ">" in shown] == [second]
    rated = {j.ask.shown: j.verdict.scores for j in found.judgements if j.verdict}
    assert rated[first,] == (0.0,) and rated[second,] == (1.0,)


def test_promptfoo_choices_by_several_criteria_stay_apart(tmp_path: Path) -> None:
    def row(place: int, best: dict[str, int]) -> dict[str, Any]:
        parts = (part("select-best", 1, place == at, value=name) for name, at in best.items())
        test = {"options": {"provider": "openai:own"}}
        return promptfoo_row(0, place, *parts, testCase=test)

    for best, prompts in (({"short": 0, "kind": 1}, ["short", "kind"]),
                          ({"short": 1}, ["select-best"])):  # fmt: skip
        rows = [row(place, best) for place in range(2)]
        found = loaded(jsonl(tmp_path / "results.jsonl", rows))
        assert [j.ask.prompt for j in found.judgements] == prompts
        assert verdicts(found) == [
            ("openai:own", "openai:m0 > openai:m1", f"openai:m{at}") for at in best.values()
        ]


# ---- DeepEval ------------------------------------------------------------------------------------


def test_a_deepeval_run_gives_its_metrics(tmp_path: Path) -> None:
    metric = {"name": "Answer Relevancy", "score": 0.9, "success": True, "reason": "fits",
              "evaluationModel": "gpt-x", "error": None}  # fmt: skip
    cases = [
        {"name": "t0", "input": "why?", "actualOutput": "so", "metricsData": [metric]},
        {"name": "t1", "input": "how?", "actualOutput": "thus", "metricsData": [
            metric | {"score": None, "error": "timeout"},
            {"name": "Exact Match", "score": 1.0, "evaluationModel": None}]},
        {"name": "t2", "input": "who?", "actualOutput": "they", "metricsData": []},
    ]  # fmt: skip
    run = {"testCases": cases, "hyperparameters": {"model": "mine"}, "metricsScores": []}
    found = loaded(write_json(tmp_path / ".latest_test_run.json", {"testRunData": run}))
    assert (found.format, len(found.items)) == ("deepeval", 3)
    assert scores(found, "gpt-x") == [0.9, "error"]
    assert {j.ask.shown for j in found.judgements} == {("mine",)}
    assert any(says(note, "1 metrics without", "model") for note in found.notes)


# ---- Langfuse, Phoenix, LangSmith ----------------------------------------------------------------


def test_langfuse_scores_keep_people_apart(tmp_path: Path) -> None:
    rows = [
        {"traceId": "t1", "name": "helpful", "value": 0.7, "dataType": "NUMERIC", "source": "EVAL",
         "comment": "fine", "trace": {"name": "bot", "input": "why?", "output": {"text": "so"}}},
        {"traceId": "t2", "name": "correct", "value": 1, "stringValue": "True",
         "dataType": "BOOLEAN", "source": "EVAL"},
        {"traceId": "t2", "name": "correct", "value": 0, "dataType": "BOOLEAN",
         "source": "ANNOTATION", "authorUserId": "ann"},
        {"traceId": "t3", "name": "tone", "value": None, "stringValue": "rude",
         "dataType": "CATEGORICAL", "source": "EVAL"},
    ]  # fmt: skip
    found = loaded(write_json(tmp_path / "scores.json", {"data": rows, "meta": {"page": 1}}))
    assert found.format == "langfuse"
    assert (scores(found, "helpful"), scores(found, "correct")) == ([0.7], [1.0])
    assert scores(found, "human:ann") == [0.0]
    assert any(says(note, "1 label", "not read", "('rude')") for note in found.notes)
    assert found.items[0].responses == {"bot": "so"}
    as_lines = loaded(jsonl(tmp_path / "scores.jsonl", rows))
    assert len(as_lines.judgements) == len(found.judgements)


def test_people_label_the_judge_of_the_same_criterion(tmp_path: Path, store: Store) -> None:
    right = {"helpful": 1.0, "correct": 0.0}
    rows = [{"id": f"{t}{name}{by}", "traceId": f"t{t}", "name": name, "value": value, "source": by,
             "dataType": "NUMERIC", "authorUserId": "ann"} for t in range(3)
            for name, value in right.items() for by in ("EVAL", "ANNOTATION")]  # fmt: skip
    import_verdicts(store, jsonl(tmp_path / "scores.jsonl", rows), "scores")
    frame = store.frame("scores")
    for judge, value in right.items():
        assert set(frame[frame["judge"] == judge]["gold"]) == {value}
    assert not read_labels(store, "scores", "score").cases, "no score of the answer as a whole"


def test_an_empty_score_leaves_the_label(tmp_path: Path) -> None:
    row = {"example_id": "e1", "input": "why?", "output": "so", "annotation_ok_score": "",
           "annotation_ok_label": "pass", "annotation_ok_annotator_kind": "LLM"}  # fmt: skip
    assert scores(loaded(table(tmp_path / "phoenix.csv", [row])), "ok") == [1.0]
    feedback = {"run_id": "r1", "key": "ok", "score": " ", "value": "fail", "feedback_source": ""}
    assert scores(loaded(table(tmp_path / "langsmith.csv", [feedback])), "ok") == [0.0]


def test_phoenix_experiments_and_spans(tmp_path: Path) -> None:
    runs = [
        {"example_id": "e1", "input": {"q": "why?"}, "output": "so", "reference_output": {"a": "b"},
         "annotations": [
             {"name": "correct", "annotator_kind": "LLM", "score": None, "label": "pass"},
             {"name": "length", "annotator_kind": "CODE", "score": 3},
             {"name": "correct", "annotator_kind": "HUMAN", "score": 0}]},
        {"example_id": "e2", "input": {"q": "how?"}, "output": "thus", "annotations": []},
    ]  # fmt: skip
    found = loaded(write_json(tmp_path / "experiment.json", runs))
    assert (found.format, scores(found, "correct")) == ("phoenix", [1.0])
    assert scores(found, "human:correct") == [0.0]
    spans = [{"context.span_id": "s1", "attributes.input.value": "why?",
              "attributes.output.value": "so", "attributes.llm.model_name": "m",
              "eval.Quality.score": "0.5", "eval.Quality.label": "good",
              "eval.Quality.explanation": "because"}]  # fmt: skip
    found = loaded(table(tmp_path / "spans.csv", spans))
    assert (found.format, scores(found, "Quality")) == ("phoenix", [0.5])


@pytest.mark.parametrize(
    ("row", "known"),
    [
        ({"name": "n", "value": 1, "source": "API", "traceId": "t"}, True),
        ({"name": "n", "value": 1, "source": "API", "trace_id": "t"}, True),
        ({"name": "n", "value": 1, "source": "API", "subject": {"id": "t"}}, True),
        ({"name": "n", "value": 1, "source": "API", "subject": "t"}, False),
        ({"name": "n", "value": 1, "source": "API"}, False),
        ({"name": "n", "value": 1, "traceId": "t"}, False),
    ],
)
def test_scores_of_langfuse_name_a_trace_or_a_subject(
    tmp_path: Path, row: dict[str, Any], known: bool
) -> None:
    for path in (
        jsonl(tmp_path / "rows.jsonl", [row, {}]),
        write_json(tmp_path / "export.json", {"data": [row, "?"]}),
    ):
        assert bool(_why_matches_langfuse(read_table(path))) == known
    later = jsonl(tmp_path / "later.jsonl", [{"name": "n"}, row])
    assert not _why_matches_langfuse(read_table(later)), "the first row says it"


def test_langfuse_scores_of_version_3_name_a_subject(tmp_path: Path) -> None:
    rows = [
        {"id": "1", "name": "helpful", "value": 0.5, "dataType": "NUMERIC", "source": "EVAL",
         "subject": {"kind": "trace", "id": "t1"}},
        {"id": "2", "name": "helpful", "value": "pass", "dataType": "CATEGORICAL",
         "source": "ANNOTATION", "subject": {"kind": "observation", "id": "o1", "traceId": "t1"}},
        {"id": "3", "name": "helpful", "value": 1.0, "dataType": "BOOLEAN", "source": "EVAL",
         "subject": {"kind": "trace", "id": "t2"}},
    ]  # fmt: skip
    found = loaded(write_json(tmp_path / "scores.json", {"data": rows, "meta": {}}))
    assert found.format == "langfuse"
    assert scores(found, "helpful") == [0.5, 1.0]
    assert scores(found, "human:annotator") == [1.0]
    assert [item.id for item in found.items] == ["t1", "t1/o1", "t2"]


def test_phoenix_experiments_as_csv(tmp_path: Path) -> None:
    def row(example: str, repetition: int, output: str, **annotation: object) -> dict[str, object]:
        return {
            "example_id": example, "repetition_number": repetition,
            "input": '{"question": "why?"}', "reference_output": '{"answer": "so"}',
            "output": output, "metadata": "{}",
            **{f"annotation_correct_{key}": value for key, value in annotation.items()},
            "annotation_length_score": 3, "annotation_length_annotator_kind": "CODE",
        }  # fmt: skip

    rows = [
        row("e1", 1, "so", score=1.0, label="correct", annotator_kind="LLM", error=""),
        row("e1", 2, "so", score=0.0, label="incorrect", annotator_kind="LLM", error=""),
        row("e1", 3, "not so", score=0.0, label="", annotator_kind="LLM", error=""),
        row("e2", 1, "thus", score="", label="", annotator_kind="LLM", error="timed out"),
    ]
    found = loaded(table(tmp_path / "experiment.csv", rows))
    assert (found.format, scores(found, "correct")) == ("phoenix", [1.0, 0.0, 0.0, "error"])
    assert [item.responses for item in found.items] == [
        {"model": "so"}, {"model": "not so"}, {"model": "thus"},
    ]  # fmt: skip
    assert found.items[0].instruction == "why?"
    assert found.items[0].ground_truth == "so"


def test_phoenix_annotations_of_spans(tmp_path: Path) -> None:
    rows = [
        {"id": "1", "name": "correct", "annotator_kind": "LLM", "span_id": "s1",
         "result": {"score": 1.0, "label": "correct", "explanation": "because"}},
        {"id": "2", "name": "correct", "annotator_kind": "HUMAN", "span_id": "s1",
         "user_id": "ann", "result": {"label": "incorrect"}},
        {"id": "3", "name": "length", "annotator_kind": "CODE", "span_id": "s1",
         "result": {"score": 7}},
    ]  # fmt: skip
    found = loaded(write_json(tmp_path / "annotations.json", {"data": rows, "next_cursor": None}))
    assert (found.format, scores(found, "correct")) == ("phoenix", [1.0])
    assert scores(found, "human:ann") == [0.0]
    assert len(found.judgements) == 2


def test_langsmith_feedback_and_experiments(tmp_path: Path) -> None:
    feedback = [
        {"run_id": "r1", "key": "correctness", "score": 1, "comment": "yes",
         "feedback_source": {"type": "model"}},
        {"run_id": "r1", "key": "correctness", "score": 0, "feedback_source": {"type": "app"}},
        *({"run_id": f"run {name}", "session_id": name, "key": "preference", "score": score,
           "comparative_experiment_id": "c", "feedback_group_id": "g1"}
          for name, score in (("y", 0), ("x", 1))),
    ]  # fmt: skip
    found = loaded(jsonl(tmp_path / "feedback.jsonl", feedback))
    assert found.format == "langsmith"
    assert (scores(found, "correctness"), scores(found, "human:annotator")) == ([1.0], [0.0])
    assert ("preference", "x > y", "x") in verdicts(found)
    assert not found.order_known
    rows = [{"example_id": "e1", "inputs.question": "why?", "outputs.answer": "so",
             "reference.answer": "b", "feedback.correct": "0.25"}]  # fmt: skip
    found = loaded(table(tmp_path / "experiment.csv", rows))
    assert (found.format, scores(found, "correct")) == ("langsmith", [0.25])
