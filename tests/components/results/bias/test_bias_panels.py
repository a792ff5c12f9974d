"""Bias panels for judges whose bias is known."""

from __future__ import annotations

import re
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from components.filtering.filtered_study import FilteredStudy
from components.filtering.filters import Filter, judge_rows_or_people_rows, rater_names
from components.html.format import join_names
from components.html.scales import POSITION_TERM_SCALE
from components.results.bias import panels as bias_view
from components.results.bias import sentences
from components.results.bias import tab as bias_tab
from components.results.bias.bias_matrix import (
    BY_CATEGORY,
    BY_PROMPT,
    LAYOUTS,
    MEASURES,
    bias_matrix_html,
    list_matrix_measures,
    position_paper_table,
)
from components.results.bias.computed import Bias, BiasCounts, bias_from_frame, load_bias
from components.results.bias.flip_leans import FlipLean, LeaningCategory, flip_leans
from components.results.bias.pair_tests import (
    PAIR_TEST_NAMES,
    format_p_value,
    order_tests_html,
    p_value_clause,
    pair_test_rows,
)
from components.results.bias.sentences import bias_headline, flip_sentence, low_consistency_warning
from components.results.cards.report_card import ReportCard
from components.results.cards.sentence_rules import card_sentences
from components.results.overview.panels import OVERVIEW, JudgeRow
from components.results.overview.tab import HOW_JUDGES
from components.results.ranking import panels as ranking_view
from components.results.ranking import tab as ranking_tab
from components.results.ranking.computed import compute_ranking
from evenhand.audit_cards import UnsavedRaters, UnsavedStudy
from metrics.__main__ import render_tables
from metrics.summary.summary import summarise_frame
from studies.domain import Estimate
from tests.metrics.frames import build, pair
from tests.page_words import says

NAME = "two judges"


def lean(**values: object) -> FlipLean:
    plain = {"name": "x", "judge": "x", "prompt": "p", "pairs": 40, "flips": 5, "first": 4}
    return FlipLean(**{**plain, "second": 1, "p": 0.375, **values})


def test_a_judge_that_always_picks_the_first_flips_one_way(judged):
    rows = {row.judge: row for row in flip_leans(bias_from_frame(judged.frame(NAME)))}
    # 40 items, one pair each: all 40 verdicts flip, all toward first. The fair judge never flips.
    first, fair = rows["always first"], rows["fair"]
    assert (first.pairs, first.flips, first.first, first.second) == (40, 40, 40, 0)
    assert (fair.flips, fair.p) == (0, 1.0)
    assert says(flip_sentence(first), "100", "flips go", "first**: 40 flips")
    assert says(flip_sentence(fair), "No flip", "40 comparisons")


def test_a_ranking_by_a_judge_below_a_coin_is_told_with_care(judged):
    first, fair = (load_bias(FilteredStudy(judged, NAME, Filter(judge=judge)))
                   for judge in ("always first", "fair"))  # fmt: skip
    assert says(low_consistency_warning(first), "consistency: 0\u202f%", "chance", "50\u202f%")
    assert low_consistency_warning(fair) == ""
    # Half of 80 survive: the interval holds the coin, so nothing is said.
    assert low_consistency_warning(load_bias(FilteredStudy(judged, NAME))) == ""
    lead = ranking_tab.headline(FilteredStudy(judged, NAME, Filter(judge="always first")))[1]
    # “This difference” is that of the models: the sentence on it comes first.
    assert lead.index("Low consistency: ") > 0 and lead.endswith("chance gives 50\u202f%.")


def test_prefers_is_said_only_when_the_test_says_so():
    sure = lean(flips=15, first=14, p=0.001)
    assert flip_sentence(lean()).startswith("**No significant preference**")
    # An interval that excludes 0 beside a test that, adjusted, shows nothing: the sentence says so.
    inside = flip_sentence(lean(lean=Estimate(-0.047, -0.096, 0.002, 40, 40)))
    outside = flip_sentence(lean(lean=Estimate(-0.047, -0.092, -0.002, 40, 40)))
    assert says(inside, "4.7 points", "not adjusted", "[−0.2, 9.6]") and "sign test" not in inside
    assert says(outside, "test", "adjusted", "4.7 points", "not adjusted", "[0.2, 9.2]")
    assert says(flip_sentence(sure), "toward", "14 flips", "1")


