"""Strangers use the page: a study file is theirs, the machine is not."""

from __future__ import annotations

from pathlib import Path

import pytest

from components.study.bench import bench
from components.study.edit import put
from components.study.judge_form import judge_form
from components.study.sheet import START
from tests.judges.small_studies import write_items


@pytest.mark.parametrize(
    "source",
    ["items.jsonl", "/etc/passwd", "~/x.csv", "uploads/../items.jsonl", "${EVENHAND_RECORDS}/../x"],
)
def test_a_file_of_the_machine_is_not_read_for_a_stranger(source, tmp_path, monkeypatch):
    write_items(tmp_path / "items.jsonl", 2)
    text = put(put(START, ("data", "source"), source), ("contestants",), None)
    monkeypatch.setenv("EVENHAND_PUBLIC", "1")
    look = bench(text, tmp_path)
    assert look.loaded is None
    assert "is a file of the machine that runs this page" in look.data_fault
    further = put(START, ("data", "files"), {"m": "/etc/passwd"})
    assert "/etc/passwd" in bench(further, tmp_path).data_fault


def test_uploads_and_the_built_in_set_are_read(tmp_path, monkeypatch):
    monkeypatch.setenv("EVENHAND_PUBLIC", "1")
    (tmp_path / "uploads").mkdir()
    write_items(tmp_path / "uploads" / "a-items.jsonl", 2)
    text = put(put(START, ("data", "source"), "uploads/a-items.jsonl"), ("contestants",), None)
    assert len(bench(text, tmp_path).items) == 2
    assert bench(START, tmp_path).plan is not None


@pytest.mark.parametrize(
    ("path", "value", "said"),
    [
        (("prompts",), ["../other.yaml"], "is a file of this machine"),
        (("prompts",), ["prompts/../../x.yaml"], "is a file of this machine"),
        (
            ("judges",),
            [
                {
                    "name": "g",
                    "model": "m",
                    "base_url": "https://x.example/v1",
                    "api_key_env": "HOME",
                }
            ],
            "names a variable of this machine",
        ),
    ],
)
def test_neither_prompts_nor_keys_of_the_owner_are_used(path, value, said, monkeypatch):
    monkeypatch.setenv("EVENHAND_PUBLIC", "1")
    assert said in bench(put(START, path, value), Path()).fault


def test_a_stranger_is_not_asked_for_a_variable(monkeypatch):
    judge = {"name": "g", "model": "m", "base_url": "https://x.example/v1"}
    assert "api_key_env" in judge_form(judge, "judge.0", "g")
    monkeypatch.setenv("EVENHAND_PUBLIC", "1")
    assert "api_key_env" not in judge_form(judge, "judge.0", "g")
