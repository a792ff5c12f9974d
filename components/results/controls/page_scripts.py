"""Scripts that run on the page: write the address, remember the values, draw the view in sight."""

from __future__ import annotations

import json
from typing import Any

from components.results.controls.results_parts_tab import ResultsTab


def single_control_script(tab: ResultsTab, control: Any, script: str) -> str:
    """Wrap a script of all values for the event of one control; the page holds the others.

    One input per event, as Gradio searches its whole component tree for each input.
    """
    place = tab.inputs.index(control)
    values = "evenhand.held"
    return f"value => {values} && void ({script})(...{values}.with({place}, value))"


def address_script(tab: ResultsTab) -> str:
    """Script that writes values that differ from their defaults into the page address.

    It also stores the values on the page, and as the text that `request_text` sends.
    """
    names = json.dumps(list(tab.named_inputs))
    starts = json.dumps([part.value for part in tab.inputs])
    return (
        f"(...values) => {{ evenhand.scope('results', {names}, {starts}, values); "
        "evenhand.held = values; evenhand.asked = JSON.stringify(values); }"
    )


def draw_script(tab: ResultsTab, *, opening: bool = False, changed: bool = False) -> str:
    """Script that writes the address and draws the view in sight.

    `opening`: the Results tab was opened; until its controls have been set for a study, nothing is
    drawn, and setting them draws the view. `changed`: draw only if the values differ from the last
    ones, as Gradio's menus report one choice twice.
    """
    before = "evenhand.asked" if changed else "null"
    places = json.dumps({name: f"#eh-draw-{place}" for place, name in enumerate(tab.draw_buttons)})
    settled = "evenhand.settled" if opening else "(evenhand.settled = true)"
    return (
        f"(...values) => {{ if (!{settled}) return; "
        f"const before = {before}; ({address_script(tab)})(...values); "
        "if (evenhand.asked === before) return; "
        f"evenhand.draw({places}[values[0]]); }}"
    )


def redraw_script(tab: ResultsTab) -> str:
    """Script that draws the view in sight again, without a message that it is being drawn."""
    places = json.dumps({name: f"#eh-draw-{place}" for place, name in enumerate(tab.draw_buttons)})
    return f"() => evenhand.held && document.querySelector({places}[evenhand.held[0]])?.click()"
