"""Tests of the prompt panel: preview on an item, checks while editing, saved versions."""

from __future__ import annotations

import html
import json
import os
from dataclasses import replace
from pathlib import Path

import pytest

from components.study import form_html as study_draw
from components.study.file.lenient_study import (
    START_YAML,
    FormState,
    available_prompts,
    read_lenient_study,
)
from components.study.files_tab import import_mt_bench_prompts, save_prompt_draft
from components.study.form.prompts import (
    NEW_PROMPT_YAML,
    current_prompt,
    editor_preview,
    preview_messages,
    prompt_differences_html,
    prompt_heading,
    prompt_library,
    prompt_protocols,
)
from components.study.form_changes import apply_changes
from components.study.plan.study_preview import build_preview
from judges.planning.plan import asks_of
from judges.rendering.prompt_library import check_prompt
from tests.page_words import says

HERE = Path()
OPEN = FormState(panel="prompts")


def test_what_is_shown_as_sent_is_what_is_sent():
    look = build_preview(START_YAML.replace("model: embedded", "model: simulated"), HERE)
    assert look.plan is not None
    shown = current_prompt(look.lenient_study, FormState())
    item = look.items[0]
    sent = preview_messages(look, shown.prompt, item)
    asked = [one for one in asks_of(look.plan) if one.ask.item == item.id]
    same = [one for one in asked if one.ask.shown == sent.shown]
    assert same and list(sent.messages) == same[0].call.messages


def test_an_embedded_judge_is_shown_the_turn_it_continues():
    look = build_preview(START_YAML, HERE)
    sent = preview_messages(
        look, current_prompt(look.lenient_study, FormState()).prompt, look.items[0]
    )
    assert sent.messages[-1]["role"] == "assistant"


def test_variables_are_chips_and_the_item_stands_out_from_the_template():
    html = study_draw.render_prompt_body(build_preview(START_YAML, HERE), OPEN)
    assert '<span class="eh-var">$first</span>' in html
    assert '<span class="eh-own">Question: </span>Write a Python' in html


def test_a_warning_about_a_built_in_prompt_is_shown_as_a_note(tmp_path):
    html = study_draw.render_prompt_body(build_preview(START_YAML, tmp_path), OPEN)
    assert '<p class="hint">Note: without $fence' in html and "eh-notice" not in html
    mine = (tmp_path / "prompts" / "mine-v1.yaml").resolve()
    mine.parent.mkdir()
    ours = current_prompt(read_lenient_study(START_YAML, tmp_path), FormState()).prompt.yaml
    mine.write_text(ours.replace("name: brief-letters", "name: mine"), encoding="utf-8")
    html = study_draw.render_prompt_body(
        build_preview(START_YAML.replace("brief-letters", "prompts/mine-v1.yaml"), tmp_path), OPEN
    )
    assert "<b>Warning:</b>" in html and "without $fence" in html and "Note:" not in html


def test_a_prompt_from_the_list_is_ticked_by_its_name_and_says_its_protocol():
    html = prompt_library(read_lenient_study(START_YAML, HERE))
    assert 'aria-checked="true" aria-label="Use brief-letters"' in html
    assert 'aria-checked="false" aria-label="Use mt-bench-pair"' in html
    assert "visit-extraction" not in html and "creation-describe" not in html  # these judge nothing
    assert prompt_protocols(read_lenient_study(START_YAML, HERE)) == {"pairwise"}


def test_a_missing_prompt_is_reported_in_the_list():
    html = prompt_library(
        read_lenient_study(START_YAML.replace("brief-letters", "gone.yaml"), HERE)
    )
    assert says(html, "not found: there", "prompt")


def test_what_a_new_prompt_begins_with_can_be_saved_as_it_is():
    checked = check_prompt(NEW_PROMPT_YAML)
    assert checked.usable and checked.problems == ()


def test_the_editor_reports_problems_while_typing():
    look = build_preview(START_YAML, HERE)
    assert "unknown variable $frist" in editor_preview(
        look, FormState(), NEW_PROMPT_YAML.replace("$first\n", "$frist\n")
    )
    assert "cannot be saved" in editor_preview(look, FormState(), "name: x\n")
    fine = editor_preview(look, FormState(), NEW_PROMPT_YAML)
    assert says(fine, "every variable", "known") and "as sent" in fine


