"""Self-preference relative to outsiders: a judge's preference for its own family minus that of
others.

An outsider is a judge of another family. A judge of a strong family rightly prefers that family's
answers. Outsiders judge the same answers, so their preference for the family measures its quality;
only a judge's excess over the outsiders' preference is self-preference.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Final

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from metrics.estimation import intervals, row_selection
from metrics.win_rates.self_preference import VerdictsVersusPeople, verdicts_versus_people
from studies.domain import Estimate
from studies.frames.frame import NO_PICK, TIE

NO_OUTSIDER_NOTE: Final = "needs a judge of another family on the same pairs"
NO_PEOPLE_NOTE: Final = "needs pairs that people, this judge and another family's judge decided"
UNIT: Final = "difference of shares"


@dataclass(frozen=True)
class OwnFamilyExcess:
    """Win rates of one family by a judge of this family (`own`) and by outsiders (`others`), on the
    same items; `excess` is `own` minus `others`. All are unknown without an outsider.

    `bounds` are the smallest and largest excess over all possible verdicts of the unusable replies;
    they do not include sampling error.
    """

    judge: str
    family: str
    own: Estimate
    others: Estimate
    excess: Estimate
    bounds: Estimate
    people_excess: Estimate
    """The judge's preference for its family relative to people, minus the mean over outsiders of
    their preference for the same family. Relative to people: P(judge agrees with people if they
    prefer the family's answer) − P(judge agrees if they prefer the other answer)."""


def own_family_excess(frame: pd.DataFrame) -> dict[str, OwnFamilyExcess]:
    """Return judge -> self-preference relative to outsiders, for judges whose family wrote answers;
    empty if the frame has no families.

    Only pairs with exactly one answer of the family count, on items that both the judge and an
    outsider (a judge of another family) judged. Ties count half; every outsider has equal weight.
    """
    if not {"family", "family_0", "family_1"} <= set(frame.columns):
        return {}
    rows = row_selection.select_rows(frame, ~row_selection.people_mask(frame))
    rows = row_selection.select_pairs(row_selection.select_rows(rows, ~rows["noise"]))
    judge, family = (rows[name].astype(str).to_numpy() for name in ("judge", "family"))
    slots = [rows[name].astype(str).to_numpy() for name in ("family_0", "family_1")]
    people = verdicts_versus_people(frame)
    found = {}
    for name in sorted(set(judge)):
        own = family[judge == name][0]
        counted = (slots[0] == own) ^ (slots[1] == own)
        if own and (counted & (judge == name)).any():
            got = _estimate_excess(rows, judge, family, counted, slots[0] == own, name, own)
            found[name] = replace(got, people_excess=_excess_relative_to_people(people, name, own))
    return found


def _excess_relative_to_people(people: VerdictsVersusPeople, name: str, own: str) -> Estimate:
    """Estimate the preference of the judge `name` for its family `own` relative to people
    (`self_preference`), minus the mean over outsiders (judges of another family) of their
    preference for the same family, on the same items; unknown without an outsider there."""
    parts, judge, item, family = people.flags_on_pairs_with_family(own)
    beside = (family != own) & np.isin(item, item[judge == name])
    outsiders = sorted(
        one
        for one in set(judge[beside])
        # Both shares need a denominator: columns 1 and 3, as in `statistic`.
        if parts[beside & (judge == one)][:, [1, 3]].sum(axis=0).all()
    )
    panel = [name, *outsiders]
    kept = np.isin(judge, panel)
    both = np.intersect1d(item[kept & (judge == name)], item[kept & (judge != name)])
    kept &= np.isin(item, both)
    if not kept.any():
        return intervals.unknown_estimate(NO_PEOPLE_NOTE, UNIT)
    seat = np.array([panel.index(one) for one in judge[kept]], np.int64)
    columns = np.zeros((len(seat), 4, len(panel)))
    columns[np.arange(len(seat)), :, seat] = parts[kept]
    _, sums = intervals.sum_by_item(columns.reshape(len(seat), -1), item[kept])

    def statistic(totals: intervals.Floats) -> intervals.Floats:
        counts = totals.reshape(*totals.shape[:-1], 4, len(panel))
        own_rate = intervals.safe_divide(counts[..., 0, :], counts[..., 1, :])
        each = own_rate - intervals.safe_divide(counts[..., 2, :], counts[..., 3, :])
        gap: intervals.Floats = each[..., 0] - each[..., 1:].mean(axis=-1)
        return gap

    n = int((seat == 0).sum())
    return intervals.jackknife_estimate(sums, statistic, n, UNIT, (-1, 1))


def _estimate_excess(
    rows: pd.DataFrame,
    judge: NDArray[Any],
    family: NDArray[Any],
    counted: row_selection.Mask,
    own_first: row_selection.Mask,
    name: str,
    own: str,
) -> OwnFamilyExcess:
    """Estimate the excess of the judge `name` of the family `own`, without `people_excess`.

    `judge` and its `family` belong to the rows; `counted` marks rows with exactly one answer of
    `own`, `own_first` those that show it first.
    """
    item = row_selection.item_codes(rows)
    points, read = _points_of_family(rows, own_first)
    beside = counted & (family != own) & np.isin(item, item[counted & (judge == name)])
    outsiders = sorted(set(judge[beside & read]))
    panel = [name, *outsiders]
    kept = counted & np.isin(judge, panel)
    both = np.intersect1d(item[kept & (judge == name)], item[kept & (judge != name)])
    kept &= np.isin(item, both)
    none = intervals.unknown_estimate(NO_OUTSIDER_NOTE, UNIT)
    if not outsiders or not kept.any():
        return OwnFamilyExcess(name, own, none, none, none, none, none)
    place = np.searchsorted(np.array(outsiders), judge[kept])
    seat = np.where(judge[kept] == name, 0, 1 + np.minimum(place, len(outsiders) - 1))
    sums = _sums_by_judge_column(points[kept], read[kept], seat, len(panel), item[kept])
    n = int(sums[:, len(panel)].sum())

    def estimate(statistic: intervals.Statistic, unit: str, low: float) -> Estimate:
        return intervals.jackknife_estimate(sums, statistic, n, unit, (low, 1.0))

    return OwnFamilyExcess(
        name,
        own,
        own=estimate(lambda totals: _win_rates_by_judge(totals)[..., 0], "share", 0.0),
        others=estimate(
            lambda totals: _win_rates_by_judge(totals)[..., 1:].mean(axis=-1), "share", 0.0
        ),
        excess=estimate(_own_judge_minus_outsiders, UNIT, -1.0),
        bounds=_excess_bounds(sums),
        people_excess=intervals.unknown_estimate(NO_PEOPLE_NOTE, UNIT),
    )


def _points_of_family(
    rows: pd.DataFrame, own_first: row_selection.Mask
) -> tuple[intervals.Floats, row_selection.Mask]:
    """Return the points of the family's answer in each row (win 1, tie ½, loss 0; 0 if unread), and
    whether the verdict was read. `own_first` marks rows that show this answer first."""
    pick = rows["pick"].to_numpy()
    read = row_selection.usable_status_mask(rows) & (pick != NO_PICK)
    points = np.where(pick == TIE, 0.5, (pick == 0) == own_first).astype(np.float64)
    return np.where(read, points, 0.0), read


def _sums_by_judge_column(
    points: intervals.Floats,
    read: row_selection.Mask,
    column: intervals.Ints,
    judges: int,
    item: intervals.Ints,
) -> intervals.Floats:
    """Return sums by item, in three blocks with a column for each judge: points, verdicts, missing
    verdicts. `column` is the column of each row's judge."""
    line = np.arange(len(points))
    columns = np.zeros((len(points), 3 * judges))
    columns[line, column] = points
    columns[line, judges + column] = read
    columns[line, 2 * judges + column] = ~read
    return intervals.sum_by_item(columns, item)[1]


def _win_rates_by_judge(totals: intervals.Floats) -> intervals.Floats:
    """Win rate of the family by each judge. The last axis of `totals` has three blocks with a
    column for each judge: points, verdicts, missing verdicts."""
    seats = totals.shape[-1] // 3
    return intervals.safe_divide(totals[..., :seats], totals[..., seats : 2 * seats])


def _own_judge_minus_outsiders(totals: intervals.Floats) -> intervals.Floats:
    """Win rate of the family by its own judge minus the mean of the others'. The last axis of
    `totals` has three blocks (points, verdicts, missing verdicts) with a column for each judge, the
    family's own judge first."""
    rates = _win_rates_by_judge(totals)
    gap: intervals.Floats = rates[..., 0] - rates[..., 1:].mean(axis=-1)
    return gap


def _excess_bounds(sums: intervals.Floats) -> Estimate:
    """Compute the smallest and largest difference (win rate of the family by its own judge − by
    outsiders) over all possible values of the missing verdicts. `sums` [item, column] has three
    blocks (points, verdicts, missing verdicts) with a column for each judge, the family's own judge
    first."""
    totals = sums.sum(axis=0)
    seats = len(totals) // 3
    won, read, gone = totals[:seats], totals[seats : 2 * seats], totals[2 * seats :]
    low, high = won / (read + gone), (won + gone) / (read + gone)
    missing, planned = int(gone.sum()), int((read + gone).sum())
    value = float(_own_judge_minus_outsiders(totals))
    return Estimate(
        value if np.isfinite(value) else None,
        float(low[0] - high[1:].mean()),
        float(high[0] - low[1:].mean()),
        int(read.sum()),
        0,
        UNIT,
        1.0,
        "bounds: values of the missing verdicts that make the difference smallest and largest",
        f"{missing} of {planned} verdicts missing",
    )
