"""Views as lists of panels: outputs, redraws and components follow from the list."""

from __future__ import annotations

import gradio as gr
import pytest

from components.filtering.filtered_study import FilteredStudy
from components.results import results_tab
from components.results.view.result_view import Body, Control, Panel, PanelGroup, View
from components.results.view.view_layout_tab import build_view
from components.results.view_drawing import VIEWS


@pytest.mark.parametrize("name", VIEWS)
def test_panels_and_controls_of_a_view_fit_together(name):
    view = VIEWS[name]
    taken = {parameter for panel in view.panels for parameter in panel.parameters}
    assert taken == set(view.controls), "each control redraws a panel, each parameter is a control"
    assert len(set(view.output_names)) == len(view.output_names)
    assert not {"finding", "kpis", "absent", "data"} & set(view.output_names)
    for panel in view.panels:
        assert panel.title or not panel.heading_changes


def test_names_of_controls_are_unique_as_they_are_parameters_of_the_address():
    names = [control for view in VIEWS.values() for control in view.controls]
    assert len(set(names)) == len(names)


def test_every_output_and_control_is_built():
    with gr.Blocks():
        tab = results_tab.build()
    for name, parts in tab.parts.items():
        assert set(parts.components) == set(VIEWS[name].output_names)
        assert list(parts.controls) == list(VIEWS[name].controls)
        assert len(tab.view_updates(name, {})) == len(tab.view_outputs(name))
    assert list(tab.named_inputs)[:3] == ["view", "judge", "prompt"]


def test_a_control_redraws_the_panels_that_take_it():
    redrawn = {
        control: [panel.name for panel in view.panels_of(control)]
        for view in VIEWS.values()
        for control in view.controls
    }
    assert redrawn["measure"] == ["matrix"] and redrawn["cost"] == ["frontier"]
    assert redrawn["budget"] == ["budget_plan"] and redrawn["voice"] == ["rate_matrix"]


def shown_to(names: list[str], shown: bool) -> View:
    """A view of two panels, one of them in a group that is shown or not."""

    def draw_plain(filtered: FilteredStudy, size: str) -> str:
        names.append("plain")
        return f"plain {size}"

    def draw_grouped(filtered: FilteredStudy) -> None:
        names.append("grouped")

    grouped = Panel("grouped", draw_grouped, (Body("grouped"),), visibility="hidden")
    plain = Panel("plain", draw_plain, (Body("plain"),), controls=(Control("size", "S", ["1"]),))
    return View("v", (plain, PanelGroup((grouped,), name="group", visible=lambda _: shown)))


def test_panels_of_a_hidden_group_are_not_drawn_and_without_content_a_panel_is_hidden(judged):
    names: list[str] = []
    study = FilteredStudy(judged, "two judges")
    assert shown_to(names, False).render(study, {"size": "1"}) == {
        "group": False,
        "plain": "plain 1",
    }
    assert names == ["plain"]
    view = shown_to(names, True)
    drawn = view.render(study, {"size": "1"})
    assert drawn == {"group": True, "plain": "plain 1", "grouped_panel": False}
    assert view.render(study, {"size": "2"}, view.panels_of("size")) == {"plain": "plain 2"}
    with gr.Blocks():
        parts = build_view(view)
    updates = dict(zip(view.output_names, parts.updates(drawn), strict=True))
    assert updates["grouped_panel"]["visible"] is False and updates["group"]["visible"] is True
    assert updates["plain"] == "plain 1" and updates["grouped"] == gr.skip()
