"""Certified share: the largest share of comparisons that a judge may decide alone with an error of
at most α, with confidence 1 − δ.

The judge decides where its score has at least a margin. The margins are tested in a fixed sequence,
from the strictest to the loosest, each with the exact upper limit (Clopper–Pearson) of the errors;
the sequence ends at the first margin whose limit is above α, so that the probability of certifying
any margin with a larger error is at most δ. Each item counts once, with one of its comparisons
drawn at random, because the comparisons of an item are not independent.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from scipy.special import betaincinv

from metrics.estimation.intervals import Floats, Ints, proportion, unknown_estimate
from metrics.remedies import order_grid, risk_coverage
from metrics.remedies.decision_rules import ZERO, sum_of_jury_verdicts
from studies.domain import Estimate

ALPHA: Final = 0.1
DELTA: Final = 0.05
SEED: Final = 7
EXACT_METHOD: Final = "Clopper–Pearson, one-sided"


@dataclass(frozen=True)
class CertifiedShare:
    """The largest share of comparisons that a judge can be left to decide with an error of at most
    `alpha`, at confidence 1 − `delta`: those on which the lead of one answer is at least `margin`.
    `error` is the judge's error on them. If no margin suffices, `margin` is None, and `share` and
    `error` are unknown."""

    alpha: float
    delta: float
    margin: float | None
    share: Estimate
    error: Estimate


def upper_error_limit(errors: int, n: int, delta: float = DELTA) -> float:
    """Exact upper limit of an error rate with confidence 1 − δ, if `errors` of n are wrong."""
    return 1.0 if errors >= n else float(betaincinv(errors + 1, n - errors, 1 - delta))


def labels_needed_without_errors(alpha: float = ALPHA, delta: float = DELTA) -> int:
    """Smallest number of labelled items that certifies an error of at most α with confidence 1 − δ
    if the judge is wrong on none of them."""
    return math.ceil(math.log(delta) / math.log1p(-alpha) - 1e-9)


def certify_share(
    score: Floats,
    known_winner: Floats,
    items: Ints,
    margins: Sequence[float],
    alpha: float = ALPHA,
    delta: float = DELTA,
) -> CertifiedShare:
    """Certify the largest share of comparisons that a judge may decide alone: those where |score|
    is at least a margin.

    A margin is certified if the error there is at most `alpha` with confidence 1 − `delta`, tested
    on one comparison drawn from each item. If no margin is certified, the result has margin None
    and unknown estimates.

    The first three arrays have an entry for each labelled comparison: `score` is positive where the
    judge prefers the first contestant, `known_winner` is +1 where the first contestant is better,
    else −1, and `items` is the item. `margins` are the values of |score| to try, not chosen with
    the same labels. Margins that decide fewer items than `labels_needed_without_errors` are
    skipped.
    """
    drawn = _draw_one_per_item(items)
    size, wrong = np.abs(score[drawn]), score[drawn] * known_winner[drawn] < 0
    least = labels_needed_without_errors(alpha, delta)
    certified: tuple[float, int, int] | None = None
    limit = None
    for margin in sorted(margins, reverse=True):
        decided = (size >= margin - ZERO) & (size > ZERO)
        n, errors = int(decided.sum()), int(wrong[decided].sum())
        if n < least:
            continue
        limit = upper_error_limit(errors, n, delta)
        if limit > alpha:
            break
        certified = (margin, errors, n)
    if certified is None:
        note = f"cannot be certified with {len(drawn):,} labelled items: " + (
            f"{least} decided ones are needed even without an error"
            if limit is None
            else f"the error may be {100 * limit:.0f} %"
        )
        unknown = unknown_estimate(note, "share")
        return CertifiedShare(alpha, delta, None, unknown, unknown)
    margin, errors, n = certified
    decided = (np.abs(score) >= margin - ZERO) & (np.abs(score) > ZERO)
    error = Estimate(
        errors / n, 0.0, upper_error_limit(errors, n, delta), n, n, "share", 1 - delta, EXACT_METHOD
    )
    return CertifiedShare(alpha, delta, margin, proportion(decided, items), error)


def _draw_one_per_item(items: Ints) -> Ints:
    """Draw one comparison of each item, with a fixed seed; return their row numbers, sorted."""
    order = np.random.default_rng(SEED).permutation(len(items))
    _, first = np.unique(items[order], return_index=True)
    return np.sort(order[first])


def certify_share_of_raters(
    grid: order_grid.OrderGrid, raters: Sequence[int], alpha: float = ALPHA, delta: float = DELTA
) -> CertifiedShare:
    """Certify the largest share of comparisons that one judge, or a jury (several judges that
    decide together), may decide alone. `raters` are their indices in `grid.raters`. The jury must
    not have been chosen by its agreement with the same labels: the certificate would then not hold.

    The score of a judge with graded replies is their mean over both orders; otherwise it is the sum
    of the verdicts of all judges in both orders.
    """
    known = grid.known_winner != 0
    if len(raters) == 1 and grid.graded is not None and np.isfinite(grid.graded[raters[0]]).any():
        graded = grid.graded[raters[0]].astype(np.float64)
        score, margins = (graded[0] + graded[1]) / 2, tuple(risk_coverage.MARGINS)
    else:
        score = sum_of_jury_verdicts([grid.verdicts[rater] for rater in raters])
        margins = tuple(float(votes) for votes in range(1, 2 * len(raters) + 1))
    keep = known & np.isfinite(score)
    return certify_share(
        score[keep], grid.known_winner[keep], grid.items[keep], margins, alpha, delta
    )
