"""Any two voices on the same asks: how often they say the same, κ and α beyond chance, by items.

A voice is whatever the column `judge` names (relabel it to tell prompts apart); `people` is the
majority of the people who voted on the same answers.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Final

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from metrics import selection
from metrics.agreement import CASE, UNKNOWN, majority
from metrics.codes import coded
from metrics.intervals import (
    Floats,
    Ints,
    Statistic,
    divided,
    jackknife,
    joined,
    proportion,
    unknown,
)
from studies.frame import TIE
from studies.records import Estimate

PEOPLE: Final = "people"
ASK: Final = (*CASE, "shown")
_READ: Final = (*selection.ORDER, "options", "status", "noise", "pick")
"""What a verdict is known by: of millions of rows the other columns are most of the memory."""
NOTHING: Final = "nothing that both judged"
ONE_WORD: Final = "both always say the same one thing: chance cannot be told apart"


@dataclass(frozen=True, slots=True)
class Concord:
    """Two voices: share of equal verdicts, Cohen's κ, Krippendorff's α (nominal), and without ties.

    `decisive` and `kappa_decisive` count only what both decided.
    """

    share: Estimate
    kappa: Estimate
    alpha: Estimate
    decisive: Estimate
    kappa_decisive: Estimate


def concord(first: Ints, second: Ints, item: Ints, note: str = "") -> Concord:
    """Two arrays of verdicts on the same asks (slots, TIE), with the item of each."""
    decided = (first >= 0) & (second >= 0)
    share, kappa, alpha = _coefficients(first, second, item, note)
    parts = _coefficients(first[decided], second[decided], item[decided], note)
    return Concord(share, kappa, alpha, parts[0], parts[1])


def _coefficients(a: Ints, b: Ints, item: Ints, note: str) -> tuple[Estimate, Estimate, Estimate]:
    if len(a) == 0:
        why = note or NOTHING
        return unknown(why, "share"), unknown(why, "kappa"), unknown(why, "alpha")
    size = int(max(a.max(), b.max())) + 2
    sums = _tables((a + 1) * size + b + 1, item, size * size)
    return (
        proportion(a == b, item, note=note),
        _beyond(sums, _kappa(size), len(a), "kappa", note),
        _beyond(sums, _alpha(size), len(a), "alpha", note),
    )


def _tables(cell: Ints, item: Ints, cells: int) -> Floats:
    """How often each item has each cell of the table of two voices."""
    present, code = coded(item)
    counts = np.bincount(code * cells + cell, minlength=len(present) * cells)
    return counts.reshape(len(present), cells).astype(np.float64)


def _beyond(sums: Floats, statistic: Statistic, n: int, unit: str, note: str) -> Estimate:
    got = jackknife(sums, statistic, n, unit, (-math.inf, 1), note)
    return got if got.value is not None else unknown(joined(note, ONE_WORD), unit)


def _square(totals: Floats, size: int) -> Floats:
    return totals.reshape(*totals.shape[:-1], size, size)


def _kappa(size: int) -> Statistic:
    def statistic(totals: Floats) -> Floats:
        table = _square(totals, size)
        p = divided(table, table.sum(axis=(-2, -1))[..., None, None])
        expected = (p.sum(axis=-1) * p.sum(axis=-2)).sum(axis=-1)
        return divided(np.trace(p, axis1=-2, axis2=-1) - expected, 1 - expected)

    return statistic


def _alpha(size: int) -> Statistic:
    """α = 1 − (n − 1)·Σ_{c≠k} o_ck / Σ_{c≠k} n_c·n_k on the table of coincidences."""

    def statistic(totals: Floats) -> Floats:
        table = _square(totals, size)
        both = table + np.swapaxes(table, -2, -1)
        said = both.sum(axis=-1)
        n = said.sum(axis=-1)
        apart = n - np.trace(both, axis1=-2, axis2=-1)
        return 1 - divided((n - 1) * apart, n * n - (said * said).sum(axis=-1))

    return statistic


# -- judges, and people as one more ----------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Grid:
    """What every voice said to every ask: a slot, TIE, or UNKNOWN where it was not asked."""

    voices: list[str]
    said: NDArray[np.int8]
    item: Ints
    asks: pd.DataFrame
    """One row of the frame for each ask: what was shown."""

    def between(self, first: str, second: str, note: str = "") -> Concord:
        a, b = (self.said[self.voices.index(name)].astype(np.int64) for name in (first, second))
        both = (a != UNKNOWN) & (b != UNKNOWN)
        return concord(a[both], b[both], self.item[both], note)


def grid(frame: pd.DataFrame) -> Grid:
    """Machines by their modal verdict on each order; the people's majority, if any, is first."""
    rows = selection.one_vote(selection.picked(frame[list(_READ)]))
    human = selection.people(rows)
    machine = selection.modal(selection.rows_of(rows, ~human))
    ask, asks = selection.group_codes(machine, ASK)
    judge = machine["judge"].astype("category").cat.remove_unused_categories()
    names = sorted(str(name) for name in judge.cat.categories)
    line = np.array([names.index(str(name)) for name in judge.cat.categories], np.int64)
    said = np.full((len(names), asks), UNKNOWN, np.int8)
    said[line[judge.cat.codes.to_numpy()], ask] = machine["pick"]
    first = machine.iloc[selection.first_rows(ask, asks)]
    item = selection.item_codes(first)
    if not human.any() or asks == 0:
        return Grid(names, said, item, first)
    theirs = _majority_slots(first, selection.rows_of(rows, human))
    return Grid([PEOPLE, *names], np.concatenate([theirs[None, :], said]), item, first)


