"""Sentences of a report card, each chosen by the first rule of its group that applies.

A rule tests facts of the card (CARD_FACTS) against thresholds; the page shows the rule of each
sentence on hover.
"""

import operator
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Final

from components.html.format import NARROW_SPACE, count, number, points, share
from components.results.view.unreadable_share import FORMAT_ADVICE, MANY_UNUSABLE

FactValues = Mapping[str, float | None]
"""The number of each fact (a key of CARD_FACTS); None if unknown."""


@dataclass(frozen=True, slots=True)
class CardFact:
    """Description and number format of a value that rules test, for sentences and hover texts."""

    words: str
    write: Callable[[float], str]


_ORDER: Final = "disagreement between orders minus changes on a repeat"
_MEMORY: Final = "changes between repeats further apart minus changes between consecutive repeats"
_LABEL: Final = "share of verdicts for the preferred label minus"
_PERSON: Final = "verdicts equal to another voter's, judge minus replaced person"
_RIGHT: Final = "accuracy where the better answer is known"
_LEAN_TEST: Final = "p-value of the test for a preferred position"
_ADJUSTED: Final = " of CI, adjusted for all judges and prompts"
_LOW, _HIGH = f", lower end{_ADJUSTED}", f", upper end{_ADJUSTED}"
_WORDS: Final[dict[Callable[[float], str], dict[str, str]]] = {
    lambda value: count(int(value)): {
        "read": "replies with a verdict",
        "scored": "replies with scores from which no answer is picked",
        "orders": "orders",
        "remedies": "number of remedies compared with known better answers",
    },
    lambda value: count(int(value), "call"): {"failed": "failed calls"},
    lambda value: count(int(value), "item"): {"items": "items with a verdict"},
    lambda value: count(int(value), "reply"): {"replies": "replies"},
    lambda value: count(int(value), "comparison"): {
        "sets": "comparisons with a verdict in all orders"
    },
    lambda value: count(int(value), "pair"): {"missing": "pairs without verdicts in both orders"},
    lambda value: share(value, 0): {
        "flips": "flips",
        "noise": "changes on a repeat",
        "chance_flips": "flips expected by chance",
        "lopsided": "share of flips toward the preferred position",
        "unusable": "unusable replies",
        "unreadable": "replies without a readable verdict",
        "known": _RIGHT,
        "agreement": "agreement of one call with people or known answers (undecided counts half)",
        "chance_right": "accuracy of a judge that ties as often and otherwise chooses at random",
        "people": "agreement with the majority of people (undecided counts half)",
        "longer": "share of verdicts for the longer answer",
        "longer_low": "share of verdicts for the longer answer, lower end of CI",
        "others": "share of equal verdicts, over all pairs of this judge's verdict and another "
        "judge's on the same answers in the same order",
    },
    lambda value: points(number(100 * value)): {
        "order_low": _ORDER + _LOW,
        "memory_low": _MEMORY + _LOW,
        "label_pull": f"{_LABEL} an even share",
        "label_low": f"{_LABEL} an even share{_LOW}",
        "label_lead": f"{_LABEL} that for the preferred position",
        "known_low": f"{_RIGHT}, minus chance{_LOW}",
        "known_high": f"{_RIGHT}, minus chance{_HIGH}",
        "stand_in_low": _PERSON + _LOW,
        "stand_in_high": _PERSON + _HIGH,
        "stand_in_reach": f"{_PERSON}: end of the 90{NARROW_SPACE}% CI that is farther from 0",
        "remedy_low": "gain by the recommended remedy, lower end of CI",
    },
    lambda value: number(value, 2): {
        "lean_p": _LEAN_TEST,
        "lean_read": f"{_LEAN_TEST} without pairs that lack a verdict in one of the orders",
        "lean_least": f"{_LEAN_TEST} if all flips went one way",
        "kappa_high": "agreement beyond chance (κ) between the judge's verdicts in different orders"
        + _HIGH,
    },
}
CARD_FACTS: Final = {
    name: CardFact(words, write) for write, named in _WORDS.items() for name, words in named.items()
}
_OPERATORS: Final[dict[str, Callable[[float, float], bool]]] = {
    "≥": operator.ge,
    "≤": operator.le,
    "<": operator.lt,
    ">": operator.gt,
    "known": lambda value, _: True,
}


