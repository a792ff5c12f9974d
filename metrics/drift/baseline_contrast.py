"""Exact test of a single baseline night against all later nights. A night is a nightly run of a
study; the baseline night was saved as good.

The test in exchangeable_tail.py compares the latest night with all other nights. It finds little if
the judge changed right after the baseline, because soon most of the other nights have changed too.
This test compares the baseline night instead. Each item has a weight: large if only its baseline
night differs from its other nights, near 0 if its outcome varies from night to night. If nothing
changed, each of an item's nights is equally likely to be the baseline, so the sum of the weights
over all items has a known distribution. An item's score is *high* above the middle between the
item's lowest and highest score, else *low*.
"""

import math
from collections.abc import Sequence
from functools import cache
from typing import Final

from metrics.drift.exchangeable_tail import ScoreCounts, lower_tail_probability

LOOKS: Final = (3, 5, 7)
"""Numbers of nights after the baseline at which the test is made. All three tests together raise a
false alarm with at most the part `SHARE` of the allowed probability."""
SHARE: Final = 1 / 3
"""Part of the allowed rate of false alarms that the tests of the baseline night use; the test of
each night against all others uses the remaining part."""
_SLIP: Final = 0.05
"""Probability that an item that changed once shows, on a single night, the outcome that belongs to
the other side of the change."""
_CHANGED: Final = 0.5
"""Prior probability that an item whose nights differ has changed once, instead of varying from
night to night."""
_STEPS: Final = 20
"""Factor by which log-likelihood ratios are multiplied before rounding to integer weights, so that
the distribution of their sums can be computed exactly."""


def baseline_p_value(counts: Sequence[ScoreCounts], baseline: Sequence[int]) -> float:
    """Return the p-value of "the baseline night does not differ from the later nights", one-sided:
    small if the scores were higher on the baseline night.

    It is the probability that the sum of the items' weights is at least as large as observed if,
    for each item, a night drawn at random is taken as the baseline. `counts[i]` is score -> number
    of nights of item i, `baseline[i]` its score on the baseline night.
    """
    weighted, observed = [], []
    for bag, score in zip(counts, baseline, strict=True):
        if len(bag) < 2:
            continue
        middle = (min(bag) + max(bag)) / 2
        high = sum(count for value, count in bag.items() if value > middle)
        nights = sum(bag.values())
        above, below = item_weights_if_baseline_high_or_low(high, nights)
        weighted.append({-above: high, -below: nights - high})  # equal weights: one entry
        observed.append(-above if score > middle else -below)
    return lower_tail_probability(weighted, observed)


@cache
def item_weights_if_baseline_high_or_low(high: int, nights: int) -> tuple[int, int]:
    """Return the weight of an item if its score on the baseline night is high, and its weight if
    that score is low. A score is high if it is above the middle between the item's lowest and
    highest score; `high` of the item's `nights` nights have a high score.

    A weight is the log-likelihood ratio of "the item may have changed after the baseline" to "its
    outcome varies from night to night", multiplied by `_STEPS` and rounded."""
    chance = high / nights
    odds = ((1 - _SLIP) / _SLIP) ** 2 * high / (nights - high)
    if_changed = odds / (1 + odds)
    likely = _CHANGED * _probability_of_high_scores(high, nights)
    changed = likely / (likely + (1 - _CHANGED) / (nights + 1))
    above = (changed * if_changed + (1 - changed) * chance) / chance
    below = (changed * (1 - if_changed) + (1 - changed) * (1 - chance)) / (1 - chance)
    return round(_STEPS * math.log(above)), round(_STEPS * math.log(below))


def _probability_of_high_scores(high: int, nights: int) -> float:
    """Probability of `high` high scores in `nights` nights if the item changed right after the
    baseline: it is high on the baseline night and low on all later nights, except that each night
    shows the opposite with probability _SLIP."""
    later = nights - 1
    first_high = (1 - _SLIP) * _probability_of_erring_nights(high - 1, later)
    return first_high + _SLIP * _probability_of_erring_nights(high, later)


def _probability_of_erring_nights(slips: int, nights: int) -> float:
    """Binomial probability that exactly `slips` of `nights` nights show the opposite of the
    expected score, each with probability _SLIP."""
    return math.comb(nights, slips) * _SLIP**slips * (1 - _SLIP) ** (nights - slips)


def e_value_of_baseline_p_value(night: int, p_value: float) -> float:
    """Convert a p-value of the test of the baseline night to evidence for a change on the scale of
    an e-value: an alarm is raised at 1/α, with α the allowed rate of false alarms. `night` is the
    number of nights since the baseline; the test is made on the nights in `LOOKS`, on others the
    result is 0."""
    if night not in LOOKS:
        return 0.0
    return SHARE / len(LOOKS) / max(p_value, 1e-300)
