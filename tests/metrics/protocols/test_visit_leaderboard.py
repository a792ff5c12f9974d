"""VisIT-Bench's leaderboard: 2-0 or a tie, wins over decisive against the reference, cost."""

from __future__ import annotations

import math

import numpy as np
import pytest

from metrics.estimation import row_selection
from metrics.protocols.visit_leaderboard import cost_per_head_to_head, visit_leaderboard_rows
from tests.metrics.frames import build, pair
from tests.page_words import pattern, says

REF = "@reference"


def rng():
    return np.random.default_rng(0)


def met(item: str, first, second, x="m", y=REF, **more):
    """x first, then y first; slots."""
    return pair(item, first, second, x=x, y=y, **more)


STUDY = [
    *met("q1", 0, 1),  # m 2-0
    *met("q2", 0, 0),  # 1-1: a tie
    *met("q3", 1, 0),  # the reference 2-0
    *met("q4", 0, None),  # one reply unreadable: a tie in VisIT-Bench
    *met("q5", 0, 1, x="m", y="k"),  # m 2-0 over k
    *met("q6", 1, 0, x="k"),  # the reference 2-0 over k
    *met("q7", "tie", 1, x="k"),  # win and tie: strict a tie, majority a win of k
]


def rows(**more):
    found = visit_leaderboard_rows(build(STUDY), rng=rng(), orders=5, rounds=20, **more)
    return {row.model: row for row in found}


def test_the_win_rate_is_over_decisive_battles_and_matches_count_ties():
    got = rows()
    # m met the reference four times: won, tied, lost, tied (unreadable). Decisive 2, won 1.
    assert (got["m"].against_reference.value, got["m"].against_reference.n) == (0.5, 2)
    assert got["m"].reference_matches == 4
    assert (got["m"].matches, got["m"].wins, got["m"].losses, got["m"].ties) == (5, 2, 1, 2)
    assert (got["k"].against_reference.value, got["k"].against_reference.n) == (0, 1)
    assert got[REF].against_reference.value is None and got[REF].reference_matches == 0
    assert "is the reference" in got[REF].against_reference.note
    assert says(got["m"].against_reference.note, "win needs both")


def test_elo_is_one_online_pass_over_merged_outcomes():
    # K 4 from 1000, in plan order: m>ref, tie, ref>m, tie, m>k, ref>k, tie.
    r = {"m": 1000.0, "k": 1000.0, REF: 1000.0}
    played = [("m", REF, 1), ("m", REF, 0.5), ("m", REF, 0), ("m", REF, 0.5), ("m", "k", 1),
              ("k", REF, 0), ("k", REF, 0.5)]  # fmt: skip
    for a, b, s in played:
        gain = 4 * (s - 1 / (1 + 10 ** ((r[b] - r[a]) / 400)))
        r[a], r[b] = r[a] + gain, r[b] - gain
    got = rows()
    assert {name: row.elo.estimate.value for name, row in got.items()} == pytest.approx(r)
    assert [
        row.model for row in visit_leaderboard_rows(build(STUDY), rng=rng(), orders=0, rounds=0)
    ] == (sorted(r, key=lambda name: -r[name]))


def test_majority_makes_a_win_of_a_win_and_a_tie():
    got = rows(combine="majority")["k"]
    assert (got.wins, got.ties) == (1, 0)
    assert (got.against_reference.value, got.against_reference.n) == (0.5, 2)


def test_unreadable_replies_can_be_left_out_instead():
    # q4 lacks an order: without the tie rule it is no match at all.
    got = rows(unreadable="exclude")["m"]
    assert (got.matches, got.reference_matches, got.ties) == (4, 3, 1)
    assert "unusable replies excluded" in got.against_reference.note


def test_single_and_multi_image_items_are_rated_apart():
    frame = row_selection.add_column_by_item(
        build(STUDY), "images", {f"q{k}": "multi" for k in (1, 5)}, default="single"
    )
    found = visit_leaderboard_rows(frame, rng=rng(), by="images", orders=0, rounds=0)
    assert {row.category for row in found} == {"single", "multi"}
    multi = {row.model: row for row in found if row.category == "multi"}
    assert (multi["m"].wins, multi["m"].matches) == (2, 2)
    assert multi["m"].elo.estimate.value == pytest.approx(1000 + 2 + 4 * (1 - 0.5028781), abs=1e-3)
    assert multi["k"].against_reference.value is None


def test_people_are_heard_only_where_they_are_named():
    votes = [{**row, "judge": "human:ann", "orders": 1} for row in met("q1", 1, 0)]
    frame = build([*STUDY, *votes])
    assert rows()["m"].matches == 5
    ours = {row.model: row for row in visit_leaderboard_rows(frame, rng=rng(), orders=0, rounds=0)}
    assert ours["m"].matches == 5
    theirs = visit_leaderboard_rows(frame, rng=rng(), judges=["human:ann"], orders=0, rounds=0)
    assert {row.model for row in theirs} == {"m", REF}


def test_nothing_to_rank_is_an_empty_table_or_a_reason():
    assert visit_leaderboard_rows(build([]), rng=rng()) == []
    silent = visit_leaderboard_rows(build(met("q", None, None)), rng=rng(), unreadable="exclude")
    assert {row.model for row in silent} == {"m", REF}
    assert all(row.elo.estimate.value == 1000 and row.matches == 0 for row in silent)
    assert all(row.against_reference.value is None and row.against_reference.note for row in silent)
    alone = visit_leaderboard_rows(build(met("q", 0, 1, y="k")), rng=rng())
    assert all(says(row.against_reference.note, "reference", "no pair") for row in alone)
    ties = visit_leaderboard_rows(build(met("q", "tie", "tie")), rng=rng())
    assert all(row.against_reference.value is None for row in ties if row.model == "m")
    one_order = visit_leaderboard_rows(build([{**met("q", 0, 1)[0], "orders": 1}]), rng=rng())
    assert {row.model: row.wins for row in one_order} == {"m": 1, REF: 0}


def test_a_head_to_head_costs_what_all_its_calls_cost():
    # q1 .02 + .04 = .06, q2 .01 + .01 = .02: mean .04. The noise repeat of q1 is not part of it.
    rows = [*pair("q1", 0, 1), *pair("q2", 0, None), {**pair("q1", 0, 1)[0], "noise": True}]
    got = cost_per_head_to_head(build(rows), [0.02, 0.04, 0.01, 0.01, 0.5])
    assert got.dollars.value == pytest.approx(0.04)
    assert (got.head_to_heads, got.calls, got.unpriced) == (2, 4, 0)
    assert got.total == pytest.approx(0.08)
    with_extraction = cost_per_head_to_head(build(rows), [0.02, 0.04, 0.01, 0.01, 0.5], extra=0.02)
    assert with_extraction.dollars.value == pytest.approx(0.05)


def test_an_unpriced_call_leaves_its_head_to_head_out():
    rows = build([*pair("q1", 0, 1), *pair("q2", 0, 1)])
    got = cost_per_head_to_head(rows, [0.02, math.nan, 0.01, 0.01])
    assert (got.dollars.value, got.unpriced) == (pytest.approx(0.02), 1)
    none = cost_per_head_to_head(rows, [math.nan] * 4)
    assert none.dollars.value is None and none.total is None and none.dollars.note
    assert cost_per_head_to_head(rows).dollars.value is None
    assert cost_per_head_to_head(build([]), []).dollars.value is None
    with pytest.raises(ValueError, match=pattern("cost per row")):
        cost_per_head_to_head(rows, [1.0])