def test_no_preference_is_not_said_before_a_look_at_the_slices():
    sliced = lean(
        leaning_categories=(
            LeaningCategory("writing", "second"),
            LeaningCategory("coding", "first"),
        )
    )
    told = flip_sentence(sliced)
    assert says(told, "**No", "in some categories", "writing", "coding")
    # Most pairs flip, the entropy looks even: opposite leans cancel, and the sentence says so.
    hidden = lean(
        flips=25,
        first=9,
        second=16,
        p=0.001,
        entropy=0.97,
        leaning_categories=sliced.leaning_categories,
    )
    assert says(flip_sentence(hidden), "cancel", "position entropy", "0.97.**")
    assert says(flip_sentence(hidden), "toward", "writing", "coding")


def test_flips_that_go_both_ways_are_not_called_by_position():
    # 24 of 40 flip, 15 to 9: more than half, but not three quarters one way.
    told = flip_sentence(lean(flips=24, first=15, second=9, p=0.01))
    assert says(told, "60\u202f% of comparisons", "More flips go", "shown first**", "15 flips")


@pytest.mark.parametrize(
    ("first", "second", "some"), [(17, 0, "Most"), (10, 5, "Most"), (9, 5, "More")]
)
@pytest.mark.parametrize("pairs", [20, 40])
def test_the_larger_the_share_of_flips_one_way_the_stronger_the_words(pairs, first, second, some):
    """Most: two thirds or more, as on the card, however many pairs flip."""
    told = flip_sentence(
        lean(pairs=pairs, flips=first + second, first=first, second=second, p=0.01)
    )
    assert says(told, f"{some} flips go", f"{first} flips")


def test_what_flips_without_a_swap_is_not_laid_at_the_door_of_the_order():
    # 24 of 40 flip, 22 to 2; half of the verdicts flip when the same is asked again.
    noisy = lean(flips=24, first=22, second=2, p=0.001, noise=0.5)
    assert not noisy.order_decides_most_pairs
    told = flip_sentence(noisy)
    assert says(told, "60", "flip", "50", "**toward")
    effect = Estimate(0.6, 0.55, 0.65)
    steady = lean(flips=24, first=22, second=2, p=0.001, noise=0.0, order_effect=effect)
    assert steady.order_decides_most_pairs
    assert says(flip_sentence(steady), "flips", "22 flips") and "decides" not in flip_sentence(
        steady
    )
    # More than half by the estimate, but not by its interval.
    unsure = lean(flips=24, first=22, second=2, p=0.001, order_effect=Estimate(0.6, 0.4, 0.8))
    assert not unsure.order_decides_most_pairs


def test_a_long_list_of_categories_is_cut():
    assert join_names(["a"]) == "a"
    assert join_names(["a", "b"]) == "a and b"
    assert join_names(["a", "b", "c", "d", "e"]) == "a, b and 3 more"


def test_the_finding_counts_what_the_rows_are(judged):
    # One of two judges has a preferred slot, and for that one all pairs flip.
    title, lead = bias_headline(bias_from_frame(judged.frame(NAME)))
    assert says(title, "flips 50", "repeat", "0", "adds 50 points", "[31, 69]")
    assert says(title, "the two judges", "to the first")
    assert says(lead, "always first", "order changes", "most pairs")


def test_a_judge_that_flips_as_often_without_repeats_is_named_beside_the_one_that_order_decides():
    def row(name: str, first: int, second: int, lean: float) -> FlipLean:
        made = Estimate(lean, lean - 0.05, lean + 0.05)
        kept = 1 - (first + second) / 800
        same = Estimate(kept, kept - 0.05, kept + 0.05)
        return FlipLean(
            name, name, "p", 800, first + second, first, second, 1e-6, lean=made, consistency=same
        )

    # Flips of PRD: both flip 63 % of 800 pairs, and only one of them nearly always one way.
    rows = [row("vicuna", 178, 323, 0.18), row("bard", 498, 7, -0.61), row("gpt", 120, 126, 0.0)]
    said = sentences._order_decides_sentence(rows, "judge")
    assert says(said, "At least", "for bard", "order changes", "most pairs", "over 50 points")
    assert says(sentences._order_decides_sentence(rows[1:], "judge"), "For bard", "order changes")
    # Noise has no direction: of flips that significantly lean, only a part may be noise.
    noise = sentences._noise_sentence(rows[:2], "judge")
    assert says(noise, "Without repeats", "part of", "flips of vicuna", "noise.")
    # The flips of gpt go both ways too, though it flips fewer than half: it is not left out.
    everyone = sentences._noise_sentence(rows, "judge")
    assert says(everyone, "part of the", "flips may be") and "vicuna" not in everyone
    assert sentences._noise_sentence(rows[1:], "judge") == everyone
    measured = [rows[0], rows[1], replace(rows[2], noise=0.1)]  # gpt's repeats tell its noise
    assert "gpt" not in said and sentences._noise_sentence(measured, "judge") == noise
    assert not sentences._noise_sentence(rows[1:2], "judge")
    even = sentences._noise_sentence([replace(rows[0], p=0.5)], "judge")
    assert says(even, "the flips of", "vicuna may be") and "part" not in even


