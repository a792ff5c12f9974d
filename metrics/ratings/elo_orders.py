"""Many online Elo passes side by side: one column per order of the battles."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice, pairwise

import numpy as np
import numpy.typing as npt

from metrics.ratings.battles import Battles, Floats, Ints

_BLOCK_STEPS = 1024
"""Steps whose indices are prepared together: large enough to be cheap, small enough for cache."""


_MAX_CELLS = 60_000_000
"""Numbers that are laid out at once: 1M battles in 60 orders stay within 1 GB."""

_CHUNK_STEPS = 16 * _BLOCK_STEPS
"""Steps that are laid out at a time where all of them are too many."""

ItemOrder = npt.NDArray[np.int32] | Ints
"""Item codes in the order in which the items are played."""
BattleCodes = npt.NDArray[np.int32]
"""What is played: (first, second, outcome) in one number, so that `play` looks up small tables, not
a million battles. The largest is a battle that is none."""


def plan_order_rows(data: Battles) -> Ints:
    """The battles as they stand, a weight of three as three battles in a row."""
    return np.repeat(np.arange(len(data)), data.weight)


def order_batches(
    data: Battles, lineups: Iterator[ItemOrder]
) -> Iterator[BattleCodes | StreamedOrders]:
    """Plan order, then the line-ups, as rows for `play`, in batches that fit into memory.

    A step costs nearly the same for ten orders as for a hundred, so orders that are too long to lie
    side by side are laid out a little at a time instead; then only their items must fit.
    """
    room = max(1, _MAX_CELLS // max(1, int(data.weight.sum())))
    batch = list(islice(lineups, room + 1))
    if len(batch) <= room:
        yield build_item_orders(data, batch)
        return
    room = max(1, _MAX_CELLS // max(1, data.items))
    batch += islice(lineups, max(0, room - len(batch)))
    battles = group_by_item(data)
    for start in range(0, len(batch), room):
        yield StreamedOrders(battles, batch[start : start + room], plan=start == 0)
    while batch := list(islice(lineups, room)):
        yield StreamedOrders(battles, batch, plan=False)


@dataclass(frozen=True, eq=False)
class BattlesByItem:
    """The codes of all battles in plan order, and item after item."""

    plan: BattleCodes
    grouped: BattleCodes
    starts: Ints
    """Where each item begins among the grouped ones."""
    sizes: Ints
    no_battle: int


def group_by_item(data: Battles) -> BattlesByItem:
    models = len(data.names)
    code = ((data.first * models + data.second) * 3).astype(np.int32)
    code += (2 * data.outcome).astype(np.int32)
    item = data.item
    if (data.weight != 1).any():
        plan = plan_order_rows(data)
        code, item = code[plan], item[plan]
    in_turn = bool((item[1:] >= item[:-1]).all())
    grouped = code if in_turn else code[np.argsort(item, kind="stable")]
    sizes = np.bincount(item, minlength=data.items)
    return BattlesByItem(code, grouped, np.cumsum(sizes) - sizes, sizes, 3 * models * models)


def build_item_orders(data: Battles, lineups: Sequence[ItemOrder]) -> BattleCodes:
    """What is played in plan order (row 0), then in each given line-up of items.

    A line-up may hold an item several times (a bootstrap draw), so rows differ in length: what is
    missing at the end is a battle that is none.
    """
    battles = group_by_item(data)
    sizes, starts = battles.sizes, battles.starts
    longest = max([len(battles.plan), *(int(sizes[lineup].sum()) for lineup in lineups)])
    orders = np.full((1 + len(lineups), longest), battles.no_battle, np.int32)
    orders[0, : len(battles.plan)] = battles.plan
    one_each = bool((sizes == 1).all())
    for row, lineup in enumerate(lineups, start=1):
        if one_each:
            orders[row, : len(lineup)] = battles.grouped[lineup]
            continue
        length = sizes[lineup]
        offset = starts[lineup] - (np.cumsum(length) - length)
        places = np.repeat(offset, length) + np.arange(length.sum())
        orders[row, : len(places)] = battles.grouped[places]
    return orders


class StreamedOrders:
    """The same orders, of which only some thousand steps are laid out at a time."""

    def __init__(self, battles: BattlesByItem, lineups: Sequence[ItemOrder], *, plan: bool) -> None:
        self._battles, self._lineups, self._plan = battles, lineups, plan
        self._ends = [np.cumsum(battles.sizes[lineup]).astype(np.int32) for lineup in lineups]
        """After how many steps each item of a line-up is done."""
        lengths = [int(ends[-1]) for ends in self._ends]
        self.shape = (len(lineups) + plan, max([len(battles.plan) if plan else 0, *lengths]))
        self._from, self._laid = -1, np.zeros((0, 0), np.int32)

    def __len__(self) -> int:
        return self.shape[0]

    def steps(self, start: int, stop: int) -> BattleCodes:
        """What is played from step to step; both within one run of `_BLOCK` steps."""
        begin = start // _CHUNK_STEPS * _CHUNK_STEPS
        if begin != self._from:
            self._from, self._laid = (
                begin,
                self._build_steps(begin, min(begin + _CHUNK_STEPS, self.shape[1])),
            )
        return self._laid[:, start - begin : stop - begin]

    def _build_steps(self, start: int, stop: int) -> BattleCodes:
        made = np.full((len(self), stop - start), self._battles.no_battle, np.int32)
        if self._plan:
            part = self._battles.plan[start:stop]
            made[0, : len(part)] = part
        for row, (lineup, ends) in enumerate(
            zip(self._lineups, self._ends, strict=True), start=int(self._plan)
        ):
            places = self._places(lineup, ends, start, stop)
            made[row, : len(places)] = self._battles.grouped[places]
        return made

    def _places(self, lineup: ItemOrder, ends: BattleCodes, start: int, stop: int) -> Ints:
        """Where among the grouped battles those of these steps stand."""
        low, high = np.searchsorted(ends, start, "right"), np.searchsorted(ends, stop, "left")
        item, end = lineup[low : high + 1], ends[low : high + 1].astype(np.int64)
        begin = end - self._battles.sizes[item]
        length = np.minimum(end, stop) - np.maximum(begin, start)
        offset = np.repeat(self._battles.starts[item] - begin, length)
        return offset + np.arange(start, start + len(offset))


def _slice_steps(orders: BattleCodes | StreamedOrders, start: int, stop: int) -> BattleCodes:
    return (
        orders.steps(start, stop) if isinstance(orders, StreamedOrders) else orders[:, start:stop]
    )


def play_orders(
    data: Battles,
    orders: BattleCodes | StreamedOrders,
    *,
    k: float,
    slope: float,
    at: Ints,
    watched: int,
    begin: Floats | None = None,
) -> tuple[Floats, Floats]:
    """Ratings relative to the start: final [contestant, order], and snapshots of the first
    `watched` orders after `at` battles [point, contestant, order]. They begin at the start, or
    where `begin` says.

    With h = slope/2 · rating, the expected score is (1 + tanh(h_a − h_b))/2. So a step is one
    gather, one tanh and one scatter over all orders at once.
    """
    models, width = len(data.names), len(orders)
    # The last entry is the battle that is none: contestant `models` against itself, a tie.
    code = np.arange(3 * models * models)
    first = np.append(code // 3 // max(1, models), models) * width
    second = np.append(code // 3 % max(1, models), models) * width
    gain = 0.25 * slope * k * (np.append(code % 3, 1) - 1.0)
    state = np.zeros((models + 1) * width)
    if begin is not None:
        state[: models * width] = begin.ravel() * (slope / 2)
    snapshots = np.zeros((len(at), models, watched))
    column = np.arange(width)
    taken = 0
    for start, stop in _step_blocks(orders.shape[1], at):
        while taken < len(at) and at[taken] == start:
            snapshots[taken] = state.reshape(models + 1, width)[:models, :watched]
            taken += 1
        block = np.ascontiguousarray(_slice_steps(orders, start, stop).T)
        places = np.empty((stop - start, 2, width), np.int64)
        np.add(first[block], column, out=places[:, 0])
        np.add(second[block], column, out=places[:, 1])
        _play_block(state, places, gain[block], 0.25 * slope * k)
    while taken < len(at):
        snapshots[taken] = state.reshape(models + 1, width)[:models, :watched]
        taken += 1
    points = 2.0 / slope
    return state.reshape(models + 1, width)[:models] * points, snapshots * points


def _step_blocks(steps: int, at: Ints) -> list[tuple[int, int]]:
    """Runs of at most `_BLOCK` steps that end wherever a snapshot is due."""
    inside = at[(at > 0) & (at < steps)]
    cuts = np.unique(np.concatenate([np.arange(0, steps, _BLOCK_STEPS), inside, [steps]]))
    return [(int(a), int(b)) for a, b in pairwise(cuts)]


def _play_block(state: Floats, places: Ints, gain: Floats, half: float) -> None:
    """Play one block of steps in place.

    The loop is the hot spot. Nothing is allocated in it, `take` is called as a method and `half` is
    an array because numpy's wrapper and its scalars each cost more than the arithmetic.
    """
    both = np.empty(places.shape[1:])
    ours, theirs = both
    step = np.empty(places.shape[2])
    halves = np.full(places.shape[2], half)
    take, subtract, tanh, multiply, add = state.take, np.subtract, np.tanh, np.multiply, np.add
    for place, won in zip(places, gain, strict=True):
        take(place, None, both, "clip")
        subtract(ours, theirs, step)
        tanh(step, step)
        multiply(step, halves, step)
        subtract(won, step, step)
        add(ours, step, ours)
        subtract(theirs, step, theirs)
        state[place] = both
