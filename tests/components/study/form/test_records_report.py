"""Tests of the records report: format, column mapping, joins, gaps, escaped text."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from components.study.file.lenient_study import START_YAML, FormState
from components.study.file.yaml_edit import put_value
from components.study.form.data_step.data_source import source_card
from components.study.form.data_step.records_report import (
    comparisons_html,
    count_planned_orders,
    item_html,
    records_html,
)
from components.study.form.data_step.slice_form import slice_form
from components.study.form_changes import apply_changes
from components.study.form_html import render_records, render_slice_profile, render_title
from components.study.plan.study_preview import build_preview
from components.study.steps.blockers import find_blockers_besides_keys
from tests.page_words import says

ROWS = (
    ("nr", "Frage", "gpt4_response", "llama answer"),
    ("1", "What is the capital of Australia?", "Canberra, by a compromise.", "Sydney, I am sure."),
    ("2", "Name a prime between 20 and 30.", "23: 2 and 3 do not divide it.", "21, obviously."),
)
TABLE = "\n".join(",".join(f'"{cell}"' for cell in row) for row in ROWS) + "\n"


def on(source: str, text: str = START_YAML) -> str:
    bare = put_value(put_value(text, ("contestants",), None), ("data", "count"), None)
    return put_value(bare, ("data", "source"), source)


@pytest.fixture
def answers(tmp_path: Path) -> Path:
    """Three questions; y lacks one answer and has an empty one."""
    rows = [
        {"id": "q1", "instruction": "<script>alert(1)</script>", "responses": {"x": "a", "y": "b"}},
        {"id": "q2", "instruction": "i", "responses": {"x": "a", "y": " "}},
        {"id": "q3", "instruction": "i", "responses": {"x": "<img src=x onerror=alert(1)>"}},
    ]
    text = "".join(json.dumps(row) + "\n" for row in rows)
    (tmp_path / "items.jsonl").write_text(text, encoding="utf-8")
    return tmp_path


def test_the_preview_says_that_its_questions_are_in_random_order(tmp_path):
    text = put_value(START_YAML, ("data", "count"), 30)
    html = comparisons_html(build_preview(text, tmp_path), FormState())
    assert says(html, "1 to 3 of 30 questions", "random order")
    alone = comparisons_html(
        build_preview(put_value(text, ("data", "count"), 1), tmp_path), FormState()
    )
    assert "random order" not in alone


def test_orders_are_named_if_the_plan_has_several(answers):
    text = on("items.jsonl")
    assert says(comparisons_html(build_preview(text, answers), FormState()), "first of 2 orders")
    for other in (put_value(text, ("pair_orders",), "one"), put_value(text, ("prompts",), ["no"])):
        html = comparisons_html(build_preview(other, answers), FormState())
        assert "1 to 3 of 3" in html and "order" not in html
    plan = build_preview(text, answers).plan
    assert count_planned_orders(plan) == 2, "q1 has two answers"
    assert count_planned_orders(replace(plan, items=plan.items[1:])) == 1, "none to compare"


def test_a_guessed_mapping_of_an_unknown_table_is_applied_only_when_confirmed(tmp_path):
    (tmp_path / "mine.csv").write_text(TABLE, encoding="utf-8")
    text = on("mine.csv")
    look = build_preview(text, tmp_path)
    html = records_html(look, FormState())
    assert says(html, "guess, not applied", "yet")
    assert "answers of gpt4" in html and says(html, "What", "capital")
    assert look.plan is None
    made, view = apply_changes(text, FormState(), [
        {"n": 1, "do": "map", "mapping": {"gpt4_response": "responses.gpt4",
                                         "llama answer": "responses.llama"}},
        {"n": 2, "set": "mapping.Frage", "to": "instruction"},
        {"n": 3, "set": "mapping.nr", "to": "id"},
    ], tmp_path)  # fmt: skip
    look = build_preview(made, tmp_path)
    assert look.data_error == "" and look.contestants == ["gpt4", "llama"]
    assert [item.id for item in look.items] == ["1", "2"]
    assert says(records_html(look, view), "saved", "study")


def test_missing_and_empty_answers_are_counted_before_the_run(answers):
    html = records_html(build_preview(on("items.jsonl"), answers), FormState())
    assert "Coverage" in html
    row = html[html.index("<td>y</td>") :].split("</tr>")[0]
    # found 1, missing 1, empty 1
    assert [part.split("<")[0] for part in row.split(">") if part[:1].isdigit()] == ["1", "1", "1"]


def test_an_upload_of_questions_and_answers_reports_how_they_joined(tmp_path):
    (tmp_path / "q.csv").write_text(
        "id,instruction\n1,Say one.\n2,Say two.\n3,Say three.\n", encoding="utf-8"
    )
    (tmp_path / "m.csv").write_text("id,response\n1,one\n2,\n2,two\n9,nine\n", encoding="utf-8")
    (tmp_path / "n.csv").write_text("id,response\n1,I\n2,II\n3,III\n", encoding="utf-8")
    text = on("q.csv")
    for path, value in (
        (("data", "mapping"), {"id": "id", "instruction": "instruction"}),
        (("data", "files"), {"m": "m.csv", "n": "n.csv"}),
    ):
        text = put_value(text, path, value)
    look = build_preview(text, tmp_path)
    assert look.data_error == ""
    html = records_html(look, FormState())
    assert "Join report" in html and "answers to 3 questions" in html
    for kind in ("missing", "empty", "duplicate", "conflicting", "unknown"):
        assert f">{kind}</th>" in html
    assert "m, missing: 3" in html and "m, unknown: 9" in html


def test_text_from_data_is_inert_everywhere(answers):
    look = build_preview(on("items.jsonl"), answers)
    for view in (FormState(), FormState(item=2)):
        html = item_html(look, view) + render_records(look, view) + render_slice_profile(look, view)
        assert "<script>alert" not in html and "<img src=x" not in html


def test_an_item_past_the_end_is_the_last_one(answers):
    html = item_html(build_preview(on("items.jsonl"), answers), FormState(item=99))
    assert "Item 3 of 3" in html and "q3" in html


def test_the_hub_offers_what_people_know_with_licence_and_size():
    html = source_card(build_preview(START_YAML, Path()), FormState(kind="hub"))
    assert "lmsys/mt_bench_human_judgments" in html
    assert "CC BY 4.0" in html
    assert 'data-key="@hub"' in html  # a token is not a field of the study


def test_a_stranger_is_not_offered_the_files_of_the_machine(monkeypatch):
    assert 'value="file"' in source_card(build_preview(START_YAML, Path()), FormState())
    monkeypatch.setenv("EVENHAND_PUBLIC", "1")
    assert 'value="file"' not in source_card(build_preview(START_YAML, Path()), FormState())


def test_the_slice_offers_the_categories_of_the_source():
    html = slice_form(build_preview(START_YAML, Path()), FormState())
    assert html.count('data-field="data.categories"') == 8
    assert says(html, "5", "8 categories", "sample")
    assert says(html, "@reference, compared", "model")


@pytest.mark.records
def test_visit_bench_is_detected_and_its_missing_answers_counted(records, monkeypatch):
    look = build_preview(on(str(records / "visit")), Path())
    html = records_html(look, FormState())
    assert "<b>visit-bench</b>: 578 items" in html
    gpt = html[html.index("<td>gpt-4v</td>") :].split("</tr>")[0]
    assert "<td>575</td>" in gpt and '<span class="w">3</span>' in gpt


def test_a_known_format_with_a_fault_in_it_is_no_unknown_table(tmp_path):
    line = {"id": "q1", "instruction": "Say hello.", "responses": {"x": 5, "y": "hello"}}
    (tmp_path / "items.jsonl").write_text(json.dumps(line) + "\n", encoding="utf-8")
    look = build_preview(on("items.jsonl"), tmp_path)
    assert says(render_title(look), "items.jsonl cannot be read")
    reasons = [one.sentence for one in find_blockers_besides_keys(look) if "line 1" in one.sentence]
    html = records_html(look, FormState())
    assert len(reasons) == 1 and "line 1" not in html  # the fault is said once
    assert "Meaning of the columns" not in html


def pair_lines(*replies: str) -> str:
    rows = [
        {"Frage": f"question {k}", "answer1": {"name": "x", "text": f"<b>one {k}</b>"},
         "answer2": {"name": "y", "text": f"two {k}"}, "said": reply}
        for k, reply in enumerate(replies)
    ]  # fmt: skip
    return "".join(json.dumps(row) + "\n" for row in rows)


def test_a_mapping_shows_the_first_three_comparisons_as_they_will_be_read(tmp_path):
    replies = ("I say [[A]]", "no, [[B]]", "[[C]]", "[[A]]", "[[B]]")
    (tmp_path / "mine.jsonl").write_text(pair_lines(*replies), encoding="utf-8")
    mapping = {"Frage": "instruction", "answer1.name": "first", "answer2.name": "second",
               "answer1.text": "response_first", "answer2.text": "response_second",
               "said": "reply"}  # fmt: skip
    text = put_value(on("mine.jsonl"), ("data", "mapping"), mapping)
    html = records_html(build_preview(text, tmp_path), FormState())
    assert "First verdicts" in html and "mapping.answer1.name" in html
    shown = html[html.index("First verdicts") :]
    assert [shown.count(f"question {k}") >= 1 for k in range(4)] == [True, True, True, False]
    assert says(shown, "recorded: x wins") and says(shown, "Verdict", "recorded: tie")
    assert "&lt;b&gt;one 0&lt;/b&gt;" in shown and "<b>one 0" not in shown
    made, _ = apply_changes(text, FormState(), [
        {"n": 1, "set": "data.read", "to": "arena-hard"}], tmp_path)  # fmt: skip
    look = build_preview(made, tmp_path)
    assert look.lenient_study.value_in_file("data", "read") == "arena-hard"
    assert says(records_html(look, FormState()), "no usable verdict", "(unreadable)")


def test_a_preview_tells_what_a_mapping_lacks(tmp_path):
    (tmp_path / "mine.jsonl").write_text(pair_lines("hm"), encoding="utf-8")
    text = put_value(on("mine.jsonl"), ("data", "mapping"), {"said": "meta.said"})
    html = render_records(build_preview(text, tmp_path), FormState())
    assert says(html, "Choose", "column", "question")
    assert "No preview yet." in html


def test_one_change_of_a_guessed_mapping_keeps_the_rest_of_the_guess(tmp_path):
    (tmp_path / "mine.csv").write_text(TABLE, encoding="utf-8")
    made, _ = apply_changes(on("mine.csv"), FormState(), [
        {"n": 1, "set": "mapping.Frage", "to": "instruction"}], tmp_path)  # fmt: skip
    mapping = build_preview(made, tmp_path).lenient_study.value_in_file("data", "mapping")
    assert mapping == {"gpt4_response": "responses.gpt4", "llama answer": "responses.llama",
                       "Frage": "instruction"}  # fmt: skip
