"""The Remedies view of the Results tab: ways to use a biased judge, compared by cost.

A rule decides a comparison from one or more stored verdicts, such as "both orders must agree"."""

from typing import Final

from components.filtering.filtered_study import FilteredStudy
from components.html import pieces
from components.html.format import NARROW_SPACE, count
from components.html.markup import EMPTY, Markup, fill, join
from components.results.pass_fail.scores import computed
from components.results.remedies import charts_svg, improve_panel, panels, point_remedies_panel
from components.results.remedies.computed import RemedyResults, load_remedies
from components.results.view import paper_table, result_view
from components.results.view.address_choices import choice_or_default
from components.results.view.unusable_replies import put_format_advice_first_if_needed
from metrics.error_models.certified_share import certify_share_of_raters
from metrics.remedies.recommendation import format_points
from metrics.remedies.rule_names import rule_texts

NAME: Final = "Remedies"
IMPROVED: Final = "#eh-improve-body:has(.eh-improve)"
"""CSS selector of the element with the card "Improve the prompt" and its result, once it is
drawn."""
CALLS, DOLLARS = "Calls", "Dollars"
FRONTIER_TITLE: Final = "Price and agreement of each remedy"
RISK_TITLE: Final = "Are decisions more often right if fewer comparisons are decided?"
NO_REMEDIES: Final = (
    "votes of people in the Vote tab, or known better answers, and usable replies in both orders"
)
BUDGET_SUBTITLE: Final = (
    "the cheapest rule, and each dearer one that agrees significantly more often, on items not "
    "used to choose it"
)
KEYS: Final = fill(
    '<div class="eh"><div class="eh-row eh-keys"><span class="eh-key"><i class="dot"></i>'
    "best at its price</span>"
    '<span class="eh-key"><i class="ring"></i>other rules, named in “All rules”; '
    "moved aside where they would cover each other</span>"
    "</div></div>"
)


HOW_RULES: Final = (
    "Credit of a comparison: right 1, undecided ½, wrong 0, so an undecided comparison counts as a "
    "random choice. The credit of “one call” is the mean over the two orders. The comparisons used "
    "are those with a known better answer (else, with a majority of people) and usable replies of "
    "every judge in both orders. Intervals by item.\n\nDifferences are paired by item and adjusted "
    "for all rules of the table (max-t). The gain in the headline is measured in another way: on a "
    "random half of the items, the best rule at each price is chosen; its gain is measured on the "
    "other half. Then the halves change roles; all this is repeated 20 times. The gain is that of "
    "choosing a rule in this way; the rule named is the one that is best on all items.\n\nRanking "
    "corrections (position term, length held equal, prediction-powered) change the ranking, but "
    "not individual verdicts: see Ranking."
)


def headline(filtered: FilteredStudy) -> tuple[str, str]:
    if not computed.has_comparisons(filtered):
        return point_remedies_panel.single_answer_rules_headline(filtered)
    options = filtered.measured_judge_rows["options"]
    if not (options == 2).any():
        if (options > 2).any() or computed.compares_only_many_options(filtered):
            return panels.NO_PAIRS_FINDING
        if len(options):
            return point_remedies_panel.single_answer_rules_headline(filtered)
    results = load_remedies(filtered)
    told = panels.remedy_headline(results)
    rater = None if results.rater is None else (results.judge, results.prompt)
    return put_format_advice_first_if_needed(filtered, rater, told)


def budget_menu_state(filtered: FilteredStudy, wanted: str | None) -> result_view.ControlState:
    """State of the menu of budgets, with the choice `wanted` selected if the menu has it, else the
    first."""
    amounts = [amount for _, amount in panels.BUDGETS]
    return result_view.ControlState(choice_or_default(wanted, amounts), list(panels.BUDGETS))


def render_budget(filtered: FilteredStudy, budget: str) -> result_view.Content | None:
    """Render the best use of a budget (dollars as text); None without a known better answer."""
    results = load_remedies(filtered)
    if results.rater is None or results.budget_plan is None:
        return None
    money = panels.budget_amount(results, budget)
    heading = pieces.panel_heading(panels.budget_title(results, money), BUDGET_SUBTITLE)
    return result_view.Content({"budget_plan": panels.budget_html(results, money)}, heading)


