"""Scale of a score, and estimates of means on it: scores, distances and differences of scores."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from metrics.estimation.intervals import Floats, Ints, mean_estimate
from studies.domain import Estimate
from studies.frames.arrangement import ONE_STEP, Arrangement
from studies.frames.point_columns import arrangement_of

USUAL_SCALES: Final = ((0, 1), (1, 5), (0, 5), (1, 7), (1, 10), (0, 10), (0, 100))
"""Ends of the usual scales of scores, the narrowest first."""


@dataclass(frozen=True, slots=True)
class ScoreScale:
    """Lowest and highest possible score; infinite if the options of the verdict are not recorded.

    `span` is the largest possible distance of two scores. On an unknown scale it is the range of
    all scores that occur; it then sets the width of the interval of a mean whose own scores are all
    equal. `step` is the smallest distance of two options, 1 on an unknown scale. `seen` are the
    lowest and the highest score that occur on an unknown scale.
    """

    low: float = -math.inf
    high: float = math.inf
    span: float = 0.0
    step: float = 1.0
    seen: tuple[float, float] | None = None

    @property
    def ends(self) -> tuple[float, float]:
        """Limits of the mean of scores. On an unknown scale these are the ends of the narrowest of
        USUAL_SCALES that contains all scores that occur; infinite if none does."""
        if self.seen is None:
            return self.low, self.high
        least, most = self.seen
        usual = (ends for ends in USUAL_SCALES if ends[0] <= least and most <= ends[1])
        return next(usual, (-math.inf, math.inf))

    @property
    def largest_distance(self) -> float:
        """Limit of the distance of two scores; infinite if the scale is neither known nor usual."""
        return self.ends[1] - self.ends[0]

    def extended_to(self, *values: Floats) -> ScoreScale:
        """Return the scale, extended where needed to contain these scores and labels (nan:
        missing). On an unknown scale only the span and the scores seen are extended."""
        seen = np.concatenate([one[np.isfinite(one)] for one in values])
        if not len(seen):
            return self
        span = max(self.span, float(np.ptp(seen)))
        if not math.isfinite(self.low):
            seen = np.concatenate([seen, self.seen or ()])
            return replace(self, span=span, seen=(float(seen.min()), float(seen.max())))
        low, high = min(self.low, float(seen.min())), max(self.high, float(seen.max()))
        return replace(self, low=low, high=high, span=high - low)

    def within_one_step(self, difference: Floats) -> NDArray[np.bool_]:
        """Whether differences of scores are at most one step of the scale."""
        return np.asarray(np.abs(difference) <= self.step * ONE_STEP, np.bool_)

    def nearest_level(self, values: Floats) -> Floats:
        """Round scores to levels that are whole steps apart, from the lowest score; to whole
        numbers on an unknown scale."""
        start = self.low % self.step if math.isfinite(self.low) else 0.0
        return start + np.round((values - start) / self.step) * self.step

    @property
    def unit(self) -> str:
        """Unit of a mean score, such as "score, 1 to 10"; "score" if the scale is unknown."""
        known = math.isfinite(self.high)
        return f"score, {self.low:g} to {self.high:g}" if known else "score"

    def mean_score(self, values: Floats, items: Ints) -> Estimate:
        """Estimate the mean of scores, clustered by item."""
        return self._estimate_mean(values, items, (self.low, self.high), self.ends, self.unit)

    def mean_distance(self, values: Floats, items: Ints) -> Estimate:
        """Estimate the mean of distances |score − score|, or of other values from 0 to the span,
        clustered by item."""
        most = self.span if math.isfinite(self.low) else math.inf
        return self._estimate_mean(values, items, (0.0, most), (0.0, self.largest_distance))

    def mean_difference(self, values: Floats, items: Ints) -> Estimate:
        """Estimate the mean of signed differences of two scores, clustered by item."""
        most = self.span if math.isfinite(self.low) else math.inf
        return self._estimate_mean(
            values, items, (-most, most), (-self.largest_distance, self.largest_distance)
        )

    def _estimate_mean(
        self,
        values: Floats,
        items: Ints,
        bounds: tuple[float, float],
        ends: tuple[float, float],
        unit: str = "score",
    ) -> Estimate:
        """Estimate a mean whose possible values lie within `bounds`, and limit its interval to
        `ends`. The two differ on a scale that is not recorded: it has no upper bound, but if it
        looks like a usual one, the ends of that scale limit the interval."""
        effect = None if math.isfinite(bounds[1]) else self.span or None
        found = mean_estimate(values, items, unit, bounds, effect=effect)
        if found.value is None or found.low is None or found.high is None:
            return found
        low, high = max(found.low, ends[0]), min(found.high, ends[1])
        return replace(found, low=min(low, found.value), high=max(high, found.value))


UNKNOWN_SCALE: Final = ScoreScale()


def scale_of(offered: Sequence[Arrangement]) -> ScoreScale:
    """Return the scale from the lowest to the highest score of the options offered; unknown if an
    arrangement has no scored options."""
    scores = [one.option_scores for one in offered]
    if not scores or not all(scores):
        return UNKNOWN_SCALE
    low, high = min(map(min, scores)), max(map(max, scores))
    return ScoreScale(low, high, high - low, min(one.score_step for one in offered))


def score_scale_of_rows(rows: pd.DataFrame) -> ScoreScale:
    """Return the scale of the options that verdicts on single answers (rows of a frame) chose from;
    unknown if not all options have scores."""
    named = rows["labels"].cat
    return scale_of([arrangement_of(named.categories[code]) for code in named.codes.unique()])
