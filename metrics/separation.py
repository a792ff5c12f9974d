"""How many more battles would tell two neighbours on a leaderboard apart."""

from __future__ import annotations

import math
from typing import Final

from scipy import stats

from studies.records import Estimate

MOST: Final = 10_000_000
"""Beyond this nobody asks: the two are as good as equal."""


def battles_to_separate(gap: Estimate, power: float = 0.8) -> int | None:
    """More verdicts like those so far until the interval of a gap leaves out zero.

    The interval of the difference shrinks with 1/√n, items, indirect comparisons and ties as they
    are: n' = n·(h·(1 + z_β/z)/gap)², h the half-width now. With `power` the chance that it does.
    0: told apart already. None: no interval, no gap at all, or more than anybody asks.
    """
    if (gap.low is not None and gap.low > 0) or (gap.high is not None and gap.high < 0):
        return 0
    if gap.value is None or gap.low is None or gap.high is None or gap.n == 0:
        return None
    half = (gap.high - gap.low) / 2
    z, z_beta = float(stats.norm.ppf((1 + gap.level) / 2)), float(stats.norm.ppf(power))
    if abs(gap.value) * math.sqrt(MOST) < half:
        return None
    needed = gap.n * (half * (1 + z_beta / z) / abs(gap.value)) ** 2
    more = math.ceil(needed - gap.n)
    return more if more <= MOST else None
