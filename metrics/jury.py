"""A jury: each judge merges its orders, then a strict majority of the full panel decides."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd

from metrics import selection
from metrics.intervals import Ints, proportion
from metrics.prompt_kinds import scoring
from metrics.wins import Combine, Unreadable, appearances, outcomes
from studies.frame import TIE
from studies.records import Estimate

UNDECIDED = -2
CASE = ("item", "comparison", "prompt")


@dataclass(frozen=True)
class Jury:
    """What the panel decided: rates over decided cases, their share, and what the rest could do."""

    panel: tuple[str, ...]
    win_rate: dict[str, Estimate]
    coverage: Estimate
    bounds: dict[str, Estimate]
    cases: pd.DataFrame
    """One row per case; `pick` is a slot of its `shown`, TIE or UNDECIDED."""


def jury(
    frame: pd.DataFrame, combine: Combine = "strict", unreadable: Unreadable = "exclude"
) -> Jury:
    """Strict majority of the full panel over {x, y, tie} for each pair of answers to each item.

    A judge that said nothing still counts in the panel's size. An undecided case is missing, never
    a tie: it lowers the coverage and widens the bounds. Prompts that only score put no case.
    """
    frame = selection.rows_of(frame, ~scoring(frame))
    frame = selection.pairs(selection.rows_of(frame, ~frame["noise"]))
    panel = tuple(sorted({str(name) for name in frame["judge"]}))
    cases = _decide(frame, outcomes(frame, combine, unreadable), len(panel))
    decided = (cases["pick"] != UNDECIDED).to_numpy()
    coverage = proportion(decided, selection.item_codes(cases))
    names = selection.contestants(cases)
    return Jury(
        panel, _rates(cases.loc[decided], names), coverage, _bounds(cases, decided, names), cases
    )


def _decide(frame: pd.DataFrame, votes: pd.DataFrame, panel: int) -> pd.DataFrame:
    """Every case that was put to the panel, with its verdict in the slots of its first row."""
    case, count = selection.group_codes(frame, CASE)
    cases = frame.iloc[selection.first_rows(case, count)].copy()
    names = selection.contestants(frame) if len(frame) else []
    place = frame.index.get_indexer(votes.index)
    ballot = selection.chosen(votes, names) + 1
    width = len(names) + 1
    tally = np.bincount(case[place] * width + ballot, minlength=count * width)
    tally = tally.reshape(count, width)
    winner = tally.argmax(axis=1) if width > 1 else np.zeros(count, np.int64)
    sure = tally.max(axis=1, initial=0) * 2 > panel
    cases["pick"] = np.where(sure, _slot_of(cases, winner - 1, names), UNDECIDED).astype(np.int8)
    return cases


def _slot_of(cases: pd.DataFrame, winner: Ints, names: list[str]) -> Ints:
    if len(cases) == 0:
        return winner
    placed = selection.slots(cases, names)
    return np.where(winner < 0, TIE, (placed == winner[:, None]).argmax(axis=1))


def _rates(cases: pd.DataFrame, names: list[str]) -> dict[str, Estimate]:
    row, who, points = appearances(cases, names)
    item = selection.item_codes(cases)[row]
    return {
        name: proportion(points[who == code], item[who == code], note="jury")
        for code, name in enumerate(names)
    }


def _bounds(cases: pd.DataFrame, decided: selection.Mask, names: list[str]) -> dict[str, Estimate]:
    """Win rates if every undecided case were lost, and if every one were won."""
    _, who, points = appearances(cases.loc[decided], names)
    _, open_for, _ = appearances(cases.loc[~decided], names)
    won = np.bincount(who, points, minlength=len(names))
    n = np.bincount(who, minlength=len(names))
    missing = np.bincount(open_for, minlength=len(names))
    table = {}
    for code, name in enumerate(names):
        all_cases = int(n[code] + missing[code])
        value = float(won[code] / n[code]) if n[code] else None
        table[name] = Estimate(
            value,
            float(won[code] / max(all_cases, 1)),
            float((won[code] + missing[code]) / max(all_cases, 1)),
            int(n[code]),
            0,
            "share",
            1.0,
            "bounds: all undecided cases lost, all won",
            f"{int(missing[code])} of {all_cases} undecided",
        )
    return table
