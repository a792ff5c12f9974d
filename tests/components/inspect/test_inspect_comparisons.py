"""Selection of comparisons in Inspect: flips, unusable replies, repeats, search, pages."""

from __future__ import annotations

from urllib.parse import parse_qsl, urlencode

import pandas as pd
import pytest

from components.inspect.comparison_index import (
    PAGE_SIZE,
    comparison_rows,
    count_by_filter,
    filter_comparisons,
    find_comparison,
    index_comparisons,
    menu_choices,
    page_number,
)
from components.inspect.url_selection import Selection, apply_click, parse_selection
from studies.frames.frame import NO_PICK, SEP, TIE, frame_from_rows

XY, YX = f"x{SEP}y", f"y{SEP}x"


def row(position, item, shown, pick, *, status="ok", repeat=0, noise=0, orders=2, scores=None):
    """As Store.frame_rows gives it; the seq is the position plus 100."""
    read = status in ("ok", "extracted") and pick != NO_PICK
    return (
        position, item, "j", "p", shown, f"A{SEP}B", repeat, noise, orders, status,
        pick if read else None, 1, scores, None, position + 100,
    )  # fmt: skip


def frame(*rows) -> pd.DataFrame:
    items = {"q1": {"category": "maths"}, "q2": {"category": "maths"}, "q3": {"category": "prose"}}
    return frame_from_rows(list(rows), items, study="s")


@pytest.fixture
def four():
    # q1: first both times, so x then y: flipped toward first. q2: x both times: kept.
    # q3: second, then tie: flipped (softly) toward second. q4: one order unreadable: no flip.
    # And q2's first order, asked again, said second: the repeat differs.
    return index_comparisons(
        frame(
            row(0, "q1", XY, 0),
            row(1, "q1", YX, 0),
            row(2, "q2", XY, 0),
            row(3, "q2", YX, 1),
            row(4, "q2", XY, 1, repeat=1, noise=1),
            row(5, "q3", XY, 1),
            row(6, "q3", YX, TIE),
            row(7, "q4", XY, 0),
            row(8, "q4", YX, 0, status="unreadable"),
        )
    )


def items(all_of, selection, matching=None):
    return [
        line.item
        for line in comparison_rows(all_of, filter_comparisons(all_of, selection, matching))
    ]


def test_flipped_means_that_the_orders_picked_different_contestants_or_one_of_them_a_tie(four):
    assert items(four, Selection(flipped=True)) == ["q1", "q3"]
    assert items(four, Selection(flipped=True, toward="first")) == ["q1"]
    assert items(four, Selection(flipped=True, toward="second")) == ["q3"]


def test_a_comparison_with_an_unreadable_order_is_a_failure_and_no_flip(four):
    assert items(four, Selection(status="failures")) == ["q4"]
    assert items(four, Selection(status="unreadable")) == ["q4"]
    assert items(four, Selection(status="refusal")) == []


def test_noise_finds_an_order_that_got_two_verdicts(four):
    assert items(four, Selection(noise=True)) == ["q2"]


def test_counts_say_what_each_pill_would_leave(four):
    found = count_by_filter(four, Selection())
    told = {name: found[name] for name in ("all", "flipped", "first", "second", "failures")}
    assert told == {"all": 4, "flipped": 2, "first": 1, "second": 1, "failures": 1}
    assert count_by_filter(four, Selection(category="prose"))["flipped"] == 1


def test_menus_narrow_by_category_contestant_and_pair(four):
    assert items(four, Selection(category="maths")) == ["q1", "q2"]
    assert len(items(four, Selection(contestant="x", against="y"))) == 4
    assert items(four, Selection(contestant="nobody")) == []
    assert items(four, Selection(judge="gone")) == []
    assert items(four, Selection(slot=TIE)) == ["q3"]


def test_people_come_after_the_judges_and_keep_their_verdicts():
    said = [row(0, "q1", XY, 0), row(1, "q2", XY, 1), row(2, "q1", YX, 0), row(3, "q2", YX, 1)]
    who = ("human:ann", "human:ann", "j", "j")
    told = [(*made[:2], judge, *made[3:]) for made, judge in zip(said, who, strict=True)]
    all_of = index_comparisons(frame(*told))
    shown = comparison_rows(all_of, filter_comparisons(all_of, Selection(study="s")))
    assert [(line.judge, line.item) for line in shown] == [
        ("j", "q1"), ("j", "q2"), ("human:ann", "q1"), ("human:ann", "q2"),
    ]  # fmt: skip
    assert [line.verdicts[0].pick for line in shown] == [0, 1, 0, 1]


def test_a_search_keeps_the_comparisons_that_hold_a_found_judgement(four):
    # Positions 3 and 8 have the seqs 103 and 108: the second orders of q2 and q4.
    assert items(four, Selection(), [103, 108]) == ["q2", "q4"]
    assert items(four, Selection(), []) == []


