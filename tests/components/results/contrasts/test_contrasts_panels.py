"""Contrasts of judges with a known difference, by measure family."""

from __future__ import annotations

import re
from dataclasses import replace
from types import SimpleNamespace

import pytest

from components.filtering.filtered_study import FilteredStudy
from components.filtering.filters import Filter
from components.html.pieces import no_significant_difference_badge
from components.results.contrasts import comparison, panels, sides
from components.results.contrasts.comparison import pair_sides as pair_with_filtered_side
from components.results.contrasts.computed import contrasts_with_value, is_significant
from components.results.contrasts.item_differences import item_differences, show_item_differences
from components.results.contrasts.panels import (
    contrast_headline,
    show_contrasts_by_category,
    show_measure_family,
)
from components.results.view_drawing import show_data_note
from components.results.wins.win_rate_panels import win_rates_paper_table
from metrics.catalogue.answer_records import AGREEMENT
from metrics.catalogue.position_records import CONSISTENCY
from metrics.catalogue.records import RECORDS
from metrics.estimation.contrasts import Contrast
from studies.domain import Estimate
from studies.spec.study import Study
from tests.page_words import says
from tests.studies.small_items import ask, item, judged
from tests.voted_studies import Sheet, save, six_items


def text(html: str) -> str:
    return re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", html))


def steady_and_not(name: str, items: int = 20, flips: int = 10) -> Sheet:
    """`steady` never flips; `shaky` takes the first place in the first `flips` items."""
    sheet = Sheet(name)
    for k in range(items):
        sheet.both(f"q{k:02}", "steady", "xx")
        sheet.both(f"q{k:02}", "shaky", "xy" if k < flips else "xx")
    return sheet


@pytest.fixture(scope="module")
def scene(module_store) -> FilteredStudy:
    kinds = {f"q{k:02}": "hard" if k < 12 else "easy" if k < 18 else "rare" for k in range(20)}
    steady_and_not("contrast").save(module_store, categories=kinds)
    return FilteredStudy(module_store, "contrast")


def test_the_steadiest_and_the_least_steady_open_a_study(scene):
    pair = pair_with_filtered_side(scene, "", "")
    assert (pair.left.name, pair.right.name) == ("steady", "shaky")
    assert says(contrast_headline(pair, "Behaviour")[0], "steady", "50", "consistent", "shaky")


def test_the_judgements_of_both_sides_are_counted(scene):
    """Each judge judged 20 pairs in two orders."""
    alone = replace(scene, filter=Filter(judge="steady"))
    for filtered, other, number in (
        (alone, None, 40), (alone, "shaky", 80), (alone, "steady", 40), (scene, "shaky", 80)
    ):  # fmt: skip
        assert says(text(show_data_note(filtered, (), other)), f"{number} judgements")


def test_a_difference_is_left_minus_right_with_both_values(scene):
    lines = {
        one.name: line
        for one, line in contrasts_with_value(
            pair_with_filtered_side(scene, "", "").family_contrasts("Behaviour")
        )
    }
    got = lines["Consistency"]
    assert (got.left_value, got.right_value, got.raw.value) == (1.0, 0.5, 0.5)
    assert got.raw.items == 20
    assert got.adjusted.low <= got.raw.low and got.raw.high <= got.adjusted.high
    assert is_significant(got)
    # shaky: 30 firsts of 40, steady 20 of 40; lean 10 of 20 flips to the first.
    assert lines["First-position share"].raw.value == pytest.approx(0.5 - 0.75 + 0.0)
    assert lines["Lean"].raw.value == pytest.approx(-0.5)
    assert lines["Ties"].raw.value == 0.0


def test_turned_round_every_difference_turns(scene):
    there = {
        one.name: line
        for one, line in contrasts_with_value(
            pair_with_filtered_side(scene, "", "").family_contrasts("Position")
        )
    }
    back = {
        o.name: c
        for o, c in contrasts_with_value(
            pair_with_filtered_side(scene, "shaky", "steady").family_contrasts("Position")
        )
    }
    assert there.keys() == back.keys()
    for label, line in there.items():
        assert line.raw.value == pytest.approx(-back[label].raw.value, abs=1e-9)


