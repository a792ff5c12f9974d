"""Results tab: one view at a time of the selected study, with a common filter bar.

The views are lists of panels (`view/result_view.py`). This module builds them; it connects each
filter to the redraw of the view, and each control to the redraw of the panels that depend on it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import gradio as gr

from components.filtering.filtered_study import FilteredStudy
from components.filtering.raters import Raters
from components.layout.header import Header
from components.layout.widgets import ClickableHTML, MarkEvents, Switch
from components.results.bias import tab as bias_tab
from components.results.contrasts import comparison
from components.results.controls import active_run_tab
from components.results.controls.active_run_tab import mark_partial, run_progress
from components.results.controls.filter_bar_tab import (
    FILTER_NAMES,
    FIXED_CHOICES,
    build_filters,
    changing_choices,
    initial_filters,
)
from components.results.controls.results_parts_tab import (
    QUIET_EVENT,
    ResultsTab,
    address_script,
    draw_script,
    parse_request,
    redraw_script,
    single_control_script,
    split_values,
)
from components.results.view.address_choices import (
    FORMER_COMPARISONS,
    FORMER_FAMILIES,
    FORMER_VIEWS,
    pick_choice,
)
from components.results.view.view_layout_tab import build_view, control_update
from components.results.view_drawing import VIEWS, offered_views, render_view
from components.server.gradio_private import set_scripts
from judges.engine.engine import Engine
from studies.store.store import Store


def build() -> ResultsTab:
    names = list(VIEWS)
    with gr.Row(elem_classes="eh-panel-head eh-filters"):
        switch = Switch(names, "View", elem_id="eh-results-view")
        filters, compare = build_filters()
    common = {"finding": ClickableHTML(elem_id="eh-results-finding")}
    news = ClickableHTML(elem_id="eh-results-news")
    common |= {
        "kpis": ClickableHTML(elem_id="eh-results-kpis", marks=True),
    }
    parts = {}
    with gr.Tabs(selected=names[0], elem_classes="eh-view") as pages:
        for name, view in VIEWS.items():
            with gr.Tab(name, id=name):
                parts[name] = build_view(view)
    common["absent"] = ClickableHTML(elem_id="eh-results-absent")
    common["data"] = ClickableHTML(elem_id="eh-results-data")
    draw = {
        name: gr.Button(f"Draw {name}", visible="hidden", elem_id=f"eh-draw-{place}", render=False)
        for place, name in enumerate(names)
    }
    request_text = gr.Textbox(visible="hidden", elem_id="eh-asked", label="Asked", render=False)
    return ResultsTab(
        switch,
        filters,
        compare,
        common,
        pages,
        parts,
        draw,
        request_text,
        active_run_tab.build(news),
        MarkEvents(),
    )


def render_hidden(tab: ResultsTab) -> None:
    """Render the hidden components outside all tabs, since an unopened tab has no content."""
    for part in (*tab.draw_buttons.values(), tab.request_text, tab.marks, *tab.follower.hidden):
        part.render()


def bind(tab: ResultsTab, header: Header, store: Store, engine: Engine | None = None) -> None:
    """Connect events: a filter redraws the view, a control the panels that depend on it. With an
    engine, views are also redrawn during its active runs."""
    for name in tab.draw_buttons:
        _bind_view(tab, header, store, engine, name)
    if engine:
        _bind_refresh(tab, header, store, engine)
    controls: list[Any] = [tab.view, *tab.filters.values(), tab.compare]
    for control in controls:
        script = single_control_script(tab, control, draw_script(tab, changed=True))
        if control is tab.view:  # a view chosen before its study is shown is applied then
            script = f"view => {{ evenhand.chooseView(view); ({script})(view); }}"
        control.input(None, control, None, js=script)
    tab.view.change(None, tab.view, tab.pages, js="view => ({__type__: 'update', selected: view})")
    for name, parts in tab.parts.items():
        for control_name in parts.controls:
            _bind_control(tab, header, store, name, control_name)
        if parts.view.bind:
            parts.view.bind(parts)


def _bind_view(
    tab: ResultsTab, header: Header, store: Store, engine: Engine | None, view: str
) -> None:
    states = tab.session_states(view)

    def redraw(name: str, request_text: str, *state_values: Any) -> list[Any]:
        session_values = dict(zip(states, state_values, strict=True))
        values = parse_request(tab, request_text, session_values)
        progress = run_progress(engine, name)
        _, chosen, controls = split_values(tab, values)
        made = render_view(store, name, view, chosen, controls) if name else {}
        drawn = mark_partial(made, progress)
        return [gr.Timer(active=progress is not None), *tab.view_updates(view, drawn)]

    inputs = [header.study, tab.request_text, *states.values()]
    outputs = [tab.follower.timer, *tab.view_outputs(view)]
    tab.draw_buttons[view].click(redraw, inputs, outputs, **QUIET_EVENT).then(
        None, None, None, js="() => evenhand.drawn()"
    )


def _bind_refresh(tab: ResultsTab, header: Header, store: Store, engine: Engine) -> None:
    """During a run, add new choices to the menus as verdicts arrive, and redraw the view."""
    growing = [one for view in VIEWS.values() for one in view.controls.values() if one.grows]
    menus = [tab.filters[name] for name in FILTER_NAMES if name not in FIXED_CHOICES]

    def refresh(name: str) -> list[Any]:
        if not name:
            return [gr.skip()] * len(outputs)
        whole = FilteredStudy(store, name)
        states = {one.name: one.initial_state(whole, None) for one in growing}
        known = {name: state.choices or () for name, state in states.items() if state}
        return active_run_tab.choice_updates(changing_choices(whole), known)

    outputs = [*menus, *(tab.controls[one.name] for one in growing)]
    active_run_tab.bind_timer(tab.follower, header.study, engine)
    tab.follower.refresh.click(refresh, header.study, outputs, **QUIET_EVENT).then(
        None, None, None, js=redraw_script(tab)
    )


def bind_request_text(blocks: gr.Blocks, tab: ResultsTab) -> None:
    """Add a script to every event that has the input `request_text`: it sends, as the value of this
    input, the page's view, filters and controls as JSON. Call this after all events are bound."""

    def script(place: int, before: str) -> str:
        first = f"({before})(...values); " if before else ""
        return f"(...values) => {{ {first}return values.with({place}, evenhand.asked ?? ''); }}"

    set_scripts(blocks, tab.request_text, script)


