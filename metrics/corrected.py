"""Few votes, many verdicts: people's win rates, made sharper by a judge and never biased by it.

Prediction-powered inference with a tuned weight (Angelopoulos, Duchi and Zrnic 2023, PPI++): the
people's mean, minus what the judge says on the same cases, plus what it says on all the others.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

import numpy as np
import pandas as pd

from metrics import selection
from metrics.agreement import CASE
from metrics.intervals import (
    Z95,
    Floats,
    Ints,
    divided,
    item_sums,
    joined,
    paired_difference,
    proportion,
    quantile,
    wilson,
)
from metrics.wins import appearances
from studies.records import Estimate

METHOD: Final = "people's votes corrected by the judge (PPI++), Wilson, effective n by items"
NO_VOTES: Final = "nobody voted on its pairs"
NO_JUDGE: Final = "no judge's verdict on the pairs that people voted on"
ALL_VOTED: Final = "people voted on every pair: nothing to add"
NO_HELP: Final = "the judge's verdicts do not narrow it: the people's own interval"
LEFT_OUT: Final = "{} votes on pairs that were not chosen at random are left out"
ASSUMES: Final = "holds if the items people voted on are a random part of all"


@dataclass(frozen=True, slots=True)
class Corrected:
    """A contestant's win rate by people, by the judge, and by people with the judge's help.

    `weight` is how much of the judge's word is used: 0 is none of it. `bias` is judge − people on
    the pairs both judged. `worth` is how many times as many votes the help is worth.
    """

    people: Estimate
    judge: Estimate
    corrected: Estimate
    bias: Estimate
    weight: float
    worth: float | None


@dataclass(frozen=True, eq=False)
class _Cases:
    """One contestant's cases: what people and judges say (nan: nothing), and the item."""

    votes: Floats
    verdicts: Floats
    item: Ints


def corrected_win_rates(
    frame: pd.DataFrame, judges: Sequence[str] | None = None
) -> dict[str, Corrected]:
    """Every contestant's win rate among people, best first, with the help of the judges' verdicts.

    A case is one pair of answers to one item; what people say of it is the mean of their votes (a
    tie is half), what judges say the mean of all their readable verdicts in all orders. The
    interval is by items and is never wider than the one people's votes have by themselves.
    Votes on cases that were not chosen at random are left out, and one person has one vote a case.
    `judges`: whose verdicts help (default: all that are no people).
    """
    rows = selection.pairs(selection.one_vote(selection.picked(frame)))
    sought = selection.sought(rows)
    rows = selection.rows_of(rows, ~sought)
    human = selection.people(rows)
    if judges is not None:
        named = rows["judge"].astype(str).isin(list(judges)).to_numpy()
        rows, human = selection.rows_of(rows, human | named), human[human | named]
    if len(rows) == 0:
        return {}
    names = selection.contestants(rows)
    case, count = selection.group_codes(rows, CASE)
    item = selection.item_codes(rows)[selection.first_rows(case, count)]
    row, who, points = appearances(rows, names)
    said = [_means(row, who, points, kept, case, count, len(names)) for kept in (human, ~human)]
    table = {
        name: corrected(said[0][:, code], said[1][:, code], item) for code, name in enumerate(names)
    }
    if left := int(sought.sum()):
        told = LEFT_OUT.format(left)
        table = {
            name: replace(
                one, corrected=replace(one.corrected, note=joined(one.corrected.note, told))
            )
            for name, one in table.items()
        }
    return dict(sorted(table.items(), key=lambda pair: -(pair[1].corrected.value or 0.0)))


def _means(
    row: Ints, who: Ints, points: Floats, kept: selection.Mask, case: Ints, count: int, names: int
) -> Floats:
    """Mean points of each contestant in each case, over the rows kept: (cases, names)."""
    mine = kept[row]
    cell = case[row[mine]] * names + who[mine]
    total = np.bincount(cell, points[mine], minlength=count * names)
    return divided(total, np.bincount(cell, minlength=count * names)).reshape(count, names)