def _majority_slots(asks: pd.DataFrame, votes: pd.DataFrame) -> NDArray[np.int8]:
    """The people's majority in the slots of each ask; UNKNOWN where nobody voted."""
    both = pd.concat([asks[[*ASK, "options", "pick"]], votes[[*ASK, "options", "pick"]]])
    both = both.astype(dict.fromkeys(ASK, "category"))
    case, cases = selection.group_codes(both, CASE)
    names = selection.contestants(both)
    voted = np.arange(len(both)) >= len(asks)
    chosen = selection.chosen(both, names)
    winner = majority(case[voted], chosen[voted], cases)[case[: len(asks)]]
    placed = selection.slots(both.iloc[: len(asks)], names)
    slot = (placed == winner[:, None]).argmax(axis=1)
    return np.where(winner >= 0, slot, winner).astype(np.int8)


def matrix(frame: pd.DataFrame) -> dict[str, dict[str, Concord]]:
    """Every two voices; symmetric, without a diagonal."""
    made = grid(frame)
    table: dict[str, dict[str, Concord]] = {name: {} for name in made.voices}
    for first, second in combinations(made.voices, 2):
        got = made.between(first, second)
        table[first][second] = table[second][first] = got
    return table


# -- people among themselves -----------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class AmongPeople:
    """Two people on the same answers, and each person against the majority of the others."""

    pair: Concord
    others: Concord
    voters: int
    cases: int
    thin: int
    """Cases with a single vote: nobody to compare it with."""


@dataclass(frozen=True, eq=False)
class Votes:
    """People's votes: who, on which case, for whom (0, 1, … in sorted names of the case, TIE)."""

    case: Ints
    cases: int
    item: Ints
    voter: Ints
    said: Ints


def votes_of(frame: pd.DataFrame) -> Votes:
    """People's votes in the sorted names of their case, so that sides do not matter.

    One vote a person and case, the first: who was asked again is not two people.
    """
    rows = selection.picked(selection.rows_of(frame, selection.people(frame)))
    case, cases = selection.group_codes(rows, CASE)
    return votes_among(rows, np.ones(len(rows), bool), case, cases)


