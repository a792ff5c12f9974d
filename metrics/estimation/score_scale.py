"""Scale of a score, and estimates of means on it: scores, distances and differences of scores."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

import numpy as np
import pandas as pd

from metrics.estimation.intervals import Floats, Ints, mean_estimate
from studies.domain import Estimate
from studies.frames.arrangement import Arrangement
from studies.frames.point_columns import arrangement_of


@dataclass(frozen=True, slots=True)
class ScoreScale:
    """Lowest and highest possible score; infinite if the options of the verdict are not recorded.

    `span` is the largest possible distance of two scores. On an unknown scale it is the range of
    all scores that occur; it then sets the width of the interval of a mean whose own scores are all
    equal, but limits no interval.
    """

    low: float = -math.inf
    high: float = math.inf
    span: float = 0.0

    def including(self, *values: Floats) -> ScoreScale:
        """Return the scale, extended where needed to contain these scores and labels (nan:
        missing)."""
        seen = np.concatenate([one[np.isfinite(one)] for one in values])
        if not len(seen):
            return self
        span = max(self.span, float(np.ptp(seen)))
        if not math.isfinite(self.low):
            return replace(self, span=span)
        low, high = min(self.low, float(seen.min())), max(self.high, float(seen.max()))
        return ScoreScale(low, high, high - low)

    @property
    def unit(self) -> str:
        """Unit of a mean score, such as "score/10"; "score" if the scale is unknown."""
        return f"score/{self.high:g}" if math.isfinite(self.high) else "score"

    def mean(self, values: Floats, items: Ints, unit: str = "score") -> Estimate:
        """Estimate a mean score, clustered by item."""
        return self._estimate(values, items, (self.low, self.high), unit)

    def distance(self, values: Floats, items: Ints) -> Estimate:
        """Estimate a mean distance of two scores, or another mean from 0 to the span."""
        known = math.isfinite(self.low)
        return self._estimate(values, items, (0.0, self.span if known else math.inf))

    def difference(self, values: Floats, items: Ints) -> Estimate:
        """Estimate a mean difference of two scores."""
        most = self.span if math.isfinite(self.low) else math.inf
        return self._estimate(values, items, (-most, most))

    def _estimate(
        self, values: Floats, items: Ints, bounds: tuple[float, float], unit: str = "score"
    ) -> Estimate:
        effect = None if math.isfinite(bounds[1]) else self.span or None
        return mean_estimate(values, items, unit, bounds, effect=effect)


UNKNOWN_SCALE: Final = ScoreScale()


def scale_of(offered: Sequence[Arrangement]) -> ScoreScale:
    """Return the scale of the options offered; unknown if an arrangement has no scored options."""
    scores = [one.scores for one in offered]
    if not scores or not all(scores):
        return UNKNOWN_SCALE
    low, high = min(map(min, scores)), max(map(max, scores))
    return ScoreScale(low, high, high - low)


def frame_scale(rows: pd.DataFrame) -> ScoreScale:
    """Return the scale of the options that verdicts on single answers chose from."""
    named = rows["labels"].cat
    return scale_of([arrangement_of(named.categories[code]) for code in named.codes.unique()])
