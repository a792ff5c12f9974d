"""Lower limits of rating gaps without a finite estimate, where one side won every battle.

The maximum-likelihood gap is then infinite. The battles still give a lower limit: with a smaller
gap, so many wins without a loss would be too unlikely.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Final

import numpy as np
from scipy import sparse
from scipy.optimize import brentq
from scipy.sparse.csgraph import breadth_first_order
from scipy.special import expit

from metrics.estimation.row_selection import Mask
from metrics.ratings.battles import Floats, Ints, PairCounts
from metrics.ratings.bradley_terry_fit import connected_component_codes, fit_strengths, win_graph
from studies.lazy_values import cached_property

LOWER_TAIL: Final = 0.025
"""Error probability of a lower limit: that of one end of a two-sided 95 % interval."""
MAX_GAP_LOGITS: Final = 40.0
"""Largest gap, in logits, that is searched: beyond it win probabilities are numerically 0 or 1."""
_RIDGE: Final = 1e-7
"""Penalty that keeps other diverging strengths finite while one gap is held fixed."""


def reachable_by_wins(counts: PairCounts) -> Mask:
    """Mask [i, j]: whether a chain of wins leads from i to j; a tie counts as a win in both
    directions."""
    models = len(counts.names)
    reached, beats = np.eye(models, dtype=bool), sparse.csr_array(win_graph(counts))
    for start in range(models):
        reached[start, breadth_first_order(beats, start, return_predecessors=False)] = True
    return reached


class GapLimits:
    """Lower limits of rating gaps that have no upper limit; computations common to all pairs are
    made once."""

    def __init__(self, counts: PairCounts) -> None:
        self.counts = counts
        self._cache: dict[tuple[int, int], float | None] = {}

    @cached_property
    def reachable(self) -> Mask:
        """Mask [i, j]: whether a chain of wins leads from contestant i to j."""
        return reachable_by_wins(self.counts)

    @cached_property
    def best_log_likelihood(self) -> float:
        return _best_log_likelihood(self.counts)

    def lower_limit(self, above: int, below: int) -> float | None:
        """Return the lower limit, in logits, of a gap that has no upper limit; None unless a chain
        of wins leads from `above` to `below` and none back, or if not even a gap of −MAX_GAP_LOGITS
        can be excluded.

        A gap is excluded if the battles are less than 2.5 % as likely under the best fit with this
        gap as under the best fit of all. For two contestants and n wins the limit is exact: a win
        probability of .025^(1/n). As battles of one item are not independent, the log-likelihood is
        divided by the mean number of battles per item between two groups: `below` with all
        contestants to which a chain of wins leads from it, and all other contestants.
        """
        if (above, below) not in self._cache:
            self._cache[above, below] = self._compute_lower_limit(above, below)
        return self._cache[above, below]

    def _compute_lower_limit(self, above: int, below: int) -> float | None:
        if not self._has_one_way_win_chain(above, below):
            return None
        problem = self._profile_likelihood(above, below)
        if problem.log_likelihood_shortfall(-MAX_GAP_LOGITS) <= 0:
            return None
        return float(
            brentq(problem.log_likelihood_shortfall, -MAX_GAP_LOGITS, MAX_GAP_LOGITS, xtol=1e-9)
        )

    def is_significantly_positive(self, above: int, below: int) -> bool:
        """Whether `lower_limit` is above zero; needs only one fit."""
        return (
            self._has_one_way_win_chain(above, below)
            and self._profile_likelihood(above, below).log_likelihood_shortfall(0.0) > 0
        )

    def _has_one_way_win_chain(self, above: int, below: int) -> bool:
        """Whether a chain of wins leads from `above` to `below` but none back."""
        return bool(self.reachable[above, below] and not self.reachable[below, above])

    def _profile_likelihood(self, above: int, below: int) -> _ProfileLikelihood:
        per_item = _battles_per_item(self.counts, self.reachable[below])
        return _ProfileLikelihood(self.counts, above, below, per_item, self.best_log_likelihood)


def _battles_per_item(counts: PairCounts, lower: Mask) -> float:
    """Mean number of battles per item, at least 1, between the contestants in `lower` and all
    others; the others won all of these battles."""
    across = lower[counts.low] != lower[counts.high]
    entries = across[counts.pair]
    times = counts.multiplicity[counts.kind]
    battles = float(((counts.won + counts.lost) * times)[entries].sum())
    items = int(counts.multiplicity[np.unique(counts.kind[entries])].sum())
    return max(battles / max(items, 1), 1.0)


class _ProfileLikelihood:
    """Profile likelihood of the gap between two contestants (numbers `above` and `below`): the
    log-likelihood maximised over all other strengths. `per_item` is the mean number of battles per
    item, `best` the largest log-likelihood at any gap."""

    def __init__(
        self, counts: PairCounts, above: int, below: int, per_item: float, best: float
    ) -> None:
        pairs, models = len(counts.low), len(counts.names)
        design = np.zeros((pairs, models))
        design[np.arange(pairs), counts.low] = 1.0
        design[np.arange(pairs), counts.high] -= 1.0
        self.gap_column = -design[:, below].copy()
        design[:, above] += design[:, below]
        self.design = np.delete(design, below, axis=1)
        self.low, self.high = counts.wins_low, counts.wins_high
        self.per_item = per_item
        self.best = best
        self.beta = np.zeros(models - 1)

    def log_likelihood_shortfall(self, gap: float) -> float:
        """Amount by which the log-likelihood at this gap is below the threshold; if positive, the
        gap is excluded."""
        return (self.best - self._maximum_at_gap(gap)) / self.per_item + math.log(LOWER_TAIL)

    def _maximum_at_gap(self, gap: float) -> float:
        """Largest log-likelihood with this gap, in logits, over all other strengths."""
        beta, offset = self.beta, self.gap_column * gap
        value, total = self._log_likelihood_at(beta, offset), self.low + self.high
        ridge = _RIDGE * np.eye(len(beta))
        for _ in range(200):
            p = expit(self.design @ beta + offset)
            slope = self.design.T @ (self.low - total * p) - _RIDGE * beta
            bend = self.design.T @ (self.design * (total * p * (1 - p))[:, None])
            step = np.linalg.solve(bend + ridge, slope)
            step /= max(1.0, float(np.abs(step).max()) / 5)
            taken, there = 1.0, self._log_likelihood_at(beta + step, offset)
            while taken > 1e-6 and there < value - 1e-12:
                taken /= 2
                there = self._log_likelihood_at(beta + taken * step, offset)
            beta = beta + taken * step
            grown = there - value
            value += grown
            if grown < 1e-10 * max(1.0, abs(value)):
                break
        self.beta = np.clip(beta, -MAX_GAP_LOGITS, MAX_GAP_LOGITS)
        return value

    def _log_likelihood_at(self, beta: Floats, offset: Floats) -> float:
        gap = self.design @ beta + offset
        return -float((self.low * np.logaddexp(0, -gap) + self.high * np.logaddexp(0, gap)).sum())


def _best_log_likelihood(counts: PairCounts) -> float:
    """Largest possible log-likelihood. Gaps are infinite between groups of which one won every
    battle against the other, so only battles within groups contribute."""
    label: Ints = connected_component_codes(counts, strong=True)
    within = label[counts.low] == label[counts.high]
    # The counts of the selected pairs, with all contestants.
    inside = replace(
        counts,
        low=counts.low[within],
        high=counts.high[within],
        wins_low=counts.wins_low[within],
        wins_high=counts.wins_high[within],
    )
    theta = fit_strengths(inside, l2=_RIDGE) if within.any() else np.zeros(len(counts.names))
    gap = theta[inside.low] - theta[inside.high]
    lost = inside.wins_low * np.logaddexp(0, -gap) + inside.wins_high * np.logaddexp(0, gap)
    return -float(lost.sum())
