"""Gradio components of a view, built from its list of panels."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from contextlib import nullcontext
from dataclasses import dataclass, field
from typing import Any

import gradio as gr

from components.html.panel import how_computed, panel_heading
from components.layout.widgets import ClickableHTML, PlotlyView, Switch
from components.results.view import result_view
from components.results.view.result_view import Panel, PanelGroup, View


@dataclass(frozen=True)
class ViewParts:
    """Gradio components of a built view, by name."""

    view: View
    components: dict[str, Any] = field(default_factory=dict)
    controls: dict[str, Any] = field(default_factory=dict)
    extras: dict[str, Any] = field(default_factory=dict)

    def outputs(self, panels: Iterable[Panel] | None = None) -> list[Any]:
        """Components of the given panels, or of the whole view."""
        return [self.components[name] for name in self._names(panels)]

    def updates(self, drawn: Mapping[str, Any], panels: Iterable[Panel] | None = None) -> list[Any]:
        """The contents in `drawn` (output name -> content) in the order of `outputs`; outputs
        without content stay unchanged."""
        return [
            as_update(drawn[name]) if name in drawn else gr.skip() for name in self._names(panels)
        ]

    def _names(self, panels: Iterable[Panel] | None) -> list[str]:
        if panels is None:
            return self.view.output_names
        return [name for panel in panels for name in panel.output_names]


def as_update(content: Any) -> Any:
    """Gradio update of an output: True or False sets its visibility, other values its content."""
    return gr.update(visible=content) if isinstance(content, bool) else content


def control_update(state: result_view.ControlState | None) -> Any:
    """Gradio update of a control; None leaves the control unchanged."""
    if state is None:
        return gr.skip()
    update: dict[str, Any] = {"value": state.value}
    if state.choices is not None:
        update["choices"] = list(state.choices)
    if state.visible is not None:
        update["visible"] = state.visible
    return gr.update(**update)


def build_view(view: View) -> ViewParts:
    """Lay out the panels of a view inside the current Gradio context."""
    parts = ViewParts(view)
    _build_layout(parts, view.layout)
    in_order = {name: parts.controls[name] for name in view.controls}
    return ViewParts(view, parts.components, in_order, parts.extras)


def _build_layout(parts: ViewParts, layout: Iterable[Panel | PanelGroup]) -> None:
    for part in layout:
        if isinstance(part, Panel):
            _build_panel(parts, part)
            continue
        visible = part.starts_visible or part.visible is None
        options: dict[str, Any] = {"elem_classes": part.css, "visible": visible}
        if part.fold:
            made: Any = gr.Accordion(part.fold, open=False, **options)
        else:
            made = gr.Row(equal_height=True, **options) if part.row else gr.Column(**options)
        with made:
            _build_layout(parts, part.panels)
        if part.visible or part.fold:
            parts.components[part.name] = made


def _build_panel(parts: ViewParts, panel: Panel) -> None:
    if not panel.css:
        _build_bodies(parts, panel.bodies)
        _build_notes(panel)
        return
    visible = panel.visibility != "hidden"
    if panel.heading_row:
        with gr.Row(elem_classes=panel.css):
            _build_bodies(parts, panel.bodies)
            _build_controls(parts, panel.controls)
        return
    with gr.Column(elem_classes=panel.css, scale=panel.scale, visible=visible) as frame:
        _build_heading(parts, panel)
        _build_controls(parts, (one for one in panel.controls if one.below))
        if panel.legend:
            ClickableHTML(panel.legend)
        _build_extras(parts, (one for one in panel.extras if one.kind == "text"))
        _build_bodies(parts, panel.bodies)
        _build_notes(panel)
    if panel.visibility != "always":
        parts.components[panel.frame_name] = frame


def _build_notes(panel: Panel) -> None:
    """Build the expandable text below a panel: method, and keys of its numbers in the JSON."""
    if panel.how or panel.json_keys:
        ClickableHTML(how_computed(panel.how, panel.json_keys))


def _build_heading(parts: ViewParts, panel: Panel) -> None:
    """Build the heading of a panel, in one row with its controls and buttons."""
    controls = [one for one in panel.controls if not one.below]
    buttons = [one for one in panel.extras if one.kind != "text"]
    with gr.Row(elem_classes=panel.head_css) if controls or buttons else nullcontext():
        if panel.title:
            heading = ClickableHTML(panel_heading(panel.title, panel.subtitle, panel.keys))
            if panel.heading_changes:
                parts.components[panel.heading_name] = heading
        _build_controls(parts, controls)
        _build_extras(parts, buttons)


def _build_bodies(parts: ViewParts, bodies: Iterable[result_view.Body]) -> None:
    for body in bodies:
        if body.chart_height:
            made = PlotlyView(height=body.chart_height, elem_id=body.elem_id, marks=body.clickable)
        else:
            made = ClickableHTML(elem_id=body.elem_id, marks=body.clickable)
        parts.components[body.name] = made


def _build_controls(parts: ViewParts, controls: Iterable[result_view.Control]) -> None:
    for control in controls:
        parts.controls[control.name] = _build_control(control)


def _build_control(control: result_view.Control) -> Any:
    if control.kind == "session":
        return gr.State(None)
    if control.kind == "switch":
        return Switch(list(control.choices), control.label, elem_id=control.elem_id)
    return gr.Dropdown(
        list(control.choices),
        value=control.first_value,
        label=control.label,
        show_label=False,
        container=False,
        interactive=True,
        elem_id=control.elem_id,
        elem_classes=f"eh-filter {control.css}".strip(),
        filterable=control.searchable,
    )


def _build_extras(parts: ViewParts, extras: Iterable[result_view.Extra]) -> None:
    for one in extras:
        options: dict[str, Any] = {"size": "sm", "elem_id": one.elem_id, "elem_classes": "eh-fit"}
        if one.kind == "text":
            made: Any = ClickableHTML(elem_id=one.elem_id)
        elif one.kind == "upload":
            made = gr.UploadButton(one.label, file_types=list(one.file_types), **options)
        else:
            made = gr.Button(one.label, **options)
        parts.extras[one.name] = made