def test_the_rows_that_choose_one_label_are_not_the_only_ones_said_to_flip_most_pairs():
    """All four prompts flip 24 of 40 pairs; some because of a label."""
    one = lean(flips=24, first=12, second=12, label="1", label_text="8 %")
    rows = [replace(one, name=name) for name in "abcd"]
    plain = [replace(row, label="") for row in rows]

    def told(labelled: int) -> str:
        return sentences._label_causes_flips_sentence(
            [*rows[:labelled], *plain[labelled:]], "prompt"
        )

    assert told(0) == "" and says(told(1), "verdicts of a", "the label 8 %.")
    assert says(told(2), "of a and", "label each: 8 %") and says(told(3), "three of the", "8 %.")
    assert "flip" not in told(1) + told(2) + told(3)


@pytest.mark.parametrize(("high", "most"), [(0.54, False), (0.5, False), (0.46, True)])
def test_most_pairs_flip_only_if_the_interval_says_so(high, most):
    """52 % [46, 57] of pairs are not most pairs."""
    row = lean(flips=21, first=11, second=10, consistency=Estimate(0.48, 0.43, high))
    assert row.may_be_noise is most and not lean(flips=21).may_be_noise


def test_the_interval_of_flips_is_that_of_the_rater(judged):
    bias = bias_from_frame(judged.frame(NAME))
    same = bias.by_rater("consistency")
    assert all(row.consistency == same[row.judge, row.prompt] for row in flip_leans(bias))


def test_one_judge_alone_is_named(judged):
    frame = Filter(judge="always first").apply(judged.frame(NAME))
    title, lead = bias_headline(bias_from_frame(frame))
    assert says(title, "flips 100") and says(title, "40 of 40 flips", "shown first")
    assert says(lead, "For always first", "order changes") and "40" not in lead


@pytest.mark.parametrize("measure", list_matrix_measures(2))
def test_every_measure_has_a_matrix_with_both_judges(judged, measure):
    frame = judged.frame(NAME)
    html = bias_matrix_html(bias_from_frame(frame), measure, frame=judge_rows_or_people_rows(frame))
    assert "always first" in html
    assert "fair" in html
    assert "nan" not in html.lower()


def test_every_cell_has_entropy_first_share_and_flips_together(judged):
    html = bias_matrix_html(bias_from_frame(judged.frame(NAME)), "Accuracy")
    # The one that always picks the first: entropy 0, 100 % first, 100 % flip; the noise floor is 0.
    assert says(html, "Entropy 0.000", "100", "100", "flip")
    assert says(html, "0", "change", "repeat")
    cards = re.findall(r'data-tip="([^"]*)"', html)
    shares = [one for card in cards for one in re.findall(r"\d+\u202f%( \[)?", card)]
    assert len(shares) > 20 and all(shares), "every share has its interval"


def test_entropy_never_stands_without_what_survives(judged):
    html = bias_matrix_html(bias_from_frame(judged.frame(NAME)), "Position entropy")
    assert '<small class="also">100\u202f%</small>' in html
    assert 'class="also"' not in bias_matrix_html(
        bias_from_frame(judged.frame(NAME)), "Consistency"
    )


def test_the_lean_is_plus_a_hundred_for_first_and_its_interval_keeps_its_order(judged):
    html = bias_matrix_html(bias_from_frame(judged.frame(NAME)), "Lean")
    row = re.search(r'aria-label="(\+100[^"]*always first, All[^"]*)"', html)
    assert row, html[:400]
    low, high = re.search(r"\[(\S+), (\S+)\]", row.group(1)).groups()
    assert float(low.replace("−", "-")) <= float(high.replace("−", "-"))


def test_columns_are_categories_or_prompts(judged):
    bias = bias_from_frame(judged.frame(NAME))
    assert "coding" in bias_matrix_html(bias, "Consistency")
    by_prompt = bias_matrix_html(bias, "Consistency", BY_PROMPT)
    assert "brief-<wbr>letters" in by_prompt
    assert "coding" not in by_prompt


