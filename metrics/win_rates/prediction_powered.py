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

from metrics.agreement.majority_agreement import CASE_KEY
from metrics.estimation import row_selection
from metrics.estimation.intervals import (
    Z95,
    Floats,
    Ints,
    join_notes,
    paired_difference,
    proportion,
    safe_divide,
    student_t_quantile,
    sum_by_item,
    wilson_bounds,
)
from metrics.win_rates.win_rates import appearance_points
from studies.domain import Estimate

PPI_METHOD: Final = "people's votes corrected by the judge (PPI++), Wilson, effective n by items"
NO_VOTES_NOTE: Final = "nobody voted on its pairs"
NO_JUDGE_NOTE: Final = "no judge's verdict on the pairs that people voted on"
ALL_VOTED_NOTE: Final = "people voted on every pair: nothing to add"
NOT_NARROWER_NOTE: Final = "the judge's verdicts do not narrow it: the people's own interval"
VOTES_LEFT_OUT_NOTE: Final = "{} votes on pairs that were not chosen at random are left out"
RANDOM_ITEMS_NOTE: Final = "holds if the items people voted on are a random part of all"


@dataclass(frozen=True, slots=True)
class CorrectedWinRate:
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
class _ContestantCases:
    """One contestant's cases: what people and judges say (nan: nothing), and the item."""

    votes: Floats
    verdicts: Floats
    item: Ints


def corrected_win_rates(
    frame: pd.DataFrame, judges: Sequence[str] | None = None
) -> dict[str, CorrectedWinRate]:
    """Every contestant's win rate among people, best first, with the help of the judges' verdicts.

    A case is one pair of answers to one item; what people say of it is the mean of their votes (a
    tie is half), what judges say the mean of all their readable verdicts in all orders. The
    interval is by items and is never wider than the one people's votes have by themselves.
    Votes on cases that were not chosen at random are left out, and one person has one vote a case.
    `judges`: whose verdicts help (default: all that are no people).
    """
    rows = row_selection.select_pairs(
        row_selection.keep_first_votes(row_selection.select_picks(frame))
    )
    sought = row_selection.targeted_vote_mask(rows)
    rows = row_selection.select_rows(rows, ~sought)
    human = row_selection.people_mask(rows)
    if judges is not None:
        named = rows["judge"].astype(str).isin(list(judges)).to_numpy()
        rows, human = row_selection.select_rows(rows, human | named), human[human | named]
    if len(rows) == 0:
        return {}
    names = row_selection.contestants(rows)
    case, count = row_selection.group_codes(rows, CASE_KEY)
    item = row_selection.item_codes(rows)[row_selection.first_rows(case, count)]
    row, who, points = appearance_points(rows, names)
    said = [
        _case_means(row, who, points, kept, case, count, len(names)) for kept in (human, ~human)
    ]
    table = {
        name: correct_win_rate(said[0][:, code], said[1][:, code], item)
        for code, name in enumerate(names)
    }
    if left := int(sought.sum()):
        told = VOTES_LEFT_OUT_NOTE.format(left)
        table = {
            name: replace(
                one, corrected=replace(one.corrected, note=join_notes(one.corrected.note, told))
            )
            for name, one in table.items()
        }
    return dict(sorted(table.items(), key=lambda pair: -(pair[1].corrected.value or 0.0)))


def _case_means(
    row: Ints,
    who: Ints,
    points: Floats,
    kept: row_selection.Mask,
    case: Ints,
    count: int,
    names: int,
) -> Floats:
    """Mean points of each contestant in each case, over the rows kept: (cases, names)."""
    mine = kept[row]
    cell = case[row[mine]] * names + who[mine]
    total = np.bincount(cell, points[mine], minlength=count * names)
    return safe_divide(total, np.bincount(cell, minlength=count * names)).reshape(count, names)