def test_same_is_said_where_the_adjusted_interval_covers_nothing(scene):
    html = show_measure_family(pair_with_filtered_side(scene, "", ""), "Behaviour")
    ties = html[html.index("Ties<") :]
    assert no_significant_difference_badge() in ties[: ties.index("</tr>")]
    first = html[html.index("Consistency<") :]
    assert no_significant_difference_badge() not in first[: first.index("</tr>")]


def test_a_side_that_no_filter_selects_is_named(scene):
    """The filter's pill says "all", so the sentence says which judge is compared."""
    for other, left in (("shaky", "steady"), ("steady", "shaky")):
        assert comparison.pair_with_filtered_side(scene, other).left.name == left
        assert says(comparison.comparison_headline(scene, other, "Position")[1], "No judge", left)
        chosen = replace(scene, filter=Filter(judge=left))
        assert "No judge" not in comparison.comparison_headline(chosen, other, "Position")[1]
    same = replace(scene, filter=Filter(judge="steady"))
    assert "No judge" not in comparison.comparison_headline(same, "steady", "Position")[1]


def test_what_cannot_be_compared_is_named_with_its_reason(scene):
    said = text(show_measure_family(pair_with_filtered_side(scene, "", ""), "Quality"))
    assert says(said, "Not", AGREEMENT.name, "no pair", "answers")
    assert "Consistency" in said


def test_the_same_items_only(store):
    # steady has q0…q9, shaky q5…q14: five in common, three of which flip.
    sheet = Sheet("half")
    for k in range(10):
        sheet.both(f"q{k}", "steady", "xx").both(f"q{k + 5}", "shaky", "xy" if k < 3 else "xx")
    sheet.save(store)
    pair = pair_with_filtered_side(FilteredStudy(store, "half"), "steady", "shaky")
    (line,) = [line for one, line in pair.family_contrasts("Behaviour") if one is CONSISTENCY]
    assert pair.common_item_count == 5
    assert (line.left_value, line.right_value) == (1.0, pytest.approx(0.4))
    # The table has each judge's consistency on all its items, as every other view: 7 of 10.
    html = show_measure_family(pair, "Behaviour")
    row = re.search(r"Consistency<.*?</tr>", html, re.S)[0]
    cells = re.findall(r'<td class="num [ab]".*?</td>', row)
    assert [text(cell).strip() for cell in cells] == ["100.0 n 10", "70.0 n 10"]
    assert says(panels.family_subtitle(pair), "(10 and 10)", "5 items")
    tip = re.search(r'data-tip="([^"]*, consistency\n[^"]*)"', html)[1]
    assert re.search(r"shaky: 70\.0\s% \[[\d.]+, [\d.]+\], n 10", tip), "with its interval"


def test_categories_are_a_family_of_their_own_and_few_items_have_no_interval(scene):
    pair = pair_with_filtered_side(scene, "", "")
    enough, few = pair.contrasts_by_category(CONSISTENCY)
    assert {line.left[1]: line.raw.value for _, line in enough} == {"hard": 10 / 12, "easy": 0.0}
    assert [(line.left[1], line.raw.low) for _, line in few] == [("rare", None)]
    said = text(show_contrasts_by_category(pair, "Consistency"))
    assert "2 items: too few" in said


def test_items_that_differ_most_come_first_with_their_counts(scene):
    pair = pair_with_filtered_side(scene, "", "")
    items = item_differences(pair, CONSISTENCY)
    assert len(items) == 20
    assert [one.item for one in items[:10]] == [f"q{k:02}" for k in range(10)]
    assert (items[0].left, items[0].right, items[0].left_n) == (1.0, 0.0, 1)
    assert items[-1].gap == 0


def test_win_rates_are_a_family_of_the_contestants(scene):
    lines = contrasts_with_value(
        pair_with_filtered_side(scene, "", "").family_contrasts("Win rates")
    )
    # steady gives x everything; shaky 30 of 40.
    assert {one.name: line.raw.value for one, line in lines} == {"x": 0.25, "y": -0.25}
    assert says(
        contrast_headline(pair_with_filtered_side(scene, "", ""), "Win rates")[0],
        "steady gives",
        "25",
        "shaky",
    )