def test_a_click_on_a_cell_names_judge_prompt_and_category(judged):
    html = bias_matrix_html(bias_from_frame(judged.frame(NAME)), "Consistency")
    assert (
        "{&quot;judge&quot;: &quot;fair&quot;, &quot;prompt&quot;: &quot;brief-letters&quot;, "
        "&quot;category&quot;: &quot;coding&quot;}" in html
    )


def test_a_filter_picks_cells_and_says_what_the_filtered_frame_says(judged):
    for chosen in (
        Filter(judge="fair"),
        Filter(category="coding"),
        Filter(contestants=("precise",)),
    ):
        scene = FilteredStudy(judged, NAME, chosen)
        kept, plain = load_bias(scene), bias_from_frame(scene.frame)
        assert kept.call_count == plain.call_count
        assert kept.item_count == plain.item_count
        for measure in ("consistency", "entropy", "first_share", "accuracy", "fairness"):
            for row, estimate in plain.by_rater(measure).items():
                assert kept.by_rater(measure)[row].value == pytest.approx(estimate.value)
                assert kept.by_rater(measure)[row].low == pytest.approx(estimate.low)
        assert bias_headline(kept) == bias_headline(plain)
        assert load_bias(scene) is kept  # worked out once for this version of the study


def test_every_measure_knows_for_what_it_is():
    assert list_matrix_measures(2)[0] == "Consistency"
    assert list_matrix_measures(4)[0] == "Position entropy"
    assert "Grade" not in list_matrix_measures(2)
    assert "Position term" not in list_matrix_measures(4)
    assert set(MEASURES) == set(list_matrix_measures(2)) | set(list_matrix_measures(4))


def test_slots_of_a_first_slot_judge_are_all_first(judged):
    frame = Filter(judge="always first").apply(judged.frame(NAME))
    figure = bias_view.chosen_slot_histogram(bias_from_frame(frame))
    assert figure is not None
    assert "100" in figure["summary"]
    assert figure["table"]["rows"][0][:3] == ["always first", "1st", 1.0]


def test_order_tests_are_adjusted_and_say_when_there_is_nothing_to_test(judged):
    bias = bias_from_frame(judged.frame(NAME))
    html = order_tests_html(
        pair_test_rows(bias), PAIR_TEST_NAMES, "Flips toward first : second", "Pairs"
    )
    # 40 flips one way: p = 2/2^40, far below .001; the fair judge has no flip at all: p = 1.
    assert html.count("<b>&lt; .001</b>") + html.count("<b>< .001</b>") >= 4
    assert "40 : 0" in html
    assert "0 : 0" in html
    nobody = bias_from_frame(Filter(judge="nobody").apply(judged.frame(NAME)))
    assert says(
        order_tests_html(pair_test_rows(nobody), PAIR_TEST_NAMES, "", "Pairs"),
        "Nothing",
        "test yet",
    )


def test_page_and_json_have_the_same_plain_and_adjusted_p():
    """12 pairs, three flips toward first: exactly 2/2³ = .25, McNemar's χ² is 3, so p = .0833. Each
    is divided by the 0.79 of the error rate that is not for filters. With a second judge, without
    a flip (p = 1), Holm doubles the smaller p-value. A judge that only scores is no test."""
    rows = [row for k in range(12) for row in pair(f"q{k}", 0, 0 if k < 3 else 1, judge="one")]
    scored = [row | {"judge": "scorer", "scores": [3, 4]} for row in pair("q0", None, None)]
    for frame, tests in (
        (build(rows), 1),
        (build(rows + [row for k in range(12) for row in pair(f"q{k}", 0, 1, judge="two")]), 2),
        (build(rows + scored), 1),
    ):
        summary = summarise_frame(frame, quick=True)
        told = summary["position"]["one"]["p"]
        shown = next(row for row in pair_test_rows(bias_from_frame(frame)) if "one" in row.name)
        for name, p in (("items", 0.25), ("mcnemar", 0.0832645)):
            assert told["tests"][name]["p"] == pytest.approx(p)
            assert told["tests"][name]["adjusted"] == pytest.approx(p * tests / 0.79), name
            assert shown.adjusted[name] == pytest.approx(p * tests / 0.79)
        lines = [line for line in render_tables({"position": told["tests"]}) if "mcnemar" in line]
        assert says(lines[0], f"p 0.0833, adjusted p {p * tests / 0.79:.4f}")


