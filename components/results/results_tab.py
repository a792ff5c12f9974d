"""Results tab: one view at a time of the selected study, with a common filter bar.

The views are lists of panels (`view/result_view.py`); one component holds the HTML of the visible
view, with its charts and controls. The page draws the view anew when a filter or control changes.
"""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import gradio as gr

from components.filtering.filtered_study import FilteredStudy
from components.filtering.raters import Raters
from components.html.markup import EMPTY, Markup
from components.html.pieces import notice_html
from components.layout.header import Header
from components.layout.widgets import ClickableHTML, HiddenText, MarkEvents, PanelsHTML, Switch
from components.results.bias import tab as bias_tab
from components.results.contrasts import comparison
from components.results.controls import active_run_tab, filter_bar_tab, results_parts_tab
from components.results.controls.active_run_tab import (
    active_run_progress,
    put_partial_notice_as_headline,
)
from components.results.view import address_choices
from components.results.view_drawing import VIEWS, offered_views, render_view
from components.server.gradio_private import set_event_scripts
from judges.engine.engine import Engine
from studies.store.store import Store

UPLOAD: Final = next(view.upload for view in VIEWS.values() if view.upload)
"""The only upload among the views."""
UPLOAD_PANEL: Final = f"{UPLOAD.panel}_panel"


def build() -> results_parts_tab.ResultsTab:
    with gr.Row(elem_classes="eh-panel-head eh-filters"):
        switch = Switch(list(VIEWS), "View", elem_id="eh-results-view")
        filters, compare = filter_bar_tab.build_filters_and_compare_menu()
    outputs = {"finding": ClickableHTML(elem_id="eh-results-finding")}
    news = ClickableHTML(elem_id="eh-results-news")
    outputs["kpis"] = ClickableHTML(elem_id="eh-results-kpis", marks=True)
    outputs["panels"] = PanelsHTML(elem_classes="eh-html eh-view")
    upload = gr.UploadButton(
        UPLOAD.label,
        file_types=list(UPLOAD.file_types),
        size="sm",
        elem_id=UPLOAD.elem_id,
        elem_classes="eh-fit",
        visible=False,
    )
    upload_message = ClickableHTML()
    outputs["absent"] = ClickableHTML(elem_id="eh-results-absent")
    outputs["data"] = ClickableHTML(elem_id="eh-results-data")
    first = [value for view in VIEWS.values() for value in view.start_values.values()]
    return results_parts_tab.ResultsTab(
        switch,
        filters,
        compare,
        outputs,
        upload,
        upload_message,
        {UPLOAD.control: gr.State(None)},
        gr.Button("Draw", visible="hidden", elem_id="eh-draw", render=False),
        HiddenText("Settings", json.dumps(first), render=False),
        HiddenText("Asked", elem_id="eh-asked", render=False),
        active_run_tab.build_live_refresh(news),
        MarkEvents(),
        VIEWS,
    )


def render_hidden_components(tab: results_parts_tab.ResultsTab) -> None:
    """Render the hidden components outside all tabs, since Gradio does not load the content of a
    tab before it is opened."""
    for part in (tab.draw, tab.settings, tab.request_text, tab.marks, *tab.live.hidden_components):
        part.render()


def bind(
    tab: results_parts_tab.ResultsTab, header: Header, store: Store, engine: Engine | None = None
) -> None:
    """Connect the events of the tab: a change of the view, a filter, a control or the uploaded file
    redraws the page's view. With an engine, the view and the filters' choices are also renewed
    during its active runs."""
    _bind_draw_button(tab, header, store, engine)
    if engine:
        _bind_refresh(tab, header, store, engine)
    for control in tab.named_inputs.values():
        script = results_parts_tab.script_for_change_of_one_control(tab, control)
        if control is tab.view:  # a view chosen before its study is shown is applied then
            script = f"view => {{ evenhand.chooseView(view); ({script})(view); }}"
        control.input(None, control, None, js=script)
    _bind_upload(tab)


def _bind_draw_button(
    tab: results_parts_tab.ResultsTab, header: Header, store: Store, engine: Engine | None
) -> None:
    def draw_view(name: str, request_text: str, *state_values: Any) -> list[Any]:
        session_values = dict(zip(tab.states, state_values, strict=True))
        values = results_parts_tab.parse_request(tab, request_text, session_values)
        progress = active_run_progress(engine, name)
        view, chosen, controls = results_parts_tab.view_filter_and_controls(tab, values)
        made = render_view(store, name, view, chosen, controls) if name else {}
        drawn = put_partial_notice_as_headline(made, progress)
        return [
            gr.Timer(active=progress is not None),
            gr.update(visible=VIEWS[view].upload is UPLOAD and drawn.get(UPLOAD_PANEL, False)),
            *(drawn.get(one, gr.skip()) for one in results_parts_tab.OUTPUTS),
        ]

    inputs = [header.study, tab.request_text, *tab.states.values()]
    outputs = [tab.live.timer, tab.upload, *tab.outputs.values()]
    tab.draw.click(draw_view, inputs, outputs, **results_parts_tab.QUIET_EVENT).then(
        None, None, None, js="() => evenhand.drawn()"
    )