def test_the_ranking_compares_choices_among_four_by_what_a_tie_counts(store):
    """`a` picks o0 in all four rotations, `b` calls them all ties: 1 − 1/4, and 0 − 1/4."""
    names = [f"o{k}" for k in range(4)]
    rows = []
    for k in range(12):
        for turn in range(4):
            shown = tuple(names[turn:] + names[:turn])
            rows += [(f"q{k}", "a", "p", shown, "o0", 1), (f"q{k}", "b", "p", shown, "tie", 1)]
    save(store, "four", rows)
    four = FilteredStudy(store, "four")
    pair = pair_with_filtered_side(four, "a", "b")
    lines = contrasts_with_value(pair.family_contrasts("Win rates"))
    assert {one.name: line.raw.value for one, line in lines} == {
        "o0": 0.75, "o1": -0.25, "o2": -0.25, "o3": -0.25
    }  # fmt: skip
    assert says(comparison.comparison_html(four, "b", "Ranking"), "ties counted half", "1/N")
    caption = win_rates_paper_table(four).caption
    assert "ties/N" in caption and "ties/2" not in caption


def test_people_are_the_yardstick_where_there_are_any(store):
    six_items().save(store)
    pair = pair_with_filtered_side(FilteredStudy(store, "voted"), "good", "first")
    lines = {one.name: line for one, line in contrasts_with_value(pair.family_contrasts("Quality"))}
    # On the five pairs with a majority, all calls of `good` are right and half of those of `first`.
    assert lines[AGREEMENT.name].raw.value == pytest.approx(1 - 1 / 2)


def test_a_judge_is_compared_with_itself_under_two_prompts(store):
    sheet = Sheet("prompts")
    for k in range(12):
        sheet.both(f"q{k}", "j", "xx", "calm").both(f"q{k}", "j", "xy", "hasty")
    sheet.save(store)
    scene = FilteredStudy(store, "prompts")
    pair = pair_with_filtered_side(scene, "", "")
    assert (pair.left.name, pair.right.name) == ("calm", "hasty")
    assert says(contrast_headline(pair, "Behaviour")[0], "calm", "100", "consistent", "hasty")


def test_images_against_a_description_are_two_studies(store):
    for sees, said in (("context", "xy"), ("images", "xx")):
        rows = []
        for k in range(10):
            for shown, who in zip((("x", "y"), ("y", "x")), said, strict=True):
                rows.append((f"q{k}", "j", "p", shown, who, 2))
        save(store, sees, rows, judge_sees=sees)
    known = sides.sides_in_other_studies(FilteredStudy(store, "context"))
    assert list(known) == ["j, images (images)"]
    pair = pair_with_filtered_side(FilteredStudy(store, "context"), "j", "j, images (images)")
    (line,) = [line for one, line in pair.family_contrasts("Behaviour") if one is CONSISTENCY]
    assert line.raw.value == -1.0
    note = show_data_note(FilteredStudy(store, "context"), (), "j, images (images)")
    assert says(text(note), "20 judgements", "study “context”")
    assert says(text(note), "20 judgements", "study “images”")


def test_one_judge_has_no_contrast_and_says_why(store):
    Sheet("alone").both("q", "j", "xx").save(store)
    alone = FilteredStudy(store, "alone")
    assert comparison.compare_menu_state(alone, "j").visible is False
    assert says(
        contrast_headline(pair_with_filtered_side(alone, "", ""), "Position")[1],
        "two judges",
        "prompts",
    )


@pytest.mark.parametrize("view", ["Summary", "Position", "Nudges", "Agreement", "Ranking"])
def test_every_view_compares_its_measures_with_the_chosen_judge(scene, view):
    html = comparison.comparison_html(scene, "shaky", view)
    assert says(html, "steady minus shaky") and "nan" not in html.lower()
    chosen = replace(scene, filter=Filter(judge="shaky"))
    pair = comparison.pair_with_filtered_side(chosen, "steady")
    assert (pair.left.name, pair.right.name) == ("shaky", "steady")


