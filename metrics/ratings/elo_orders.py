"""Online Elo passes computed in parallel: one column for each order of the battles. A step plays
the next battle of every order.

Plan order is the order of the rows in the frame.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice, pairwise

import numpy as np
import numpy.typing as npt

from metrics.ratings.battles import Battles, Floats, Ints

_BLOCK_STEPS = 1024
"""Number of steps whose indices are prepared together: large enough to be cheap, small enough for
cache."""


_MAX_CELLS = 60_000_000
"""Maximum number of battle codes in memory at once: 1M battles in 60 orders stay within 1 GB."""

_CHUNK_STEPS = 16 * _BLOCK_STEPS
"""Number of steps in memory at a time, if all steps together do not fit."""

ItemOrder = npt.NDArray[np.int32] | Ints
"""Item codes in the order in which the items are played."""
BattleCodes = npt.NDArray[np.int32]
"""Battles as one number each, computed from (first, second, outcome). The largest number is
padding: a battle without effect."""


def rows_in_plan_order(data: Battles) -> Ints:
    """Row numbers of the battles in plan order; a battle of weight three occurs three times."""
    return np.repeat(np.arange(len(data)), data.weight)


def batches_of_orders(
    data: Battles, item_orders: Iterator[ItemOrder]
) -> Iterator[BattleCodes | StreamedOrders]:
    """Yield plan order and then the item orders as input for `play_orders`, in batches that fit
    into memory.

    If all battles of all orders fit, they form one batch. Otherwise a batch stores only the item
    orders, and builds the battles about 16,000 steps at a time.
    """
    capacity = max(1, _MAX_CELLS // max(1, int(data.weight.sum())))
    batch = list(islice(item_orders, capacity + 1))
    if len(batch) <= capacity:
        yield battle_codes_in_item_orders(data, batch)
        return
    capacity = max(1, _MAX_CELLS // max(1, data.items))
    batch += islice(item_orders, max(0, capacity - len(batch)))
    battles = group_battles_by_item(data)
    for start in range(0, len(batch), capacity):
        yield StreamedOrders(battles, batch[start : start + capacity], plan=start == 0)
    while batch := list(islice(item_orders, capacity)):
        yield StreamedOrders(battles, batch, plan=False)


@dataclass(frozen=True, eq=False)
class BattlesByItem:
    """Integer codes of all battles, once in plan order (`plan`) and once grouped by item
    (`grouped`). A code stands for the two contestants and the result of a battle."""

    plan: BattleCodes
    grouped: BattleCodes
    starts: Ints
    """Index of the first battle of each item in `grouped`."""
    sizes: Ints
    """Number of battles of each item."""
    no_battle: int
    """Code of padding: a battle without effect."""


def group_battles_by_item(data: Battles) -> BattlesByItem:
    """Group the codes of the battles by item; ValueError if an outcome is neither 0, ½ nor 1."""
    models = len(data.names)
    doubled = 2 * data.outcome
    result = doubled.astype(np.int32)
    if (result != doubled).any():
        raise ValueError("Elo counts a battle as win, tie or loss, not as a probability")
    code = ((data.first * models + data.second) * 3).astype(np.int32) + result
    item = data.item
    if (data.weight != 1).any():
        plan = rows_in_plan_order(data)
        code, item = code[plan], item[plan]
    is_sorted = bool((item[1:] >= item[:-1]).all())
    grouped = code if is_sorted else code[np.argsort(item, kind="stable")]
    sizes = np.bincount(item, minlength=data.items)
    return BattlesByItem(code, grouped, np.cumsum(sizes) - sizes, sizes, 3 * models * models)


def battle_codes_in_item_orders(data: Battles, item_orders: Sequence[ItemOrder]) -> BattleCodes:
    """Build the battle codes in plan order (row 0), then in each given order of items.

    An item order may contain an item several times (a bootstrap draw), so rows differ in length;
    shorter ones are padded with battles without effect.
    """
    battles = group_battles_by_item(data)
    sizes, starts = battles.sizes, battles.starts
    longest = max(
        [len(battles.plan), *(int(sizes[item_order].sum()) for item_order in item_orders)]
    )
    orders = np.full((1 + len(item_orders), longest), battles.no_battle, np.int32)
    orders[0, : len(battles.plan)] = battles.plan
    one_each = bool((sizes == 1).all())
    for row, item_order in enumerate(item_orders, start=1):
        if one_each:
            orders[row, : len(item_order)] = battles.grouped[item_order]
            continue
        length = sizes[item_order]
        offset = starts[item_order] - (np.cumsum(length) - length)
        places = np.repeat(offset, length) + np.arange(length.sum())
        orders[row, : len(places)] = battles.grouped[places]
    return orders


class StreamedOrders:
    """Codes of the battles in several orders, one row each, built about 16,000 steps at a time to
    save memory; otherwise like the array of `battle_codes_in_item_orders`. If `plan` is true, the
    first row is plan order."""

    def __init__(
        self, battles: BattlesByItem, item_orders: Sequence[ItemOrder], *, plan: bool
    ) -> None:
        self._battles, self._item_orders, self._plan = battles, item_orders, plan
        self._ends = [
            np.cumsum(battles.sizes[item_order]).astype(np.int32) for item_order in item_orders
        ]
        """For each order, the number of battles played when each of its items is finished."""
        lengths = [int(ends[-1]) for ends in self._ends]
        self.shape = (len(item_orders) + plan, max([len(battles.plan) if plan else 0, *lengths]))
        self._chunk_start, self._chunk = -1, np.zeros((0, 0), np.int32)

    def __len__(self) -> int:
        return self.shape[0]

    def codes(self, start: int, stop: int) -> BattleCodes:
        """Return the battle codes of the steps from `start` up to `stop`, as [order, step]. Both
        must lie in the same chunk of _CHUNK_STEPS steps."""
        begin = start // _CHUNK_STEPS * _CHUNK_STEPS
        if begin != self._chunk_start:
            self._chunk_start, self._chunk = (
                begin,
                self._build_steps(begin, min(begin + _CHUNK_STEPS, self.shape[1])),
            )
        return self._chunk[:, start - begin : stop - begin]

    def _build_steps(self, start: int, stop: int) -> BattleCodes:
        """Build the battle codes of these steps, [order, step], padded with battles without
        effect."""
        codes = np.full((len(self), stop - start), self._battles.no_battle, np.int32)
        if self._plan:
            part = self._battles.plan[start:stop]
            codes[0, : len(part)] = part
        for row, (item_order, ends) in enumerate(
            zip(self._item_orders, self._ends, strict=True), start=int(self._plan)
        ):
            places = self._battle_indices(item_order, ends, start, stop)
            codes[row, : len(places)] = self._battles.grouped[places]
        return codes

    def _battle_indices(
        self, item_order: ItemOrder, ends: BattleCodes, start: int, stop: int
    ) -> Ints:
        """Return the indices, among the grouped battles, of the battles that an item order plays in
        these steps; `ends` has, for each item of the order, the number of battles played when the
        item is finished."""
        low, high = np.searchsorted(ends, start, "right"), np.searchsorted(ends, stop, "left")
        item, end = item_order[low : high + 1], ends[low : high + 1].astype(np.int64)
        begin = end - self._battles.sizes[item]
        length = np.minimum(end, stop) - np.maximum(begin, start)
        offset = np.repeat(self._battles.starts[item] - begin, length)
        return offset + np.arange(start, start + len(offset))


def _slice_steps(orders: BattleCodes | StreamedOrders, start: int, stop: int) -> BattleCodes:
    return (
        orders.codes(start, stop) if isinstance(orders, StreamedOrders) else orders[:, start:stop]
    )


def play_orders(
    data: Battles,
    orders: BattleCodes | StreamedOrders,
    *,
    k: float,
    slope: float,
    steps: Ints,
    curves: int,
    initial: Floats | None = None,
) -> tuple[Floats, Floats]:
    """Compute Elo ratings for each order of the battles; return the final ratings, [contestant,
    order], and the ratings after each number of battles in `steps`, [point, contestant, order], for
    the first `curves` orders.

    `k` is the K-factor, `slope` the logits per rating point. Ratings are relative to the rating at
    which all contestants start: they begin at 0, or at `initial`. While they are computed they are
    kept as h = slope/2 · rating, because the expected score of a against b is then
    (1 + tanh(h_a − h_b))/2.
    """
    models, width = len(data.names), len(orders)
    # The last entry is the padding: contestant `models` against itself, a tie.
    code = np.arange(3 * models * models)
    first = np.append(code // 3 // max(1, models), models) * width
    second = np.append(code // 3 % max(1, models), models) * width
    gain = 0.25 * slope * k * (np.append(code % 3, 1) - 1.0)
    state = np.zeros((models + 1) * width)
    if initial is not None:
        state[: models * width] = initial.ravel() * (slope / 2)
    snapshots = np.zeros((len(steps), models, curves))
    column = np.arange(width)
    taken = 0
    for start, stop in _step_blocks(orders.shape[1], steps):
        while taken < len(steps) and steps[taken] == start:
            snapshots[taken] = state.reshape(models + 1, width)[:models, :curves]
            taken += 1
        block = np.ascontiguousarray(_slice_steps(orders, start, stop).T)
        places = np.empty((stop - start, 2, width), np.int64)
        np.add(first[block], column, out=places[:, 0])
        np.add(second[block], column, out=places[:, 1])
        _play_block(state, places, gain[block], 0.25 * slope * k)
    while taken < len(steps):
        snapshots[taken] = state.reshape(models + 1, width)[:models, :curves]
        taken += 1
    points = 2.0 / slope
    return state.reshape(models + 1, width)[:models] * points, snapshots * points


def _step_blocks(steps: int, snapshots: Ints) -> list[tuple[int, int]]:
    """Split the steps into blocks of at most `_BLOCK_STEPS`. A block also ends at each number of
    steps in `snapshots`, because the ratings are stored there."""
    inside = snapshots[(snapshots > 0) & (snapshots < steps)]
    cuts = np.unique(np.concatenate([np.arange(0, steps, _BLOCK_STEPS), inside, [steps]]))
    return [(int(a), int(b)) for a, b in pairwise(cuts)]


def _play_block(ratings: Floats, places: Ints, gain: Floats, half_gain: float) -> None:
    """Play one block of steps: add `gain` − `half_gain`·tanh(h_a − h_b) to h_a and subtract it from
    h_b. `ratings` has the ratings h (see `play_orders`) and is changed; `places` has the indices of
    a and b.

    This loop takes most of the time, so it creates no arrays and avoids numpy's wrappers and
    scalars.
    """
    if places.shape[2] == 1:
        _play_block_of_one_order(ratings, places[:, :, 0], gain[:, 0], half_gain)
        return
    both = np.empty(places.shape[1:])
    ours, theirs = both
    step = np.empty(places.shape[2])
    halves = np.full(places.shape[2], half_gain)
    take, subtract, tanh, multiply, add = ratings.take, np.subtract, np.tanh, np.multiply, np.add
    for place, won in zip(places, gain, strict=True):
        take(place, None, both, "clip")
        subtract(ours, theirs, step)
        tanh(step, step)
        multiply(step, halves, step)
        subtract(won, step, step)
        add(ours, step, ours)
        subtract(theirs, step, theirs)
        ratings[place] = both


def _play_block_of_one_order(ratings: Floats, places: Ints, gain: Floats, half_gain: float) -> None:
    """Play one block of steps of a single order: add `gain` − `half_gain`·tanh(h_a − h_b) to h_a
    and subtract it from h_b. `ratings` has the ratings h and is changed; `places` has the indices
    of a and b in each step. Python's own numbers are several times as fast as arrays of length
    one."""
    rating, tanh = ratings.tolist(), math.tanh
    for (ours, theirs), won in zip(places.tolist(), gain.tolist(), strict=True):
        step = won - half_gain * tanh(rating[ours] - rating[theirs])
        rating[ours] += step
        rating[theirs] -= step
    ratings[:] = rating
