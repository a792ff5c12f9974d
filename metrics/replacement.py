"""Which judge could stand for a person? Take one voter away and put the judge in their place.

For every vote that others voted beside: how many of those others does the voter side with, and how
many would the judge have sided with? Same cases, same others, so that what makes a case hard
cancels (the alternative annotator test of Calderon, Reichart and Dror 2025, as a difference).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
import pandas as pd

from metrics import selection
from metrics.agreement import CASE
from metrics.concord import sorted_picks, vote_counts, votes_among
from metrics.intervals import Floats, Ints, divided, item_sums, item_weights, mean, unknown
from studies.records import Estimate

ROUNDS: Final = 2000
NOBODY: Final = "no answers that two people and this judge all judged"


@dataclass(frozen=True, slots=True)
class Replacement:
    """How often the judge, and the people it stands for, side with the remaining people.

    `advantage` is judge − person on the same cases: above 0 the judge is the better stand-in.
    `best` is the share of item bootstrap rounds in which no other judge has a larger advantage,
    on the cases that all have; None where there are none.
    """

    judge: str
    with_judge: Estimate
    with_person: Estimate
    advantage: Estimate
    best: float | None = None


def replacements(
    frame: pd.DataFrame, rng: np.random.Generator, rounds: int = ROUNDS
) -> list[Replacement]:
    """Every judge in a person's place, the largest advantage first.

    A judge's word on a case is all its readable verdicts in all orders, each with equal weight; its
    side with the others is the share of them it names, ties included.
    """
    rows = selection.picked(frame)
    if len(rows) == 0:
        return []
    case, cases = selection.group_codes(rows, CASE)
    human = selection.people(rows)
    said, judge = sorted_picks(rows), rows["judge"].astype(str).to_numpy()
    votes = votes_among(rows, human, case, cases)
    counts = vote_counts(votes, int(said.max(initial=0)) + 2)
    item = selection.item_codes(rows)[selection.first_rows(case, cases)]
    person = _side_of_people(counts)
    found, shares = [], []
    for name in sorted(set(judge[~human])):
        mine = ~human & (judge == name)
        own = _side_of_judge(counts, case[mine], said[mine])
        shares.append(own - person)
        found.append(_replacement(name, own, person, item))
    best = _leading(np.stack(shares), item, rng, rounds) if found else []
    ranked = [
        Replacement(one.judge, one.with_judge, one.with_person, one.advantage, share)
        for one, share in zip(found, best, strict=True)
    ]
    return sorted(ranked, key=lambda one: -_or_lowest(one.advantage.value))


def _or_lowest(value: float | None) -> float:
    return -np.inf if value is None else value


def _side_of_people(counts: Ints) -> Floats:
    """Mean share of the other voters a voter sides with; nan with fewer than two votes."""
    n = counts.sum(axis=1)
    return divided((counts * (counts - 1)).sum(axis=1), n * (n - 1))


def _side_of_judge(counts: Ints, case: Ints, said: Ints) -> Floats:
    """Mean share of the remaining voters that the judge names, over who is taken away.

    Each voter is left out equally often, so that is the share of all voters it names.
    """
    n = counts.sum(axis=1)
    named = divided(counts[case, said + 1], np.where(n > 1, n, 0)[case])
    total = np.bincount(case, named, minlength=len(counts))
    return divided(total, np.bincount(case, minlength=len(counts)))


def _replacement(name: str, own: Floats, person: Floats, item: Ints) -> Replacement:
    both = np.isfinite(own) & np.isfinite(person)
    if not both.any():
        none = unknown(NOBODY, "share")
        return Replacement(name, none, none, none)
    return Replacement(
        name,
        mean(own[both], item[both], "share", (0, 1)),
        mean(person[both], item[both], "share", (0, 1)),
        mean(own[both] - person[both], item[both], "difference of shares", (-1, 1)),
    )


def _leading(
    advantage: Floats, item: Ints, rng: np.random.Generator, rounds: int
) -> list[float | None]:
    """Share of bootstrap rounds each judge leads on the cases that all of them have."""
    common = np.isfinite(advantage).all(axis=0)
    if not common.any():
        return [None] * len(advantage)
    _, sums = item_sums(advantage[:, common].T, item[common])
    drawn = item_weights(len(sums), rounds, rng) @ sums
    top = drawn.max(axis=1, keepdims=True)
    leads = drawn >= top - 1e-12
    return [float(value) for value in (leads / leads.sum(axis=1, keepdims=True)).mean(axis=0)]