def render_frontier(filtered: FilteredStudy, cost: str) -> result_view.Content | None:
    """Render the chart of agreement against price of each rule. `cost`: unit of the price, CALLS
    or DOLLARS; CALLS is used if dollars are unknown. None without a known better answer."""
    results = load_remedies(filtered)
    if results.rater is None:
        return None
    chart = charts_svg.frontier_chart(results, cost == DOLLARS and results.can_compare_in_dollars)
    heading = pieces.panel_heading(FRONTIER_TITLE, _frontier_subtitle(results))
    return result_view.Content({"frontier": pieces.wrap(chart)}, heading)


def _frontier_subtitle(results: RemedyResults) -> str:
    return (
        f"% agreement with {results.winner_source}, undecided counts half; "
        f"95{NARROW_SPACE}% CI, {count(results.comparison_count, 'comparison')}"
    )


def render_risk_curve(filtered: FilteredStudy) -> result_view.Content | None:
    """Render the risk-coverage curve; None without a known better answer, or if hardly any
    comparison is decided."""
    results = load_remedies(filtered)
    if results.rater is None or (chart := charts_svg.risk_coverage_chart(results)) is None:
        return None
    alone = judge_alone_share_sentence(results)
    subtitle = f"% of decided comparisons that are right; {results.risk_curve[1]}. {alone}"
    return result_view.Content(
        {"risk": pieces.wrap(chart)}, pieces.panel_heading(RISK_TITLE, subtitle)
    )


def judge_alone_share_sentence(results: RemedyResults) -> str:
    """Sentence on the share of comparisons that the judge may decide alone if its error rate on
    these is to be limited, or why this share is unknown."""
    assert results.rater is not None
    got = certify_share_of_raters(results.study.grid, [results.rater])
    terms = (
        f"an error of at most {100 * got.alpha:.0f}{NARROW_SPACE}% "
        f"(confidence {100 * (1 - got.delta):.0f}{NARROW_SPACE}%)"
    )
    if got.share.value is None:
        return f"How much {results.judge} may decide alone with {terms} {got.share.note}."
    decided = f"{100 * got.share.value:.0f}{NARROW_SPACE}%"
    return f"{results.judge} may decide {decided} of comparisons alone with {terms}."


def render_best_rules(filtered: FilteredStudy) -> result_view.Content | None:
    """Render the short table of rules: the best ones, one call and the usual rule (both orders must
    agree); None without a known better answer."""
    results = load_remedies(filtered)
    if results.rater is None:
        return None
    on = (
        f"gain on all {count(results.comparison_count, 'comparison')}, optimistic for a chosen "
        "rule; adjusted for all rules"
    )
    table = pieces.wrap(panels.best_rules_table(results))
    return result_view.Content({"best_rules": table}, pieces.panel_heading("The rules", on))


def render_rules(filtered: FilteredStudy) -> result_view.Content | None:
    """Render the table of all rules; None without a known better answer."""
    results = load_remedies(filtered)
    if results.rater is None:
        return None
    heading = pieces.panel_heading(_rules_title(results), _rules_subtitle(results))
    return result_view.Content({"rules": pieces.wrap(panels.rules_table(results))}, heading)


def _rules_title(results: RemedyResults) -> str:
    return f"All rules, computed on the same {count(results.comparison_count, 'comparison')}"


def _rules_subtitle(results: RemedyResults) -> str:
    missing = results.study.left_out
    parts = []
    if missing["no truth"]:
        votes = "no answer preferred by more than half of the votes"
        why = votes if results.is_winner_from_people else "no known better answer"
        parts.append(f"{count(missing['no truth'], 'comparison')} with {why}")
    if missing["incomplete"]:
        size = count(missing["incomplete"], "comparison")
        parts.append(
            f"{size} on which not every judge and prompt has usable replies in both orders"
        )
    parts += [
        f"{judge} ({prompt}), which judged less than half of the comparisons in both orders"
        for judge, prompt in results.study.incomplete_raters
    ]
    left = f"; left out: {', '.join(parts)}" if parts else ""
    return (
        "calls per comparison; tokens and dollars if known; intervals of the gains are widened to "
        f"hold for all rules together{left}"
    )


