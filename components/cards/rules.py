"""What a report card says in words: rules as data, first that holds speaks, thresholds on hover.

Three groups: how steady the judge is, how good, and one piece of advice. A rule holds if all its
conditions do; a fact that is not known satisfies none.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final, Literal

from components.format import count, number, share

Facts = Mapping[str, float | None]
"""fact -> number, None where it is not known; the names are those of FACTS."""

_COMPARE: Final[dict[str, Callable[[float, float], bool]]] = {
    "≥": operator.ge, "≤": operator.le, "<": operator.lt, ">": operator.gt,
    "known": lambda value, _: True,
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Fact:
    """What a fact is called in a hover card, and how its number is written."""

    words: str
    write: Callable[[float], str]


def _whole_percent(value: float) -> str:
    return share(value, 0)


def _points(value: float) -> str:
    return f"{number(100 * value)} points"


def _p(value: float) -> str:
    return number(value, 2)


FACTS: Final[dict[str, Fact]] = {
    "asked": Fact("replies", lambda value: count(int(value))),
    "read": Fact("replies read", lambda value: count(int(value))),
    "items": Fact("items read", lambda value: count(int(value), "item")),
    "orders": Fact("orders asked", lambda value: count(int(value))),
    "sets": Fact("comparisons read in all orders", lambda value: count(int(value))),
    "flips": Fact("flips", _whole_percent),
    "noise": Fact("noise floor", _whole_percent),
    "above_noise": Fact("flips above the noise floor", _points),
    "lean_p": Fact("p of the test for a preferred place", _p),
    "lopsided": Fact("flips toward that place", _whole_percent),
    "label_pull": Fact("choices of that label, from even", _points),
    "label_lead": Fact("pull of the label above that of the place", _points),
    "own_kappa": Fact("agreement with itself beyond chance, κ", lambda value: number(value, 2)),
    "unreadable": Fact("replies without a verdict", _whole_percent),
    "known": Fact("right on known answers", _whole_percent),
    "known_gain": Fact("right on known answers, above a coin", _points),
    "people": Fact("same verdict as people", _whole_percent),
    "stand_in_low": Fact("lower end of (judge − person) beside the other people", _points),
    "stand_in_high": Fact("upper end of (judge − person) beside the other people", _points),
    "longer": Fact("picks the longer answer", _whole_percent),
    "longer_low": Fact("lower end of picks the longer answer", _whole_percent),
    "others": Fact("same verdict as the other judges", _whole_percent),
}

Op = Literal["≥", "≤", "<", ">", "known"]


@dataclass(frozen=True, slots=True)
class Condition:
    fact: str
    op: Op
    value: float = 0.0

    def holds(self, facts: Facts) -> bool:
        known = facts.get(self.fact)
        return known is not None and _COMPARE[self.op](known, self.value)

    @property
    def words(self) -> str:
        fact = FACTS[self.fact]
        if self.op == "known":
            return f"{fact.words} is known"
        return f"{fact.words} {self.op} {fact.write(self.value)}"


@dataclass(frozen=True, slots=True)
class Rule:
    """`text` may name facts and WORDS in braces; **bold** is for the eye."""

    name: str
    text: str
    conditions: tuple[Condition, ...] = ()

    def holds(self, facts: Facts) -> bool:
        return all(condition.holds(facts) for condition in self.conditions)

    @property
    def threshold(self) -> str:
        """What the hover card says."""
        if not self.conditions:
            return "Rule: said where no other rule of its kind holds"
        return f"Rule: {'; '.join(condition.words for condition in self.conditions)}"


def _when(*parts: tuple[str, Op, float]) -> tuple[Condition, ...]:
    return tuple(Condition(*part) for part in parts)


FLIPS: Final = 0.10
SURE: Final = 0.05
FEW: Final = 20
FEW_ITEMS: Final = 5

STEADINESS: Final = (
    Rule("silent", "None of its {asked} replies could be read.", _when(("read", "≤", 0))),
    Rule(
        "one order", "It was asked in one order only, so whether the place decides cannot be told.",
        _when(("orders", "≤", 1)),
    ),
    Rule(
        "few items", "Only {items} were read: too few to say more.",
        _when(("items", "<", FEW_ITEMS)),
    ),
    Rule(
        "few", "Only {sets} of its comparisons were read in every order: too few to say more.",
        _when(("sets", "<", FEW)),
    ),
    Rule(
        "noise",
        "{swapping} changes **{flips} of its verdicts**, no more than asking the same again does "
        "({noise}).",
        _when(("flips", "≥", FLIPS), ("above_noise", "≤", 0.05), ("lean_p", "≥", SURE)),
    ),
    Rule(
        "by label", "{swapping} changes **{flips} of its verdicts**: it goes by label, mostly "
        "“{label}”.",
        _when(("flips", "≥", 0.5), ("label_pull", "≥", 0.25), ("label_lead", ">", 0)),
    ),
    Rule(
        "by place", "{swapping} changes **{flips} of its verdicts**: it goes by place, mostly the "
        "{toward}.",
        _when(("flips", "≥", 0.5), ("lean_p", "<", SURE), ("lopsided", "≥", 0.8)),
    ),
    Rule(
        "one way", "{swapping} changes **{flips} of its verdicts**, mostly toward the {toward}.",
        _when(("flips", "≥", FLIPS), ("lean_p", "<", SURE), ("lopsided", "≥", 2 / 3)),
    ),
    Rule(
        "rather", "{swapping} changes **{flips} of its verdicts**, more often toward the {toward}.",
        _when(("flips", "≥", FLIPS), ("lean_p", "<", SURE)),
    ),
    Rule(
        "no side", "{swapping} changes **{flips} of its verdicts**, to no side in particular.",
        _when(("flips", "≥", FLIPS)),
    ),
    Rule(
        "few flips", "{swapping} changes only **{flips} of its verdicts**.",
        _when(("flips", ">", 0)),
    ),
    Rule("none", "{swapping} changes none of its {sets} verdicts."),
)  # fmt: skip

QUALITY: Final = (
    Rule(
        "no verdict", "**{unreadable} of its replies** give no verdict.",
        _when(("unreadable", "≥", 0.05)),
    ),
    Rule(
        "a handful", "The numbers below are those of a handful of cases.",
        _when(("items", "<", FEW_ITEMS)),
    ),
    Rule(
        "a coin", "It finds the better answer in **{known}** of known cases, little more than a "
        "coin would.",
        _when(("known_gain", "≤", 0.10)),
    ),
    Rule(
        "below people", "It sides with people in **{people}** of verdicts, less often than one of "
        "them would.",
        _when(("people", "known", 0), ("stand_in_high", "<", 0)),
    ),
    Rule(
        "above people", "It sides with people in **{people}** of verdicts, more often than one of "
        "them does.",
        _when(("people", "known", 0), ("stand_in_low", ">", 0)),
    ),
    Rule(
        "as people", "It sides with people in **{people}** of verdicts, about as often as one of "
        "them does.",
        _when(("people", "known", 0), ("stand_in_low", "≤", 0)),
    ),
    Rule(
        "people", "It sides with people in **{people}** of verdicts.",
        _when(("people", "known", 0)),
    ),
    Rule(
        "right", "It finds the better answer in **{known}** of known cases.",
        _when(("known_gain", ">", 0.10)),
    ),
    Rule(
        "longer", "It picks the longer answer in **{longer}** of its decisions.",
        _when(("longer_low", "≥", 0.6)),
    ),
    Rule(
        "others", "It says the same as the other judges in **{others}** of verdicts.",
        _when(("others", "known", 0)),
    ),
    Rule(
        "nothing", "Whether it is right is not known: no votes by people, no known answers, no "
        "other judge.",
    ),
)  # fmt: skip

ADVICE: Final = (
    Rule(
        "read them", "Read its replies: the verdict format may not suit it.",
        _when(("read", "≤", 0)),
    ),
    Rule(
        "mend the format", "Mend the verdict format before anything else.",
        _when(("unreadable", "≥", 0.2)),
    ),
    Rule("both orders", "Ask in both orders.", _when(("orders", "≤", 1))),
    Rule("more items", "Ask about more items before you use it.", _when(("items", "<", FEW_ITEMS))),
    Rule("more", "Ask about more items before you use it.", _when(("sets", "<", FEW))),
    Rule(
        "repeat", "Ask several times and take the majority, or lower the temperature.",
        _when(("flips", "≥", FLIPS), ("above_noise", "≤", 0.05), ("lean_p", "≥", SURE)),
    ),
    Rule(
        "another judge", "Use another judge or another prompt: its verdicts hardly survive a new "
        "order.",
        _when(("flips", "≥", FLIPS), ("own_kappa", "≤", 0.2)),
    ),
    Rule(
        "split is a tie", "Ask in both orders, and count a split as a tie.",
        _when(("flips", "≥", FLIPS), ("lean_p", "<", SURE)),
    ),
    Rule("average", "Ask in both orders and average.", _when(("flips", "≥", FLIPS))),
    Rule("quick look", "One order does for a quick look; report both."),
)  # fmt: skip

GROUPS: Final = {"steadiness": STEADINESS, "quality": QUALITY, "advice": ADVICE}


@dataclass(frozen=True, slots=True)
class Sentence:
    rule: str
    text: str
    threshold: str


WORDS: Final = ("swapping", "toward", "label")
"""What a sentence may name besides facts: the act, the place, the label."""


def sentences(facts: Facts, words: Mapping[str, str]) -> list[Sentence]:
    """One sentence of each group: the first rule that holds."""
    said = {name: _written(name, facts.get(name)) for name in FACTS}
    said |= {name: words.get(name, "") for name in WORDS}
    spoken = [next(rule for rule in rules if rule.holds(facts)) for rules in GROUPS.values()]
    return [Sentence(rule.name, rule.text.format(**said), rule.threshold) for rule in spoken]


def _written(name: str, value: float | None) -> str:
    return "–" if value is None else FACTS[name].write(value)
