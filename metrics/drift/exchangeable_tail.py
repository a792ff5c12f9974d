"""Exact test of one night (a nightly run of a study) against the other nights of the same items.

Without a change, the nights of an item are exchangeable: given all outcomes of an item so far,
tonight's outcome is equally likely to be any of them. So the sum over items has a known
distribution, without an estimated variance, and each item is compared only with itself. The test is
one-sided: it finds drops only. With one earlier night it is McNemar's exact test, one-sided.
"""

import math
from collections.abc import Mapping, Sequence
from functools import reduce

import numpy as np
import numpy.typing as npt

ScoreCounts = Mapping[int, int]
"""Scores of one item: score -> number of nights with this score, tonight included."""


def lower_tail_probability(counts: Sequence[ScoreCounts], tonight: Sequence[int]) -> float:
    """Return the probability of a sum of scores at most as high as tonight's, if no night differs
    from the others.

    `counts[i]` is score -> number of nights of item i, tonight included; `tonight[i]` its score
    tonight. Low scores are bad. The p-value is conservative: sums equal to tonight's count in full.
    It is 1 if every item has the same score on all its nights.
    """
    varied = [(bag, score) for bag, score in zip(counts, tonight, strict=True) if len(bag) > 1]
    if not varied:
        return 1.0
    lows = [min(bag) for bag, _ in varied]
    steps = [value - low for (bag, _), low in zip(varied, lows, strict=True) for value in bag]
    unit = reduce(math.gcd, steps)
    observed = sum(score - low for (_, score), low in zip(varied, lows, strict=True)) // unit
    weights = np.ones(1)
    for (bag, _), low in zip(varied, lows, strict=True):
        weights = _convolve_with_random_score(weights, bag, low, unit)[: observed + 1]
    return float(min(weights.sum(), 1.0))


def _convolve_with_random_score(
    weights: npt.NDArray[np.float64], counts: ScoreCounts, low: int, unit: int
) -> npt.NDArray[np.float64]:
    """Add one more random score to a sum of scores, and return the new distribution of the sum.
    Entry i of a distribution is the probability of the lowest possible sum + i·`unit`; `weights` is
    the distribution before. `counts` is score -> number of nights, each night equally likely, and
    `low` is its lowest score."""
    nights = sum(counts.values())
    longest = (max(counts) - low) // unit
    found = np.zeros(len(weights) + longest)
    for value, count in counts.items():
        at = (value - low) // unit
        found[at : at + len(weights)] += weights * (count / nights)
    return found