def correct_win_rate(votes: Floats, verdicts: Floats, item: Ints) -> CorrectedWinRate:
    """One share from what people and judges say of each case, nan where they say nothing."""
    voted, judged = np.isfinite(votes), np.isfinite(verdicts)
    both = voted & judged
    people = proportion(votes[voted], item[voted], note="" if voted.any() else NO_VOTES_NOTE)
    judge = proportion(verdicts[judged], item[judged])
    bias = paired_difference(verdicts[both], votes[both], item[both])
    cases = _ContestantCases(votes, verdicts, item)
    got, weight = _corrected_estimate(cases, people, both, judged & ~voted)
    return CorrectedWinRate(people, judge, got, bias, weight, _vote_multiple(people, got))


def _corrected_estimate(
    cases: _ContestantCases, people: Estimate, both: row_selection.Mask, rest: row_selection.Mask
) -> tuple[Estimate, float]:
    """The corrected estimate and its weight; people's own where there is nothing to gain."""
    if people.value is None or people.low is None:
        return people, 0.0
    reason = _why_uncorrected(both, rest)
    if reason:
        return replace(people, note=join_notes(people.note, reason)), 0.0
    own, helper = _item_influence(cases, both, rest)
    weight = float(np.clip(np.nan_to_num(safe_divide(own @ helper, helper @ helper)), 0, 1))
    value, rows = cases.votes[both], cases.verdicts
    shift = float(rows[both].mean() - rows[rest].mean())
    centre = min(max(float(value.mean()) - weight * shift, 0.0), 1.0)
    items = len(np.unique(cases.item[both]))
    low, high = _corrected_interval(own - weight * helper, centre, items)
    note = join_notes(people.note, RANDOM_ITEMS_NOTE)
    got = Estimate(centre, low, high, int(both.sum()), items, "share", 0.95, PPI_METHOD, note)
    if weight == 0 or not _is_narrower(got, people):
        return replace(people, note=join_notes(people.note, NOT_NARROWER_NOTE)), 0.0
    return got, weight


def _why_uncorrected(both: row_selection.Mask, rest: row_selection.Mask) -> str:
    if not both.any():
        return NO_JUDGE_NOTE
    return "" if rest.any() else ALL_VOTED_NOTE


def _item_influence(
    cases: _ContestantCases, both: row_selection.Mask, rest: row_selection.Mask
) -> tuple[Floats, Floats]:
    """What each item adds to the people's mean, and to the judge's (voted − not voted)."""
    votes = np.where(both, cases.votes, 0.0)
    verdicts = np.where(both | rest, cases.verdicts, 0.0)
    own = both * (votes - votes[both].mean()) / both.sum()
    helper = both * (verdicts - verdicts[both].mean()) / both.sum()
    helper = helper - rest * (verdicts - verdicts[rest].mean()) / rest.sum()
    _, sums = sum_by_item(np.stack([own, helper], axis=1), cases.item)
    return sums[:, 0], sums[:, 1]


def _corrected_interval(
    influence: Floats, centre: float, items: int
) -> tuple[float | None, float | None]:
    """Wilson at the n that has this variance; one degree of freedom goes to the weight."""
    spare = items - 2
    if spare < 1:
        return None, None
    variance = items / spare * float((influence**2).sum())
    if variance <= 0 or not 0 < centre < 1:
        return None, None
    effective = centre * (1 - centre) / variance * (Z95 / float(student_t_quantile(spare + 1))) ** 2
    low, high = wilson_bounds(centre * effective, effective)
    return float(low), float(high)


def _is_narrower(got: Estimate, people: Estimate) -> bool:
    if got.low is None or got.high is None or people.low is None or people.high is None:
        return False
    return got.high - got.low < people.high - people.low


def _vote_multiple(people: Estimate, got: Estimate) -> float | None:
    """(width by people alone / width with help)²."""
    if people.low is None or people.high is None or got.low is None or got.high is None:
        return None
    width = got.high - got.low
    return ((people.high - people.low) / width) ** 2 if width > 0 else None


def _add_note(estimate: Estimate, told: str) -> Estimate:
    return replace(estimate, note=join_notes(estimate.note, told))
