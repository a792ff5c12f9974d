"""Expected interval of a win rate for a planned study, and the share of its variance due to items,
orders, judges, prompts and repeats.

The variance components come from stored verdicts (`precision_plan`) or, before the first run, from
an assumed correlation of the verdicts on one item.
"""

import math
from dataclasses import dataclass
from typing import Final

from metrics.estimation.planning.variance_components import (
    ITEM,
    REPEAT,
    VarianceComponents,
    count_interaction_as_noise,
)

JUDGE, PROMPT, ORDER = "judge", "prompt", "order"
VERDICT_VARIANCE: Final = 0.25
"""Variance of a single verdict at a win rate of 50 %, where this variance is largest."""
_NORMAL_95: Final = 1.96
_POWER_80: Final = 0.84


@dataclass(frozen=True, slots=True)
class StudySize:
    """Size of a planned study; `opponents` is the number of models that a model meets per item."""

    items: float
    judges: int = 1
    prompts: int = 1
    orders: int = 2
    repeats: float = 1.0
    opponents: int = 1

    def levels(self) -> dict[str, float]:
        """Return the number of levels of each source of variance: items, judges, prompts and
        orders, and under REPEAT the replies in each combination of these (repeats times
        opponents)."""
        return {
            ITEM: self.items,
            JUDGE: self.judges,
            PROMPT: self.prompts,
            ORDER: self.orders,
            REPEAT: self.repeats * self.opponents,
        }


@dataclass(frozen=True, slots=True)
class PlannedWidth:
    """Half-width of a 95 % interval. `at_best` is true if the variance of a part of the plan (such
    as several judges) is unknown, so that the interval may be wider."""

    half: float
    at_best: bool = False


def assumed_components(size: StudySize, correlation: float) -> VarianceComponents:
    """Return assumed variance components: verdicts on one item correlate by `correlation`, all
    other variance is noise."""
    levels = dict.fromkeys((ITEM, JUDGE, PROMPT, ORDER), 1)
    return VarianceComponents(
        levels,
        {
            frozenset((ITEM,)): correlation * VERDICT_VARIANCE,
            frozenset(levels): (1 - correlation) * VERDICT_VARIANCE / size.opponents,
        },
        repeat=None,
        repeats=float(size.opponents),
    )


def planned_width(components: VarianceComponents, size: StudySize) -> PlannedWidth:
    """Return the expected half-width of a win rate's interval in a study of this size.

    Where the components do not suffice, the most favourable case is assumed. If several judges (or
    prompts, or orders) are planned but only one was measured, their verdicts count as independent;
    if repeats are planned but were not measured, the interaction of all sources counts as noise.
    """
    known, at_best, shrink = components, False, 1.0
    levels = size.levels()
    if components.repeat is None and levels[REPEAT] > 1.05 * components.repeats:
        known, at_best = count_interaction_as_noise(components), True
    times = {REPEAT: levels[REPEAT] / known.repeats}
    for name, n in known.facets.items():
        if any(name in effect for effect in known.effects):
            times[name] = levels[name] / n
        elif levels[name] > n:
            shrink, at_best = shrink * n / levels[name], True
    variance = known.error_variance(times) * shrink
    return PlannedWidth(min(_NORMAL_95 * math.sqrt(variance), 1.0), at_best)


def detectable_win_rate(half_width: float) -> float:
    """Return the smallest win rate above 50 % that an interval of this half-width separates from 50
    % with 80 % power."""
    return min(0.5 + half_width * (1 + _POWER_80 / _NORMAL_95), 1.0)


def variance_shares_by_source(components: VarianceComponents, size: StudySize) -> dict[str, float]:
    """Return item, order, judge, prompt or repeat -> its share in the variance of the win rate;
    sources without variance are left out.

    The interaction of items with one further source is added to this source (items × judges:
    judge). Interactions of items with two or more further sources are added to repeat.
    """
    levels = size.levels()
    found: dict[str, float] = {}
    for effect, variance in components.effects.items():
        if ITEM not in effect:
            continue
        others = sorted(effect - {ITEM})
        source = ITEM if not others else others[0] if len(others) == 1 else REPEAT
        part = variance / math.prod(levels[name] for name in effect)
        found[source] = found.get(source, 0.0) + part
    if components.repeat:
        replies = math.prod(levels[name] for name in components.facets) * levels[REPEAT]
        found[REPEAT] = found.get(REPEAT, 0.0) + components.repeat / replies
    total = sum(found.values())
    return {name: part / total for name, part in found.items() if part > 0} if total > 0 else {}
