"""Advice and counts fit the kind of study: pairs, more options, single answers, twins."""

from __future__ import annotations

import pytest

from components.filtering.filtered_study import FilteredStudy
from components.filtering.filters import Filter
from components.filtering.raters import Raters
from components.inspect.list_html import list_html
from components.inspect.load_comparison import load_inspect_page
from components.results.agreement.disputes import possible_dispute_kinds
from components.results.bias.computed import load_bias
from components.results.cards.card_html import show_card
from components.results.cards.measure_table import card_measures
from components.results.cards.report_card import OPTION_WORDS, PAIR_WORDS, ReportCard
from components.results.cards.sentence_rules import RULE_GROUPS, card_sentences
from components.results.contrasts.comparison import comparison_html
from components.results.controls.mark_selection import inspect_filters_for_mark
from components.results.nudges.twin_pairs import load_twin_examples
from components.results.overview.run_outcome import next_steps
from components.results.view.unusable_replies import unusable_link_label
from components.study.plan import demo_studies
from studies.store.store import Store
from tests.page_words import says, text_of


@pytest.fixture
def demo(recorded_demos) -> Store:
    return recorded_demos


@pytest.fixture
def options(demo) -> FilteredStudy:
    return FilteredStudy(demo, demo_studies.OPTIONS_STUDY)


def test_no_rule_for_more_options_speaks_of_pairs():
    """Only its words differ from the rules for pairs, so each rule must take them from there."""
    words = dict(zip(("each", "orders_wanted", "combine"), OPTION_WORDS, strict=True))
    for rule in (rule for rules in RULE_GROUPS.values() for rule in rules):
        for name, text in words.items():
            rule_text = rule.text.replace(f"{{{name}}}", text)
        assert "both orders" not in rule.text and "each pair" not in rule.text, rule.name
        assert not set(PAIR_WORDS) & {rule_text}


def test_cards_of_four_options_advise_every_order_and_miss_no_known_answer(options):
    raters, advice = Raters(options), []
    for rater in raters.filtered_rater_names:
        card = ReportCard(raters, rater)
        *_, last = card_sentences(card.facts, card.text_by_key)
        text = text_of(show_card(raters, rater))
        assert "pair" not in last.text and "must be known" not in last.text
        assert "no better answer" not in text
        advice.append(last)
    assert any(one.rule == "average" and says(one.text, "every order") for one in advice)
    assert not any(step.title == "Ask people" for step in next_steps(options, load_bias(options)))


def test_a_judge_that_changes_between_right_answers_is_not_replaced(options):
    """Two of the four answers are equally right, so the judge flips although 85 % are right."""
    raters = Raters(options)
    assert raters.known_answer_source == "design"
    card = ReportCard(raters, "grade-criteria")
    _, quality, advice = card_sentences(card.facts, card.text_by_key)
    assert quality.rule == "right" and says(quality.text, "right in", "**85")
    assert advice.rule == "other right ones" and says(advice.text, "85", "right", "every order")
    assert "Accuracy" in [row.label for row in card_measures(card)]
    assert "Against known answers" not in possible_dispute_kinds(raters)


def test_a_comparison_of_prompts_names_the_pairs_that_four_options_lack(options):
    made = text_of(comparison_html(options, "grade-simple", "Agreement"))
    assert says(made, "Agreement with people", "no pair")
    assert "no better answer" not in made


def test_a_pair_still_has_both_orders_and_the_missing_answers(demo):
    raters = Raters(FilteredStudy(demo, demo_studies.PAIRS_STUDY))
    card = ReportCard(raters, raters.filtered_rater_names[0])
    words = card.text_by_key
    assert (words["each"], words["orders_wanted"]) == PAIR_WORDS[:2]
    assert card.has_known_answers and not words["compare"] + words["unknown"]


@pytest.mark.parametrize(
    ("study", "chosen", "replies"),
    [
        (demo_studies.OPTIONS_STUDY, Filter(), 95),  # 91 unreadable and 4 truncated
        (demo_studies.OPTIONS_STUDY, Filter(prompt="grade-simple"), None),
        (demo_studies.SINGLE_STUDY, Filter(), 278),  # 276 unreadable and 2 truncated
    ],
)
def test_a_link_names_the_replies_and_the_comparisons_that_it_opens(demo, study, chosen, replies):
    filtered = FilteredStudy(demo, study, chosen)
    page = load_inspect_page(demo, inspect_filters_for_mark(filtered, {"status": "failures"}))
    unit = "answers" if study == demo_studies.SINGLE_STUDY else "comparisons"
    listed = text_of(list_html(page))
    link = f"Open {page.replies} replies of {page.total} {unit}"
    assert unusable_link_label(filtered) == link
    assert page.replies == filtered.unusable_count and page.replies in (replies, page.replies)
    assert says(listed, f"{page.total} {unit}, {page.replies} replies")


def test_a_link_to_twins_counts_the_comparisons_that_it_opens(demo):
    filtered = FilteredStudy(demo, demo_studies.TWINS_STUDY)
    for effect in filtered.twin_effects:
        found = load_twin_examples(filtered, effect)
        page = load_inspect_page(demo, inspect_filters_for_mark(filtered, found.select))
        assert found.total == page.total > 0, effect.family


@pytest.mark.parametrize("study", [demo_studies.TWINS_STUDY, demo_studies.PAIRS_STUDY])
def test_a_card_says_what_its_replies_hold_besides_the_measured_ones(demo, study):
    """Replies = planned ones + repeats in the same order + those on twins."""
    raters = Raters(FilteredStudy(demo, study))
    for rater in raters.filtered_rater_names:
        card = ReportCard(raters, rater)
        spent, repeats = card.rater_spending, len(card.rows) - len(card.rows_without_noise_repeats)
        assert spent.replies - spent.twins == len(card.rows) and spent.repeats == repeats
        text = text_of(show_card(raters, rater))
        assert says(text, f"{len(card.rows):,} replies")
        others, read = (
            f"{len(card.rows_without_noise_repeats):,} others",
            f"{card.facts['read']:,} with",
        )
        parts = (f"{repeats:,} repeat", others) if repeats else ()
        assert says(text, f"{len(card.rows):,} replies", *parts, read)
        assert not spent.twins or says(text, f"{spent.replies:,}", f"{spent.twins:,} on twins")
