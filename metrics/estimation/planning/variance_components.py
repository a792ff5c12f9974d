"""Variance components of a crossed design (generalizability study), and the gain from enlarging it.

Balanced analysis of variance with random effects: items × judges × prompts × orders, with repeats
in each cell (combination of the four). Items, judges, prompts and orders are the *facets*; the
values of a facet, such as the single judges, are its *levels*. Negative estimates count as zero.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from math import prod
from typing import Final

import numpy as np

from metrics.estimation.intervals import Floats

ITEM: Final = "item"
REPEAT: Final = "repeat"
Effect = frozenset[str]
"""Facets whose joint effect is meant: {item} for a main effect, {item, judge} for an
interaction."""


@dataclass(frozen=True)
class VarianceComponents:
    """Number of levels of each facet, and variance of each effect.

    `repeats` is the number of replies in each cell. `repeat` is the variance between replies in the
    same cell; it is None if no cell has two replies, because it then cannot be separated from the
    interaction of all facets.
    """

    facets: Mapping[str, int]
    effects: Mapping[Effect, float]
    repeat: float | None
    repeats: float

    def error_variance(self, times: Mapping[str, float] | None = None) -> float:
        """Variance of the mean of all verdicts over new samples of items, with the same judges,
        prompts and orders: the effects that involve items, and the variance between repeats.

        `times`: facet -> factor by which its number of levels grows, REPEAT -> factor by which the
        number of repeats grows; 1 for those left out.
        """
        factor = dict(times or {})
        size = {name: n * factor.get(name, 1.0) for name, n in self.facets.items()}
        total = sum(
            variance / prod(size[name] for name in effect)
            for effect, variance in self.effects.items()
            if ITEM in effect
        )
        replies = prod(size.values()) * self.repeats * factor.get(REPEAT, 1.0)
        return total + (self.repeat or 0.0) / replies

    def narrowing(self, facet: str, times: float = 2.0) -> float:
        """Share by which the interval becomes narrower with `times` as many levels of a facet (or
        REPEAT: repeats): 0.29 if its width falls by 29 %."""
        now = self.error_variance()
        if now <= 0:
            return 0.0
        return 1 - float(np.sqrt(self.error_variance({facet: times}) / now))

    def variance_shares(self) -> dict[str, float]:
        """Share of each effect, such as "item × judge", in the variance of a single reply; empty if
        the variance is 0."""
        named = {effect_name(effect): variance for effect, variance in self.effects.items()}
        named[REPEAT] = self.repeat or 0.0
        total = sum(named.values())
        return {name: value / total for name, value in named.items()} if total > 0 else {}


def count_interaction_as_noise(components: VarianceComponents) -> VarianceComponents:
    """Return the components with the interaction of all facets (items, judges, prompts, orders)
    counted as noise between repeats, and no longer as an effect.

    Without measured repeats the two cannot be separated; this is then the upper limit of the noise,
    and so of the gain from repeats."""
    finest = max(components.effects, key=len, default=frozenset({ITEM}))
    noise = components.effects.get(finest, 0.0)
    assumed = {**components.effects, finest: 0.0}
    per_cell = noise * components.repeats
    return VarianceComponents(components.facets, assumed, per_cell, components.repeats)


def effect_name(effect: Effect) -> str:
    """Name of an effect (a set of facets, such as item and judge): the facets joined by ×, the item
    first."""
    return " × ".join(sorted(effect, key=_facet_sort_key))


def _facet_sort_key(name: str) -> tuple[bool, str]:
    """Sort key: the item first, the other facets by name."""
    return name != ITEM, name


def variance_components(
    means: Floats, facets: Sequence[str], within: float | None = None, repeats: float = 1.0
) -> VarianceComponents:
    """Estimate the components from cell means, an array with one axis per facet and no missing
    cells.

    Each component follows from the mean squares of the analysis of variance; a negative one is 0.
    `within` is the variance between replies in one cell, `repeats` the number of replies per cell.
    A facet with one level has no effect.
    """
    size = dict(zip(facets, means.shape, strict=True))
    varied = [name for name in facets if size[name] > 1]
    effects = [
        frozenset(names) for k in range(1, len(varied) + 1) for names in combinations(varied, k)
    ]
    squares = {effect: _mean_square(means, facets, effect) for effect in effects}
    found = {}
    for effect in effects:
        signed = sum(
            (-1) ** len(larger - effect) * squares[larger] for larger in effects if effect <= larger
        )
        found[effect] = signed / prod(n for name, n in size.items() if name not in effect)
    if within is not None and varied:
        found[frozenset(varied)] -= within / repeats
    return VarianceComponents(
        size, {effect: max(v, 0.0) for effect, v in found.items()}, within, repeats
    )


def _mean_square(means: Floats, facets: Sequence[str], effect: Effect) -> float:
    """Mean square of one effect of a fully crossed design, from its cell means."""
    own = [axis for axis, name in enumerate(facets) if name in effect]
    other = tuple(axis for axis in range(means.ndim) if axis not in own)
    table = means.mean(axis=other, keepdims=True)
    for axis in own:  # subtract the effects of fewer facets
        table = table - table.mean(axis=axis, keepdims=True)
    degrees = prod(means.shape[axis] - 1 for axis in own)
    repeats = prod(means.shape[axis] for axis in other)
    return float((table**2).sum()) * int(repeats) / max(int(degrees), 1)
