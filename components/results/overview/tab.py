"""The Overview of the Results tab: one finding each on position bias, ranking and people."""

from __future__ import annotations

from typing import Final

from components.filtering.filtered_study import FilteredStudy
from components.filtering.memo import memoise_by_study
from components.html.markup import Markup, fill
from components.html.pieces import panel_head, wrap
from components.results.agreement import tab as people_tab
from components.results.agreement.computed import load_agreement
from components.results.bias import tab as bias_tab
from components.results.bias.computed import load_bias
from components.results.cards import tab as cards_tab
from components.results.cards.card_measures import MAX_ADVICE_ROWS
from components.results.contrasts import tab as contrasts_tab
from components.results.contrasts.sides import list_sides
from components.results.overview import panels
from components.results.overview.sentences import people_sentence, swap_sentence
from components.results.ranking import tab as ranking_tab
from components.results.ranking.computed import load_ranking
from components.results.ranking.ranking_stability import HOLD_RULE, compare_orders
from components.results.remedies import tab as remedies_tab
from components.results.view.judge_menu import JudgeMenu, judge_menu
from components.results.view.next_steps import step_rows
from components.results.view.result_view import Body, Panel, PanelGroup, View
from components.results.view.unusable_replies import (
    EXPLANATION_TITLE,
    NO_USABLE_VERDICT,
    explanation_html,
    find_unusable,
    has_votes,
    repair_steps,
)
from metrics.estimation.row_selection import people_mask
from metrics.win_rates.win_rates import win_rate_by_position

NAME: Final = "Overview"
GENERAL_ADVICE: Final = (
    "More calls per comparison (both orders, repeats or several judges) can make verdicts right "
    "more often."
)


def finding(filtered: FilteredStudy) -> tuple[str, str]:
    """Return the headline of the position-bias view as the headline of the study."""
    return bias_tab.finding(filtered)[0], ""


def menu_of(filtered: FilteredStudy) -> JudgeMenu:
    """Function that returns the HTML of a judge's name with a menu: links to its report card and to
    its comparison with another judge."""
    sides = list(list_sides(filtered))

    def menu(name: str) -> Markup:
        targets = {"Report card": {"view": cards_tab.NAME, "card": name}}
        other = next((side for side in sides if side != name), None)
        if name in sides and other is not None:
            compared = {"view": contrasts_tab.NAME, "left": name, "right": other}
            targets["Compare with another"] = compared
        return judge_menu(name, targets)

    return menu


def draw_unusable(filtered: FilteredStudy) -> Markup | None:
    """HTML panel for a study in which no reply has a usable verdict, with actions; None if at least
    one verdict is usable. Readers who may not run the study, and readers of a read-only page, get
    only the button that shows the replies."""
    unusable = find_unusable(filtered)
    if unusable is None:
        return None
    may_run = filtered.store.owns(filtered.name)
    steps = repair_steps(filtered, unusable, on_run=False, may_run=may_run)
    body = explanation_html(filtered) + step_rows(steps)
    return wrap(fill("<section>{}{}</section>", panel_head(EXPLANATION_TITLE, "", ()), body))


def draw_bias(filtered: FilteredStudy) -> Markup:
    bias, unusable = load_bias(filtered), find_unusable(filtered)
    return panels.finding_card(
        "Position bias",
        unusable.sentence if unusable else swap_sentence(bias),
        panels.swap_chart(bias, menu_of(filtered)),
        bias_tab.NAME,
        "Position bias in detail",
    )


@memoise_by_study
def load_position_rates(filtered: FilteredStudy) -> panels.PositionRates:
    """The models' win rates by position of a filtered study, computed once per version."""
    return win_rate_by_position(filtered.machines)


def draw_ranking(filtered: FilteredStudy) -> Markup:
    ranking = load_ranking(filtered)
    return panels.finding_card(
        "Does the ranking hold?",
        compare_orders(ranking).sentence,
        panels.order_chart(ranking, load_position_rates(filtered)),
        ranking_tab.NAME,
        "Ranking and Elo",
    )


def draw_people(filtered: FilteredStudy) -> Markup:
    people = load_agreement(filtered)
    nothing = find_unusable(filtered) is not None and not has_votes(filtered)
    return panels.finding_card(
        "People",
        NO_USABLE_VERDICT if nothing else people_sentence(people),
        panels.people_chart(people, menu_of(filtered)),
        people_tab.NAME,
        "Agreement with people",
    )


def has_known_winners(filtered: FilteredStudy) -> bool:
    """Whether remedies can be compared: pairs have a known better answer, or people's votes."""
    rows = filtered.machines
    known = bool((rows["truth"] >= 0).any()) or bool(people_mask(filtered.frame).any())
    return known and bool((rows["options"] == 2).any())


def draw_advice(filtered: FilteredStudy) -> Markup | None:
    """HTML strip with the recommended remedy; None (strip hidden) if no better answer is known."""
    rows = filtered.machines
    if not has_known_winners(filtered):
        return None
    sentence = GENERAL_ADVICE
    if len(rows) <= MAX_ADVICE_ROWS:
        sentence = " ".join(remedies_tab.finding(filtered)).strip()
    return panels.action_card(
        "What to do about position bias",
        sentence,
        {"data-view": remedies_tab.NAME},
        "Compare remedies",
        finding=True,
    )


def draw_exports(filtered: FilteredStudy) -> Markup:
    return panels.action_card(
        "Save or share these results",
        "A report on one page that opens without a server, tables for a paper, the data, and a "
        "link to this view.",
        {"data-click": "#eh-share"},
        "Report and exports",
    )


VIEW: Final = View(
    NAME,
    (
        Panel(
            "unusable",
            draw_unusable,
            (Body("unusable", "eh-over-unusable", clickable=True),),
            visibility="hidden",
            json_keys=("counts.by_status",),
        ),
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
                    json_keys=(
                        "ranks.*.place",
                        "bradley_terry_by_order.*.*",
                        "win_rate_by_position.*.*",
                    ),
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
        Panel(
            "advice",
            draw_advice,
            (Body("advice", "eh-over-advice"),),
            visibility="hidden",
            json_keys=("remedies.recommendations.*.*.gain",),
        ),
        Panel("exports", draw_exports, (Body("exports", "eh-over-exports"),)),
    ),
    finding,
    json_keys=("position_pooled.consistency", "position_pooled.first_share", "counts.by_status"),
)
