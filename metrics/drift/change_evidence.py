"""Evidence for a change at an unknown night (a nightly run of a study), which may be checked after
every night.

The evidence is an e-value, computed as the capital of a bettor: every night, the capital is bet
against "no change" at odds that depend on the night's p-value. Without a change the expected
capital does not grow, so it reaches 1/α in at most a share α of all series, however long they are
(Ville's inequality). The capital is divided over the possible first nights of a change. If the
whole capital were bet from the first night on, a year without change would use it up before a
change comes.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Final

from scipy.special import ndtri

HORIZON: Final = 365
"""Number of nights on which a change may start: the betting capital is divided among them. A change
that starts later is not detected, so after that many nights the history should start again with a
new baseline (a night saved as good)."""
SHIFTS: Final = (1.0, 2.0, 3.0, 4.5, 6.5)
"""Assumed sizes of a change, in standard deviations of one night. Equal parts of the betting
capital are bet on each size."""
UNSPENT: Final = 0.1
"""Share of the betting capital that is not bet on a night, so that one night without a sign of
change does not lose the whole capital."""
_SMALLEST_P: Final = 1e-300
_HARMONIC: Final = sum(1 / night for night in range(1, HORIZON + 1))


def capital_share_for_start_night(night: int) -> float:
    """Share of the betting capital for a change that starts on this night: proportional to
    1/night, and 0 after HORIZON nights."""
    return 1 / (night * _HARMONIC) if 1 <= night <= HORIZON else 0.0


@cache
def _capital_share_for_later_starts(nights: int) -> float:
    """Share of the betting capital that is reserved for changes that start after this many
    nights."""
    return sum(capital_share_for_start_night(night) for night in range(nights + 1, HORIZON + 1))


@dataclass(frozen=True, slots=True)
class ChangeEvidence:
    """Betting capital (evidence for a change) after a number of nights.

    `started` has, for each assumed size of a change (SHIFTS), what the capital bet so far is worth
    now."""

    nights: int = 0
    started: tuple[float, ...] = (0.0,) * len(SHIFTS)

    def after_night(self, p_value: float) -> ChangeEvidence:
        """Return the evidence after one more night with this p-value."""
        night = self.nights + 1
        fresh = capital_share_for_start_night(night)
        bets = _capital_factors_by_change_size(p_value)
        capital = tuple(
            min(bet * (held + fresh), 1e200) for bet, held in zip(bets, self.started, strict=True)
        )
        return ChangeEvidence(night, capital)

    @property
    def e_value(self) -> float:
        """Factor by which the betting capital has grown. Of series without a change, at most a
        share α ever reaches 1/α."""
        return _capital_share_for_later_starts(self.nights) + sum(self.started) / len(self.started)


def _capital_factors_by_change_size(p_value: float) -> Sequence[float]:
    """Return, for each assumed size of a change (SHIFTS), the factor by which a night with this
    p-value multiplies the capital bet on that size.

    The factor is UNSPENT + (1 − UNSPENT)·(likelihood ratio of "changed by this size" to "no change"
    for the night's z-score), with UNSPENT the share of the capital that is not put at risk."""
    z = -float(ndtri(min(max(p_value, _SMALLEST_P), 1 - 1e-16)))
    ratios = (math.exp(min(shift * z - shift * shift / 2, 400.0)) for shift in SHIFTS)
    return [UNSPENT + (1 - UNSPENT) * ratio for ratio in ratios]
