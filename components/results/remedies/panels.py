"""Panels of the view Remedies: recommendation, best use of a budget, all rules, patterns of the
verdicts in the two orders, other judges, pilots. Their HTML is in the template `remedies.html`.

A rule decides a comparison from one or more stored verdicts, such as "both orders must agree"."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from components.html.format import count, dollars, share
from components.html.markup import EMPTY, Markup
from components.html.templates import macros
from components.results.bias.sentences import missing_orders_text
from components.results.remedies.computed import RemedyResults, dollars_per_thousand_comparisons
from components.results.remedies.pilots import offered_pilots
from metrics.estimation.row_selection import people_mask
from metrics.remedies import recommendation, rule_names
from metrics.remedies.budget_plan import BudgetPlan, PlanStep
from metrics.remedies.changed_comparisons import rule_key
from metrics.remedies.rule_sets import Rule
from metrics.remedies.rule_table import RuleEstimate
from metrics.summary.remedy_section import RemedyInputs, rule_cost
from studies.domain import Estimate, Rater
from studies.spec.combine_rules import is_combine_rule, parse_remedy

html: Final = macros("results/remedies/remedies.html")
COMBINED_AS: Final = {"pooled": "single", "strict": "agree", "majority": "pool"}
"""Value of `combine` in a study file -> id of the remedy that means the same."""
STUDY: Final = "study"
BUDGETS: Final = (
    ("This study", STUDY),
    *((f"${amount:,}", str(amount)) for amount in (10, 40, 100, 400, 1000)),
)
"""Choices of the budget menu: (label, dollars as text); the first, the default, is the price of the
recommended rule for all comparisons of the study."""
DEFAULT_BUDGET: Final = 40.0
PEOPLE_PART: Final = "Rules that use votes of people (intervals not adjusted for number of rules)"
FEWER_PART: Final = (
    "Rules computed on fewer comparisons than the others (intervals not adjusted for number of "
    "rules)"
)
PILOT_PART: Final = "Rules from pilots, measured on the pilot's comparisons"
MAX_TICKS: Final = 4
"""Maximum number of tick labels for which the plot of the differences has room."""
MAX_BEST_RULES: Final = 6
"""Maximum number of rules in the short table."""
PUBLISHED: Final = {
    "agree": "published effect of this rule on agreement: +0.7 to +4.7 points on MT-Bench, −1.5 to "
    "−11.1 points on LLMBar (arXiv 2604.23178)",
    "graded": "published: this rule raised the accuracy of small judges from 56.7 % to 73.1 % "
    "(arXiv 2503.03064)",
    "calibrated": "published method: PriDe (arXiv 2309.03882)",
    "jury-both": "published: nine judges were worth about two independent ones (arXiv 2605.29800)",
}
"""Id of a rule -> published effect of the rule, for its hover text."""


# -- recommendation --------------------------------------------------------------------------------


def remedy_headline(results: RemedyResults) -> tuple[str, str]:
    """Headline and the sentence below it: the recommended rule, or the reason why none is
    recommended; and the gain or loss of the usual rule "both orders must agree", unless this is the
    recommended one."""
    advice = results.advice
    if advice is None:
        return _missing_data_headline(results)
    if advice.chosen is not None:
        usual = advice.chosen.rule.id == "agree"
        said = "" if usual else _orders_must_agree_sentence(results)
        return advice.sentence, f"{said} {_better_judge_sentence(results)}".strip()
    reason = recommendation.no_room_for_gain_text(results.rule_estimates) or (
        f"the agreement of one call with {results.winner_source} is not significantly above chance"
        if advice.coin
        else f"no rule agrees with {results.winner_source} significantly more often than one call"
    )
    power = recommendation.small_gain_detection_text(results.rule_estimates)
    price, once = results.rule_dollars_per_thousand(results.rule_estimates[0]), ""
    if price:
        paid = count(int(1000 * DEFAULT_BUDGET / price))
        once = f"With one call each, ${DEFAULT_BUDGET:g} pays for {paid} comparisons."
    parts = (
        f"For {results.rater_text}, {reason}.{power}",
        _orders_must_agree_sentence(results),
        _better_judge_sentence(results),
        once,
    )
    compared = recommendation.compared_rules_clause(results.rule_estimates)
    title = f"No remedy was shown to help the judge {results.rater_text}{compared}."
    if recommendation.is_room_for_gain_small(results.rule_estimates):
        title = f"More calls of the judge {results.rater_text} have hardly anything to gain."
    return title, " ".join(filter(None, parts))


NO_PAIRS_FINDING: Final = (
    "Remedies are compared for pairs of answers.",
    "Here a judge chooses among more answers at once.",
)


def _missing_data_headline(results: RemedyResults) -> tuple[str, str]:
    """Headline and the sentence below it if no rule can be compared, with the reason, such as no
    verdicts in both orders, no known better answers, or filters that leave no comparison with a
    known better answer."""
    filtered, study = results.filtered, results.study
    if filtered.has_only_people:
        return "Remedies are for judges.", "All verdicts of this study are by people."
    if study.grid.size:
        return (
            "No remedy can be computed for the judge and prompt shown.",
            "Of the comparisons with a known better answer, fewer than half have verdicts of this "
            "judge and prompt in both orders.",
        )
    if known := study.left_out["incomplete"]:
        orders = int(filtered.of_all_raters.measured_judge_rows["orders"].max())
        return (
            "To compare remedies, the judges must judge the same comparisons in both orders.",
            f"{count(known, 'comparison')} with a known better answer: not every judge and prompt "
            f"has verdicts in both orders. {missing_orders_text(orders) * (orders < 2)}".strip(),
        )
    lead = (
        "Name their column on the Study tab (Known better answer), or collect votes on the Vote "
        "tab. Every judge must have judged the same comparisons in both orders."
    )
    whole = filtered.whole_frame_by_person
    if study.grid.votes is not None:
        lead = "No comparison shown has an answer with more than half of the votes."
    elif people_mask(whole).any() or (whole["known_answer"] >= 0).any():
        lead = "No comparison that passes the filters has a known better answer."
    return (
        "To compare remedies, the better answers must be known, by design or from people's "
        "majority.",
        lead,
    )


def _orders_must_agree_sentence(results: RemedyResults) -> str:
    """Sentence on the price and the gain or loss of the rule "both orders must agree" against one
    call; empty if the two cannot be compared. A gain or loss is named only if its adjusted interval
    excludes zero."""
    usual = next((line for line in results.rule_estimates if line.rule.id == "agree"), None)
    if usual is None or (change := usual.adjusted) is None:
        return ""
    found = "shows no significant difference"
    if not usual.changed:
        found = "gives every comparison the same credit"
    elif recommendation.interval_is_above_zero(change):
        found = "gains agreement"
    elif change.high is not None and change.high < 0:
        found = "loses agreement"
    return (
        "Against one call, the usual rule (both orders must agree, 2 calls) "
        f"{found} ({recommendation.gain_text(change)})."
    )


def _better_judge_sentence(results: RemedyResults) -> str:
    """Sentence that one call of another judge agrees significantly more often; "" if none does."""
    if (better := results.better_judge_one_call) is None:
        return ""
    return (
        f"One call of {better.rule.members[0][0]} agrees significantly more often than one call of "
        f"{results.judge}: in {share(better.agreement.value)}."
    )


@dataclass(frozen=True)
class RuleOffer:
    """A rule that the recommendation offers, and its gain in agreement over one call, on held-out
    items. The page can apply it to the study only if `is_allowed_in_study_file`."""

    rule: Rule
    gain: Estimate
    members: str
    """Names of the rule's judges, joined to a text, with their prompt if the study has several."""

    @property
    def title(self) -> str:
        return rule_names.rule_texts(self.rule).title

    @property
    def key(self) -> str:
        return rule_key(self.rule)

    @property
    def is_allowed_in_study_file(self) -> bool:
        """Whether a study file can name the rule."""
        return is_combine_rule(self.key)


