"""Sentence on what a budget buys: comparisons under each recommended rule, and with one call."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from components.html.format import count
from components.results.remedies.computed import RemedyView
from components.results.remedies.panel_pieces import calls_text, percent_text
from metrics.remedies.changed_comparisons import rule_key
from metrics.remedies.rule_names import rule_words
from metrics.remedies.rule_sets import Rule
from metrics.remedies.rule_table import RuleEstimate

BUDGET: Final = 40.0
"""Example budget in dollars: the recommendation states how many comparisons it buys."""
TOKENS_PER_DOLLAR: Final = 1e6
"""Assumed price where none is known: $1 per million tokens."""


def budget_text(view: RemedyView, rules: Sequence[Rule]) -> str:
    """Comparisons that the budget buys under the recommended rule, the next one, and one call."""
    table = {rule_key(line.rule): line for line in view.table}
    offers = [(_name(rule, place), table.get(rule_key(rule))) for place, rule in enumerate(rules)]
    known = [(name, line) for name, line in offers if line is not None]
    known.append(("one call", view.table[0]))
    if all(view.dollars(line) for _, line in known):
        return f"**${BUDGET:g}** buys {_in_dollars(view, known)}."
    if all(view.dollars(line) == 0 for _, line in known):
        return f"This judge is local and costs nothing; {_effort(view, known, rules[0])}."
    if all(view.tokens(line) for _, line in known):
        return (
            f"No price is known. At $1 per million tokens **${BUDGET:g}** buys "
            f"{_in_tokens(view, known)}. Set the price of {view.judge} in Study."
        )
    return (
        f"No price is known. For the same price, this rule judges {_ratio(rules[0])} comparisons "
        f"as one call. Set the price of {view.judge} in Study."
    )


def once_text(view: RemedyView) -> str:
    """Use of the budget where no remedy helps."""
    price = view.dollars(view.table[0])
    if not price:
        return "make one call per comparison, or use another judge"
    once = count(int(1000 * BUDGET / price))
    return f"with ${BUDGET:g}, judge {once} comparisons with one call each, or use another judge"


Offer = tuple[str, RuleEstimate]
"""Name of a rule in the sentence, and its line of the table."""


def _name(rule: Rule, place: int) -> str:
    title = rule_words(rule).title
    return f"{title[0].lower()}{title[1:]}" if place else "this rule"


def _in_dollars(view: RemedyView, offers: Sequence[Offer]) -> str:
    parts: list[str] = []
    for name, line in offers:
        bought = count(int(1000 * BUDGET / (view.dollars(line) or 1.0)))
        parts.append(f"{bought} {_with(parts)} {name} ({percent_text(line.agreement, 0)} right)")
    return _either(parts)


def _in_tokens(view: RemedyView, offers: Sequence[Offer]) -> str:
    parts: list[str] = []
    for name, line in offers:
        bought = count(int(TOKENS_PER_DOLLAR * BUDGET / (view.tokens(line) or 1.0)))
        parts.append(f"{bought} {_with(parts)} {name}")
    return _either(parts)


def _with(before: Sequence[str]) -> str:
    return "with" if before else "comparisons with"


def _either(parts: Sequence[str]) -> str:
    return f"{', '.join(parts[:-1])}, or {parts[-1]}"


def _effort(view: RemedyView, offers: Sequence[Offer], rule: Rule) -> str:
    """Tokens per comparison; calls where tokens are unknown."""
    if not all(view.tokens(line) for _, line in offers):
        return f"the rule takes {calls_text(rule)} per comparison"
    parts = [f"{count(round(view.tokens(line) or 0))} with {name}" for name, line in offers]
    return f"tokens per comparison: {', '.join(parts)}"


def _ratio(rule: Rule) -> str:
    """Number of comparisons at the same price, against one call."""
    if rule.price == 1:
        return "as many"
    return "half as many" if rule.price == 2 else f"1/{rule.price:g} as many"