def render_lower_panels(filtered: FilteredStudy) -> Markup | None:
    """HTML of the lower panels: other judges (only if no rule helps, or if one of them is better),
    verdict patterns, pilots; None if no better answer is known, or if no judge passes the
    filters."""
    results = load_remedies(filtered)
    if results.rater is None:
        return None
    parts = [
        panels.other_judges_panel(results),
        panels.both_order_patterns_panel(results),
        panels.pilots_panel(results),
    ]
    return pieces.wrap(fill('<div class="eh-grid2">{}</div>', join(parts)))


def remedies_report(filtered: FilteredStudy) -> Markup:
    """HTML of the report section: recommendation, chart, rules, verdict patterns; empty if no
    better answer is known."""
    results = load_remedies(filtered)
    if results.rater is None:
        return EMPTY
    chart = charts_svg.frontier_chart(results, by_dollars=False)
    widened = "intervals of the differences to one call are widened to hold for all rules together"
    return pieces.finding_html(*headline(filtered)) + pieces.wrap(
        panels.html.panel(FRONTIER_TITLE, _frontier_subtitle(results), chart),
        panels.html.panel(_rules_title(results), widened, panels.rules_table(results)),
        panels.both_order_patterns_panel(results),
    )


def remedies_paper_table(filtered: FilteredStudy) -> paper_table.PaperTable | None:
    """Table for a paper: rules computed on all comparisons without votes of people, for the judge
    shown on the page; None without a known better answer."""
    results = load_remedies(filtered)
    if results.rater is None:
        return None
    rows = []
    for line in results.rule_estimates:
        gain = (paper_table.EMPTY_CELL, paper_table.EMPTY_CELL)
        if line.adjusted is not None:
            bounds = paper_table.interval_cell(line.adjusted, 100, 1)
            gain = (format_points(line.adjusted.value), bounds)
        shares = (line.decided, line.right_when_decided)
        row = (
            rule_texts(line.rule).title,
            f"{line.rule.calls_per_comparison:g}",
            *paper_table.percent_cells(line.agreement),
            *gain,
            *(paper_table.percent_cells(one)[0] for one in shares),
        )
        if line.complete and not line.rule.votes:
            rows.append(row)
    caption = (
        f"Remedies for {results.judge} on {filtered.name}: agreement with {results.winner_source} "
        f"in % (undecided counts half) on the same {count(results.comparison_count, 'comparison')}"
        ". The difference to one call is in points; its intervals hold for all rules together. The "
        "last columns are % decided and % right when decided. "
        f"{paper_table.describe_items_and_filters(filtered)}"
    )
    head = (
        "Rule",
        "Calls",
        "Agreement",
        "95 % CI",
        "Difference",
        "Adjusted CI",
        "Decided",
        "Right",
    )
    return paper_table.PaperTable("Remedies", caption, head, tuple(rows))


