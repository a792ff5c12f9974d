"""Many online Elo passes side by side: one column per order of the battles."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice, pairwise

import numpy as np
import numpy.typing as npt

from metrics.battles import Battles, Floats, Ints

_BLOCK = 1024
"""Steps whose indices are prepared together: large enough to be cheap, small enough for cache."""


_CELLS = 60_000_000
"""Battles times orders that run side by side: 1M battles stay within 1 GB."""

Lineup = npt.NDArray[np.int32] | Ints
"""Item codes in the order in which the items are played."""


def plan_order(data: Battles) -> Ints:
    """The battles as they stand, a weight of three as three battles in a row."""
    return np.repeat(np.arange(len(data)), data.weight)


def batches(data: Battles, lineups: Iterator[Lineup]) -> Iterator[npt.NDArray[np.int32]]:
    """Plan order, then the line-ups, as rows for `play`, in batches that fit into memory."""
    room = max(1, _CELLS // max(1, int(data.weight.sum())))
    yield item_orders(data, list(islice(lineups, room)))
    while batch := list(islice(lineups, room)):
        yield item_orders(data, batch)[1:]


def item_orders(data: Battles, lineups: Sequence[Lineup]) -> npt.NDArray[np.int32]:
    """What is played in plan order (row 0), then in each given line-up of items, as codes.

    A code is (first, second, outcome) in one number: `play` then looks up small tables, not a
    million battles. A line-up may hold an item several times (a bootstrap draw), so rows differ in
    length: what is missing at the end is a code of its own, a battle that is none.
    """
    plan = plan_order(data)
    models = len(data.names)
    code = ((data.first * models + data.second) * 3 + 2 * data.outcome).astype(np.int32)
    grouped = code[plan[np.argsort(data.item[plan], kind="stable")]]
    sizes = np.bincount(data.item[plan], minlength=data.items)
    starts = np.cumsum(sizes) - sizes
    longest = max([len(plan), *(int(sizes[lineup].sum()) for lineup in lineups)])
    orders = np.full((1 + len(lineups), longest), 3 * models * models, np.int32)
    orders[0, : len(plan)] = code[plan]
    one_each = bool((sizes == 1).all())
    for row, lineup in enumerate(lineups, start=1):
        if one_each:
            orders[row, : len(lineup)] = grouped[lineup]
            continue
        length = sizes[lineup]
        offset = starts[lineup] - (np.cumsum(length) - length)
        places = np.repeat(offset, length) + np.arange(length.sum())
        orders[row, : len(places)] = grouped[places]
    return orders


def play(
    data: Battles,
    orders: npt.NDArray[np.int32],
    *,
    k: float,
    slope: float,
    at: Ints,
    watched: int,
) -> tuple[Floats, Floats]:
    """Ratings relative to the start: final [contestant, order], and snapshots of the first
    `watched` orders after `at` battles [point, contestant, order].

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
    snapshots = np.zeros((len(at), models, watched))
    column = np.arange(width)
    taken = 0
    for start, stop in _blocks(orders.shape[1], at):
        while taken < len(at) and at[taken] == start:
            snapshots[taken] = state.reshape(models + 1, width)[:models, :watched]
            taken += 1
        block = np.ascontiguousarray(orders[:, start:stop].T)
        places = np.empty((stop - start, 2, width), np.int64)
        np.add(first[block], column, out=places[:, 0])
        np.add(second[block], column, out=places[:, 1])
        _advance(state, places, gain[block], 0.25 * slope * k)
    while taken < len(at):
        snapshots[taken] = state.reshape(models + 1, width)[:models, :watched]
        taken += 1
    points = 2.0 / slope
    return state.reshape(models + 1, width)[:models] * points, snapshots * points


def _blocks(steps: int, at: Ints) -> list[tuple[int, int]]:
    """Runs of at most `_BLOCK` steps that end wherever a snapshot is due."""
    inside = at[(at > 0) & (at < steps)]
    cuts = np.unique(np.concatenate([np.arange(0, steps, _BLOCK), inside, [steps]]))
    return [(int(a), int(b)) for a, b in pairwise(cuts)]


def _advance(state: Floats, places: Ints, gain: Floats, half: float) -> None:
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
