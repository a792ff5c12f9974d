"""VisIT-Bench panels: leaderboard, cost of a head-to-head, parsing of the replies."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from components.filtering.filtered_study import FilteredStudy
from components.filtering.filters import Filter
from components.html.markup import escape
from components.results.protocol import blocks as protocol_view
from components.results.protocol import sections as protocol_sections
from components.results.protocol import visit_panels as protocol_visit
from components.results.protocol import visit_replies as protocol_cost
from metrics.protocols.visit_leaderboard import HeadToHeadCost
from studies.domain import Estimate
from studies.store.store import Store
from tests.components.written_replies import answered, endpoint, extracted, write_items
from tests.page_words import says, text_of

NAME = "pictures"
STRONG = {"@reference": 3, "x": 2, "y": 1}


def write(planned, rng) -> str:
    """The stronger wins, in both orders; on q0 the first shown wins; on q1 nothing can be read."""
    first, second = planned.ask.shown
    if planned.ask.item == "q1":
        return "Both are good."
    better = "A" if planned.ask.item == "q0" or STRONG[first] > STRONG[second] else "B"
    return f"One is clearer.\nOverall, Response {better} is better."


@pytest.fixture(scope="module")
def pictures(module_store: Store) -> Store:
    pixel = "data:image/gif;base64,R0lGODlhAQABAAAAACw="
    items = [
        {
            "id": f"q{n}", "instruction": f"What is in picture {n}?", "context": "A lake.",
            "category": "recognition" if n % 2 else "counting", "reference": "A lake, it seems.",
            "images": [pixel] * (2 if n >= 8 else 1),
            "responses": {"x": f"a lake, {n}", "y": f"no idea about {n}"},
        }
        for n in range(12)
    ]  # fmt: skip
    path = write_items(module_store.path.with_name("items.jsonl"), items)
    values = {
        "name": NAME, "preset": "visit-bench", "data": {"source": str(path)},
        "contestants": ["x", "y", "@reference"], "judges": [endpoint("gpt")],
    }  # fmt: skip
    answered(module_store, values, write)
    silent = [j.ask.key for j in module_store.judgements(NAME) if j.status == "unreadable"]
    assert len(silent) == 6  # three pairs of q1, both orders
    extracted(module_store, NAME, silent[:2], 0, cost=0.001)
    return module_store


@pytest.fixture
def scene(pictures):
    return FilteredStudy(pictures, NAME)


def rows_of(found, model):
    return {row.category: row for row in found if row.model == model}


def test_single_and_multi_image_items_are_rated_apart_with_ties_in_the_matches(scene):
    found = rows_of(protocol_visit.visit_bench_leaderboard(scene), "x")
    assert set(found) == {"single image", "multi image"}
    # 8 single-image items, two opponents: 16 matches; q0 and q1 are ties against both, so 4 ties.
    single = found["single image"]
    assert (single.matches, single.ties, single.wins, single.losses) == (16, 4, 6, 6)
    # Against the reference: 6 of 8 are decisive, all lost.
    assert (single.against_reference.value, single.against_reference.n) == (0, 6)
    assert single.reference_matches == 8
    html = protocol_visit.show_elo_leaderboard(protocol_visit.visit_bench_leaderboard(scene))
    assert "multi image" in html and "6 of 8" in html


def test_the_majority_rule_and_left_out_replies_change_the_matches(pictures):
    # Unreadable replies left out: of q1's pairs only x and y is read in both orders (extraction
    # found the first shown in both, a tie), and q0 stays two ties: 14 + 1 matches, 2 + 1 ties.
    chosen = Filter(rule="win only if both orders agree")
    found = rows_of(
        protocol_visit.visit_bench_leaderboard(FilteredStudy(pictures, NAME, chosen)), "x"
    )
    assert (found["single image"].matches, found["single image"].ties) == (15, 3)


def test_the_page_says_which_rule_is_on(pictures):
    def told(rule):
        scene = FilteredStudy(pictures, NAME, Filter(rule=rule) if rule else Filter())
        return protocol_sections.rules_table(
            protocol_sections.rules_in_force(scene, protocol_sections.study_sections(scene))
        )

    as_published = told("")
    assert says(as_published, "both orders", "otherwise", "authors&#x27; code")
    assert says(as_published, "tie (paper", "code") and "not as published" not in as_published
    majority = told("majority of the orders")
    assert says(majority, "win", "win", "authors&#x27; README")
    assert "not as published" in majority


def test_a_head_to_head_is_two_calls_with_their_tokens_and_dollars(scene):
    (one,) = protocol_cost.head_to_head_spending(scene)
    # 12 items x 3 pairs; 800 tokens in and 250 out a call at 2 and 8 dollars a million: .0036 each,
    # two calls .0072, and .002 of extraction shared out over 36 head-to-heads.
    assert (one.head_to_heads, one.calls) == (36, 72)
    assert (one.tokens_in, one.tokens_out) == (800, 250)
    assert one.cost.dollars.value == pytest.approx(0.0072 + 0.002 / 36)
    html = protocol_cost.show_cost([one])
    assert "$5.08" in html  # 700 of them


def test_an_unknown_price_is_not_free(tmp_path, store):
    path = write_items(
        tmp_path / "items.jsonl",
        [{"id": "q0", "instruction": "?", "responses": {"x": "1", "y": "2"}}],
    )
    judge = {**endpoint("gpt")}
    del judge["price"]
    values = {"name": "unpriced", "data": {"source": str(path)}, "judges": [judge],
              "prompts": ["visit-reference-free"]}  # fmt: skip
    answered(store, values, lambda p, r: "Overall, Response A is better.")
    (one,) = protocol_cost.head_to_head_spending(FilteredStudy(store, "unpriced"))
    assert one.cost.dollars.value is None
    assert says(protocol_cost.show_cost([one]), "no cost", "known")


def test_extracted_and_silent_replies_are_counted(scene):
    (one,) = protocol_cost.reply_counts(scene)
    assert (one.replies, one.extractions, one.without_verdict) == (72, 2, 4)
    assert (one.by_status["ok"], one.failed_calls) == (66, 0)
    said = protocol_cost.extraction_sentence(scene, [one])
    assert "**2** verdicts" in said and says(said, "**4**", "72 replies", "no verdict")
    assert "counted as ties" in said


def test_skills_stand_in_a_matrix_that_opens_their_judgements(scene):
    html = protocol_visit.show_win_rates_by_skill(scene)
    assert "recognition" in html and "counting" in html
    assert escape(json.dumps({"category": "counting", "contestant": "x"})) in html


def test_the_finding_and_the_numbers(scene):
    title, lead = protocol_view.protocol_headline(scene)
    assert says(title, "@reference", "highest Elo: 1,023")
    # No model beats the reference.
    assert says(lead, "No model wins", ": 0", "head-to-heads")
    html = protocol_view.show_kpis(scene)
    assert says(html, "Cost", "head-to-head") and "$0.0073" in html
    assert "&quot;status&quot;: &quot;failures&quot;" in html


def test_a_filter_selects_its_part_of_the_extraction_cost(pictures):
    half = FilteredStudy(pictures, NAME, Filter(category="counting"))
    (one,) = protocol_cost.head_to_head_spending(half)
    assert (one.head_to_heads, one.calls) == (18, 36)
    assert one.cost.dollars.value == pytest.approx(0.0072 + 0.002 / 36)


def counts(**by_status: int) -> protocol_cost.ReplyCounts:
    return protocol_cost.ReplyCounts("gpt", "p", 10, by_status)


def test_calls_without_a_reply_are_those_of_no_other_status():
    assert counts().failed_calls == 10 and counts(error=10).failed_calls == 10, "none answered"
    mixed = counts(ok=4, extracted=3, unreadable=1, refusal=1, error=1)
    assert (mixed.extractions, mixed.without_verdict, mixed.failed_calls) == (3, 2, 1)
    assert (
        counts(ok=10).extractions,
        counts(ok=10).without_verdict,
        counts(ok=10).failed_calls,
    ) == (0, 0, 0)
    row = [
        text_of(str(cell))
        for cell in protocol_cost._reply_counts_row(counts(ok=9, error=1), "ties")
    ]
    assert row[1:] == ["10", "9", "0", "0", "–", "1"]
    row = [text_of(str(cell)) for cell in protocol_cost._reply_counts_row(mixed, "ties")]
    assert (row[1], row[2], row[4], row[5], row[6]) == ("10", "4", "2", "ties", "1")


def test_failed_calls_are_no_replies_in_the_sentence(scene):
    said = protocol_cost.extraction_sentence
    one = said(scene, [counts(ok=8, unreadable=1, error=1)])
    assert says(one, "**1**", "9 replies", "no verdict") and says(
        one, "1 call failed", "is left out"
    )
    two = said(scene, [counts(ok=8, error=2)])
    assert says(two, "All 8 replies") and says(two, "2 calls failed", "are left out")
    assert "failed" not in said(scene, [counts(ok=10)])


@pytest.mark.parametrize(
    ("dollars", "shown"),
    [(0.0072, ["0.0072", "$5.04"]), (0.0, ["free", "free"]), (None, ["–", "–"])],
)
def test_the_row_of_a_cost_has_calls_tokens_and_dollars(dollars, shown):
    cost = HeadToHeadCost(Estimate(dollars), 36, 72, None, 0)
    spent = protocol_cost.HeadToHeadSpending("gpt", "p", cost, 36, 90, 800, None)
    row = [text_of(str(cell)) for cell in protocol_cost._cost_row(spent)]
    assert row[1:4] == ["36", "2.5", "800"] and row[4] == "–" and row[5:] == shown
    assert text_of(str(protocol_cost._cost_row(replace(spent, head_to_heads=0))[2])) == "90.0"


def test_filters_that_leave_no_pair_say_so_in_every_panel(pictures):
    nobody = FilteredStudy(pictures, NAME, Filter(judge="nobody"))
    assert protocol_visit.visit_bench_leaderboard(nobody) == []
    assert protocol_cost.head_to_head_spending(nobody) == protocol_cost.reply_counts(nobody) == []
    assert protocol_cost.visit_kpis([], [], []) == []
    for html in (
        protocol_visit.show_elo_leaderboard([]),
        protocol_visit.show_win_rates_by_skill(nobody),
        protocol_cost.show_cost([]),
        protocol_cost.show_reply_counts(nobody),
    ):
        assert says(html, "No pairs") and "<table" not in html
    assert says(protocol_visit.leaderboard_headline([])[0], "no head-to-heads")


def test_without_the_reference_and_without_prices_they_have_no_key_figure(pictures, scene):
    models = FilteredStudy(pictures, NAME, Filter(contestants=("x", "y")))
    rows = protocol_visit.visit_bench_leaderboard(models)
    assert protocol_visit.find_best_against_reference(rows) == []
    title, lead = protocol_visit.leaderboard_headline(rows)
    assert title.startswith("x has") and "reference" not in lead
    assert "Win rate vs" not in protocol_visit.show_elo_leaderboard(rows)
    names = [one.label for one in protocol_cost.visit_kpis(rows, [], [counts(extracted=3)])]
    assert names == ["Highest Elo", "Verdicts by extraction"]
    cost = HeadToHeadCost(Estimate(0.01), 1, 2, None, 0)
    cheap = protocol_cost.HeadToHeadSpending("cheap", "p", cost, 1, 2, None, None)
    dear = replace(cheap, judge="dear", cost=replace(cost, dollars=Estimate(0.02)))
    free = replace(cheap, judge="free", cost=replace(cost, dollars=Estimate(0.0)))
    html = protocol_cost.show_cost([cheap, dear, free])
    assert html.index(">dear<") < html.index(">cheap<") < html.index(">free<")
    *_, price, read = protocol_cost.visit_kpis(rows, [dear, cheap], [counts(extracted=3)] * 2)
    assert price.value == "$0.0100" and says(price.note, "by cheap", "$7.00") and read.value == "6"
    *_, price, _ = protocol_cost.visit_kpis(rows, [dear, free], [])
    assert (price.value, price.note) == ("free", "free")


def test_costs_that_were_not_recorded_are_unknown():
    """Costs of the calls 3 and 5 are stored; 9 comes after the last of them."""
    table = np.array([[3, 10.0, 1.0, 0.5], [5, 20.0, 2.0, 0.25]])
    found = protocol_cost._costs_by_sequence(table, np.array([5, 4, 3, 9]))
    unknown = [math.nan] * 3
    expected = [[20, 2, 0.25], unknown, [10, 1, 0.5], unknown]
    np.testing.assert_array_equal(found, expected)
    none = protocol_cost._costs_by_sequence(np.empty((0, 4)), np.array([1, 2]))
    np.testing.assert_array_equal(none, [unknown, unknown])


def test_the_sentence_on_extraction_names_its_judge(scene):
    judge = SimpleNamespace(name="reader")
    study = SimpleNamespace(study=SimpleNamespace(extraction=judge), rule=("strict", "drop"))
    said = protocol_cost.extraction_sentence(study, [counts(ok=7, extracted=2, unreadable=1)])
    assert says(said, "judge reader found", "**2**") and says(said, "**1** of 10", "left out")
    study.study.extraction = None
    said = protocol_cost.extraction_sentence(study, [counts(ok=10)])
    assert says(said, "No extraction judge", "All 10 replies")


def test_many_skills_scroll_and_none_has_a_message(scene, store, tmp_path, monkeypatch):
    drawn = protocol_visit.show_win_rates_by_skill(scene)
    monkeypatch.setattr(protocol_visit, "MAX_SKILLS", 3)  # two skills, and all of them
    assert protocol_visit.show_win_rates_by_skill(scene) == drawn
    monkeypatch.setattr(protocol_visit, "MAX_SKILLS", 2)
    scrolls = protocol_visit.show_win_rates_by_skill(scene)
    assert drawn in scrolls and says(scrolls, "eh-scrolls") and says(text_of(scrolls), "2 skills")
    path = write_items(
        tmp_path / "items.jsonl",
        [{"id": "q0", "instruction": "?", "responses": {"x": "1", "y": "2"}}],
    )
    values = {"name": "skilless", "data": {"source": str(path)}, "judges": [endpoint("gpt")],
              "prompts": ["visit-reference-free"]}  # fmt: skip
    answered(store, values, lambda p, r: "Overall, Response A is better.")
    none = protocol_visit.show_win_rates_by_skill(FilteredStudy(store, "skilless"))
    assert says(none, "No item names")


def test_models_that_win_equally_often_against_the_reference_are_all_named(scene):
    """x and y won all, on 9 and 16 head-to-heads; z less, with an interval up to theirs."""
    (one, *_) = [row for row in protocol_visit.visit_bench_leaderboard(scene) if row.matches]
    rates = {"x": Estimate(1.0, 0.7, 1.0, 9), "y": Estimate(1.0, 0.8, 1.0, 16)}
    rows = [replace(one, model=name, against_reference=rate) for name, rate in rates.items()]
    third = replace(one, model="z", against_reference=Estimate(0.6, 0.3, 0.85, 10))
    assert says(protocol_visit.leaderboard_headline([*rows, third])[1], "x and y")
    kpi = protocol_cost.visit_kpis([*rows, third], [], [])[1]
    assert says(kpi.note, "x and y") and says(kpi.value, "100.0")
    lead = protocol_visit.leaderboard_headline([rows[0], third])[1]
    assert says(lead, "x wins most", "of 9", "overlaps", "of z.")
