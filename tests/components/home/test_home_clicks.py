"""Clicks in the list of studies on Home, as the handler of the page answers them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import gradio as gr
import pytest

from components.home import tab as home_tab
from components.home.study_list import studies_html
from components.home.tab import opens_home
from components.home.uploaded_data import uploads_html
from components.layout import header
from components.study import form_layout_tab
from components.study.file.lenient_study import START_YAML, FormState
from components.study.file.yaml_edit import parse_yaml, put_value
from components.study.plan.example_files import example_names, example_text
from components.study.plan.study_preview import plan_from_text
from judges.engine.engine import Engine
from studies.errors import EvenhandError
from studies.store.store import Store
from tests.components.home.test_study_list import plan_study, run_study
from tests.page_words import says

SKIP = gr.skip()


class Clicks:
    """The list of studies on Home; a click returns the values of the form, the study menu, the
    tabs, the list and the notice."""

    def __init__(self, store: Store, engine: Engine) -> None:
        self.store, self.engine = store, engine
        with gr.Blocks() as blocks:
            top, study = header.build(), form_layout_tab.build()
            with gr.Tabs() as tabs, gr.Tab() as on_tab:
                home = home_tab.build()
            home_tab.bind(home, study, top, tabs, on_tab, store, engine)
        self.events = {getattr(one.fn, "__name__", ""): one for one in blocks.fns.values()}

    def __call__(self, sent: object) -> tuple[list[Any], Any, Any, Any, str]:
        event = gr.EventData(None, sent)  # type: ignore[arg-type]
        handler = self.events["handle_list_click"]
        made = handler.fn("typed: text", FormState(), {}, event)
        assert len(made) == len(handler.outputs)
        return made[:-4], *made[-4:]


@pytest.fixture(scope="module")
def click(module_store: Store) -> Iterator[Clicks]:
    engine = Engine()
    yield Clicks(module_store, engine)
    engine.close()


@pytest.fixture
def clicks(click: Clicks) -> Clicks:
    """With two studies, Mine and Other, neither of them run."""
    for line in click.store.studies():
        click.store.delete_study(line.name)
    plan_study(click.store, "Mine")
    plan_study(click.store, "Other")
    return click


def test_a_study_is_opened_in_the_tab_that_its_line_names(clicks: Clicks) -> None:
    for sent, tab in (({}, "results"), ({"tab": "run"}, "run"), ({"tab": ""}, "results")):
        form, menu, tabs, listed, told = clicks({"do": "open", "study": "Mine", **sent})
        assert form == [SKIP] * len(form) and (menu, tabs.selected) == ("Mine", tab)
        assert (listed, told) == (SKIP, "")
    form, menu, tabs, listed, told = clicks({"do": "open", "study": "Mine", "tab": "study"})
    assert (menu, tabs.selected, listed, told) == ("Mine", "study", SKIP, "")
    assert parse_yaml(form[0])["name"] == "Mine" and form[1].study == "Mine"


@pytest.mark.parametrize("sent", [{"do": "open", "study": "gone"}, {"do": "open"}, {}, "text"])
def test_a_click_on_a_study_that_is_gone_draws_the_list_again(clicks: Clicks, sent: object) -> None:
    form, menu, tabs, listed, told = clicks(sent)
    assert form == [SKIP] * len(form) and (menu, tabs, told) == (SKIP, SKIP, "")
    assert listed == studies_html(clicks.store, [])


def test_a_copy_and_an_example_are_opened_in_the_form(clicks: Clicks) -> None:
    for sent, name in (
        ({"do": "duplicate", "study": "Mine"}, "Mine"),
        ({"do": "example", "study": example_names()[0]},
         parse_yaml(example_text(example_names()[0]))["name"]),
    ):  # fmt: skip
        form, _, tabs, listed, told = clicks(sent)
        made = str(parse_yaml(form[0])["name"])
        assert made.startswith(str(name)) and made != "Mine"
        assert tabs.selected == "study" and made in str(listed) and told == ""
    new = clicks.events["save_and_open_start_study"].fn(FormState(), {})
    assert parse_yaml(new[0])["judges"] == parse_yaml(START_YAML)["judges"]
    assert new[-3].selected == "study" and new[-1] == ""


def test_renaming_and_deleting_are_asked_first(clicks: Clicks) -> None:
    for do in ("rename", "delete"):
        form, menu, tabs, listed, told = clicks({"do": do, "study": "Mine"})
        assert form == [SKIP] * len(form) and (menu, tabs, told) == (SKIP, SKIP, "")
        assert listed == studies_html(clicks.store, [], do, "Mine")
    assert clicks({"do": "show", "study": "Mine"})[3] == studies_html(clicks.store, [])


def test_a_renamed_study_is_chosen_and_a_taken_name_is_refused(clicks: Clicks) -> None:
    _, menu, tabs, listed, told = clicks({"set": {"Mine": "New"}})
    assert menu.value == "New" and {name for name, _ in menu.choices} == {"Other", "New"}
    assert tabs == SKIP and told == "" and "New" in listed
    form, menu, tabs, listed, told = clicks({"set": {"New": "Other"}})
    assert form == [SKIP] * len(form) and (menu, tabs) == (SKIP, SKIP)
    assert "Not changed." in told and says(told, "exists") and "New" in listed


def test_a_deleted_study_leaves_the_menu_and_its_replies_are_counted(clicks: Clicks) -> None:
    run_study(clicks.store, clicks.engine, "Mine")
    for name, left, gone in (("Mine", ["Other"], 0), ("Other", [], 6)):  # shared until then
        _, menu, tabs, listed, told = clicks({"do": "delete now", "study": name})
        assert [one for one, _ in menu.choices] == left and tabs == SKIP
        assert menu.value == (left[0] if left else None)
        assert says(told, f"{name} was deleted", f"with it: {gone}")
        assert f"Actions for {name}" not in listed


@pytest.mark.parametrize(
    ("address", "opens"),
    [
        ({}, True),
        ({"__theme": "dark"}, True),
        ({"tab": "home", "study": "s"}, True),
        ({"tab": ""}, True),
        ({"study": "s"}, False),
        ({"tab": "run"}, False),
        ({"tab": "home", "blind": "1"}, False),
        ({"token": "x"}, False),
    ],
)
def test_home_opens_an_address_that_names_nothing_else(
    address: dict[str, str], opens: bool
) -> None:
    assert opens_home(address) is opens


# ------------------------------------------------------------------------- uploaded files

BATTLES = "question,model_a,model_b,winner\nQ1,x,y,x\nQ2,x,y,y\n"


def press(clicks: Clicks, path: Path, do: str, judge: str = "") -> list[Any]:
    """Upload a file, and press the button `do` below what it holds."""
    path.write_text(BATTLES)
    seen = clicks.events["read_chosen_files"].fn([str(path)])[0]
    pressed = clicks.events["handle_upload_click"]
    made = pressed.fn(seen, judge, "", FormState(), {}, gr.EventData(None, {"do": do}))  # type: ignore[arg-type]
    assert len(made) == len(pressed.outputs)
    return list(made)


def names(clicks: Clicks) -> list[str]:
    return sorted(line.name for line in clicks.store.studies())


def test_naming_columns_twice_opens_the_study_begun_first(clicks: Clicks, tmp_path: Path) -> None:
    path, before = tmp_path / "three.csv", names(clicks)
    for _ in range(2):
        assert press(clicks, path, "columns")[-6].value == "three"
        assert names(clicks) == sorted([*before, "three"])


@pytest.mark.parametrize("order", [("columns", "go"), ("go", "columns", "go")])
def test_results_take_the_place_of_a_study_whose_columns_were_named(clicks, tmp_path, order):
    """One study is left, with the verdicts; before, an empty one stayed beside it."""
    before = names(clicks)
    for do in order:
        press(clicks, tmp_path / "four.csv", do)
    (line,) = (line for line in clicks.store.studies() if line.name not in before)
    assert (line.name, line.recorded, line.judged) == ("four", True, 2)


def test_a_study_with_a_design_of_its_own_stays(clicks: Clicks, tmp_path: Path) -> None:
    path, store = tmp_path / "five.csv", clicks.store
    press(clicks, path, "columns")
    store.save_study(replace(store.study("five"), repeats=3), (), ())
    press(clicks, path, "go")
    assert {"five", "five 2"} <= {*names(clicks)} and store.study("five").repeats == 3


def test_another_kind_is_marked_and_nothing_is_done_without_a_file(clicks, tmp_path) -> None:
    *form, menu, tabs, seen, shown, judge, told = press_kind(clicks, tmp_path, "Answers")
    assert form == [SKIP] * len(form) and (menu, tabs, judge, told) == (SKIP, SKIP, SKIP, "")
    assert seen.kind == "Answers" and shown == uploads_html(seen)
    pressed = clicks.events["handle_upload_click"]
    event = gr.EventData(None, {"do": "go"})  # type: ignore[arg-type]
    assert pressed.fn(None, "", "", FormState(), {}, event) == [SKIP] * len(pressed.outputs)


def press_kind(clicks: Clicks, folder: Path, kind: str) -> list[Any]:
    path = folder / "kinds.csv"
    path.write_text(BATTLES)
    read = clicks.events["read_chosen_files"].fn([str(path)])
    assert read[1] == uploads_html(read[0]) and read[3] == ""
    event = gr.EventData(None, {"do": "kind", "kind": kind})  # type: ignore[arg-type]
    return list(clicks.events["handle_upload_click"].fn(read[0], "", "", FormState(), {}, event))


def test_a_file_that_cannot_be_opened_is_named_without_its_hash(clicks, tmp_path, monkeypatch):
    path = tmp_path / "bad.csv"
    path.write_text("a\n1\n")
    seen, shown, judge, told = clicks.events["read_chosen_files"].fn([str(path)])
    assert (seen, shown, judge.visible) == (None, "", False)
    assert says(told, "cannot be opened", "bad.csv")

    def fail(*_: object) -> str:
        raise EvenhandError("01234567-four.csv has no verdict")

    monkeypatch.setattr(home_tab.jobs, "import_recorded_verdicts", fail)
    *form, menu, tabs, seen, shown, judge, told = press(clicks, tmp_path / "four.csv", "go")
    assert form == [SKIP] * len(form) and (menu, tabs, seen, shown) == (SKIP, SKIP, None, "")
    assert says(told, "four.csv has no verdict") and "01234567" not in told


def test_verdicts_open_under_the_name_that_their_judge_was_given(clicks, tmp_path, monkeypatch):
    given = []
    monkeypatch.setattr(
        home_tab.jobs, "import_recorded_verdicts",
        lambda text, store, judge: given.append(judge) or "Mine",
    )  # fmt: skip
    *form, menu, tabs, seen, shown, judge, told = press(clicks, tmp_path / "six.csv", "go", "Ann")
    assert form == [SKIP] * len(form) and (menu.value, tabs.selected) == ("Mine", "results")
    assert (given, seen, shown, judge.visible, told) == (["Ann"], None, "", False, "")


# -------------------------------------------------------------------------------- the demo


@pytest.mark.parametrize("running", [True, False])
def test_the_timer_of_the_demo_runs_while_the_demo_does(clicks, monkeypatch, running) -> None:
    monkeypatch.setattr(home_tab, "live_demo_html", lambda *_: ["finding", "squares"])
    monkeypatch.setattr(home_tab, "show_home", lambda *_: ["f", "s", "studies", "examples"])
    monkeypatch.setattr(home_tab.actions_tab, "show_latest_run_pill", lambda _, name: f"{name} 1")
    active = object() if running else None
    monkeypatch.setattr(clicks.engine, "active_run", lambda name: active)
    timer, *parts = clicks.events["show_running_demo"].fn("Mine")
    assert parts == ["finding", "squares", "Mine 1"]
    assert timer == SKIP if running else timer.active is False
    assert clicks.events["show_running_demo"].fn("")[-1] == SKIP
    timer, *parts = clicks.events["show_home_or_running_demo"].fn()
    if running:
        assert timer.active is True and parts == ["finding", "squares", "studies", "examples"]
        assert home_tab.first_content_of_home(clicks.store, clicks.engine) is None
    else:
        assert timer == SKIP and parts == ["f", "s", "studies", "examples"]
        first = home_tab.first_content_of_home(clicks.store, clicks.engine)
        assert says(first.loading, "studies", "examples")
        assert list(first.values.values()) == parts


def test_the_demo_is_planned_started_and_chosen(clicks, monkeypatch) -> None:
    started = []
    monkeypatch.setattr(home_tab, "live_demo_html", lambda *_: ["finding", "squares"])
    monkeypatch.setattr(
        home_tab.actions_tab, "start_run", lambda store, engine, name: started.append(name)
    )
    plan = plan_from_text(put_value(START_YAML, ("name",), "Demo"), clicks.store.folder)
    monkeypatch.setattr(home_tab.demo_studies, "live_demo_plan", lambda _: plan)
    menu, timer, *parts = clicks.events["run_demo"].fn()
    assert (
        started == [menu.value] == ["Demo"]
        and timer.active is True
        and parts == ["finding", "squares"]
    )
    assert clicks.store.status_counts(menu.value)["planned"] > 0
    clicks.store.delete_study(menu.value)
