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
    history = StreamHistory("accuracy")
    for _ in range(baseline):
        history = history.with_baseline(_night(rng, right))
    for night in range(1, nights + 1):
        chances = after if drop_at is not None and night >= drop_at else right
        compared, history = history.compare(_night(rng, chances))
        if compared.strength >= STREAMS / ALPHA:
            return night
    return None


def _night(rng: np.random.Generator, chances: np.ndarray) -> dict[str, str]:
    drawn = rng.random(len(chances)) < chances
    return {str(n): "60" if right else "0" for n, right in enumerate(drawn)}
