"""HTML of a view: its panels with headings, controls, bodies and notes, in groups and folds."""

import json
from collections.abc import Iterable, Mapping
from typing import Any

from components.html.markup import EMPTY, Markup, join
from components.html.pieces import how_computed, panel_heading
from components.html.templates import macros
from components.layout.glossary import mark_terms
from components.results.view.result_view import Control, ControlState, Panel, PanelGroup, View

PARTS = macros("results/view/view.html")


def view_html(
    view: View, contents: Mapping[str, Any], states: Mapping[str, ControlState | None]
) -> Markup:
    """HTML of a view; `contents`: output name -> content, as `View.render` returns it; `states`:
    control name -> its state."""
    return _layout_html(view, view.layout, contents, states)


def _layout_html(
    view: View,
    layout: Iterable[Panel | PanelGroup],
    contents: Mapping[str, Any],
    states: Mapping[str, ControlState | None],
) -> Markup:
    made = []
    for part in layout:
        if isinstance(part, Panel):
            made.append(_panel_html(view, part, contents, states))
        elif contents.get(part.name) is not False:
            inside = _layout_html(view, part.panels, contents, states)
            made.append(PARTS.group(part, inside) if inside else EMPTY)
    return join(made)


def _panel_html(
    view: View, panel: Panel, contents: Mapping[str, Any], states: Mapping[str, ControlState | None]
) -> Markup:
    """HTML of a panel; empty if it is hidden or none of its bodies has content."""
    if contents.get(panel.visibility_output) is False or not any(
        one.name in contents for one in panel.bodies
    ):
        return EMPTY
    usual = panel_heading(panel.title, panel.subtitle, panel.keys) if panel.title else EMPTY
    controls = [
        (one, _control_value_and_choices(one, states.get(one.name))) for one in panel.controls
    ]
    note = how_computed(panel.how, panel.json_keys) if panel.how else EMPTY
    made: Markup = PARTS.panel(
        f"{view.name} {panel.name}",
        panel,
        contents.get(panel.heading_output, usual),
        [(one, *state) for one, state in controls if state],
        [(body, _body_html_or_json(contents.get(body.name))) for body in panel.bodies],
        note,
    )
    return mark_terms(made)


def _body_html_or_json(content: Any) -> Any:
    """Content for the template: the figure of a chart (a dict) as JSON text; HTML unchanged."""
    return json.dumps(content, separators=(",", ":")) if isinstance(content, dict) else content


def _control_value_and_choices(
    control: Control, state: ControlState | None
) -> tuple[Any, list[Any]] | None:
    """Value of a control and its choices as (label, value) pairs; None if it is not shown."""
    if control.kind == "session" or state is None or state.visible is False:
        return None
    known = control.choices if state.choices is None else state.choices
    return state.value, [one if isinstance(one, tuple) else (one, one) for one in known]
