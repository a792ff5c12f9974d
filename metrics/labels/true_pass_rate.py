"""True pass rate: the share of good answers, corrected for the judge's errors.

Rogan and Gladen (1978): (observed + specificity − 1) / J on verdicts without a label, where J is
sensitivity + specificity − 1. Sensitivity and specificity are estimated on labelled verdicts. For a
labelled answer the label itself counts, once, whether or not its verdict is usable. The correction
assumes that the judge errs equally often on labelled and on unlabelled answers of the same
quality.

A second estimator, `prediction_powered_rate`, is prediction-powered (PPI++): the share of good
answers by the labels, adjusted by the verdicts. It is valid without this assumption if the labelled
answers are a random sample.
"""

import math
from dataclasses import replace
from typing import Final

import numpy as np
from scipy.special import stdtrit

from metrics.estimation.intervals import (
    Floats,
    Ints,
    join_notes,
    share_and_effective_sample_size,
    sum_by_item,
    unknown_estimate,
    wilson_bounds,
)
from metrics.estimation.rare_events import Z95
from metrics.labels.pass_fail import (
    FAIL,
    PASS,
    UNKNOWN,
    PassFailRates,
    PassFailRows,
    combine_independent,
    labelled_pass_rate,
    pass_fail_rates,
)
from studies.domain import Estimate

MIN_YOUDEN: Final = 0.2
"""Smallest J for which verdicts are corrected; dividing by a smaller J makes the estimate
unstable."""
MIN_YOUDEN_LIMIT: Final = 0.06
"""Smallest lower limit of J for which verdicts are corrected. With a limit of 0, up to 16 % of
judges with a true J of 0.1 would be corrected; with this limit at most 10 % are
(docs/coverage.md)."""
CORRECTED_METHOD: Final = "Rogan–Gladen, Lang–Reiczigel limits"
POOLED_METHOD: Final = "labels, and Rogan–Gladen on verdicts without a label"
BY_LABELS: Final = "pass rate by the labels"
CLIPPED_NOTE: Final = "the corrected value lies outside 0 to 1 and is set to the limit"
NO_VERDICTS_NOTE: Final = "no verdicts"


def true_pass_rate(rows: PassFailRows, rates: PassFailRates | None = None) -> Estimate:
    """Estimate the share of good answers among all judged answers, from labels and corrected
    verdicts.

    If a correction is needed but impossible (see `why_not_correctable`) there is no value, and the
    note gives the reason."""
    rates = rates or pass_fail_rates(rows)
    usable = rows.usable
    if not len(usable.verdict):
        return unknown_estimate(NO_VERDICTS_NOTE)
    unlabelled = usable.select(usable.label == UNKNOWN)
    if not len(unlabelled.verdict):
        return labelled_pass_rate(rows)
    if reason := why_not_correctable(rates):
        return unknown_estimate(reason)
    return pooled_pass_rate(rows, corrected_pass_rate(unlabelled, rows.labelled))


def pooled_pass_rate(rows: PassFailRows, corrected: Estimate) -> Estimate:
    """Estimate the share of good answers among all answers that have a label or a usable verdict:
    the mean of the share by the labels and the share `corrected` for the judge's errors on the
    answers without a label, weighted by their numbers of answers."""
    counted = rows.select((rows.label != UNKNOWN) | (rows.verdict != UNKNOWN)).one_per_answer
    part = float((counted.label != UNKNOWN).mean())
    parts = [(part, labelled_pass_rate(rows)), (1 - part, corrected)]
    items = len(np.unique(counted.item))
    return clip_share(combine_independent(parts, items, "share", POOLED_METHOD, corrected.note))


def is_by_labels(rate: Estimate) -> bool:
    """Whether a true pass rate is the share of good answers by the labels alone, without any
    correction."""
    return rate.value is not None and rate.method not in (CORRECTED_METHOD, POOLED_METHOD)