@pytest.mark.parametrize(
    ("p", "text"), [(None, "–"), (0.0004, "< .001"), (0.031, ".031"), (1.0, "1"), (0.9996, "1")]
)
def test_p_is_written_as_papers_write_it(p, text):
    assert format_p_value(p) == text
    # The smallest of 9,999 draws, for 20 rows and 0.79 of the error rate: 20/7,900 = .00253.
    assert p_value_clause(20 / 7900, is_bound=True) == "p ≤ .003"
    assert (p_value_clause(0.0004, True), p_value_clause(0.031)) == ("p < .001", "p = .031")


def test_nothing_judged_is_an_empty_state_and_no_error(judged):
    nobody = Filter(judge="nobody").apply(judged.frame(NAME))
    assert says(bias_matrix_html(bias_from_frame(nobody), "Consistency"), "Nothing", "No reply")
    assert bias_view.chosen_slot_histogram(bias_from_frame(nobody)) is None
    assert bias_view.position_bias_kpis_html(bias_from_frame(nobody), 0, 0) == ""
    assert "No flips here" in bias_view.flip_directions_html(bias_from_frame(nobody))
    assert "No ranking here" in ranking_view.leaderboard_html(compute_ranking(nobody))
    assert ranking_view.elo_figure(compute_ranking(nobody)) is None


def test_prompts_without_choices_have_no_place_in_matrix_histogram_and_tests():
    """`scoring` scores both answers, `grading` one; `lost` should choose, but no reply is read."""
    scoring = [
        {**row, "status": "ok", "prompt": "scoring"}
        for k in range(6)
        for row in pair(f"q{k}", None, None)
    ]
    grading = [{"item": "q0", "shown": ("x",), "pick": None, "status": "ok", "prompt": "grading"}]
    chosen = [row for k in range(6) for row in pair(f"q{k}", 0, 0, prompt="choice")]
    lost = [row for k in range(6) for row in pair(f"q{k}", None, None, prompt="lost")]
    bias = bias_from_frame(build([*scoring, *grading, *chosen, *lost]))
    assert bias.names == {("j", "choice"): "choice", ("j", "lost"): "lost"}
    two = [*scoring, *({**row, "judge": judge} for row in chosen for judge in "jk")]
    # The prompt that only scores makes names with prompts necessary, until a filter hides it.
    named = {("j", "choice"): "j, choice", ("k", "choice"): "k, choice"}
    study = UnsavedStudy("s", judgements=build(two))
    assert load_bias(study).names == named
    assert [row[0] for row in position_paper_table(study).rows] == sorted(named.values())
    only = replace(study, filter=Filter(prompt="choice"))
    assert set(load_bias(only).names.values()) == {"j", "k"}
    drawn = [bias_matrix_html(bias, "Consistency", layout) for layout in LAYOUTS]
    drawn += [str(bias_view.chosen_slot_histogram(bias))]
    assert all("choice" in one and "lost" in one for one in drawn)
    drawn += [order_tests_html(pair_test_rows(bias), PAIR_TEST_NAMES, "", "Pairs")]
    assert "choice" in drawn[-1]
    assert not any(name in one for one in drawn for name in ("scoring", "grading"))
    alone = bias_from_frame(build([*scoring, *grading]))
    assert bias_view.chosen_slot_histogram(alone) is None and not alone.names
    assert says(bias_matrix_html(alone, "Consistency"), "No reply", "better")


def test_failures_are_counted_and_can_be_opened(judged):
    frame = judged.frame(NAME).copy()
    frame.loc[frame.index[:3], "status"] = "unreadable"
    frame.loc[frame.index[:3], "pick"] = np.int8(-2)
    bias = bias_from_frame(frame)
    assert bias.unusable_reply_count == 3
    assert "{&quot;status&quot;: &quot;failures&quot;}" in bias_view.position_bias_kpis_html(bias)
    assert "status&quot;: &quot;failures" not in bias_view.position_bias_kpis_html(
        bias_from_frame(judged.frame(NAME))
    )


def test_rows_are_named_by_what_differs(judged):
    assert set(rater_names(judged.frame(NAME)).values()) == {"always first", "fair"}
    assert flip_leans(bias_from_frame(judged.frame(NAME)))[0].name == "fair"  # steadiest first


