"""The form shows the study that the header names, and keeps what was changed in it."""

from __future__ import annotations

import re
from dataclasses import replace

import gradio as gr
import pytest

from components.home.study_list import study_state
from components.layout.header import study_size_html
from components.page.page_tab import create_page
from components.study.file.lenient_study import START_YAML, FormState
from components.study.file.yaml_edit import parse_yaml, put_value
from components.study.files_tab import save_and_show_new_study
from components.study.jobs import save_plan_for_run, stored_study_yaml
from components.study.plan.draft_studies import is_without_calls, save_new_study
from components.study.tab import open_study, save_form, show_initial_form
from judges.engine.engine import Engine
from tests.judges.small_studies import run_text
from tests.page_words import says

SIMULATED = "[{name: s, model: simulated, accuracy: 0.8, seed: 1}]"
TEXT = START_YAML.replace("\n- {name: embedded, model: embedded}", f" {SIMULATED}")


@pytest.fixture
def engine():
    made = Engine()
    yield made
    made.close()


def handler(page, name):
    return next(one for one in page.fns.values() if getattr(one.fn, "__name__", "") == name)


def text_and_state(outputs) -> tuple[str, FormState]:
    return outputs[0], outputs[1]


def test_a_new_study_is_in_the_store_before_its_first_call(store):
    outputs = save_and_show_new_study(store, TEXT, FormState(), {})
    text, state = text_and_state(outputs)
    assert state.study == "My study" and outputs[-1].value == "My study"
    assert is_without_calls(store, "My study")
    assert "no results yet" in study_size_html(store, "My study")
    assert study_state(store.studies()[0], ()).tab == "study"
    assert save_and_show_new_study(store, TEXT, state, {})[1].study == "My study 2"
    save_plan_for_run(text, store)  # Run fills the same study
    assert not is_without_calls(store, "My study") and len(store.studies()) == 2


def test_the_first_change_of_an_unsaved_form_saves_it(store, engine):
    state = FormState(opened=START_YAML)
    assert save_form(store, engine, START_YAML, state)[1].study == ""  # a drawer was opened
    text, state, menu = save_form(store, engine, put_value(START_YAML, ("repeats",), 2), state)
    assert state.study == menu.value == "My study"
    text, state, menu = save_form(store, engine, put_value(text, ("repeats",), 3), state)
    assert parse_yaml(stored_study_yaml(store, "My study"))["repeats"] == 3
    assert isinstance(menu, dict) and "value" not in menu  # the menu stays as it is


def test_a_new_name_renames_the_study_and_a_taken_one_is_refused(store, engine):
    first, _ = save_new_study(TEXT, store, "Mine")
    second, text = save_new_study(TEXT, store, "Other")
    state = FormState(study=second, opened=text)
    made, state, menu = save_form(store, engine, put_value(text, ("name",), "Burst"), state)
    assert state.study == menu.value == "Burst"
    assert {line.name for line in store.studies()} == {"Mine", "Burst"}
    made, state, _ = save_form(store, engine, put_value(made, ("name",), first), state)
    assert state.study == "Burst" and "Not renamed." in state.notice_html
    assert parse_yaml(made)["name"] == "Burst"


def test_the_form_follows_the_header_and_unsaved_changes_come_back(store):
    one, text = save_new_study(TEXT, store, "One")
    save_plan_for_run(text, store)  # from here on, changes wait for Run
    save_new_study(TEXT.replace("count: 12", "count: 5"), store, "Two")
    text, state = text_and_state(open_study(store, one, START_YAML, FormState(), {}))
    assert parse_yaml(text)["name"] == "One"
    changed = put_value(text, ("repeats",), 4)
    text, state = text_and_state(open_study(store, "Two", changed, state, {}))
    assert parse_yaml(text)["data"]["count"] == 5 and state.study == "Two"
    text, state = text_and_state(open_study(store, one, text, state, {}))
    assert parse_yaml(text)["repeats"] == 4
    assert "repeats" not in parse_yaml(stored_study_yaml(store, one))


def test_a_file_that_is_no_study_stays_in_the_form(store):
    name, text = save_new_study("name: [", store)
    assert (name, text) == ("", "name: [") and store.studies() == []
    outputs = save_and_show_new_study(store, "judges: 5", replace(FormState(), last_change=3), {})
    assert outputs[1].study == "" and outputs[1].last_change == 3
    assert outputs[-1] == gr.skip()


def test_a_late_request_for_the_former_name_does_not_undo_a_renaming(store, engine):
    """The page asks for the form of the header's study; the study is renamed meanwhile."""
    page = create_page(store, engine)
    follow = handler(page, "load_header_study")
    text, state, _ = save_form(
        store, engine, put_value(START_YAML, ("repeats",), 2), FormState(opened=START_YAML)
    )
    for name in ("First", "Second"):
        text, state, _ = save_form(store, engine, put_value(text, ("name",), name), state)
    for late in ("My study", "First"):
        assert all(part == gr.skip() for part in follow.fn(late, text, state, {}))
    save_new_study(TEXT, store, "First")  # another study, which may be opened
    assert follow.fn("First", text, state, {})[1].study == "First"


def test_the_plan_of_the_study_in_view_is_drawn_again_after_its_calls_are_stored(store, engine):
    page = create_page(store, engine)
    follow = handler(page, "load_header_study")
    name, text = save_new_study(TEXT, store, "One")
    text, state = text_and_state(open_study(store, name, text, FormState(), {}))
    before = follow.fn(name, text, state, {})
    run_text(store, text)
    after = follow.fn(name, text, state, {})
    assert before[0] == after[0] == gr.skip()  # the text of the study file stays as it is
    all_stored = [
        any(says(str(part), "All", "stored") for part in made) for made in (before, after)
    ]
    assert all_stored == [False, True]


def test_one_item_can_be_tried_before_the_study_is_run(store, engine):
    """A trial has its own name, and leaves the form as it is; Run takes the name in the file."""
    page = create_page(store, engine)
    starts = {
        one.fn.keywords["one_item"]: one
        for one in page.fns.values()
        if getattr(getattr(one.fn, "func", None), "__name__", "") == "start_from_form"
    }
    for one_item, button in ((False, "eh-run"), (True, "eh-try")):
        ((target, _),) = starts[one_item].targets
        assert page.blocks[target].elem_id == button
    name, text = save_new_study(TEXT, store, "First")
    state = FormState(study=name, opened=text)
    text = put_value(text, ("name",), "Second")
    form, menu = starts[True].fn(text, "", state)
    assert form == gr.skip() and menu.value not in ("First", "Second")
    assert engine.latest_run(menu.value).wait(60)
    assert len(store.items(menu.value)) == 1 and {"First"} < {s.name for s in store.studies()}
    form, menu = starts[False].fn(text, "", state)
    assert (form.study, form.opened, menu.value) == ("Second", text, "Second")
    assert engine.latest_run("Second").wait(60) and len(store.items("Second")) == 12
    assert "First" not in {line.name for line in store.studies()}


def test_the_form_of_a_new_study_keeps_what_was_typed_before_it_was_drawn(store) -> None:
    typed = f"{START_YAML}\nrepeats: 4\n"
    drawn = "".join(map(str, show_initial_form(store, typed)))
    box = re.search(r'<input[^>]*id="f-repeats"[^>]*>', drawn)
    assert "repeats: 4" in drawn and box and 'value="4"' in box.group()
    assert "repeats: 4" not in "".join(map(str, show_initial_form(store)))
