"""Comparisons on which somebody else says something else: what a cell of agreement opens."""

from __future__ import annotations

import numpy as np
import pandas as pd

from components.filtering.filters import machine_rows, row_names
from metrics.agreement.pairwise_agreement import PEOPLE, build_verdict_grid
from metrics.estimation.row_selection import Ints, Mask, group_codes, modal_verdicts, select_picks

_ASK_COLUMNS = ("item", "comparison", "shown")


def disagreement_mask(frame: pd.DataFrame, of_row: Ints, n: int, voice: str) -> Mask:
    """Comparisons with an order whose verdict differs from a voice's on the same order.

    A voice is a row of the results panels (a judge, a prompt, or both), or the people's majority.
    An order that the voice did not judge says nothing.
    """
    rows = select_picks(frame.assign(at=of_row))
    theirs = _verdicts_of(frame, voice)
    if theirs is None or rows.empty:
        return np.zeros(n, bool)
    rows = modal_verdicts(rows)
    both = pd.concat([rows[[*_ASK_COLUMNS, "pick", "at"]], theirs])
    ask, asks = group_codes(both.astype(dict.fromkeys(_ASK_COLUMNS, "category")), _ASK_COLUMNS)
    known, said = np.zeros(asks, bool), np.zeros(asks, np.int64)
    known[ask[len(rows) :]] = True
    said[ask[len(rows) :]] = theirs["pick"]
    mine = ask[: len(rows)]
    apart = known[mine] & (rows["pick"].to_numpy() != said[mine])
    return np.bincount(rows["at"].to_numpy()[apart], minlength=n) > 0


def _verdicts_of(frame: pd.DataFrame, voice: str) -> pd.DataFrame | None:
    """The voice's verdict on each ask: (item, comparison, shown, pick)."""
    if voice == PEOPLE:
        return _majority_verdicts(frame)
    by_name = {name: cell for cell, name in row_names(machine_rows(frame)).items()}
    if voice not in by_name:
        return None
    judge, prompt = by_name[voice]
    own = frame[(frame["judge"] == judge) & (frame["prompt"] == prompt)]
    return modal_verdicts(select_picks(own))[[*_ASK_COLUMNS, "pick"]]


def _majority_verdicts(frame: pd.DataFrame) -> pd.DataFrame | None:
    made = build_verdict_grid(frame)
    if PEOPLE not in made.raters:
        return None
    said = made.picks[made.raters.index(PEOPLE)]
    kept = said >= -1
    return made.asks.iloc[kept][[*_ASK_COLUMNS]].assign(pick=said[kept])