def test_silence_sameness_and_strangers_are_told_apart(store):
    sheet = Sheet("odd")
    for k in range(6):
        sheet.both(f"q{k}", "a", "xx").both(f"r{k}", "b", "xx").both(f"q{k}", "mute", "??")
    sheet.save(store)
    scene = FilteredStudy(store, "odd")
    assert says(pair_with_filtered_side(scene, "a", "b").problem, "no item", "common")
    assert says(pair_with_filtered_side(scene, "a", "mute").problem, "No usable verdict", "mute")
    assert says(pair_with_filtered_side(scene, "a", "a").problem, "selected", "B")
    nobody = FilteredStudy(store, "odd", Filter(category="nowhere"))
    assert "passes the filters" in pair_with_filtered_side(nobody, "a", "b").problem


def test_an_address_with_two_sides_is_a_filter_and_the_control(scene):
    assert comparison.address_for_two_sides(scene, "shaky", "gone") == {
        "judge": "shaky",
        "compare": "steady",
    }
    assert comparison.address_for_two_sides(scene, "", "") == {
        "judge": "steady",
        "compare": "shaky",
    }
    assert comparison.compare_menu_state(scene, "gone").value == ""


def test_items_that_share_a_question_are_listed_by_themselves(store):
    turns = [f"q{k}t{turn}" for k in range(4) for turn in (1, 2)]
    rows = [
        judged(ask(f"{who}/{turn}/{shown}", turn, shown, judge=who),
               0 if who == "shaky" and turn.startswith("q3") else shown.index("x"))
        for turn in turns for who in ("steady", "shaky") for shown in ("xy", "yx")
    ]  # fmt: skip
    items = [item(turn, meta={"question": turn[:2]}) for turn in turns]
    store.save_study(Study("turns"), items, (), recorded=rows, only_recorded=True)
    pair = pair_with_filtered_side(FilteredStudy(store, "turns"), "steady", "shaky")
    found = item_differences(pair, CONSISTENCY)
    assert len(found) == 8 and [one.item for one in found if one.gap] == ["q3t1", "q3t2"]


def test_a_headline_without_a_difference_in_consistency_names_the_largest_other_one():
    def line(record, value: float, low: float, high: float) -> tuple[object, Contrast]:
        one = Estimate(value, low, high, 9, 9)
        return record, Contrast(record.key, ("a",), ("b",), one, one, 0.6, 0.4)

    steady = line(CONSISTENCY, -0.003, -0.09, 0.08)
    for lines, told in (
        ([steady, line(AGREEMENT, 0.134, 0.05, 0.2)], ["a", "13 points", "b"]),
        ([steady, line(AGREEMENT, 0.008, -0.02, 0.04)], ["No", "judges a and b."]),
        ([line(CONSISTENCY, -0.2, -0.3, -0.1)], ["b", "20 points", "than a"]),
    ):
        pair = SimpleNamespace(
            problem="", left=sides.Side("a", "a"), right=sides.Side("b", "b"),
            candidates=("a", "b"), common_item_count=9, family_contrasts=lambda _, got=lines: got,
        )  # fmt: skip
        title, lead = contrast_headline(pair, "All")
        assert says(title, *told), title
        assert says(lead, "9 items")


@pytest.mark.parametrize(
    ("right", "significant", "told"),
    [
        (sides.Side("b", judge="b"), False, ["the judges", "a and b."]),
        (sides.Side("p", prompt="p"), False, ["the judge a", "the prompt p."]),
        (sides.Side("b · p", "b", "p"), False, ["the judge a", "and b · p."]),
        (sides.Side("b", judge="b"), True, ["The judge a", "20 points", "above b."]),
        (sides.Side("p", prompt="p"), True, ["The judge a", "20 points", "above the prompt p."]),
    ],
)
def test_a_headline_says_whether_it_compares_judges_or_prompts(right, significant, told):
    """A model may have the name of a judge, and stands in the ranking below the headline."""
    gap = Estimate(0.2, 0.1, 0.3, 9, 9) if significant else Estimate(0.2, -0.1, 0.5, 9, 9)
    lines = [(CONSISTENCY, Contrast("x", ("a",), ("b",), gap, gap, 0.6, 0.4))]
    pair = SimpleNamespace(
        problem="", left=sides.Side("a", judge="a"), right=right, common_item_count=9,
        candidates=("a", "b"), family_contrasts=lambda _: lines,
    )  # fmt: skip
    said = contrast_headline(pair, "Position")[0].replace("more consistent than", "above")
    assert says(said, *told), said


