"""Report cards of judges whose numbers are known."""

from __future__ import annotations

import re
from dataclasses import replace
from types import SimpleNamespace

import pytest

from components.filtering.filtered_study import FilteredStudy
from components.filtering.filters import Filter
from components.filtering.raters import Raters
from components.results.cards import card_html, measure_table, point_card
from components.results.cards import card_measures as card_measures_module
from components.results.cards.card_html import _cost_html, report_cards_html, show_card
from components.results.cards.card_measures import CardMeasures
from components.results.cards.measure_table import card_measures
from components.results.cards.report_card import ReportCard
from components.results.overview import tab as summary_tab
from components.results.remedies.computed import load_remedies
from components.results.remedies.tab import _rules_subtitle
from metrics.catalogue import nudge_records
from metrics.catalogue.answer_records import AGREEMENT
from metrics.catalogue.position_records import EXPECTED_CONSISTENCY, TERM
from studies.domain import Estimate, Usage
from tests.page_words import says
from tests.voted_studies import Sheet, save, six_items


def text(html: str) -> str:
    return re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", html))


def card(store, study: str, voice: str, chosen: Filter | None = None) -> ReportCard:
    return ReportCard(Raters(FilteredStudy(store, study, chosen or Filter())), voice)


@pytest.fixture(scope="module")
def voted(module_store):
    six_items().save(module_store, usage=Usage(100, 20), cost=0.002, seconds=1.5)
    return module_store


def test_a_card_has_the_numbers_of_its_judge(voted):
    facts = card(voted, "voted", "first").facts
    # Six pairs, all flipped, all toward the first; on the five pairs on which people have a
    # majority, one call of two is right.
    assert (facts["sets"], facts["flips"], facts["lopsided"]) == (6, 1.0, 1.0)
    assert facts["people"] == 0.5
    assert facts["unusable"] == facts["unreadable"] == 0.0
    good = card(voted, "voted", "good").facts
    assert (good["flips"], good["people"]) == (0.0, 1.0)
    # Judges agree where `first` happens to name x, or where order 1 says x: 5 of 12 asks.
    assert facts["others"] == good["others"] == pytest.approx(5 / 12)


def test_every_value_on_a_card_has_its_number_of_verdicts(voted):
    made = measure_table.show_measures(card(voted, "voted", "first"))
    values = re.findall(r'<b class="v".*?</td>', made, re.S)
    assert len(values) > 3 and all(re.search(r">n \d+<", one) for one in values), values


def test_the_random_judge_is_explained_as_its_number_is_computed(store):
    """The number is that of even positions, not of the judge's own, which are 1 and 0."""
    sheet = Sheet("even")
    for k in range(6):
        sheet.both(f"q{k}", "j", "xy")
    sheet.save(store)
    said = text(html := show_card(Raters(FilteredStudy(store, "even")), "j"))
    assert says(said, "chooses at random", "50")
    assert says(said, "random choices", "each position", "equally", "ties")
    assert not says(html, "</i>other") and not says(html, "</i>people"), "there are none"
    assert EXPECTED_CONSISTENCY.name not in said and "hance" not in EXPECTED_CONSISTENCY.name
    (row,) = (one for one in card_measures(card(store, "even", "j")) if one.label == "Consistency")
    assert row.chance == 0.5 and says(row.description, "each position equally", "50")
    drawn = EXPECTED_CONSISTENCY.measure.estimate(FilteredStudy(store, "even").measured_judge_rows)
    assert drawn.value == 0.0, "2·f·s with its own shares f = 1 and s = 0"


def test_the_sheet_holds_words_measures_places_cost_and_flips(voted):
    html = show_card(Raters(FilteredStudy(voted, "voted")), "first")
    said = text(html)
    assert says(said, "only 6 comparisons", "too few")  # below 20
    assert "more items" in said
    assert says(html, 'data-tip="Rule: comparisons', "orders &lt; 20")
    assert says(said, "chooses at random", "50")
    assert says(said, "were not repeated")
    assert says(said, "6", "toward", "0 toward", "6")
    # 12 replies at 100 + 20 tokens, 1.5 seconds and 0.002 dollars each.
    assert "1,200 + 240" in said
    assert "1.5 s" in said
    assert "$0.02" in said
    assert "$2.00 for 1,000 replies" in said
    assert html.count('class="eh-card flip"') == 3
    assert html.count('class="eh-slot first">1st') == 6  # three flips, the first place twice each


def test_people_stand_beside_the_judge(voted):
    lines = {line.label: line for line in card_measures(card(voted, "voted", "good"))}
    shown = show_card(Raters(FilteredStudy(voted, "voted")), "good")
    assert says(shown, "</i>other judges<") and says(shown, "</i>people<")
    # One person agrees with the majority of the others in 12 of 13 cases.
    assert lines[AGREEMENT.name].people.value == pytest.approx(12 / 13)
    assert says(lines[AGREEMENT.name].description, "one person", "majority", "92")
    assert lines[AGREEMENT.name].others == [0.5]


