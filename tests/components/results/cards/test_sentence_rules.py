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
from tests.page_words import says

EPSILON = 1e-6
CASES = [(group, rule) for group, rules in RULE_GROUPS.items() for rule in rules]
NAMED = [f"{group}: {rule.name}" for group, rule in CASES]
SAID = {"toward": "first", "label": "A"}


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
        words = CARD_FACTS[one.fact].words
        assert words in rule.threshold_text and ";" not in words and "this test" not in words
        assert one.op != "known" or not words.split()[0].endswith("s"), "number with “is known”"


def test_names_of_rules_differ_within_their_group():
    for rules in RULE_GROUPS.values():
        assert len({rule.name for rule in rules}) == len(rules)


def test_the_example_of_the_brief():
    # 31 % flips, 237 of 249 toward the first, p below .001; beside people as good as a person.
    facts = {
        "replies": 1600, "read": 1600, "items": 80, "orders": 2, "sets": 800, "flips": 0.311,
        "lean_p": 1e-9, "lopsided": 237 / 249, "kappa_high": 0.58, "unreadable": 0.0,
        "people": 0.643, "stand_in_low": 0.01, "stand_in_high": 0.07,
    }  # fmt: skip
    first, second, advice = card_sentences(facts, SAID)
    assert says(first.text, "flips", "**31\u202f%**", "most flips", "shown first")
    assert says(second.text, "agrees", "people", "**64", "often")
    assert advice.rule == "average"
    assert "flips ≥ 10\u202f%" in first.threshold
    assert "≥ 67\u202f%" in first.threshold


def test_a_lean_that_is_sure_is_not_put_down_to_noise():
    noisy = {
        "read": 9, "items": 9, "orders": 2, "sets": 99, "flips": 0.45, "order_low": -0.02,
        "kappa_high": 0.7, "lopsided": 0.9,
    }  # fmt: skip
    assert card_sentences({**noisy, "lean_p": 0.5}, SAID)[0].rule == "noise"
    assert card_sentences({**noisy, "lean_p": 0.01}, SAID)[0].rule == "one way"
    assert card_sentences({**noisy, "lean_p": 0.01}, SAID)[2].rule == "average"


def people_sentence(low: float, high: float, reach: float) -> str:
    facts = {"people": 0.6, "stand_in_low": low, "stand_in_high": high, "stand_in_reach": reach}
    return card_sentences(facts, SAID)[1].text


def test_as_good_as_a_person_needs_an_interval_that_says_so():
    # An interval of 65 points is no evidence of equality.
    assert "within" not in people_sentence(-0.45, 0.20, 0.40)
    assert says(people_sentence(-0.08, 0.06, 0.07), "within 10 percentage points", "90")


def test_a_judge_below_chance_is_not_called_little_better():
    facts = {"known": 0.2, "chance_right": 0.5, "known_low": -0.4, "known_high": -0.2}
    words = {**SAID, "known_split": "right in **20 %**, wrong in 70 %", "lead": "right − wrong −50"}
    below = card_sentences(facts, words)[1].text
    assert says(below, "right in **20", "wrong in 70", "right − wrong", "less often", "chance (50")
    unclear = {**facts, "known": 0.55, "known_low": -0.1, "known_high": 0.2}
    assert says(card_sentences(unclear, SAID)[1].text, "not right significantly", "chance")


def test_an_order_effect_that_is_not_excluded_is_not_denied():
    facts = {
        "read": 9, "items": 9, "orders": 2, "sets": 99, "flips": 0.58, "lean_p": 0.4,
        "order_low": -0.08,
    }  # fmt: skip
    first = card_sentences(facts, {**SAID, "order_effect": "12 points [−8, 32]"})[0].text
    assert says(first, "12 points [−8, 32]")
    assert says(first, "neither shown nor", "excluded")


def test_an_effect_that_is_not_shown_gives_no_advice():
    facts = {
        "read": 9, "items": 9, "orders": 2, "sets": 99, "flips": 0.5, "lean_p": 0.4,
        "order_low": -0.1, "kappa_high": 0.4,
    }  # fmt: skip
    assert card_sentences(facts, SAID)[2].rule == "no advice"
    sure = {**facts, "kappa_high": 0.15}
    assert says(card_sentences(sure, SAID)[2].text, "chance", "at most 0.15")
    right = card_sentences({**sure, "known": 0.86, "known_low": 0.3}, SAID)[2].text
    assert says(right, "86", "are right") and not says(right, "another judge")
    four = {**facts, "orders": 4, "known": 0.91, "known_low": 0.6}
    told = card_sentences(four, {**SAID, "orders_wanted": "every order"})[2]
    assert says(told.text, "91", "are right", "every order") and not says(told.text, "No remedy")
    unsure = {**four, "known_low": -0.1}
    assert card_sentences(unsure, SAID)[2].rule == "no advice", "perhaps right by chance"


def test_known_answers_leave_the_advice_to_the_remedies():
    words = {**SAID, "remedy": "Ask j in both orders."}
    biased = {"sets": 99, "items": 9, "flips": 0.5, "lean_p": 0.001, "kappa_high": 0.1}
    for remedies in ({"remedies": 2}, {"remedies": 2, "remedy_low": 0.01}):
        assert card_sentences({**biased, **remedies}, words)[2].text == words["remedy"]


def test_one_item_and_one_comparison_are_written_in_the_singular():
    for facts, few in (({"items": 1}, "1 item,"), ({"items": 9, "sets": 1}, "1 comparison,")):
        said = card_sentences({"read": 1, "orders": 2, **facts}, SAID)[0].text
        assert f"only {few}" in said


def test_a_person_beside_the_judge_is_given_in_numbers():
    sides = [(-0.01, 0.05, "within 10"), (0.01, 0.1, "more often"), (-0.1, -0.01, "less often")]
    for low, high, told in sides:
        ends = {"stand_in_low": low, "stand_in_high": high, "stand_in_reach": 0.06}
        beside = {**SAID, "beside_person": "−3.0 points"}
        said = card_sentences({"people": 0.55, **ends}, beside)[1].text.replace("\u202f", " ")
        assert says(said, "majority of people", "55 %", "−3.0 points", told)


def test_an_order_effect_is_stated_with_its_assumption():
    facts = {
        "read": 9, "items": 9, "orders": 2, "sets": 99, "flips": 0.53, "lean_p": 0.4,
        "order_low": 0.01,
    }  # fmt: skip
    words = {**SAID, "repeat": " (49 % change on a repeat in the same order)"}
    said = card_sentences(facts, words)[0].text
    assert says(said, "(49 % change", "repeat") and says(said, "provided", "independent")
    depending = {**facts, "memory_low": 0.02}
    assert card_sentences(depending, words)[0].rule == "memory"
