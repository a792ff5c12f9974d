"""Overview: three findings with links to their views; names and addresses of the views."""

from __future__ import annotations

import html
import json
import re

import gradio as gr
import pytest

from components.filtering.filtered_study import FilteredStudy
from components.results import results_tab
from components.results.agreement.computed import load_agreement
from components.results.agreement.panels import show_kpis as people_kpis
from components.results.bias import tab as bias_tab
from components.results.contrasts import tab as contrasts_tab
from components.results.controls.filter_bar_tab import FIXED_CHOICES
from components.results.overview import tab as overview_tab
from components.results.view_drawing import VIEWS, default_kpis, study_finding
from metrics.win_rates.win_rates import win_rate_by_position
from studies.store.store import Store
from tests.page_words import says
from tests.voted_studies import six_items

NAME = "two judges"


@pytest.fixture(scope="module")
def tab():
    with gr.Blocks():
        return results_tab.build()


def switch(store: Store, tab, **wanted: str) -> gr.Radio:
    return results_tab.initial_controls(store, NAME, tab, wanted)["view"]


def test_three_findings_lead_to_their_views(judged):
    drawn = overview_tab.VIEW.render(FilteredStudy(judged, NAME), {})
    bias, ranking, people = (drawn[name] for name in ("bias", "ranking", "people"))
    assert says(bias, "comparisons flip", "swapped") and "always first" in bias
    assert 'data-view="Position bias"' in bias
    assert says(ranking, "Does", "ranking hold") and 'data-view="Ranking"' in ranking
    assert "1st order" in ranking
    assert 'data-view="People"' in people
    for shown, view in ((bias, "Position bias"), (ranking, "Ranking"), (people, "People")):
        assert view in VIEWS and shown.count("data-view") == 1


def test_the_ranking_is_drawn_by_position_with_the_numbers_as_text(judged):
    shown = FilteredStudy(judged, NAME)
    ranking = overview_tab.draw_ranking(shown)
    rates = win_rate_by_position(shown.machines)
    assert rates and ranking.count("<tbody>") == 1
    for first, second in rates.values():
        texts = [f"{100 * one.value:.0f}\u202f% shown {place}" for one, place in
                 ((first, "first"), (second, "second"))]  # fmt: skip
        assert says(ranking, '<span class="eh-vh">', *texts)
        for one, kind in ((first, "first"), (second, "second")):
            assert f'<i class="p {kind}" style="left:{100 * one.value:.2f}%">' in ranking
    assert says(ranking, "shown first", "shown second") and "1st order" in ranking


def test_a_judge_s_name_leads_to_its_card_and_to_a_comparison(judged):
    bias = overview_tab.draw_bias(FilteredStudy(judged, NAME))
    targets = [json.loads(html.unescape(one)) for one in re.findall(r'data-go="([^"]+)"', bias)]
    views = {one["view"] for one in targets}
    assert views == {"Report cards", "Compare two"} <= set(VIEWS)
    for one in targets:
        if one["view"] == "Compare two":
            state = contrasts_tab.side_state(FilteredStudy(judged, NAME), one["left"], 0)
            assert one["left"] != one["right"] and one["left"] in dict(state.choices)


def test_the_way_on_is_a_remedy_if_the_better_answers_are_known(judged, store):
    name = six_items("Voted").save(store)
    assert 'data-view="Remedies"' in overview_tab.draw_advice(FilteredStudy(store, name))
    known = FilteredStudy(judged, NAME).machines["truth"] >= 0
    assert (overview_tab.draw_advice(FilteredStudy(judged, NAME)) is None) == (not known.any())
    assert 'data-click="#eh-share"' in overview_tab.draw_exports(FilteredStudy(judged, NAME))


def test_people_stand_beside_the_judges(store):
    name = six_items("Voted").save(store)
    people = overview_tab.draw_people(FilteredStudy(store, name))
    assert says(people, "agrees with", "people most") and "chance" in people


def test_both_agreements_with_people_name_their_treatment_of_ties(store):
    # People vote x on five pairs and tie on the sixth. `good` says the same, `first` takes the
    # first: 15 of 20 verdicts on the five pairs; with the sixth, 12 of 12 and 5 of 12.
    known = {f"q{k}": "x" for k in range(5)} | {"q5": "tie"}
    name = six_items("Voted").save(store, design=known, known_by="human:ann")
    shown = FilteredStudy(store, name)
    strip, card = default_kpis(shown), overview_tab.draw_people(shown)
    assert says(strip, "most people prefer", "75.0", "n 20", "chance 50", "ties", "left out")
    assert says(card, "majority", "ties included", "chance, 33") and "41.7" not in strip
    assert says(people_kpis(load_agreement(shown)), "100.0", "chance 33", "ties included")


def test_the_headline_is_that_of_position_bias(judged):
    shown = FilteredStudy(judged, NAME)
    assert overview_tab.finding(shown)[0] == bias_tab.finding(shown)[0]
    assert study_finding(judged, NAME) == bias_tab.finding(shown)[0]


def test_older_addresses_still_open_their_view(judged, tab):
    assert switch(judged, tab).value == "Overview"
    assert switch(judged, tab, view="Agreement").value == "People"
    assert switch(judged, tab, view="Contrasts").value == "Compare two"
    assert switch(judged, tab, view="Win rates").value == "Win rates"
    assert switch(judged, tab, measure="Entropy").value == "Position bias"


def test_older_names_of_the_counting_rules_still_work(judged, tab):
    for old, new in (
        ("2–0 wins, else a tie", "win only if both orders agree"),
        ("win only if both agree", "win only if both orders agree"),
        ("each order counts", "count each order"),
    ):
        rule = results_tab.initial_controls(judged, NAME, tab, {"rule": old})["rule"]
        assert rule.value == new and new in FIXED_CHOICES["rule"]


def test_protocol_needs_a_preset_or_an_address_that_names_it(judged, tab):
    names = [choice[0] for choice in switch(judged, tab).choices]
    assert "Protocol" not in names and names[0] == "Overview"
    asked = switch(judged, tab, view="Protocol")
    assert asked.value == "Protocol" and "Protocol" in [choice[0] for choice in asked.choices]


def test_while_a_run_is_active_advice_is_hidden_and_the_exports_are_not(judged, store):
    """The style sheet hides sentences of the class `eh-claim` during a run."""
    advice = overview_tab.draw_advice(FilteredStudy(store, six_items("Voted").save(store)))
    assert '<p class="eh-claim">' in advice
    exports = overview_tab.draw_exports(FilteredStudy(judged, NAME))
    assert exports is not None and "eh-claim" not in exports
