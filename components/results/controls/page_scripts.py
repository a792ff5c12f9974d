"""JavaScript of the Results tab: write the page address, keep control values, draw the view."""

from __future__ import annotations

import json
from typing import Any

from components.results.controls.results_parts_tab import ResultsTab


def single_control_script(tab: ResultsTab, control: Any, script: str) -> str:
    """Adapt a script that needs the values of all controls, for the event of one control: the other
    values are read from the page. The event has a single input, because Gradio searches its whole
    component tree for each input."""
    place = tab.inputs.index(control)
    values = "evenhand.held"
    return f"value => {values} && void ({script})(...{values}.with({place}, value))"


def address_script(tab: ResultsTab) -> str:
    """JavaScript that writes the values that differ from their defaults into the page address. It
    also keeps the values on the page, as the text that `request_text` sends."""
    names = json.dumps(list(tab.named_inputs))
    starts = json.dumps([part.value for part in tab.inputs])
    return (
        f"(...values) => {{ evenhand.scope('results', {names}, {starts}, values); "
        "evenhand.held = values; evenhand.asked = JSON.stringify(values); }"
    )


def draw_script(tab: ResultsTab, *, settling: bool = False, changed: bool = False) -> str:
    """JavaScript that writes the page address and draws the visible view.

    `settling`: the controls have just been set for a study; if the visitor chose another view in
    the meantime, that view is drawn. Without `settling` nothing is drawn while a study is being
    opened, because the controls still have the values of the previous study. `changed`: draw only
    if a value has changed, because Gradio's menus report one choice twice.
    """
    before = "evenhand.asked" if changed else "null"
    places = json.dumps({name: f"#eh-draw-{place}" for place, name in enumerate(tab.draw_buttons)})
    waits = "" if settling else "if (evenhand.opensStudy()) return; "
    settles = "if (evenhand.settleView(values[0])) return; " if settling else ""
    return (
        f"(...values) => {{ {waits}const before = {before}; ({address_script(tab)})(...values); "
        f"if (evenhand.asked === before) return; {settles}"
        f"evenhand.draw({places}[values[0]]); }}"
    )


def redraw_script(tab: ResultsTab) -> str:
    """JavaScript that draws the visible view again, without the message "being drawn"."""
    places = json.dumps({name: f"#eh-draw-{place}" for place, name in enumerate(tab.draw_buttons)})
    return f"() => evenhand.held && document.querySelector({places}[evenhand.held[0]])?.click()"