def _bind_control(
    tab: ResultsTab, header: Header, store: Store, view: str, control_name: str
) -> None:
    parts = tab.parts[view]
    panels = parts.view.panels_of(control_name)
    outputs = parts.outputs(panels)
    states = tab.session_states(view)

    def redraw(name: str, request_text: str, *input_values: Any) -> list[Any]:
        *state_values, _ = input_values
        session_values = dict(zip(states, state_values, strict=True))
        # Gradio reports a new session state as changed; it is still empty.
        if not name or session_values.get(control_name, True) is None:
            return [gr.skip()] * len(outputs)
        _, chosen, controls = split_values(tab, parse_request(tab, request_text, session_values))
        drawn = parts.view.render(FilteredStudy(store, name, chosen), controls, panels)
        return parts.updates(drawn, panels)

    control = parts.controls[control_name]
    listen = control.input if hasattr(control, "input") else control.change  # a gr.State
    script = single_control_script(tab, control, address_script(tab))
    inputs = [header.study, tab.request_text, *states.values(), control]
    listen(redraw, inputs, outputs, js=f"(...values) => ({script})(values.at(-1))", **QUIET_EVENT)


def initial_controls(
    store: Store, name: str, tab: ResultsTab, wanted: Mapping[str, str]
) -> dict[str, Any]:
    """Parameter name -> Gradio update of the view, filters and controls for a study, set to the
    values in the page address where they exist; in the order of `tab.inputs`."""
    whole = FilteredStudy(store, name)
    wanted = present_address(whole, wanted)
    compared = comparison.compare_state(whole, wanted.get(comparison.CONTROL))
    controls = {
        control.name: control_update(control.initial_state(whole, wanted.get(control.name)))
        for view in VIEWS.values()
        for control in view.controls.values()
    }
    made = {
        "view": _view_switch(whole, wanted),
        **initial_filters(whole, wanted),
        comparison.CONTROL: control_update(compared),
        **controls,
    }
    return {part: made[part] for part in tab.named_inputs}


def _view_switch(filtered: FilteredStudy, wanted: Mapping[str, str]) -> gr.Radio:
    """The switch of views, set to the view named in the page address."""
    names = offered_views(filtered, wanted.get("view"))
    return gr.Radio(choices=names, value=first_view(filtered, wanted))


def first_view(filtered: FilteredStudy, wanted: Mapping[str, str]) -> str | None:
    """Name of the view with which a page with these address parameters opens."""
    asked = present_address(filtered, wanted).get("view")
    return pick_choice(asked, offered_views(filtered, asked))


def present_address(whole: FilteredStudy, wanted: Mapping[str, str]) -> dict[str, str]:
    """Address parameters as they are named today: a former view is the view that has its panels;
    two compared sides are filters and the control "Compare with"; a card is the judge's Summary."""
    view, given = wanted.get("view", ""), dict(wanted)
    if not view and ("measure" in wanted or "columns" in wanted):
        given["view"] = bias_tab.NAME
    elif view in FORMER_VIEWS:
        given["view"] = FORMER_VIEWS[view]
    if view in FORMER_COMPARISONS:
        given["view"] = FORMER_FAMILIES.get(wanted.get("family", ""), bias_tab.NAME)
        sides = wanted.get("left", ""), wanted.get("right", "")
        given = comparison.address_of(whole, *sides) | given
    if "card" in wanted:
        judge, prompt = Raters(whole).names.get(wanted["card"], ("", ""))
        several = len({cell[1] for cell in Raters(whole).names.values()}) > 1
        chosen = {"judge": judge, "prompt": prompt if several else ""}
        given = {name: value for name, value in chosen.items() if value} | given
    return given
