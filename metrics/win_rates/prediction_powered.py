"""People's win rates, made more precise by a judge's verdicts without adopting the judge's bias.

Prediction-powered inference with a tuned weight (Angelopoulos, Duchi and Zrnic 2023, PPI++):
people's mean + weight·(judge's mean on the cases without votes − judge's mean on the cases with
votes).
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

import numpy as np
import pandas as pd

from metrics.agreement.majority_agreement import CASE_KEY
from metrics.estimation import row_selection
from metrics.estimation.intervals import (
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
from metrics.estimation.rare_events import Z95
from metrics.win_rates.win_rates import appearance_points
from studies.domain import Estimate

PPI_METHOD: Final = "people's votes corrected by the judge (PPI++), Wilson, effective n by items"
NO_VOTES_NOTE: Final = "no votes on pairs of this model"
NO_JUDGE_NOTE: Final = "no judge verdict on the pairs people voted on"
ALL_VOTED_NOTE: Final = "people voted on every pair: the judge adds nothing"
NOT_NARROWER_NOTE: Final = "the judge's verdicts do not narrow the interval: votes alone are used"
VOTES_LEFT_OUT_NOTE: Final = "{} votes on pairs that were not chosen at random are left out"
ALL_CATEGORIES: Final = ""
"""Key of all categories together; no category has it."""
RANDOM_ITEMS_NOTE: Final = "valid if the items people voted on are a random sample of all items"


@dataclass(frozen=True, slots=True)
class CorrectedWinRate:
    """A contestant's win rate by people, by the judge, and by people corrected with the judge.

    `weight` is the weight of the judge's verdicts (0: not used), `bias` is the judge's win rate
    minus people's on the cases that both judged. `worth` is the factor by which the number of votes
    would have to grow to give an equally narrow interval without the judge; None without intervals.
    """

    people: Estimate
    judge: Estimate
    corrected: Estimate
    bias: Estimate
    weight: float
    worth: float | None


@dataclass(frozen=True, eq=False)
class _ContestantCases:
    """Mean vote and mean verdict (nan: none) on each case of one contestant, and the item of the
    case."""

    votes: Floats
    verdicts: Floats
    item: Ints


def corrected_win_rates(
    frame: pd.DataFrame, judges: Sequence[str] | None = None
) -> dict[str, CorrectedWinRate]:
    """Return contestant -> its win rate among people, corrected with the judges' verdicts; best
    first.

    A case is one pair of answers to one item; its vote is the mean of people's votes (a tie is
    half), its verdict the mean of all readable verdicts of the judges in all orders. The interval
    is clustered by item and is never wider than that of the votes alone. Votes on cases that were
    not chosen at random are left out, and each person has one vote per case. `judges` names the
    judges whose verdicts are used (default: all that are not people).
    """
    picked = row_selection.select_pairs(row_selection.select_picks(frame))
    rows, left = row_selection.keep_random_votes(picked)
    human = row_selection.people_mask(rows)
    if judges is not None:
        named = rows["judge"].astype(str).isin(list(judges)).to_numpy()
        rows, human = row_selection.select_rows(rows, human | named), human[human | named]
    if len(rows) == 0:
        return {}
    names = row_selection.contestants(rows)
    case, count = row_selection.group_codes(rows, CASE_KEY)
    item = row_selection.item_codes(rows)[row_selection.first_row_per_group(case, count)]
    row, who, points = appearance_points(rows, names)
    means = [
        _case_means(row, who, points, selected, case, count, len(names))
        for selected in (human, ~human)
    ]
    table = {
        name: correct_votes_with_verdicts(means[0][:, code], means[1][:, code], item)
        for code, name in enumerate(names)
    }
    if left:
        note = VOTES_LEFT_OUT_NOTE.format(left)
        table = {
            name: replace(one, corrected=_add_note(one.corrected, note))
            for name, one in table.items()
        }
    return dict(sorted(table.items(), key=lambda pair: -(pair[1].corrected.value or 0.0)))


def win_rates_against_people(frame: pd.DataFrame) -> dict[tuple[str, str], CorrectedWinRate]:
    """Return (contestant, category or ALL_CATEGORIES) -> the result of `corrected_win_rates` on the
    rows of the category."""
    category = frame["category"].astype(str).to_numpy()
    groups = {name: category == name for name in sorted({*category} - {ALL_CATEGORIES})}
    tables = {ALL_CATEGORIES: corrected_win_rates(frame)} | {
        name: corrected_win_rates(row_selection.select_rows(frame, mask))
        for name, mask in groups.items()
    }
    return {(who, name): one for name, table in tables.items() for who, one in table.items()}


def _case_means(
    row: Ints,
    model: Ints,
    points: Floats,
    selected: row_selection.Mask,
    case: Ints,
    count: int,
    names: int,
) -> Floats:
    """Mean points of each contestant in each case over the selected rows, as [case, contestant].
    `row`, `model` and `points` are those of `appearance_points`; `case` is the case of each row;
    there are `count` cases and `names` contestants."""
    mine = selected[row]
    cell = case[row[mine]] * names + model[mine]
    total = np.bincount(cell, points[mine], minlength=count * names)
    return safe_divide(total, np.bincount(cell, minlength=count * names)).reshape(count, names)


def correct_votes_with_verdicts(votes: Floats, verdicts: Floats, item: Ints) -> CorrectedWinRate:
    """Win rate of one contestant by people, by the judges, and by people corrected with the judges.

    Each array has one value per case (a pair of answers to one item). `votes` and `verdicts` are
    the contestant's mean points by people and by judges: a win is 1, a tie ½, a loss 0; nan on a
    case without votes, or without verdicts. `item` is the code of the case's item.
    """
    voted, judged = np.isfinite(votes), np.isfinite(verdicts)
    both = voted & judged
    people = proportion(votes[voted], item[voted], note="" if voted.any() else NO_VOTES_NOTE)
    judge = proportion(verdicts[judged], item[judged])
    bias = paired_difference(verdicts[both], votes[both], item[both])
    cases = _ContestantCases(votes, verdicts, item)
    corrected, weight = _corrected_estimate(cases, people, both, judged & ~voted)
    return CorrectedWinRate(
        people, judge, corrected, bias, weight, _equivalent_votes_factor(people, corrected)
    )


def _corrected_estimate(
    cases: _ContestantCases, people: Estimate, both: row_selection.Mask, rest: row_selection.Mask
) -> tuple[Estimate, float]:
    """Return the corrected estimate and the weight of the judge's verdicts. If the judge does not
    make the estimate more precise, return the estimate from people's votes alone, and the weight 0.
    `both` marks cases with votes and verdicts, `rest` cases with verdicts only."""
    if people.value is None or people.low is None:
        return people, 0.0
    reason = _why_uncorrected(both, rest)
    if reason:
        return _add_note(people, reason), 0.0
    own, helper = _item_influence(cases, both, rest)
    weight = float(np.clip(np.nan_to_num(safe_divide(own @ helper, helper @ helper)), 0, 1))
    value, rows = cases.votes[both], cases.verdicts
    shift = float(rows[both].mean() - rows[rest].mean())
    centre = min(max(float(value.mean()) - weight * shift, 0.0), 1.0)
    items = len(np.unique(cases.item[both]))
    low, high = _corrected_interval(own - weight * helper, centre, items)
    note = join_notes(people.note, RANDOM_ITEMS_NOTE)
    corrected = Estimate(centre, low, high, int(both.sum()), items, "share", 0.95, PPI_METHOD, note)
    if weight == 0 or not _is_narrower(corrected, people):
        return _add_note(people, NOT_NARROWER_NOTE), 0.0
    return corrected, weight


def _why_uncorrected(both: row_selection.Mask, rest: row_selection.Mask) -> str:
    """Reason why people's votes cannot be corrected: no case has votes and verdicts (`both`), or
    none has verdicts only (`rest`); empty if they can."""
    if not both.any():
        return NO_JUDGE_NOTE
    return "" if rest.any() else ALL_VOTED_NOTE


def _item_influence(
    cases: _ContestantCases, both: row_selection.Mask, rest: row_selection.Mask
) -> tuple[Floats, Floats]:
    """Return two numbers for each item: its influence on people's mean; and its influence on the
    difference between the judge's mean on cases with votes (`both`) and that on cases without
    (`rest`)."""
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
    """Wilson interval of the share `centre`, for the sample size at which it has the variance Σ
    influence², corrected for few items and for the estimated weight. (None, None) for fewer than
    three items, without variance, or if the share is 0 or 1."""
    spare = items - 2
    if spare < 1:
        return None, None
    variance = items / spare * float((influence**2).sum())
    if variance <= 0 or not 0 < centre < 1:
        return None, None
    effective = centre * (1 - centre) / variance * (Z95 / float(student_t_quantile(spare + 1))) ** 2
    low, high = wilson_bounds(centre * effective, effective)
    return float(low), float(high)


def _is_narrower(corrected: Estimate, people: Estimate) -> bool:
    if corrected.low is None or corrected.high is None or people.low is None or people.high is None:
        return False
    return corrected.high - corrected.low < people.high - people.low


def _equivalent_votes_factor(people: Estimate, corrected: Estimate) -> float | None:
    """Number of votes that would give an interval as narrow as the corrected one without the judge,
    divided by the number now: (width of the votes' interval / corrected width)². None without both
    intervals."""
    if people.low is None or people.high is None or corrected.low is None or corrected.high is None:
        return None
    width = corrected.high - corrected.low
    return ((people.high - people.low) / width) ** 2 if width > 0 else None


def _add_note(estimate: Estimate, note: str) -> Estimate:
    return replace(estimate, note=join_notes(estimate.note, note))