def corrected(votes: Floats, verdicts: Floats, item: Ints) -> Corrected:
    """One share from what people and judges say of each case, nan where they say nothing."""
    voted, judged = np.isfinite(votes), np.isfinite(verdicts)
    both = voted & judged
    people = proportion(votes[voted], item[voted], note="" if voted.any() else NO_VOTES)
    judge = proportion(verdicts[judged], item[judged])
    bias = paired_difference(verdicts[both], votes[both], item[both])
    cases = _Cases(votes, verdicts, item)
    got, weight = _helped(cases, people, both, judged & ~voted)
    return Corrected(people, judge, got, bias, weight, _worth(people, got))


def _helped(
    cases: _Cases, people: Estimate, both: selection.Mask, rest: selection.Mask
) -> tuple[Estimate, float]:
    """The corrected estimate and its weight; people's own where there is nothing to gain."""
    if people.value is None or people.low is None:
        return people, 0.0
    reason = _refusal(both, rest)
    if reason:
        return replace(people, note=joined(people.note, reason)), 0.0
    own, helper = _influence(cases, both, rest)
    weight = float(np.clip(np.nan_to_num(divided(own @ helper, helper @ helper)), 0, 1))
    value, rows = cases.votes[both], cases.verdicts
    shift = float(rows[both].mean() - rows[rest].mean())
    centre = min(max(float(value.mean()) - weight * shift, 0.0), 1.0)
    items = len(np.unique(cases.item[both]))
    low, high = _interval(own - weight * helper, centre, items)
    note = joined(people.note, ASSUMES)
    got = Estimate(centre, low, high, int(both.sum()), items, "share", 0.95, METHOD, note)
    if weight == 0 or not _narrower(got, people):
        return replace(people, note=joined(people.note, NO_HELP)), 0.0
    return got, weight


def _refusal(both: selection.Mask, rest: selection.Mask) -> str:
    if not both.any():
        return NO_JUDGE
    return "" if rest.any() else ALL_VOTED


def _influence(cases: _Cases, both: selection.Mask, rest: selection.Mask) -> tuple[Floats, Floats]:
    """What each item adds to the people's mean, and to the judge's (voted − not voted)."""
    votes = np.where(both, cases.votes, 0.0)
    verdicts = np.where(both | rest, cases.verdicts, 0.0)
    own = both * (votes - votes[both].mean()) / both.sum()
    helper = both * (verdicts - verdicts[both].mean()) / both.sum()
    helper = helper - rest * (verdicts - verdicts[rest].mean()) / rest.sum()
    _, sums = item_sums(np.stack([own, helper], axis=1), cases.item)
    return sums[:, 0], sums[:, 1]


def _interval(influence: Floats, centre: float, items: int) -> tuple[float | None, float | None]:
    """Wilson at the n that has this variance; one degree of freedom goes to the weight."""
    spare = items - 2
    if spare < 1:
        return None, None
    variance = items / spare * float((influence**2).sum())
    if variance <= 0 or not 0 < centre < 1:
        return None, None
    effective = centre * (1 - centre) / variance * (Z95 / float(quantile(spare + 1))) ** 2
    low, high = wilson(centre * effective, effective)
    return float(low), float(high)


def _narrower(got: Estimate, people: Estimate) -> bool:
    if got.low is None or got.high is None or people.low is None or people.high is None:
        return False
    return got.high - got.low < people.high - people.low


def _worth(people: Estimate, got: Estimate) -> float | None:
    """(width by people alone / width with help)²."""
    if people.low is None or people.high is None or got.low is None or got.high is None:
        return None
    width = got.high - got.low
    return ((people.high - people.low) / width) ** 2 if width > 0 else None


def _noted(estimate: Estimate, told: str) -> Estimate:
    return replace(estimate, note=joined(estimate.note, told))