@pytest.mark.parametrize(
    ("orders", "title", "lead"),
    [
        (0, "do not record in which order", "each of two"),
        (2, "No pair has usable", "each of two"),
        (1, "in one order only", "first position wins 100\u202f% of verdicts"),
    ],
)
def test_the_headline_says_why_there_are_no_swaps(judged, orders, title, lead):
    # Rows with the answers in one order, of a judge that names the better: always the same one.
    whole = judged.frame(NAME)
    one = whole[(whole["judge"] == "fair") & (whole["first"] == whole["first"].iloc[0])]
    told = bias_headline(bias_from_frame(one.assign(orders=np.int16(orders))))
    assert title in told[0]
    assert lead in told[1]


def test_with_ties_alone_the_headline_gives_no_share_of_the_first_position():
    ties = [{**row, "orders": 1} for k in range(3) for row in pair(f"q{k}", "tie", "tie")[:1]]
    title, lead = bias_headline(bias_from_frame(build(ties)))
    assert says(title, "one order only") and lead.endswith("with `orders: both`.")
    assert "%" not in lead


def test_rows_that_lean_to_both_sides_are_counted_by_side():
    def row(name: str, first: int, second: int) -> FlipLean:
        return lean(name=name, judge=name, flips=10, first=first, second=second, p=0.01)

    rows = [row("a", 9, 1), row("b", 8, 2), row("c", 1, 9), lean(name="d", judge="d")]
    told = sentences._direction_clause
    assert says(told(rows, "judge"), "two of", "four", "to the first,", "one", "the second")
    assert says(told(rows[2:], "judge"), "one of", "two", "leans", "the second")
    assert says(told(rows[2:3], "judge"), "9 of 10 flips", "shown second")


def test_flips_of_a_judge_that_takes_a_label_are_not_laid_to_the_order_or_to_noise():
    """Labels crossed: `name` takes the label A, whose position a swap changes, so all pairs flip,
    half of them each way; `place` takes the first position."""
    rows = [
        {**row, "repeat": repeat}
        for repeat in range(2)
        for k in range(40)
        for judge, slot in (("name", k % 2), ("place", 0))
        for row in pair(f"q{k}", slot, slot, judge=judge, labels=("AB", "BA")[k % 2])
    ]
    once = [row for row in rows if not row["repeat"]]
    for frame in (build(rows), build(once)):
        bias = bias_from_frame(frame)
        assert {row.judge: row.label for row in flip_leans(bias)} == {"name": "A", "place": ""}
        _, lead = bias_headline(bias)
        assert says(lead, "For place,", "order changes", "verdicts of name", "label “A”")
        alone = Filter(judge="name").apply(frame)
        _, lead = bias_headline(bias_from_frame(alone))
        assert says(lead, "verdicts of name", "label “A”") and "order changes" not in lead
        card = ReportCard(UnsavedRaters(UnsavedStudy("s", judgements=frame)), "name")
        told = card_sentences(card.facts, card.text_by_key)[0]
        assert told.rule == "by label" and says(told.text, "the label “A” (100")
    other = [{**row, "labels": row["labels"][::-1]} for row in once if row["judge"] == "name"]
    (row,) = flip_leans(bias_from_frame(build(other)))
    assert row.label == "B" and says(row.label_text, "“B” (100", "100]"), "1 − the share of A"


def test_the_headline_of_one_judge_says_each_fact_once():
    """40 pairs, 10 flips toward first and 2 toward second: p = 158/4096 = .039."""
    rows = [row for k in range(10) for row in pair(f"q{k}", 0, 0)]
    rows += [row for k in range(10, 12) for row in pair(f"q{k}", 1, 1)]
    rows += [row for k in range(12, 40) for row in pair(f"q{k}", 0, 1)]
    title, lead = bias_headline(bias_from_frame(build(rows)))
    assert says(title, "10 of 12 flips", "shown first")
    assert lead.count("flip") == 1 and says(lead, "Without repeats", "part of the")


@pytest.mark.parametrize(
    ("low", "high", "shown"), [(0.1, 1.0, True), (-0.32, 1.0, False), (None, None, False)]
)
def test_the_order_adds_flips_only_if_the_interval_excludes_zero(low, high, shown):
    effects = {"noise_floor": Estimate(0.0), "order_effect": Estimate(1.0, low, high)}
    bias = SimpleNamespace(overall=lambda key: effects.get(key, Estimate(0.5)))
    told = sentences._flips_clause(bias)
    assert says(told, "adds 100 points") is shown and says(told, "100 points")
    assert says(told, "not shown", "add anything") is not shown