RECOMMENDATION: Final = result_view.Panel(
    "recommendation",
    lambda filtered: panels.recommendation_panel(load_remedies(filtered)) or None,
    (result_view.Body("recommendation", "eh-remedy-advice"),),
    css="eh-kind",
    scale=5,
)
BUDGET: Final = result_view.Panel(
    "budget_plan",
    render_budget,
    (result_view.Body("budget_plan", "eh-budget-plan"),),
    "Which rule to use with a given budget",
    BUDGET_SUBTITLE,
    controls=(
        result_view.Control(
            "budget", "Budget", panels.BUDGETS, "menu", "eh-budget", state=budget_menu_state
        ),
    ),
    how="Candidates are (1) for each price, one call of the judge with the highest agreement among "
    "judges of this price or less, and (2) for each judge with a recommended remedy, all its "
    "rules of more than one call, and juries with it. They are tried in order of price; at the "
    "same price, in "
    "order of calls. The first is listed. After it, a candidate is listed only if it agrees with "
    "the known better answers significantly more often than the last one listed.\n\n"
    "The best rule up to each price is chosen on half of the items, and its agreement is measured "
    "on the other half. Then the halves change roles; all this is repeated 20 times. So the "
    "choice does not inflate the expected agreement. The price of a call is the mean cost of the "
    "stored calls, or the judge's price in the study file times the mean tokens of a call. A judge "
    "without a price is left out, never counted as free.",
    json_keys=("remedies.plan.steps.*.gain",),
)
FRONTIER: Final = result_view.Panel(
    "frontier",
    render_frontier,
    (result_view.Body("frontier", "eh-frontier", clickable=True),),
    FRONTIER_TITLE,
    legend=KEYS,
    controls=(result_view.Control("cost", "Cost", [CALLS, DOLLARS]),),
    scale=9,
    applies=computed.can_have_ratings,
    needs=NO_REMEDIES,
    json_keys=("remedies.rules.*.*.*.agreement", "remedies.rules.*.*.*.dollars"),
)
RISK: Final = result_view.Panel(
    "risk",
    render_risk_curve,
    (result_view.Body("risk", "eh-risk"),),
    RISK_TITLE,
    json_keys=(
        "remedies.risk.*.*.*.right_when_decided",
        "remedies.risk.*.*.*.decided",
        "remedies.certified.*.*.share",
    ),
)
BEST_RULES: Final = result_view.Panel(
    "best_rules",
    render_best_rules,
    (result_view.Body("best_rules", "eh-best-rules", clickable=True),),
    "The rules",
    how=HOW_RULES,
    json_keys=("remedies.rules.*.*.*.agreement", "remedies.rules.*.*.*.adjusted"),
)
RULES: Final = result_view.Panel(
    "rules",
    render_rules,
    (result_view.Body("rules", "eh-rules", clickable=True),),
    "All rules",
    how=HOW_RULES,
    table=remedies_paper_table,
    json_keys=(
        "remedies.rules.*.*.*.agreement",
        "remedies.rules.*.*.*.decided",
        "remedies.rules.*.*.*.adjusted",
    ),
)
LOWER: Final = result_view.Panel(
    "lower",
    render_lower_panels,
    (result_view.Body("lower", "eh-remedy-lower"),),
    css="eh-kind",
    json_keys=("remedies.identity.*.*.same_right", "remedies.identity.*.*.gain"),
)
IMPROVE: Final = result_view.Panel(
    "improve",
    improve_panel.render_improve_prompt_card,
    (result_view.Body("improve", "eh-improve-body"),),
    css="eh-kind",
    how=improve_panel.HOW,
    json_keys=(
        "alignment.judges.*.*.candidates.*.difference",
        "alignment.judges.*.*.candidates.*.agreement",
    ),
)
POINTS: Final = result_view.Panel(
    "point_remedies",
    point_remedies_panel.single_answer_rules_html,
    (result_view.Body("point_remedies", "eh-point-remedies"),),
    point_remedies_panel.TITLE,
    point_remedies_panel.SUBTITLE,
    how=point_remedies_panel.HOW_POINTS,
    report=point_remedies_panel.single_answer_rules_report,
    json_keys=("point_remedies.*.*",),
)
PAIRS: Final = result_view.PanelGroup(
    (
        result_view.PanelGroup((FRONTIER, RECOMMENDATION), css="eh-pair eh-remedy-charts"),
        BEST_RULES,
    ),
    row=False,
    css="eh-kind",
    name="remedies_of_pairs",
    visible=computed.has_comparisons,
)
"""First panels that need comparisons of answers."""
MORE_PAIRS: Final = result_view.PanelGroup(
    (
        result_view.fold("All rules, verdict patterns, pilots", RULES, LOWER),
        result_view.fold("Budget", BUDGET),
        result_view.fold("Decide fewer, be right more often", RISK),
    ),
    row=False,
    css="eh-kind",
    name="more_remedies_of_pairs",
    visible=computed.has_comparisons,
)
VIEW: Final = result_view.View(
    NAME,
    (PAIRS, POINTS, result_view.fold("Improve the prompt", IMPROVE), MORE_PAIRS),
    headline,
    kpis=lambda _: EMPTY,
    report=remedies_report,
    json_keys=("remedies.recommendations.*.*.gain", "remedies.rules.*.*.*.adjusted"),
)
