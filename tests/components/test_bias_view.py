"""What the bias panels say about judges whose bias is known."""

from __future__ import annotations

import pytest

from components import bias_view, ranking_view
from components.bias_view import Lean, flip_sentence, leans
from components.rows import Filter, row_names

NAME = "two judges"


def test_a_judge_that_always_picks_the_first_decides_by_position(judged):
    rows = {row.judge: row for row in leans(judged.frame(NAME))}
    # 40 items, one pair each: all 40 verdicts flip, all toward first. The fair judge never flips.
    first, fair = rows["always first"], rows["fair"]
    assert (first.pairs, first.flips, first.first, first.second) == (40, 40, 40, 0)
    assert (fair.flips, fair.p) == (0, 1.0)
    assert "**by position**: 40 of 40 flips go to the first answer" in flip_sentence(first)
    assert flip_sentence(fair) == "All 40 pairs keep their verdict."


def test_prefers_is_said_only_when_the_test_says_so():
    unsure = Lean("x", "x", "p", pairs=40, flips=5, first=4, second=1, p=0.375)
    sure = Lean("x", "x", "p", pairs=40, flips=15, first=14, second=1, p=0.001)
    assert flip_sentence(unsure).startswith("**No side preferred**")
    assert "toward the answer shown first**: 14 flips against 1" in flip_sentence(sure)


def test_p_values_are_adjusted_for_the_number_of_rows():
    # Holm: sorted .01, .04 of two rows: .01 x 2 = .02, then max(.02, .04 x 1) = .04.
    rows = [Lean(n, n, "p", 9, 9, 9, 0, p) for n, p in (("a", 0.04), ("b", 0.01))]
    assert [row.p for row in bias_view._holm(rows)] == [pytest.approx(0.04), pytest.approx(0.02)]


def test_the_finding_counts_what_the_rows_are(judged):
    title, _ = bias_view.show_finding(judged.frame(NAME))
    # 40 flips of 80 pairs over both judges, one of the two with a preferred side.
    assert title.startswith("1 of 2 judges prefer a side; swapping the answers changes 50")


def test_one_judge_alone_is_named(judged):
    frame = Filter(judge="always first").apply(judged.frame(NAME))
    title, _ = bias_view.show_finding(frame)
    assert title.startswith("Swap two answers, and always first changes its mind on 100")


def test_every_measure_has_a_matrix_with_both_judges(judged):
    for measure in bias_view.MEASURES:
        html = bias_view.show_matrix(judged.frame(NAME), measure)
        assert "always first" in html
        assert "fair" in html
        assert "nan" not in html.lower()


def test_slots_of_a_first_slot_judge_are_all_first(judged):
    frame = Filter(judge="always first").apply(judged.frame(NAME))
    figure = bias_view.show_slots(frame)
    assert figure is not None
    assert "100" in figure["summary"]


def test_nothing_judged_is_an_empty_state_and_no_error(judged):
    nobody = Filter(judge="nobody").apply(judged.frame(NAME))
    assert bias_view.show_finding(nobody)[0] == "Nothing has been judged yet."
    assert "Nothing to show yet" in bias_view.show_matrix(nobody, "Consistency")
    assert bias_view.show_slots(nobody) is None
    assert bias_view.show_kpis(nobody, 0, 0) == ""
    assert "No pairs here" in ranking_view.show_leaderboard(nobody)
    assert ranking_view.show_elo(nobody) is None
    assert ranking_view.show_win_rates(nobody) is None


def test_a_line_of_the_first_screen_says_what_its_numbers_are(judged):
    frame = Filter(judge="always first").apply(judged.frame(NAME))
    (row,) = bias_view.first_visit_rows(frame)
    assert row.consistency.value == 0
    assert "Flips **100" in row.meaning
    assert "(noise floor 0" in row.meaning
    assert "100\u202f% first" in row.meaning
    assert "right on 50\u202f% of known pairs" in row.meaning


def test_the_leaderboard_ranks_the_right_answer_first(judged):
    frame = Filter(judge="fair").apply(judged.frame(NAME))
    html = ranking_view.show_leaderboard(frame)
    assert html.index("precise") < html.index("flawed")
    assert "Regularised." in html  # precise won every battle: no finite gap of its own


def test_rows_are_named_by_what_differs(judged):
    assert set(row_names(judged.frame(NAME)).values()) == {"always first", "fair"}