def test_the_paper_table_says_which_intervals_are_adjusted(judged):
    study = FilteredStudy(judged, NAME)
    caption = position_paper_table(study).caption
    assert says(caption, "not adjusted for", "adjusted for all") and says(caption, "(N positions)")
    sure = [row.name for row in flip_leans(load_bias(study)) if row.is_significant]
    assert sure and caption.endswith(f"significant for {join_names(sure)}.")


def test_up_to_two_rows_that_the_order_decides_are_named_and_more_are_counted():
    sure = [lean(name=n, judge=n, order_effect=Estimate(0.7, 0.6, 0.8)) for n in "abc"]
    noisy = lean(name="d", judge="d", consistency=Estimate(0.3, 0.2, 0.4))
    assert says(sentences._order_decides_sentence([*sure[:2], noisy], "judge"), "a and b,")
    three = sentences._order_decides_sentence([*sure, *[noisy] * 3], "judge")
    assert says(three, "three of", "six", "order changes")
    repeated = [replace(row, noise=0.1) for row in sure]
    noise = sentences._noise_sentence([*repeated, *[noisy] * 3], "judge")
    assert says(noise, "flips of three", "the six judges")
    assert says(sentences._order_decides_sentence(sure, "judge"), "For all", "three judges,")


def test_opposite_preferences_in_two_categories_are_told_where_there_is_none_overall():
    """All 40 pairs of one category flip to the first, all 40 of the other to the second. Holm over
    2 cells, 0.1 of the error rate: p = 2/2^40 · 2 · 10, far below .05."""

    def rows(judge: str) -> list[dict[str, object]]:
        return [
            row
            for slot, category in enumerate(("letters", "maths"))
            for k in range(40)
            for row in pair(f"{category}{k}", slot, slot, category=category, judge=judge)
        ]

    one, both = (bias_from_frame(build(made)) for made in (rows("a"), [*rows("a"), *rows("b")]))
    (row,) = flip_leans(one)
    assert (row.pairs, row.first, row.second, row.p) == (80, 40, 40, 1.0)
    found = (LeaningCategory("letters", "first"), LeaningCategory("maths", "second"))
    assert row.leaning_categories == found
    title, lead = bias_headline(one)
    assert says(title, "significantly preferred overall", "this judge", "some categories")
    assert says(lead, "first in letters", "second in maths")
    assert says(bias_headline(both)[0], "overall", "both judges prefer")
    # Without categories there are no preferences in categories.
    whole = [{**row, "category": ""} for row in rows("a")]
    (plain,) = flip_leans(bias_from_frame(build(whole)))
    assert plain.leaning_categories == ()


def test_verdicts_on_single_answers_are_in_no_even_share():
    """The first-position share is of comparisons, whose even share is a half."""
    rows = [*pair("q0", 0, 1), {"item": "q1", "shown": ("x",), "pick": None, "judge": "k"}]
    counts = BiasCounts(build(rows))
    assert (counts.numbers_of_options, counts.max_options) == ([2], 2)
    alone = BiasCounts(build(rows[2:]))
    assert (alone.numbers_of_options, alone.max_options) == ([2], 1)


def test_a_filter_with_too_few_items_for_the_test_denies_no_preference():
    """Ten items of a category all flip to the first: 2/2^10, times 3 judges and 2 categories, in a
    tenth of the error rate, is .117. With 20 items a judge without flips could have been tested."""

    def found(items: int) -> Bias:
        rows = [
            row
            for judge, second in (("a", 0), ("b", 0), ("fair", 1))
            for k in range(2 * items)
            for row in pair(f"q{k}", 0, second, judge=judge, category="ab"[k % 2])
        ]
        return Bias(BiasCounts(build(rows)), Filter(category="a"))

    few, enough = found(10), found(20)
    assert [row.least_p for row in flip_leans(few)] == [pytest.approx(6 * 2 / 2**10 / 0.1)] * 3
    (sure, *_), fair = flip_leans(few), next(r for r in flip_leans(enough) if r.judge == "fair")
    assert sure.has_too_few_items and not sure.is_significant and not fair.has_too_few_items
    title, lead = bias_headline(few)
    assert says(title, "too few items") and "no judge" not in title
    # All flips of a judge go one way: they are not called noise.
    assert not any(row.may_be_noise for row in flip_leans(few)) and "may be" not in lead
    told = {row.judge: flip_sentence(row) for row in flip_leans(few)}
    assert told["a"].startswith("**Too few items")
    shown = [JudgeRow(row, *[Estimate(None)] * 3, "").leans_to for row in (sure, fair)]
    assert shown == ["too few items", "not shown"] and all(
        one in HOW_JUDGES.lower() for one in shown
    )
    known = JudgeRow(lean(p=0.01), *[Estimate(None)] * 3, "")
    assert "first" in known.leans_to
    rows = [known, *(JudgeRow(row, *[Estimate(None)] * 3, "") for row in (sure, fair))]
    table = OVERVIEW.judges(rows, ("Judge", "Flips", ""), 1, None, 0)
    assert table.count("data-name") - table.count('data-name="flips"') == 1, "“leans to” the first"
    mixed = sentences._no_preference_clause([lean(), lean(least_p=0.1), lean(least_p=1)], "judge")
    assert says(mixed, "no judge", "two have", "too few")


