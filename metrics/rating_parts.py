"""What is printed of ratings besides the table: ranks, gaps, tie models, and what to ask next."""

from __future__ import annotations

from dataclasses import asdict
from itertools import combinations, pairwise
from typing import Any, Final

import numpy as np
import pandas as pd

from metrics import power, selection, wins
from metrics.bradley_terry import Leaderboard, leaderboards
from metrics.intervals import item_sums
from metrics.ties import davidson, rao_kupper
from studies.frame import TIE

MOST_GAPS: Final = 20
"""Contestants up to which the whole matrix of differences is printed; beyond: neighbours only."""

Json = dict[str, Any]


def ranks(boards: list[Leaderboard]) -> Json:
    """Each contestant's place and the range the intervals of differences allow."""
    return {name: asdict(rank) for board in boards for name, rank in board.ranks.items()}


def gaps(boards: list[Leaderboard]) -> Json:
    """above -> below -> difference in Elo, of contestants that can be compared."""
    table: Json = {}
    for board in boards:
        whole = len(board.names) <= MOST_GAPS
        for above, below in combinations(board.names, 2) if whole else pairwise(board.names):
            table.setdefault(above, {})[below] = board.gap(above, below)
    return table


def tie_models(frame: pd.DataFrame) -> Json:
    """Davidson and Rao–Kupper, each on its own scale, where pairs were tied."""
    pairs = selection.pairs(selection.picked(frame))
    if not (pairs["pick"] == TIE).any():
        return {}
    return {
        fit.__name__: {"strength": got.strength, "parameter": got.parameter}
        for fit in (davidson, rao_kupper)
        for got in [fit(pairs)]
        if got.strength
    }


def planning(frame: pd.DataFrame, boards: list[Leaderboard]) -> Json:
    """For neighbours on a leaderboard: what it takes to tell them apart, and what is known so far.

    Battles between the two that tell a difference as large as the one seen from none, with 80 %
    power, for their tie rate and design effect; the gap's half-width now and after as many verdicts
    again; the e-value of one vote per item, which may be looked at any time (stop at 20).
    """
    pairs = selection.pairs(frame)
    return {
        f"{above} − {below}": _neighbours(pairs, board, above, below)
        for board in boards
        for above, below in pairwise(board.names)
    }


def _neighbours(pairs: pd.DataFrame, board: Leaderboard, above: str, below: str) -> Json:
    gap, share = board.gap(above, below), board.predicted(above, below).value or 0.5
    both = [above, below]
    met = selection.rows_of(pairs, pairs["first"].isin(both) & pairs["second"].isin(both))
    rows = selection.picked(met)
    tied = float((rows["pick"] == TIE).mean()) if len(rows) else 0.0
    points = _points(rows, above)
    decisive = points != 0.5
    items = selection.item_codes(rows)
    correlation = power.item_correlation(points[decisive], items[decisive]) or 0.0
    per_item = decisive.sum() / max(len(set(items[decisive].tolist())), 1)
    deff = max(power.design_effect(per_item, correlation), 1.0)
    won, votes = _votes(met, above)
    return {
        "battles_needed": power.battles_needed(share, deff=deff, tie_rate=tied),
        "battles_so_far": len(rows),
        "design_effect": deff,
        "tie_rate": tied,
        "half_width": power.half_width_after(gap, 0),
        "half_width_after_as_many": power.half_width_after(gap, gap.n),
        "e_value": power.e_value(won, votes),
        "votes": votes,
    }


def _points(rows: pd.DataFrame, name: str) -> np.ndarray[Any, np.dtype[np.float64]]:
    """What `name` took from each verdict."""
    pick, mine = rows["pick"].to_numpy(), (rows["first"] == name).to_numpy()
    return np.where(pick == TIE, 0.5, (pick == 0) == mine).astype(np.float64)


def _votes(met: pd.DataFrame, name: str) -> tuple[int, int]:
    """(won, decided) items: both orders merged, then the judges; undecided items are no vote."""
    rows = wins.outcomes(met, "majority")
    if len(rows) == 0:
        return 0, 0
    _, sums = item_sums(_points(rows, name) - 0.5, selection.item_codes(rows))
    return int((sums > 0).sum()), int((sums != 0).sum())


def rating_parts(frame: pd.DataFrame) -> dict[str, Json]:
    """ranks, gaps, tie_models and planning; what there is nothing to say about is left out."""
    boards = [board for board in leaderboards(frame) if len(board.names) > 1]
    return {
        "ranks": ranks(boards),
        "gaps": gaps(boards),
        "tie_models": tie_models(frame),
        "planning": planning(frame, boards),
    }
