"""Judges, questions and answers in Inspect's logs."""

from __future__ import annotations

import json
from typing import Any

import pytest

from studies.sources.cells import RowCells
from studies.sources.formats.inspect_log import (
    _input_text,
    _judge_and_prompt_of_scorer,
    _model_name,
    _output_text,
    list_logs,
)
from tests.studies.sources.log_files import inspect_header


@pytest.mark.parametrize(
    ("scorers", "roles", "scorer", "judge"),
    [
        ([{"name": "model_graded_qa", "options": {"model": "one"}}], {}, "model_graded_qa",
         ("one", "model_graded_qa")),
        ([{"name": "model_graded_qa", "options": {}}], {"grader": {"model": "g"}},
         "model_graded_qa", ("g", "model_graded_qa")),
        ([], {"grader": "g"}, "model_graded_fact", ("g", "model_graded_fact")),
        ([{"name": "other", "options": {"model": "one"}}], None, "model_graded_qa",
         ("evaluated", "model_graded_qa")),
        ([{"name": "mine", "options": {"model": ["one", {"model": "two"}]}}], {}, "mine",
         ("one, two", "mine")),
        ([{"name": "match", "options": None}], {"grader": "g"}, "match", ("match", "scorer")),
        (None, {}, "match", ("match", "scorer")),
    ],
)  # fmt: skip
def test_the_judge_of_a_scorer(scorers, roles, scorer, judge):
    header = RowCells({"model": "evaluated", "scorers": scorers, "model_roles": roles})
    assert _judge_and_prompt_of_scorer(header, scorer) == judge


def test_the_name_of_a_model():
    assert _model_name(None) == "" == _model_name({})
    assert _model_name("m") == _model_name({"model": "m"}) == _model_name(["m"]) == "m"


def message(role: str, content: Any) -> dict[str, Any]:
    return {"role": role, "content": content}


def test_the_question_is_what_system_and_user_said():
    parts = [{"type": "text", "text": "one"}, {"type": "image"}, "no part"]
    said = [message("system", "be brief"), message("assistant", "hm"), message("user", parts),
            message("user", ""), "no message"]  # fmt: skip
    assert _input_text(said) == "be brief\n\none\n"
    assert _input_text("plain") == "plain" and _input_text(None) == ""


def test_the_answer_is_the_first_choice_else_the_completion():
    first = {"message": message("assistant", "first")}
    assert _output_text(RowCells({"choices": [first], "completion": "c"})) == "first"
    empty = {"message": message("assistant", "")}
    assert _output_text(RowCells({"choices": [empty], "completion": "c"})) == "c"
    assert _output_text(RowCells({"choices": ["x"], "completion": "c"})) == "c"
    assert _output_text(RowCells({})) == ""


def test_logs_are_found_by_suffix_or_by_their_first_words(tmp_path):
    (tmp_path / "sub" / "deep").mkdir(parents=True)
    log = json.dumps(inspect_header())
    for name in ("a.json", "sub/b.json", "sub/deep/c.json", "no.txt"):
        (tmp_path / name).write_text(log)
    for name in ("x.eval", "sub/y.eval"):
        (tmp_path / name).write_bytes(b"")
    (tmp_path / "table.json").write_text('[{"version": 1}]')
    names = [path.relative_to(tmp_path).as_posix() for path in list_logs(tmp_path)]
    assert names == ["a.json", "sub/b.json", "sub/y.eval", "x.eval"]
    assert list_logs(tmp_path / "x.eval") == [tmp_path / "x.eval"]
    assert list_logs(tmp_path / "no.txt") == [] == list_logs(tmp_path / "missing.json")