@pytest.mark.parametrize(
    ("family", "shown", "told", "not_told"),
    [
        ("Position", True, ["a", "32 points", "b"], "12"),
        ("Quality", True, ["Agreement", "a", "12 points", "b"], "32"),
        ("Quality", False, ["Agreement", "no significant difference", "a and b"], "32"),
    ],
)
def test_the_headline_on_who_is_right_is_not_the_consistency(family, shown, told, not_told):
    low = 0.08 if shown else -0.01
    gaps = ((CONSISTENCY, Estimate(0.32, 0.2, 0.4, 9, 9)), (AGREEMENT, Estimate(0.12, low, 0.2)))
    lines = [(one, Contrast(one.key, ("a",), ("b",), gap, gap, 0.6, 0.4)) for one, gap in gaps]
    pair = SimpleNamespace(
        problem="", left=sides.Side("a", "a"), right=sides.Side("b", "b"),
        candidates=("a", "b"), common_item_count=9, family_contrasts=lambda _: lines,
    )  # fmt: skip
    title = contrast_headline(pair, family)[0]
    assert says(title, *told) and not says(title, not_told), title


@pytest.mark.parametrize(("value", "more"), [(0.005, "left"), (-0.005, "right"), (0.4, "left")])
def test_the_more_consistent_side_is_named_for_small_differences_too(value, more):
    one = Estimate(value, value - 0.001, value + 0.001, 9, 9)
    pair = SimpleNamespace(left=sides.Side("left", "left"), right=sides.Side("right", "right"))
    line = Contrast("consistency", ("left",), ("right",), one, one, 0.5, 0.5)
    assert says(panels._consistency_sentence(pair, line, False), "The judge", f"{more} is")


def test_the_filtered_judge_is_compared_also_if_its_only_prompt_is_chosen_too(store):
    """Of three judges the filter selects the middle one, and the study's only prompt."""
    sheet = steady_and_not("three")
    for k in range(20):
        sheet.both(f"q{k:02}", "middle", "xy" if k < 5 else "xx")
    sheet.save(store)
    for chosen in (Filter(judge="middle"), Filter(judge="middle", prompt="p")):
        pair = comparison.pair_with_filtered_side(FilteredStudy(store, "three", chosen), "shaky")
        assert (pair.left.name, pair.right.name) == ("middle", "shaky")


def test_one_judges_prompt_is_compared_also_if_the_judge_is_chosen_too(store):
    sheet = Sheet("prompts")
    for k in range(20):
        for number, prompt in enumerate("pqr"):
            sheet.both(f"q{k:02}", "ada", "xy" if k < 5 * number else "xx", prompt)
    sheet.save(store)
    chosen = Filter(judge="ada", prompt="q")
    pair = comparison.pair_with_filtered_side(FilteredStudy(store, "prompts", chosen), "r")
    assert (pair.left.name, pair.right.name) == ("q", "r")


def test_a_models_name_keeps_its_capitals_and_known_answers_open_no_votes(store):
    rows = []
    for k in range(6):
        for judge in ("ada", "bob"):
            for shown in (("GPT", "LLaMA"), ("LLaMA", "GPT")):
                rows.append((f"q{k}", judge, "p", shown, "GPT" if judge == "ada" else "LLaMA", 2))
    save(store, "names", rows, design={f"q{k}": "GPT" for k in range(6)})
    pair = pair_with_filtered_side(FilteredStudy(store, "names"), "ada", "bob")
    html = show_measure_family(pair, "Win rates")
    assert "points, LLaMA" in html and "points, llama" not in html
    assert AGREEMENT.name in show_measure_family(pair, "Quality")
    assert "unlike" not in show_measure_family(pair, "Quality")