def true_rate_name(rate: Estimate) -> str:
    """Name of a true pass rate in a sentence, by its source: labels alone, or also a correction."""
    return BY_LABELS if is_by_labels(rate) else "true pass rate"


def why_not_correctable(rates: PassFailRates) -> str:
    """Return the reason why verdicts without a label cannot be corrected for the judge's errors:
    these `rates` do not show that the judge tells good answers from bad ones. Empty if they can be
    corrected."""
    youden = rates.youden
    if youden.value is None:
        return f"no correction: {youden.note}"
    if youden.value < MIN_YOUDEN:
        return (
            f"no correction: sensitivity + specificity − 1 is {youden.value:.2f}, "
            f"below {MIN_YOUDEN}; the judge hardly distinguishes good from bad answers"
        )
    if youden.low is None or youden.low <= MIN_YOUDEN_LIMIT:
        return (
            "no correction: the labels do not show that the judge distinguishes good from bad "
            "answers"
        )
    return ""


def corrected_pass_rate(unlabelled: PassFailRows, labelled: PassFailRows) -> Estimate:
    """Estimate the share of good answers among `unlabelled` verdicts by Rogan and Gladen's
    correction, with sensitivity and specificity from `labelled`.

    The limits are those of Lang and Reiczigel (2014), which stay valid with few labels; sample
    sizes are effective ones, clustered by item.
    """
    observed, n = _share_and_effective_size(unlabelled.verdict == PASS, unlabelled.item)
    good, bad = labelled.label == PASS, labelled.label == FAIL
    sensitivity, n_good = _share_and_effective_size(
        labelled.verdict[good] == PASS, labelled.item[good]
    )
    specificity, n_bad = _share_and_effective_size(
        labelled.verdict[bad] == FAIL, labelled.item[bad]
    )
    value = (observed + specificity - 1) / (sensitivity + specificity - 1)
    low, high = _lang_reiczigel_limits((observed, n), (sensitivity, n_good), (specificity, n_bad))
    n, items = len(unlabelled.verdict), len(np.unique(unlabelled.item))
    low, high = min(low, value), max(high, value)
    return clip_share(Estimate(value, low, high, n, items, "share", 0.95, CORRECTED_METHOD))


def _share_and_effective_size(successes: np.ndarray, item: Ints) -> tuple[float, float]:
    """Return the share of successes and the effective sample size, clustered by item."""
    counted = np.stack([successes.astype(np.float64), np.ones(len(item))], axis=1)
    _, sums = sum_by_item(counted, item)
    p, _, _, effective = share_and_effective_sample_size(
        sums[:, 0], sums[:, 1], np.zeros(len(sums), np.int64), 1
    )
    return float(p[0]), float(effective[0])


def _lang_reiczigel_limits(
    observed: tuple[float, float],
    sensitivity: tuple[float, float],
    specificity: tuple[float, float],
) -> tuple[float, float]:
    """Lower and upper limit of the corrected pass rate by Lang and Reiczigel (2014), infinite if
    sensitivity + specificity, both moved toward ½, are at most 1; each argument is a share with its
    effective sample size.
    """
    z2 = Z95 * Z95
    (p, n), (se, n_good), (sp, n_bad) = observed, sensitivity, specificity
    p, n = (n * p + z2 / 2) / (n + z2), n + z2
    se, n_good = (n_good * se + 1) / (n_good + 2), n_good + 2
    sp, n_bad = (n_bad * sp + 1) / (n_bad + 2), n_bad + 2
    youden = se + sp - 1
    if youden <= 0:
        return -math.inf, math.inf
    centre = (p + sp - 1) / youden
    from_good, from_bad = se * (1 - se) / n_good, sp * (1 - sp) / n_bad
    shift = 2 * z2 * (centre * from_good - (1 - centre) * from_bad)
    variance = (p * (1 - p) / n + centre**2 * from_good + (1 - centre) ** 2 * from_bad) / youden**2
    half = Z95 * math.sqrt(variance)
    return centre + shift - half, centre + shift + half


