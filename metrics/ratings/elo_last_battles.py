"""Elo forgets: of millions of battles the last ones alone decide where the ratings end.

Each battle draws the ratings of two histories together, by K·slope/2 of what they differ at most.
So a pass over five million battles ends where a pass over its last tens of thousands ends, whatever
it began with; and that this is so is seen by beginning it twice.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

import numpy as np

from metrics.ratings.battles import Battles, Floats
from metrics.ratings.elo_orders import (
    BattleCodes,
    BattlesByItem,
    ItemOrder,
    group_by_item,
    play_orders,
)

MAX_FULL_PASS_BATTLES: Final = 300_000
"""Battles up to which every order is played from its beginning."""
TAIL_BATTLES_PER_CONTESTANT: Final = 8_000
"""Battles a contestant that are played of a longer one: half of it leaves nothing of the start."""
MAX_END_DIFFERENCE: Final = 1e-9
"""Elo points by which the ends of two histories may differ."""
OTHER_START_OFFSET: Final = 1_000.0
"""Elo points above and below the start, by turns, where the other history begins."""


def ratings_from_last_battles(
    data: Battles, lineups: Iterable[ItemOrder], *, k: float, slope: float
) -> Floats | None:
    """Ratings after plan order and after each line-up, relative to the start [contestant, order].

    None where there are few battles, or where the last ones do not decide: a contestant that played
    only long ago is still where it was then.
    """
    models, tail = len(data.names), TAIL_BATTLES_PER_CONTESTANT * len(data.names)
    if int(data.weight.sum()) <= max(MAX_FULL_PASS_BATTLES, 5 * tail):
        return None
    battles = group_by_item(data)
    ends = [battles.plan[-tail:], *(_last_battles(battles, lineup, tail) for lineup in lineups)]
    if min(map(len, ends)) < tail:
        return None
    orders = np.stack(ends)
    by_turns = np.where(np.arange(models) % 2, OTHER_START_OFFSET, -OTHER_START_OFFSET)
    by_turns -= by_turns.mean()  # what one wins another loses: the sum never changes
    other = np.tile(by_turns[:, None], len(orders))
    begin = np.concatenate([np.zeros_like(other), other], axis=1)
    both = np.concatenate([orders, orders])
    none = np.zeros(1, np.int64)
    final, _ = play_orders(data, both, k=k, slope=slope, at=none, watched=1, begin=begin)
    one, two = np.split(final, 2, axis=1)
    return one if np.abs(one - two).max() < MAX_END_DIFFERENCE else None


def _last_battles(battles: BattlesByItem, lineup: ItemOrder, tail: int) -> BattleCodes:
    """The last battles of a line-up, fewer only if it has no more."""
    items = lineup[-tail:]  # an item has a battle at least
    length = battles.sizes[items]
    later = np.cumsum(length[::-1])[::-1] - length
    items, length = items[later < tail], length[later < tail]
    offset = battles.starts[items] - (np.cumsum(length) - length)
    places = np.repeat(offset, length) + np.arange(length.sum())
    played: BattleCodes = battles.grouped[places]
    return played[-tail:]
