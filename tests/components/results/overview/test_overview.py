"""Summary: the judges in one table, lines to other views; names and addresses of the views."""

from __future__ import annotations

import html
import json
import re

import gradio as gr
import pytest

from components.filtering.filtered_study import FilteredStudy
from components.filtering.filters import Filter
from components.filtering.raters import Raters
from components.results import results_tab
from components.results.agreement import majority_panel
from components.results.agreement.computed import load_agreement
from components.results.bias import tab as bias_tab
from components.results.bias.computed import load_bias
from components.results.bias.flip_leans import flip_leans
from components.results.cards.card_html import show_card
from components.results.controls.filter_bar_tab import FIXED_CHOICES
from components.results.overview import panels
from components.results.overview import tab as summary_tab
from components.results.remedies import tab as remedies_tab
from components.results.view_drawing import VIEWS, study_headline
from components.study.plan.demo_studies import LARGER_STUDY, OPTIONS_STUDY
from studies.store.store import Store
from tests.components.written_replies import write_items
from tests.judges.small_studies import run_text
from tests.page_words import says
from tests.voted_studies import Sheet, six_items

NAME = "two judges"


@pytest.fixture(scope="module")
def tab():
    with gr.Blocks():
        return results_tab.build()


def switch(store: Store, tab, **wanted: str) -> gr.Radio:
    return results_tab.initial_controls(store, NAME, tab, wanted)["view"]


def test_the_table_of_judges_has_the_flips_by_direction_and_leads_to_the_cards(judged):
    shown = FilteredStudy(judged, NAME)
    html_text = summary_tab.render_judges(shown).bodies["judges"]
    rows = panels.judge_rows(shown)
    leans = {lean.name: lean for lean in flip_leans(load_bias(shown))}
    assert [row.lean for row in rows] == sorted(leans.values(), key=lambda one: one.flips)
    for row in rows:
        assert row.flips.value == pytest.approx(row.lean.flips / row.lean.pairs)
    targets = [
        json.loads(html.unescape(one)) for one in re.findall(r'data-go="([^"]+)"', html_text)
    ]
    assert {one["judge"] for one in targets} == {row.lean.judge for row in rows}
    assert {one["view"] for one in targets} == {"Summary"} <= set(VIEWS)
    ranking = summary_tab.render_rank_stability(shown)
    assert says(ranking, "Does", "ranking hold") and 'data-view="Ranking"' in ranking


def test_the_way_on_is_a_remedy_if_the_better_answers_are_known(judged, store):
    name = six_items("Voted").save(store)
    assert 'data-view="Remedies"' in summary_tab.render_advice(FilteredStudy(store, name))
    known = FilteredStudy(judged, NAME).measured_judge_rows["known_answer"] >= 0
    assert (summary_tab.render_advice(FilteredStudy(judged, NAME)) is None) == (not known.any())


def test_labels_of_single_answers_bring_no_remedies_for_pairs(tmp_path, monkeypatch):
    lines = [
        {"id": f"q{k}", "instruction": f"question {k}", "responses": {"m": "so", "n": "well"},
         "labels": [{"contestant": "m", "value": "pass"}]}
        for k in range(4)
    ]  # fmt: skip
    write_items(tmp_path / "items.jsonl", lines)
    store = Store(tmp_path / "labelled.db")
    text = "data: {source: items.jsonl}\njudges: [{name: keen, model: simulated, seed: 3}]\n"
    run_text(store, f"name: mixed\n{text}prompts: [brief-letters, pass-fail]\n", tmp_path)
    run_text(store, f"name: single\n{text}prompts: [pass-fail]\n", tmp_path)
    assert summary_tab.render_advice(FilteredStudy(store, "mixed")) is None
    left = FilteredStudy(store, "mixed", Filter(prompt="pass-fail"))
    assert remedies_tab.headline(left)[0] in html.unescape(str(summary_tab.render_advice(left)))
    monkeypatch.setattr(summary_tab, "MAX_ADVICE_ROWS", 3)
    told = str(summary_tab.render_advice(FilteredStudy(store, "single")))
    assert "answer" in told and "comparison" not in told
    store.close()


def test_a_person_is_the_last_row_of_the_judges(store):
    # Three people on six pairs: ann and bob always x, cyd y on the last. One against two: cyd is
    # wrong once; on the last pair ann and bob differ from cyd, so each has no majority of others.
    name = six_items("Voted").save(store)
    shown = FilteredStudy(store, name)
    html_text = summary_tab.render_judges(shown).bodies["judges"]
    person = load_agreement(shown).voter_agreement.one_person
    assert ("one person" in html_text) == (person.value is not None)
    assert says(html_text, "not on the", "same comparisons") and "fold_replacements" in html_text
    row = html_text[html_text.index('class="person"') :]
    assert f">n {person.n}<" in row, "its number of votes"
    assert html_text.count(">n ") == 3, "two judges and the person; their head has the flips' n"


def test_the_agreement_is_named_after_the_answers_it_compares_with(store):
    """Known answers come before votes: the judge says x, as is known, and people say y."""
    sheet = Sheet("Both")
    for k in range(6):
        sheet.both(f"q{k}", "ada", "xx").votes(f"q{k}", ann="y", bob="y", cyd="y")
    known = FilteredStudy(store, sheet.save(store, design={f"q{k}": "x" for k in range(6)}))
    sheet.name = "Voted"
    voted = FilteredStudy(store, sheet.save(store))
    for shown, words, other in ((known, "known answers", "people"), (voted, "people", "known")):
        html_text = panels.judges_html(shown)
        assert f"Agreement with {words}" in html_text and f"Agreement with {other}" not in html_text
        table = majority_panel.majority_agreement_table(shown, load_agreement(shown))
        assert ("unlike" in table) == (shown is voted), "only votes can be opened in Inspect"


