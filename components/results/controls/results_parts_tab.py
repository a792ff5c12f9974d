"""Components of the Results tab by name, the values that the page sends for them, and the scripts
that writes the page address, keeps control values and draws the view."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

import gradio as gr

from components.filtering.filters import Filter
from components.results.contrasts import comparison
from components.results.controls.active_run_tab import RunFollower
from components.results.controls.filter_bar_tab import FILTER_NAMES, parse_filter
from components.results.view.view_layout_tab import ViewParts

TOP, BOTTOM = ("finding", "kpis"), ("absent", "data")
"""Outputs of every view: above its panels the headline and the comparison with another judge (or
key numbers); below, what the study lacks and the note on the data."""
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
    common: dict[str, gr.HTML]
    """Components filled by every view: headline, key numbers and the note on the data."""
    pages: gr.Tabs
    parts: dict[str, ViewParts]
    draw_buttons: dict[str, gr.Button]
    """View -> hidden button that draws this view; the page's script presses the button of the
    visible view."""
    request_text: gr.Textbox
    """Hidden text box in which the page sends the values of all `inputs` as one JSON text, because
    Gradio needs time for each input of an event."""
    follower: RunFollower
    marks: gr.HTML
    """Hidden component that receives the clicks on numbers, points and cells of all views."""

    @property
    def controls(self) -> dict[str, Any]:
        """Controls of all views by name; the names are also address parameters."""
        found = {comparison.CONTROL: self.compare}
        return found | {k: v for parts in self.parts.values() for k, v in parts.controls.items()}

    @property
    def named_inputs(self) -> dict[str, Any]:
        """The view, the filters and the controls by their names in the address."""
        return {"view": self.view, **self.filters, **self.controls}

    @property
    def inputs(self) -> list[Any]:
        return list(self.named_inputs.values())

    def view_outputs(self, view: str) -> list[Any]:
        """Components that are filled when the view is drawn."""
        top, bottom = ([self.common[name] for name in names] for names in (TOP, BOTTOM))
        return [*top, *self.parts[view].outputs(), *bottom]

    def view_updates(self, view: str, drawn: Mapping[str, Any]) -> list[Any]:
        """The contents in `drawn` (output name -> content), in the order of `view_outputs`."""
        top, bottom = ([drawn.get(name, gr.skip()) for name in names] for names in (TOP, BOTTOM))
        return [*top, *self.parts[view].updates(drawn), *bottom]

    def session_states(self, view: str) -> dict[str, gr.State]:
        """Controls of a view whose values are in the Gradio session instead of on the page."""
        return {k: v for k, v in self.parts[view].controls.items() if isinstance(v, gr.State)}


def parse_request(
    tab: ResultsTab, request_text: str, session_values: Mapping[str, Any] | None = None
) -> tuple[Any, ...]:
    """Values of `tab.inputs` in the JSON text that the page sent; initial values if the text is
    empty. `session_values`: control name -> value to use instead of the one in the text, for
    controls whose values are in the Gradio session."""
    parts = tab.inputs
    if not request_text:
        return tuple(part.value for part in parts)
    try:
        values = json.loads(request_text)
    except ValueError:
        values = None
    if (
        not isinstance(values, list)
        or len(values) != len(parts)
        or not all(
            _is_valid_value(part.value, value) for part, value in zip(parts, values, strict=True)
        )
    ):
        raise gr.Error("The request is not valid. Reload the page.", duration=None)
    first = len(values) - len(tab.controls)
    named = dict(zip(tab.controls, values[first:], strict=True))
    return (*values[:first], *{**named, **(session_values or {})}.values())


def _is_valid_value(start: Any, value: Any) -> bool:
    """Whether a value is of the kind of the initial value: a list of texts, or a text (or None)."""
    if isinstance(start, list):
        return isinstance(value, list) and all(isinstance(part, str) for part in value)
    return value is None or isinstance(value, str)


def split_values(tab: ResultsTab, values: tuple[Any, ...]) -> tuple[str, Filter, dict[str, Any]]:
    """View, filter and controls, taken from the values of `tab.inputs`."""
    view, *rest = values
    filters, controls = rest[: len(FILTER_NAMES)], rest[len(FILTER_NAMES) :]
    return view, parse_filter(filters), dict(zip(tab.controls, controls, strict=True))


# ------------------------------------------------------------------ JavaScript of the tab


def single_control_script(tab: ResultsTab, control: Any, script: str) -> str:
    """JavaScript for a change of one control: run `script`, which needs the values of all controls,
    with the new value of this control and the stored values of the others."""
    held, index = "evenhand.held", tab.inputs.index(control)
    return f"value => {held} && void ({script})(...{held}.with({index}, value))"


def address_script(tab: ResultsTab) -> str:
    """JavaScript that writes the values that differ from their defaults into the page address, and
    stores all values on the page for the next request."""
    names = json.dumps(list(tab.named_inputs))
    starts = json.dumps([part.value for part in tab.inputs])
    return (
        f"(...values) => {{ evenhand.scope('results', {names}, {starts}, values); "
        "evenhand.held = values; evenhand.asked = JSON.stringify(values); }"
    )


def draw_script(tab: ResultsTab, *, settling: bool = False, changed: bool = False) -> str:
    """JavaScript that writes the page address and draws the visible view.

    While a study is being opened, the script does nothing, because the controls still have the
    values of the previous study. The script with `settling` ends the opening; it draws the view
    that the visitor chose in the meantime, if any. `changed`: draw only if a value has changed.
    """
    before = "evenhand.asked" if changed else "null"
    buttons = _draw_buttons(tab)
    waits = "" if settling else "if (evenhand.opensStudy()) return; "
    settles = "if (evenhand.settleView(values[0])) return; " if settling else ""
    return (
        f"(...values) => {{ {waits}const before = {before}; ({address_script(tab)})(...values); "
        f"if (evenhand.asked === before) return; {settles}"
        f"evenhand.draw({buttons}[values[0]]); }}"
    )


def _draw_buttons(tab: ResultsTab) -> str:
    """JSON of the views with the CSS selectors of the buttons that draw them."""
    return json.dumps({name: f"#eh-draw-{index}" for index, name in enumerate(tab.draw_buttons)})


def redraw_script(tab: ResultsTab) -> str:
    """JavaScript that draws the visible view again, without the message "being drawn"."""
    buttons = _draw_buttons(tab)
    return f"() => evenhand.held && document.querySelector({buttons}[evenhand.held[0]])?.click()"
