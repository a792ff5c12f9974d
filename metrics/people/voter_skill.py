"""Estimation of voters' accuracy from their agreement with each other, without known right answers.

A person's skill is c = (N·s − 1)/(N − 1), with s the probability of choosing the right one of N
answers: 0 at chance, 1 if always right. If two people err independently, their agreement above
chance, (N·share of equal votes − 1)/(N − 1), is the product of their skills. Three people who share
comparisons give three products, hence three skills (the one-coin model of Dawid and Skene 1979,
fitted by moments). If people share a preference, such as for long answers, their errors are not
independent, and the estimated accuracy is too high.
"""

from __future__ import annotations

import math
from typing import Final

import numpy as np

from metrics.agreement.pairwise_agreement import PeopleVotes, vote_pairs_on_same_case
from metrics.estimation import intervals
from metrics.estimation.rare_events import finite_distance_to_farther_bound
from studies.domain import Estimate

SKILL_METHOD: Final = "pairwise agreement, one-coin model, jackknife over groups of items"
MIN_SHARED_COMPARISONS: Final = 10
"""Minimum number of votes that a person shares with others (a comparison counts once for each other
person) for an estimate of the person's skill."""
JACKKNIFE_GROUPS: Final = 20
MAX_PEOPLE: Final = 400
"""Maximum number of people for whom skills are computed: the size of the tables grows with the
square of this number."""
MAX_STEPS: Final = 100
MAX_SKILL: Final = 2.0
"""Bound of a fitted skill's absolute value. Above 1 (perfect accuracy), because sampling error can
raise an estimate above 1 and the interval must include this variation."""
TOO_MANY_PEOPLE_NOTE: Final = f"computed for up to {MAX_PEOPLE} people"
NOT_SHARED_NOTE: Final = (
    f"needs {MIN_SHARED_COMPARISONS} decisive votes on the same comparisons as other people, and "
    "two of these people with votes on the same comparison"
)


def voter_skills(votes: PeopleVotes, options: intervals.Ints, people: int) -> list[Estimate]:
    """Estimate each person's probability of being right in a decisive vote, mean over the person's
    decisive votes: (1 + (N − 1)·skill)/N. `options` is the number of answers N in the comparison of
    each vote, `people` the number of people. Unknown above MAX_PEOPLE people, for a person who
    shares too few comparisons with others, and for one without two others who share comparisons
    with the person and with each other."""
    if people > MAX_PEOPLE:
        return [intervals.unknown_estimate(TOO_MANY_PEOPLE_NOTE, "share")] * people
    above, met = _agreement_sums(votes, options, people)
    near = met.sum(axis=0) > 0
    n = met.sum(axis=(0, 2)).astype(np.int64)
    known = (n >= MIN_SHARED_COMPARISONS) & (
        ((near.astype(np.float64) @ near) * near).sum(axis=1) > 0
    )
    if not known.any():
        return [intervals.unknown_estimate(NOT_SHARED_NOTE, "share")] * people
    both = known[:, None] & known[None, :]
    skill = _fit_skills(_sums_without_groups(above * both), _sums_without_groups(met * both))
    decided = votes.choice >= 0
    chance = intervals.safe_divide(
        np.bincount(votes.voter[decided], 1 / np.maximum(options[decided], 2), people),
        np.bincount(votes.voter[decided], minlength=people),
    )
    shares = chance + (1 - chance) * skill
    items = [len(np.unique(votes.item[votes.voter == code])) for code in range(people)]
    return [
        _skill_estimate(shares[:, code], int(n[code]), items[code])
        if known[code]
        else intervals.unknown_estimate(NOT_SHARED_NOTE, "share")
        for code in range(people)
    ]


def _agreement_sums(
    votes: PeopleVotes, options: intervals.Ints, people: int
) -> tuple[intervals.Floats, intervals.Floats]:
    """Return, for every two people, the sum of their agreement above chance over their common
    comparisons, and the number of these; both as [group of items, person, person].

    Only comparisons where both people are decisive count.
    """
    a, b = vote_pairs_on_same_case(votes)
    decided = (votes.choice[a] >= 0) & (votes.choice[b] >= 0)
    a, b = a[decided], b[decided]
    wide = np.maximum(options[a], 2).astype(np.float64)
    above = (wide * (votes.choice[a] == votes.choice[b]) - 1) / (wide - 1)
    present, code = np.unique(votes.item[a], return_inverse=True)
    groups = max(1, min(JACKKNIFE_GROUPS, len(present)))
    cell = (code % groups * people + votes.voter[a]) * people + votes.voter[b]
    shape = (groups, people, people)

    def sum_by_pair(weights: intervals.Floats) -> intervals.Floats:
        one_way = np.bincount(cell, weights, groups * people**2).reshape(shape)
        return np.asarray(one_way + np.swapaxes(one_way, 1, 2), np.float64)

    return sum_by_pair(above), sum_by_pair(np.ones(len(cell)))


def _sums_without_groups(tables: intervals.Floats) -> intervals.Floats:
    """Return the sum of the `tables` of all groups of items, and after it, for each group, the sum
    of the tables of all other groups."""
    whole = tables.sum(axis=0, keepdims=True)
    return np.concatenate([whole, whole - tables])


def _fit_skills(agreement: intervals.Floats, counts: intervals.Floats) -> intervals.Floats:
    """Fit each person's skill by least squares, so that for every two people the product of their
    skills is near `agreement`/`counts`. `agreement` is their summed agreement above chance,
    `counts` the number of their common comparisons, both [fit, person, person]; returns [fit,
    person]."""
    skill = np.full(agreement.shape[:2], 0.5)
    for _ in range(MAX_STEPS):
        top = (agreement @ skill[..., None])[..., 0]
        below = (counts @ (skill**2)[..., None])[..., 0]
        moved = np.clip(np.nan_to_num(intervals.safe_divide(top, below)), -MAX_SKILL, MAX_SKILL)
        moved = (skill + moved) / 2
        if np.abs(moved - skill).max() < 1e-6:
            return moved
        skill = moved
    return skill


def _skill_estimate(shares: intervals.Floats, n: int, items: int) -> Estimate:
    """Estimate a person's probability of being right from `shares`: first its value on all items,
    then its values without each group of items (jackknife)."""
    value, left = min(max(float(shares[0]), 0.0), 1.0), shares[1:]
    groups = len(left)
    if groups < 2:
        return Estimate(value, n=n, items=items, unit="share", method=SKILL_METHOD, note="one item")
    error = math.sqrt((groups - 1) / groups * float(((left - left.mean()) ** 2).sum()))
    half = float(intervals.student_t_quantile(groups)) * error
    if error < intervals.NO_SPREAD:
        half = intervals.equal_items_half_width(
            items, finite_distance_to_farther_bound(value, (0.0, 1.0))
        )
    low, high = max(value - half, 0.0), min(value + half, 1.0)
    return Estimate(value, low, high, n, items, "share", 0.95, SKILL_METHOD)
