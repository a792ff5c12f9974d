"""Public mode: what a visitor's study file may not name or demand."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from components.study.file.lenient_study import START_YAML
from components.study.file.yaml_edit import put_value
from components.study.form.form_rows import judge_form
from components.study.plan import public_checks
from components.study.plan.study_preview import build_preview
from judges.judge_errors import PlanError
from judges.rendering.prompt import load_prompt
from studies.domain import JudgeSpec
from studies.errors import SourceError, StudyError
from studies.files.read_limits import MEGABYTE
from studies.spec.study import DataSpec, Study
from tests.judges.small_studies import write_items
from tests.page_words import says
from tests.studies.small_items import item


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


def study(**values: Any) -> Study:
    judge = JudgeSpec(name="g", model="m", endpoint="https://api.openai.com/v1")
    return Study("s", **{"judges": (judge,), "prompts": ("brief-letters",), **values})


def test_models_and_judges_with_their_prompts_are_limited_to_a_hundred(monkeypatch):
    monkeypatch.setenv("EVENHAND_PUBLIC", "1")
    check = public_checks.check_prompts_and_judges
    names = tuple(f"m{number}" for number in range(101))
    check(study(contestants=names[:100]))
    with pytest.raises(SourceError, match="101 models"):
        check(study(contestants=names))
    made = tuple(JudgeSpec(name=f"j{number}", model="simulated") for number in range(51))
    prompts = ("brief-letters", "brief-numbers")
    check(study(judges=made[:50], prompts=prompts))
    check(study(judges=made, prompts=()))
    with pytest.raises(SourceError, match="102 judges"):
        check(study(judges=made, prompts=prompts))
    monkeypatch.setenv("EVENHAND_PUBLIC", "0")
    check(study(contestants=names, judges=made, prompts=prompts))


@pytest.mark.parametrize(
    ("change", "refused"),
    [
        ({}, False),
        ({"timeout_s": 600.0, "max_attempts": 8}, False),
        ({"timeout_s": 600.1}, True),
        ({"idle_s": 601.0}, True),
        ({"connect_s": 601.0}, True),
        ({"max_attempts": 9}, True),
    ],
)
def test_no_call_of_a_visitor_takes_long_or_many_attempts(change, refused, monkeypatch):
    monkeypatch.setenv("EVENHAND_PUBLIC", "1")
    judge = replace(study().judges[0], **change)
    for made in (study(judges=(judge,)), study(extraction=judge)):
        if refused:
            with pytest.raises(StudyError, match="max_attempts up to 8"):
                public_checks.check_prompts_and_judges(made)
        else:
            public_checks.check_prompts_and_judges(made)
    monkeypatch.setenv("EVENHAND_PUBLIC", "0")
    public_checks.check_prompts_and_judges(study(judges=(judge,)))


def test_a_written_prompt_is_used_and_a_link_to_another_file_is_not(tmp_path, monkeypatch):
    monkeypatch.setenv("EVENHAND_PUBLIC", "1")
    (tmp_path / "prompts").mkdir()
    (tmp_path / "prompts" / "own.yaml").write_text("x")
    own = study(prompts=("prompts/own.yaml",), folder=tmp_path)
    public_checks.check_prompts_and_judges(own)
    (tmp_path / "secret.yaml").write_text("y")
    (tmp_path / "prompts" / "link.yaml").symlink_to(tmp_path / "secret.yaml")
    with pytest.raises(StudyError, match="link"):
        public_checks.check_prompts_and_judges(replace(own, prompts=("prompts/link.yaml",)))


def test_an_upload_that_is_or_holds_a_link_is_not_read(tmp_path, monkeypatch):
    monkeypatch.setenv("EVENHAND_PUBLIC", "1")
    secret = tmp_path / "secret"
    secret.mkdir()
    (secret / "a.jsonl").write_text("{}")
    folder = tmp_path / "home"
    (folder / "uploads" / "shards").mkdir(parents=True)
    (folder / "uploads" / "shards" / "a.jsonl").write_text("{}")
    public_checks.check_data_source(DataSpec("uploads/shards"), folder)
    (folder / "uploads" / "shards" / "b.jsonl").symlink_to(secret / "a.jsonl")
    (folder / "uploads" / "other").symlink_to(secret)
    for name in ("uploads/shards", "uploads/shards/b.jsonl", "uploads/other/a.jsonl"):
        with pytest.raises(StudyError, match=name):
            public_checks.check_data_source(DataSpec(name), folder)
    monkeypatch.setenv("EVENHAND_PUBLIC", "0")
    public_checks.check_data_source(DataSpec("uploads/other/a.jsonl"), folder)


@pytest.mark.parametrize("source", ["hub:owner/set", "probe", "${EVENHAND_RECORDS}/x.jsonl"])
def test_what_the_server_offers_is_read(source, monkeypatch, tmp_path):
    monkeypatch.setenv("EVENHAND_PUBLIC", "1")
    assert public_checks.is_public()
    public_checks.check_data_source(DataSpec(source), tmp_path)


def test_a_study_may_have_exactly_as_many_calls_as_the_page_accepts(monkeypatch):
    """Items of two answers, in both orders, with one judge and one prompt: 2 calls an item."""
    monkeypatch.setenv("EVENHAND_PUBLIC", "1")
    prompts = [load_prompt("brief-letters")]
    items = [item(f"q{number}") for number in range(2_501)]
    public_checks.check_ask_count(study(), items[:2_500], prompts)
    with pytest.raises(PlanError, match="at most 5,000 calls"):
        public_checks.check_ask_count(study(), items, prompts)
    two = study(judges=(study().judges[0],) * 2)
    public_checks.check_ask_count(two, items[:1_250], prompts)
    with pytest.raises(PlanError, match="about 5,000 calls"):
        public_checks.check_ask_count(two, items[:1_251], prompts)
    monkeypatch.setenv("EVENHAND_PUBLIC", "0")
    public_checks.check_ask_count(two, items, prompts)


def test_showings_are_counted_and_beyond_enough_estimated_from_the_first():
    """Six items, two orders: 12 showings. Of the first 5, item 3 is cut off: 4 showings of 2 items
    give 2 for each of 6 items."""
    items, prompt = [item(f"q{number}") for number in range(6)], load_prompt("brief-letters")
    assert public_checks._count_calls_per_judge(study(), items, prompt, 13) == 12
    assert public_checks._count_calls_per_judge(study(), items, prompt, 5) == 12
    assert public_checks._count_calls_per_judge(study(), items[:1], prompt, 2) == 2
    assert public_checks._count_calls_per_judge(study(), [], prompt, 5) == 0


@pytest.mark.parametrize(
    ("value", "rounded"),
    [
        (0.0, 0),
        (7.9, 7),
        (99.9, 99),
        (100.0, 100),
        (104.0, 100),
        (5_678.0, 5_700),
        (98_765, 99_000),
    ],
)
def test_an_estimate_has_two_digits(value, rounded):
    assert public_checks._round_estimate(value) == rounded


def test_uploads_may_fill_their_space_and_no_more(tmp_path, monkeypatch):
    monkeypatch.setenv("EVENHAND_PUBLIC", "1")
    folder = tmp_path / "uploads"
    public_checks.check_upload_space(folder, 200 * MEGABYTE)
    (folder / "inner").mkdir(parents=True)
    with (folder / "inner" / "a").open("wb") as file:
        file.truncate(50 * MEGABYTE)
    kept = 50 * MEGABYTE + (folder / "inner").lstat().st_size  # a folder has a size too
    public_checks.check_upload_space(folder, 200 * MEGABYTE - kept)
    with pytest.raises(StudyError):
        public_checks.check_upload_space(folder, 200 * MEGABYTE - kept + 1)
    with pytest.raises(StudyError, match=r"210 MB.* 200 MB"):
        public_checks.check_upload_space(folder, 160 * MEGABYTE)
    monkeypatch.setenv("EVENHAND_PUBLIC", "0")
    public_checks.check_upload_space(folder, 160 * MEGABYTE)
