"""Decision rules (remedies) over the stored verdicts of a comparison, as pure functions of arrays.

Verdicts and scores are positive for the contestant whose name sorts first (see
metrics/remedies/order_grid.py). A rule that involves chance (which order is used, which judge
starts) returns the exact probabilities of its decisions instead of a random draw.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from metrics.estimation.intervals import Floats, Ints, safe_divide

Values = NDArray[np.floating[Any]]

ZERO: Final = 1e-6
"""A graded score closer to zero than this counts as zero, and one that is below a margin by less
than this counts as reaching it, because probabilities and scores are stored as 32-bit floats."""
FOLDS: Final = 5
"""Number of folds of items for estimating a judge's position effect on other items."""


@dataclass(frozen=True, eq=False)
class Decisions:
    """Probabilities, by comparison, that a rule decides for the first contestant (in alphabetical
    order) and for the second; nan if a verdict is missing.

    The remaining probability is that of no decision; `chance` is the credit for it, 1/N among N
    options.
    """

    first: Floats
    second: Floats
    chance: float | Floats = 0.5

    @property
    def probability_decided(self) -> Floats:
        """Probability, by comparison, that the rule decides for one of the two."""
        return self.first + self.second

    @property
    def sign(self) -> Floats:
        """Decision as +1 (contestant whose name sorts first), −1 (the other) or 0 (undecided); for
        a rule with chance, its expectation."""
        return self.first - self.second

    def probability_right(self, known_winner: Floats) -> Floats:
        """Probability of deciding for the better answer; `known_winner` is +1 if the contestant
        whose name sorts first has the better answer, else −1."""
        return np.where(known_winner > 0, self.first, self.second)

    def credit(self, known_winner: Floats) -> Floats:
        """Expected credit: 1 if right, 0 if wrong, `chance` if undecided."""
        return self.probability_right(known_winner) + (1 - self.probability_decided) * self.chance


def decide_by_sign(score: Values) -> Decisions:
    """Decide each comparison for the contestant that its score favours: the first in alphabetical
    order if positive, the other if negative; a score of zero is undecided."""
    first, second = (score > ZERO).astype(np.float64), (score < -ZERO).astype(np.float64)
    missing = np.isnan(score)
    if missing.any():
        first[missing] = second[missing] = np.nan
    return Decisions(first, second)


def mean_decisions(parts: Sequence[Decisions]) -> Decisions:
    """Return the decisions of a rule that applies one of several rules, chosen at random with equal
    probabilities. No decision has the credit ½."""
    first = reduce(np.add, [one.first for one in parts]) / len(parts)
    second = reduce(np.add, [one.second for one in parts]) / len(parts)
    return Decisions(first, second)


# -- one judge, hard verdicts: verdicts are [order, comparison] -----------------------------------


def decide_by_one_call(verdicts: Values) -> Decisions:
    """Decide by one call, in an order chosen at random. `verdicts` [order, comparison] are +1 for
    the contestant whose name sorts first, −1 for the other, 0 for a tie, nan if missing."""
    return mean_decisions([decide_by_sign(verdicts[0]), decide_by_sign(verdicts[1])])


def decide_if_both_orders_agree(verdicts: Values) -> Decisions:
    """Decide by two calls, one in each order; undecided unless both have the same winner.
    `verdicts` as in `decide_by_one_call`."""
    same = np.where(verdicts[0] == verdicts[1], verdicts[0], 0 * (verdicts[0] + verdicts[1]))
    return decide_by_sign(same)


def decide_by_sum_of_orders(verdicts: Values) -> Decisions:
    """Decide by the sum of both orders: a win and a tie is a win, a win and a loss is undecided.
    `verdicts` as in `decide_by_one_call`."""
    return decide_by_sign(verdicts[0] + verdicts[1])


def decide_by_majority_in_one_order(repeats: Values, calls: int) -> Decisions:
    """Decide by the majority of this number of calls in the same order, which is chosen at random.
    `repeats` is [order, repeat, comparison]. Equally many calls for both answers are undecided."""
    return mean_decisions([decide_by_sign(order[:calls].sum(axis=0)) for order in repeats])


def decide_by_majority_of_both_orders(repeats: Values, calls: int) -> Decisions:
    """Decide by the majority of all calls: this number of calls in each of the two orders.
    `repeats` is [order, repeat, comparison]. Equally many calls for both answers are undecided."""
    return decide_by_sign(repeats[:, :calls].sum(axis=(0, 1)))


# -- one judge, graded replies ---------------------------------------------------------------------


def decide_by_mean_graded_score(graded: Values) -> Decisions:
    """Decide by the sign of the mean graded score of both orders. `graded` [order, comparison] is
    positive for the contestant whose name sorts first."""
    return decide_by_sign(graded[0] + graded[1])


def decide_by_margin(graded: Values, margin: float) -> Decisions:
    """Decide by the sign of the mean graded score of both orders; undecided if the mean is closer
    to zero than the margin."""
    score = (graded[0].astype(np.float64) + graded[1]) / 2
    return decide_by_sign(np.where(np.abs(score) < margin - ZERO, 0 * score, score))


