"""Verdicts on single answers with the labels of the answers, by judge and prompt.

Noise-floor repeats are calls repeated only to measure how much a judge varies.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, TypeVar

import numpy as np
import pandas as pd

from metrics.estimation import row_selection, score_scale
from metrics.estimation.intervals import Floats, Ints
from metrics.labels.pass_fail import FAIL, PASS, UNKNOWN, PassFailRows
from studies.domain import Estimate, Rater
from studies.frames.point_columns import EXPECTED_COLUMN, GOLD_COLUMN, pass_fail_mask

RATER_COLUMNS: Final = ("judge", "prompt")
Rows = TypeVar("Rows")


@dataclass(frozen=True, eq=False)
class ScoreRows:
    """Scores of single answers with their labels and item codes; nan for an unusable reply or a
    missing label."""

    score: Floats
    label: Floats
    item: Ints
    expected: Floats
    """Expected score from the probabilities of the options; nan without them."""
    scale: score_scale.ScoreScale
    contestant: np.ndarray
    """Name of the contestant whose answer the row is about."""

    def bias_by_contestant(self) -> dict[str, Estimate]:
        """Estimate the mean of score − label on the answers of each contestant, the highest first;
        empty if fewer than two contestants have labelled scores. A judge favours a contestant if
        this mean is higher than on the answers of the others."""
        gap = self.score - self.label
        known = np.isfinite(gap)
        scale = self.scale.extended_to(self.score[known], self.label[known])
        found = {}
        for name in sorted(set(self.contestant[known].tolist())):
            mine = known & (self.contestant == name)
            found[name] = scale.mean_difference(gap[mine], self.item[mine])
        ranked = sorted(found.items(), key=lambda one: -(one[1].value or 0.0))
        return dict(ranked) if len(found) > 1 else {}


def pass_fail_rows_by_rater(frame: pd.DataFrame) -> dict[Rater, PassFailRows]:
    """Return (judge, prompt) -> pass/fail verdicts. Unusable replies are included, calls repeated
    only to measure noise are not."""
    return _convert_by_judge_and_prompt(frame, pass_fail_mask(frame), pass_fail_codes)


def score_rows_by_rater(frame: pd.DataFrame) -> dict[Rater, ScoreRows]:
    """Return (judge, prompt) -> scores of single answers. Unusable replies are included (nan),
    calls repeated only to measure noise are not."""
    points = (frame["options"] == 1).to_numpy() & ~pass_fail_mask(frame)
    return _convert_by_judge_and_prompt(frame, points, _build_score_rows)


def pass_fail_codes(rows: pd.DataFrame) -> PassFailRows:
    """Convert verdict and label of each row to PASS (1) or FAIL (0); UNKNOWN (−1) for an unusable
    reply or no label."""
    score = scores_or_nan_if_unusable(rows)
    verdict = np.where(np.isnan(score), UNKNOWN, np.where(score >= 0.5, PASS, FAIL))
    gold = _label_of_each_row(rows)
    label = np.where(np.isnan(gold), UNKNOWN, np.where(gold >= 0.5, PASS, FAIL))
    answer, _ = row_selection.group_codes(rows, ("item", "first"))
    return PassFailRows.from_values(verdict, label, row_selection.item_codes(rows), answer)


def scores_or_nan_if_unusable(rows: pd.DataFrame) -> Floats:
    """Score of the single answer in each row; nan for an unusable reply."""
    if "score_0" not in rows:
        return np.full(len(rows), np.nan)
    score = rows["score_0"].to_numpy(np.float64)
    return np.where(row_selection.usable_status_mask(rows), score, np.nan)


def _build_score_rows(rows: pd.DataFrame) -> ScoreRows:
    return ScoreRows(
        scores_or_nan_if_unusable(rows),
        _label_of_each_row(rows),
        row_selection.item_codes(rows),
        _float_column_or_nan(rows, EXPECTED_COLUMN),
        score_scale.score_scale_of_rows(rows),
        rows["first"].astype(str).to_numpy(),
    )


def _label_of_each_row(rows: pd.DataFrame) -> Floats:
    return _float_column_or_nan(rows, GOLD_COLUMN)


def _float_column_or_nan(rows: pd.DataFrame, name: str) -> Floats:
    if name not in rows:
        return np.full(len(rows), np.nan)
    return rows[name].to_numpy(np.float64)


def _convert_by_judge_and_prompt(
    frame: pd.DataFrame, mask: np.ndarray, convert: Callable[[pd.DataFrame], Rows]
) -> dict[Rater, Rows]:
    """Return (judge, prompt) -> `convert` applied to the rows of this judge and prompt that `mask`
    selects. Calls repeated only to measure noise are left out."""
    chosen = mask & ~frame["noise"].to_numpy(np.bool_)
    if not chosen.any():
        return {}
    rows = row_selection.select_rows(frame, chosen)
    judge, prompt = (rows[name].astype(str).to_numpy() for name in RATER_COLUMNS)
    return {
        (one, other): convert(row_selection.select_rows(rows, (judge == one) & (prompt == other)))
        for one, other in row_selection.observed_combinations(rows, RATER_COLUMNS)
    }


def confusion_cell_mask(frame: pd.DataFrame, cell: str) -> np.ndarray:
    """Mask of the rows in one cell of the confusion table; "pass_bad", for example, are the bad
    answers that passed. Calls repeated only to measure noise are left out; for any other text no
    row is selected."""
    codes = pass_fail_codes(frame)
    verdict, _, label = cell.partition("_")
    known = {"pass": PASS, "good": PASS, "fail": FAIL, "bad": FAIL}
    if verdict not in known or label not in known:
        return np.zeros(len(frame), np.bool_)
    wanted: np.ndarray = pass_fail_mask(frame) & ~frame["noise"].to_numpy(np.bool_)
    found: np.ndarray = wanted & (codes.verdict == known[verdict]) & (codes.label == known[label])
    return found
