"""Evidence for a change at an unknown night, which may be checked after every night.

Each night bets against "no change" with its p-value; without a change the capital is not expected
to grow, so that it reaches 1/α in at most a share α of all series, however many nights there are
(Ville's inequality). The capital is spread over the possible nights of the change: otherwise a year
without change would use it up before a drop comes.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Final

from scipy.special import ndtri

HORIZON: Final = 365
"""Nights over which the start of a change is spread. Later starts have no capital left: the
evidence stays valid, but the baseline should be renewed."""
SHIFTS: Final = (1.0, 2.0, 3.0, 4.5, 6.5)
"""Sizes of a change, in standard deviations of one night, that are bet on in equal parts."""
UNSPENT: Final = 0.1
"""Share of the capital that a night leaves out of its bet, so that one good night loses not all."""
_SMALLEST_P: Final = 1e-300
_HARMONIC: Final = sum(1 / night for night in range(1, HORIZON + 1))


def start_weight(night: int) -> float:
    """Share of the capital for a change that starts on this night: proportional to 1/night."""
    return 1 / (night * _HARMONIC) if 1 <= night <= HORIZON else 0.0


@cache
def _waiting(nights: int) -> float:
    """Share of the capital for changes that start after this many nights."""
    return sum(start_weight(night) for night in range(nights + 1, HORIZON + 1))


@dataclass(frozen=True, slots=True)
class ChangeEvidence:
    """Capital after some nights: `started` by size of the change, for all starts so far."""

    nights: int = 0
    started: tuple[float, ...] = (0.0,) * len(SHIFTS)

    def after(self, p: float) -> ChangeEvidence:
        """The evidence after one more night with this p-value."""
        night = self.nights + 1
        fresh = start_weight(night)
        bets = _bets(p)
        capital = tuple(
            min(bet * (held + fresh), 1e200) for bet, held in zip(bets, self.started, strict=True)
        )
        return ChangeEvidence(night, capital)

    @property
    def e_value(self) -> float:
        """Factor by which the capital has grown; at least 1/α in at most a share α of series."""
        return _waiting(self.nights) + sum(self.started) / len(self.started)


def _bets(p: float) -> Sequence[float]:
    """Pay-off of a bet on each size: the likelihood ratio of z for a shift of the normal mean."""
    z = -float(ndtri(min(max(p, _SMALLEST_P), 1 - 1e-16)))
    ratios = (math.exp(min(shift * z - shift * shift / 2, 400.0)) for shift in SHIFTS)
    return [UNSPENT + (1 - UNSPENT) * ratio for ratio in ratios]
