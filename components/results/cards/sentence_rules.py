"""What a report card says in words: rules as data, first that holds speaks, thresholds on hover.

Three groups: how steady the judge is, how good, and one piece of advice. A rule holds if all its
conditions do; a fact that is not known satisfies none.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final, Literal

from components.html.format import count, number, share

FactValues = Mapping[str, float | None]
"""fact -> number, None where it is not known; the names are those of FACTS."""

_OPERATORS: Final[dict[str, Callable[[float, float], bool]]] = {
    "≥": operator.ge, "≤": operator.le, "<": operator.lt, ">": operator.gt,
    "known": lambda value, _: True,
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class CardFact:
    """What a fact is called in a hover card, and how its number is written."""

    words: str
    write: Callable[[float], str]


def _whole_percent(value: float) -> str:
    return share(value, 0)


def _points(value: float) -> str:
    return f"{number(100 * value)} points"


def _decimal(value: float) -> str:
    return number(value, 2)


CARD_FACTS: Final[dict[str, CardFact]] = {
    "asked": CardFact("replies", lambda value: count(int(value))),
    "read": CardFact("replies read", lambda value: count(int(value))),
    "items": CardFact("items read", lambda value: count(int(value), "item")),
    "orders": CardFact("orders asked", lambda value: count(int(value))),
    "sets": CardFact("comparisons read in all orders", lambda value: count(int(value))),
    "flips": CardFact("flips", _whole_percent),
    "noise": CardFact("noise floor", _whole_percent),
    "above_noise": CardFact("flips above the noise floor", _points),
    "lean_p": CardFact("p of the test for a preferred place", _decimal),
    "lopsided": CardFact("flips toward that place", _whole_percent),
    "label_pull": CardFact("choices of that label, from even", _points),
    "label_lead": CardFact("pull of the label above that of the place", _points),
    "own_kappa": CardFact("agreement with itself beyond chance, κ", lambda value: number(value, 2)),
    "unreadable": CardFact("replies without a verdict", _whole_percent),
    "known": CardFact("right on known answers", _whole_percent),
    "known_gain": CardFact("right on known answers, above a coin", _points),
    "people": CardFact("same verdict as people", _whole_percent),
    "stand_in_low": CardFact("lower end of (judge − person) beside the other people", _points),
    "stand_in_high": CardFact("upper end of (judge − person) beside the other people", _points),
    "longer": CardFact("picks the longer answer", _whole_percent),
    "longer_low": CardFact("lower end of picks the longer answer", _whole_percent),
    "others": CardFact("same verdict as the other judges", _whole_percent),
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
    """`text` may name facts and WORDS in braces; **bold** is for the eye."""

    name: str
    text: str
    conditions: tuple[RuleCondition, ...] = ()

    def applies(self, facts: FactValues) -> bool:
        return all(condition.is_met(facts) for condition in self.conditions)

    @property
    def threshold_text(self) -> str:
        """What the hover card says."""
        if not self.conditions:
            return "Rule: said where no other rule of its kind holds"
        return f"Rule: {'; '.join(condition.words for condition in self.conditions)}"


def _conditions(*parts: tuple[str, Operator, float]) -> tuple[RuleCondition, ...]:
    return tuple(RuleCondition(*part) for part in parts)


MIN_FLIP_RATE: Final = 0.10
SIGNIFICANCE_LEVEL: Final = 0.05
MIN_COMPARISONS: Final = 20
MIN_ITEMS: Final = 5

CONSISTENCY_RULES: Final = (
    SentenceRule(
        "silent", "None of its {asked} replies could be read.", _conditions(("read", "≤", 0))
    ),
    SentenceRule(
        "one order",
        "It was asked in one order only, so whether the place decides cannot be told.",
        _conditions(("orders", "≤", 1)),
    ),
    SentenceRule(
        "few items",
        "Only {items} were read: too few to say more.",
        _conditions(("items", "<", MIN_ITEMS)),
    ),
    SentenceRule(
        "few",
        "Only {sets} of its comparisons were read in every order: too few to say more.",
        _conditions(("sets", "<", MIN_COMPARISONS)),
    ),
    SentenceRule(
        "noise",
        "{swapping} changes **{flips} of its verdicts**, no more than asking the same again does "
        "({noise}).",
        _conditions(
            ("flips", "≥", MIN_FLIP_RATE),
            ("above_noise", "≤", 0.05),
            ("lean_p", "≥", SIGNIFICANCE_LEVEL),
        ),
    ),
    SentenceRule(
        "by label",
        "{swapping} changes **{flips} of its verdicts**: it goes by label, mostly “{label}”.",
        _conditions(("flips", "≥", 0.5), ("label_pull", "≥", 0.25), ("label_lead", ">", 0)),
    ),
    SentenceRule(
        "by place",
        "{swapping} changes **{flips} of its verdicts**: it goes by place, mostly the {toward}.",
        _conditions(
            ("flips", "≥", 0.5), ("lean_p", "<", SIGNIFICANCE_LEVEL), ("lopsided", "≥", 0.8)
        ),
    ),
    SentenceRule(
        "one way",
        "{swapping} changes **{flips} of its verdicts**, mostly toward the {toward}.",
        _conditions(
            ("flips", "≥", MIN_FLIP_RATE),
            ("lean_p", "<", SIGNIFICANCE_LEVEL),
            ("lopsided", "≥", 2 / 3),
        ),
    ),
    SentenceRule(
        "rather",
        "{swapping} changes **{flips} of its verdicts**, more often toward the {toward}.",
        _conditions(("flips", "≥", MIN_FLIP_RATE), ("lean_p", "<", SIGNIFICANCE_LEVEL)),
    ),
    SentenceRule(
        "no side",
        "{swapping} changes **{flips} of its verdicts**, to no side in particular.",
        _conditions(("flips", "≥", MIN_FLIP_RATE)),
    ),
    SentenceRule(
        "few flips",
        "{swapping} changes only **{flips} of its verdicts**.",
        _conditions(("flips", ">", 0)),
    ),
    SentenceRule("none", "{swapping} changes none of its {sets} verdicts."),
)

QUALITY_RULES: Final = (
    SentenceRule(
        "no verdict", "**{unreadable} of its replies** give no verdict.",
        _conditions(("unreadable", "≥", 0.05)),
    ),
    SentenceRule(
        "a handful", "The numbers below are those of a handful of cases.",
        _conditions(("items", "<", MIN_ITEMS)),
    ),
    SentenceRule(
        "a coin", "It finds the better answer in **{known}** of known cases, little more than a "
        "coin would.",
        _conditions(("known_gain", "≤", 0.10)),
    ),
    SentenceRule(
        "below people", "It sides with people in **{people}** of verdicts, less often than one of "
        "them would.",
        _conditions(("people", "known", 0), ("stand_in_high", "<", 0)),
    ),
    SentenceRule(
        "above people", "It sides with people in **{people}** of verdicts, more often than one of "
        "them does.",
        _conditions(("people", "known", 0), ("stand_in_low", ">", 0)),
    ),
    SentenceRule(
        "as people", "It sides with people in **{people}** of verdicts, about as often as one of "
        "them does.",
        _conditions(("people", "known", 0), ("stand_in_low", "≤", 0)),
    ),
    SentenceRule(
        "people", "It sides with people in **{people}** of verdicts.",
        _conditions(("people", "known", 0)),
    ),
    SentenceRule(
        "right", "It finds the better answer in **{known}** of known cases.",
        _conditions(("known_gain", ">", 0.10)),
    ),
    SentenceRule(
        "longer", "It picks the longer answer in **{longer}** of its decisions.",
        _conditions(("longer_low", "≥", 0.6)),
    ),
    SentenceRule(
        "others", "It says the same as the other judges in **{others}** of verdicts.",
        _conditions(("others", "known", 0)),
    ),
    SentenceRule(
        "nothing", "Whether it is right is not known: no votes by people, no known answers, no "
        "other judge.",
    ),
)  # fmt: skip

ADVICE_RULES: Final = (
    SentenceRule(
        "read them",
        "Read its replies: the verdict format may not suit it.",
        _conditions(("read", "≤", 0)),
    ),
    SentenceRule(
        "mend the format",
        "Mend the verdict format before anything else.",
        _conditions(("unreadable", "≥", 0.2)),
    ),
    SentenceRule("both orders", "Ask in both orders.", _conditions(("orders", "≤", 1))),
    SentenceRule(
        "more items",
        "Ask about more items before you use it.",
        _conditions(("items", "<", MIN_ITEMS)),
    ),
    SentenceRule(
        "more",
        "Ask about more items before you use it.",
        _conditions(("sets", "<", MIN_COMPARISONS)),
    ),
    SentenceRule(
        "repeat",
        "Ask several times and take the majority, or lower the temperature.",
        _conditions(
            ("flips", "≥", MIN_FLIP_RATE),
            ("above_noise", "≤", 0.05),
            ("lean_p", "≥", SIGNIFICANCE_LEVEL),
        ),
    ),
    SentenceRule(
        "another judge",
        "Use another judge or another prompt: its verdicts hardly survive a new order.",
        _conditions(("flips", "≥", MIN_FLIP_RATE), ("own_kappa", "≤", 0.2)),
    ),
    SentenceRule(
        "split is a tie",
        "Ask in both orders, and count a split as a tie.",
        _conditions(("flips", "≥", MIN_FLIP_RATE), ("lean_p", "<", SIGNIFICANCE_LEVEL)),
    ),
    SentenceRule(
        "average", "Ask in both orders and average.", _conditions(("flips", "≥", MIN_FLIP_RATE))
    ),
    SentenceRule("quick look", "One order does for a quick look; report both."),
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


SENTENCE_WORDS: Final = ("swapping", "toward", "label")
"""What a sentence may name besides facts: the act, the place, the label."""


def card_sentences(facts: FactValues, words: Mapping[str, str]) -> list[CardSentence]:
    """One sentence of each group: the first rule that holds."""
    said = {name: _fact_text(name, facts.get(name)) for name in CARD_FACTS}
    said |= {name: words.get(name, "") for name in SENTENCE_WORDS}
    spoken = [next(rule for rule in rules if rule.applies(facts)) for rules in RULE_GROUPS.values()]
    return [
        CardSentence(rule.name, rule.text.format(**said), rule.threshold_text) for rule in spoken
    ]


def _fact_text(name: str, value: float | None) -> str:
    return "–" if value is None else CARD_FACTS[name].write(value)
