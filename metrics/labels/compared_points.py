"""Measures of verdicts on single answers, as shares, for comparing two judges or prompts."""

from typing import Final

import numpy as np
import pandas as pd

from metrics.estimation import row_selection
from metrics.estimation.measures import GroupedFrame, Measure, MeasureTally, build_tally
from metrics.labels.labelled_rows import scores_or_nan_if_unusable
from studies.frames.arrangement import ONE_STEP
from studies.frames.point_columns import GOLD_COLUMN, arrangement_of, pass_fail_mask

NO_PASS_NOTE: Final = "no pass/fail verdicts"
NO_SCORE_NOTE: Final = "the prompts declare no scale for scores"
NO_LABEL_NOTE: Final = "no verdict has a label"


def single_answer_rows(grouped: GroupedFrame, passes: bool) -> pd.DataFrame:
    """Return the usable verdicts on single answers: passes and fails if `passes`, else scores.
    Calls repeated only to measure noise are left out. Added columns: `value` (score; 1 for a pass,
    0 for a fail) and `right` (label; nan if there is none)."""
    frame = grouped.frame
    single = (frame["options"] == 1).to_numpy() & ~frame["noise"].to_numpy(np.bool_)
    score = scores_or_nan_if_unusable(frame)
    chosen = single & np.isfinite(score) & (pass_fail_mask(frame) == passes)
    label = frame[GOLD_COLUMN].to_numpy(np.float64) if GOLD_COLUMN in frame else np.nan
    return row_selection.select_rows(frame.assign(value=score, right=label), chosen)


def _pass_tally(grouped: GroupedFrame) -> MeasureTally:
    rows = single_answer_rows(grouped, passes=True)
    return build_tally(rows, rows["value"] >= 0.5, 1)


def _right_verdict_tally(grouped: GroupedFrame) -> MeasureTally:
    rows = single_answer_rows(grouped, passes=True)
    rows = row_selection.select_rows(rows, rows["right"].notna())
    return build_tally(rows, (rows["value"] >= 0.5) == (rows["right"] >= 0.5), 1)


def _relative_score_tally(grouped: GroupedFrame) -> MeasureTally:
    rows = single_answer_rows(grouped, passes=False)
    ends = np.asarray([_scale_ends(name) for name in rows["labels"].cat.categories], np.float64)
    ends = ends.reshape(-1, 2)[rows["labels"].cat.codes.to_numpy()]
    known = np.asarray(np.isfinite(ends).all(axis=1), np.bool_)
    rows, ends = row_selection.select_rows(rows, known), ends[known]
    return build_tally(rows, (rows["value"] - ends[:, 0]) / (ends[:, 1] - ends[:, 0]), 1)


def _scale_ends(labels: object) -> tuple[float, float]:
    """Lowest and highest score of the options in `labels`, the text of an arrangement (the options
    in the order listed). N named options of unknown rank have the scores 1 to N; nan with fewer
    than two options."""
    scores = arrangement_of(labels).ascending_scores
    return (scores[0], scores[-1]) if len(scores) > 1 else (np.nan, np.nan)


def _within_one_step_tally(grouped: GroupedFrame) -> MeasureTally:
    rows = single_answer_rows(grouped, passes=False)
    rows = row_selection.select_rows(rows, rows["right"].notna())
    steps = np.asarray([arrangement_of(name).score_step for name in rows["labels"].cat.categories])
    step = steps[rows["labels"].cat.codes.to_numpy()] if len(rows) else 1.0
    return build_tally(rows, (rows["value"] - rows["right"]).abs() <= step * ONE_STEP, 1)


PASS_RATE: Final = Measure("point_pass_rate", "share", _pass_tally, empty=NO_PASS_NOTE)
RIGHT_BY_LABEL: Final = Measure("point_right", "share", _right_verdict_tally, empty=NO_LABEL_NOTE)
MEAN_LEVEL: Final = Measure(
    "point_level", "share", _relative_score_tally, "mean", (0, 1), empty=NO_SCORE_NOTE
)
NEAR_LABEL: Final = Measure("point_near", "share", _within_one_step_tally, empty=NO_LABEL_NOTE)
