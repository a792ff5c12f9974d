"""Graded scores of verdicts on pairs: from −1 (for the second slot) to 1 (for the first slot).

The score is the difference of the label probabilities if there are any; else the margin of a
five-level verdict (better ½, much better 1, a tie 0); else the difference of the two answers'
scores, divided by the range of all scores that the judge gave with the prompt.
"""

import numpy as np
import pandas as pd

from metrics.estimation import intervals, prompt_kinds, row_selection
from studies.frames.frame import NO_PICK


def graded_preference_for_first_slot(frame: pd.DataFrame) -> intervals.Floats:
    """How strongly each row prefers the first slot, from −1 (strongly prefers the second) to 1; nan
    where the reply is unusable or not graded."""
    score = np.full(len(frame), np.nan)
    if {"score_0", "score_1"} <= set(frame.columns):
        score = _relative_score_differences(frame)
    five = prompt_kinds.five_level_mask(frame)
    if five.any():
        pick, margin = frame["pick"].to_numpy(), frame["margin"].to_numpy()
        side = np.where(pick == 0, 0.5, np.where(pick == 1, -0.5, 0.0)) * margin
        score = np.where(five & (pick != NO_PICK), side, score)
    if {"p_0", "p_1"} <= set(frame.columns):
        chance = frame["p_0"].to_numpy(np.float64) - frame["p_1"].to_numpy(np.float64)
        score = np.where(np.isfinite(chance), chance, score)
    return np.where(row_selection.usable_status_mask(frame), score, np.nan)


def _relative_score_differences(frame: pd.DataFrame) -> intervals.Floats:
    """Score of the first answer minus score of the second, divided by the range of all scores that
    the judge gave with the prompt; nan without both scores."""
    scores = frame[["score_0", "score_1"]].to_numpy(np.float64)
    group, groups = row_selection.group_codes(frame, ("judge", "prompt"))
    high, low = np.full(groups, -np.inf), np.full(groups, np.inf)
    known = np.isfinite(scores).all(axis=1)
    np.maximum.at(high, group[known], scores[known].max(axis=1))
    np.minimum.at(low, group[known], scores[known].min(axis=1))
    spread = np.where(high > low, high - low, 1.0)[group]
    return np.where(known, (scores[:, 0] - scores[:, 1]) / spread, np.nan)