def test_the_headline_is_that_of_position_bias(judged):
    shown = FilteredStudy(judged, NAME)
    assert summary_tab.headline(shown)[0] == bias_tab.headline(shown)[0]
    assert study_headline(judged, NAME) == bias_tab.headline(shown)[0]


def test_older_addresses_still_open_their_place(judged, tab):
    old = {"Overview": "Summary", "Report cards": "Summary", "Position bias": "Position",
           "People": "Agreement", "Agreement": "Agreement", "Pass or fail": "Agreement",
           "Scores": "Agreement", "Win rates": "Ranking", "Remedies": "Remedies",
           "Protocol": "Paper", "Compare two": "Position", "Contrasts": "Position"}  # fmt: skip
    assert switch(judged, tab).value == "Summary"
    for former, present in old.items():
        assert switch(judged, tab, view=former).value == present
    assert switch(judged, tab, measure="Entropy").value == "Position"
    quality = {"view": "Compare two", "family": "Quality"}
    assert switch(judged, tab, **quality).value == "Agreement"


def test_an_older_card_or_comparison_chooses_the_judge(judged, tab):
    names = list(Raters(FilteredStudy(judged, NAME)).names)
    card = {"view": "Report cards", "card": names[1]}
    made = results_tab.initial_controls(judged, NAME, tab, card)
    assert (made["view"].value, made["judge"].value) == ("Summary", names[1])
    two = {"view": "Compare two", "left": names[1], "right": names[0]}
    made = results_tab.initial_controls(judged, NAME, tab, two)
    assert made["judge"].value == names[1] and made["compare"]["value"] == names[0]


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
    assert "Paper" not in names and names[0] == "Summary"
    asked = switch(judged, tab, view="Paper")
    assert asked.value == "Paper" and "Paper" in [choice[0] for choice in asked.choices]


def test_while_a_run_is_active_advice_is_hidden(judged, store):
    """The style sheet hides what is of the class `eh-claim` during a run."""
    name = six_items("Voted").save(store)
    advice = summary_tab.render_advice(FilteredStudy(store, name))
    ranking = summary_tab.render_rank_stability(FilteredStudy(judged, NAME))
    assert "eh-claim" in advice and "eh-claim" in ranking
    assert "eh-claim" not in summary_tab.render_judges(FilteredStudy(judged, NAME)).bodies["judges"]


def test_among_several_options_the_summary_is_the_matrix_of_position_entropy(recorded_demos):
    filtered = FilteredStudy(recorded_demos, OPTIONS_STUDY)
    drawn = summary_tab.VIEW.render(filtered, {})
    assert "Position entropy" in drawn["entropy_heading"] and "brief-options" in drawn["entropy"]
    assert "brief-options" in summary_tab.summary_preview_html({"finding": "", "kpis": "", **drawn})
    # The text below it explains this matrix; that of the table of judges is not shown.
    assert not drawn["judges_panel"] and "Leans to" not in summary_tab.OPTIONS.how
    assert says(summary_tab.OPTIONS.how, "permutation test", "p < .05")
    keys = " ".join(summary_tab.OPTIONS.json_keys)
    assert "entropy" in keys and "tests" in keys and "flips" not in keys


def test_the_card_of_a_chosen_judge_is_that_of_the_report_beside_the_other_judges(judged):
    whole = FilteredStudy(judged, NAME)
    raters = Raters(whole)
    name = raters.filtered_rater_names[0]
    judge, prompt = raters.names[name]
    chosen = FilteredStudy(judged, NAME, Filter(judge=judge, prompt=prompt))
    drawn = summary_tab.render_card_or_judge_tables(chosen)
    assert drawn == show_card(raters, name)
    assert not says(drawn, "No value", "other judges")


def test_a_study_of_options_is_not_told_that_votes_would_bring_remedies(recorded_demos):
    for name, wanted in ((OPTIONS_STUDY, False), (LARGER_STUDY, True)):
        filtered = FilteredStudy(recorded_demos, name)
        for view in (summary_tab.VIEW, remedies_tab.VIEW):
            hidden = {panel.visibility_output: False for panel in view.panels}
            needed = " ".join(text for _, text in view.missing_panels(filtered, hidden))
            assert ("votes of people" in needed) == wanted


def test_many_unusable_replies_of_several_judges_stand_below_the_headline(store):
    for name, failed in (("many", 5), ("few", 1)):
        sheet = Sheet(name)
        for k in range(10):
            sheet.both(f"q{k}", "a", "??" if k < failed else "xx").both(f"q{k}", "b", "xx")
        sheet.save(store)
    told = {name: summary_tab.headline(FilteredStudy(store, name))[1] for name in ("many", "few")}
    assert says(told["many"], "25", "unusable") and not says(told["few"], "unusable")
    chosen = FilteredStudy(store, "many", Filter(judge="a"))
    assert "unusable" not in summary_tab.headline(chosen)[1], "the card states its own share"
    assert says(str(summary_tab.render_card_or_judge_tables(chosen)), "50", "unusable")
