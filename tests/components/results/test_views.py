"""Views as lists of panels: outputs, HTML and controls follow from the list."""

from __future__ import annotations

import json

import gradio as gr
import pytest

from components.filtering.filtered_study import FilteredStudy
from components.filtering.filters import Filter
from components.html.markup import Markup
from components.results import results_tab
from components.results.controls.results_parts_tab import (
    OUTPUTS,
    parse_request,
    view_filter_and_controls,
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
from components.results.view.unusable_replies import EMPTY_FILTERS, EMPTY_STUDY
from components.results.view.view_html import view_html
from components.results.view_drawing import VIEWS, render_view_uncached
from judges.planning.plan import make_plan, save_plan
from studies.spec.study import parse_study
from tests.judges.small_studies import run_text
from tests.page_words import says


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
    view, _, controls = view_filter_and_controls(tab, values)
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


@pytest.mark.parametrize("prompt", ["brief-letters", "brief-options", "pass-fail", "score-scale"])
def test_without_verdicts_the_headline_says_why_and_no_panel_names_another_reason(store, prompt):
    text = (
        "name: s\ndata: {source: probe, count: 3}\ncontestants: [precise, padded, flawed]\n"
        f"judges: [{{name: ada, model: simulated}}]\nprompts: [{prompt}]\noptions: rotations\n"
    )
    save_plan(make_plan(parse_study(text, "s", store.folder)), store)
    for chosen, title in ((Filter(), EMPTY_STUDY[0]), (Filter(category="none"), EMPTY_FILTERS[0])):
        filtered = FilteredStudy(store, "s", chosen)
        for name, view in VIEWS.items():
            made = render_view_uncached(filtered, name, view.initial_values(filtered))
            assert title in made["finding"], name
            assert made["panels"] == made["kpis"] == "" and not made["absent"].strip(), name
        run_text(store, text, store.folder)


def test_what_a_filter_hides_is_not_said_to_be_missing_in_the_study(judged):
    for chosen, told in ((Filter(), "in this study"), (Filter(judge="fair"), "these filters")):
        filtered = FilteredStudy(judged, "two judges", chosen)
        values = VIEWS["Agreement"].initial_values(filtered)
        made = render_view_uncached(filtered, "Agreement", values)
        assert says(made["absent"], "Not", told)


def test_the_page_starts_with_few_components(judged):
    """Gradio's script compares every component with every event: a view is one of them."""
    with gr.Blocks() as blocks:
        results_tab.build()
    assert len(blocks.blocks) < 40
