"""Agreement of a judge's scores with labels on the same scale: error, bias, rank correlation, κ."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Final

import numpy as np
from numpy.typing import ArrayLike
from scipy import stats

from metrics.estimation import intervals
from metrics.estimation.score_scale import UNKNOWN_SCALE, ScoreScale
from studies.domain import Estimate

MAX_GROUPS: Final = 100
"""Maximum number of groups of items that the jackknife leaves out in turn, to limit its time."""
GROUPED_METHOD: Final = "jackknife over groups of items, Student's t"
NO_SPREAD_NOTE: Final = "all scores or all labels are equal"
NO_LABEL_NOTE: Final = "no answer has a score as label"


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


def score_agreement(
    scores: ArrayLike, labels: ArrayLike, items: ArrayLike, scale: ScoreScale | None = None
) -> ScoreAgreement:
    """Estimate the agreement of scores with labels (nan: missing); one row per score, clustered by
    item. Without `scale`, its step is 1 and its span the range of all scores and labels; all
    estimates are unknown if no score has a label."""
    score, label = np.asarray(scores, np.float64), np.asarray(labels, np.float64)
    known = np.isfinite(score) & np.isfinite(label)
    score, label, item = score[known], label[known], np.asarray(items, np.int64)[known]
    if not len(score):
        none = intervals.unknown_estimate(NO_LABEL_NOTE, "score")
        return ScoreAgreement(none, none, none, none, none, none)
    scale = (scale or UNKNOWN_SCALE).extended_to(score, label)
    gap = score - label
    found, counts = np.unique(gap, return_counts=True)
    uneven = gap != found[counts.argmax()]
    return ScoreAgreement(
        mae=scale.mean_distance(np.abs(gap), item),
        bias=scale.mean_difference(gap, item),
        spearman=_jackknife_score_statistic(score, label, item, _spearman, uneven),
        kendall=_jackknife_score_statistic(score, label, item, _kendall, uneven),
        within_one=intervals.rare_proportion(scale.within_one_step(gap), item),
        quadratic_kappa=_jackknife_score_statistic(score, label, item, quadratic_kappa, gap != 0),
    )


def quadratic_kappa(score: intervals.Floats, label: intervals.Floats) -> float:
    """Cohen's κ with quadratic weights: 1 − (mean squared difference)/(the same for scores and
    labels paired at random). nan if all labels are alike: it is 0 then, whatever the scores."""
    by_chance = score.var() + label.var() + (score.mean() - label.mean()) ** 2
    if np.ptp(label) == 0:
        return float("nan")
    return float(1 - np.mean((score - label) ** 2) / by_chance)


def _spearman(score: intervals.Floats, label: intervals.Floats) -> float:
    if np.ptp(score) == 0 or np.ptp(label) == 0:
        return float("nan")
    return float(stats.spearmanr(score, label).statistic)


def _kendall(score: intervals.Floats, label: intervals.Floats) -> float:
    if len(score) < 2:  # of equal values scipy's coefficient is nan already
        return float("nan")
    return float(stats.kendalltau(score, label).statistic)


def _jackknife_score_statistic(
    score: intervals.Floats,
    label: intervals.Floats,
    item: intervals.Ints,
    statistic: Callable[[intervals.Floats, intervals.Floats], float],
    imperfect: np.ndarray,
) -> Estimate:
    """Estimate a statistic of scores and labels with a jackknife interval over groups of items;
    unknown if the statistic is undefined, without interval below three items. Groups are drawn with
    a fixed seed, so that the same data give the same interval.

    `imperfect` marks the rows that keep the statistic below 1. If there are few, the interval is at
    least that of a rare share: leaving out items shows nothing of the errors not in the sample.
    """
    value = statistic(score, label)
    present, code = np.unique(item, return_inverse=True)
    count = len(present)
    if not np.isfinite(value):
        return intervals.unknown_estimate(NO_SPREAD_NOTE, "correlation")
    groups = min(count, MAX_GROUPS) if count > 2 else 0
    group = np.random.default_rng(0).permutation(count)[code] % MAX_GROUPS
    left = np.array([statistic(score[group != g], label[group != g]) for g in range(groups)])
    found = Estimate(value, None, None, len(score), count, "correlation", 0.95, GROUPED_METHOD)
    if not groups or not np.isfinite(left).all():
        return replace(found, note="too few items for an interval")
    t = float(intervals.student_t_quantile(groups))
    if imperfect.sum() <= 1:
        # From the value to the farther one of −1 and 1.
        unseen = intervals.equal_items_half_width(count, 1 + abs(value))
        half = max(t * _standard_error_from_groups(left), unseen)
        low, high = value - half, value + half
    else:
        # The interval is computed on Fisher's z scale, which keeps the limits between −1 and 1.
        z, left_z = (np.arctanh(np.clip(one, -0.999999, 0.999999)) for one in (value, left))
        half = t * _standard_error_from_groups(left_z)
        low, high = float(np.tanh(z - half)), float(np.tanh(z + half))
    _, sums = intervals.sum_by_item(np.stack([imperfect, np.ones(len(imperfect))], axis=1), code)
    found = intervals.widen_for_rare_events(
        replace(found, low=min(low, value), high=min(max(high, value), 1.0)),
        sums[:, 0], sums[:, 1], intervals.FEW_DEVIATIONS,
    )  # fmt: skip
    return replace(found, low=-1.0 if found.low is None else max(found.low, -1.0))


def _standard_error_from_groups(values: intervals.Floats) -> float:
    """Standard error of a statistic from its values without each group in turn."""
    return float(np.sqrt((len(values) - 1) / len(values) * ((values - values.mean()) ** 2).sum()))
