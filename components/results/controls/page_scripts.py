"""JavaScript of the Results tab: write the page address, keep control values, draw the view."""

from __future__ import annotations

import json
from typing import Any

from components.results.controls.results_parts_tab import ResultsTab


def single_control_script(tab: ResultsTab, control: Any, script: str) -> str:
    """JavaScript for a change of one control: run `script`, which needs the values of all controls,
    with the new value of this control and the stored values of the others."""
    place = tab.inputs.index(control)
    values = "evenhand.held"
    return f"value => {values} && void ({script})(...{values}.with({place}, value))"


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
