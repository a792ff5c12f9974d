"""Answer to "what should I do with $40?": the rule to use by number of comparisons needed."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Final

from components.html.format import count, dollars
from components.html.markup import EMPTY, Markup, fill, inline_markup, join
from components.results.remedies.computed import RemedyResults
from components.results.remedies.panel_pieces import interval_text, percent_text, wrapped
from metrics.remedies.budget_plan import BudgetPlan, PlanStep
from metrics.remedies.recommendation import points
from metrics.remedies.rule_names import imperative, join_names, rule_words

BUDGETS: Final = tuple((f"${amount:,}", str(amount)) for amount in (40, 10, 100, 400, 1000))
"""Choices of the budget menu: (label, dollars as text); the first is the default."""
DEFAULT_BUDGET: Final = 40.0
CALLS: Final = 1000.0
"""If no price is known, the panel answers for a budget of this many calls instead of dollars."""
HOW_BUDGET: Final = (
    "Candidates are (1) for each price, one call of the judge with the highest agreement among "
    "judges of this price or less, and (2) for each judge with a recommended remedy, all its "
    "rules of more than one call, and juries with it. They are tried in order of price; at the "
    "same price, in "
    "order of calls. The first is listed. After it, a candidate is listed only if it agrees with "
    "the known better answers significantly more often than the last one listed.\n\n"
    "The best rule up to each price is chosen on half of the items, and its agreement is measured "
    "on the other half. Then the halves change roles; all this is repeated 20 times. So the "
    "choice does not inflate the expected agreement. The price of a call is the mean cost of the "
    "stored calls, or the judge's price in the study file times the mean tokens of a call. A judge "
    "without a price is left out, never counted as free."
)


def parse_budget(value: str) -> float:
    """Dollars of a choice in BUDGETS; the default budget for any other text."""
    known = {amount for _, amount in BUDGETS}
    return float(value) if value in known else DEFAULT_BUDGET


def budget_title(results: RemedyResults, budget: float) -> str:
    plan = results.plan
    if plan is None or plan.currency == "dollars":
        return f"What to do with ${budget:g}"
    return f"Which rule to use with {count(int(CALLS))} calls"


def budget_html(results: RemedyResults, budget: float) -> Markup:
    """HTML of the best use of a budget: a sentence on the rule to use for as many comparisons as
    this study has, and a table of the rule to use by number of comparisons."""
    plan = results.plan
    if plan is None or not plan.steps:
        return EMPTY
    money = budget if plan.currency == "dollars" else CALLS
    parts = [
        fill("<p>{}</p>", inline_markup(answer_text(plan, money, results.all_comparisons))),
        _table(plan, money),
        *(fill('<p class="eh-small eh-mute">{}</p>', text) for text in _notes(results, plan)),
    ]
    kind = "eh-plan-box eh-in-calls" if plan.currency == "calls" else "eh-plan-box"
    return wrapped(fill('<div class="{}">{}</div>', kind, join(parts)))


def answer_text(plan: BudgetPlan, budget: float, needed: int) -> str:
    """Sentence on the best rule that the budget pays for on all `needed` comparisons; if there is
    no such rule, on the cheapest rule."""
    paid = _amount(plan, budget)
    affordable = [step for step in plan.steps if step.comparisons(budget) >= needed]
    if not affordable:
        cheapest = plan.steps[0]
        pays = count(int(cheapest.comparisons(budget)))
        return (
            f"{paid} pays for **{pays}** of the {count(needed, 'comparison')} of this study, with "
            f"the cheapest rule. **{imperative(cheapest.rule)}**: expected agreement "
            f"{_agreement(cheapest)}."
        )
    step = affordable[-1]
    cost = _amount(plan, step.cost * needed) if step.cost else "nothing"
    return (
        f"For the {count(needed, 'comparison')} of this study: **{imperative(step.rule)}**. "
        f"It costs {cost}; expected agreement **{_agreement(step)}**."
    )


def once_text(results: RemedyResults) -> str:
    """Sentence on the price of one call per comparison, if no remedy was shown to help; empty if
    the price is unknown."""
    price = results.dollars(results.table[0])
    if not price:
        return ""
    once = count(int(1000 * DEFAULT_BUDGET / price))
    return f"With one call each, ${DEFAULT_BUDGET:g} pays for {once} comparisons."


def _amount(plan: BudgetPlan, value: float) -> str:
    return dollars(value) if plan.currency == "dollars" else count(round(value), "call")


def _agreement(step: PlanStep) -> str:
    return f"{percent_text(step.agreement)} {interval_text(step.agreement)}".strip()


def _table(plan: BudgetPlan, budget: float) -> Markup:
    """HTML table with one row per rule of the plan, the most expensive first: the number of
    comparisons for which the budget makes it the best rule, its cost and its agreement."""
    first, second = (
        ("$ per 1,000", "comparisons")
        if plan.currency == "dollars"
        else ("Calls per", "comparison")
    )
    heads = fill(
        '<th class="l">If you need</th><th class="l">Best rule</th><th>{}<br>{}</th>'
        "<th>Expected agreement,<br>95 % CI</th><th>Gain over the<br>line below, points</th>",
        first,
        second,
    )
    steps = list(reversed(plan.steps))
    rows = join(_row(plan, steps, place, budget) for place in range(len(steps)))
    return fill(
        '<div class="eh-tbl-box"><table class="eh-rules tight eh-plan"><thead><tr>{}</tr></thead>'
        "<tbody>{}</tbody></table></div>",
        heads,
        rows,
    )


def _row(plan: BudgetPlan, steps: Sequence[PlanStep], place: int, budget: float) -> Markup:
    step = steps[place]
    above = steps[place - 1].comparisons(budget) if place else 0
    most = step.comparisons(budget)
    start = f"{count(int(above) + 1)} to " if place else "up to "
    reach = f"{start}{count(int(most))}" if math.isfinite(most) else _endless(above, place)
    reach += " comparisons"
    cost = dollars(1000 * step.cost) if plan.currency == "dollars" else f"{step.cost:g}"
    gain = "–" if step.gain is None else f"{points(step.gain.value)} {interval_text(step.gain)}"
    words = rule_words(step.rule)
    who = join_names([judge for judge, _ in step.rule.members])
    return fill(
        '<tr><td class="l r0">{}</td><td class="l c2"><b>{}</b><small>{}</small></td>'
        '<td class="wide">{}</td><td><b>{}</b> <span class="ci">{}</span></td>'
        '<td class="wide">{}</td></tr>',
        reach,
        words.title,
        who if who not in words.explanation else words.explanation,
        cost,
        percent_text(step.agreement),
        interval_text(step.agreement),
        gain,
    )


def _endless(above: float, place: int) -> str:
    return f"from {count(int(above) + 1)}" if place and math.isfinite(above) else "any number"


def _notes(results: RemedyResults, plan: BudgetPlan) -> list[str]:
    notes = []
    if plan.currency == "calls":
        names = join_names(list(dict.fromkeys(judge for judge, _ in results.study.cells)))
        step = _price_step(results, [judge for judge, _ in results.study.cells])
        notes.append(f"No price is known for {names}, so costs are counted in calls. {step}")
    elif plan.unpriced:
        named = join_names(list(plan.unpriced))
        step = _price_step(results, plan.unpriced)
        notes.append(f"Left out, as no price is known: {named}. {step}")
    if plan.currency == "dollars" and any(step.cost == 0 for step in plan.steps):
        notes.append("A local judge costs nothing, so any budget pays for all comparisons.")
    return notes


def _price_step(results: RemedyResults, judges: Sequence[str]) -> str:
    """Sentence on how to get a price: set the price per token if tokens were counted, else multiply
    the number of calls by a price per call."""
    if any(judge in judges for judge, _ in results.inputs.tokens):
        return "Set the price in Study, step Judges."
    return "No token counts are stored: multiply the number of calls by your price per call."