def recommendation_panel(results: RemedyResults) -> Markup:
    """HTML of the recommendation, empty if no rule is recommended. It shows the gain over one
    call, on held-out items, of the recommended rule and of the next better, costlier one, and
    the agreement of one call. The study's owner also sees buttons that apply one of these rules
    to the study, or undo the rule in use."""
    advice = results.advice
    if advice is None or advice.chosen is None:
        return EMPTY
    combine = results.filtered.study.combine
    used = COMBINED_AS.get(combine, combine)
    remedy = parse_remedy(used)
    id, judges = (remedy.id, remedy.judges) if remedy else (used, ())
    words = rule_names.rule_texts_of_id(id, judges)
    found = filter(None, (advice.chosen, results.next_better_costlier_rule))
    who = [(one, rule_names.judges_text(one.rule, results.study.raters)) for one in found]
    offers = [RuleOffer(one.rule, one.gain, judges) for one, judges in who]
    owned = results.filtered.store.owns(results.filtered.name)
    single = results.rule_estimates[0].agreement
    return html.recommendation(offers, single, owned, used, words.title)


# -- budget ----------------------------------------------------------------------------------------


def budget_amount(results: RemedyResults, value: str) -> float:
    """Dollars of a choice in BUDGETS. For STUDY and any other text, or if no price is known: what
    all comparisons of the study cost with the recommended rule, or with the cheapest if none is
    recommended, in dollars or in calls, as in the plan."""
    plan = results.budget_plan
    if plan is None:
        return DEFAULT_BUDGET
    in_dollars = plan.currency == "dollars"
    if in_dollars and value in {amount for _, amount in BUDGETS} - {STUDY}:
        return float(value)
    rule = results.advice.chosen.rule if results.advice and results.advice.chosen else None
    lines = [line for line in results.rule_estimates if line.rule == rule]
    costs = [results.rule_price(line, in_dollars) / (1000 if in_dollars else 1) for line in lines]
    return (costs or [plan.steps[0].cost])[0] * results.all_comparison_count or DEFAULT_BUDGET


