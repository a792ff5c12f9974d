"""Confidence sequences: intervals of a share that hold at every moment of a running study.

A usual 95 % interval excludes the true value in 5 % of studies if it is computed once, and in far
more studies if it is computed again and again during a run. The intervals of a confidence sequence
all contain the true value with 95 % probability, so a run may be stopped because of one of them.
"""

from __future__ import annotations

import math
from typing import Final

from scipy.optimize import brentq
from scipy.special import betaln

from metrics.estimation.intervals import unknown_estimate
from metrics.estimation.planning.power import E_VALUE_THRESHOLD
from studies.domain import Estimate

SEQUENCE_METHOD: Final = "confidence sequence (beta-binomial), one vote per item"
NO_VOTES_NOTE: Final = "no item has a vote yet"


def confidence_sequence(wins: float, n: int) -> Estimate:
    """Estimate the share of wins among n votes, one per item, with bounds that hold at every n;
    unknown without votes.

    The bounds enclose every share p whose e-value is below 20; it is B(w + ½, n − w + ½)/B(½, ½) /
    (pʷ(1 − p)ⁿ⁻ʷ), with w wins and B the beta function (Krichevsky–Trofimov mixture). Votes may be
    fractions from 0 to 1: `wins` is then their sum, and the bounds hold for their mean.
    """
    if n == 0:
        return unknown_estimate(NO_VOTES_NOTE, "share")
    share = wins / n
    mixture = float(betaln(wins + 0.5, n - wins + 0.5) - betaln(0.5, 0.5))

    def log_e_value_over_threshold(p: float) -> float:
        """Return log(e-value against the share p / E_VALUE_THRESHOLD); negative if p is inside the
        bounds."""
        return mixture - _log_likelihood(p, wins, n) - math.log(E_VALUE_THRESHOLD)

    edge = 1e-12
    low = (
        float(brentq(log_e_value_over_threshold, edge, share))
        if wins > 0 and log_e_value_over_threshold(edge) > 0
        else 0.0
    )
    high = (
        float(brentq(log_e_value_over_threshold, share, 1 - edge))
        if wins < n and log_e_value_over_threshold(1 - edge) > 0
        else 1.0
    )
    return Estimate(share, low, high, n, n, "share", 0.95, SEQUENCE_METHOD)


def _log_likelihood(p: float, wins: float, n: int) -> float:
    won = wins * math.log(p) if wins else 0.0
    return won + ((n - wins) * math.log1p(-p) if wins < n else 0.0)
