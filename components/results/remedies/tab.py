"""The Remedies view of the Results tab: ways to use a biased judge, compared by cost."""

from __future__ import annotations

from typing import Final

from components.filtering.filtered_study import FilteredStudy
from components.html.format import NARROW_SPACE, count
from components.html.markup import EMPTY, Markup, fill, join
from components.html.panel import empty_state, panel_heading
from components.results.pass_fail.scores.computed import has_comparisons
from components.results.remedies import point_remedies_panel
from components.results.remedies.advice_panel import recommendation_panel, remedy_finding
from components.results.remedies.budget_panel import (
    BUDGETS,
    HOW_BUDGET,
    budget_html,
    budget_title,
    parse_budget,
)
from components.results.remedies.computed import RemedyResults, load_remedies
from components.results.remedies.frontier_svg import frontier_chart
from components.results.remedies.panel_pieces import wrapped
from components.results.remedies.pilot_panel import pilots_panel
from components.results.remedies.reason_panels import other_judges_panel, patterns_panel
from components.results.remedies.remedies_report import remedies_report, remedies_table
from components.results.remedies.remedy_table import rules_table
from components.results.remedies.risk_svg import risk_chart
from components.results.view.address_choices import pick_choice
from components.results.view.result_view import (
    Body,
    Control,
    ControlState,
    Drawn,
    Panel,
    PanelGroup,
    View,
)

NAME: Final = "Remedies"
CALLS, DOLLARS = "Calls", "Dollars"
FRONTIER_TITLE: Final = "Price and agreement of each remedy"
RISK_TITLE: Final = "Are decisions more often right if fewer comparisons are decided?"
NO_REMEDIES: Final = (
    "No comparison with usable replies in both orders has a known better answer (by design, label "
    "or people). Ask people in the Vote tab."
)
BUDGET_SUBTITLE: Final = (
    "of the judges and rules that the budget pays for, those with the highest agreement"
)
KEYS: Final = fill(
    '<div class="eh"><div class="eh-row eh-keys"><span class="eh-key"><i class="dot"></i>'
    "rule with the highest agreement up to its price (joined by a line)</span>"
    '<span class="eh-key"><i class="ring"></i>other rules, numbered as in the table</span>'
    "</div></div>"
)


HOW_RULES: Final = (
    "Credit of a comparison: right 1, undecided ½, wrong 0, so an undecided comparison counts "
    "as a random choice. The credit of “one call” is the mean over the two orders. The "
    "comparisons used are those with a known better answer and usable replies of every judge in "
    "both orders. Intervals by item.\n\n"
    "Differences are paired by item and adjusted for all rules of the table (max-t). The gain in "
    "the headline is measured in another way: on a random half of the items, the best rule at each "
    "price is chosen; its gain is measured on the other half. Then the halves change roles; all "
    "this is repeated 20 times. The gain is that of choosing a rule in this way; the rule named is "
    "the one that is best on all items.\n\n"
    "Ranking corrections (position term, length held equal, prediction-powered) change the "
    "ranking, but not individual verdicts: see Ranking and Win rates."
)


def finding(filtered: FilteredStudy) -> tuple[str, str]:
    if not has_comparisons(filtered):
        return point_remedies_panel.point_remedies_finding(filtered)
    return remedy_finding(load_remedies(filtered))


def draw_recommendation(filtered: FilteredStudy) -> Markup:
    results = load_remedies(filtered)
    if results.cell is None:
        return empty_state(
            "To compare remedies, the better answers must be known, from people's "
            "majority or by design.",
            NO_REMEDIES,
        )
    return recommendation_panel(results)


def budget_state(filtered: FilteredStudy, wanted: str | None) -> ControlState:
    """State of the budget menu: the amount in the page address, else the default."""
    amounts = [amount for _, amount in BUDGETS]
    return ControlState(pick_choice(wanted, amounts), list(BUDGETS))


def draw_budget(filtered: FilteredStudy, budget: str) -> Drawn | None:
    """Draw the best use of a budget; None without a known better answer."""
    results = load_remedies(filtered)
    if results.cell is None or results.plan is None:
        return None
    money = parse_budget(budget)
    heading = panel_heading(budget_title(results, money), BUDGET_SUBTITLE)
    return Drawn({"budget_plan": budget_html(results, money)}, heading)


def draw_frontier(filtered: FilteredStudy, cost: str) -> Drawn:
    results = load_remedies(filtered)
    if results.cell is None:
        return Drawn({"frontier": EMPTY}, panel_heading(FRONTIER_TITLE))
    by_dollars = cost == DOLLARS and results.priced
    what = "the majority of people" if results.by_people else "the known better answers"
    subtitle = (
        f"% of comparisons in which a rule agrees with {what}, undecided counts half; "
        f"95{NARROW_SPACE}% CI, "
        f"n {count(results.comparisons)}"
    )
    chart = wrapped(frontier_chart(results, by_dollars))
    return Drawn({"frontier": chart}, panel_heading(FRONTIER_TITLE, subtitle))


def draw_risk(filtered: FilteredStudy) -> Drawn:
    results = load_remedies(filtered)
    if results.cell is None:
        return Drawn({"risk": EMPTY}, EMPTY)
    _, caption = results.curve
    heading = panel_heading(RISK_TITLE, f"% of decided comparisons that are right; {caption}")
    return Drawn({"risk": wrapped(risk_chart(results))}, heading)