def budget_title(results: RemedyResults, budget: float) -> str:
    plan = results.budget_plan
    if plan is None or plan.currency == "dollars":
        amount = f"${budget:,.0f}" if budget.is_integer() else dollars(budget)
        return f"What to do with {amount}"
    return f"Which rule to use with {count(round(budget), 'call')}"


def budget_html(results: RemedyResults, budget: float) -> Markup:
    """HTML of the best use of `budget` (dollars or, if no price is known, calls): a sentence on the
    rule for the number of comparisons of this study; a table of the best rule by number of
    comparisons, the most expensive first; notes on judges without a price. Empty without a
    plan."""
    plan = results.budget_plan
    if plan is None or not plan.steps:
        return EMPTY
    raters = results.study.raters
    answer = best_rule_sentence(plan, budget, results.all_comparison_count, raters)
    steps = list(_list_budget_steps(plan, budget, raters))
    told = _unpriced_judges_notes(results, plan)
    return html.budget(plan.currency == "dollars", answer, steps, told)


def _list_budget_steps(
    plan: BudgetPlan, budget: float, raters: Sequence[Rater]
) -> Iterator[tuple[PlanStep, str, str, str]]:
    """Yield (step, reach, title, explanation) for each step of the plan, the most expensive
    rule first. The reach is the numbers of comparisons for which this rule is the best that
    `budget` (dollars or calls, as in `plan`) pays for, such as "101 to 200". The explanation is
    that of the rule if it names the rule's judges; else only the names of these judges."""
    above = 0.0
    for place, step in enumerate(reversed(plan.steps)):
        most = step.affordable_comparisons(budget)
        start = count(int(above) + 1) if place and math.isfinite(above) else ""
        if not math.isfinite(most):
            reach = f"from {start}" if start else "any number of"
        elif place and most == above:
            reach = "as many"
        else:
            reach = f"{start} to {count(int(most))}" if start else f"up to {count(int(most))}"
        above = most
        words, who = rule_names.rule_texts(step.rule), rule_names.judges_text(step.rule, raters)
        yield step, reach, words.title, words.explanation if who in words.explanation else who


