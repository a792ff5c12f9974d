"""The sentence that says whether a ranking holds in both orders of the answers."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from components.filtering.filtered_study import FilteredStudy
from components.filtering.raters import Raters
from components.results.cards.card_html import show_card
from components.results.overview.tab import render_advice
from components.results.ranking.computed import Ranking, compute_ranking
from components.results.ranking.panels import order_comparison_html
from components.results.ranking.ranking_stability import (
    compare_rankings_of_both_orders,
    does_ranking_hold,
)
from components.results.ranking.tab import render_ranking_by_order
from metrics.summary.rating_sections import ratings_by_order_table
from tests.components.results.ranking.test_ranking_panels import LADDER, battles
from tests.metrics.frames import build, pair
from tests.page_words import says, text_of
from tests.voted_studies import Sheet


class Board:
    """A leaderboard of given names, with the pairs that differ significantly."""

    def __init__(self, names: str, *significant: str, items: int = 30) -> None:
        self.names = tuple(names)
        self.items = items
        self._significant = significant

    def is_significantly_better(self, above: str, below: str) -> bool:
        return above + below in self._significant


def sentence(one: Any, two: Any, both: Any) -> str:
    ranking = Ranking([both], first_order=one, second_order=two)
    return compare_rankings_of_both_orders(ranking).sentence


def test_the_same_ranking_with_every_difference_significant():
    said = sentence(Board("abc"), Board("abc"), Board("abc", "ab", "bc", "ac"))
    assert says(said, "Yes", "same ranking", "both", "together", "each", "significantly above")


def test_the_same_ranking_names_the_neighbours_that_do_not_differ():
    said = sentence(Board("abc"), Board("abc"), Board("abc", "ab", "ac"))
    assert says(said, "Yes", "same ranking", "together", "b and c", "not differ significantly")
    said = sentence(Board("abc"), Board("abc"), Board("abc"))
    assert says(said, "Not known", "2 of 2", "not differ significantly")


@pytest.mark.parametrize(("items", "answer"), [(3, "Not known"), (4, "Not known"), (5, "Yes")])
def test_few_items_cannot_show_that_a_ranking_holds(items, answer):
    said = sentence(Board("abc"), Board("abc"), Board("abc", "ab", "bc", "ac", items=items))
    assert said.startswith(f"{answer}:")
    assert says(said, f"{items} items", "cannot") is (answer == "Not known")


def test_only_a_reversal_significant_in_both_orders_is_a_no():
    whole = Board("abc")
    said = sentence(Board("abc", "ab"), Board("bac", "ba"), whole)
    assert says(said, "No: a", "significantly above b", "one", "significantly below b", "other")
    said = sentence(Board("abc", "ab"), Board("bac"), whole)
    assert says(said, "In part", "a and b", "change", "other", "significantly", "one order only")
    said = sentence(Board("abc"), Board("bac"), whole)
    assert says(said, "In part", "a and b", "change", "significantly", "neither")


def test_two_models_that_change_places_are_named():
    said = sentence(Board("ab"), Board("ba"), Board("ab"))
    assert says(said, "Not known", "a and b", "change places", "neither")
    assert "every rank" not in said and "other" not in said
    said = sentence(Board("ab", "ab"), Board("ba"), Board("ab"))
    assert says(said, "Not known", "a and b", "change places", "one order only")


@pytest.mark.parametrize(
    ("significant", "orders"), [((), "either"), (("ad",), "both"), (("ad", "bd", "cd"), "both")]
)
def test_several_changes_of_places_are_summed_up(significant, orders):
    said = sentence(Board("abcd", *significant), Board("dabc"), Board("abcd"))
    assert says(said, "Not known", "every rank")
    assert says(said, "No ", "pair", "significantly", f"{orders} order")
    assert ("At least one pair" in said) is bool(significant)
    said = sentence(Board("abcde", *significant), Board("dabce"), Board("abcde"))
    assert says(said, "In part", "rank 5", "1, 2, 3 and 4")
    assert says(said, "No ", "pair", "significantly", f"{orders} order")
    assert "(" not in said


@pytest.mark.parametrize("missing", ["one", "two"])
def test_one_order_only_is_not_known(missing):
    boards = {"one": Board("ab"), "two": Board("ab"), missing: None}
    assert sentence(boards["one"], boards["two"], Board("ab")).startswith("Not known: each pair")


def test_an_order_that_is_not_recorded_is_not_called_one_order():
    rows = [pair(f"q{n}", n % 3 == 0, 0, orders=1)[0] for n in range(12)]
    known, unknown = (build(row | {"orders": orders} for row in rows) for orders in (1, 0))
    for frame, recorded in ((known, True), (unknown, False)):
        ranking = compute_ranking(frame, frame)
        told, drawn = (
            compare_rankings_of_both_orders(ranking).sentence,
            order_comparison_html(ranking),
        )
        assert says(told, "Not known", "order")
        assert says(told, "do not record") is not recorded
        assert (
            says(drawn, "in one order") is recorded and says(drawn, "do not record") is not recorded
        )


def test_fitted_rankings():
    even = build(battles(LADDER))
    said = compare_rankings_of_both_orders(compute_ranking(even, even)).sentence
    assert says(said, "Yes", "same ranking", "together", "b and c", "not differ significantly")
    rows = []
    for n in range(60):  # the answer shown first wins 57 of 60, whichever it is
        rows += pair(f"q{n}", int(n < 3), int(n >= 57), x="a", y="b")
    first = build(rows)
    ranking = compute_ranking(first, first)
    assert ranking.first_order.is_significantly_better(
        "a", "b"
    ) and ranking.second_order.is_significantly_better("b", "a")
    assert compare_rankings_of_both_orders(ranking).answer == "No"


def test_pairs_shown_once_each_are_not_an_effect_of_the_order():
    rows = []
    for n in range(40):  # "a" wins wherever it is first, but no item was judged in both orders
        rows.append(pair(f"q{n}", 0, 0, x="a", y="b", orders=1)[n % 2])
    ranking = compute_ranking(build(rows), build(rows))
    told, drawn = compare_rankings_of_both_orders(ranking).sentence, order_comparison_html(ranking)
    assert says(told, "Not known", "one order only") and says(drawn, "in one order")
    assert ratings_by_order_table(build(rows)) == {}
    both = [one for n in range(40) for one in pair(f"q{n}", 0, 0, x="a", y="b")]
    assert set(ratings_by_order_table(build(both))) == {"first", "second"}


def test_without_usable_or_common_comparisons_the_reason_is_named():
    assert says(sentence(Board("ab"), Board("cd"), Board("abcd")), "fewer than two")
    assert says(sentence(Board("ab"), Board("bc"), Board("abc")), "fewer than two")
    assert says(sentence(Board("abd"), Board("abc"), Board("abcd", "ab")), "Yes")
    unread = build([row for n in range(6) for row in pair(f"q{n}", None, None)])
    found = compute_ranking(unread[:0], unread)
    assert says(compare_rankings_of_both_orders(found).sentence, "Not known", "no reply", "better")
    found = compare_rankings_of_both_orders(replace(found, why_empty=Ranking.why_empty))
    assert says(found.sentence, "Not known", "pairwise comparisons")


@pytest.mark.parametrize(("items", "small"), [(12, True), (19, True), (20, False)])
def test_card_ranking_and_advice_say_alike_that_a_study_is_too_small(store, items, small):
    """x wins all comparisons, so both orders rank it significantly above y."""
    sheet = Sheet("small")
    for k in range(items):
        sheet.both(f"q{k}", "j", "xx")
    sheet.save(store)
    filtered = FilteredStudy(store, "small")
    card = text_of(str(show_card(Raters(filtered), "j")))
    holds = does_ranking_hold(filtered)
    advice = text_of(str(render_advice(filtered) or ""))
    assert says(card, "too few", "conclusion") is small
    assert (holds.answer == "Not known" and says(holds.text, "fewer than 20")) is small
    assert text_of(str(render_ranking_by_order(filtered))).count(holds.text) == 1
    assert not advice or says(advice, "more items", "fewer than 20") is small
