"""Exact test of one night against the other nights of the same items.

Without a change, the nights of an item are exchangeable: given all outcomes that an item has had so
far, tonight's is equally likely to be any of them. So the sum over items has a known distribution,
which needs no variance to be estimated, and which uses that every item is its own control. With one
earlier night it is McNemar's exact test.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import reduce

import numpy as np
import numpy.typing as npt

Bag = Mapping[int, int]
"""Score of a night -> number of nights with it, tonight included."""


def lower_tail(bags: Sequence[Bag], tonight: Sequence[int]) -> float:
    """Probability of a sum of scores at most as high as tonight's, if no night differs.

    `tonight[i]` is one of the scores in `bags[i]`. Low scores are bad. The p-value is conservative:
    sums equal to tonight's count in full.
    """
    varied = [(bag, score) for bag, score in zip(bags, tonight, strict=True) if len(bag) > 1]
    if not varied:
        return 1.0
    lows = [min(bag) for bag, _ in varied]
    steps = [value - low for (bag, _), low in zip(varied, lows, strict=True) for value in bag]
    unit = reduce(math.gcd, steps)
    observed = sum(score - low for (_, score), low in zip(varied, lows, strict=True)) // unit
    weights = np.ones(1)
    for (bag, _), low in zip(varied, lows, strict=True):
        weights = _add_draw(weights, bag, low, unit)[: observed + 1]
    return float(min(weights.sum(), 1.0))


def _add_draw(
    weights: npt.NDArray[np.float64], bag: Bag, low: int, unit: int
) -> npt.NDArray[np.float64]:
    """Distribution of a sum after one more independent draw from a bag."""
    nights = sum(bag.values())
    longest = (max(bag) - low) // unit
    found = np.zeros(len(weights) + longest)
    for value, count in bag.items():
        at = (value - low) // unit
        found[at : at + len(weights)] += weights * (count / nights)
    return found
