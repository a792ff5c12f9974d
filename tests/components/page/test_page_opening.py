"""Opening a page: the drawn overview is sent at once, and only what is shown is computed."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import gradio as gr
import pytest

from components.inspect.url_selection import Selection
from components.layout.loading_screen import TITLE
from components.page import page_tab
from components.page.page_opening import compute_summary_ahead, loading_screen_content
from components.page.page_tab import create_page
from judges.engine.engine import Engine
from studies.sharing.visitor_store import VisitorStore
from studies.store.store import Store
from tests.judges.small_studies import run_text
from tests.waiting import until

ADDRESS = {"tab": "results", "study": "opened"}
STUDY = """
name: opened
data: {source: probe, count: 4, seed: 1}
contestants: [precise, flawed]
judges: [{name: always first, model: simulated, first_bias: 1, seed: 1}]
prompts: [brief-letters]
"""


@pytest.fixture(scope="module")
def store(module_store: Store) -> Store:
    run_text(module_store, STUDY)
    return module_store


@pytest.fixture(scope="module")
def handlers(store: Store) -> Iterator[dict[str, Any]]:
    """Event handlers of the page by name."""
    engine = Engine()
    blocks = create_page(store, engine)
    yield {getattr(event.fn, "__name__", ""): event for event in blocks.fns.values()}
    engine.close()


def test_the_drawn_overview_is_shown_until_the_study_changes(store: Store) -> None:
    assert loading_screen_content(store, None, ADDRESS) is None
    compute_summary_ahead(store, ADDRESS)
    until(lambda: loading_screen_content(store, None, ADDRESS) is not None)
    shown = loading_screen_content(store, None, {**ADDRESS, "view": "Overview", "__theme": "dark"})
    assert shown and shown.loading.count("eh-panel") >= 3 and "always first" in shown.loading
    assert not shown.values  # its controls know no study yet
    for other in (
        {"tab": "inspect"},
        {"view": "Ranking"},
        {"judge": "always first"},
        {"study": ""},
    ):
        assert loading_screen_content(store, None, ADDRESS | other) is None, other
    store.writer.run(lambda c: c.execute("UPDATE studies SET updated=updated+1"))
    assert loading_screen_content(store, None, ADDRESS) is None


def test_the_overview_of_a_study_that_runs_is_not_shown_as_complete(store: Store) -> None:
    compute_summary_ahead(store, ADDRESS)
    until(lambda: loading_screen_content(store, None, ADDRESS) is not None)
    run = SimpleNamespace(finished=threading.Event())
    engine: Any = SimpleNamespace(latest_run=lambda name: run if name == "opened" else None)
    assert loading_screen_content(store, engine, ADDRESS) is None
    run.finished.set()
    assert loading_screen_content(store, engine, ADDRESS) is not None


def test_home_is_shown_before_its_controls_are_ready(store: Store) -> None:
    """But to nobody whose address opens something else, nor while the live demo changes it."""
    engine: Any = SimpleNamespace(latest_run=lambda name: None, active_run=lambda name: None)
    for address in ({}, {"__theme": "dark"}, {"tab": "home", "study": "opened"}):
        shown = loading_screen_content(store, engine, address)
        assert shown is not None and all(
            part in shown.loading
            for part in (TITLE, "My studies", "Open opened", 'id="eh-all-examples"')
        )
        assert "Open opened" in shown.values["eh-home-studies"]
        assert 'id="eh-all-examples"' in shown.values["eh-home-examples"]
    others: list[dict[str, str]] = [
        {"study": "opened"}, {"tab": "vote"}, {"tab": "home", "blind": "1"}, {"token": "x"},
    ]  # fmt: skip
    for address in others:
        assert loading_screen_content(store, engine, address) is None, address
    assert loading_screen_content(store, None, {}) is None  # a frozen study has no Home
    assert loading_screen_content(VisitorStore(store), engine, {}) is None
    engine.active_run = lambda name: SimpleNamespace()
    assert loading_screen_content(store, engine, {}) is None


def test_comparisons_are_listed_when_inspect_is_opened(handlers: dict[str, Any]) -> None:
    """Or at once, if the address names the tab. A comparison already chosen stays, and is listed
    again with the replies that arrived since."""
    inspect = handlers["show_inspect"].outputs

    def shown(requested: dict[str, str], selection: Selection) -> list[Any]:
        made = handlers["show_study"].fn("opened", requested, selection)
        assert handlers["show_study"].outputs[-len(inspect) :] == inspect
        return list(made[-len(inspect) :])

    assert shown({}, Selection(study="another")) == [Selection(), "", "", ""]
    assert shown({}, Selection(study="opened", item="x")) == [gr.skip()] * len(inspect)
    addressed, _, listed, _ = shown({**ADDRESS, "tab": "inspect"}, Selection())
    assert addressed.study == "opened" and "precise" in listed
    listing = handlers["show_inspect"].fn
    selection, _, listed, _ = listing("opened", {}, Selection())
    assert selection.study == "opened" and "precise" in listed
    chosen = replace(selection, category="none such")
    again, _, listed, empty = listing("opened", {}, chosen)
    assert again == chosen and "precise" not in listed and "No comparison matches" in empty
    assert listing("opened", {}, replace(chosen, study="another"))[0] == selection
    awaited = {**ADDRESS, "tab": "inspect", "item": "x"}  # listed with the study, not twice
    assert list(listing("opened", awaited, Selection())) == [gr.skip()] * len(inspect)


@pytest.mark.parametrize("study", ["renamed", ""])
def test_a_voters_page_never_shows_another_study(handlers: dict[str, Any], study: str) -> None:
    request: Any = SimpleNamespace(query_params={"blind": "1", "tab": "vote", "study": study})
    _, menu, tabs, *others = handlers["open_page"].fn(request)
    assert (menu.choices, menu.value, tabs.selected) == ([], None, "vote")
    assert others == [gr.skip()] * len(others)
    request.query_params["study"] = "opened"
    assert handlers["open_page"].fn(request)[1].value == "opened"


def test_the_run_and_the_size_of_a_study_are_shown_with_it(handlers: dict[str, Any]) -> None:
    """On a voter's page only the size; without a study nothing changes but the pill."""
    run, after = handlers["show_run_and_size"], handlers["show_run_after_results"]
    assert run.outputs == after.outputs
    *shown, pill, size = run.fn("opened")  # it was run elsewhere
    assert len(shown) + 2 == len(run.outputs) and "4 items" in size and pill == ""
    assert shown[3].visible and not shown[4].visible  # See results, and no Run
    *again, _, same = after.fn("opened", {"tab": "run"})
    assert (len(again), same, again[3].visible) == (len(shown), size, True)
    assert after.fn("opened", {"blind": "1"}) == [gr.skip()] * (len(shown) + 1) + [size]
    assert after.fn("", {}) == [gr.skip()] * len(after.outputs)
    *nothing, pill, size = run.fn("")
    assert (nothing, pill, size) == ([gr.skip()] * len(shown), "", gr.skip())


