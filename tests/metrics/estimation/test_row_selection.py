"""Row selection: which rows count for which measure."""

from __future__ import annotations

import pandas as pd
from hypothesis import given
from hypothesis import strategies as st

from metrics.estimation import row_selection as s
from studies.frames.frame import TIE
from tests.metrics.frames import build, pair, rotated


def test_only_ok_and_extracted_are_evidence_and_noise_repeats_are_apart():
    rows = [
        *pair("q1", 0, 1),
        *pair("q2", None, 1),
        *pair("q3", 0, 0, status="extracted"),
        *pair("q4", 0, 0, noise=True),
    ]
    # q1: two; q2: the second; q3: two; q4: noise, none. Five.
    assert len(s.select_readable(build(rows))) == 5


def test_a_format_that_only_scores_is_readable_but_picks_nothing():
    frame = build([{"item": "q", "shown": "xy", "pick": None, "status": "ok", "scores": [7, 8]}])
    assert (len(s.select_readable(frame)), len(s.select_picks(frame))) == (1, 0)


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
    assert s.select_complete_sets(build(rows))["item"].unique().tolist() == ["q1", "q3"]


def test_an_unread_repeat_does_not_make_an_order_unread():
    rows = [*pair("q", None, 1), *pair("q", 0, None, repeat=1)]
    assert len(s.select_complete_sets(build(rows))) == 2


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