@dataclass(frozen=True, slots=True)
class RuleCondition:
    fact: str
    op: str
    value: float = 0.0

    def is_met(self, facts: FactValues) -> bool:
        known = facts.get(self.fact)
        return known is not None and _OPERATORS[self.op](known, self.value)

    @property
    def description(self) -> str:
        fact = CARD_FACTS[self.fact]
        if self.op == "known":
            return f"{fact.words} is known"
        return f"{fact.words} {self.op} {fact.write(self.value)}"


@dataclass(frozen=True, slots=True)
class SentenceRule:
    """Rule for one sentence of a report card; `text` may contain {keys} of CARD_FACTS and of
    SENTENCE_WORDS, and **bold** words."""

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
        return f"Rule: {'; '.join(condition.description for condition in self.conditions)}"


def parse_rules(text: str) -> tuple[SentenceRule, ...]:
    """Read the rules of a group. A rule is a line `name: fact ≥ value, fact known`; the sentence
    stands in the lines below it, which are indented further."""
    rules = []
    for name, conditions, sentence in re.findall(r"^ {8}(\S.*):(.*)\n((?: {9,}.*\n)+)", text, re.M):
        parts = [part.split() for part in conditions.split(",") if part.strip()]
        made = (
            RuleCondition(fact, op, *(float(Fraction(one)) for one in value))
            for fact, op, *value in parts
        )
        rules.append(SentenceRule(name, " ".join(sentence.split()), tuple(made)))
    return tuple(rules)


