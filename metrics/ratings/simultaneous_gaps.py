"""Critical value for all differences of strengths on a leaderboard at once."""

from typing import Final

import numpy as np
from scipy import stats

from metrics.estimation import intervals, rare_events
from metrics.estimation.multiple_comparisons import draw_normal_vectors
from metrics.ratings import battles, bradley_terry_fit

ROUNDS: Final = 20_000
SEED: Final = 20_24
"""Seed of the random draws, fixed so that the same verdicts always give the same ranks."""
MAX_DRAWN: Final = 30
"""Maximum number of contestants whose differences are drawn; with more, Tukey's quantile is used,
which is at least as large (Hayter 1984: Tukey–Kramer is conservative)."""


def quantile_of_largest_gap_z(covariance: battles.Floats) -> float:
    """95 % quantile of the largest |z| over all differences of strengths with this covariance."""
    size = len(covariance)
    if size < 3:
        return rare_events.Z95
    if size > MAX_DRAWN:
        return float(stats.studentized_range.ppf(0.95, size, np.inf) / np.sqrt(2))
    drawn = draw_normal_vectors(covariance, np.random.default_rng(SEED), ROUNDS)
    errors = bradley_terry_fit.gap_standard_errors(covariance)
    largest = np.zeros(len(drawn))
    for i in range(size - 1):
        known = np.flatnonzero(errors[i, i + 1 :] > intervals.NO_SPREAD_LOGITS) + i + 1
        if len(known):
            gaps = np.abs(drawn[:, [i]] - drawn[:, known]) / errors[i, known]
            np.maximum(largest, gaps.max(axis=1), out=largest)
    return max(float(np.quantile(largest, 0.95)), rare_events.Z95)