def test_a_preference_that_missing_verdicts_could_undo_is_told_in_the_headline_and_on_the_card():
    rows = [row for k in range(20) for row in pair(f"q{k}", 0, 0)]
    rows += [row for k in range(15) for row in pair(f"lost{k}", None, 0)]
    frame = build(rows)
    (row,) = flip_leans(bias_from_frame(frame))
    assert row.hinges_on_missing_verdicts
    title, _ = bias_headline(bias_from_frame(frame))
    assert says(title, "prefers", "but only if", "left out")
    other = [lean(p=0.2, name=name) for name in "ab"]
    some = sentences._no_preference_clause([row, *other], "judge")
    assert says(some, "one of", "three judges", "prefers", "but only if")
    card = ReportCard(UnsavedRaters(UnsavedStudy("s", judgements=frame)), "j")
    first = card_sentences(card.facts, card.text_by_key)[0]
    assert first.rule == "missing" and says(first.text, "shown first", "15 pairs")


def test_no_flip_is_not_put_down_to_noise_and_one_judge_is_not_called_no_judge():
    title, lead = bias_headline(
        bias_from_frame(build([row for k in range(20) for row in pair(f"q{k}", 0, 1)]))
    )
    assert lead == "" and says(title, "0\u202f%", "judge does not")


def test_a_part_of_the_judges_is_named_in_words():
    assert sentences._some_of_total_text(2, 2, "judge") == "both judges"
    assert sentences._some_of_total_text(3, 3, "prompt") == "all three prompts"
    assert says(sentences._some_of_total_text(1, 2, "judge"), "one of", "two judges")
    rows = [row for j in "ab" for k in range(12) for row in pair(f"q{k}", k % 2, k % 2, judge=j)]
    _, lead = bias_headline(bias_from_frame(build(rows)))
    assert says(lead, "flips of a", "and b may", "noise")


def test_a_measure_that_the_study_does_not_offer_gives_way_to_the_first(judged):
    """As in the address of a study with four options. The title names what the matrix shows."""
    shown = FilteredStudy(judged, NAME)
    first, second, *_ = list_matrix_measures(2)
    drawn = {
        name: bias_tab.render_matrix(shown, name, BY_CATEGORY) for name in (first, second, "?")
    }
    assert drawn["?"] == drawn[first] != drawn[second]
    assert says(drawn["?"].heading, f"{first} by judge", "category")
    fair = FilteredStudy(judged, NAME, Filter(judge="fair"))
    heading = bias_tab.render_matrix(fair, "?", BY_CATEGORY).heading
    assert says(heading, f"{first} by prompt", "category")
    assert f"{first} by prompt<" in bias_tab.render_matrix(fair, "?", BY_PROMPT).heading


def test_items_are_counted_once_whatever_the_number_of_judges(judged):
    whole = load_bias(FilteredStudy(judged, NAME))
    part = load_bias(FilteredStudy(judged, NAME, Filter(category="coding", judge="fair")))
    assert (whole.item_count, part.item_count) == (40, 5)
    assert says(bias_matrix_html(whole, "Consistency"), "40 items")


def test_the_matrix_shows_the_position_term_with_the_decimals_of_the_card():
    """-0.05 [-0.13, 0.04] must not become 0.0 [-0.1, 0.0], which hides the sign of the limit."""
    term = Estimate(-0.046, -0.131, 0.038, 1600, 80)
    assert POSITION_TERM_SCALE.text(term.value) == "\u22120.05"
    assert POSITION_TERM_SCALE.interval(term) == "[\u22120.13, 0.04]"