_OTHER_RIGHT_ONES: Final = (
    "Verdicts in different orders differ, but {known} of them are right. Judge {each} in "
    "{orders_wanted} and {then_merge}."
)
RULE_GROUPS: Final = {
    "steadiness": parse_rules(
        """
        no reply: replies ≤ 0, failed > 0
            No call to this judge got a reply: {failed} failed.
        silent: read ≤ 0
            No verdict could be read from {replies}.
        scores: scored > 0
            This prompt scores each answer and picks none, so flips and a preferred position
            cannot be measured.
        no order: orders ≤ 0
            The records do not say which answer was shown first, so position bias cannot be
            measured.
        one order: orders ≤ 1
            This judge saw {each} in one order only, so position bias cannot be measured.
        few items: items < 5
            There are verdicts on only {items}, too few for a conclusion about this judge.
        incomplete: sets ≤ 0
            No comparison has a verdict in every order, so position bias cannot be measured.
        few, one way: sets < 20, flips ≥ 0.1, lean_p < 0.05
            This judge flips **{flips}** of only {sets}{repeat}; {more_often}.
        few: sets < 20
            Verdicts in every order exist for only {sets}, too few for a conclusion.
        by label: flips ≥ 0.5, label_pull ≥ 0.25, label_low > 0, label_lead > 0
            This judge flips **{flips}** of comparisons{repeat}; most verdicts are for the label
            {label}.
        memory: flips ≥ 0.1, memory_low > 0, lean_p ≥ 0.05
            This judge flips **{flips}** of comparisons{repeat}. Repeats further apart differ more
            often than consecutive ones, by {memory}: repeats depend on each other, so they cannot
            show the effect of the order.
        noise: flips ≥ 0.1, order_low ≤ 0, lean_p ≥ 0.05
            This judge flips **{flips}** of comparisons{repeat}. Where calls were repeated, the
            difference is {order_effect}: an order effect is neither shown nor excluded.
        order: flips ≥ 0.1, order_low > 0, lean_p ≥ 0.05
            This judge flips **{flips}** of comparisons{repeat}. Where calls were repeated, the
            difference is {order_effect}. The order matters, provided that repeats are independent
            replies; no position is significantly preferred.{cache}
        by position: flips ≥ 0.5, lean_p < 0.05, lopsided ≥ 0.8
            This judge flips **{flips}** of comparisons{repeat}; in these the judge mostly picks
            the answer shown {toward}.
        one way: flips ≥ 0.1, lean_p < 0.05, lopsided ≥ 2/3
            This judge flips **{flips}** of comparisons{repeat}; most flips go toward the answer
            shown {toward}.
        rather: flips ≥ 0.1, lean_p < 0.05
            This judge flips **{flips}** of comparisons{repeat}; {more_often}.
        missing: flips ≥ 0.1, lean_read < 0.05
            This judge flips **{flips}** of comparisons{repeat}, more often toward the answer shown
            {toward}; the {missing} without a verdict in every order could make this difference not
            significant.
        too few items: flips ≥ 0.1, lean_least ≥ 0.05
            This judge flips **{flips}** of comparisons{repeat} ({chance_flips} if choices were
            random); there are too few items to show a preference for a position{lean}.
        no side: flips ≥ 0.1
            This judge flips **{flips}** of comparisons{repeat} ({chance_flips} if choices were
            random), without a significant preference for a position{lean}.
        few flips: flips > 0
            This judge flips only **{flips}** of comparisons{repeat}.
        none:
            None of the {sets} flips.
        """
    ),
    "quality": parse_rules(
        """
        no reply: replies ≤ 0, failed > 0
            Nothing is known about its verdicts.
        failed calls: unusable ≥ 0.05, failed > 0
            **{unusable} of the calls to this judge** gave no usable verdict; {failed} failed.
        no verdict: unusable ≥ 0.05
            **{unusable} of this judge's replies** are unusable.
        a handful: items < 5
            The numbers below are based on very few items.
        scores: scored > 0, agreement known
            One call gives the higher score to the answer that is known to be better, or that most
            people prefer, in **{agreement}** of comparisons; equal scores count half.
        below chance: known_high < 0
            This judge is {known_split} of verdicts where a better answer is known: {lead}. It is
            right less often than by chance ({chance_right}).
        near chance: known_low ≤ 0
            This judge is {known_split} of verdicts where a better answer is known: {lead}. It is
            not right significantly more often than by chance ({chance_right}).
        below people: people known, stand_in_high < 0
            This judge agrees with the majority of people in **{people}** of comparisons.
            {beside_person}, less often.
        above people: people known, stand_in_low > 0
            This judge agrees with the majority of people in **{people}** of comparisons.
            {beside_person}, more often.
        as people: people known, stand_in_low ≤ 0, stand_in_reach ≤ 0.1
            This judge agrees with the majority of people in **{people}** of comparisons.
            {beside_person}. The difference is within 10 percentage points (90\u202f% CI).
        unclear to people: people known, stand_in_low ≤ 0
            This judge agrees with the majority of people in **{people}** of comparisons.
            {beside_person}.
        people: people known
            This judge agrees with the majority of people in **{people}** of comparisons.
        right: known_low > 0
            This judge is {known_split} of verdicts where a better answer is known.
        longer: longer_low ≥ 0.6
            This judge picks the longer answer in **{longer}** of decisions on unequal lengths.
        others: others known
            This judge agrees with the other judges and prompts in **{others}** of verdicts.
        nothing:
            This judge's accuracy is unknown: there are no votes by people, no known better
            answers and no other judge's verdicts to compare with.
        """
    ),
    "advice": parse_rules(
        f"""
        check it: replies ≤ 0, failed > 0
            Check this judge's address and key, and whether its server runs; then run the study
            again.
        read them: read ≤ 0
            Read the replies: this judge may not be able to use the prompt's verdict format.
        fix the format: unreadable ≥ {MANY_UNUSABLE}
            {FORMAT_ADVICE}
        both orders: orders ≤ 1
            Judge in {{orders_wanted}}.
        more items: items < 5
            Let this judge compare answers to more items before you rely on its verdicts.
        every order: sets ≤ 0
            Judge each comparison in every order, and repeat the calls without a usable reply.
        more: sets < 20
            Let this judge compare answers to more items before you rely on its verdicts.
        remedy: remedy_low > 0
            {{remedy}}
        no remedy: remedies known
            {{remedy}}
        other right ones: flips ≥ 0.1, kappa_high ≤ 0.2, known_low > 0
            {_OTHER_RIGHT_ONES}
        another judge: flips ≥ 0.1, kappa_high ≤ 0.2
            Use another judge or prompt: this judge's verdicts in different orders agree little more
            often than by chance (κ at most {{kappa_high}}).
        average: flips ≥ 0.1, lean_p < 0.05
            Judge {{each}} in {{orders_wanted}} and {{then_merge}}.{{compare}}
        right in more orders: flips ≥ 0.1, orders > 2, known_low > 0
            {_OTHER_RIGHT_ONES}
        no advice: flips ≥ 0.1
            No remedy is advised: no position is significantly preferred{{unknown}}.
        quick look:
            For a first impression, judge in one order; for a report, judge in {{orders_wanted}}.
        """
    ),
}
"""Group -> its rules: on consistency ("steadiness"), on quality, and the advice. The rules on
consistency claim an effect only with a flip rate of at least 10 %, with at least 5 items, and with
either 20 comparisons judged in every order or a significant test. The level of tests is 5 %."""

