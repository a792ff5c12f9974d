"""Results, position bias: does the place of an answer decide? The panels and what fills them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import gradio as gr

from components import bias_view
from components.format import NARROW
from components.panels import heading, how, key, wrap
from components.plot import ClickableHTML, PlotlyView, Switch
from components.results_parts import Parts, pick
from components.scene import Scene

NAME: Final = "Position bias"


def build() -> Parts:
    with gr.Row(equal_height=True, elem_classes="eh-pair"):
        with gr.Column(elem_classes="eh-panel", scale=19):
            with gr.Row(elem_classes="eh-panel-head"):
                head = ClickableHTML(heading("Consistency", bias_view.SUBTITLES["Consistency"]))
                measure = Switch(tuple(bias_view.MEASURES), "Measure")
            matrix = ClickableHTML(elem_id="eh-matrix")
            ClickableHTML(how(HOW_MATRIX))
        with gr.Column(elem_classes="eh-panel", scale=10):
            ClickableHTML(
                heading("Which slot is chosen", f"% of decisive verdicts, 95{NARROW}% CI")
            )
            ClickableHTML(
                wrap('<div class="eh-row">', key("first", "shown first"),
                     key("second", "shown second"), key("even", "even"), "</div>")
            )  # fmt: skip
            slots = PlotlyView(height=300, elem_id="eh-slots")
            ClickableHTML(how(HOW_SLOTS))
    with gr.Column(elem_classes="eh-panel"):
        keys = [("first", "toward the first shown"), ("second", "toward the second")]
        ClickableHTML(
            heading("Which way verdicts flip", "pairs whose verdict changed with the order", keys)
        )
        flips = ClickableHTML(elem_id="eh-flips")
        ClickableHTML(how(HOW_FLIPS))
    return Parts(
        shown=[head, matrix, slots, flips],
        clickable=[matrix, slots, flips],
        controls={"measure": measure},
        alone={"measure": ([head, matrix], show_measure)},
    )


HOW_MATRIX: Final = (
    "Each comparison is asked in every planned order. It survives if all orders name the same "
    "answer (or all a tie): `consistency = surviving / read in all orders`. Entropy is that of the "
    "slot chosen, divided by log2 N. A reply that cannot be read lowers n, never the value. "
    "Intervals: Wilson at the effective n, items as clusters."
)
HOW_SLOTS: Final = (
    "Decisive verdicts of comparisons read in all orders, so content cancels: whatever differs "
    "from even is the place. `share = verdicts for the slot / decisive verdicts`."
)
HOW_FLIPS: Final = (
    "A pair flips if the two orders do not mirror each other, ties included. A side is called "
    "preferred if an exact sign test on the flips has p < .05 after Holm's adjustment."
)


def tell(scene: Scene) -> tuple[str, str]:
    return bias_view.show_finding(scene.frame)


def settle(scene: Scene, wanted: Mapping[str, str]) -> dict[str, Any]:
    """The controls as an address or a new study wants them."""
    return {"measure": gr.Radio(value=pick(wanted.get("measure"), list(bias_view.MEASURES)))}


def show(scene: Scene, measure: str) -> list[Any]:
    rest = [bias_view.show_slots(scene.frame), bias_view.show_flips(scene.frame)]
    return [*show_measure(scene, measure), *rest]


def show_measure(scene: Scene, measure: str) -> list[Any]:
    head = heading(f"{measure} by prompt and category", bias_view.SUBTITLES[measure])
    return [head, bias_view.show_matrix(scene.frame, measure)]
