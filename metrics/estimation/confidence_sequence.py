"""Confidence sequences: intervals of a share that hold at every moment of a running study.

A 95 % interval for a fixed number of verdicts excludes the truth in 5 % of studies at one look, and
far more often at some look of many. A confidence sequence contains the truth at all looks together
with 95 % probability, so that a run may be stopped on it.
"""

from __future__ import annotations

import math
from typing import Final

from scipy.optimize import brentq
from scipy.special import betaln

from metrics.estimation.intervals import unknown_estimate
from metrics.estimation.power import E_VALUE_THRESHOLD
from studies.domain import Estimate

SEQUENCE_METHOD: Final = "confidence sequence (beta-binomial), one vote per item"
NO_VOTES_NOTE: Final = "no item has a vote yet"


def confidence_sequence(wins: int, n: int) -> Estimate:
    """Share of wins among n votes, one per item, with bounds that hold at every n.

    The set of p with B(w + ½, n − w + ½)/B(½, ½) < 20·pʷ(1 − p)ⁿ⁻ʷ: the e-value against p has not
    reached 20 (Krichevsky–Trofimov mixture, Ville's inequality).
    """
    if n == 0:
        return unknown_estimate(NO_VOTES_NOTE, "share")
    share = wins / n
    mixture = float(betaln(wins + 0.5, n - wins + 0.5) - betaln(0.5, 0.5))

    def excess(p: float) -> float:
        """Log of the e-value against p over the threshold: negative inside the sequence."""
        return mixture - _log_likelihood(p, wins, n) - math.log(E_VALUE_THRESHOLD)

    edge = 1e-12
    low = float(brentq(excess, edge, share)) if wins else 0.0
    high = float(brentq(excess, share, 1 - edge)) if wins < n else 1.0
    return Estimate(share, low, high, n, n, "share", 0.95, SEQUENCE_METHOD)


def _log_likelihood(p: float, wins: int, n: int) -> float:
    won = wins * math.log(p) if wins else 0.0
    return won + ((n - wins) * math.log1p(-p) if wins < n else 0.0)
