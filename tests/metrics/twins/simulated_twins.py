"""Simulated duels of answers with their twins, by a judge whose preferences are known."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache

import numpy as np
import pandas as pd
from scipy.special import expit

from studies.texts.twin_families import CONTROLS, FAMILIES, twin_name
from tests.metrics.frames import build

LEAN = 0.4
"""Preference of the judge for the first position, in logits; it cancels over the two orders."""
TASTE, NOISE = 0.6, 0.8
"""Standard deviations, in logits, of an item's taste for all its twins and for each of them."""
FAMILIES_USED = ("longer-3", "markdown", "citation", "crowd", "confident", "attack-order")
SHOWN = ("sham", "prefix", *FAMILIES_USED, *CONTROLS)
STRONG = {"longer-3": 1.5, "markdown": 0.7, "citation": 0.3, "crowd": 0.0, "confident": -0.5}
"""Family -> preference for the twin in logits; others 0."""


@cache
def empty_frame(items: int, families: tuple[str, ...] = SHOWN) -> pd.DataFrame:
    """Duels of all families in both orders on each item, without verdicts: all picks are 0."""
    rows = []
    for item in range(items):
        for family in families:
            pair = ("x", twin_name("x", family))
            rows += [{"item": f"q{item}", "shown": s, "pick": 0} for s in (pair, pair[::-1])]
    return build(rows)


def duel_frame(
    items: int,
    preferences: Mapping[str, float],
    rng: np.random.Generator,
    families: tuple[str, ...] = SHOWN,
    tastes: np.ndarray | None = None,
) -> pd.DataFrame:
    """Draw the verdicts of one study; controls lose by 2 logits unless named. `tastes` are those
    of the items for all their twins, if another judge shares them."""
    pull = np.array([pull_of(name, preferences) for name in families])
    shape = (items, len(families))
    shared = rng.normal(size=(items, 1)) if tastes is None else tastes
    own = pull + TASTE * shared + NOISE * rng.normal(size=shape)
    second = rng.random(shape) < expit(own - LEAN)  # the twin is shown second, then first
    first = rng.random(shape) < expit(own + LEAN)
    picks = np.stack([second.astype(np.int8), 1 - first.astype(np.int8)], axis=2)
    return empty_frame(items, families).assign(pick=picks.reshape(-1).astype(np.int8))


def two_judges_frame(
    items: int, preferences: Mapping[str, Mapping[str, float]], rng: np.random.Generator
) -> pd.DataFrame:
    """Draw the verdicts of several judges, by name, on the same twins; they share the tastes of the
    items."""
    tastes = rng.normal(size=(items, 1))
    frames = [
        duel_frame(items, own, rng, tastes=tastes).assign(judge=name)
        for name, own in preferences.items()
    ]
    return pd.concat(frames, ignore_index=True)


def pull_of(family: str, preferences: Mapping[str, float]) -> float:
    default = -2.0 if FAMILIES[family].group == "control" else 0.0
    return preferences.get(family, default)


@cache
def true_preference(pull: float) -> float:
    """Preference for the twin with infinitely many items, by Gauss–Hermite quadrature."""
    nodes, weights = np.polynomial.hermite_e.hermegauss(80)
    spread = np.hypot(TASTE, NOISE)
    share = (expit(pull + spread * nodes - LEAN) + expit(pull + spread * nodes + LEAN)) / 2
    return float((share * weights).sum() / weights.sum() - 0.5)


def true_effects(preferences: Mapping[str, float], names: Sequence[str]) -> dict[str, float]:
    """Effect of each family beyond its floor."""
    return {
        name: true_preference(pull_of(name, preferences))
        - true_preference(pull_of(FAMILIES[name].floor, preferences))
        for name in names
    }