def test_the_name_of_a_judge_in_remedies_filters_the_results(handlers: dict[str, Any]) -> None:
    click = handlers["handle_panel_click"]

    def clicked(**sent: str) -> list[Any]:
        made = click.fn(gr.EventData(None, sent), "opened", "", None, {})
        assert len(made) == len(click.outputs)
        return list(made)

    _, judge, *others = clicked(show="always first")
    assert judge.value == "always first"
    for action in ({"improve": "adopt", "kind": "none such"}, {"use": "none such"}):
        with pytest.raises(gr.Error):
            clicked(**action)
    assert clicked() == clicked(pilot="none such") == [gr.skip(), gr.skip(), *others]
    assert others == [gr.skip()] * len(others)


def test_actions_of_remedies_open_what_they_made(
    handlers: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    click, told = handlers["handle_panel_click"], list[str]()
    monkeypatch.setattr(page_tab.gr, "Info", told.append)

    def clicked(*form: Any, **sent: str) -> list[Any]:
        return list(click.fn(gr.EventData(None, sent), "opened", "", *form))

    skipped = [gr.skip()] * len(click.outputs)
    for opened, words in (("opened", "made <it>"), ("", "done"), ("", "")):
        monkeypatch.setattr(
            page_tab, "perform_improve_action", lambda *_, o=opened, w=words: (o, w)
        )
        tabs, *middle, menu = clicked(improve="try")
        assert middle == skipped[1:-1]
        if opened:
            assert (tabs.selected, menu.value) == ("run", "opened")
        else:
            assert tabs == menu == gr.skip()
    assert told == ["made &lt;it&gt;", "done"]
    monkeypatch.setattr(page_tab, "pilot_study_text", lambda _, name: name and f"text of {name}")
    monkeypatch.setattr(
        page_tab.files_tab, "save_and_show_new_study", lambda _, *given: ["shown", *given]
    )
    tabs, judge, *shown = clicked("state", "tested", pilot="p")
    assert (tabs.selected, judge) == ("study", gr.skip())
    assert shown == ["shown", "text of p", "state", "tested"]
    assert clicked(pilot="p") == skipped == clicked("state", "tested", pilot="")
