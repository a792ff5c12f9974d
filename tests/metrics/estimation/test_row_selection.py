"""Row selection: which rows count for which measure."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from metrics.estimation import row_selection as s
from studies.frames.frame import NO_PICK, SUSPECT_COLUMN, TIE
from tests.metrics.frames import build, pair, rotated


def test_only_ok_and_extracted_are_evidence_and_noise_repeats_are_apart():
    rows = [
        *pair("q1", 0, 1),
        *pair("q2", None, 1),
        *pair("q3", 0, 0, status="extracted"),
        *pair("q4", 0, 0, noise=True),
    ]
    # q1: two; q2: the second; q3: two; q4: noise, none. Five.
    assert len(s.select_readable_without_noise(build(rows))) == 5


def test_a_format_that_only_scores_is_readable_but_picks_nothing():
    frame = build([{"item": "q", "shown": "xy", "pick": None, "status": "ok", "scores": [7, 8]}])
    assert (len(s.select_readable_without_noise(frame)), len(s.select_picks(frame))) == (1, 0)


def test_repeats_are_reduced_to_their_mode_and_no_mode_is_a_tie():
    picks = [(0, 0), (0, 1), (1, "tie")]
    # Order xy: 0, 0, 1 → 0. Order yx: 0, 1, tie → no mode → tie.
    rows = [row for k, (a, b) in enumerate(picks) for row in pair("q", a, b, repeat=k)]
    reduced = s.modal_verdicts(s.select_picks(build(rows)))
    assert reduced.set_index("shown")["pick"].to_dict() == {"x\x1fy": 0, "y\x1fx": TIE}


def test_a_set_is_complete_when_every_planned_order_was_read():
    rows = [
        *pair("q1", 0, 1),
        *pair("q2", None, 1),
        *rotated("q3", [0, 1, 2]),
        *rotated("q4", [0, None, 2]),
        {"item": "q5", "shown": "xy", "pick": 0, "orders": 1},
    ]
    assert s.select_picks_of_complete_sets(build(rows))["item"].unique().tolist() == ["q1", "q3"]


def test_an_unread_repeat_does_not_make_an_order_unread():
    rows = [*pair("q", None, 1), *pair("q", 0, None, repeat=1)]
    assert len(s.select_picks_of_complete_sets(build(rows))) == 2


def test_the_chosen_contestant_is_the_one_in_the_picked_slot():
    frame = build(rotated("q", [0, 1, "tie"]))
    # Rotated right by 1: o2 o0 o1, slot 0 is o2. By 2: o1 o2 o0, slot 1 is o2. Then a tie.
    assert s.chosen_contestants(frame, ["o0", "o1", "o2"]).tolist() == [2, 2, TIE]


def test_group_codes_are_dense_and_in_order_of_appearance():
    frame = build([*pair("b", 0, 0), *pair("a", 0, 0)])
    codes, count = s.group_codes(frame, s.COMPARISON_KEY)
    assert (codes.tolist(), count) == ([0, 0, 1, 1], 2)


@given(st.lists(st.sampled_from(["b", "a", None, "é"])))
def test_used_categories_are_the_values_that_occur(values: list[str | None]) -> None:
    column = pd.Series(pd.Categorical(values, categories=["unused", "é", "b", "a"]))
    assert s.used_categories(column) == [name for name in ("é", "b", "a") if name in values]
    assert set(s.used_categories(column.astype(object))) == {name for name in values if name}


def test_rows_without_a_known_order_are_left_out():
    frame = build([{"item": f"q{k}", "shown": "xy", "pick": 0, "orders": k} for k in range(3)])
    assert s.select_known_order(frame)["item"].astype(str).tolist() == ["q1", "q2"]
    whole = s.select_known_order(frame.iloc[1:])
    assert len(whole) == 2
    assert len(s.select_known_order(frame.drop(columns="orders"))) == 3


def test_pairs_are_rows_with_two_answers():
    one = {"item": "q2", "shown": ("x",), "pick": None, "orders": 1}
    frame = build([*pair("q1", 0, 1), one, *rotated("q3", [0, 1, 2])])
    assert s.select_pairs(frame)["item"].astype(str).tolist() == ["q1", "q1"]


def test_people_and_judges_are_told_apart_by_name():
    frame = build([*pair("q", 0, 1), *pair("q", 0, 1, judge="human:a")])
    assert s.people_mask(frame).tolist() == [False, False, True, True]
    assert s.people_mask(frame.iloc[:0]).tolist() == []
    assert s.select_judges(frame)["judge"].astype(str).tolist() == ["j", "j"]
    assert len(s.select_judges(frame, ["human:a", "z"])) == 2
    people = s.select_rows(frame, s.people_mask(frame))
    assert len(s.select_judges(people)) == 2, "without a model, people are the judges"


def test_suspected_rows_are_those_marked():
    frame = build(pair("q", 0, 1))
    assert s.suspected_injection_mask(frame).tolist() == [False, False]
    assert s.suspected_injection_mask(frame.assign(**{SUSPECT_COLUMN: [True, False]})).tolist() == [
        True,
        False,
    ]


def test_pooled_people_are_one_judge_and_stay_apart_in_groups():
    frame = build([*pair("q", 0, 1, judge="human:a"), *pair("q", 0, 1, judge="human:b")])
    pooled = s.pool_as_one_judge(frame, "people")
    assert pooled["judge"].astype(str).tolist() == ["people"] * 4
    assert pooled["person"].astype(str).tolist() == ["human:a"] * 2 + ["human:b"] * 2
    assert s.group_codes(pooled, s.COMPARISON_KEY)[1] == 2
    assert s.group_codes(pooled, ["judge"])[1] == 1
    assert s.group_codes(pooled, ["item", "comparison"])[1] == 1
    names = s.columns_with_person_and_question(pooled.assign(question="t"), ["item"])
    assert names == ["item", "person", "question"]
    assert s.columns_with_person_and_question(frame, ["item"]) == ["item"]


def test_an_item_column_has_its_value_or_the_rest():
    frame = build([*pair("q1", 0, 1), *pair("q2", 0, 1)])
    got = s.add_column_by_item(frame, "task", {"q1": "maths"}, "other")["task"]
    assert got.astype(str).tolist() == ["maths", "maths", "other", "other"]
    assert list(got.cat.categories) == ["maths", "other"]
    assert s.add_column_by_item(frame.iloc[:0], "task", {})["task"].tolist() == []
    assert set(s.add_column_by_item(frame, "task", {})["task"]) == {""}


def test_the_probability_of_a_tie_is_shared_by_all_answers():
    rows = pair("q", 0, 1)
    rows[0]["p"], rows[1]["p"] = (0.5, 0.25), (0.5, float("nan"))
    got = s.points_from_probabilities(build(rows))
    assert got[0].tolist() == [0.625, 0.375]
    assert np.isnan(got[1]).all()
    three = [{**rotated("q", [0, 1, 2])[0], "p": (0.5, 0.2, 0.0)}, {**rows[0]}]
    points = s.points_from_probabilities(build(three))
    assert points[0].tolist() == pytest.approx([0.6, 0.3, 0.1])
    assert points[1][:2].tolist() == [0.625, 0.375] and np.isnan(points[1][2])
    over = [{**rows[0], "p": (0.75, 0.5)}]  # rounded sums above 1 leave nothing for a tie
    assert s.points_from_probabilities(build(over))[0].tolist() == [0.75, 0.5]
    assert np.isnan(s.points_from_probabilities(build(pair("q", 0, 1)))).all()
    assert s.points_from_probabilities(build([])).shape == (0, 0)


def test_items_are_counted_by_question_where_several_share_one():
    rows = [*pair("q1", 0, 1, category="c"), *pair("q2", 0, 1, category="c")]
    frame = build([*rows, *pair("q3", 0, 1, category="d")])
    assert s.count_items_by(frame, "category") == {"c": 2, "d": 1}
    asked = frame.assign(question=pd.Categorical(["t", "t", "t", "t", "u", "u"]))
    assert s.count_items_by(asked, "category") == {"c": 1, "d": 1}
    assert len(set(s.item_codes(asked).tolist())) == 2
    assert s.resampling_unit(frame).name == "item"


def test_picks_are_counted_by_group_with_the_ties_first():
    frame = build([*pair("q1", 0, "tie"), *pair("q2", 1, 1)])
    group = np.array([0, 0, 2, 2])
    assert s.count_picks(frame, group, 3).tolist() == [[1, 1, 0], [0, 0, 0], [0, 0, 2]]
    assert s.count_picks(frame.iloc[:0], group[:0], 2).tolist() == [[0], [0]]


def test_slots_hold_contestants_and_shorter_rows_have_none():
    frame = build([*rotated("q", [0, 1, 2])[:1], *pair("q", 0, 1, x="o0", y="o1")])
    names = s.contestants(frame)
    assert names == ["o0", "o1", "o2"]
    # Rotated right by 1: o2 o0 o1; then the pair in its two orders.
    assert s.slot_contestants(frame, names).tolist() == [
        [2, 0, 1], [0, 1, s.NO_SLOT], [1, 0, s.NO_SLOT],
    ]  # fmt: skip
    assert s.chosen_contestants(frame, names).tolist() == [2, 0, 0]
    assert s.chosen_contestants(frame.iloc[:0], names).tolist() == []
    unread = build(pair("q", None, "tie"))
    assert s.chosen_contestants(unread, ["x", "y"]).tolist() == [NO_PICK, TIE]


def test_the_first_listed_order_of_each_pair():
    frame = build([*pair("q", 0, 1, x="b", y="a"), *pair("q", 0, 1, x="a", y="c")])
    assert [str(one) for one in s.first_listed_orders(frame)] == ["b\x1fa", "a\x1fc"]
    assert s.first_row_per_group(np.array([1, 0, 1, 0, 2]), 3).tolist() == [1, 0, 4]


def test_a_set_needs_two_planned_orders_and_each_of_them_read():
    one = {"item": "q3", "shown": "xy", "pick": 0, "orders": 1}
    rows = [*pair("q1", 0, 1), *pair("q2", 0, 1, orders=3), one]
    assert s.complete_set_mask(build(rows)).tolist() == [True, True, False, False, False]
