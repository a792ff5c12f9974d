"""Sentences on the studies of tests/awkward_study.py: bounds, missing intervals, two groups."""

from __future__ import annotations

import re
from itertools import pairwise

import pytest

from components.charts.figure_parts import BOTTOM_MARGIN, LABEL_GAP, TOP_MARGIN
from components.filtering.filtered_study import FilteredStudy
from components.filtering.filters import Filter
from components.filtering.raters import Raters
from components.html.format import percent
from components.results.agreement import majority_panel
from components.results.agreement.computed import load_agreement
from components.results.cards.report_card import ReportCard
from components.results.cards.sentence_rules import card_sentences
from components.results.pass_fail.computed import load_pass_fail
from components.results.ranking import panels, sentences
from components.results.ranking.computed import load_ranking
from components.results.view_drawing import VIEWS, render_view_uncached
from studies.store.store import Store
from tests import awkward_study
from tests.page_words import says


@pytest.fixture(scope="module")
def study(tmp_path_factory):
    store = Store(tmp_path_factory.mktemp("awkward") / "evenhand.db")
    awkward_study.save_awkward_studies(store)
    yield FilteredStudy(store, awkward_study.NAME)
    store.close()


def test_a_lead_without_an_upper_limit_is_at_least_that_large_in_headline_and_table(study):
    ranking = load_ranking(study)
    title, _ = sentences.ranking_headline(ranking)
    least = re.search(r"≥ (\d+)</b>", panels.leaderboard_html(ranking))[1]
    assert says(title, "ant leads bee", f"at least {least} Elo")


def test_a_lead_without_an_interval_is_not_called_unadjusted(study):
    html = panels.leaderboard_html(load_ranking(study))
    (row,) = [row for row in html.split("<tr") if ">cat<" in row]
    assert not says(html, "not after adjustment") and says(row, "no interval")


def test_names_at_the_ends_of_elo_curves_stay_in_the_plot_and_apart(study):
    drawn = render_view_uncached(study, "Ranking", VIEWS["Ranking"].initial_values(study))
    (figure,) = [one for one in drawn.values() if isinstance(one, dict) and "replay" in one]
    layout = figure["layout"]
    low, high = layout["yaxis"]["range"]
    inner = layout["height"] - TOP_MARGIN - BOTTOM_MARGIN
    at = sorted(
        inner * (label["y"] - low) / (high - low) + label["yshift"]
        for label in layout["annotations"]
    )
    assert len(at) == 6 and at[0] > 7.9 and at[-1] < inner - 7.9
    assert min(b - a for a, b in pairwise(at)) >= LABEL_GAP - 1


def test_position_of_pass_or_fail_verdicts_is_about_the_order_of_the_options(study):
    single = FilteredStudy(study.store, awkward_study.SINGLE)
    found = load_pass_fail(single)
    changed, shift = found.order[found.shown_rater].changed, found.shift.shift
    title, lead = VIEWS["Position"].headline(single)
    assert says(title, "verdict by flat", "change places")
    assert percent(changed, 0, n=False) in title
    assert says(lead, f"{100 * abs(shift.value):.1f} points", "no significant difference")
    whole = VIEWS["Agreement"].headline(single)
    assert whole[0] != title and VIEWS["Summary"].headline(single) == whole


def test_a_band_that_is_not_drawn_is_not_explained(study):
    data = load_agreement(study)
    table = majority_panel.majority_agreement_table(study, data)
    assert not says(table, "one person")
    assert not says(majority_panel.majority_agreement_subtitle(study, data), "one person")


def test_the_card_gives_an_order_effect_the_interval_of_the_headline(study):
    one = FilteredStudy(study.store, awkward_study.NAME, Filter(judge="keen", prompt="brief"))
    title, _ = VIEWS["Position"].headline(one)
    (told,) = [text for text in cards_of(one) if says(text, "calls were repeated")]
    size = re.search(r"the order .*?(\d+ points \[[^]]+\])", title)[1]
    assert says(told, f"difference is +{size}")


def test_a_card_says_that_the_order_is_unknown_or_that_no_comparison_is_complete(study):
    unknown = FilteredStudy(study.store, awkward_study.NAME, Filter(judge="whence"))
    assert says(cards_of(unknown)[0], "records do not", "shown first")
    options = FilteredStudy(study.store, awkward_study.OPTIONS, Filter(judge="lame"))
    assert says(cards_of(options)[0], "No comparison", "every order")


def cards_of(study: FilteredStudy) -> list[str]:
    """The three sentences of the only judge that the filters leave."""
    raters = Raters(study)
    card = ReportCard(raters, raters.filtered_rater_names[0])
    return [one.text for one in card_sentences(card.facts, card.text_by_key)]
