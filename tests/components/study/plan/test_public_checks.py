"""Public mode: what a visitor's study file may not name or demand."""

from __future__ import annotations

from pathlib import Path

import pytest

from components.study.file.lenient_study import START_YAML
from components.study.file.yaml_edit import put_value
from components.study.form.form_rows import judge_form
from components.study.plan.study_preview import build_preview
from tests.judges.small_studies import write_items
from tests.page_words import says


@pytest.mark.parametrize(
    "source",
    [
        "items.jsonl",
        "/etc/passwd",
        "~/x.csv",
        "uploads/../items.jsonl",
        "${EVENHAND_RECORDS}/../x",
        "uploads",
        "uploads/*.jsonl",
        "uploads/a[b].jsonl",
    ],
)
def test_a_file_of_the_machine_is_not_read_for_a_stranger(source, tmp_path, monkeypatch):
    write_items(tmp_path / "items.jsonl", 2)
    text = put_value(put_value(START_YAML, ("data", "source"), source), ("contestants",), None)
    monkeypatch.setenv("EVENHAND_PUBLIC", "1")
    look = build_preview(text, tmp_path)
    assert look.records is None
    assert says(look.data_error, "machine", "runs", "page")
    further = put_value(START_YAML, ("data", "files"), {"m": "/etc/passwd"})
    assert "/etc/passwd" in build_preview(further, tmp_path).data_error
    parts = put_value(START_YAML, ("data", "parts"), ["/etc/passwd"])
    assert "/etc/passwd" in build_preview(parts, tmp_path).data_error


def test_uploads_and_the_built_in_set_are_read(tmp_path, monkeypatch):
    monkeypatch.setenv("EVENHAND_PUBLIC", "1")
    (tmp_path / "uploads").mkdir()
    write_items(tmp_path / "uploads" / "a-items.jsonl", 2)
    text = put_value(
        put_value(START_YAML, ("data", "source"), "uploads/a-items.jsonl"), ("contestants",), None
    )
    assert len(build_preview(text, tmp_path).items) == 2
    assert build_preview(START_YAML, tmp_path).plan is not None


@pytest.mark.parametrize(
    ("path", "value", "said"),
    [
        (("prompts",), ["../other.yaml"], "is a file of this server"),
        (("prompts",), ["prompts/../../x.yaml"], "is a file of this server"),
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
            "an environment variable of the server",
        ),
        (
            ("judges",),
            [
                {
                    "name": "g",
                    "model": "m",
                    "base_url": "https://api.openai.com/v1",
                    "timeout_s": 3600,
                }
            ],
            "timeout_s up to 600",
        ),
    ],
)
def test_neither_prompts_nor_keys_of_the_owner_are_used(path, value, said, monkeypatch):
    monkeypatch.setenv("EVENHAND_PUBLIC", "1")
    assert said in build_preview(put_value(START_YAML, path, value), Path()).plan_error


def test_a_stranger_is_not_asked_for_a_variable(monkeypatch):
    judge = {"name": "g", "model": "m", "base_url": "https://x.example/v1"}
    assert "api_key_env" in judge_form(judge, "judge.0", "g")
    monkeypatch.setenv("EVENHAND_PUBLIC", "1")
    assert "api_key_env" not in judge_form(judge, "judge.0", "g")
