"""Sentences of a report card, chosen by rules with thresholds.

There are three groups of rules: consistency, quality and advice. In each group, the first rule
whose conditions all hold gives the sentence. A condition on an unknown value does not hold. The
page shows the threshold behind a sentence on hover.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final, Literal

from components.results.cards.card_facts import CARD_FACTS

FactValues = Mapping[str, float | None]
"""The number of each fact (a key of CARD_FACTS); None if unknown."""

_OPERATORS: Final[dict[str, Callable[[float, float], bool]]] = {
    "≥": operator.ge,
    "≤": operator.le,
    "<": operator.lt,
    ">": operator.gt,
    "known": lambda value, _: True,
}


Operator = Literal["≥", "≤", "<", ">", "known"]


@dataclass(frozen=True, slots=True)
class RuleCondition:
    fact: str
    op: Operator
    value: float = 0.0

    def is_met(self, facts: FactValues) -> bool:
        known = facts.get(self.fact)
        return known is not None and _OPERATORS[self.op](known, self.value)

    @property
    def words(self) -> str:
        fact = CARD_FACTS[self.fact]
        if self.op == "known":
            return f"{fact.words} is known"
        return f"{fact.words} {self.op} {fact.write(self.value)}"


@dataclass(frozen=True, slots=True)
class SentenceRule:
    """Rule for one sentence of a card; `text` may contain {keys} of values and of SENTENCE_WORDS,
    and **bold** words."""

    name: str
    text: str
    conditions: tuple[RuleCondition, ...] = ()

    def applies(self, facts: FactValues) -> bool:
        return all(condition.is_met(facts) for condition in self.conditions)

    @property
    def threshold_text(self) -> str:
        """Hover text that lists the rule's conditions."""
        if not self.conditions:
            return "Rule: used if the conditions of the other sentences are not met"
        return f"Rule: {'; '.join(condition.words for condition in self.conditions)}"


def _conditions(*parts: tuple[str, Operator, float]) -> tuple[RuleCondition, ...]:
    return tuple(RuleCondition(*part) for part in parts)


MIN_FLIP_RATE: Final = 0.10
SIGNIFICANCE_LEVEL: Final = 0.05
MIN_COMPARISONS: Final = 20
MIN_ITEMS: Final = 5