def votes_among(rows: pd.DataFrame, human: selection.Mask, case: Ints, cases: int) -> Votes:
    """The same where the rows' cases are coded already."""
    votes = selection.rows_of(rows, human)
    one, ones = selection.group_codes(votes, (*CASE, "judge"))
    first = selection.first_rows(one, ones)
    votes = votes.iloc[first]
    voter = selection.codes_of(votes["judge"])[0]
    return Votes(case[human][first], cases, selection.item_codes(votes), voter, sorted_picks(votes))


def sorted_picks(rows: pd.DataFrame) -> Ints:
    """Each pick as a place among the sorted names shown."""
    if len(rows) == 0:
        return np.zeros(0, np.int64)
    names = selection.contestants(rows)
    placed = selection.slots(rows, names)
    chosen = selection.chosen(rows, names)
    below = (placed >= 0) & (placed < chosen[:, None])
    return np.where(chosen >= 0, below.sum(axis=1), chosen)


def among_people(frame: pd.DataFrame) -> AmongPeople:
    """How far people agree: the yardstick for a judge that is to stand for one of them."""
    return among(votes_of(frame))


def among(votes: Votes) -> AmongPeople:
    """The same from the votes themselves, whatever was voted on."""
    a, b = pairs_of_votes(votes)
    item = votes.item[a]
    # Both ways round, so that it does not matter who is called the first.
    pair = concord(
        np.concatenate([votes.said[a], votes.said[b]]),
        np.concatenate([votes.said[b], votes.said[a]]),
        np.concatenate([item, item]),
        "" if len(a) else "nobody voted on what somebody else voted on",
    )
    size = np.bincount(votes.case, minlength=votes.cases)
    return AmongPeople(
        _halved(pair), _left_out(votes), len(np.unique(votes.voter)), int((size > 0).sum()),
        int((size == 1).sum()),
    )  # fmt: skip


def _halved(pair: Concord) -> Concord:
    """Every pair of votes stands in it twice: n is the number of pairs."""
    parts = {
        name: replace(getattr(pair, name), n=getattr(pair, name).n // 2)
        for name in ("share", "kappa", "alpha", "decisive", "kappa_decisive")
    }
    return Concord(**parts)


def pairs_of_votes(votes: Votes) -> tuple[Ints, Ints]:
    """Rows of two different voters on one case, each pair once."""
    order = np.argsort(votes.case, kind="stable")
    case = votes.case[order]
    first, second = [np.zeros(0, np.int64)], [np.zeros(0, np.int64)]
    for gap in range(1, int(np.bincount(case).max(initial=0)) if len(case) else 1):
        same = case[gap:] == case[:-gap]
        first.append(order[:-gap][same])
        second.append(order[gap:][same])
    a, b = np.concatenate(first), np.concatenate(second)
    apart = votes.voter[a] != votes.voter[b]
    return a[apart], b[apart]


def _left_out(votes: Votes) -> Concord:
    """Each vote against the majority of the other votes on its case; a split of those is a tie."""
    counts = vote_counts(votes)
    own = counts[votes.case]
    own[np.arange(len(own)), votes.said + 1] -= 1
    kept = own.sum(axis=1) > 0
    top = own.max(axis=1, keepdims=True, initial=0)
    most = np.where((own == top).sum(axis=1) == 1, own.argmax(axis=1) - 1, TIE)
    note = "" if kept.any() else "nobody voted on what somebody else voted on"
    return concord(votes.said[kept], most[kept], votes.item[kept], note)


def vote_counts(votes: Votes, width: int | None = None) -> Ints:
    """How often each case got a tie (column 0), the first name, the second, …"""
    wide = int(votes.said.max(initial=0)) + 2 if width is None else width
    flat = np.bincount(votes.case * wide + votes.said + 1, minlength=votes.cases * wide)
    return flat.reshape(votes.cases, wide).astype(np.int64)