NO_REPLY_RULES: Final = tuple(rules[0] for rules in RULE_GROUPS.values())
"""The rules for a judge of which all calls failed, one of each group."""
UNUSABLE_RULES: Final = RULE_GROUPS["quality"][1:3]
"""The rules on many failed calls and unusable replies."""


@dataclass(frozen=True, slots=True)
class CardSentence:
    rule: str
    text: str
    threshold: str


SENTENCE_WORDS: Final = (
    "repeat", "cache", "more_often", "toward", "label", "lean", "known_split", "lead", "remedy",
    "order_effect", "memory", "beside_person", "each", "orders_wanted", "then_merge", "compare",
    "unknown",
)  # fmt: skip
"""Keys of the texts that a sentence may insert besides values of CARD_FACTS. "repeat": changes on a
repeat; "cache": warning of repeats that hardly ever differ; "more_often": clause on the preferred
position; "toward": name of the preferred position; "label": preferred label and its share of the
verdicts; "lean": net flip rate with its interval; "known_split": shares of right, wrong
and tied verdicts; "lead": accuracy above chance; "remedy": advice of the view Remedies. Differences
with intervals: "order_effect" (disagreement between orders minus changes on a repeat), "memory"
(repeats further apart minus consecutive ones), "beside_person" (judge minus replaced person, with
both shares). Words for pairs or for more options: "each", "orders_wanted", "then_merge"; words used
if no better answer is known: "compare", "unknown"."""


def card_sentences(facts: FactValues, words: Mapping[str, str]) -> list[CardSentence]:
    """One sentence of each group of RULE_GROUPS, given by the first rule that applies to the
    `facts`; `words`: key of SENTENCE_WORDS -> text to insert."""
    values = dict.fromkeys(CARD_FACTS, "–")
    values |= {name: CARD_FACTS[name].write(v) for name, v in facts.items() if v is not None}
    values |= {name: words.get(name, "") for name in SENTENCE_WORDS}
    chosen = [next(rule for rule in rules if rule.applies(facts)) for rules in RULE_GROUPS.values()]
    return [
        CardSentence(rule.name, rule.text.format(**values), rule.threshold_text) for rule in chosen
    ]
