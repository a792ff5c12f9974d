"""The pass/fail view of the Results tab: how often the judge is right, and the true pass rate."""

from __future__ import annotations

from typing import Any, Final

import gradio as gr

from components.filtering.filtered_study import FilteredStudy
from components.html.format import NARROW_SPACE, count
from components.html.markup import EMPTY, Markup
from components.html.panel import empty_state, how_computed, panel_heading
from components.layout.widgets import ClickableHTML
from components.results.pass_fail import panels
from components.results.pass_fail.computed import load_pass_fail
from components.results.view_contract import ViewParts

NAME: Final = "Pass or fail"
HOW_RATES: Final = (
    "Sensitivity: passes among answers labelled good. Specificity: fails among answers labelled "
    "bad. Unusable replies enter no rate. Intervals: Wilson, by item.\n\n"
    "True pass rate: labels where there are some; elsewhere (observed + specificity − 1) / J, with "
    "the limits of Lang and Reiczigel. It assumes that the judge errs equally often on labelled "
    "and unlabelled answers. It needs a J of at least 0.2 with a lower limit above 0.06."
)


def build() -> ViewParts:
    with gr.Row(equal_height=True, elem_classes="eh-pair"):
        with gr.Column(elem_classes="eh-panel", scale=9):
            head_areas = ClickableHTML(panel_heading("Where it is wrong"))
            areas = ClickableHTML(elem_id="eh-pass-areas")
        with gr.Column(elem_classes="eh-panel", scale=17):
            head_rates = ClickableHTML(panel_heading("How good is the judge?"))
            rates = ClickableHTML(elem_id="eh-pass-rates")
            ClickableHTML(how_computed(HOW_RATES))
    with gr.Column(elem_classes="eh-panel", visible=False) as judges_panel:
        ClickableHTML(panel_heading("All judges", f"%, 95{NARROW_SPACE}% CI by item"))
        judges = ClickableHTML(elem_id="eh-pass-judges")
    with gr.Column(elem_classes="eh-panel"):
        ClickableHTML(panel_heading("Does the order of the options matter?"))
        order = ClickableHTML(elem_id="eh-pass-order")
    return ViewParts(
        outputs=[head_areas, areas, head_rates, rates, judges, judges_panel, order],
        clickable=[areas, rates, judges],
    )


def finding(filtered: FilteredStudy) -> tuple[str, str]:
    return panels.pass_fail_finding(load_pass_fail(filtered))


def kpis(filtered: FilteredStudy) -> Markup:
    return panels.pass_fail_kpis(load_pass_fail(filtered))


def render(filtered: FilteredStudy) -> list[Any]:
    view = load_pass_fail(filtered)
    if view.shown is None:
        none = empty_state(
            "No pass/fail verdicts", "Choose a study whose judges pass or fail single answers."
        )
        return [panel_heading("Where it is wrong"), none, panel_heading("How good is the judge?"),
                EMPTY, EMPTY, gr.Column(visible=False), EMPTY]  # fmt: skip
    labelled = count(view.shown.rates.confusion.total, "labelled answer")
    who = " · ".join(view.cell or ())
    return [
        panel_heading("Where it is wrong", f"{labelled}; area = number of answers"),
        panels.confusion_areas(view),
        panel_heading("How good is the judge?", f"{who}; 95{NARROW_SPACE}% CI by item"),
        panels.rates_table(view),
        panels.judges_table(view),
        gr.Column(visible=len(view.results) > 1),
        panels.order_panel(view),
    ]
