"""Maximum likelihood for raters whose cases have an unknown true class (Dawid and Skene 1979), by
EM, for many bootstrap rounds at once.

A class of a case is a pair of a *kind* and a *truth*. For each kind (an observed class, or the
difficulty of a comparison) raters have separate reply probabilities. A truth decides what a reply
means: of two answers, either the first or the second is the better one, and the same reply is right
in one truth and wrong in the other. Given the class, raters reply independently.
"""

from dataclasses import dataclass
from typing import Final

import numpy as np

from metrics.estimation.intervals import Floats, Ints

TINY: Final = 1e-300


@dataclass(frozen=True, eq=False)
class RaterReplies:
    """Replies of all raters as counts [rater, truth, case, pattern].

    A truth says which answer is the better one. A category is a complete reply, such as right in
    both orders; a pattern is a reply as stored, of which a part may be missing. `fits` [pattern,
    category] is 1 where a pattern fits a category, else 0. `group` is the group of each case; the
    cases of group 0 have all truths with equal probability, other groups have probabilities of
    their own."""

    counts: Floats
    fits: Floats
    group: Ints

    @property
    def group_count(self) -> int:
        return int(self.group.max()) + 1

    @property
    def flat_counts(self) -> Floats:
        """Counts as a matrix [truth and case, rater and pattern]."""
        raters, truths, cases, patterns = self.counts.shape
        return self.counts.transpose(1, 2, 0, 3).reshape(truths * cases, raters * patterns)


@dataclass(frozen=True, eq=False)
class LatentFit:
    """Fitted probabilities, by bootstrap round: `kinds` [round, kind] of each kind of case,
    `truths` [round, group, truth] of each truth, `rates` [round, kind, rater, category] of each
    reply, `posterior` [round, kind, truth, case] of the classes of each case. `log_likelihood` has
    a value for each round."""

    kinds: Floats
    truths: Floats
    rates: Floats
    posterior: Floats
    log_likelihood: Floats

    @property
    def truth_posterior(self) -> Floats:
        """Posterior probability of each truth of each case, [round, truth, case]."""
        return np.asarray(self.posterior.sum(axis=1))


def fit_latent_truth(
    data: RaterReplies,
    weights: Floats,
    posterior: Floats,
    *,
    smoothing: float = 0.0,
    steps: int = 1000,
    tolerance: float = 1e-7,
) -> LatentFit:
    """Fit the model of Dawid and Skene (raters who reply by an unknown true class) to cases with
    the weights [round, case], starting from a posterior [round or 1, kind, truth, case].
    `smoothing` is added to each expected count of a category and of a truth. A round ends after
    `steps` iterations, or when no reply probability changes by more than the tolerance."""
    rounds = len(weights)
    start = np.broadcast_to(posterior, (rounds, *posterior.shape[1:]))
    flat = data.flat_counts
    raters, categories = data.counts.shape[0], data.fits.shape[1]
    even = np.full((rounds, posterior.shape[1], raters, categories), 1.0 / categories)
    rates, kinds, truths = _maximisation_step(
        data, flat, start * weights[:, None, None], even, smoothing
    )
    if (data.fits.sum(axis=1) > 1).any():  # replies are missing: a first division among categories
        rates, kinds, truths = _maximisation_step(
            data, flat, start * weights[:, None, None], rates, smoothing
        )
    left = np.arange(rounds)
    for _ in range(steps):
        found, _ = _expectation_step(data, flat, rates[left], kinds[left], truths[left])
        found *= weights[left, None, None]
        new, kinds[left], truths[left] = _maximisation_step(
            data, flat, found, rates[left], smoothing
        )
        change = np.abs(new - rates[left]).max(axis=(1, 2, 3))
        rates[left] = new
        left = left[change > tolerance]
        if not len(left):
            break
    found, each = _expectation_step(data, flat, rates, kinds, truths)
    return LatentFit(kinds, truths, rates, found, (each * weights).sum(axis=1))


def _expectation_step(
    data: RaterReplies, flat: Floats, rates: Floats, kinds: Floats, truths: Floats
) -> tuple[Floats, Floats]:
    """Return the posterior of the classes, [round, kind, truth, case], and the log-likelihood of
    each case, [round, case], from the probabilities `rates`, `kinds` and `truths` (as in
    LatentFit); `flat` is `data.flat_counts`."""
    rounds, kind_count = rates.shape[:2]
    shape = (rounds, kind_count, data.counts.shape[1], data.counts.shape[2])
    likelihood = np.log(np.maximum(rates @ data.fits.T, TINY))
    joint = (likelihood.reshape(rounds * kind_count, -1) @ flat.T).reshape(shape)
    joint += np.log(np.maximum(kinds, TINY))[:, :, None, None]
    joint += np.log(np.maximum(truths, TINY))[:, data.group].transpose(0, 2, 1)[:, None]
    top = joint.max(axis=(1, 2), keepdims=True)
    joint -= top
    np.exp(joint, out=joint)
    total = joint.sum(axis=(1, 2), keepdims=True)
    joint /= total
    return joint, (np.log(total) + top)[:, 0, 0]


def _maximisation_step(
    data: RaterReplies, flat: Floats, weighted: Floats, rates: Floats, smoothing: float
) -> tuple[Floats, Floats, Floats]:
    """Return the reply probabilities, the shares of the kinds, and the shares of the truths (as in
    LatentFit) that make the replies most probable. `weighted` is the posterior times the weights of
    the cases, `rates` the reply probabilities before, `flat` is `data.flat_counts`; `smoothing` is
    added to each expected count."""
    rounds, kind_count, truth_count, cases = weighted.shape
    expected = weighted.reshape(rounds * kind_count, truth_count * cases) @ flat
    expected = expected.reshape(*rates.shape[:3], -1)
    spread = (expected / np.maximum(rates @ data.fits.T, TINY)) @ data.fits
    new = rates * spread + smoothing
    new /= np.maximum(new.sum(axis=-1, keepdims=True), TINY)
    kinds = weighted.sum(axis=(2, 3))
    kinds = kinds / kinds.sum(axis=1, keepdims=True)
    member = (data.group[:, None] == np.arange(data.group_count)).astype(np.float64)
    truths = (weighted.sum(axis=1) @ member).transpose(0, 2, 1) + smoothing
    truths = truths / np.maximum(truths.sum(axis=-1, keepdims=True), TINY)
    truths[:, 0] = 1.0 / truth_count
    return new, kinds, truths
