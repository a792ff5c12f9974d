"""The Overview of the Results tab: one finding each on position bias, ranking and people."""

from __future__ import annotations

from typing import Any, Final

import gradio as gr

from components.filtering.filtered_study import FilteredStudy
from components.html.panel import how_computed
from components.layout.widgets import ClickableHTML
from components.results.agreement import tab as people_tab
from components.results.agreement.computed import load_agreement
from components.results.bias import tab as bias_tab
from components.results.bias.computed import load_bias
from components.results.overview import panels
from components.results.overview.sentences import people_sentence, swap_sentence
from components.results.ranking import tab as ranking_tab
from components.results.ranking.computed import load_ranking
from components.results.ranking.ranking_stability import HOLD_RULE, compare_orders
from components.results.view_contract import ViewParts

NAME: Final = "Overview"


def build() -> ViewParts:
    with gr.Row(equal_height=True, elem_classes="eh-pair"):
        with gr.Column(elem_classes="eh-panel"):
            bias = ClickableHTML(elem_id="eh-over-bias")
        with gr.Column(elem_classes="eh-panel"):
            ranking = ClickableHTML(elem_id="eh-over-ranking")
            ClickableHTML(how_computed(HOLD_RULE))
        with gr.Column(elem_classes="eh-panel"):
            people = ClickableHTML(elem_id="eh-over-people")
    return ViewParts(outputs=[bias, ranking, people])


def finding(filtered_study: FilteredStudy) -> tuple[str, str]:
    """Return the headline of the position-bias view as the headline of the study."""
    return bias_tab.finding(filtered_study)[0], ""


def render(filtered_study: FilteredStudy) -> list[Any]:
    bias, ranking = load_bias(filtered_study), load_ranking(filtered_study)
    people = load_agreement(filtered_study)
    return [
        panels.finding_card(
            "Position bias",
            swap_sentence(bias),
            panels.swap_chart(bias),
            bias_tab.NAME,
            "Position bias in detail",
        ),
        panels.finding_card(
            "Does the ranking hold?",
            compare_orders(ranking).sentence,
            panels.order_chart(ranking),
            ranking_tab.NAME,
            "Ranking and Elo",
        ),
        panels.finding_card(
            "People",
            people_sentence(people),
            panels.people_chart(people),
            people_tab.NAME,
            "Agreement with people",
        ),
    ]