CONSISTENCY_RULES: Final = (
    SentenceRule(
        "silent", "None of the {replies} replies has a verdict.", _conditions(("read", "≤", 0))
    ),
    SentenceRule(
        "one order",
        "This judge saw each pair in one order only, so position bias cannot be measured.",
        _conditions(("orders", "≤", 1)),
    ),
    SentenceRule(
        "few items",
        "There are verdicts on only {items}, too few for a conclusion about this judge.",
        _conditions(("items", "<", MIN_ITEMS)),
    ),
    SentenceRule(
        "few",
        "Verdicts in every order exist for only {sets}, too few for a conclusion.",
        _conditions(("sets", "<", MIN_COMPARISONS)),
    ),
    SentenceRule(
        "memory",
        "{differ} on **{flips}** of comparisons{repeat}. Repeats further apart differ more often "
        "than consecutive ones, by {memory} [{memory_low}, {memory_high}]: repeats depend on each "
        "other, so they cannot show the effect of the order.",
        _conditions(
            ("flips", "≥", MIN_FLIP_RATE),
            ("memory_low", ">", 0),
            ("lean_p", "≥", SIGNIFICANCE_LEVEL),
        ),
    ),
    SentenceRule(
        "noise",
        "{differ} on **{flips}** of comparisons{repeat}. Between single replies, the "
        "difference is {order_effect} [{order_low}, {order_high}]: an order effect is neither "
        "shown nor excluded.",
        _conditions(
            ("flips", "≥", MIN_FLIP_RATE),
            ("order_low", "≤", 0),
            ("lean_p", "≥", SIGNIFICANCE_LEVEL),
        ),
    ),
    SentenceRule(
        "order",
        "{differ} on **{flips}** of comparisons{repeat}. Between single replies, the "
        "difference is {order_effect} [{order_low}, {order_high}]. The order matters, provided "
        "that repeats are independent replies; no position is significantly preferred.{cache}",
        _conditions(
            ("flips", "≥", MIN_FLIP_RATE),
            ("order_low", ">", 0),
            ("lean_p", "≥", SIGNIFICANCE_LEVEL),
        ),
    ),
    SentenceRule(
        "by label",
        "{differ} on **{flips}** of comparisons{repeat}; most verdicts are for the label "
        "“{label}”.",
        _conditions(
            ("flips", "≥", 0.5),
            ("label_pull", "≥", 0.25),
            ("label_low", ">", 0),
            ("label_lead", ">", 0),
        ),
    ),
    SentenceRule(
        "by place",
        "{differ} on **{flips}** of comparisons{repeat}; in these the judge mostly picks the "
        "answer shown {toward}.",
        _conditions(
            ("flips", "≥", 0.5), ("lean_p", "<", SIGNIFICANCE_LEVEL), ("lopsided", "≥", 0.8)
        ),
    ),
    SentenceRule(
        "one way",
        "{differ} on **{flips}** of comparisons{repeat}; most flips go toward the answer "
        "shown {toward}.",
        _conditions(
            ("flips", "≥", MIN_FLIP_RATE),
            ("lean_p", "<", SIGNIFICANCE_LEVEL),
            ("lopsided", "≥", 2 / 3),
        ),
    ),
    SentenceRule(
        "rather",
        "{differ} on **{flips}** of comparisons{repeat}; flips go more often toward the "
        "answer shown {toward} than toward the other.",
        _conditions(("flips", "≥", MIN_FLIP_RATE), ("lean_p", "<", SIGNIFICANCE_LEVEL)),
    ),
    SentenceRule(
        "no side",
        "{differ} on **{flips}** of comparisons{repeat} ({chance_flips} if choices were "
        "random), without a significant preference for a position{lean}.",
        _conditions(("flips", "≥", MIN_FLIP_RATE)),
    ),
    SentenceRule(
        "few flips",
        "{differ} on only **{flips}** of comparisons{repeat}.",
        _conditions(("flips", ">", 0)),
    ),
    SentenceRule("none", "Each of the {sets} has the same verdict in every order."),
)

QUALITY_RULES: Final = (
    SentenceRule(
        "no verdict",
        "**{unreadable} of this judge's replies** are unusable.",
        _conditions(("unreadable", "≥", 0.05)),
    ),
    SentenceRule(
        "a handful",
        "The numbers below are based on very few items.",
        _conditions(("items", "<", MIN_ITEMS)),
    ),
    SentenceRule(
        "below chance",
        "This judge is {known_split} of comparisons with a known better answer: {lead}. It is "
        "right less often than by chance ({chance_right}).",
        _conditions(("known_high", "<", 0)),
    ),
    SentenceRule(
        "near chance",
        "This judge is {known_split} of comparisons with a known better answer: {lead}. It is not "
        "right significantly more often than by chance ({chance_right}).",
        _conditions(("known_low", "≤", 0)),
    ),
    SentenceRule(
        "below people",
        "This judge agrees with people in **{people}** of verdicts. It agrees with the other "
        "voters in {stand_in}, less often than the person it replaces ({person}).",
        _conditions(("people", "known", 0), ("stand_in_high", "<", 0)),
    ),
    SentenceRule(
        "above people",
        "This judge agrees with people in **{people}** of verdicts. It agrees with the other "
        "voters in {stand_in}, more often than the person it replaces ({person}).",
        _conditions(("people", "known", 0), ("stand_in_low", ">", 0)),
    ),
    SentenceRule(
        "as people",
        "This judge agrees with people in **{people}** of verdicts. It agrees with the other "
        "voters in {stand_in}, within 10 percentage points of the person it replaces ({person}).",
        _conditions(
            ("people", "known", 0), ("stand_in_low", "≤", 0), ("stand_in_reach", "≤", 0.10)
        ),
    ),
    SentenceRule(
        "unclear to people",
        "This judge agrees with people in **{people}** of verdicts. It agrees with the other "
        "voters in {stand_in}, the person it replaces in {person}; the difference is not "
        "significant ([{stand_in_low}, {stand_in_high}]).",
        _conditions(("people", "known", 0), ("stand_in_low", "≤", 0)),
    ),
    SentenceRule(
        "people",
        "This judge agrees with people in **{people}** of verdicts.",
        _conditions(("people", "known", 0)),
    ),
    SentenceRule(
        "right",
        "This judge is {known_split} of comparisons with a known better answer.",
        _conditions(("known_low", ">", 0)),
    ),
    SentenceRule(
        "longer",
        "This judge picks the longer answer in **{longer}** of verdicts other than ties.",
        _conditions(("longer_low", "≥", 0.6)),
    ),
    SentenceRule(
        "others",
        "This judge agrees with the other judges in **{others}** of verdicts.",
        _conditions(("others", "known", 0)),
    ),
    SentenceRule(
        "nothing",
        "This judge's accuracy is unknown: there are no votes by people, no known better "
        "answers and no other judge.",
    ),
)

