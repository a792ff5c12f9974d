"""Tables of both orders: the same flips and tests as counted one by one."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from metrics.estimation.multiple_comparisons import holm_adjust
from metrics.position import order_tests
from metrics.position.missing_bounds import consistency_bounds, first_share_bounds
from metrics.position.order_tables import OrderTable, build_order_tables, pool_order_tables
from metrics.position.position_measures import flip_counts
from tests.metrics.frames import build, pair, patterns, prd

ORACLE = {"AA": 12, "AB": 40, "BA": 30, "BB": 5, "CC": 6, "AC": 4, "BC": 3}


def test_the_published_table_of_a_hundred_pairs():
    # By hand: primacy AA 12 + AC 4 = 16, recency BB 5 + BC 3 = 8, 76 of 100 kept.
    (table,) = build_order_tables(patterns(ORACLE), []).values()
    assert (table.pairs, table.flips) == (100, 24)
    assert (table.toward_first, table.toward_second) == (16, 8)
    assert (table.first_slot_twice, table.second_slot_twice) == (12, 5)
    assert table.run_tests()["sign"].p == pytest.approx(0.151590, abs=1e-6)
    assert table.run_tests()["mcnemar"].statistic == pytest.approx(2.66667, abs=1e-5)


def test_the_symmetry_tests_read_the_table_itself():
    tests = OrderTable(np.array([[40, 4, 12], [2, 6, 3], [5, 1, 27]])).run_tests()
    assert tests["stuart_maxwell"].p == pytest.approx(0.123981, abs=1e-6)
    assert tests["bowker"].p == pytest.approx(0.207959, abs=1e-6)


def test_no_pair_no_test():
    assert build_order_tables(build([]), ["judge"]) == {}
    empty = pool_order_tables({}, [])
    assert {test.p for test in empty.run_tests().values()} == {None}
    assert OrderTable(np.diag([0, 5, 0])).permutation_test().p == 1  # ties only: nothing to permute


choice_pairs = st.dictionaries(
    st.sampled_from(["AA", "AB", "BA", "BB", "CC", "AC", "CA", "BC", "CB"]),
    st.integers(1, 5), min_size=1,
)  # fmt: skip


@given(choice_pairs)
def test_the_permutation_test_of_pairs_is_the_general_one(counts):
    frame = patterns(counts)
    (table,) = build_order_tables(frame, []).values()
    slow, fast = order_tests.permutation_test(frame, 2), table.permutation_test()
    assert fast.p == pytest.approx(slow.p, abs=1e-9)
    assert fast.statistic == pytest.approx(slow.statistic)


@given(choice_pairs)
def test_the_table_is_the_outcome_table_and_counts_its_flips(counts):
    frame = patterns(counts)
    (table,) = build_order_tables(frame, []).values()
    assert table.counts.tolist() == order_tests.both_orders_table(frame).tolist()
    flips = flip_counts(frame)
    assert table.flips == flips["flips"]
    assert (table.toward_first, table.toward_second) == (
        flips["toward_first"],
        flips["toward_second"],
    )


def test_many_ties_and_flips_are_no_burden():
    # 40,000 flips evenly to both sides: nothing to see; 21,000 against 19,000: surely a lean.
    even = OrderTable(np.array([[0, 10_000, 10_000], [10_000, 0, 0], [10_000, 0, 0]]))
    lean = OrderTable(np.array([[0, 0, 21_000], [0, 0, 0], [19_000, 0, 0]]))
    assert even.permutation_test().p == 1
    assert lean.permutation_test().p < 1e-20
    assert lean.permutation_test().p == pytest.approx(lean.run_tests()["sign"].p, rel=1e-6)


def test_prd_cells_add_up_to_the_published_flips():
    tables = build_order_tables(prd(), ["judge", "category"])
    by_judge = {
        judge: pool_order_tables(tables, [key for key in tables if key[0] == judge])
        for judge in ("gpt-4", "bard", "vicuna-13b")
    }
    leans = {name: (t.toward_first, t.toward_second) for name, t in by_judge.items()}
    assert leans == {"gpt-4": (237, 12), "bard": (498, 7), "vicuna-13b": (178, 323)}


def test_holm_steps_down_and_skips_what_was_not_tested():
    # .01 x 3, then max(.03, .02 x 2), then max(.04, .5): the missing one is not counted.
    assert holm_adjust([0.5, 0.01, None, 0.02]) == [
        0.5,
        pytest.approx(0.03),
        None,
        pytest.approx(0.04),
    ]
    assert holm_adjust([]) == []


def test_leans_are_counted_by_item_and_kept_when_categories_are_pooled():
    rows = [
        row
        for item, category, picks in (("q1", "a", (0, 0, 0)), ("q2", "b", (0, 1, 1, 1)))
        for k, pick in enumerate(picks)
        for row in pair(item, pick, pick, x=f"x{k}", y=f"y{k}", category=category)
    ]
    tables = build_order_tables(build(rows), ["category"])
    assert [table.flip_balance_by_item.tolist() for table in tables.values()] == [[3], [-2]]
    pooled = pool_order_tables(tables, tables)
    assert sorted(pooled.flip_balance_by_item.tolist()) == [-2, 3]
    assert pooled.run_tests()["items"].p == 1  # one item each way


def test_a_prompt_that_only_scores_has_no_missing_verdicts():
    scored = [
        {**row, "status": "ok", "scores": (7, 6), "prompt": "creation-factuality"}
        for k in range(10)
        for row in pair(f"q{k}", None, None)
    ]
    frame = build([row for k in range(10) for row in pair(f"q{k}", 0, 0)] + scored)
    assert build_order_tables(frame, ["judge"])["j",].incomplete_pairs == 0
    for bounds in (first_share_bounds, consistency_bounds):
        both = bounds(frame, ["judge", "prompt"])
        assert both["j", "creation-factuality"].low is None
        assert both["j", "p"] == bounds(frame)[()]