def clip_share(estimate: Estimate) -> Estimate:
    """Limit value and interval to 0 … 1; add a note if the value was outside."""
    value, low, high = (
        None if one is None else min(1.0, max(0.0, one))
        for one in (estimate.value, estimate.low, estimate.high)
    )
    note = CLIPPED_NOTE if value != estimate.value else ""
    note = join_notes(estimate.note, note)
    return replace(estimate, value=value, low=low, high=high, note=note)


def prediction_powered_rate(rows: PassFailRows) -> Estimate:
    """Prediction-powered estimate (PPI++) of the share of good answers.

    It is the share of good answers by the labels, plus weight·(pass rate on unlabelled − pass rate
    on labelled answers). It is valid for any judge if the labelled answers are a random sample;
    unknown with fewer than two verdicts on labelled, or on unlabelled, answers.
    """
    usable = rows.usable
    known = usable.label != UNKNOWN
    y, f = (usable.label[known] == PASS).astype(float), (usable.verdict == PASS).astype(float)
    on_labelled, on_others = f[known], f[~known]
    if len(y) < 2 or len(on_others) < 2:
        return unknown_estimate("needs labelled and unlabelled verdicts")
    n, others = len(y), len(on_others)
    weight = _verdict_weight(y, on_labelled, on_others)
    value = float(y.mean() + weight * (on_others.mean() - on_labelled.mean()))
    residual_items = sum_by_item((y - y.mean()) - weight * (on_labelled - on_labelled.mean()),
                                 usable.item[known])[1]  # fmt: skip
    other_items = sum_by_item(weight * (on_others - on_others.mean()), usable.item[~known])[1]
    # Mean and weight are estimated from the labelled items, which costs two degrees of freedom.
    degrees = max(len(residual_items) - 2, 1)
    labelled = len(residual_items) / degrees * float((residual_items**2).sum()) / n**2
    unlabelled = float((other_items**2).sum()) / others**2
    low, high = _wilson_limits(value, labelled, unlabelled, degrees, len(residual_items))
    items = len(np.unique(usable.item))
    return clip_share(
        Estimate(value, min(low, value), max(high, value), n + others, items, "share", 0.95,
                 "labels corrected by verdicts (PPI++), Wilson at the effective n, by items",
                 "valid if the labelled answers are a random sample")
    )  # fmt: skip


def _wilson_limits(
    value: float,
    labelled_variance: float,
    unlabelled_variance: float,
    degrees: int,
    labelled_items: int,
) -> tuple[float, float]:
    """Wilson limits of a share, at the sample size for which a share has the variance
    `labelled_variance` + `unlabelled_variance`; if the variance is zero or the share 0 or 1, at the
    number of labelled items.

    The variance from labelled items has only `degrees` degrees of freedom, so the sample size is
    reduced by the ratio of the quantiles, (z/t)², with Satterthwaite's degrees of freedom for the
    sum.
    """
    share = min(1.0, max(0.0, value))
    spread, variance = share * (1 - share), labelled_variance + unlabelled_variance
    size = spread / variance if spread > 0 and variance > 0 else float(labelled_items)
    if labelled_variance > 0:
        size *= (Z95 / float(stdtrit(degrees * (variance / labelled_variance) ** 2, 0.975))) ** 2
    low, high = wilson_bounds(share * size, size)
    return float(low), float(high)


def _verdict_weight(labels: Floats, on_labelled: Floats, on_others: Floats) -> float:
    """Compute the weight of the judge's verdicts (0 to 1) that minimises the variance of the
    prediction-powered estimate, from the labels and the verdicts on labelled and on other answers
    (1 good or pass, 0 bad or fail)."""
    spread = float(np.var(np.concatenate([on_labelled, on_others])))
    if spread < 1e-12:
        return 0.0
    covariance = float(np.mean((labels - labels.mean()) * (on_labelled - on_labelled.mean())))
    return min(1.0, max(0.0, covariance / ((1 + len(labels) / len(on_others)) * spread)))
