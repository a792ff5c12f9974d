"""Views as lists of panels: outputs, HTML and controls follow from the list."""

from __future__ import annotations

import json

import gradio as gr
import pytest

from components.filtering.filtered_study import FilteredStudy
from components.html.markup import Markup
from components.results import results_tab
from components.results.controls.results_parts_tab import (
    OUTPUTS,
    parse_request,
    split_request_values,
)
from components.results.view.result_view import (
    Body,
    Control,
    ControlState,
    Panel,
    PanelGroup,
    View,
    fold,
)
from components.results.view.view_html import view_html
from components.results.view_drawing import VIEWS


@pytest.mark.parametrize("name", VIEWS)
def test_panels_and_controls_of_a_view_fit_together(name):
    view = VIEWS[name]
    taken = {parameter for panel in view.panels for parameter in panel.control_names}
    assert taken == set(view.controls), "each control redraws a panel, each parameter is a control"
    names = [body.name for panel in view.panels for body in panel.bodies]
    assert len(set(names)) == len(names) and not set(OUTPUTS) & set(names)


def test_names_of_controls_are_unique_as_they_are_parameters_of_the_address():
    names = [control for view in VIEWS.values() for control in view.controls]
    assert len(set(names)) == len(names)


def test_a_request_names_everything_that_the_address_can_hold():
    with gr.Blocks():
        tab = results_tab.build()
    assert list(tab.outputs) == list(OUTPUTS)
    assert list(tab.start_values)[:3] == ["view", "judge", "prompt"]
    chosen = tab.start_values | {"view": "Remedies", "cost": "Dollars"}
    values = parse_request(tab, json.dumps(list(chosen.values())), {"scores": {"a": {"b": 1.0}}})
    view, _, controls = split_request_values(tab, values)
    assert view == "Remedies" and controls["cost"] == "Dollars"
    assert controls["scores"] == {"a": {"b": 1.0}}
    for wrong in (chosen | {"view": "Nowhere"}, chosen | {"cost": 3}, {"view": "Remedies"}):
        with pytest.raises(gr.Error):
            parse_request(tab, json.dumps(list(wrong.values())))


def shown_to(names: list[str], shown: bool) -> View:
    """A view of three panels, two of them in a group that is shown or not."""

    def draw_plain(filtered: FilteredStudy, size: str) -> Markup:
        names.append("plain")
        return Markup("plain {}").format(size)

    def draw_grouped(filtered: FilteredStudy) -> None:
        names.append("grouped")

    def draw_chart(filtered: FilteredStudy) -> dict[str, str]:
        names.append("chart")
        return {"title": "<b>\"'"}

    grouped = Panel("grouped", draw_grouped, (Body("grouped"),))
    chart = Panel("chart", draw_chart, (Body("chart", "eh-c", chart_height=9, clickable=True),))
    size = Control("size", "S", ["1", ("<two>", "2")])
    plain = Panel("plain", draw_plain, (Body("plain"),), "Plain", controls=(size,))
    group = PanelGroup((fold("Empty", grouped), chart), name="group", visible=lambda _: shown)
    return View("v", (plain, group))


def test_panels_of_a_hidden_group_are_not_drawn_and_without_content_a_panel_is_hidden(judged):
    names: list[str] = []
    study = FilteredStudy(judged, "two judges")
    hidden = shown_to(names, False).render(study, {"size": "1"})
    assert hidden == {"group": False, "plain_panel": True, "plain": "plain 1"} and names == [
        "plain"
    ]
    view = shown_to(names, True)
    drawn = view.render(study, {"size": "2"})
    figure = {"title": "<b>\"'"}
    assert drawn == {
        "group": True,
        "plain_panel": True,
        "plain": "plain 2",
        "grouped_panel": False,
        "chart_panel": True,
        "chart": figure,
    }
    html = view_html(view, drawn, {"size": ControlState("2")})
    assert 'value="2" checked' in html and "&lt;two&gt;" in html and "plain 2" in html
    assert html.count("data-panel=") == 2 and "Empty" not in html, "no frame without content"
    assert "&lt;b&gt;" in html and "<b>\\" not in html, "a figure is escaped like any text"
    assert "data-panel" not in view_html(view, {"group": False}, {})


def test_the_page_starts_with_few_components(judged):
    """Gradio's script compares every component with every event: a view is one of them."""
    with gr.Blocks() as blocks:
        results_tab.build()
    assert len(blocks.blocks) < 40