def _bind_upload(tab: results_parts_tab.ResultsTab) -> None:
    """Connect the upload button: store the content of the file in the session and redraw the
    view. If the file cannot be read, show a notice and keep the earlier content."""
    state = tab.states[UPLOAD.control]

    def load_upload(path: str, held: Any) -> tuple[Any, Markup]:
        try:
            return UPLOAD.read(Path(path)), EMPTY
        except ValueError as error:
            return held, notice_html("bad", "File not used.", str(error))

    tab.upload.upload(
        load_upload,
        [tab.upload, state],
        [state, tab.upload_message],
        show_progress="hidden",
        api_visibility="private",
    ).then(None, None, None, js=results_parts_tab.REDRAW_SCRIPT)


def _bind_refresh(
    tab: results_parts_tab.ResultsTab, header: Header, store: Store, engine: Engine
) -> None:
    """Connect the events that, during a run, add new choices to the filters as verdicts arrive, and
    redraw the view."""
    menus = [
        tab.filters[name]
        for name in filter_bar_tab.FILTER_NAMES
        if name not in filter_bar_tab.FIXED_CHOICES
    ]

    def update_filter_choices(name: str) -> list[Any]:
        if not name:
            return [gr.skip()] * len(menus)
        known = filter_bar_tab.filter_choices_from_verdicts(FilteredStudy(store, name))
        return [gr.Dropdown(choices=list(choices)) for choices in known.values()]

    active_run_tab.bind_live_refresh(tab.live, header.study, engine)
    tab.live.refresh.click(
        update_filter_choices, header.study, menus, **results_parts_tab.QUIET_EVENT
    ).then(None, None, None, js=results_parts_tab.REDRAW_SCRIPT)


def bind_request_text(blocks: gr.Blocks, tab: results_parts_tab.ResultsTab) -> None:
    """Make every event that has the input `request_text` fill it in the browser, with the page's
    view, filters and controls as JSON. Call this after all events are bound."""

    def request_script(input_index: int, earlier_script: str) -> str:
        first = f"({earlier_script})(...values); " if earlier_script else ""
        return (
            f"(...values) => {{ {first}return values.with({input_index}, evenhand.asked ?? ''); }}"
        )

    set_event_scripts(blocks, tab.request_text, request_script)


def initial_controls(
    store: Store, name: str, tab: results_parts_tab.ResultsTab, wanted: Mapping[str, str]
) -> dict[str, Any]:
    """Name -> Gradio update for the view, the filters, "Compare with" and the settings of the
    views when a study is opened, in the order of `tab.inputs`. Their values are those of the
    page address (`wanted`) if the study has them."""
    whole = FilteredStudy(store, name)
    wanted = translate_former_address(whole, wanted)
    compared = comparison.compare_menu_state(whole, wanted.get(comparison.CONTROL))
    states = [
        one.initial_state(whole, wanted.get(key)) if one.kind != "session" else None
        for key, one in tab.controls.items()
    ]
    made = {
        "view": _view_switch(whole, wanted),
        **filter_bar_tab.initial_filter_menus(whole, wanted),
        comparison.CONTROL: gr.update(
            value=compared.value, choices=list(compared.choices or ()), visible=compared.visible
        ),
    }
    chosen = {part: made[part] for part in tab.named_inputs}
    return chosen | {"settings": json.dumps([state and state.value for state in states])}


def _view_switch(filtered: FilteredStudy, wanted: Mapping[str, str]) -> gr.Radio:
    """The switch of views, set to the view that the page address names (parameters `wanted`), else
    to the first."""
    names = offered_views(filtered, wanted.get("view"))
    return gr.Radio(choices=names, value=choose_first_view(filtered, wanted))


def choose_first_view(filtered: FilteredStudy, wanted: Mapping[str, str]) -> str | None:
    """Name of the view with which a page with these address parameters opens: the view that they
    name, else the first."""
    asked = translate_former_address(filtered, wanted).get("view")
    return address_choices.choice_or_default(asked, offered_views(filtered, asked))


def translate_former_address(whole: FilteredStudy, wanted: Mapping[str, str]) -> dict[str, str]:
    """Parameters of today's page address for those of an older one (`wanted`): a former view
    becomes the view that now has its panels, two compared sides become filters and "Compare
    with", and a report card becomes filters on its judge and prompt."""
    view, given = wanted.get("view", ""), dict(wanted)
    if not view and ("measure" in wanted or "columns" in wanted):
        given["view"] = bias_tab.NAME
    elif view in address_choices.FORMER_VIEWS:
        given["view"] = address_choices.FORMER_VIEWS[view]
    if view in address_choices.FORMER_COMPARISONS:
        given["view"] = address_choices.FORMER_FAMILIES.get(wanted.get("family", ""), bias_tab.NAME)
        sides = wanted.get("left", ""), wanted.get("right", "")
        given = comparison.address_for_two_sides(whole, *sides) | given
    if "card" in wanted:
        judge, prompt = Raters(whole).names.get(wanted["card"], ("", ""))
        several = len({cell[1] for cell in Raters(whole).names.values()}) > 1
        chosen = {"judge": judge, "prompt": prompt if several else ""}
        given = {name: value for name, value in chosen.items() if value} | given
    return given
