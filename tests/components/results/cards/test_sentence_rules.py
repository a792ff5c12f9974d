"""Sentence rules of a report card, each tested at every one of its thresholds."""

from __future__ import annotations

from string import Formatter

import pytest

from components.results.cards.sentence_rules import (
    CARD_FACTS,
    RULE_GROUPS,
    SENTENCE_WORDS,
    RuleCondition,
    SentenceRule,
    card_sentences,
)

EPSILON = 1e-6
CASES = [(group, rule) for group, rules in RULE_GROUPS.items() for rule in rules]
NAMED = [f"{group}: {rule.name}" for group, rule in CASES]
SAID = {"swapping": "Swapping the answers", "toward": "first", "label": "A"}


def at_edge(condition: RuleCondition) -> float:
    """The last value for which the condition holds."""
    step = {">": EPSILON, "<": -EPSILON}.get(condition.op, 0.0)
    return condition.value + step


def past_edge(condition: RuleCondition) -> float | None:
    """The first value for which it does not."""
    step = {"≥": -EPSILON, "≤": EPSILON, ">": 0.0, "<": 0.0}
    return None if condition.op == "known" else condition.value + step[condition.op]


@pytest.mark.parametrize(("group", "rule"), CASES, ids=NAMED)
def test_a_rule_speaks_at_its_edge_and_not_past_it(group: str, rule: SentenceRule):
    facts = {one.fact: at_edge(one) for one in rule.conditions}
    first = next(other for other in RULE_GROUPS[group] if other.applies(facts))
    assert first is rule
    for one in rule.conditions:
        assert not rule.applies({**facts, one.fact: past_edge(one)})
        assert not rule.applies({**facts, one.fact: None}), "what is not known satisfies nothing"


@pytest.mark.parametrize("group", list(RULE_GROUPS))
def test_every_group_has_something_to_say_of_a_judge_nothing_is_known_of(group: str):
    assert RULE_GROUPS[group][-1].conditions == ()
    assert next(rule for rule in RULE_GROUPS[group] if rule.applies({})) is RULE_GROUPS[group][-1]


@pytest.mark.parametrize(("group", "rule"), CASES, ids=NAMED)
def test_a_rule_names_only_what_there_is_and_says_its_threshold(group: str, rule: SentenceRule):
    fields = {name for _, name, _, _ in Formatter().parse(rule.text) if name}
    assert fields <= set(CARD_FACTS) | set(SENTENCE_WORDS)
    # A number is only written where a condition or the order of the rules makes sure it is known.
    for one in rule.conditions:
        assert CARD_FACTS[one.fact].words in rule.threshold_text


def test_names_of_rules_differ_within_their_group():
    for rules in RULE_GROUPS.values():
        assert len({rule.name for rule in rules}) == len(rules)


def test_the_example_of_the_brief():
    # 31 % flips, 237 of 249 toward the first, p below .001; beside people as good as a person.
    facts = {
        "replies": 1600, "read": 1600, "items": 80, "orders": 2, "sets": 800, "flips": 0.311,
        "lean_p": 1e-9, "lopsided": 237 / 249, "own_kappa": 0.51, "unreadable": 0.0,
        "people": 0.643, "stand_in_low": 0.01, "stand_in_high": 0.07,
    }  # fmt: skip
    first, second, advice = card_sentences(facts, SAID)
    assert first.text == (
        "Swapping the answers changes **31\u202f% of its verdicts**, "
        "mostly toward the answer shown first."
    )
    assert second.text.startswith("It agrees with people in **64\u202f%** of verdicts, more often")
    assert advice.rule == "split is a tie"
    assert "flips ≥ 10\u202f%" in first.threshold
    assert "≥ 67\u202f%" in first.threshold


def test_a_lean_that_is_sure_is_not_put_down_to_noise():
    noisy = {
        "read": 9, "items": 9, "orders": 2, "sets": 99, "flips": 0.45, "above_noise": 0.04,
        "own_kappa": 0.6, "lopsided": 0.9,
    }  # fmt: skip
    assert card_sentences({**noisy, "lean_p": 0.5}, SAID)[0].rule == "noise"
    assert card_sentences({**noisy, "lean_p": 0.01}, SAID)[0].rule == "one way"
    assert card_sentences({**noisy, "lean_p": 0.01}, SAID)[2].rule == "split is a tie"
