"""Exact test of a single baseline night against all nights since, for a change right after it.

A night that is compared with all others, later ones included, says little about a change that came
at once: after a few nights most of the others have changed too. Here the baseline is compared
instead. Without a change it is equally likely to be any of an item's nights, so that a sum over
items has a known distribution, whatever weight an item gets from its nights as a whole. An item
weighs most if all its nights but one agree: it was stable, and then changed. An item that varies
from night to night weighs almost nothing.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Final

from metrics.drift.exchangeable_tail import Bag, lower_tail

LOOKS: Final = (3, 5, 7)
"""Nights after the baseline at which this test is made; they share its part of the alarm rate."""
SHARE: Final = 1 / 3
"""Part of the alarm rate that this test takes from the evidence over all nights."""
_SLIP: Final = 0.05
"""Chance of a changed item to have one night that is not like its state, before and after."""
_CHANGED: Final = 0.5
"""Share of changed items among those whose nights are not all alike, before they are seen."""
_STEPS: Final = 20
"""Steps of the weights in one unit of log-likelihood, so that sums lie on a grid."""


def contrast_p(bags: Sequence[Bag], baseline: Sequence[int]) -> float:
    """p-value of the baseline against the nights since: the probability, if no night differs, that
    a random night of each item exceeds its other nights at least as clearly as the baseline does.

    `bags[i]` has the scores of all nights of an item, `baseline[i]` its score on the first night.
    """
    weighted, observed = [], []
    for bag, score in zip(bags, baseline, strict=True):
        if len(bag) < 2:
            continue
        middle = (min(bag) + max(bag)) / 2
        high = sum(count for value, count in bag.items() if value > middle)
        above, below = item_weights(high, sum(bag.values()))
        weighted.append(_joined({-above: high, -below: sum(bag.values()) - high}, above, below))
        observed.append(-above if score > middle else -below)
    return lower_tail(weighted, observed)


def _joined(bag: Mapping[int, int], above: int, below: int) -> Mapping[int, int]:
    """A bag for one draw; where both weights are equal the draw is certain."""
    return bag if above != below else {-above: 1}


@cache
def item_weights(high: int, nights: int) -> tuple[int, int]:
    """Weights of a high and of a low baseline: log-likelihood ratios of "changed" to "varies"."""
    chance = high / nights
    odds = ((1 - _SLIP) / _SLIP) ** 2 * high / (nights - high)
    if_changed = odds / (1 + odds)
    likely = _CHANGED * _bag_likelihood(high, nights)
    changed = likely / (likely + (1 - _CHANGED) / (nights + 1))
    above = (changed * if_changed + (1 - changed) * chance) / chance
    below = (changed * (1 - if_changed) + (1 - changed) * (1 - chance)) / (1 - chance)
    return round(_STEPS * math.log(above)), round(_STEPS * math.log(below))


def _bag_likelihood(high: int, nights: int) -> float:
    """Probability of so many high nights, if an item was high before the change and low after."""
    later = nights - 1
    first_high = (1 - _SLIP) * _binomial(high - 1, later)
    return first_high + _SLIP * _binomial(high, later)


def _binomial(high: int, nights: int) -> float:
    return math.comb(nights, high) * _SLIP**high * (1 - _SLIP) ** (nights - high)


def contrast_strength(night: int, p: float) -> float:
    """Convert the p-value of a night to the scale of the sequential evidence, on which an alarm is
    raised at 1/α; 0 on nights without this test."""
    if night not in LOOKS:
        return 0.0
    return SHARE / len(LOOKS) / max(p, 1e-300)