def test_a_prompt_file_that_is_edited_in_place_is_read_again(tmp_path):
    file = tmp_path / "prompts" / "own.yaml"
    file.parent.mkdir()
    file.write_text(NEW_PROMPT_YAML)
    count = len(available_prompts(tmp_path))
    file.write_text(NEW_PROMPT_YAML + "# edited\n")
    os.utime(file, ns=(1, 1))
    offered = available_prompts(tmp_path)
    assert len(offered) == count
    assert [one for one in offered if one.prompt.yaml.endswith("# edited\n")]


def test_a_saved_prompt_is_a_new_version_and_the_study_asks_with_it(tmp_path):
    offered = {one.prompt.name: one for one in available_prompts(tmp_path)}
    draft = offered["brief-letters"].prompt.yaml.replace("better", "clearer")
    text, view = save_prompt_draft(draft, START_YAML, FormState(mode="editor"), tmp_path)
    study = read_lenient_study(text, tmp_path)
    assert study.prompts == ["prompts/brief-letters-v2.yaml"]
    assert (view.mode, view.prompt) == ("side", study.prompts[0])
    assert "Saved as version 2." in view.notice_html
    both = {"n": 1, "do": "prompt", "prompt": "brief-letters", "on": True, "close": True}
    action = json.dumps({k: v for k, v in both.items() if k != "n"})
    assert action in html.unescape(view.notice_html)
    compared, _ = apply_changes(text, view, [both], tmp_path)
    plan = build_preview(compared, tmp_path).plan
    assert {one.name for one in plan.prompts} == {"brief-letters@1", "brief-letters@2"}
    look = build_preview(text, tmp_path)
    assert look.plan is not None and "clearer" in look.plan.prompts[0].yaml
    assert "yours, sha" in prompt_library(look.lenient_study)
    again, _ = save_prompt_draft(draft, text, view, tmp_path)
    assert (
        read_lenient_study(again, tmp_path).prompts == study.prompts
    )  # unchanged text: no version 3


def test_a_prompt_that_cannot_be_asked_is_not_saved(tmp_path):
    text, view = save_prompt_draft("name: x\n", START_YAML, FormState(mode="editor"), tmp_path)
    assert text == START_YAML and "Not saved." in view.notice_html
    assert not (tmp_path / "prompts").exists()


def test_prompts_of_mt_bench_are_imported_and_unsupported_ones_reported(tmp_path):
    lines = [
        {"name": "pair-v2", "type": "pairwise", "system_prompt": "Be fair.",
         "prompt_template": "Q {question}\nA {answer_a}\nB {answer_b}", "output_format": "[[A]]"},
        {"name": "two-turns", "type": "pairwise", "system_prompt": "",
         "prompt_template": "{question_1}", "output_format": "[[A]]"},
    ]  # fmt: skip
    file = tmp_path / "judge_prompts.jsonl"
    file.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    view = import_mt_bench_prompts(file, FormState(), tmp_path)
    assert says(view.notice_html, "1", "now under Prompts")
    assert "two-turns" in view.notice_html
    assert view.prompt == "prompts/pair-v2-v1.yaml"


def test_two_prompts_stand_side_by_side_with_their_own_words_marked():
    look = build_preview(START_YAML, HERE)
    state = FormState(mode="compare", prompt="brief-letters", other="brief-warning")
    html = prompt_differences_html(look, state)
    assert (
        "<mark>" in html and "brief-letters, version" in html and "brief-warning, version" in html
    )
    assert "messages are identical" in prompt_differences_html(
        look, replace(state, other="brief-letters")
    )


def test_of_a_single_item_the_drawer_shows_the_first_whatever_was_selected():
    look = build_preview(START_YAML.replace("count: 12", "count: 1"), HERE)
    state = replace(OPEN, item=3)
    prompt = current_prompt(look.lenient_study, state).prompt
    assert "on item 1 of 1" in prompt_heading(look, state, prompt)


@pytest.mark.parametrize(("items", "moves"), [(1, False), (2, True)])
def test_one_can_go_to_another_item_if_there_is_one(items: int, moves: bool) -> None:
    look = build_preview(START_YAML.replace("count: 12", f"count: {items}"), HERE)
    prompt = current_prompt(look.lenient_study, OPEN).prompt
    heading = prompt_heading(look, OPEN, prompt)
    assert f"on item 1 of {items}" in heading and ("next" in heading.lower()) is moves
