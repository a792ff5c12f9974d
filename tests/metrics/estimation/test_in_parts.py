"""Counting in blocks, which saves memory, gives the numbers of counting at once."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from metrics.catalogue.records import estimate_position_measures, position_measure_records
from metrics.estimation.all_measures import estimate_all
from metrics.estimation.measure_cube import MeasureCube
from metrics.position.position_measures import tie_rate
from metrics.ratings import elo_last_battles, elo_orders
from metrics.ratings.battles import extract_battles
from metrics.ratings.online_elo import EloSettings, compute_elo
from metrics.win_rates import win_rates
from metrics.win_rates.length_effects import LONGER_SHARE, length_preference
from studies.frames.battle_frame import frame_from_battles
from tests.metrics.battle_frames import duels
from tests.metrics.frames import build, pair
from tests.samples import sample

MEASURES = {one.key: one.estimator for one in position_measure_records()}


@pytest.fixture(scope="module")
def frame():
    """Two judges, three contestants, 20 items; some verdicts repeat, some cannot be read."""
    rng = np.random.default_rng(5)
    rows = []
    for n in range(20):
        for judge in ("a", "b"):
            for x, y in (("x", "y"), ("x", "z"), ("y", "z")):
                picks = rng.choice([0, 1, -1, -2], 2, p=[0.4, 0.3, 0.2, 0.1]).tolist()
                said = [{-1: "tie", -2: None}.get(pick, pick) for pick in picks]
                more = {"judge": judge, "category": "cde"[n % 3], "length": [n % 5, 2]}
                rows += pair(f"q{n}", *said, x=x, y=y, better=x, **more)
                if n % 4 == 0:
                    rows += pair(f"q{n}", 0, 1, x=x, y=y, better=x, noise=True, **more)
    return build(rows)


@pytest.mark.parametrize("block", sample([40, 100], 40))
@pytest.mark.parametrize(
    "by", [(), pytest.param(("judge",), marks=pytest.mark.extra), ("judge", "category")]
)
def test_every_measure_counted_some_items_at_a_time_is_the_same(frame, by, block, monkeypatch):
    measures = [*MEASURES.values(), LONGER_SHARE]
    whole = estimate_all(measures, frame, by)
    assert whole["noise_floor"] and whole["longer"]
    monkeypatch.setattr("metrics.estimation.measure_cube.BLOCK_ROWS", block)
    parts = estimate_all(measures, frame, by)
    assert parts == whole
    for name in whole:
        assert list(parts[name]) == list(whole[name]), "cells keep their order"
    assert estimate_position_measures(frame, by) == {
        cell: {name: whole[name][cell] for name in MEASURES} for cell in whole["kappa"]
    }


def numbers(cube: MeasureCube, name: str) -> dict[object, object]:
    return {
        cell: tuple(
            part if part is None or isinstance(part, (str, int)) else pytest.approx(part)
            for part in (one.value, one.low, one.high, one.n, one.note)
        )
        for cell, one in cube.by_cell(name, ("judge",)).items()
    }


@pytest.mark.parametrize("mixed", [False, True])
def test_a_coarser_cube_of_a_large_frame_is_that_of_counting_again(frame, mixed, monkeypatch):
    """Pooled from the finer cells, unless their orders differ: then it is counted again."""
    measures = [*MEASURES.values(), LONGER_SHARE]
    if mixed:
        frame = frame.assign(orders=frame["orders"].where(frame["category"] != "c", 1))
    whole = MeasureCube(frame, ("judge",), measures)
    monkeypatch.setattr("metrics.estimation.measure_cube.BLOCK_ROWS", 50)
    finer = MeasureCube(frame, ("judge", "category"), measures)
    made = finer.with_coarser_cells(frame, ("judge",))
    assert made.cells == whole.cells
    for measure in measures:
        assert numbers(whole, measure.name) == numbers(made, measure.name), measure.name


@pytest.mark.parametrize("by", [(), ("judge",)])
def test_flags_of_a_cell_are_decided_by_all_its_items(by, monkeypatch):
    """The first items were asked in one order only, the middle ones in no known order."""
    rows = []
    for n in range(30):
        one_order = pair(f"q{n:02d}", 0, 1)[:1]
        both = pair(f"q{n:02d}", n % 2, n % 3 == 0)
        if n < 10:
            rows += [{**row, "orders": 1} for row in one_order]
        else:
            rows += [{**row, "orders": 0} for row in one_order] if n < 20 else both
    mixed = build(rows)
    measures = [*MEASURES.values(), LONGER_SHARE]
    whole = estimate_all(measures, mixed, by)
    monkeypatch.setattr("metrics.estimation.measure_cube.BLOCK_ROWS", 8)
    assert estimate_all(measures, mixed, by) == whole


def test_one_number_of_a_whole_frame_is_the_same(frame, monkeypatch):
    whole = tie_rate(frame), length_preference(frame)
    assert all(one.value for one in whole)
    monkeypatch.setattr("metrics.estimation.measure_cube.BLOCK_ROWS", 50)
    assert (tie_rate(frame), length_preference(frame)) == whole


@pytest.mark.parametrize("part", sample([1, 7, 50], 7))
@pytest.mark.parametrize("combine", ["pooled", "strict"])
def test_wins_counted_some_rows_at_a_time_are_the_same(frame, combine, part, monkeypatch):
    def counted():
        return (
            win_rates.win_rates_by_cell(frame, ["judge"], combine),
            win_rates.head_to_head(frame, combine),
            win_rates.win_loss_record(frame, combine, "tie"),
            win_rates.win_rate_bounds(frame),
        )

    whole = counted()
    monkeypatch.setattr(win_rates, "BLOCK_ROWS", part)
    assert counted() == whole


@pytest.mark.parametrize("weighting", ["sign", "arena-hard"])
@pytest.mark.parametrize("cells", sample([1, 100, 400, 1500], 1, 400))
def test_elo_in_orders_laid_out_a_little_at_a_time_is_the_same(
    frame, weighting, cells, monkeypatch
):
    strong = frame.assign(margin=np.where(frame["item"].isin(["q3", "q7"]), 2, 1).astype(np.int8))

    def rated():
        rng = np.random.default_rng(1)
        return compute_elo(strong, rng=rng, orders=6, rounds=9, points=20, weighting=weighting)

    whole = rated()
    monkeypatch.setattr(elo_orders, "_MAX_CELLS", cells)
    monkeypatch.setattr(elo_orders, "_CHUNK_STEPS", elo_orders._BLOCK_STEPS)
    parts = rated()
    assert parts.table == whole.table
    assert (parts.curve.value == whole.curve.value).all()
    assert (parts.curve.low == whole.curve.low).all()


@pytest.mark.parametrize("chunk", [1, 5, 64])
def test_any_few_steps_of_a_streamed_order_are_those_of_the_whole(frame, chunk, monkeypatch):
    data = extract_battles(frame)
    shuffled = data.item[np.random.default_rng(0).permutation(data.items)]
    item_orders = [np.arange(data.items)[::-1], np.array([3, 3, 0, 7]), shuffled % data.items]
    laid = elo_orders.battle_codes_in_item_orders(data, item_orders)
    monkeypatch.setattr(elo_orders, "_CHUNK_STEPS", chunk)
    streamed = elo_orders.StreamedOrders(
        elo_orders.group_battles_by_item(data), item_orders, plan=True
    )
    assert streamed.shape == laid.shape
    for start in range(0, laid.shape[1], chunk):
        stop = min(start + chunk, laid.shape[1])
        assert (streamed.codes(start, stop) == laid[:, start:stop]).all()


def long_ago(early: bool):
    """40,000 battles of w, x and y on 1,000 items; with `early`, z met x on the first alone."""
    rng = np.random.default_rng(2)
    n = 40_000
    table = pd.DataFrame(
        {
            "model_a": rng.choice(["w", "x", "y"], n),
            "winner": rng.choice(["model_a", "model_b", "tie"], n, p=[0.5, 0.3, 0.2]),
            "item": [f"q{place // 40:03d}" for place in range(n)],
        }
    )
    table["model_b"] = table["model_a"].map({"w": "x", "x": "y", "y": "w"})
    if early:
        table.loc[:800, ["model_a", "model_b"]] = ["z", "x"]
    return frame_from_battles(table)


@pytest.mark.parametrize("early", [False, True])
def test_the_last_of_many_battles_decide_where_elo_ends_unless_somebody_left_before(
    early, monkeypatch
):
    frame = long_ago(early)

    def rated():
        rng = np.random.default_rng(1)
        made = compute_elo(frame, rng=rng, orders=4, rounds=5, points=1)
        return made, rng.random()

    whole, after = rated()
    monkeypatch.setattr(elo_last_battles, "MAX_FULL_PASS_BATTLES", 1000)
    monkeypatch.setattr(elo_last_battles, "TAIL_BATTLES_PER_CONTESTANT", 1900 if early else 2500)
    data, none = extract_battles(frame), iter(())
    decided = elo_last_battles.ratings_from_last_battles(
        data, none, k=4.0, slope=EloSettings().slope
    )
    assert (decided is None) == early
    parts, then = rated()
    assert then == after, "the same draws were made"
    for name, wanted in whole.table.items():
        found = parts.table[name]
        for value in ("value", "low", "high"):
            one, two = getattr(found.estimate, value), getattr(wanted.estimate, value)
            assert one == pytest.approx(two, abs=0 if early else 1e-8)
        assert found.order_low == pytest.approx(wanted.order_low, abs=0 if early else 1e-8)
    assert parts.curve.value == pytest.approx(whole.curve.value, abs=1e-8)
    assert parts.curve.low == pytest.approx(whole.curve.low, abs=1e-8)


def test_an_order_with_too_few_battles_is_not_played_in_part(monkeypatch):
    """21 items of one battle and two contestants: the last 2 · 2 battles are played if every order
    has them, and no more than 5 · 4 battles are few enough to play all."""
    frame = duels([("a", "b", 12, 9)])
    data = extract_battles(frame)
    monkeypatch.setattr(elo_last_battles, "MAX_FULL_PASS_BATTLES", 0)
    monkeypatch.setattr(elo_last_battles, "MAX_END_DIFFERENCE", 1e9)

    def played(tail: int, *orders: list[int]):
        monkeypatch.setattr(elo_last_battles, "TAIL_BATTLES_PER_CONTESTANT", tail)
        return elo_last_battles.ratings_from_last_battles(
            data, [np.array(one) for one in orders], k=4.0, slope=EloSettings().slope
        )

    assert played(2, [0, 1, 2, 3]).shape == (2, 2)
    assert played(2, [0, 1, 2]) is None
    assert played(3) is None, "21 battles are at most 5 · 6"
