"""Every Eval Ever records: fields, values and standard errors; checked against the schema."""

from __future__ import annotations

import json
import math
import zipfile
from pathlib import Path
from typing import Any

import pytest

from studies.domain import Ask, Judgement, Verdict
from studies.errors import StudyError
from studies.exchange.every_eval_ever import (
    _build_evaluation_result,
    _build_source_data,
    _list_model_kind_and_value,
    _make_archive_path,
    _Scores,
    find_schema_faults,
)
from studies.exchange.export import write_export
from studies.exchange.recorded_studies import import_verdicts
from studies.spec.study import DataSpec, Study
from studies.store.store import Store
from tests.page_words import pattern


def records_of(store: Store, study: str, path: Path) -> dict[str, dict[str, Any]]:
    written = write_export(store, study, "every-eval-ever", path)
    with zipfile.ZipFile(path) as archive:
        found = {name: json.loads(archive.read(name)) for name in archive.namelist()}
    assert written == len(found)
    assert all(name.startswith("data/") and name.endswith(".json") for name in found)
    assert [list(find_schema_faults(record)) for record in found.values()] == [[]] * len(found)
    return {record["model_info"]["name"]: record for record in found.values()}


def battles(path: Path) -> Path:
    rows = [
        {"question_id": f"q{k}", "model_a": "org/x", "model_b": "y", "judge": "gpt",
         "winner": ("model_a", "tie", "model_b", "model_a")[k]}
        for k in range(4)
    ]  # fmt: skip
    path.write_text(json.dumps(rows), encoding="utf-8")
    return path


def test_win_rates_are_written_for_each_model_and_judge(store: Store, tmp_path: Path) -> None:
    import_verdicts(store, battles(tmp_path / "b.json"), "b")
    found = records_of(store, "b", tmp_path / "out.zip")
    assert found.keys() == {"org/x", "y"}
    assert found["org/x"]["model_info"]["developer"] == "org"
    assert found["y"]["model_info"]["id"] == "unknown/y"
    (result,) = found["org/x"]["evaluation_results"]
    details = result["score_details"]
    assert details["score"] == 0.625
    spread = sum((v - 0.625) ** 2 for v in (1, 0.5, 0, 1))
    error = details["uncertainty"]["standard_error"]["value"]
    assert error == pytest.approx(math.sqrt(4 / 3 * spread) / 4)
    judges = result["metric_config"]["llm_scoring"]["judges"]
    assert judges == [{"model_info": {"name": "gpt", "id": "gpt"}}]
    assert (result["metric_config"]["min_score"], result["metric_config"]["max_score"]) == (0, 1)


def test_scores_and_people_are_written(store: Store, tmp_path: Path) -> None:
    rows = [{"q": f"q{k}", "m": "mine", "s": k, "who": "ann"} for k in range(3)]
    path = tmp_path / "s.json"
    path.write_text(json.dumps(rows), encoding="utf-8")
    mapping = {"q": "instruction", "m": "contestant", "s": "score", "who": "person"}
    import_verdicts(store, path, "s", mapping=mapping)
    (result,) = records_of(store, "s", tmp_path / "out.zip")["mine"]["evaluation_results"]
    assert result["score_details"]["score"] == 1.0
    assert result["metric_config"]["additional_details"] == {"judge": "a person"}


def test_a_record_with_a_fault_is_named(store: Store, tmp_path: Path) -> None:
    import_verdicts(store, battles(tmp_path / "b.json"), "b")
    record = next(iter(records_of(store, "b", tmp_path / "out.zip").values()))
    del record["model_info"]["id"]
    record["more"] = 1
    record["evaluation_results"][0]["score_details"]["score"] = "high"
    record["source_metadata"]["source_type"] = "paper"
    assert list(find_schema_faults(record)) == [
        "record.source_metadata.source_type: 'paper' is not one of documentation, evaluation_run",
        "record.model_info.id: required",
        "record.evaluation_results[0].score_details.score: expected number, found str",
        "record.more: unknown field",
    ]


def test_a_study_without_usable_verdicts_is_refused(store: Store, tmp_path: Path) -> None:
    rows = [{"model_a": "x", "model_b": "y", "winner": ""}, {"model_a": "x", "model_b": "y"}]
    path = tmp_path / "b.json"
    path.write_text(json.dumps(rows), encoding="utf-8")
    import_verdicts(store, path, "b", format="arena")
    with pytest.raises(StudyError, match=pattern("no usable verdict", "score")):
        write_export(store, "b", "every-eval-ever", tmp_path / "out.zip")


def test_the_reference_is_no_model_in_comparisons_or_alone() -> None:
    def points(pick: Any, *shown: str, scores: tuple[float, ...] = ()) -> list[tuple]:
        asked = Ask("k", "q", "j", "p", shown, ("A", "B")[: len(shown)])
        return _list_model_kind_and_value(Judgement(asked, "ok", Verdict(pick, 1, scores)))

    assert points(0, "x", "@reference") == [("x", "win rate", 1.0)]
    assert points("tie", "x", "y") == [("x", "win rate", 0.5), ("y", "win rate", 0.5)]
    assert points(None, "x", scores=(4.0,)) == [("x", "score", 4.0)]
    assert points(None, "@reference", scores=(4.0,)) == points(None, "x", "y") == []


@pytest.mark.parametrize(
    ("study", "model", "folders"),
    [
        ("my study", "org/x", "my_study/org/x"),
        ("s", "y", "s/unknown/y"),
        ("..", "org/../up", "_/org/_up"),
        ("a/b", "org/", "a_b/org/_"),
        (".hidden.", "o/v1.5", "hidden/o/v1.5"),
    ],
)
def test_a_path_in_the_archive_has_three_safe_folders(study: str, model: str, folders: str) -> None:
    path = _make_archive_path(Study(study), model)
    assert path.startswith("data/") and path.endswith(".json")
    assert path.removeprefix("data/").rpartition("/")[0] == folders
    assert path != _make_archive_path(Study(study), model), "each record has a name of its own"


def test_the_error_of_a_mean_has_questions_as_clusters() -> None:
    """Values 1, 1, 0, 0 of two questions: deviations ½ + ½ and −½ − ½, so √(2/1 · 2) / 4 = ½. One
    question has no error, and neither has its record."""
    two = _Scores([1.0, 1.0, 0.0, 0.0], ["a", "a", "b", "b"])
    assert (two.mean, two.standard_error) == (0.5, 0.5)
    one = _Scores([1.0, 0.0, 1.0, 1.0], ["a"] * 4)
    assert (one.mean, one.standard_error) == (0.75, None)
    for scores, error in ((two, 0.5), (one, None)):
        result = _build_evaluation_result(Study("s"), ("j", "p", "win rate"), scores)
        found = result["score_details"]["uncertainty"]
        assert found["num_samples"] == 4
        assert found.get("standard_error", {}).get("value") == error
        assert result["score_details"]["details"] == {"questions": "2" if error else "1"}


def test_a_hub_dataset_is_named_without_config_and_revision() -> None:
    for source, found in (
        ("hub:owner/name:config@main", {"dataset_name": "owner/name", "source_type": "hf_dataset",
                                        "hf_repo": "owner/name"}),
        ("folder/items.jsonl", {"dataset_name": "items.jsonl", "source_type": "other"}),
    ):  # fmt: skip
        assert _build_source_data(Study("s", data=DataSpec(source))) == found


def test_a_judgement_without_a_verdict_has_no_points() -> None:
    asked = Ask("k", "q", "j", "p", ("x", "y"), ("A", "B"))
    assert _list_model_kind_and_value(Judgement(asked, "unreadable")) == []
