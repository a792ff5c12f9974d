"""Agreement of a judge's scores with labels on the same scale: error, bias, rank correlation, κ."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import ArrayLike
from scipy import stats

from metrics.estimation.intervals import (
    Floats,
    Ints,
    join_notes,
    mean_estimate,
    proportion,
    student_t_quantile,
    unknown_estimate,
)
from studies.domain import Estimate

MAX_GROUPS: Final = 100
"""Maximum number of groups of items that the jackknife leaves out in turn, to limit its time."""
GROUPED_METHOD: Final = "jackknife over groups of items, Student's t"
NO_SPREAD_NOTE: Final = "all scores or all labels are equal"
NO_LABEL_NOTE: Final = "no score has a label"


@dataclass(frozen=True, slots=True)
class ScoreAgreement:
    """Estimates of the agreement of a judge's scores with the labels."""

    mae: Estimate
    """Mean absolute difference of score and label."""
    bias: Estimate
    """Mean of score − label."""
    spearman: Estimate
    kendall: Estimate
    """Kendall's tau-b of scores and labels."""
    within_one: Estimate
    """Share of scores at most one step from the label."""
    quadratic_kappa: Estimate


def score_agreement(scores: ArrayLike, labels: ArrayLike, items: ArrayLike) -> ScoreAgreement:
    """Estimate the agreement of scores with labels (nan: missing); one row per score, clustered by
    item."""
    score, label = np.asarray(scores, np.float64), np.asarray(labels, np.float64)
    known = np.isfinite(score) & np.isfinite(label)
    score, label, item = score[known], label[known], np.asarray(items, np.int64)[known]
    if not len(score):
        none = unknown_estimate(NO_LABEL_NOTE, "score")
        return ScoreAgreement(none, none, none, none, none, none)
    gap = score - label
    return ScoreAgreement(
        mae=mean_estimate(np.abs(gap), item, bounds=(0.0, np.inf)),
        bias=mean_estimate(gap, item),
        spearman=_correlation(score, label, item, _spearman),
        kendall=_correlation(score, label, item, _kendall),
        within_one=proportion(np.abs(gap) <= 1 + 1e-9, item),
        quadratic_kappa=_correlation(score, label, item, quadratic_kappa),
    )


def quadratic_kappa(score: Floats, label: Floats) -> float:
    """Cohen's κ with quadratic weights: 1 − (mean squared difference)/(the same for scores and
    labels paired at random). nan if all scores and labels are equal."""
    by_chance = score.var() + label.var() + (score.mean() - label.mean()) ** 2
    if by_chance < 1e-12:
        return float("nan")
    return float(1 - np.mean((score - label) ** 2) / by_chance)


def _spearman(score: Floats, label: Floats) -> float:
    if np.ptp(score) == 0 or np.ptp(label) == 0:
        return float("nan")
    return float(stats.spearmanr(score, label).statistic)


def _kendall(score: Floats, label: Floats) -> float:
    if np.ptp(score) == 0 or np.ptp(label) == 0:
        return float("nan")
    return float(stats.kendalltau(score, label).statistic)


def _correlation(
    score: Floats, label: Floats, item: Ints, statistic: Callable[[Floats, Floats], float]
) -> Estimate:
    """Estimate a statistic of scores and labels with a jackknife interval over groups of items.
    Groups are drawn with a fixed seed, so that the same data give the same interval."""
    value = statistic(score, label)
    present, code = np.unique(item, return_inverse=True)
    count = len(present)
    if not np.isfinite(value):
        return unknown_estimate(NO_SPREAD_NOTE, "correlation")
    groups = min(count, MAX_GROUPS)
    group = np.random.default_rng(0).permutation(count)[code] % groups
    left = np.array([statistic(score[group != g], label[group != g]) for g in range(groups)])
    if groups < 3 or not np.isfinite(left).all():
        note = join_notes("too few items for an interval")
        return Estimate(value, None, None, len(score), count, "correlation", 0.95,
                        GROUPED_METHOD, note)  # fmt: skip
    # The interval is computed on Fisher's z scale, which keeps the limits between −1 and 1.
    z, left_z = (np.arctanh(np.clip(one, -0.999999, 0.999999)) for one in (value, left))
    error = np.sqrt((groups - 1) / groups * ((left_z - left_z.mean()) ** 2).sum())
    half = float(student_t_quantile(groups)) * float(error)
    low, high = float(np.tanh(z - half)), float(np.tanh(z + half))
    return Estimate(value, min(low, value), max(high, value), len(score), count, "correlation",
                    0.95, GROUPED_METHOD)  # fmt: skip