def test_a_position_term_says_what_it_means_without_a_test_that_ignores_items(store):
    """Its interval is clustered by item; the likelihood-ratio test is not."""
    sheet = Sheet("lean")
    for k in range(30):
        sheet.both(f"q{k}", "j", ("xx", "xy", "yy")[k % 3])
    sheet.save(store)
    lines = {line.label: line for line in card_measures(card(store, "lean", "j"))}
    # 10 of 30 pairs flip to the first: 40 first, 20 second; γ = ln 2, since x wins half of all.
    term = lines["Position term"]
    assert term.value_text == "+0.69"
    assert "would win 67" in term.description
    assert "; p" not in term.description and "tested" not in term.description
    assert term.chance == 0.5


def test_nothing_read_is_said_and_nothing_is_made_up(store):
    sheet = Sheet("mute")
    for k in range(3):
        sheet.both(f"q{k}", "mute", "??")
    sheet.save(store)
    said = text(show_card(Raters(FilteredStudy(store, "mute")), "mute"))
    assert says(said, "No verdict", "6 replies")
    assert "Read the replies" in said
    assert "No value: consistency" in said
    assert "nan" not in said.lower()


def test_one_order_is_no_consistency(store):
    sheet = Sheet("once")
    for k in range(30):
        sheet.once(f"q{k}", "j", "xy"[k % 2])
    sheet.save(store)
    said = text(show_card(Raters(FilteredStudy(store, "once")), "j"))
    assert says(said, "saw each pair", "order only")
    assert says(said, "Judge", "both orders")
    assert says(said, "No comparison", "verdict", "order")


def test_the_judge_that_is_chosen_has_its_card_in_the_summary(voted):
    whole = FilteredStudy(voted, "voted")
    assert (
        summary_tab.render_card_or_judge_tables(whole) is None
        and "one person" in summary_tab.render_judges(whole).bodies["judges"]
    )
    chosen = FilteredStudy(voted, "voted", Filter(judge="good"))
    assert summary_tab.render_judges(chosen) is None
    html = summary_tab.render_card_or_judge_tables(chosen)
    assert says(text(html), "Report", "good")
    assert (
        summary_tab.render_card_or_judge_tables(
            FilteredStudy(voted, "voted", Filter(judge="nobody"))
        )
        is None
    )


def test_text_from_data_stays_text(store):
    Sheet("<b>study").both("q<i>", "<script>alert(1)</script>", "xy").save(store)
    html = show_card(Raters(FilteredStudy(store, "<b>study")), "<script>alert(1)</script>")
    assert "<script>" not in html
    assert "&lt;script&gt;" in html
    assert "<i>" not in text(html)


def test_many_options_have_as_many_places(judged_options):
    store, name = judged_options
    html = show_card(Raters(FilteredStudy(store, name)), "last")
    said = text(html)
    assert html.count('class="eh-bar"') == 3
    assert says(said, "flips", "of comparisons")
    assert "the longer answer" not in said
    assert "third" in said


@pytest.fixture
def judged_options(store):
    """Three options in three rotations; the judge takes the last place."""
    names = ("x", "y", "z")
    turned = [names[-k:] + names[:-k] if k else names for k in range(3)]
    rows = [(f"q{k}", "last", "p", shown, shown[2], 3) for k in range(25) for shown in turned]
    save(store, "options", rows)
    return store, "options"


def test_agreement_with_known_answers_opens_no_list_of_votes(voted):
    sheet = Sheet("known")
    for k in range(6):
        sheet.both(f"q{k}", "ada", "xx")
    sheet.save(voted, design={f"q{k}": "x" for k in range(6)})
    rows = {one.record.key: one for one in card_measures(card(voted, "known", "ada"))}
    assert rows[AGREEMENT.key].estimate.value == 1 and rows[AGREEMENT.key].link is None
    assert rows["consistency"].link
    assert "left out" not in rows[AGREEMENT.key].description


def test_agreement_says_that_it_leaves_out_what_another_judge_lacks(store):
    """`ada` is right in 7 of 8 comparisons; `bo` has no verdict on two of them."""
    sheet = Sheet("gaps")
    for k in range(8):
        sheet.both(f"q{k}", "ada", "yy" if k == 7 else "xx").both(f"q{k}", "bo", "x?"[k > 5] * 2)
    sheet.save(store, design={f"q{k}": "x" for k in range(8)})
    rows = {one.record.key: one for one in card_measures(card(store, "gaps", "ada"))}
    assert (rows["accuracy"].estimate.value, rows[AGREEMENT.key].estimate.value) == (7 / 8, 1)
    assert says(rows[AGREEMENT.key].description, "6 comparisons", "every judge", "2 left out")
    left_out = _rules_subtitle(load_remedies(FilteredStudy(store, "gaps")))
    assert says(left_out, "2 comparisons", "not every judge", "and prompt has")
    # One judge of two prompts: what a prompt lacks is left out, too.
    sheet = Sheet("prompts")
    for k in range(8):
        sheet.both(f"q{k}", "ada", "xx", "short").both(f"q{k}", "ada", "x?"[k > 5] * 2, "long")
    sheet.save(store, design={f"q{k}": "x" for k in range(8)})
    rows = {one.record.key: one for one in card_measures(card(store, "prompts", "short"))}
    assert says(rows[AGREEMENT.key].description, "6 comparisons", "judge and prompt", "2 left out")


