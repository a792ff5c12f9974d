"""Comparisons where another judge, or the human majority, gave a different verdict."""

import numpy as np
import pandas as pd

from components.filtering.filters import judge_rows_or_people_rows, rater_names
from metrics.agreement.pairwise_agreement import PEOPLE, build_verdict_grid
from metrics.estimation.row_selection import Ints, Mask, group_codes, modal_verdicts, select_picks

_ASK_COLUMNS = ("item", "comparison", "shown")


def disagreement_mask(frame: pd.DataFrame, of_row: Ints, n: int, rater: str) -> Mask:
    """For each of the `n` comparisons, whether `rater` and the comparison's own judge gave
    different verdicts in at least one order that both judged; always False if the study has no such
    rater.

    `rater`: a judge with a prompt, named as on the page, or "people" for their majority. `of_row`:
    for each row of `frame`, the number of its comparison."""
    rows = select_picks(frame.assign(at=of_row))
    theirs = _rater_verdicts(frame, rater)
    if theirs is None or rows.empty:
        return np.zeros(n, bool)
    rows = modal_verdicts(rows)
    both = pd.concat([rows[[*_ASK_COLUMNS, "pick", "at"]], theirs])
    ask, asks = group_codes(both.astype(dict.fromkeys(_ASK_COLUMNS, "category")), _ASK_COLUMNS)
    known, other_pick = np.zeros(asks, bool), np.zeros(asks, np.int64)
    known[ask[len(rows) :]] = True
    other_pick[ask[len(rows) :]] = theirs["pick"]
    mine = ask[: len(rows)]
    differs = known[mine] & (rows["pick"].to_numpy() != other_pick[mine])
    return np.bincount(rows["at"].to_numpy()[differs], minlength=n) > 0


def _rater_verdicts(frame: pd.DataFrame, rater: str) -> pd.DataFrame | None:
    """The verdicts of `rater`, one row per (item, comparison, shown order) with the column `pick`;
    None if the study has no such rater."""
    if rater == PEOPLE:
        return _people_majority_verdicts(frame)
    by_name = {name: rater for rater, name in rater_names(judge_rows_or_people_rows(frame)).items()}
    if rater not in by_name:
        return None
    judge, prompt = by_name[rater]
    own = frame[(frame["judge"] == judge) & (frame["prompt"] == prompt)]
    return modal_verdicts(select_picks(own))[[*_ASK_COLUMNS, "pick"]]


def _people_majority_verdicts(frame: pd.DataFrame) -> pd.DataFrame | None:
    grid = build_verdict_grid(frame)
    if PEOPLE not in grid.raters:
        return None
    majority = grid.picks[grid.raters.index(PEOPLE)]
    judged = majority >= -1
    shown: pd.DataFrame = grid.asks.iloc[judged][[*_ASK_COLUMNS]]
    return shown.assign(pick=majority[judged])