def decide_by_calibrated_call(graded: Values, labels: NDArray[np.int16], items: Ints) -> Decisions:
    """Decide by the sign of one graded score, in an order chosen at random, after the judge's
    position and label effect is subtracted (`calibrated_scores`)."""
    return mean_decisions(
        [decide_by_sign(order) for order in calibrated_scores(graded, labels, items)]
    )


def calibrated_scores(graded: Values, labels: NDArray[np.int16], items: Ints) -> Floats:
    """Return the graded scores [order, comparison] minus the judge's position and label effect.

    The items are divided into FOLDS parts (folds). The effect on an item is the mean score in
    favour of the first position on the items of the other folds, for each arrangement of labels
    (its code: `labels` [order, comparison]). Content cancels in it, as every comparison is used in
    both orders. `items` is the item of each comparison."""
    side = np.array([[1.0], [-1.0]])
    effect = _mean_of_other_folds(graded * side, labels, items % FOLDS)
    return np.asarray(graded - effect * side, np.float64)


def _mean_of_other_folds(slot: Floats, labels: NDArray[np.int16], fold: Ints) -> Floats:
    """Return, for each call, the mean of `slot` (graded score in favour of the first position) over
    the calls with the same arrangement of labels on items of other folds; 0 if there are none.
    `fold` is the part (fold) of the items that each comparison belongs to. Only comparisons with
    scores in both orders are used."""
    whole = np.isfinite(slot).all(axis=0)
    group = (labels.astype(np.int64) + 1) * FOLDS + fold
    size = int(group.max(initial=0) // FOLDS + 1) * FOLDS
    total = np.zeros(size)
    count = np.zeros(size)
    for order in range(2):
        total += np.bincount(group[order][whole], slot[order][whole], minlength=size)
        count += np.bincount(group[order][whole], minlength=size)
    by_label_total, by_label_count = total.reshape(-1, FOLDS), count.reshape(-1, FOLDS)
    rest = safe_divide(
        by_label_total.sum(axis=1, keepdims=True) - by_label_total,
        by_label_count.sum(axis=1, keepdims=True) - by_label_count,
    )
    return np.asarray(np.nan_to_num(rest).ravel()[group], np.float64)


# -- several judges: a list of verdicts [order, comparison] ----------------------------------------


def decide_by_jury(verdicts: Sequence[Values]) -> Decisions:
    """Decide by the sum of one call of each judge, with orders alternating from judge to judge. The
    first order is chosen at random. Two judges are thus called in opposite orders."""
    starts = (alternating_calls(verdicts, start) for start in range(2))
    return mean_decisions([decide_by_sign(reduce(np.add, calls)) for calls in starts])


def alternating_calls(verdicts: Sequence[Values], start: int) -> list[Values]:
    """Select one call of each judge: the first judge's in the order `start`, the next judge's in
    the other order, and so on."""
    return [one[(place + start) % 2] for place, one in enumerate(verdicts)]


def decide_by_full_jury(verdicts: Sequence[Values]) -> Decisions:
    """Decide by the sum of all verdicts of all judges in both orders; each array of `verdicts` as
    in `decide_by_one_call`."""
    return decide_by_sign(sum_of_jury_verdicts(verdicts))


def sum_of_jury_verdicts(verdicts: Sequence[Values]) -> Floats:
    """Sum, for each comparison, of all verdicts (+1, −1, 0) of several judges in both orders; nan
    if one is missing."""
    return np.asarray(reduce(np.add, [one[0] + one[1] for one in verdicts]), np.float64)


def decide_by_judge_in_turn(verdicts: Sequence[Values]) -> Decisions:
    """Decide by one call, in a random order, of a judge that changes from item to item: the mean
    over the judges."""
    return mean_decisions([decide_by_one_call(one) for one in verdicts])


# -- judges and people -----------------------------------------------------------------------------


def decide_with_share_sent_to_people(
    verdicts: Values, votes: tuple[Floats, Floats], share: float
) -> Decisions:
    """Decide by the sum of both orders, except for a `share` of the comparisons: these are decided
    by one human vote. Comparisons whose two verdicts differ are sent to people first.

    If more comparisons differ than the share allows, each of them is sent with the same
    probability; if fewer, the rest of the share comes from the other comparisons in the same way.
    `votes` are the shares of votes for the first and for the second contestant; nan without votes.
    """
    pooled = decide_by_sum_of_orders(verdicts)
    differs = (verdicts[0] != verdicts[1]).astype(np.float64)
    known = np.isfinite(pooled.first) & np.isfinite(votes[0])
    asked = _probability_sent_to_people(np.where(known, differs, np.nan), share)
    first = pooled.first * (1 - asked) + votes[0] * asked
    second = pooled.second * (1 - asked) + votes[1] * asked
    return Decisions(np.where(known, first, np.nan), np.where(known, second, np.nan))


def _probability_sent_to_people(differs: Floats, share: float) -> Floats:
    """Return the probability that each comparison is sent to people, if a `share` of them is sent
    and those whose two verdicts differ come first. `differs` is 1 if they differ, 0 if not, nan if
    the comparison cannot be sent; its probability has then no meaning."""
    known = int(np.isfinite(differs).sum())
    different = int(np.nansum(differs))
    wanted = share * known
    if_different = min(1.0, wanted / different) if different else 0.0
    if_same = max(0.0, wanted - different) / (known - different) if known > different else 0.0
    return np.where(differs > 0, if_different, if_same)
