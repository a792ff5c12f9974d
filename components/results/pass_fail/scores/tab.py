"""The view on scores in the Results tab: arrangement heatmap, order effects, agreement with
labels."""

from __future__ import annotations

from typing import Any, Final

import gradio as gr

from components.filtering.filtered_study import FilteredStudy
from components.html.format import NARROW_SPACE, count
from components.html.markup import EMPTY, Markup
from components.html.panel import empty_state, how_computed, panel_heading
from components.layout.widgets import ClickableHTML
from components.results.pass_fail.scores import panels
from components.results.pass_fail.scores.computed import load_scores
from components.results.view_contract import ViewParts

NAME: Final = "Scores"
MATRIX_TITLE: Final = "Scores by arrangement"
HOW_ORDER: Final = (
    "Arrangements (orders of options and of criteria) are compared on the same answer. Expected "
    "share of a place: each answer's verdicts in all orders together, as if the order did not "
    "matter. A rubric's score is the mean of its levels; in the heatmap all its levels count. "
    "Unusable replies enter no score. Intervals: by item."
)


def build() -> ViewParts:
    with gr.Column(elem_classes="eh-panel"):
        heading = ClickableHTML(panel_heading(MATRIX_TITLE))
        matrix = ClickableHTML(elem_id="eh-score-matrix")
    with gr.Row(equal_height=True, elem_classes="eh-pair"):
        with gr.Column(elem_classes="eh-panel", scale=1):
            ClickableHTML(panel_heading("Does the order matter?"))
            order = ClickableHTML(elem_id="eh-score-order")
            ClickableHTML(how_computed(HOW_ORDER))
        with gr.Column(elem_classes="eh-panel", scale=1):
            ClickableHTML(panel_heading("Agreement with labels", "labels of the data, or people's"))
            agreement = ClickableHTML(elem_id="eh-score-agreement")
    with gr.Column(elem_classes="eh-panel", visible=False) as against_panel:
        title = "Scores against comparisons"
        ClickableHTML(panel_heading(title, "pairs whose lower-scored answer won"))
        against = ClickableHTML(elem_id="eh-score-contradictions")
    with gr.Column(elem_classes="eh-panel", visible=False) as judges_panel:
        ClickableHTML(panel_heading("All judges", f"95{NARROW_SPACE}% CI by item"))
        judges = ClickableHTML(elem_id="eh-score-judges")
    return ViewParts(
        outputs=[heading, matrix, order, agreement, against, against_panel, judges, judges_panel],
        clickable=[matrix, order, agreement, against, judges],
    )


def finding(filtered: FilteredStudy) -> tuple[str, str]:
    return panels.scores_finding(load_scores(filtered))


def kpis(filtered: FilteredStudy) -> Markup:
    return panels.scores_kpis(load_scores(filtered))


def render(filtered: FilteredStudy) -> list[Any]:
    view = load_scores(filtered)
    if view.shown is None:
        none = empty_state("No scores", "Choose a study whose judges score single answers.")
        hidden = gr.Column(visible=False)
        return [panel_heading(MATRIX_TITLE), none, EMPTY, EMPTY, EMPTY, hidden, EMPTY, hidden]
    who = " · ".join(view.cell or ())
    arranged = count(len(view.shown.arrangements), "arrangement")
    return [
        panel_heading(MATRIX_TITLE, f"{who}; {arranged}; % of verdicts, 95{NARROW_SPACE}% CI"),
        panels.arrangement_matrix(view),
        panels.order_tables(view),
        panels.agreement_table(view),
        panels.contradictions_table(view),
        gr.Column(visible=bool(view.contradictions)),
        panels.score_judges_table(view),
        gr.Column(visible=len(view.distributions) > 1),
    ]