def test_a_difference_has_one_interval_in_all_views(store):
    sheet = Sheet("one")
    for k in range(24):
        for judge, flips in (("a", 0), ("b", 8), ("c", 12)):
            sheet.both(f"q{k}", judge, "xy" if k < flips else "xx" if k % 3 else "yy")
    sheet.save(store)
    filtered = FilteredStudy(store, "one", Filter(judge="a"))
    pair = comparison.pair_with_filtered_side(filtered, "b")
    seen = {}
    for view in ("Summary", "Position", "Agreement", "Nudges", "Remedies"):
        family = comparison.compared_measure_family(filtered, view)
        for one, line in contrasts_with_value(pair.family_contrasts(family)):
            seen.setdefault(one.key, []).append((line.adjusted.low, line.adjusted.high))
    assert len(seen["consistency"]) == 4
    assert all(len(set(ends)) == 1 for ends in seen.values())
    assert {one.key for one, _ in pair.family_contrasts("Win rates")} == {"win_rate"}


def test_sides_that_cannot_be_compared_give_the_reason_in_every_panel(scene):
    stub = SimpleNamespace(problem="No second judge.")
    assert contrast_headline(stub, "Behaviour") == ("Nothing to compare.", stub.problem)
    assert panels.family_subtitle(stub) == ""
    for html in (
        show_measure_family(stub, "Behaviour"),
        show_contrasts_by_category(stub, "Consistency"),
        show_item_differences(stub, CONSISTENCY),
    ):
        assert says(html, "Nothing to compare", stub.problem) and "<table" not in html
    same = replace(scene, filter=Filter(judge="steady"))
    assert comparison.comparison_html(same, "steady", "Position") == ""
    assert comparison.comparison_html(same, "shaky", "Position") != ""


@pytest.mark.parametrize(
    ("low", "high", "opposite", "told"),
    [
        (0.3, 0.7, False, ("a is 50 points", "than b.")),
        (-0.7, -0.3, True, ("b is 50 points", "than a;", "opposite positions.")),
        (-0.1, 0.9, True, ("No significant difference", "a and b;", "opposite positions.")),
        (-0.1, 0.9, False, ("No significant difference", "a and b.")),
    ],
)
def test_the_more_consistent_side_is_named_if_the_difference_is_significant(
    low, high, opposite, told
):
    gap = Estimate(0.5 if low > -0.2 else -0.5, low, high, 40, 20)
    contrast = Contrast("consistency", ("a",), ("b",), gap, gap, 0.9, 0.4)
    pair = SimpleNamespace(left=sides.Side("a", "a"), right=sides.Side("b", "b"))
    said = panels._consistency_sentence(pair, contrast, opposite)
    assert says(said, *told) and ("opposite" in said) is opposite


def test_an_interval_beyond_100_points_is_cut_with_an_arrow_and_its_text_is_exact():
    kappa, (low, high) = RECORDS["people_kappa"], (-1.8, 2.1)
    gaps = ((CONSISTENCY, Estimate(0.1, 0.0, 0.2, 9, 9)), (kappa, Estimate(0.2, low, high, 5, 5)))
    lines = [(one, Contrast(one.key, ("a",), ("b",), gap, gap, 0.6, 0.4)) for one, gap in gaps]
    pair = SimpleNamespace(
        problem="", filtered=None, left=sides.Side("a", study="x"),
        right=sides.Side("b", study="x"),
        family_contrasts=lambda _: lines, values_on_items_of_each_side=lambda _: {},
    )  # fmt: skip
    html = show_measure_family(pair, "Quality")
    axis = html[html.index('<tr class="axis') :]
    assert "+100<" in axis and "200" not in axis
    same, wide = html.split('<tr data-tip="')[1:3]
    assert 'class="thin under over" style="left:0.00%;width:100.00%"' in wide
    assert "under" not in same and "over" not in same
    assert says(wide, "[−180.0, 210.0]")
