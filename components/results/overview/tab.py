"""The Overview of the Results tab: one finding each on position bias, ranking and people."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from components.filtering.filtered_study import FilteredStudy
from components.filtering.memo import memoise_by_study
from components.html.markup import EMPTY, Markup, fill
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
from components.results.ranking import tab as ranking_tab
from components.results.ranking.computed import load_ranking
from components.results.ranking.ranking_stability import HOLD_RULE, compare_orders
from components.results.remedies import tab as remedies_tab
from components.results.view import steps_and_menus, unusable_replies
from components.results.view.result_view import Body, Panel, PanelGroup, View
from metrics.estimation.row_selection import people_mask
from metrics.win_rates.win_rates import win_rate_by_position

NAME: Final = "Overview"
CARDS: Final = ("bias", "ranking", "people")
ADDRESS_NAMES: Final = frozenset(("study", "tab", "view", "__theme"))
"""The only query parameters that the address of an Overview without filters may have."""
GENERAL_ADVICE: Final = (
    "More calls per comparison (both orders, repeats or several judges) can make verdicts right "
    "more often."
)


def finding(filtered: FilteredStudy) -> tuple[str, str]:
    """Return the headline of the position-bias view as the headline of the study."""
    return bias_tab.finding(filtered)[0], ""


def menu_of(filtered: FilteredStudy) -> steps_and_menus.JudgeMenu:
    """Function that returns the HTML of a judge's name with a menu: links to its report card and to
    its comparison with another judge."""
    sides = list(list_sides(filtered))

    def menu(name: str) -> Markup:
        targets = {"Report card": {"view": cards_tab.NAME, "card": name}}
        other = next((side for side in sides if side != name), None)
        if name in sides and other is not None:
            compared = {"view": contrasts_tab.NAME, "left": name, "right": other}
            targets["Compare with another"] = compared
        made: Markup = steps_and_menus.judge_menu(name, targets)
        return made

    return menu


def draw_unusable(filtered: FilteredStudy) -> Markup | None:
    """HTML panel for a study in which no reply has a usable verdict, with actions; None if at least
    one verdict is usable. Readers who may not run the study, and readers of a read-only page, get
    only the button that shows the replies."""
    unusable = unusable_replies.find_unusable(filtered)
    if unusable is None:
        return None
    may_run = filtered.store.owns(filtered.name)
    steps = unusable_replies.repair_steps(filtered, unusable, on_run=False, may_run=may_run)
    body = unusable_replies.explanation_html(filtered) + steps_and_menus.step_rows(steps)
    head = panel_head(unusable_replies.EXPLANATION_TITLE, "", ())
    return wrap(fill("<section>{}{}</section>", head, body))


def draw_bias(filtered: FilteredStudy) -> Any:
    bias, unusable = load_bias(filtered), unusable_replies.find_unusable(filtered)
    told = unusable.sentence if unusable else panels.swap_sentence(bias)
    chart = panels.swap_chart(bias, menu_of(filtered))
    return _finding("Position bias", told, chart, bias_tab.NAME, "Position bias in detail")


@memoise_by_study
def load_position_rates(filtered: FilteredStudy) -> panels.PositionRates:
    """The models' win rates by position of a filtered study, computed once per version."""
    return win_rate_by_position(filtered.machines)


def draw_ranking(filtered: FilteredStudy) -> Any:
    ranking = load_ranking(filtered)
    chart = panels.order_chart(ranking, load_position_rates(filtered))
    told, view = compare_orders(ranking).sentence, ranking_tab.NAME
    return _finding("Does the ranking hold?", told, chart, view, "Ranking and Elo")


def draw_people(filtered: FilteredStudy) -> Any:
    people = load_agreement(filtered)
    told = panels.people_sentence(people)
    if unusable_replies.find_unusable(filtered) and not unusable_replies.has_votes(filtered):
        told = unusable_replies.NO_USABLE_VERDICT
    chart = panels.people_chart(people, menu_of(filtered))
    return _finding("People", told, chart, people_tab.NAME, "Agreement with people")


_finding: Final = panels.OVERVIEW.finding
"""Function that returns the HTML of a finding: topic, sentence, small chart, and a link to the view
with the details. The sentence is hidden while a run is active."""


def has_known_winners(filtered: FilteredStudy) -> bool:
    """Whether remedies can be compared: pairs have a known better answer, or people's votes."""
    rows = filtered.machines
    known = bool((rows["truth"] >= 0).any()) or bool(people_mask(filtered.frame).any())
    return known and bool((rows["options"] == 2).any())


def draw_advice(filtered: FilteredStudy) -> Any:
    """HTML strip with the recommended remedy, hidden while a run is active; None (strip hidden) if
    no better answer is known."""
    if not has_known_winners(filtered):
        return None
    sentence = GENERAL_ADVICE
    if len(filtered.machines) <= MAX_ADVICE_ROWS:
        sentence = " ".join(remedies_tab.finding(filtered)).strip()
    opens, title = {"data-view": remedies_tab.NAME}, "What to do about position bias"
    return panels.OVERVIEW.action(title, sentence, opens, "Compare remedies", "eh-claim")


def draw_exports(filtered: FilteredStudy) -> Any:
    told = (
        "A report on one page that opens without a server, tables for a paper, the data, and a "
        "link to this view."
    )
    opens, title = {"data-click": "#eh-share"}, "Save or share these results"
    return panels.OVERVIEW.action(title, told, opens, "Report and exports")


# ------------------------------------------------------ the Overview on the loading screen


def opens_overview(address: Mapping[str, str]) -> bool:
    """Whether a page with these query parameters opens with the Overview of a study, without
    filters."""
    return (
        bool(address.get("study"))
        and address.get("tab") == "results"
        and address.get("view", NAME) == NAME
        and set(address) <= ADDRESS_NAMES
    )


def preview_html(drawn: Mapping[str, Any]) -> Markup:
    """HTML of the drawn Overview (output name -> content) until the page's controls are ready:
    headline, key numbers and findings."""
    cards = [fill('<div class="eh-panel">{}</div>', drawn[name]) for name in CARDS]
    findings = fill('<div class="findings">{}</div>', EMPTY.join(cards))
    return EMPTY.join((drawn["finding"], drawn["kpis"], findings))


def _panel(name: str, draw: Any, *keys: str, **more: Any) -> Panel:
    """A panel of the Overview; `keys`: paths of its numbers in the JSON."""
    clickable = name == "unusable"
    body = Body(name, f"eh-over-{name}", clickable=clickable)
    return Panel(name, draw, (body,), json_keys=keys, **more)


VIEW: Final = View(
    NAME,
    (
        _panel("unusable", draw_unusable, "counts.by_status", visibility="hidden"),
        PanelGroup(
            (
                _panel(
                    "bias", draw_bias, "position.*.*.flips.toward_first", "position.*.*.flips.flips"
                ),
                _panel(
                    "ranking",
                    draw_ranking,
                    "ranks.*.place",
                    "bradley_terry_by_order.*.*",
                    "win_rate_by_position.*.*",
                    how=HOLD_RULE,
                ),
                _panel(
                    "people",
                    draw_people,
                    "agreement.pairs.*.people.share",
                    "agreement.among_people.pair.share",
                ),
            )
        ),
        _panel("advice", draw_advice, "remedies.recommendations.*.*.gain", visibility="hidden"),
        _panel("exports", draw_exports),
    ),
    finding,
    json_keys=("position_pooled.consistency", "position_pooled.first_share", "counts.by_status"),
)
