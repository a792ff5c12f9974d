"""Intervals for samples in which (almost) nothing varies.

A standard error estimated from such a sample is zero or far too small: ten equal items do not prove
that all items are equal. The widths here come from the score test of a share, which allows for
events that a sample of this size often misses.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Final

from scipy.optimize import brentq
from scipy.stats import norm

Z95: Final = float(norm.ppf(0.975))
"""Two-sided 95 % quantile of the normal distribution (1.96), unrounded as in published examples."""

TANGO_METHOD: Final = "Tango score, effective n by items"


def upper_limit_of_unseen_share(n: float, z: float = Z95) -> float:
    """Wilson's upper limit z²/(n + z²) for the share of an event that did not occur in n draws."""
    return z * z / (n + z * z)


def finite_distance_to_farther_bound(value: float, bounds: tuple[float, float]) -> float:
    """Distance from a value to the farther of its two bounds; 0 if a bound is infinite."""
    distance = max(value - bounds[0], bounds[1] - value)
    return distance if math.isfinite(distance) else 0.0


def tango_bounds(gains: float, losses: float, n: float, z: float = Z95) -> tuple[float, float]:
    """Tango's score interval for the difference of two shares, (gains − losses)/n, in n matched
    pairs.

    `gains` pairs have the event only in their first member, `losses` only in their second; all
    three numbers may be fractional. If `gains` and `losses` are 0 the interval is ±z²/(n + z²).
    """
    score = _tango_score(gains, losses, n)
    value = (gains - losses) / n
    low = _find_zero_of_curve(lambda delta: score(delta) - z, -1 + 1e-12, value, -1.0)
    high = _find_zero_of_curve(lambda delta: score(delta) + z, value, 1 - 1e-12, 1.0)
    return low, high


def _find_zero_of_curve(
    curve: Callable[[float], float], start: float, stop: float, limit: float
) -> float:
    """Return the zero of a falling function between `start` and `stop`, or `limit` if it has none
    there."""
    if start >= stop or curve(start) * curve(stop) > 0:
        return limit
    return float(brentq(curve, start, stop))


def _tango_score(gains: float, losses: float, n: float) -> Callable[[float], float]:
    """Return Tango's score statistic (1998) as a function of the hypothesised difference."""

    def score_statistic_at(delta: float) -> float:
        linear = -gains - losses + (2 * n - gains + losses) * delta
        constant = -losses * delta * (1 - delta)
        root = math.sqrt(max(linear * linear - 8 * n * constant, 0.0))
        share_less = (root - linear) / (4 * n)
        variance = n * (2 * share_less + delta * (1 - delta))
        return (gains - losses - n * delta) / math.sqrt(max(variance, 1e-300))

    return score_statistic_at