def test_replies_and_those_without_a_verdict_are_counted_on_the_same_calls(store):
    """Two of four replies are unusable, both in the category `b`; the cost is of all."""
    sheet = Sheet("spent").both("q0", "ada", "xx").both("q1", "ada", "??")
    sheet.save(store, categories={"q0": "a", "q1": "b"}, cost=0.01)
    whole, part = (card(store, "spent", "ada", Filter(category=one)) for one in ("all", "a"))
    words = [text(_cost_html(one)) for one in (whole, part)]
    assert all(says(one, "Replies", "4", "2 without a verdict") for one in words)
    assert "filters" not in words[0] and says(words[1], "filters")


def test_a_report_counts_the_cards_it_leaves_out(store, monkeypatch):
    monkeypatch.setattr(card_html, "MAX_CARDS", 2)
    sheet = Sheet("many")
    for number in range(3):
        sheet.both("q1", f"j{number:02}", "xy")
    sheet.save(store)
    said = text(report_cards_html(FilteredStudy(store, "many")))
    assert said.count("Report card") == 2
    assert says(said, "1 more card")
    first = replace(Filter(), judge="j00")
    assert "more card" not in text(report_cards_html(FilteredStudy(store, "many", first)))


def test_agreement_is_told_beside_that_of_a_judge_that_always_passes():
    always = point_card._agreement_description(Estimate(0.75))
    assert says(always, "always passes: 75")
    assert "always" not in point_card._agreement_description(Estimate(None))


def test_the_card_tells_the_excess_for_the_own_family_beyond_that_of_others(store):
    """`good` gives x 11 of 12, `first`, of the other family, half: its excess is 11/12 - 1/2."""
    six_items("kin").save(
        store, families={"x": "red", "y": "blue"}, judge_families={"good": "red", "first": "blue"}
    )
    lines = {line.record.key: line for line in card_measures(card(store, "kin", "good"))}
    excess = lines[nudge_records.OWN_FAMILY]
    assert excess.estimate.value == pytest.approx(11 / 12 - 1 / 2)
    assert says(excess.value_text, "+41.7") and excess.drawn.value == pytest.approx(11 / 12)
    six_items("strangers").save(store)
    other = card(store, "strangers", "good")
    assert other.own_family_win_rate_excess.value is None
    assert nudge_records.OWN_FAMILY not in {line.record.key for line in card_measures(other)}


def test_a_judge_agrees_with_people_as_often_as_the_grid_says(store):
    six_items("votes").save(store)
    one = card(store, "votes", "good")
    # x on q0 to q4 and a tie on q5, in both orders, as the majority says.
    assert one.agreement_share_with_people("good").value == 1.0
    assert one.agreement_share_with_people("first").value == pytest.approx(5 / 12)
    assert one.agreement_share_with_people("nobody").value is None


def test_without_position_terms_the_note_says_why():
    def term(note):
        model = SimpleNamespace(slots={}, note=note)
        stub = SimpleNamespace(compares_pairs=False, fitted_choice_model=model, max_options=3)
        return vars(CardMeasures)["position_term"].func(stub)

    effect, equal, name = term("one order only")
    assert effect == equal and (effect.value, effect.note, name) == (
        None,
        "one order only",
        "first",
    )
    assert says(term("")[0].note, "cannot be separated")


def test_too_many_verdicts_get_no_recommendation(monkeypatch, store):
    six_items("many").save(store)
    one = card(store, "many", "good")
    rows = len(one.raters.filtered.whole_frame_by_person)
    monkeypatch.setattr(card_measures_module, "MAX_ADVICE_ROWS", rows)
    assert vars(CardMeasures)["recommendation"].func(one) is not None
    assert not one.has_too_many_rows_for_remedies
    monkeypatch.setattr(card_measures_module, "MAX_ADVICE_ROWS", rows - 1)
    assert vars(CardMeasures)["recommendation"].func(one) is None
    assert one.has_too_many_rows_for_remedies


def test_the_head_of_a_card_names_the_category_that_is_chosen(store):
    six_items("sliced").save(store, categories={f"q{k}": "ab"[k % 2] for k in range(6)})
    part = FilteredStudy(store, "sliced", Filter(category="a"))
    assert says(text(show_card(Raters(part), "good")), "category a")
    assert not says(text(show_card(Raters(FilteredStudy(store, "sliced")), "good")), "category a")


def test_measures_of_one_judge_alone_are_those_of_the_card(store):
    six_items("kin").save(
        store, families={"x": "red", "y": "blue"}, judge_families={"good": "red", "first": "blue"}
    )
    one = card(store, "kin", "good")
    assert one.measure_by_rater(TERM) == {"good": one.position_term[0]}