ADVICE_RULES: Final = (
    SentenceRule(
        "read them",
        "Read the replies: this judge may not be able to use the prompt's verdict format.",
        _conditions(("read", "≤", 0)),
    ),
    SentenceRule(
        "fix the format",
        "Change the prompt's verdict format first, so that replies can be read.",
        _conditions(("unreadable", "≥", 0.2)),
    ),
    SentenceRule("both orders", "Judge in both orders.", _conditions(("orders", "≤", 1))),
    SentenceRule(
        "more items",
        "Let this judge compare answers to more items before you rely on its verdicts.",
        _conditions(("items", "<", MIN_ITEMS)),
    ),
    SentenceRule(
        "more",
        "Let this judge compare answers to more items before you rely on its verdicts.",
        _conditions(("sets", "<", MIN_COMPARISONS)),
    ),
    SentenceRule("remedy", "{remedy}", _conditions(("remedy_low", ">", 0))),
    SentenceRule("no remedy", "{remedy}", _conditions(("remedies", "known", 0))),
    SentenceRule(
        "another judge",
        "Use another judge or prompt: this judge's verdicts in the two orders agree little "
        "more often than by chance (κ at most {kappa_high}).",
        _conditions(("flips", "≥", MIN_FLIP_RATE), ("kappa_high", "≤", 0.2)),
    ),
    SentenceRule(
        "average",
        "Judge each pair in both orders and average the two verdicts. To compare this with other "
        "remedies, the better answers must be known.",
        _conditions(("flips", "≥", MIN_FLIP_RATE), ("lean_p", "<", SIGNIFICANCE_LEVEL)),
    ),
    SentenceRule(
        "no advice",
        "No remedy is advised: no position is significantly preferred, and no better answers are "
        "known.",
        _conditions(("flips", "≥", MIN_FLIP_RATE)),
    ),
    SentenceRule(
        "quick look",
        "For a first impression, judge in one order; for a report, judge in both orders.",
    ),
)

RULE_GROUPS: Final = {
    "steadiness": CONSISTENCY_RULES,
    "quality": QUALITY_RULES,
    "advice": ADVICE_RULES,
}


@dataclass(frozen=True, slots=True)
class CardSentence:
    rule: str
    text: str
    threshold: str


SENTENCE_WORDS: Final = (
    "differ", "repeat", "cache", "toward", "label", "lean", "known_split", "lead", "remedy",
)  # fmt: skip
"""Keys of the texts that a sentence may insert besides values: the clause "This judge's verdicts
differ between the orders", the changes on a repeat, a warning of repeats that hardly ever differ,
the preferred position, the preferred label, the net flip rate, such as "(12.0 points toward first
[3.1, 20.4])", the shares of right, wrong and tied verdicts, the lead over chance, and the advice of
the view Remedies."""


def card_sentences(facts: FactValues, words: Mapping[str, str]) -> list[CardSentence]:
    """One sentence of each group, given by the first rule that applies."""
    values = {name: _fact_text(name, facts.get(name)) for name in CARD_FACTS}
    values |= {name: words.get(name, "") for name in SENTENCE_WORDS}
    chosen = [next(rule for rule in rules if rule.applies(facts)) for rules in RULE_GROUPS.values()]
    return [
        CardSentence(rule.name, rule.text.format(**values), rule.threshold_text) for rule in chosen
    ]


def _fact_text(name: str, value: float | None) -> str:
    return "–" if value is None else CARD_FACTS[name].write(value)
