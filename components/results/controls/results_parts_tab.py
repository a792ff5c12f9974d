"""The components of the Results tab by name, the values that the page sends for them, and
JavaScript that writes the page address, stores the values of the controls and draws the view."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

import gradio as gr

from components.filtering.filters import Filter
from components.results.contrasts import comparison
from components.results.controls.active_run_tab import LiveRefresh
from components.results.controls.filter_bar_tab import FILTER_NAMES, parse_filter
from components.results.view.result_view import Control, View

OUTPUTS: Final = ("finding", "kpis", "panels", "absent", "data")
"""Outputs of every view, from top to bottom: headline; the comparison with another judge, or key
numbers; the panels; what the study lacks; the note on the data."""
QUIET_EVENT: Final[dict[str, Any]] = {
    "show_progress": "hidden",
    "trigger_mode": "always_last",
    "api_visibility": "private",
}


@dataclass(frozen=True)
class ResultsTab:
    view: gr.Radio
    filters: dict[str, gr.Dropdown]
    """The filter menus, in the order of FILTER_NAMES."""
    compare: gr.Dropdown
    """Menu of the judge or prompt that every view compares with."""
    outputs: dict[str, gr.HTML]
    """The components that a view fills, by the names in OUTPUTS."""
    upload: gr.UploadButton
    upload_message: gr.HTML
    """Message below the upload button, if the file could not be used."""
    states: dict[str, gr.State]
    """Controls whose values are in the Gradio session instead of on the page."""
    draw: gr.Button
    """Hidden button that draws the visible view; the page's script presses it."""
    settings: gr.Textbox
    """Hidden text box with the values of all controls of the views for the study just opened, as
    JSON; the controls themselves are HTML."""
    request_text: gr.Textbox
    """Hidden text box in which the page sends the values of `start_values` as JSON."""
    live: LiveRefresh
    marks: gr.HTML
    """Hidden component that receives the clicks on numbers, points and cells of all views."""
    views: Mapping[str, View]

    @property
    def named_inputs(self) -> dict[str, Any]:
        """The view, the filters and the menu "Compare with" by their names in the address."""
        return {"view": self.view, **self.filters, comparison.CONTROL: self.compare}

    @property
    def inputs(self) -> list[Any]:
        return [*self.named_inputs.values(), self.settings]

    @property
    def controls(self) -> dict[str, Control]:
        """Controls of all views by name; the names are also address parameters."""
        return {k: v for view in self.views.values() for k, v in view.controls.items()}

    @property
    def start_values(self) -> dict[str, Any]:
        """Name -> value on a newly opened page, for the view, the filters, "Compare with" and all
        controls; these are the parameters that the page address can have."""
        menus = {name: part.value for name, part in self.named_inputs.items()}
        return menus | {name: control.start_value for name, control in self.controls.items()}


def parse_request(
    tab: ResultsTab, request_text: str, session_values: Mapping[str, Any] | None = None
) -> tuple[Any, ...]:
    """Read the values of the view, the filters and the controls from the JSON list that the page
    sent, in the order of `tab.start_values`. An empty text means the start values; gr.Error if
    the text is not valid. `session_values`: control name -> value that replaces the sent one,
    for controls whose values are stored in the Gradio session."""
    starts = tab.start_values
    if not request_text:
        return tuple(starts.values())
    try:
        values = json.loads(request_text)
    except ValueError:
        values = None
    if (
        not isinstance(values, list)
        or len(values) != len(starts)
        or not all(map(_is_valid_value, starts.values(), values))
        or values[0] not in tab.views
    ):
        raise gr.Error("The request is not valid. Reload the page.", duration=None)
    return tuple((dict(zip(starts, values, strict=True)) | dict(session_values or {})).values())


def _is_valid_value(start: Any, value: Any) -> bool:
    """Whether a value is of the kind of the initial value `start`: a list of texts, or a text (or
    None)."""
    if isinstance(start, list):
        return isinstance(value, list) and all(isinstance(part, str) for part in value)
    return value is None or isinstance(value, str)


def view_filter_and_controls(
    tab: ResultsTab, values: tuple[Any, ...]
) -> tuple[str, Filter, dict[str, Any]]:
    """(name of the view, filter, control name -> value) from `values`, which are in the order of
    `tab.start_values`. "Compare with" counts as a control."""
    view, *rest = values
    filters, controls = rest[: len(FILTER_NAMES)], rest[len(FILTER_NAMES) :]
    return (
        view,
        parse_filter(filters),
        dict(zip((comparison.CONTROL, *tab.controls), controls, strict=True)),
    )


# ------------------------------------------------------------------ JavaScript of the tab


def script_for_change_of_one_control(tab: ResultsTab, control: Any) -> str:
    """JavaScript for the change of one menu: if its value differs from the stored one, draw the
    view with the new value, and with the stored values of all other controls."""
    place = tab.inputs.index(control)
    return f"value => evenhand.held && evenhand.redraw(evenhand.held.with({place}, value), true)"


def view_drawing_script(tab: ResultsTab, *, settling: bool = False) -> str:
    """JavaScript that takes the values of `tab.inputs`, writes the page address and draws the view.

    While a study is being opened, the script does nothing, because the controls still have the
    values of the previous study. With `settling`, it is the script that runs when the study is
    open; it draws the view that the visitor chose in the meantime, if any.
    """
    starts = json.dumps(tab.start_values)
    return f"(...values) => evenhand.drawAll({starts}, values, {json.dumps(settling)})"


REDRAW_SCRIPT: Final = "() => evenhand.held && document.querySelector('#eh-draw')?.click()"
"""JavaScript that draws the visible view again, without the message "being drawn"."""
