"""Win rates, rules for both orders, missing verdicts; published numbers of MT-Bench and PRD."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from metrics.estimation.intervals import mean_estimate
from metrics.position import position_measures
from metrics.win_rates import counting_rules, win_rates
from metrics.win_rates.merged_orders import agreement_of_merged_orders, merge_both_orders
from tests.metrics.frames import build, llmbar, mtbench, pair, patterns, prd, records, rotated
from tests.page_words import says

ROWS = [
    *pair("q1", 0, 1),  # x 2-0
    *pair("q2", 0, 0),  # split
    *pair("q3", 0, "tie"),  # x and a tie
    *pair("q4", "tie", 0),  # tie, then y
    *pair("q5", 0, None),  # half unread
]


def rate(frame, **rules):
    return {name: got.value for name, got in win_rates.win_rate(frame, **rules).items()}


def test_every_readable_verdict_counts_and_ties_are_half():
    # x: q1 1+1, q2 1+0, q3 1+½, q4 ½+0, q5 1: 6 of 9.
    assert rate(build(ROWS)) == pytest.approx({"x": 6 / 9, "y": 3 / 9})


def test_merged_orders_are_held_against_people():
    # q1: x in both orders, people x: right. q2: x, then y: a tie, people x: wrong.
    vote = {"judge": "human:a", "prompt": "vote", "shown": "xy", "pick": 0, "orders": 1}
    votes = [{"item": "q1", **vote}, {"item": "q2", **vote}]
    merged = merge_both_orders(build([*pair("q1", 0, 1), *pair("q2", 0, 0)]))
    assert agreement_of_merged_orders(merged, build(votes))["j"].value == 0.5
    assert agreement_of_merged_orders(merged, build([])) == {}


@pytest.mark.parametrize("part", [1, 2, 7])
def test_rates_counted_in_parts_are_those_of_the_whole(part, monkeypatch):
    frame = build(ROWS)
    whole = win_rates.win_rates_by_cell(frame, ["judge"])
    monkeypatch.setattr(win_rates, "BLOCK_ROWS", part)
    assert win_rates.win_rates_by_cell(frame, ["judge"]) == whole


def test_strict_wants_two_wins():
    # q1 x; q2, q3, q4 ties; q5 half unread, left out: (1 + 3/2)/4.
    assert rate(build(ROWS), combine="strict")["x"] == pytest.approx(2.5 / 4)
    assert win_rates.win_loss_record(build(ROWS), "strict")["x"] == {
        "matches": 4, "wins": 1, "losses": 0, "ties": 3
    }  # fmt: skip


def test_majority_lets_a_win_and_a_tie_win():
    # q1 x, q2 tie, q3 x, q4 y: (2 + ½)/4.
    assert rate(build(ROWS), combine="majority")["x"] == pytest.approx(2.5 / 4)
    assert win_rates.win_loss_record(build(ROWS), "majority")["y"]["wins"] == 1


def test_unreadable_as_tie_is_an_option_and_errors_stay_out():
    # q5's unread half becomes a tie: x 6.5 of 10; strict: q5 is a tie too, (1 + 4/2)/5.
    assert rate(build(ROWS), unreadable="tie")["x"] == pytest.approx(6.5 / 10)
    assert rate(build(ROWS), unreadable="tie", combine="strict")["x"] == pytest.approx(3 / 5)
    failed = build([*ROWS, *pair("q6", None, None, status="error")])
    assert rate(failed, unreadable="tie")["x"] == pytest.approx(6.5 / 10)


def test_ties_can_be_dropped_as_visit_bench_does():
    # x decisive: q1 2, q2 1 of 2, q3 1, q4 0 of 1, q5 1: 5 of 7.
    assert rate(build(ROWS), ties="drop")["x"] == pytest.approx(5 / 7)


def test_an_unknown_rule_is_an_error_with_the_known_ones():
    with pytest.raises(ValueError, match="pooled, strict, majority"):
        win_rates.win_rate(build(ROWS), combine="strictly")


def test_head_to_head_mirrors_and_holds_only_those_who_met():
    frame = build([*pair("q1", 0, 1), *pair("q2", 0, 0, x="x", y="z")])
    got = win_rates.head_to_head(frame)
    assert got["x"]["y"].value == 1 and got["y"]["x"].value == 0
    assert got["x"]["z"].value == 0.5
    assert "z" not in got["y"]


def test_win_rates_by_position_split_the_verdicts_of_each_model():
    # x is shown first in the first order of each pair: q1 1, q2 1, q3 1, q4 ½, q5 1; second: q1 1,
    # q2 0, q3 ½, q4 0, q5 unread.
    got = win_rates.win_rate_by_position(build(ROWS))
    assert [(one.value, one.n) for one in got["x"]] == [
        (pytest.approx(4.5 / 5), 5), (pytest.approx(1.5 / 4), 4)
    ]  # fmt: skip
    assert [one.value for one in got["y"]] == pytest.approx([2.5 / 4, 0.5 / 5])
    assert all(one.low <= one.value <= one.high for one in (*got["x"], *got["y"]))


def test_without_a_recorded_order_no_win_rate_by_position_is_given():
    unknown = build([{**row, "orders": 0} for row in ROWS])
    for parts in win_rates.win_rate_by_position(unknown).values():
        assert [one.value for one in parts] == [None, None]
        assert all("shown first" in one.note for one in parts)
    assert win_rates.win_rate(unknown)["x"].n == 9


def test_a_win_rate_of_several_judges_says_that_they_are_pooled():
    frame = build([r for k in range(3) for j in "abc" for r in pair(f"q{k}", 0, 1, judge=j)])
    assert says(win_rates.win_rate(frame)["x"].note, "3 judges", "pooled")
    alone = win_rates.win_rates_by_cell(frame, ["judge"])
    assert not any("pooled" in one.note for rates in alone.values() for one in rates.values())


def test_missing_verdicts_bound_the_win_rate():
    # x has 6 of 9, one verdict missing: between 6/10 and 7/10.
    got = win_rates.win_rate_bounds(build(ROWS))["x"]
    assert (got.value, got.low, got.high) == pytest.approx((6 / 9, 0.6, 0.7))
    assert got.note == "1 of 10 verdicts missing"


def test_among_options_a_win_is_being_chosen():
    frame = build(rotated("q", [1, 2, "tie"]))
    # o0 is picked twice, the tie gives a third to each: o0 (2 + 1/3)/3.
    assert rate(frame)["o0"] == pytest.approx(7 / 9)
    assert win_rates.head_to_head(frame) == {}


@pytest.mark.parametrize(
    "frame",
    [build([]), build(pair("q", None, None)), build([{"item": "q", "shown": "x", "pick": None}])],
    ids=["none", "unreadable", "one contestant"],
)
def test_nothing_to_count_is_unknown_not_zero(frame):
    for rules in ({}, {"combine": "strict"}, {"ties": "drop"}):
        assert all(
            got.value is None and got.note for got in win_rates.win_rate(frame, **rules).values()
        )
    win_rates.head_to_head(frame), win_rates.win_loss_record(frame)
    assert win_rates.win_rate_by_position(frame) == {}
    assert all(got.value is None for got in win_rates.win_rate_bounds(frame).values())


PICK = st.sampled_from([0, 1, "tie", None])
GAMES = st.lists(
    st.tuples(st.sampled_from(["xy", "xz", "yz"]), PICK, PICK), min_size=1, max_size=12
)


def games(rows):
    return [
        row for k, (ab, a, b) in enumerate(rows) for row in pair(f"q{k}", a, b, x=ab[0], y=ab[1])
    ]


@given(GAMES)
def test_both_positions_together_give_the_win_rate(rows):
    whole = win_rates.win_rate(build(games(rows)))
    for name, parts in win_rates.win_rate_by_position(build(games(rows))).items():
        assert sum(one.n for one in parts) == whole[name].n
        won = sum(one.value * one.n for one in parts if one.n)
        assert not whole[name].n or won == pytest.approx(whole[name].value * whole[name].n)


@given(GAMES, st.sampled_from(["pooled", "strict", "majority"]))
def test_swapping_the_sides_mirrors_win_rates(rows, combine):
    swap = {0: 1, 1: 0, "tie": "tie", None: None}
    turned = [
        {**row, "shown": row["shown"][::-1], "pick": swap[row["pick"]]} for row in games(rows)
    ]
    assert rate(build(games(rows)), combine=combine) == pytest.approx(
        rate(build(turned), combine=combine)
    )


@given(GAMES)
def test_renaming_contestants_renames_the_table(rows):
    names = {"x": "c", "y": "a", "z": "b"}
    renamed = [{**row, "shown": [names[n] for n in row["shown"]]} for row in games(rows)]
    one, two = rate(build(games(rows))), rate(build(renamed))
    assert {names[name]: value for name, value in one.items()} == pytest.approx(two)


@given(GAMES)
def test_head_to_head_adds_up_to_one(rows):
    table = win_rates.head_to_head(build(games(rows)))
    for a, row in table.items():
        for b, got in row.items():
            assert got.value + table[b][a].value == pytest.approx(1)


@given(GAMES)
def test_unreadable_rows_change_no_win_rate(rows):
    more = [
        *games(rows),
        *pair("bad", None, None, x="x", y="y"),
        *pair("bad", None, None, x="y", y="z"),
    ]
    one, two = win_rates.win_rate(build(games(rows))), win_rates.win_rate(build(more))
    assert {k: v for k, v in two.items() if v.n} == {k: v for k, v in one.items() if v.n}


def test_prd_win_rates_by_gpt_4_are_as_published():
    frame = prd()
    got = rate(frame[frame["judge"] == "gpt-4"])
    wanted = {
        "gpt-4": 0.85625, "claude-v1": 0.70859375, "vicuna-13b": 0.3484375,
        "gpt-3.5-turbo": 0.3421875, "bard": 0.24453125,
    }  # fmt: skip
    assert got == pytest.approx(wanted, abs=1e-12)


def test_mt_bench_pair_counts_are_as_published():
    frame = mtbench()
    record = win_rates.win_loss_record(frame, "strict")
    assert record["phi-3"] == {"matches": 73, "wins": 18, "losses": 20, "ties": 35}
    counts = position_measures.flip_counts(frame)
    assert (counts["pairs"], counts["flips"]) == (73, 27)
    assert (counts["first_twice"], counts["second_twice"]) == (16, 2)
    got = rate(frame, combine="strict")
    assert got == pytest.approx({"phi-3": 0.4863, "phi-3-dpo": 0.5137}, abs=5e-5)


@pytest.mark.parametrize("part", ["Manual", "GPTOut"])
@pytest.mark.parametrize("judge", ["GPT-4", "ChatGPT"])
@pytest.mark.parametrize("prompt", ["CoT", "Vanilla"])
def test_llmbar_counts_are_the_authors(part, judge, prompt):
    frame = llmbar(part, judge, prompt)
    published = json.loads(records("llmbar", part, judge, prompt, "statistics.json").read_text())
    for key, first in (("correct_False", "output_1"), ("correct_True", "output_2")):
        got = position_measures.accuracy(frame[frame["first"] == first])
        right, all_items = (int(x) for x in published[key].split(" = ")[0].split(" / "))
        assert round(got.value * got.n) == right
        assert frame["item"].nunique() == all_items
    got = position_measures.consistency(frame)
    assert round(got.value * got.n) == int(published["equal"].split(" / ")[0])


def test_a_long_run_of_ties_is_half_with_an_interval():
    got = win_rates.win_rate(patterns({"CC": 12}))["x"]
    assert got.value == 0.5 and got.low < 0.5 < got.high


def test_graded_replies_decide_where_hard_verdicts_cancel():
    # First slot both times, but far more surely when x is first: .8 - .2 = .6 for x.
    rows = pair("q", 0, 0)
    rows[0]["p"], rows[1]["p"] = (0.9, 0.1), (0.6, 0.4)
    frame = build(rows)
    assert win_rates.win_rate(frame, "majority")["x"].value == 0.5
    assert win_rates.win_rate(frame, "graded")["x"].value == 1.0
    for with_x_first, with_y_first, won in ((0.8, 0.9, 0), (0.9, 0.8, 1)):  # .6 − .8 and .8 − .6
        rows[0]["p"], rows[1]["p"] = ((p, 1 - p) for p in (with_x_first, with_y_first))
        assert win_rates.win_rate(build(rows), "graded")["x"].value == won
    plain = build(pair("q", 0, "tie"))  # not graded: as majority
    assert win_rates.win_rate(plain, "graded")["x"].value == 1.0


def test_remedies_are_names_of_counting_rules():
    names = {"single": "pooled", "agree": "strict", "pool": "majority", "graded": "graded"}
    assert {name: counting_rules.counting_rule_of_remedy_or_same(name) for name in names} == names


def test_the_win_rate_of_one_contestant_is_a_measure() -> None:
    # x wins in both orders, then a flip, then nothing for z.
    frame = build([*pair("q1", 0, 1), *pair("q2", 0, 0), *pair("q3", 0, 1, x="v", y="w")])
    got = {name: win_rates.win_rate_measure(name).estimate(frame) for name in ("x", "y", "v", "z")}
    assert {name: one.value for name, one in got.items()} == {
        "x": 0.75, "y": 0.25, "v": 1.0, "z": None,
    }  # fmt: skip
    assert (got["x"].n, got["x"].items) == (4, 2)


def test_the_difference_of_two_win_rates_is_paired_by_item():
    """Among three options, of 8 choices of each of 6 items; x and y are chosen as often on every
    item, so their difference is sure, though both rates vary. z is chosen more or less often."""
    rows = [
        {"item": f"q{k}", "shown": "xyz", "pick": min(n // (1 + k // 2), 2), "repeat": n}
        for k in range(6) for n in range(8)
    ]  # fmt: skip
    frame = build(rows)
    same = win_rates.win_rate_difference(frame, "x", "y")
    assert same.value == pytest.approx(0) and same.items == 6
    got = win_rates.win_rate_difference(frame, "z", "x")
    by_item = [(8 - 3 * (1 + k // 2)) / 8 for k in range(6)]  # z: 8 less those of x and y
    wanted = mean_estimate(by_item, range(6), bounds=(-1, 1))
    assert (got.value, got.low, got.high) == pytest.approx((wanted.value, wanted.low, wanted.high))
    back = win_rates.win_rate_difference(frame, "x", "z")
    assert (back.low, back.high) == pytest.approx((-got.high, -got.low))


def test_the_difference_of_two_win_rates_follows_the_counting_rule():
    frame = build(ROWS)
    for rule in (("pooled", "exclude"), ("strict", "exclude"), ("pooled", "tie")):
        rates = win_rates.win_rate(frame, *rule)
        wanted = rates["x"].value - rates["y"].value
        assert win_rates.win_rate_difference(frame, "x", "y", *rule).value == pytest.approx(wanted)