def best_rule_sentence(
    plan: BudgetPlan, budget: float, needed: int, raters: Sequence[Rater] = ()
) -> str:
    """Sentence on the best rule that `budget` (dollars or calls, as in `plan`) pays for on all
    `needed` comparisons; if it pays for none, on the cheapest rule and how many comparisons it
    pays for."""

    def format_amount(value: float) -> str:
        return dollars(value) if plan.currency == "dollars" else count(round(value), "call")

    affordable = [step for step in plan.steps if step.affordable_comparisons(budget) >= needed]
    step = affordable[-1] if affordable else plan.steps[0]
    rule, size = rule_names.rule_instruction(step.rule, raters), count(needed, "comparison")
    if not affordable:
        pays = count(int(step.affordable_comparisons(budget)))
        return (
            f"{format_amount(budget)} pays for **{pays}** of the {size} of this study, with the "
            f"cheapest rule: **{rule}**."
        )
    cost = format_amount(step.cost * needed) if step.cost else "nothing"
    return f"For the {size} of this study: **{rule}**. It costs {cost}."


def _unpriced_judges_notes(results: RemedyResults, plan: BudgetPlan) -> list[str]:
    """Sentences on judges without a price, with the way to set one, and on local judges; empty
    without such judges."""
    in_calls, notes = plan.currency == "calls", []
    unknown = [judge for judge, _ in results.study.raters] if in_calls else list(plan.unpriced)
    names = rule_names.join_names(list(dict.fromkeys(unknown)))
    step = results.price_hint(unknown)
    if in_calls:
        notes.append(f"No price is known for {names}, so costs are counted in calls. {step}")
    elif unknown:
        notes.append(f"Left out, as no price is known: {names}. {step}")
    if not in_calls and any(one.cost == 0 for one in plan.steps):
        notes.append("A local judge costs nothing, so any budget pays for all comparisons.")
    return notes


# -- rules -----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class RuleRow:
    """A row of the table of rules. `best`: whether the rule is on the Pareto frontier (none that
    costs as little agrees more often); `picked`: whether it is recommended; `pilot`: remedy of
    the pilot study that measured it, such as "repeats", "" if this study did."""

    number: str
    estimate: RuleEstimate
    inputs: RemedyInputs
    pilot: str = ""
    best: bool = False
    picked: bool = False

    @property
    def key(self) -> str:
        return rule_key(self.estimate.rule)

    @property
    def title(self) -> str:
        return rule_names.rule_texts(self.estimate.rule).title

    @property
    def detail(self) -> str:
        if self.pilot:
            return f"{self.pilot}: {count(self.estimate.agreement.n, 'comparison')}"
        partners = " (with the judges of highest agreement)" if self.estimate.rule.picked else ""
        note = f"; {self.estimate.agreement.note}" if self.estimate.agreement.note else ""
        return rule_names.rule_texts(self.estimate.rule).explanation + partners + note

    @property
    def published_effect(self) -> str:
        return "" if self.pilot else PUBLISHED.get(self.estimate.rule.id, "")

    @property
    def dollars(self) -> float | None:
        return dollars_per_thousand_comparisons(self.estimate, self.inputs)

    @property
    def tokens(self) -> float | None:
        return rule_cost(self.estimate, self.inputs.tokens)


def rules_table(results: RemedyResults) -> Markup:
    """HTML table of the rules in five groups: rules on all comparisons, with intervals adjusted for
    their number; rules with people's votes; rules on fewer comparisons; rules of pilots; rules that
    cannot be computed, with the reason."""
    groups: dict[str, list[RuleRow]] = {"": [], PEOPLE_PART: [], FEWER_PART: []}
    for row in _rule_rows_of_study(results):
        people = PEOPLE_PART if row.estimate.rule.votes else ""
        groups[people if row.estimate.complete else FEWER_PART].append(row)
    groups[PILOT_PART] = [
        RuleRow(f"P{place}", one.estimate, one.inputs, one.kind)
        for place, one in enumerate(results.pilot_rules, start=1)
    ]
    known = [line.adjusted for line in results.rule_estimates if line.adjusted is not None]
    lows = [one.low for one in known if one.low is not None]
    highs = [one.high for one in known if one.high is not None]
    axis = min([-0.02, *lows]) - 0.005, max([0.02, *highs]) + 0.005
    return html.rules(results, groups, axis, axis_ticks(axis))


