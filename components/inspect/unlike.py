"""Comparisons on which somebody else says something else: what a cell of agreement opens."""

from __future__ import annotations

import numpy as np
import pandas as pd

from components.rows import machine_rows, row_names
from metrics.concord import PEOPLE, grid
from metrics.selection import Ints, Mask, group_codes, modal, picked

_ASK = ("item", "comparison", "shown")


def differing(frame: pd.DataFrame, of_row: Ints, n: int, voice: str) -> Mask:
    """Comparisons with an order whose verdict differs from a voice's on the same order.

    A voice is a row of the results panels (a judge, a prompt, or both), or the people's majority.
    An order that the voice did not judge says nothing.
    """
    rows = picked(frame.assign(at=of_row))
    theirs = _said_by(frame, voice)
    if theirs is None or rows.empty:
        return np.zeros(n, bool)
    rows = modal(rows)
    both = pd.concat([rows[[*_ASK, "pick", "at"]], theirs])
    ask, asks = group_codes(both.astype(dict.fromkeys(_ASK, "category")), _ASK)
    known, said = np.zeros(asks, bool), np.zeros(asks, np.int64)
    known[ask[len(rows) :]] = True
    said[ask[len(rows) :]] = theirs["pick"]
    mine = ask[: len(rows)]
    apart = known[mine] & (rows["pick"].to_numpy() != said[mine])
    return np.bincount(rows["at"].to_numpy()[apart], minlength=n) > 0


def _said_by(frame: pd.DataFrame, voice: str) -> pd.DataFrame | None:
    """The voice's verdict on each ask: (item, comparison, shown, pick)."""
    if voice == PEOPLE:
        return _majority(frame)
    by_name = {name: cell for cell, name in row_names(machine_rows(frame)).items()}
    if voice not in by_name:
        return None
    judge, prompt = by_name[voice]
    own = frame[(frame["judge"] == judge) & (frame["prompt"] == prompt)]
    return modal(picked(own))[[*_ASK, "pick"]]


def _majority(frame: pd.DataFrame) -> pd.DataFrame | None:
    made = grid(frame)
    if PEOPLE not in made.voices:
        return None
    said = made.said[made.voices.index(PEOPLE)]
    kept = said >= -1
    return made.asks.iloc[kept][[*_ASK]].assign(pick=said[kept])