def test_chips_show_each_order_and_a_noise_repeat_changes_none_of_them(four):
    q2 = comparison_rows(four, filter_comparisons(four, Selection(item="q2")))[0]
    assert [mark.pick for mark in q2.verdicts] == [0, 1]
    assert q2.model_names == ("x", "y")
    assert q2.seqs == (102, 103, 104)


def test_planned_repeats_are_reduced_to_their_mode_and_no_mode_is_no_verdict():
    found = index_comparisons(
        frame(
            row(0, "q1", XY, 0),
            row(1, "q1", XY, 1, repeat=1),
            row(2, "q1", XY, 1, repeat=2),
            row(3, "q1", YX, 0),
            row(4, "q1", YX, 1, repeat=1),
        )
    )
    (line,) = comparison_rows(found, [0])
    assert [mark.pick for mark in line.verdicts] == [1, None]
    assert [mark.is_divided for mark in line.verdicts] == [False, True]
    assert found.flipped.tolist() == [True]


def test_a_failed_repeat_is_told_beside_the_chips():
    found = index_comparisons(
        frame(
            row(0, "q1", XY, 0),
            row(1, "q1", YX, 1),
            row(2, "q1", XY, 0, status="refusal", repeat=1, noise=1),
        )
    )
    (line,) = comparison_rows(found, [0])
    assert line.failed_repeats == ("refusal",)
    assert [mark.pick for mark in line.verdicts] == [0, 1]
    assert filter_comparisons(found, Selection(status="failures")).tolist() == [0]


def test_a_failure_before_a_usable_repeat_is_told_as_well():
    found = index_comparisons(
        frame(
            row(0, "q1", XY, 0, status="refusal"),
            row(1, "q1", XY, 0, repeat=1),
            row(2, "q1", YX, 1, status="truncated"),
        )
    )
    (line,) = comparison_rows(found, [0])
    assert line.failed_repeats == ("refusal",)
    assert [(mark.pick, mark.status) for mark in line.verdicts] == [(0, "ok"), (None, "truncated")]


def test_scores_without_a_pick_are_shown_as_scores():
    found = index_comparisons(frame(row(0, "q1", XY, NO_PICK, scores="[7, 4.5]", orders=1)))
    (line,) = comparison_rows(found, [0])
    assert (line.verdicts[0].pick, line.verdicts[0].scores) == (None, (7.0, 4.5))


def test_an_empty_study_has_no_comparisons():
    found = index_comparisons(frame())
    assert len(found) == 0
    assert filter_comparisons(found, Selection(flipped=True)).tolist() == []
    assert count_by_filter(found, Selection())["all"] == 0
    assert menu_choices(found)["judge"] == []


def test_choices_offer_what_the_study_has(four):
    assert menu_choices(four) == {
        "judge": ["j"],
        "prompt": ["p"],
        "category": ["maths", "prose"],
        "contestant": ["x", "y"],
    }


def test_a_judgement_is_found_by_its_seq(four):
    assert find_comparison(four, 103) == 1
    assert find_comparison(four, 999) is None
    assert find_comparison(four, None) is None


def test_the_page_follows_what_is_opened_and_stays_within_what_there_is():
    view = list(range(0, 240, 2))  # 120 comparisons: pages 0, 1, 2
    assert page_number(view, Selection(), 2 * PAGE_SIZE) == 1
    assert page_number(view, Selection(page=2), None) == 2
    assert page_number(view, Selection(page=9), None) == 2
    assert page_number(view, Selection(page=9), 0) == 0


def test_a_selection_survives_the_address():
    selection = Selection(study="a & b", judge="é=?", flipped=True, slot=-1, page=3, key="k")
    address = urlencode(selection.non_default_fields())
    assert "flipped=1" in address and parse_selection(dict(parse_qsl(address))) == selection
    assert Selection().non_default_fields() == {}


def test_other_keys_of_an_address_are_not_ours_and_wrong_numbers_mean_nothing():
    assert parse_selection({"tab": "inspect", "page": "x", "slot": "-2", "flipped": "no"}) == (
        Selection()
    )
    assert parse_selection({"page": -3, "slot": "y"}) == Selection()


def test_a_browser_changes_filters_but_never_the_study():
    before = Selection(study="mine", judge="j", page=4, key="k")
    after = apply_click(
        before, {"set": {"study": "yours", "judge": "", "flipped": True, "evil": 1}}
    )
    assert after == Selection(study="mine", flipped=True)
    assert apply_click(before, {"clear": True}) == Selection(study="mine")
    assert apply_click(before, {"page": "2"}) == Selection(study="mine", judge="j", page=2)
    assert apply_click(before, {"key": "other"}).key == "other"
    assert [apply_click(before, odd) for odd in (None, 3, "x", {"set": 1})] == [before] * 4


def test_a_lean_goes_away_with_the_flips():
    flips = Selection(study="s", flipped=True, toward="first")
    assert apply_click(flips, {"set": {"flipped": False}}) == Selection(study="s")
