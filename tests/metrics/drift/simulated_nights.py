"""Simulated nights of a judge: stable items, items that vary from night to night, and a drop."""

from __future__ import annotations

import numpy as np

from metrics.drift.night_history import StreamHistory

ACCURACY = 0.8
STREAMS = 3
"""Accuracy, coverage and consistency of one judge: the threshold is that of three streams."""
ALPHA = 0.05


def first_alarm(
    rng: np.random.Generator,
    *,
    items: int,
    noise: float,
    nights: int,
    baseline: int = 1,
    drop_at: int | None = None,
    drop: float = 0.0,
) -> int | None:
    """The night of the first alarm. `noise`: share of items whose verdict differs between two
    nights; `drop`: share of items that are wrong from the night `drop_at` on."""
    right = np.where(rng.random(items) < ACCURACY, 1.0, 0.0)
    varies = rng.random(items) < 2 * noise  # with probability 1/2 each night: half of pairs differ
    right = np.where(varies, 0.5, right)
    after = right.copy()
    lost = rng.choice(np.flatnonzero(right == 1), round(drop * items), replace=False)
    after[lost] = 0.0
    return _alarm(rng, right, after, nights, baseline, drop_at)


def first_alarm_of_spread_drop(
    rng: np.random.Generator, *, items: int, nights: int, baseline: int, drop_at: int, drop: float
) -> int | None:
    """The night of the first alarm if the chance of a right verdict (Beta(3, 0.6) over items, mean
    5/6) is lower by `drop` on every item from the night `drop_at` on."""
    right = rng.beta(3.0, 0.6, items)
    return _alarm(rng, right, np.clip(right - drop, 0, 1), nights, baseline, drop_at)


def _alarm(
    rng: np.random.Generator,
    right: np.ndarray,
    after: np.ndarray,
    nights: int,
    baseline: int,
    drop_at: int | None,
) -> int | None:
    """The night of the first alarm; `right` and `after`: chances of a right verdict on each item
    before and after the drop."""
    history = StreamHistory("accuracy")
    for _ in range(baseline):
        history = history.with_baseline_night(_night(rng, right))
    for night in range(1, nights + 1):
        chances = after if drop_at is not None and night >= drop_at else right
        compared, history = history.compare_night(_night(rng, chances))
        if compared.strength >= STREAMS / ALPHA:
            return night
    return None


def _night(rng: np.random.Generator, chances: np.ndarray) -> dict[str, str]:
    drawn = rng.random(len(chances)) < chances
    return {str(n): "60" if right else "0" for n, right in enumerate(drawn)}
