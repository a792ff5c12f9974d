"""Distance of a judge's scores (−2…2) from people's: MAE and Consistency (Creation-MMBench F.2).

MAE is the mean absolute error, Consistency the share of differences of at most 1. A case is a pair
of answers to one item.
"""

from dataclasses import dataclass
from typing import Final, Literal

import numpy as np
import pandas as pd

from metrics.agreement.majority_agreement import CASE_KEY, NO_PEOPLE_NOTE
from metrics.estimation import intervals, row_selection
from metrics.estimation.prompt_kinds import five_level_mask
from metrics.protocols.creation_levels import signed_scores
from studies.domain import Estimate
from studies.lazy_values import cached_property

RunMode = Literal["dual", "single", "first"]
"""Scores of a judge that are compared with people's. "dual": the mean of both orders of a case, if
both were read. "single": each verdict. "first": each verdict that shows the baseline first."""

ONE_ORDER_NOTE: Final = "judged in one order only, so there is no mean of two orders"
MAX_GAP_WITHIN_ONE: Final = 1 + 1e-9
"""Largest difference that counts as within 1, with a tolerance for rounding."""


@dataclass(frozen=True, slots=True)
class Alignment:
    """MAE and Consistency (share within 1) of a judge's scores against people's mean scores."""

    mae: Estimate
    consistency: Estimate


@dataclass(frozen=True, eq=False)
class ScoreGaps:
    """Absolute differences between a judge's and people's scores. There is one difference per
    verdict, or one per case if both orders are averaged."""

    gap: intervals.Floats
    case: intervals.Ints
    item: intervals.Ints
    empty_note: str = NO_PEOPLE_NOTE
    """Reason shown where there are no differences."""
    most: float = 4.0
    """Largest possible difference."""

    @property
    def alignment(self) -> Alignment:
        if len(self.gap) == 0:
            return Alignment(
                intervals.unknown_estimate(self.empty_note, "score"),
                intervals.unknown_estimate(self.empty_note, "share"),
            )
        within = intervals.proportion(self.gap <= MAX_GAP_WITHIN_ONE, self.item)
        mae = intervals.mean_estimate(self.gap, self.item, "score", (0, self.most))
        return Alignment(mae, within)


class SignedScores:
    """Verdicts on pairs as scores from −2 to 2 in favour of the contestant whose name sorts first:
    those of judges, and each person's first vote on a case. `baseline` names the model that all
    others are compared with: with `run="first"`, `gaps` uses only the verdicts that show this model
    first."""

    def __init__(self, frame: pd.DataFrame, baseline: str | None = None) -> None:
        rows = row_selection.select_pairs(
            row_selection.keep_first_votes(row_selection.select_picks(frame))
        )
        self.baseline = baseline
        self.rows = rows
        self.most = 4.0 if five_level_mask(rows).any() else 2.0
        """Largest possible difference of two scores; without five-level verdicts, all scores are
        from −1 to 1."""
        self.case, self.cases = row_selection.group_codes(rows, CASE_KEY)
        names = row_selection.contestants(rows) if len(rows) else []
        score = signed_scores(rows, names)[2][: len(rows)]
        turned = (rows["first"].astype(str) > rows["second"].astype(str)).to_numpy()
        self.score = np.where(turned, -score, score)
        self.judge = rows["judge"].astype(str).to_numpy()
        self.item = row_selection.item_codes(rows)
        self.sees = rows["sees"].astype(str).to_numpy() if "sees" in rows else None

    @cached_property
    def human(self) -> row_selection.Mask:
        """Mask of the verdicts given by people."""
        return row_selection.people_mask(self.rows)

    def _sums_by_case(self, rows: row_selection.Mask) -> tuple[intervals.Floats, intervals.Floats]:
        """Sum and number of the scores in the selected rows, for each case."""
        case = self.case[rows]
        total = np.bincount(case, self.score[rows], minlength=self.cases)
        return total.astype(np.float64), np.bincount(case, minlength=self.cases).astype(np.float64)

    @cached_property
    def people_sums_by_case(self) -> tuple[intervals.Floats, intervals.Floats]:
        """Sum and number of the people's scores, for each case."""
        return self._sums_by_case(self.human)

    def gaps(self, judge: str, run: RunMode = "dual", judge_input: str | None = None) -> ScoreGaps:
        """Return the absolute differences of a judge's scores from people's mean, in the cases that
        people judged; for a person, from the mean of the *other* people.

        `run`: "dual" takes the mean of both orders of a case and leaves out cases read in one order
        only, "single" takes each verdict, "first" each verdict that shows the baseline first. With
        `judge_input`, only the judge's rows with this value in the column `sees` are used, if the
        frame has that column.
        """
        mine = self.judge == judge
        if judge_input is not None and self.sees is not None:
            mine = mine & (self.sees == judge_input)
        total, n = self.people_sums_by_case
        if (mine & self.human).any():
            own, times = self._sums_by_case(mine)
            total, n = total - own, n - times
        score, case, item = self._select_scores(mine, run)
        gap = np.abs(score - intervals.safe_divide(total, n)[case])
        known = np.isfinite(gap)
        one_order = run == "dual" and bool(mine.any()) and not self.planned_in_both_orders(mine)
        return ScoreGaps(
            gap[known],
            case[known],
            item[known],
            ONE_ORDER_NOTE if one_order else NO_PEOPLE_NOTE,
            self.most,
        )

    def planned_in_both_orders(self, rows: row_selection.Mask) -> bool:
        """Whether any of the selected verdicts was planned in both orders."""
        return bool((self.rows["orders"].to_numpy()[rows] > 1).any())

    def _select_scores(
        self, selected: row_selection.Mask, run: RunMode
    ) -> tuple[intervals.Floats, intervals.Ints, intervals.Ints]:
        """Return score, case and item of the selected verdicts; with the `run` "first", of those
        that show the baseline first; with "dual", of each case read in both orders, with the mean
        score."""
        if run == "first":
            selected = selected & (self.rows["first"] == self.baseline).to_numpy(bool)
        rows, case = self.rows.loc[selected], self.case[selected]
        score, item = self.score[selected], self.item[selected]
        if run != "dual":
            return score, case, item
        whole = row_selection.complete_set_mask(rows)
        present, first, code = np.unique(case[whole], return_index=True, return_inverse=True)
        each = np.bincount(code, score[whole]) / np.maximum(np.bincount(code), 1)
        return each, present, item[whole][first]

    def always_tie_gaps(self) -> ScoreGaps:
        """Return the absolute differences from people for a judge that answers "equal" on every
        case that people judged."""
        total, n = self.people_sums_by_case
        gap = np.abs(intervals.safe_divide(total, n))
        item = self.item[row_selection.first_row_per_group(self.case, self.cases)]
        known = np.isfinite(gap)
        return ScoreGaps(gap[known], np.flatnonzero(known), item[known], most=self.most)

    def leave_one_out_gaps(self) -> ScoreGaps:
        """Return the absolute differences of every person's scores from the mean of the other
        people, pooled over all people."""
        each = [self.gaps(name, "single") for name in sorted(set(self.judge[self.human]))]
        none = np.zeros(0, np.int64)
        return ScoreGaps(
            np.concatenate([np.zeros(0), *(one.gap for one in each)]),
            np.concatenate([none, *(one.case for one in each)]),
            np.concatenate([none, *(one.item for one in each)]),
            most=self.most,
        )
