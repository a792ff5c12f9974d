"""The Overview of the Results tab: one finding each on position bias, ranking and people."""

from __future__ import annotations

from typing import Final

from components.filtering.filtered_study import FilteredStudy
from components.html.markup import Markup
from components.results.agreement import tab as people_tab
from components.results.agreement.computed import load_agreement
from components.results.bias import tab as bias_tab
from components.results.bias.computed import load_bias
from components.results.overview import panels
from components.results.overview.sentences import people_sentence, swap_sentence
from components.results.ranking import tab as ranking_tab
from components.results.ranking.computed import load_ranking
from components.results.ranking.ranking_stability import HOLD_RULE, compare_orders
from components.results.view.result_view import Body, Panel, PanelGroup, View

NAME: Final = "Overview"


def finding(filtered_study: FilteredStudy) -> tuple[str, str]:
    """Return the headline of the position-bias view as the headline of the study."""
    return bias_tab.finding(filtered_study)[0], ""


def draw_bias(filtered_study: FilteredStudy) -> Markup:
    bias = load_bias(filtered_study)
    return panels.finding_card(
        "Position bias",
        swap_sentence(bias),
        panels.swap_chart(bias),
        bias_tab.NAME,
        "Position bias in detail",
    )


def draw_ranking(filtered_study: FilteredStudy) -> Markup:
    ranking = load_ranking(filtered_study)
    return panels.finding_card(
        "Does the ranking hold?",
        compare_orders(ranking).sentence,
        panels.order_chart(ranking),
        ranking_tab.NAME,
        "Ranking and Elo",
    )


def draw_people(filtered_study: FilteredStudy) -> Markup:
    people = load_agreement(filtered_study)
    return panels.finding_card(
        "People",
        people_sentence(people),
        panels.people_chart(people),
        people_tab.NAME,
        "Agreement with people",
    )


VIEW: Final = View(
    NAME,
    (
        PanelGroup(
            (
                Panel(
                    "bias",
                    draw_bias,
                    (Body("bias", "eh-over-bias"),),
                    json_keys=("position.*.*.flips.toward_first", "position.*.*.flips.flips"),
                ),
                Panel(
                    "ranking",
                    draw_ranking,
                    (Body("ranking", "eh-over-ranking"),),
                    how=HOLD_RULE,
                    json_keys=("ranks.*.place", "bradley_terry_by_order.*.*"),
                ),
                Panel(
                    "people",
                    draw_people,
                    (Body("people", "eh-over-people"),),
                    json_keys=(
                        "agreement.pairs.*.people.share",
                        "agreement.among_people.pair.share",
                    ),
                ),
            )
        ),
    ),
    finding,
    json_keys=("position_pooled.consistency", "position_pooled.first_share", "counts.by_status"),
)
