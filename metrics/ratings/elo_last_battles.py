"""Final Elo ratings from the last battles only, for millions of battles.

Two passes over the same battles from different starting ratings converge, because each battle
reduces the difference between the ratings of the two passes. So a pass over five million battles
ends with the same ratings as a pass over its last tens of thousands, whatever the start. This is
verified by playing the last battles from two starts.
"""

from collections.abc import Iterable
from typing import Final

import numpy as np

from metrics.ratings import elo_orders
from metrics.ratings.battles import Battles, Floats

MAX_FULL_PASS_BATTLES: Final = 300_000
"""Number of battles up to which all battles are played; beyond, only the last battles of every
order. The limit is 5 · TAIL_BATTLES_PER_CONTESTANT · (number of contestants) if that is larger."""
TAIL_BATTLES_PER_CONTESTANT: Final = 8_000
"""Number of last battles per contestant that are played if an order is longer than
MAX_FULL_PASS_BATTLES; half of them already remove the influence of the start."""
MAX_END_DIFFERENCE: Final = 1e-9
"""Elo points by which the final ratings from the two starts may differ."""
OTHER_START_OFFSET: Final = 1_000.0
"""Elo points by which the starting ratings of the second pass differ from those of the first: above
for one contestant, below for the next, and so on."""


def ratings_from_last_battles(
    data: Battles, item_orders: Iterable[elo_orders.ItemOrder], *, k: float, slope: float
) -> Floats | None:
    """Return the final ratings, minus the starting rating, of plan order and of each item order, as
    [contestant, order]. `k` is the K-factor, `slope` the logits per rating point.

    None if there are few enough battles to play all, or if the last battles do not determine the
    ratings, for example because a contestant has none among them.
    """
    models, tail = len(data.names), TAIL_BATTLES_PER_CONTESTANT * len(data.names)
    if int(data.weight.sum()) <= max(MAX_FULL_PASS_BATTLES, 5 * tail):
        return None
    battles = elo_orders.group_battles_by_item(data)
    ends = [
        battles.plan[-tail:],
        *(_last_battles(battles, item_order, tail) for item_order in item_orders),
    ]
    if min(map(len, ends)) < tail:
        return None
    orders = np.stack(ends)
    by_turns = np.where(np.arange(models) % 2, OTHER_START_OFFSET, -OTHER_START_OFFSET)
    by_turns -= by_turns.mean()  # Elo is zero-sum: the mean rating never changes
    other = np.tile(by_turns[:, None], len(orders))
    begin = np.concatenate([np.zeros_like(other), other], axis=1)
    both = np.concatenate([orders, orders])
    none = np.zeros(1, np.int64)
    final, _ = elo_orders.play_orders(
        data, both, k=k, slope=slope, steps=none, curves=1, initial=begin
    )
    one, two = np.split(final, 2, axis=1)
    return one if np.abs(one - two).max() < MAX_END_DIFFERENCE else None


def _last_battles(
    battles: elo_orders.BattlesByItem, item_order: elo_orders.ItemOrder, count: int
) -> elo_orders.BattleCodes:
    """Return the last `count` battles of an item order, or all battles if the order has fewer."""
    items = item_order[-count:]  # every item has at least one battle
    length = battles.sizes[items]
    later = np.cumsum(length[::-1])[::-1] - length
    items, length = items[later < count], length[later < count]
    offset = battles.starts[items] - (np.cumsum(length) - length)
    places = np.repeat(offset, length) + np.arange(length.sum())
    played: elo_orders.BattleCodes = battles.grouped[places]
    return played[-count:]
