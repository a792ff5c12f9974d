"""Slow jobs of the form, as the handler of the page answers them."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from types import SimpleNamespace
from typing import Any

import gradio as gr
import pytest

from components.layout import header
from components.study import files_tab, form_layout_tab
from components.study import tab as study_tab
from components.study.collect.collect_layout_tab import CAPTION_FORM, ITEM_FORM
from components.study.file.judge_entries import judge_test_key
from components.study.file.lenient_study import START_YAML, FormState
from components.study.file.yaml_edit import parse_yaml, put_value
from components.study.form.judges import LOCAL_SERVERS, model_list_key
from components.study.plan.draft_studies import MAX_NAME, save_new_study
from components.study.plan.example_files import example_names
from judges.engine.engine import Engine
from judges.operations.list_models import ModelList
from studies.errors import EvenhandError
from studies.store.store import Store
from tests.components.home.test_study_list import plan_study
from tests.page_words import says

Job = Callable[..., list[Any]]
SKIP = gr.skip()
JUDGES = [{"name": name, "model": "m", "base_url": "http://127.0.0.1:9/v1"} for name in "ab"]
TEXT = put_value(START_YAML, ("judges",), JUDGES)


@pytest.fixture(scope="module")
def job(module_store: Store) -> Iterator[Job]:
    """A job by its request: results of tests, study file, notice, study menu and tabs."""
    engine = Engine()
    with gr.Blocks() as blocks:
        top, study, tabs = header.build(), form_layout_tab.build(), gr.Tabs()
        study_tab._bind_jobs(study, top, tabs, module_store, engine)
    (handler,) = [
        one.fn for one in blocks.fns.values() if getattr(one.fn, "__name__", "") == "run_form_job"
    ]

    def run(**asked: Any) -> list[Any]:
        return list(handler(json.dumps(asked), "{}", TEXT, FormState(), {"kept": 1}))

    plan_study(module_store, "Mine")
    yield run
    engine.close()


def test_the_result_of_a_test_is_kept_under_the_tested_judge_only(
    job: Job, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(study_tab.jobs, "test_judge", lambda text, folder, name, *_: f"of {name}")
    tested, *others = job(do="test", judge="b")
    assert tested == {"kept": 1, judge_test_key(JUDGES[1]): "of b"}
    assert others == [SKIP] * 4


def test_found_servers_and_models_join_the_results_of_tests(
    job: Job, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(study_tab, "find_local_servers", lambda: ["server"])
    assert job(do="find servers") == [{"kept": 1, LOCAL_SERVERS: ["server"]}, *[SKIP] * 4]
    found = ModelList("http://h/v1", ("m",))
    monkeypatch.setattr(study_tab.jobs, "request_judge_models", lambda *given: found)
    assert job(do="models", judge="1") == [
        {"kept": 1, model_list_key("http://h/v1"): found}, *[SKIP] * 4,
    ]  # fmt: skip


@pytest.mark.parametrize(("do", "name"), [
    ("describe", "describe_images"), ("fetch", "fetch_private_dataset")])  # fmt: skip
def test_descriptions_and_a_private_dataset_change_the_study_file(
    job: Job, monkeypatch: pytest.MonkeyPatch, do: str, name: str
) -> None:
    went = SimpleNamespace(text="new file", notice_html="notice")
    for one in ("describe_images", "fetch_private_dataset"):
        monkeypatch.setattr(study_tab.jobs, one, lambda *_, one=one: went if one == name else None)
    assert job(do=do) == [SKIP, "new file", "notice", SKIP, SKIP]


def test_a_stored_study_opens_its_results_and_another_does_nothing(job: Job) -> None:
    *unchanged, menu, tabs = job(do="open study", study="Mine")
    assert unchanged == [SKIP] * 3 and (menu.value, tabs.selected) == ("Mine", "results")
    assert job(do="open study", study="gone") == job(do="unknown") == job() == [SKIP] * 5


def test_recorded_verdicts_open_as_a_study_or_say_why_not(
    job: Job, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(study_tab.jobs, "import_recorded_verdicts", lambda *_: "Mine")
    *unchanged, menu, tabs = job(do="recorded")
    assert unchanged == [SKIP] * 3 and (menu.value, tabs.selected) == ("Mine", "results")

    def fail(*_: object) -> str:
        raise EvenhandError("no verdicts <here>")

    monkeypatch.setattr(study_tab.jobs, "import_recorded_verdicts", fail)
    made = job(do="recorded")
    assert "no verdicts &lt;here&gt;" in made[2] and [*made[:2], *made[3:]] == [SKIP] * 4


def test_a_key_that_is_allowed_draws_the_notices_again(
    job: Job, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = []
    monkeypatch.setattr(study_tab, "store_key_consent", lambda _, pair: asked.append(pair) or "no ")
    monkeypatch.setattr(study_tab.form_html, "render_notices", lambda *_: "notices")
    made = job(do="allow key", variable="KEY", origin="http://h")
    assert made == [SKIP, SKIP, "no notices", SKIP, SKIP]
    assert [tuple(one) for one in asked] == [("KEY", "http://h")]


# ------------------------------------------------------------- other events of the Study tab


class Events:
    """The events of the Study tab; each is called by the name of its handler, and gives its values
    by the name of the component in the tab, those that stay left out."""

    def __init__(self, store: Store, engine: Engine) -> None:
        self.store = store
        with gr.Blocks() as blocks:
            top, self.tab, tabs = header.build(), form_layout_tab.build(), gr.Tabs()
            study_tab.bind(self.tab, top, tabs, store, engine)
        self.events = [one for one in blocks.fns.values() if one.fn]
        self.parts = {id(top.study): "menu", id(tabs): "tabs"}
        for holder in (self.tab.collect, self.tab):
            self.parts |= {id(part): name for name, part in vars(holder).items()}

    def __call__(self, name: str, *given: Any) -> dict[str, Any]:
        event = next(one for one in self.events if getattr(one.fn, "__name__", "") == name)
        made = event.fn(*given)
        made = made if len(event.outputs) > 1 else [made]
        assert len(made) == len(event.outputs)
        drawn = zip(event.outputs, made, strict=True)
        return {self.parts.get(id(part), ""): value for part, value in drawn if value != SKIP}


@pytest.fixture(scope="module")
def bound(module_store: Store) -> Iterator[Events]:
    engine = Engine()
    yield Events(module_store, engine)
    engine.close()


@pytest.fixture
def events(bound: Events) -> Events:
    """With an empty store."""
    for name in stored(bound):
        bound.store.delete_study(name)
    return bound


SIMULATED = put_value(
    START_YAML, ("judges",), [{"name": "s", "model": "simulated", "accuracy": 0.8, "seed": 1}]
)
CSV = "question,model_a,model_b,winner\nQ1,x,y,x\nQ2,x,y,y\n"


def stored(events: Events) -> list[str]:
    return sorted(line.name for line in events.store.studies())


def test_a_new_form_a_file_and_an_example_are_saved_and_chosen(events, tmp_path) -> None:
    state = FormState(unsaved={"x": "y"}, last_change=4)
    made = events("save_and_open_start_study", state, {})
    assert made["menu"].value == made["state"].study == "My study"
    assert (made["state"].unsaved, made["state"].last_change) == ({"x": "y"}, 4)
    path = tmp_path / "own.yaml"
    path.write_text(put_value(SIMULATED, ("name",), "Own"), "utf-8")
    assert events("open_file", str(path), "old", state, {})["menu"].value == "Own"
    name = example_names()[0]
    assert events("open_example", None, state, {}) == {}
    shown = events("open_example", name, state, {})["menu"].value
    assert stored(events) == sorted(["My study", "Own", shown])
    path.write_bytes(b"name: \xff")
    made = events("open_file", str(path), SIMULATED, state, {})
    assert "menu" not in made and says(made["state"].notice_html, "Not opened", "UTF-8")
    assert made["yaml"] == SIMULATED and len(stored(events)) == 3


def test_an_uploaded_file_becomes_the_data_of_a_study_without_calls(events, tmp_path) -> None:
    path = tmp_path / "battles.csv"
    path.write_text(CSV)
    first = events("save_and_open_start_study", FormState(), {})
    state = replace(first["state"], kind="upload", item=3, notice_html="old")
    assert events("use_uploaded_records", None, first["yaml"], state, {}) == {}
    made = events("use_uploaded_records", [str(path)], first["yaml"], state, {})
    assert not {"menu", "tabs"} & set(made) and stored(events) == ["My study"]
    assert parse_yaml(made["yaml"])["data"]["source"].endswith("-battles.csv")
    assert (made["state"].kind, made["state"].item, made["state"].notice_html) == ("", 0, "")
    kept = events.store.study("My study").data.source
    assert kept == parse_yaml(made["yaml"])["data"]["source"]
    other = events("use_uploaded_records", [str(path)], SIMULATED, FormState(), {})
    assert other["menu"].value == "My study 2" and "tabs" not in other


def test_an_uploaded_file_for_a_study_with_calls_opens_a_study_named_after_it(
    events, tmp_path
) -> None:
    plan_study(events.store, "Asked")
    path = tmp_path / f"{'b' * (MAX_NAME + 1)}.csv"
    path.write_text(CSV)
    made = events("use_uploaded_records", [str(path)], SIMULATED, FormState(study="Asked"), {})
    assert made["menu"].value == "b" * MAX_NAME and made["state"].study == "b" * MAX_NAME


def test_recorded_verdicts_open_their_results_or_say_why_not(events, tmp_path) -> None:
    path = tmp_path / "battles.csv"
    path.write_text(CSV)
    recorded = FormState(kind="recorded")
    made = events("use_uploaded_records", [str(path)], SIMULATED, recorded, {})
    assert set(made) == {"menu", "tabs"} and made["tabs"].selected == "results"
    assert stored(events) == [made["menu"].value]
    path.write_text("a\n1\n")
    made = events("use_uploaded_records", [str(path)], SIMULATED, recorded, {})
    assert says(made["state"].notice_html, "These verdicts") and made["yaml"] == SIMULATED
    assert not {"menu", "tabs"} & set(made) and len(stored(events)) == 1


def test_an_upload_that_is_refused_is_named_without_its_hash(events, monkeypatch) -> None:
    def refuse(*_: object) -> str:
        raise EvenhandError("01234567-own.csv is too large")

    monkeypatch.setattr(files_tab, "save_uploads_as_data", refuse)
    made = events("use_uploaded_records", ["own.csv"], SIMULATED, FormState(item=2), {})
    told = made["state"].notice_html
    assert says(told, "This file cannot", "own.csv is too large") and "01234567" not in told
    assert (made["yaml"], made["state"].item, stored(events)) == (SIMULATED, 2, [])


def test_a_draft_is_checked_only_while_the_editor_is_open(events, monkeypatch) -> None:
    monkeypatch.setattr(files_tab.form_html, "render_prompt_body", lambda _, state, draft: draft)
    for panel, mode, drawn in (
        ("prompts", "editor", {"body": "draft"}), ("prompts", "side", {}), ("judge", "editor", {})
    ):  # fmt: skip
        assert events("draw_editor", "draft", SIMULATED, FormState(panel=panel, mode=mode)) == drawn


def test_an_edited_prompt_is_saved_in_the_study_and_shown(events, monkeypatch) -> None:
    first = events("save_and_open_start_study", FormState(), {})
    changed = put_value(first["yaml"], ("repeats",), 2)
    seen = replace(first["state"], prompt="own")
    monkeypatch.setattr(files_tab, "save_prompt_draft", lambda *_: (changed, seen))
    made = events("save_edited_prompt", "draft", first["yaml"], first["state"], {})
    assert made["yaml"] == changed and made["state"].prompt == "own"
    assert events.store.study("My study").repeats == 2
    monkeypatch.setattr(
        files_tab, "import_mt_bench_prompts", lambda path, *_: replace(seen, item=1)
    )
    made = events("import_uploaded_prompts", "x.jsonl", "draft", changed, seen, {})
    assert (made["yaml"], made["state"].item) == (changed, 1)


def test_what_is_typed_into_the_file_is_saved_and_drawn_once(events) -> None:
    first = events("save_and_open_start_study", FormState(), {})
    state, text = first["state"], put_value(first["yaml"], ("repeats",), 2)
    assert events("redraw_after_typing", "", state, {}) == {}
    assert events("redraw_after_typing", f"{first['yaml']} \n", state, {}) == {}
    made = events("redraw_after_typing", text, state, {})
    assert {"title", "source", "judges"} <= set(made) and not {"yaml", "state"} & set(made)
    assert events.store.study("My study").repeats == 2


def test_changes_of_the_form_are_applied_and_rename_the_study(events) -> None:
    first = events("save_and_open_start_study", FormState(), {})
    entries = [{"n": 1, "set": "repeats", "to": "3"}, {"n": 2, "set": "name", "to": "New"}]
    made = events(
        "apply_and_save_form_edits", json.dumps(entries), first["yaml"], first["state"], {}, ""
    )
    assert made["menu"].value == made["state"].study == "New" and stored(events) == ["New"]
    assert (made["state"].last_change, events.store.study("New").repeats) == (2, 3)
    made = events("apply_and_save_form_edits", "", made["yaml"], made["state"], {}, "")
    assert "menu" not in made and made["state"].last_change == 2


def test_run_starts_the_study_under_the_typed_name_and_a_trial_leaves_it(
    events, monkeypatch
) -> None:
    started = []
    monkeypatch.setattr(
        study_tab, "start_study",
        lambda store, engine, text, typed, one_item: started.append((typed, one_item)) or "Started",
    )  # fmt: skip
    first = events("save_and_open_start_study", FormState(), {})
    text, state = put_value(first["yaml"], ("name",), "Typed"), first["state"]
    run, trial = (one.fn for one in events.events if isinstance(one.fn, partial)
                  and one.fn.func.__name__ == "start_from_form")  # fmt: skip
    shown, _ = trial(text, "{}", state)
    assert shown == SKIP and stored(events) == ["My study"]
    shown, _ = run(text, "{}", state)
    assert (shown.study, shown.opened) == ("Started", text) and stored(events) == ["Typed"]
    assert started == [({}, True), ({}, False)]


LINES = [{"id": "q1", "instruction": "What?", "responses": {"m": "a cat", "k": "a dog"},
          "category": "animals", "images": ["https://e.org/1.png", "https://e.org/2.png"],
          "context": ["A cat.", ""]}]  # fmt: skip


@pytest.fixture
def collecting(events: Events) -> str:
    """The text of a stored study whose data can be collected."""
    (events.store.folder / "uploads").mkdir(exist_ok=True)
    lines = "".join(json.dumps(one) + "\n" for one in LINES)
    (events.store.folder / "uploads" / "items.jsonl").write_text(lines, "utf-8")
    text = put_value(SIMULATED, ("data",), {"source": "uploads/items.jsonl", "format": "evenhand"})
    return save_new_study(put_value(text, ("name",), "Collected"), events.store)[1]


def test_the_forms_for_collecting_show_what_is_chosen(events, collecting) -> None:
    made = events("fill_menus", collecting, '[["m", "typed"]]')
    assert "typed" in made["answers"] and made["category"].choices[0][0] == "animals"
    assert made["item"].value == "q1" and made["version"].visible is False
    made = events("show_item", "q1", collecting)
    assert "What?" in made["preview"] and made["image"].visible and made["caption"] == "A cat."
    captions = [
        events("show_caption_of_image", "q1", image, collecting)["caption"]
        for _, image in made["image"].choices
    ]
    assert captions == ["Image 1: A cat.", "A cat.", ""]
    for form, shown in (("item", (True, False)), ("caption", (False, True))):
        chosen = {"item": ITEM_FORM, "caption": CAPTION_FORM}[form]
        made = events("switch_form", chosen)
        assert (made["item_form"].visible, made["caption_form"].visible) == shown


def test_a_saved_item_empties_the_form_and_a_refused_one_stays(events, collecting) -> None:
    answers = '[["m", "a mouse"], ["k", "a rat"]]'
    state = FormState(study="Collected", kind="upload", item=2)
    rest = (None, "", "", "", "", "", "me", False, collecting, state, {}, "", answers)
    made = events("save_typed_item", "And this?", *rest)
    source = events.store.study("Collected").data.source
    assert source != "uploads/items.jsonl" and parse_yaml(made["yaml"])["data"]["source"] == source
    assert (made["state"].kind, made["state"].item) == ("", 0) and made["version"].visible
    cleared = {name: made[name] for name in ("instruction", "addresses", "reference", "context")}
    assert set(cleared.values()) == {""} and made["images"] is None
    refused = events("save_typed_item", "", *rest)
    assert set(refused) == {"said"} and refused["said"]


def test_a_caption_and_a_version_change_the_data_of_the_study(events, collecting) -> None:
    state = FormState(study="Collected")
    rest = (state, {}, "", "[]")
    *_, (_, second) = events("show_item", "q1", collecting)["image"].choices
    made = events("save_typed_caption", "q1", second, "A dog.", "me", collecting, *rest)
    text = made["yaml"]
    assert text != collecting and made["said"]
    assert events("show_caption_of_image", "q1", second, text) == {"caption": "A dog."}
    back = events("use_chosen_version", "uploads/items.jsonl", text, *rest)
    assert parse_yaml(back["yaml"])["data"]["source"] == "uploads/items.jsonl"
    assert events("use_chosen_version", None, text, *rest).get("yaml", text) == text
