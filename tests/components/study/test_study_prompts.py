"""Prompts on the page: as sent on a real item, checked while written, saved as a new version."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

from components.study import draw as study_draw
from components.study.bench import bench
from components.study.prompt_list import prompt_list, protocols_of
from components.study.prompt_panel import NEW, as_sent, compared, editor_side, shown_prompt
from components.study.prompts_tab import imported, saved
from components.study.sheet import START, View, prompts_on_offer, read_sheet
from judges.plan import asks_of
from judges.prompt_library import check_prompt

HERE = Path()


def test_what_is_shown_as_sent_is_what_is_sent():
    look = bench(START.replace("model: embedded", "model: simulated"), HERE)
    assert look.plan is not None
    shown = shown_prompt(look.sheet, View())
    item = look.items[0]
    sent = as_sent(look, shown.prompt, item)
    asked = [one for one in asks_of(look.plan) if one.ask.item == item.id]
    same = [one for one in asked if one.ask.shown == sent.shown]
    assert same and list(sent.messages) == same[0].call.messages


def test_an_embedded_judge_is_shown_the_turn_it_continues():
    look = bench(START, HERE)
    sent = as_sent(look, shown_prompt(look.sheet, View()).prompt, look.items[0])
    assert sent.messages[-1]["role"] == "assistant"


def test_variables_are_chips_and_the_item_stands_out_from_the_template():
    html = study_draw.prompt_body(bench(START, HERE), View())
    assert '<span class="eh-var">$first</span>' in html
    assert '<span class="eh-own">Question: </span>Write a Python' in html


def test_what_there_is_to_know_about_a_prompt_of_ours_is_no_alarm(tmp_path):
    html = study_draw.prompt_body(bench(START, tmp_path), View())
    assert '<p class="hint">To know: without $fence' in html and "eh-notice" not in html
    mine = (tmp_path / "prompts" / "mine-v1.yaml").resolve()
    mine.parent.mkdir()
    ours = shown_prompt(read_sheet(START, tmp_path), View()).prompt.yaml
    mine.write_text(ours.replace("name: brief-letters", "name: mine"), encoding="utf-8")
    html = study_draw.prompt_body(
        bench(START.replace("brief-letters", "prompts/mine-v1.yaml"), tmp_path), View()
    )
    assert "<b>Mind:</b>" in html and "without $fence" in html and "To know" not in html


def test_a_prompt_from_the_list_is_ticked_by_its_name_and_says_its_protocol():
    html = prompt_list(read_sheet(START, HERE))
    assert 'aria-checked="true" aria-label="Ask with brief-letters"' in html
    assert 'aria-checked="false" aria-label="Ask with mt-bench-pair"' in html
    assert "visit-extraction" not in html and "creation-describe" not in html  # these judge nothing
    assert protocols_of(read_sheet(START, HERE)) == {"pairwise"}


def test_a_prompt_that_is_not_there_is_said_in_its_place():
    html = prompt_list(read_sheet(START.replace("brief-letters", "gone.yaml"), HERE))
    assert "not found: no prompt of this name, and no file at this path" in html


def test_what_a_new_prompt_begins_with_can_be_saved_as_it_is():
    checked = check_prompt(NEW)
    assert checked.usable and checked.problems == ()


def test_the_editor_says_what_is_wrong_while_somebody_types():
    look = bench(START, HERE)
    assert "unknown variable $frist" in editor_side(
        look, View(), NEW.replace("$first\n", "$frist\n")
    )
    assert "Cannot be saved" in editor_side(look, View(), "name: x\n")
    fine = editor_side(look, View(), NEW)
    assert "every variable is known" in fine and "as sent" in fine


def test_a_saved_prompt_is_a_new_version_and_the_study_asks_with_it(tmp_path):
    offered = {one.prompt.name: one for one in prompts_on_offer(tmp_path)}
    draft = offered["brief-letters"].prompt.yaml.replace("better", "clearer")
    text, view = saved(draft, START, View(mode="editor"), tmp_path)
    study = read_sheet(text, tmp_path)
    assert study.prompts == ["prompts/brief-letters-v2.yaml"]
    assert (view.mode, view.prompt) == ("side", study.prompts[0])
    assert "version 2, sha" in view.said
    look = bench(text, tmp_path)
    assert look.plan is not None and "clearer" in look.plan.prompts[0].yaml
    assert "yours, sha" in prompt_list(look.sheet)
    again, _ = saved(draft, text, view, tmp_path)
    assert read_sheet(again, tmp_path).prompts == study.prompts  # said already: no version 3


def test_a_prompt_that_cannot_be_asked_is_not_saved(tmp_path):
    text, view = saved("name: x\n", START, View(mode="editor"), tmp_path)
    assert text == START and "Not saved." in view.said
    assert not (tmp_path / "prompts").exists()


def test_prompts_of_mt_bench_are_imported_and_what_does_not_fit_is_said(tmp_path):
    lines = [
        {"name": "pair-v2", "type": "pairwise", "system_prompt": "Be fair.",
         "prompt_template": "Q {question}\nA {answer_a}\nB {answer_b}", "output_format": "[[A]]"},
        {"name": "two-turns", "type": "pairwise", "system_prompt": "",
         "prompt_template": "{question_1}", "output_format": "[[A]]"},
    ]  # fmt: skip
    file = tmp_path / "judge_prompts.jsonl"
    file.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    view = imported(file, View(), tmp_path)
    assert "1 prompt, now under Prompts." in view.said
    assert "two-turns" in view.said
    assert view.prompt == "prompts/pair-v2-v1.yaml"


def test_two_prompts_stand_side_by_side_with_their_own_words_marked():
    look = bench(START, HERE)
    view = View(mode="compare", prompt="brief-letters", other="brief-warning")
    html = compared(look, view)
    assert (
        "<mark>" in html and "brief-letters, version" in html and "brief-warning, version" in html
    )
    assert "They say the same" in compared(look, replace(view, other="brief-letters"))