def _rule_rows_of_study(results: RemedyResults) -> list[RuleRow]:
    """Rows of the rules that this study measured, numbered."""
    best = results.pareto_frontier(by_dollars=False)
    chosen = results.advice.chosen if results.advice else None
    key = rule_key(chosen.rule) if chosen else None
    return [
        RuleRow(str(n), one, results.inputs, best=one in best, picked=rule_key(one.rule) == key)
        for n, one in enumerate(results.rule_estimates, start=1)
    ]


def best_rules_table(results: RemedyResults) -> Markup:
    """HTML table of at most MAX_BEST_RULES rules, with the order and numbers of the table of all
    rules: the recommended rule, one call, the usual rule (both orders must agree) and, as far as
    there is room, rules on the Pareto frontier (no other rule with as few calls agrees as
    often)."""
    rows = [
        row
        for row in _rule_rows_of_study(results)
        if row.estimate.complete and not row.estimate.rule.votes
    ]
    usual = [row for row in rows if row.picked or row.estimate.rule.id in ("single", "agree")]
    best = [row for row in rows if row.best and row not in usual]
    kept = [*sorted(usual, key=lambda row: not row.picked), *best][:MAX_BEST_RULES]
    return html.best_rules([row for row in rows if row in kept])


def axis_ticks(axis: tuple[float, float]) -> Sequence[float]:
    """Ticks of the axis of differences: at most MAX_TICKS multiples of a round number of points, 0
    included."""
    low, high = axis
    for step in (0.01, 0.02, 0.05, 0.1, 0.2, 0.5):
        ticks = [step * k for k in range(math.ceil(low / step), math.floor(high / step) + 1)]
        if len(ticks) <= MAX_TICKS:
            return ticks
    return [0.0]


# -- reasons and pilots ----------------------------------------------------------------------------


def both_order_patterns_panel(results: RemedyResults) -> Markup:
    """HTML table of how the verdicts in the two orders combine (same winner, opposite winners,
    ties), how often, and how each rule counts them; empty if no better answer is known."""
    found = results.order_patterns
    return EMPTY if found is None else html.patterns(results.judge, found)


def other_judges_panel(results: RemedyResults) -> Markup:
    """HTML comparison of one call of each judge that has verdicts with the prompt shown. Empty
    if there is only one judge, or if a rule is recommended and no other judge is significantly
    better."""
    helped = results.advice is not None and results.advice.chosen is not None
    if len(results.one_call_estimates) < 2 or (helped and results.better_judge_one_call is None):
        return EMPTY
    ranked = sorted(results.one_call_estimates, key=lambda line: -(line.agreement.value or 0))
    found = [line.agreement for line in ranked]
    axis = (
        min([0.45, *(one.low for one in found if one.low is not None)]),
        max([0.8, *(one.high for one in found if one.high is not None)]),
    )
    gain = ranked[0].adjusted
    better = recommendation.gain_text(gain) if gain and gain.low and gain.low > 0 else ""
    return html.judges(results.judge, ranked, axis, better, results.winner_source)


def pilots_panel(results: RemedyResults) -> Markup:
    """HTML list of the pilots (small studies that test a remedy with new calls), each with its
    calls, price and, unless the page is read-only, a button that opens it in Study. Empty if
    there are none, or if one call is already so good that there is hardly anything to gain."""
    if recommendation.is_room_for_gain_small(results.rule_estimates):
        return EMPTY
    found = offered_pilots(results)
    opens = not results.filtered.store.read_only
    return html.pilots(found, opens) if found else EMPTY