def draw_rules(filtered: FilteredStudy) -> Drawn:
    results = load_remedies(filtered)
    if results.cell is None:
        return Drawn({"rules": EMPTY}, EMPTY)
    title = f"All rules, computed on the same {count(results.comparisons, 'comparison')}"
    return Drawn({"rules": wrapped(rules_table(results))}, panel_heading(title, _left_out(results)))


def _left_out(results: RemedyResults) -> str:
    missing = results.study.left_out
    parts = []
    if missing["no truth"]:
        why = "no majority of people" if results.by_people else "no known better answer"
        parts.append(f"{count(missing['no truth'], 'comparison')} with {why}")
    if missing["incomplete"]:
        parts.append(
            f"{count(missing['incomplete'])} comparisons without usable replies in both orders"
        )
    for judge, prompt in results.study.incomplete_cells:
        parts.append(
            f"{judge} ({prompt}), which judged less than half of the comparisons in both orders"
        )
    left = f"; left out: {', '.join(parts)}" if parts else ""
    return (
        "calls per comparison; tokens and dollars if known; intervals of the gains are widened to "
        f"hold for all rules together{left}"
    )


def draw_lower(filtered: FilteredStudy) -> Markup:
    """HTML of the lower panels: other judges (only if no rule helps), verdict patterns, pilots."""
    results = load_remedies(filtered)
    if results.cell is None:
        return EMPTY
    helped = results.advice is not None and results.advice.chosen is not None
    judges = EMPTY if helped else other_judges_panel(results)
    parts = [judges, patterns_panel(results), pilots_panel(results)]
    return wrapped(fill('<div class="eh-grid2">{}</div>', join(parts)))


RECOMMENDATION: Final = Panel(
    "recommendation",
    draw_recommendation,
    (Body("recommendation", "eh-remedy-advice"),),
    css="",
)
BUDGET: Final = Panel(
    "budget_plan",
    draw_budget,
    (Body("budget_plan", "eh-budget-plan"),),
    "Which rule to use with a given budget",
    BUDGET_SUBTITLE,
    heading_changes=True,
    controls=(
        Control(
            "budget", "Budget", BUDGETS, "menu", "eh-budget", searchable=False, state=budget_state
        ),
    ),
    how=HOW_BUDGET,
    json_keys=("remedies.plan.steps.*.agreement", "remedies.plan.steps.*.gain"),
    visibility="hidden",
)
FRONTIER: Final = Panel(
    "frontier",
    draw_frontier,
    (Body("frontier", "eh-frontier", clickable=True),),
    FRONTIER_TITLE,
    heading_changes=True,
    legend=KEYS,
    controls=(Control("cost", "Cost", [CALLS, DOLLARS]),),
    scale=9,
    json_keys=(
        "remedies.rules.*.*.*.agreement",
        "remedies.rules.*.*.*.dollars",
        "remedies.juries.*.*.agreement",
    ),
)
RISK: Final = Panel(
    "risk",
    draw_risk,
    (Body("risk", "eh-risk"),),
    RISK_TITLE,
    heading_changes=True,
    scale=5,
    json_keys=(
        "remedies.risk.*.*.*.right_when_decided",
        "remedies.risk.*.*.*.decided",
    ),
)
RULES: Final = Panel(
    "rules",
    draw_rules,
    (Body("rules", "eh-rules", clickable=True),),
    "All rules",
    heading_changes=True,
    how=HOW_RULES,
    table=remedies_table,
    json_keys=(
        "remedies.rules.*.*.*.agreement",
        "remedies.rules.*.*.*.adjusted",
        "remedies.rules.*.*.*.decided",
        "remedies.juries.*.*.agreement",
    ),
)
LOWER: Final = Panel(
    "lower",
    draw_lower,
    (Body("lower", "eh-remedy-lower"),),
    css="",
    json_keys=(
        "remedies.identity.*.*.same_right",
        "remedies.identity.*.*.gain",
    ),
)
POINTS: Final = Panel(
    "point_remedies",
    point_remedies_panel.point_remedies_html,
    (Body("point_remedies", "eh-point-remedies"),),
    point_remedies_panel.TITLE,
    point_remedies_panel.SUBTITLE,
    how=point_remedies_panel.HOW_POINTS,
    visibility="hidden",
    report=point_remedies_panel.point_remedies_report,
    json_keys=("point_remedies.*.*",),
)
PAIRS: Final = PanelGroup(
    (
        RECOMMENDATION,
        PanelGroup((FRONTIER, RISK), css="eh-pair eh-remedy-charts"),
        BUDGET,
        RULES,
        LOWER,
    ),
    row=False,
    css="eh-kind",
    name="remedies_of_pairs",
    visible=has_comparisons,
    starts_visible=True,
)
"""Panels that need comparisons of answers."""
VIEW: Final = View(
    NAME,
    (PAIRS, POINTS),
    finding,
    kpis=lambda _: EMPTY,
    report=remedies_report,
    json_keys=("remedies.recommendations.*.*.gain", "remedies.rules.*.*.single.agreement"),
)
